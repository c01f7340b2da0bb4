//! Real servers for tests: Redis and Valkey, started on a free port of this machine.

use redis::aio::MultiplexedConnection;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where `cargo xtask test` has put the programs.
const PROGRAMS: [&str; 2] = ["TALENTDATA_VALKEY_SERVER", "TALENTDATA_REDIS_SERVER"];
/// Attempts to reach a server that has just been started, at 50 ms each.
const ATTEMPTS: u32 = 200;

/// A server, which ends with the value.
pub(crate) struct Server {
    pub(crate) port: u16,
    program: PathBuf,
    child: Child,
}

impl Server {
    /// One of each kind.
    pub(crate) async fn both() -> Vec<Self> {
        let mut servers = Vec::new();
        for program in PROGRAMS {
            servers.push(Self::start(program, &[]).await);
        }
        servers
    }

    /// Valkey, with options of its command line.
    pub(crate) async fn valkey(options: &[&str]) -> Self {
        Self::start(PROGRAMS[0], options).await
    }

    /// The program that this variable names.
    async fn start(variable: &str, options: &[&str]) -> Self {
        let program = std::env::var_os(variable).map(PathBuf::from);
        let program = program.unwrap_or_else(|| {
            panic!("{variable} names no server; `cargo xtask test rust` sets it")
        });
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
        let port = free.unwrap().port();
        let child = spawn(&program, port, options);
        let server = Server {
            port,
            program,
            child,
        };
        server.answers().await;
        server
    }

    /// Kills the server, and starts another one in its place, which knows nothing.
    pub(crate) async fn restart(&mut self) {
        self.stop();
        self.child = spawn(&self.program, self.port, &[]);
        self.answers().await;
    }

    /// Kills the server.
    pub(crate) fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until the server takes connections, whatever it says.
    async fn answers(&self) {
        for _ in 0..ATTEMPTS {
            if tokio::net::TcpStream::connect(("127.0.0.1", self.port))
                .await
                .is_ok()
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the server does not take connections");
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

    /// Everything that all keys of all databases hold, as text.
    pub(crate) async fn kept(&self) -> String {
        let mut connection = self.connection().await;
        let mut kept = String::new();
        for database in 0..16 {
            let mut select = redis::cmd("SELECT");
            let () = select
                .arg(database)
                .query_async(&mut connection)
                .await
                .unwrap();
            let all = redis::cmd("KEYS")
                .arg("*")
                .query_async(&mut connection)
                .await;
            let keys: Vec<String> = all.unwrap();
            for key in keys {
                let all = redis::cmd("HGETALL")
                    .arg(&key)
                    .query_async(&mut connection)
                    .await;
                let fields: Vec<String> = all.unwrap();
                kept += &format!("{key}: {fields:?}\n");
            }
        }
        kept
    }

    /// A connection without a password.
    pub(crate) async fn connection(&self) -> MultiplexedConnection {
        let client = redis::Client::open(("127.0.0.1", self.port)).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }
}

fn spawn(program: &Path, port: u16, options: &[&str]) -> Child {
    Command::new(program)
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
        ])
        .args(options)
        .stdout(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()))
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
