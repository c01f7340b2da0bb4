//! Names: of the budget that clients of one company share, and of each client among them.

use crate::gate::MemberStats;
use crate::settings::Config;
use std::path::Path;
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
#[derive(Debug, Clone, Default)]
pub(super) struct Identity {
    /// A number that no other client has on any host.
    pub(super) id: u64,
    /// For people. The name of its program comes without arguments, which may contain secrets.
    pub(super) about: MemberStats,
}

impl Identity {
    /// A new client of this process.
    pub(super) fn new() -> Self {
        let program = std::env::args_os().next().unwrap_or_default();
        let program = Path::new(&program).file_name().unwrap_or_default();
        let cut = |text: &str, max: usize| text.chars().take(max).collect();
        let process = std::process::id();
        // Processes forked from one draw the same random numbers.
        let unique = format!("{} {process} {:?}", fastrand::u64(..), SystemTime::now());
        Identity {
            id: xxhash_rust::xxh3::xxh3_64(unique.as_bytes()),
            about: MemberStats {
                process,
                name: cut(&program.to_string_lossy(), MAX_PROGRAM),
                host: Some(cut(&name_of_host(), MAX_HOST)),
                ..MemberStats::default()
            },
        }
    }
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
