//! Writes receipts of exports to a file, all at once or not at all; a pipe or a device is written to as it is.

use crate::ending::Ending;
use crate::{names, output};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use talentdata_core::export::Export;
use talentdata_core::scan::Receipt;
use talentdata_core::{Error, ErrorKind};

/// Sees that there is a folder to write to, and that no export writes to the same file.
///
/// # Errors
/// `Io`, naming the file; `InvalidArgument` when it is one of an export.
pub(crate) fn check(path: &Path, exports: &[Export]) -> Result<(), Error> {
    if !folder(path).is_dir() {
        return Err(failed(path, "there is no such folder"));
    }
    if path.is_dir() {
        return Err(failed(path, "it is a folder"));
    }
    match exports.iter().find(|export| export.uses(path)) {
        None => Ok(()),
        Some(export) => {
            let message = format!(
                "--receipt: {} is, by this or another name, a file that the export of {} writes; name another",
                path.display(),
                names::dashed(export.resource)
            );
            Err(Error::new(ErrorKind::InvalidArgument, message))
        }
    }
}

/// Writes the receipt of the one list asked for, or an array of those that ended of several; where
/// none ended, nothing.
///
/// # Errors
/// `Io`, naming the file.
pub(crate) fn write(path: &Path, receipts: &[&Receipt], asked: usize) -> Result<(), Ending> {
    let text = match receipts {
        [] => return Ok(()),
        [receipt] if asked == 1 => serde_json::to_string_pretty(receipt),
        several => serde_json::to_string_pretty(several),
    };
    let text = text.map_err(output::unwritable)?;
    save(path, &text).map_err(|error| failed(path, error).into())
}

fn failed(path: &Path, why: impl std::fmt::Display) -> Error {
    let message = format!("--receipt: cannot write {}: {why}", path.display());
    Error::new(ErrorKind::Io, message)
}

fn folder(path: &Path) -> &Path {
    let parent = path.parent();
    let named = parent.filter(|folder| !folder.as_os_str().is_empty());
    named.unwrap_or(Path::new("."))
}

fn save(path: &Path, text: &str) -> std::io::Result<()> {
    // A device that is replaced is no device any more, and root may do that.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let mut stream = OpenOptions::new().write(true).open(path)?;
        return writeln!(stream, "{text}");
    }
    let mut file = tempfile::Builder::new()
        .prefix(".talentdata-")
        .tempfile_in(folder(path))?;
    writeln!(file, "{text}")?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
