//! Real servers for tests: Redis and Valkey, started on a free port of this machine.

use redis::aio::MultiplexedConnection;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where `cargo xtask test` has put the programs.
const PROGRAMS: [&str; 2] = ["TALENTDATA_VALKEY_SERVER", "TALENTDATA_REDIS_SERVER"];
/// Attempts to reach a server that has just been started, at 50 ms each.
const ATTEMPTS: u32 = 200;

/// A server, which ends with the value.
pub(crate) struct Server {
    pub(crate) port: u16,
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

    /// The program that this variable names.
    async fn start(variable: &str, options: &[&str]) -> Self {
        let program = std::env::var_os(variable).map(PathBuf::from);
        let program = program.unwrap_or_else(|| {
            panic!("{variable} names no server; `cargo xtask test rust` sets it")
        });
        let port = TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .unwrap()
            .port();
        let child = Command::new(&program)
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
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        let server = Server { port, child };
        server.connection().await;
        server
    }

    /// A connection, as soon as the server takes one.
    pub(crate) async fn connection(&self) -> MultiplexedConnection {
        let client = redis::Client::open(("127.0.0.1", self.port)).unwrap();
        for _ in 0..ATTEMPTS {
            if let Ok(connection) = client.get_multiplexed_async_connection().await {
                return connection;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the server does not take connections");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
