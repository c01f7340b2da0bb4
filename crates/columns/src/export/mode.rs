//! The permissions of the files of an export. Only their owner can read them, unless the caller shares the finished
//! file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;
use std::str::FromStr;
use talentdata_core::Error;

/// The permissions of a new file on Unix, for example 0640. By default only its owner can read and write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileMode(u32);

impl FileMode {
    /// Returns the bits of the permissions.
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl Default for FileMode {
    fn default() -> Self {
        FileMode(0o600)
    }
}

impl FromStr for FileMode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let is_octal =
            (3..=4).contains(&text.len()) && text.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
        match u32::from_str_radix(text, 8) {
            Ok(bits) if is_octal && bits <= 0o777 && bits & 0o600 == 0o600 => Ok(FileMode(bits)),
            _ => Err(Error::invalid(format!(
                "mode: {text:?} must be octal digits that let the owner read and write, such as 0640"
            ))),
        }
    }
}

/// Opens a file with these options. If it is new, only its owner can read and write it, regardless of the umask.
pub(super) fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if file.metadata()?.permissions().mode() & 0o600 != 0o600 {
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(file)
}

/// Gives the finished file the permissions of the file that it replaces, or `mode` if it replaces none.
pub(super) fn set_final_mode(file: &File, target: &Path, mode: FileMode) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let bits = |found: &fs::Metadata| found.permissions().mode() & 0o777;
        let replaced = match fs::symlink_metadata(target) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // An unknown mode is an error. The new file might otherwise be readable for more users than the old one.
            found => Some(found?),
        };
        let replaced = replaced.filter(fs::Metadata::is_file);
        let wanted = replaced.as_ref().map_or(mode.0, bits);
        if bits(&file.metadata()?) != wanted {
            file.set_permissions(fs::Permissions::from_mode(wanted))?;
        }
    }
    Ok(())
}
