//! Real servers for tests: Redis and Valkey, started on a free port of this machine.

use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// The variables in which `cargo xtask test` names the programs.
pub(crate) const PROGRAMS: [&str; 2] = ["TALENTDATA_VALKEY_SERVER", "TALENTDATA_REDIS_SERVER"];
/// The name of the socket in the server's directory. The server creates it once it has the port.
const SOCKET: &str = "socket";
/// The number of ports that are tried, because others may take one before the server has it.
const PORTS: u32 = 5;
/// The number of checks of a condition.
const LOOKS: u32 = 400;
/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(25);

/// A server, which ends when the value is dropped.
pub(crate) struct Server {
    pub(crate) port: u16,
    command: Command,
    child: Child,
    directory: TempDir,
}

impl Server {
    /// Starts Valkey.
    pub(crate) fn valkey() -> Self {
        Self::start(PROGRAMS[0], |_| ())
    }

    /// Starts the program that this variable names, with options.
    pub(crate) fn start(variable: &str, options: impl Fn(&mut Command)) -> Self {
        let program = std::env::var_os(variable).unwrap_or_else(|| {
            panic!("{variable} names no server; `cargo xtask test rust` sets it")
        });
        for _ in 0..PORTS {
            let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr());
            let port = free.unwrap().port();
            let directory = tempfile::tempdir().unwrap();
            let mut command = Command::new(&program);
            command.args(["--bind", "127.0.0.1", "--save", "", "--unixsocket", SOCKET]);
            command.args(["--port", &port.to_string()]);
            command.current_dir(&directory).stdout(Stdio::null());
            options(&mut command);
            let mut server = Server {
                port,
                child: command.spawn().unwrap(),
                command,
                directory,
            };
            if server.comes_up() {
                return server;
            }
        }
        panic!("the server does not take connections");
    }

    /// Returns whether the server comes up, and not another program at its port.
    fn comes_up(&mut self) -> bool {
        let socket = self.directory.path().join(SOCKET);
        (0..LOOKS).any(|_| {
            sleep(PAUSE);
            UnixStream::connect(&socket).is_ok()
        })
    }

    /// Kills the server, and starts another one in its place, which knows nothing.
    pub(crate) fn restart(&mut self) {
        self.stop();
        self.child = self.command.spawn().unwrap();
        assert!(self.comes_up(), "the server does not come back");
    }

    /// Kills the server.
    pub(crate) fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Runs a command, and returns the reply.
    pub(crate) fn run<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query(&mut self.connection()).unwrap()
    }

    /// Waits until this condition, an expression in Lua, is true.
    pub(crate) fn wait_until(&self, condition: &str) {
        let script = format!("return ({condition}) and 1 or 0");
        let holds = (0..LOOKS).any(|_| {
            sleep(PAUSE);
            self.run::<bool>(&["EVAL", &script, "0"])
        });
        assert!(holds, "{condition}");
    }

    /// Returns a connection without a password.
    pub(crate) fn connection(&self) -> redis::Connection {
        let client = redis::Client::open(("127.0.0.1", self.port)).unwrap();
        client.get_connection().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
