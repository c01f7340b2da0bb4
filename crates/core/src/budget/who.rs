//! What people know a client by.

use std::path::Path;

/// Longer names are cut off.
const LONGEST_NAME: usize = 40;
/// Longer names of hosts are cut off.
const LONGEST_HOST: usize = 64;

/// A process, and where it runs.
#[derive(Debug, Clone)]
pub(super) struct Who {
    pub(super) process: u32,
    /// The name of its program, without arguments, which may hold secrets.
    pub(super) name: String,
    pub(super) host: String,
}

impl Who {
    /// This process.
    pub(super) fn here() -> Self {
        let program = std::env::args_os().next().unwrap_or_default();
        let name = Path::new(&program).file_name().unwrap_or_default();
        Who {
            process: std::process::id(),
            name: cut(&name.to_string_lossy(), LONGEST_NAME),
            host: cut(&name_of_host(), LONGEST_HOST),
        }
    }
}

fn cut(text: &str, longest: usize) -> String {
    text.chars().take(longest).collect()
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
