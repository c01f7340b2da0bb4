//! Where an export goes: what is at its path, and the names beside it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use talentdata_core::{Error, ErrorKind, Result};

/// How many symbolic links in a row are followed; the same as on Linux.
const MAX_LINKS: usize = 40;

/// What a path stands for.
pub(super) enum Destination {
    /// A file, or nothing yet, at this path, in which no symbolic link is left to follow.
    File(PathBuf),
    /// A pipe or a device.
    Stream,
}

/// Looks at what is at `path`.
///
/// # Errors
/// `InvalidArgument` without a file name; `Io` for a directory, and where it cannot be told.
pub(super) fn look(path: &Path) -> Result<Destination> {
    if path.file_name().is_none() {
        let message = format!("target: {path:?} has no file name");
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            let message = format!("{} is a directory; give the path of a file", path.display());
            Err(Error::new(ErrorKind::Io, message))
        }
        Ok(found) if !found.is_file() => Ok(Destination::Stream),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("open", path, &error)),
        _ => Ok(Destination::File(resolved(path))),
    }
}

/// Follows symbolic links, whether or not there is a file at their end.
fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else {
            break;
        };
        path = directory_of(&path).join(target);
    }
    path
}

/// `PATH.part`, the work directory of an export to `path`.
pub(super) fn part_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".part");
    name.into()
}

/// Whether a file at `path` would be the output `target` under any name, or lie in its work directory.
pub(super) fn would_meet(target: &Path, path: &Path) -> bool {
    let (target, path) = (resolved(target), resolved(path));
    // Only files are opened, because a pipe would wait for its other end.
    let is_file = |path: &Path| fs::metadata(path).is_ok_and(|found| found.is_file());
    let one_file = || same_file::is_same_file(&target, &path).unwrap_or(false);
    let part = part_of(&target);
    (is_file(&target) && is_file(&path) && one_file())
        || is_one_place(&target, &path)
        || path.ancestors().any(|place| is_one_place(&part, place))
}

fn is_one_place(one: &Path, other: &Path) -> bool {
    let directory = |path| directory_of(path).canonicalize();
    one.file_name()
        .is_some_and(|name| other.file_name() == Some(name))
        && matches!((directory(one), directory(other)), (Ok(one), Ok(other)) if one == other)
}

/// The directory that `path` is in.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Makes created, renamed and removed names survive a power failure.
pub(super) fn sync_directory(directory: &Path) -> Result<()> {
    // Elsewhere a directory cannot be opened, and names survive without it.
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Some file systems cannot sync directories.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        Err(error) => Err(failed("sync", directory, &error)),
        Ok(()) => Ok(()),
    }
}

/// What could not be done to a file, and why.
pub(super) fn failed(verb: &str, path: &Path, error: &io::Error) -> Error {
    let message = format!("cannot {verb} {}: {error}", path.display());
    Error::new(ErrorKind::Io, message)
}
