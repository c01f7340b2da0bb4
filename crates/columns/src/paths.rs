//! Paths of files: the file at the path of an export, the names next to it, and errors that name a file.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use talentdata_core::internal::files::identity;
use talentdata_core::{Error, ErrorKind, Result};

/// The maximum number of symbolic links that are followed, as on Linux.
const MAX_LINKS: usize = 40;

/// Returns the path of a file with all symbolic links followed. The file need not exist. `None` if `path` is a pipe or
/// a device.
///
/// # Errors
/// `InvalidArgument` without a file name; `Path` for a directory; `Path` or `Io` if the path cannot be examined.
pub(crate) fn place_of_file(path: &Path) -> Result<Option<PathBuf>> {
    if path.file_name().is_none() {
        return Err(Error::invalid(format!("target: {path:?} has no file name")));
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            let message = format!("{} is a directory; give the path of a file", path.display());
            Err(Error::new(ErrorKind::Path, message))
        }
        Ok(found) if !found.is_file() => Ok(None),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at("open", path),
        _ => {
            let place = resolved(path);
            check_replaceable(&place)?;
            Ok(Some(place))
        }
    }
}

/// Checks, before an export spends hours, that the finished file can replace the file at `path`.
///
/// # Errors
/// `Path`, with the reason.
#[cfg(target_os = "linux")]
pub fn check_replaceable(path: &Path) -> Result<()> {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    const STICKY: u16 = 0o1000;
    let look = |path| {
        statx(
            CWD,
            path,
            AtFlags::SYMLINK_NOFOLLOW,
            StatxFlags::BASIC_STATS,
        )
    };
    // If these facts are not available, only the attempt shows whether the file can be replaced.
    let (Ok(file), Ok(directory)) = (look(path), look(directory_of(path))) else {
        return Ok(());
    };
    let user = rustix::process::geteuid().as_raw();
    let has = |which| file.stx_attributes.intersects(which);
    let why = if has(StatxAttributes::MOUNT_ROOT) {
        "is a mount point, which no finished file can replace; mount its directory"
    } else if has(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND) {
        "is immutable or append only, so no finished file can replace it; change that with chattr"
    } else if directory.stx_mode & STICKY != 0
        && ![0, file.stx_uid, directory.stx_uid].contains(&user)
    {
        "belongs to another user, and in a directory with the sticky bit only its owner may replace it; ask the owner to remove it"
    } else {
        return Ok(());
    };
    let message = format!("{} {why}, or choose another output path", path.display());
    Err(Error::new(ErrorKind::Path, message))
}

/// On other systems, only the attempt shows whether the file can be replaced.
#[cfg(not(target_os = "linux"))]
pub fn check_replaceable(_: &Path) -> Result<()> {
    Ok(())
}

/// Follows symbolic links. The last one need not lead to a file.
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

/// Returns `PATH.part`, the work directory of an export to `path`.
pub(crate) fn part_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".part");
    name.into()
}

/// Returns whether a file at `path` would be the output `target` under any name, or lie in its work directory.
pub(crate) fn would_meet(target: &Path, path: &Path) -> bool {
    let (target, path) = (resolved(target), resolved(path));
    let file = |path: &Path| {
        let found = fs::metadata(path).ok().filter(Metadata::is_file);
        found.map(|found| identity(&found))
    };
    if file(&target).is_some_and(|found| file(&path) == Some(found)) {
        return true;
    }
    // The path of a file that need not exist yet.
    let place = |path: &Path| -> io::Result<PathBuf> {
        let directory = directory_of(path).canonicalize()?;
        Ok(directory.join(path.file_name().unwrap_or_default()))
    };
    matches!((place(&target), place(&path)), (Ok(target), Ok(path))
        if path == target || path.starts_with(part_of(&target)))
}

/// Returns the directory that contains `path`.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent()
        .filter(|directory| !directory.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Syncs a directory, so that created, renamed and removed names survive a power failure.
pub(crate) fn sync_directory(directory: &Path) -> Result<()> {
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Some file systems cannot sync directories, and some systems cannot open them.
        Err(error) if !cfg!(unix) || error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced.at("sync", directory),
    }
}

/// Returns the first bytes of a file, at most `most`.
pub(crate) fn begin_of(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Adds the failed operation and the path to an error.
pub(crate) trait IoContext<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T>;
}

impl<T> IoContext<T> for io::Result<T> {
    fn at(self, verb: &str, path: &Path) -> Result<T> {
        self.map_err(|error| {
            let message = format!("cannot {verb} {}: {error}", path.display());
            Error::of_io(&error, message)
        })
    }
}
