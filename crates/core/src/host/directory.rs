//! The directory of the files that the processes of a host share, which only this user may write to.

use std::fs::DirBuilder;
use std::io::{Error, Result};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What the names of our files begin with.
const OURS: [&str; 2] = ["budget-", "token-"];
/// A file that was not written for this long is of no use to anybody.
const STALE: Duration = Duration::from_secs(86_400);

/// The path of a file of this name: in the runtime directory of the user, which the environment names or systemd makes;
/// otherwise in the one for state, or for temporary files.
pub(crate) fn path(name: &str) -> PathBuf {
    let named = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let user = rustix::process::geteuid().as_raw();
    let usual = PathBuf::from(format!("/run/user/{user}"));
    let parent = named("XDG_RUNTIME_DIR")
        .or_else(|| usual.is_dir().then_some(usual))
        .or_else(|| named("XDG_STATE_HOME"))
        .or_else(|| named("HOME").map(|home| home.join(".local/state")));
    let directory = match parent {
        Some(parent) => parent.join("talentdata"),
        None => std::env::temp_dir().join(format!("talentdata-{user}")),
    };
    directory.join(name)
}

/// Makes the directory where it is missing, and refuses one that others may write to.
pub(crate) fn prepare(directory: &Path) -> Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory)?;
    check(directory)
}

/// Refuses a directory that others may write to.
pub(crate) fn check(directory: &Path) -> Result<()> {
    let facts = std::fs::symlink_metadata(directory)?;
    let user = rustix::process::geteuid().as_raw();
    let shown = directory.display();
    if !facts.is_dir() {
        return Err(Error::other(format!("{shown} is not a directory")));
    }
    if facts.uid() != user {
        return Err(Error::other(format!("{shown} belongs to another user")));
    }
    if facts.mode() & 0o022 != 0 {
        return Err(Error::other(format!(
            "other users may write to {shown}; make its mode 0700"
        )));
    }
    Ok(())
}

/// Removes what ended long ago: each service on a port of its own leaves a file.
pub(crate) fn sweep(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours = OURS.iter().any(|prefix| name.starts_with(prefix));
        let written = entry.metadata().and_then(|facts| facts.modified());
        let age = written.map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        if ours && age.is_ok_and(|age| age > STALE) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
