//! Reads receipts from files, and finds the one that a file is to be held against.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use talentdata_core::scan::{Receipt, Written};
use talentdata_core::{Error, ErrorKind, Result};

/// A larger file is not a receipt, which has some kilobytes.
const MOST_BYTES: u64 = 64 << 20;

/// Reads a file that `talentdata export --receipt` has written. Of the receipts of several lists, it takes the one whose
/// export has written a file of the name of `file`.
///
/// # Errors
/// `Io` when it cannot be read; `InvalidArgument` when it holds no receipt, or none of such a file.
pub fn read_receipt(path: &Path, file: &Path) -> Result<Receipt> {
    let shown = path.display();
    let failed =
        |error: std::io::Error| Error::new(ErrorKind::Io, format!("cannot read {shown}: {error}"));
    let mut text = Vec::new();
    let opened = File::open(path).map_err(failed)?;
    let read = opened.take(MOST_BYTES + 1).read_to_end(&mut text);
    if read.map_err(failed)? as u64 > MOST_BYTES {
        return Err(invalid(format!(
            "{shown}: the file is too large for a receipt"
        )));
    }
    let not_one = |error: serde_json::Error| invalid(format!("{shown} is not a receipt: {error}"));
    let is_array = text.trim_ascii_start().first() == Some(&b'[');
    let mut receipts: Vec<Receipt> = match is_array {
        true => serde_json::from_slice(&text).map_err(not_one)?,
        false => vec![serde_json::from_slice(&text).map_err(not_one)?],
    };
    let named = |receipt: &Receipt| {
        let written = receipt
            .written
            .as_ref()
            .and_then(|written| written.file.as_ref());
        written.is_some_and(|name| file.file_name() == Some(name.as_ref()))
    };
    let found = match receipts.len() {
        1 => Some(0),
        _ => receipts.iter().position(named),
    };
    match found {
        Some(index) => Ok(receipts.swap_remove(index)),
        None => {
            let written = receipts
                .iter()
                .filter_map(|receipt| receipt.written.as_ref());
            let names: Vec<&str> = written
                .filter_map(|written| written.file.as_deref())
                .collect();
            let names = match names.is_empty() {
                true => "no files".to_owned(),
                false => names.join(", "),
            };
            Err(invalid(format!(
                "{shown} has no receipt of a file of the name of {}, only of {names}",
                file.display()
            )))
        }
    }
}

/// What the export of this receipt has written.
///
/// # Errors
/// `InvalidArgument` when that is nothing, or it is not known.
pub(super) fn written(receipt: &Receipt) -> Result<&Written> {
    receipt.written.as_ref().ok_or_else(|| {
        invalid(
            "receipt: it does not say what was written: it is the receipt of a scan, of an export that is not \
             complete, or of an earlier version"
                .into(),
        )
    })
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
