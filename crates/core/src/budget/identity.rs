//! Names: of the budget that clients of one company share, and of each client among them.

use crate::settings::Config;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// How many hexadecimal digits the name of a company has.
const DIGITS: usize = 32;
/// Longer names of programs and of hosts are cut off.
const MAX_PROGRAM: usize = 40;
const MAX_HOST: usize = 64;

/// The same name for all clients of a company, those of one run of a host where that is given. Neither the address of the
/// service nor the client ID can be read from it.
pub(crate) fn company(config: &Config, run_of_host: Option<&str>) -> String {
    let mut hash = blake3::Hasher::new();
    absorb(&mut hash, run_of_host);
    absorb(&mut hash, service_and_client(config));
    let name = hash.finalize().to_hex();
    name.get(..DIGITS).unwrap_or_default().to_owned()
}

/// What makes a company: the service's address and the client ID.
pub(crate) fn service_and_client(config: &Config) -> [String; 2] {
    let client_id = config.client_id.clone().unwrap_or_default();
    [config.base_url.to_string(), client_id]
}

/// Hashes texts so that no others give the same hash, wherever these are divided.
pub(crate) fn absorb(hash: &mut blake3::Hasher, texts: impl IntoIterator<Item = impl AsRef<str>>) {
    for text in texts {
        let text = text.as_ref().as_bytes();
        hash.update(&(text.len() as u64).to_le_bytes());
        hash.update(text);
    }
}

/// One client.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    /// A number that no other client has on any host.
    pub(super) id: u64,
    pub(super) process: u32,
    /// The name of its program, without arguments, which may contain secrets.
    pub(super) program: String,
    pub(super) host: String,
}

impl Identity {
    /// A new client of this process.
    pub(super) fn new() -> Self {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = Path::new(&program).file_name().unwrap_or_default();
        let cut = |text: &str, max: usize| text.chars().take(max).collect();
        Identity {
            id: new_id(),
            process: std::process::id(),
            program: cut(&program.to_string_lossy(), MAX_PROGRAM),
            host: cut(&name_of_host(), MAX_HOST),
        }
    }
}

/// Processes forked from one draw the same random numbers, so their own number and the time are mixed in.
fn new_id() -> u64 {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let parts = [
        fastrand::u64(..),
        u64::from(std::process::id()),
        since.unwrap_or_default().as_nanos() as u64,
        MADE.fetch_add(1, Ordering::Relaxed),
    ];
    xxhash_rust::xxh3::xxh3_64(&parts.map(u64::to_le_bytes).concat())
}

#[cfg(unix)]
fn name_of_host() -> String {
    let system = rustix::system::uname();
    system.nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn name_of_host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
