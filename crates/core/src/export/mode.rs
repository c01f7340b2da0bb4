//! Who may read the finished file: whoever could read the file that it replaces, else whom the umask lets.
//!
//! Until then only its owner can. Other systems than Unix leave this to the directory.

use super::files::NewFile;
use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(unix)]
use std::fs::{Metadata, Permissions, symlink_metadata};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;

/// Gives the finished file the permissions that the file at `target` has, or that a new one would get.
#[cfg(unix)]
pub(super) fn set_final_mode(file: &File, target: &Path, new: &NewFile) -> io::Result<()> {
    let replaced = symlink_metadata(target).ok().filter(Metadata::is_file);
    let wanted = replaced.as_ref().map_or(new.mode, bits);
    if bits(&file.metadata()?) != wanted {
        file.set_permissions(Permissions::from_mode(wanted))?;
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn set_final_mode(_: &File, _: &Path, _: &NewFile) -> io::Result<()> {
    Ok(())
}

/// The bits that say who may do what.
#[cfg(unix)]
pub(super) fn bits(metadata: &Metadata) -> u32 {
    metadata.permissions().mode() & 0o777
}
