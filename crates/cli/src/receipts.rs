//! Writes receipts of exports to a file, all at once or not at all.

use crate::ending::Ending;
use crate::output;
use std::io::Write;
use std::path::Path;
use talentdata_core::scan::Receipt;
use talentdata_core::{Error, ErrorKind};

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
    save(path, &text).map_err(|error| {
        let message = format!("cannot write {}: {error}", path.display());
        Error::new(ErrorKind::Io, message).into()
    })
}

fn save(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".talentdata-")
        .tempfile_in(folder)?;
    writeln!(file, "{text}")?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
