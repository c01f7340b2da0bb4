//! Writes receipts of exports to a file, all at once or not at all; a pipe or a device is written to as it is.
//!
//! A file says `unfinished` from the start of a run to its end, so that an older receipt does not
//! speak for a run that failed.

use crate::output;
use serde::Serialize;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use talentdata_columns::export::check_replaceable;
use talentdata_core::{Error, ErrorKind};

/// Checks that there is a directory to write to, and that the command does not use the file for something else.
///
/// # Errors
/// `Io` with the path; `InvalidArgument` when it does.
pub(crate) fn check(path: &Path, is_used: impl FnOnce(&Path) -> bool) -> Result<(), Error> {
    if !directory(path).is_dir() {
        return Err(failed(path, "no such directory"));
    }
    if path.is_dir() {
        return Err(failed(path, "it is a directory"));
    }
    if is_used(path) {
        let message = format!(
            "--receipt: {} is, by this or another name, a file that the command writes; choose another path",
            path.display()
        );
        return Err(Error::invalid(message));
    }
    if is_stream(path) {
        Ok(())
    } else {
        check_replaceable(path)
    }
}

/// Writes the receipt of a single list, or an array of those of several. Pipes and devices get it only where it is the
/// `last` one.
///
/// # Errors
/// `Io` with the path.
pub(crate) fn write(path: &Path, receipts: &[impl Serialize], last: bool) -> Result<(), Error> {
    if is_stream(path) && !last {
        return Ok(());
    }
    let text = match receipts {
        [receipt] => serde_json::to_string_pretty(receipt),
        several => serde_json::to_string_pretty(several),
    };
    let text = text.map_err(output::unwritable)?;
    save(path, &text).map_err(|error| failed(path, error))
}

/// Whether both are the same file, which may not exist.
pub(crate) fn is_one_file(one: &Path, other: &Path) -> bool {
    let of = |path: &Path| path.canonicalize().ok();
    one == other || of(one).is_some_and(|one| of(other) == Some(one))
}

fn failed(path: &Path, why: impl std::fmt::Display) -> Error {
    let message = format!("--receipt: cannot write {}: {why}", path.display());
    Error::new(ErrorKind::Io, message)
}

fn directory(path: &Path) -> &Path {
    let parent = path.parent();
    let named = parent.filter(|directory| !directory.as_os_str().is_empty());
    named.unwrap_or(Path::new("."))
}

/// Whether it is a pipe or a device. If one were replaced by a file, it would be gone, and root may do that.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file())
}

fn save(path: &Path, text: &str) -> std::io::Result<()> {
    if is_stream(path) {
        let mut stream = OpenOptions::new().write(true).open(path)?;
        return writeln!(stream, "{text}");
    }
    let mut file = tempfile::Builder::new()
        .prefix(".talentdata-")
        .tempfile_in(directory(path))?;
    writeln!(file, "{text}")?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
