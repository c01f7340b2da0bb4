//! Who may read the files of an export: at no time anybody who may not read what it replaces.
//!
//! Where nothing is replaced the umask decides, as for any new file. Elsewhere than on Unix, folders do.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

#[cfg(unix)]
use std::fs::{Metadata, Permissions, symlink_metadata};
#[cfg(unix)]
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};

/// What is unfinished has to be written on, whatever is allowed with the final file.
#[cfg(unix)]
const OWN: u32 = 0o600;

/// Lets a work file be made no more open than what is at `target`.
pub(super) fn restrict(options: &mut OpenOptions, target: &Path) {
    #[cfg(unix)]
    if let Some(mode) = mode(target) {
        options.mode(mode | OWN);
    }
    #[cfg(not(unix))]
    let _ = (options, target);
}

/// Gives the finished file the permissions of what it replaces at `target`.
pub(super) fn take_over(file: &File, target: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(wanted) = mode(target)
        && bits(&file.metadata()?) != wanted
    {
        file.set_permissions(Permissions::from_mode(wanted))?;
    }
    #[cfg(not(unix))]
    let _ = (file, target);
    Ok(())
}

/// The mode of the file at `path`, if there is one.
#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    let found = symlink_metadata(path).ok();
    found.filter(Metadata::is_file).as_ref().map(bits)
}

/// Those that say who may do what.
#[cfg(unix)]
fn bits(metadata: &Metadata) -> u32 {
    metadata.permissions().mode() & 0o777
}
