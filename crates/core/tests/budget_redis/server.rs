//! Real servers for tests: Redis and Valkey, started on a free port of this machine.

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where `cargo xtask test` has put the programs.
const PROGRAMS: [&str; 2] = ["TALENTDATA_VALKEY_SERVER", "TALENTDATA_REDIS_SERVER"];
/// Ports that are tried, since others may take one before the server has it.
const PORTS: u32 = 5;
/// Attempts to reach a server that has just been started, at 50 ms each.
const ATTEMPTS: u32 = 200;

/// A server, which ends with the value.
pub(crate) struct Server {
    pub(crate) port: u16,
    program: PathBuf,
    /// Where it writes files, which a server of another kind could not read.
    directory: TempDir,
    child: Child,
}

impl Server {
    /// One of each kind.
    pub(crate) async fn both() -> Vec<Self> {
        let mut servers = Vec::new();
        for program in PROGRAMS {
            servers.push(Self::start(program, &[], &[]).await);
        }
        servers
    }

    /// Valkey, with options of its command line.
    pub(crate) async fn valkey(options: &[&str]) -> Self {
        Self::start(PROGRAMS[0], options, &[]).await
    }

    /// Valkey, with these variables in its environment.
    pub(crate) async fn valkey_with(variables: &[(&str, &Path)]) -> Self {
        Self::start(PROGRAMS[0], &[], variables).await
    }

    /// The program that this variable names.
    async fn start(variable: &str, options: &[&str], variables: &[(&str, &Path)]) -> Self {
        let program = std::env::var_os(variable).map(PathBuf::from);
        let program = program.unwrap_or_else(|| {
            panic!("{variable} names no server; `cargo xtask test rust` sets it")
        });
        for _ in 0..PORTS {
            let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
            let port = free.unwrap().port();
            let directory = tempfile::tempdir().unwrap();
            let mut server = Server {
                port,
                child: spawn(&program, directory.path(), port, options, variables),
                program: program.clone(),
                directory,
            };
            if server.answers().await {
                return server;
            }
        }
        panic!("the server does not take connections");
    }

    /// Kills the server, and starts another one in its place, which knows nothing.
    pub(crate) async fn restart(&mut self) {
        self.stop();
        self.child = spawn(&self.program, self.directory.path(), self.port, &[], &[]);
        assert!(self.answers().await, "the server does not come back");
    }

    /// Kills the server.
    pub(crate) fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until the server replies, whatever it says; not if it has ended, for somebody else has the port.
    async fn answers(&mut self) -> bool {
        for _ in 0..ATTEMPTS {
            let replied = replies(self.port).await;
            if !matches!(self.child.try_wait(), Ok(None)) {
                return false;
            }
            if replied {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        false
    }

    /// Runs a command.
    pub(crate) async fn command(&self, words: &[&str]) {
        let mut connection = self.connection().await;
        let mut command = redis::cmd(words[0]);
        for word in &words[1..] {
            command.arg(*word);
        }
        let () = command.query_async(&mut connection).await.unwrap();
    }

    /// Waits until its wall clock is so many seconds ahead: a server answers `TIME` from a clock that it reads only now
    /// and then.
    pub(crate) async fn shows(&self, ahead: f64) {
        let mut connection = self.connection().await;
        for _ in 0..ATTEMPTS {
            let time = redis::cmd("TIME").query_async(&mut connection).await;
            let (seconds, micros): (f64, f64) = time.unwrap();
            let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
            let shown = seconds + micros / 1e6 - now;
            if (shown - ahead).abs() < 5.0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the clock of the server is not {ahead} s ahead");
    }

    /// Waits until the server holds something.
    pub(crate) async fn has_keys(&self) {
        for _ in 0..ATTEMPTS {
            if !self.kept().await.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the server holds nothing");
    }

    /// Everything that all keys of the first databases hold, as text.
    pub(crate) async fn kept(&self) -> String {
        let script = r#"local kept = ""
            for database = 0, 3 do
                redis.call("SELECT", database)
                for _, key in ipairs(redis.call("KEYS", "*")) do
                    kept = kept .. key .. ": " .. redis.call("GET", key) .. "\n"
                end
            end
            return kept"#;
        let mut connection = self.connection().await;
        let script = redis::Script::new(script);
        script.invoke_async(&mut connection).await.unwrap()
    }

    /// A connection without a password.
    pub(crate) async fn connection(&self) -> MultiplexedConnection {
        let client = redis::Client::open(("127.0.0.1", self.port)).unwrap();
        // However busy the machine is.
        let patient = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let connected = client.get_multiplexed_async_connection_with_config(&patient);
        connected.await.unwrap()
    }
}

/// Whether a server of this kind replies at the port. A connection alone says nothing: where nobody listens, it may have
/// been made to itself.
async fn replies(port: u16) -> bool {
    let Ok(mut socket) = TcpStream::connect(("127.0.0.1", port)).await else {
        return false;
    };
    let mut first = [0];
    let sent = socket.write_all(b"PING\r\n").await;
    sent.is_ok() && socket.read_exact(&mut first).await.is_ok() && b"+-".contains(&first[0])
}

fn spawn(
    program: &Path,
    directory: &Path,
    port: u16,
    options: &[&str],
    variables: &[(&str, &Path)],
) -> Child {
    let mut command = Command::new(program);
    command.envs(variables.iter().copied());
    command.current_dir(directory).args(options);
    command.args([
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--port",
        &port.to_string(),
    ]);
    let spawned = command.stdout(Stdio::null()).spawn();
    spawned.unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()))
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
