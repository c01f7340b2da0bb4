//! Holds a file against the receipt of the export that wrote it, and names what differs.
//!
//! Size and BLAKE3 tell whether the file is byte for byte what was written. Where it is not, the number of records
//! and, in JSON Lines, the digest of the records tell more: a digest says *that* records differ, not which. The same
//! records in another order have the same digest. A smaller number says that at least so many are missing, a larger one
//! that so many are too many; lines that repeat earlier ones are named. Where the number is right and the digest is
//! not, at least one record was altered, or is missing while another one was added.

mod diagnosis;
mod lines;
mod receipts;
pub(crate) mod rows;

pub use receipts::read_receipt;

use crate::digest::{FileDigest, RecordsDigest, in_chunks};
use crate::export::Format;
use lines::Lines;
use rows::{CsvRows, Rows};
use serde::Serialize;
use std::fs::File;
use std::path::Path;
use talentdata_core::scan::{Receipt, Written};
use talentdata_core::{Error, ErrorKind, Result};

/// What a file is, and how it differs from what an export has written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// Whether the file is what was written, byte for byte.
    pub holds: bool,
    /// What differs; nothing where it holds.
    pub differences: Vec<Difference>,
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// Its BLAKE3, as 64 hexadecimal digits.
    pub blake3: String,
    /// Records in the file; null where it is not of the format.
    pub records: Option<u64>,
    /// The digest of the records, as in [`Written::records_digest`]; null for other formats than JSON Lines, which do
    /// not have the text of the records.
    pub records_digest: Option<String>,
    /// What was written.
    pub written: Written,
}

/// One way in which a file differs from what was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Which way.
    pub finding: Finding,
    /// The same in words, with numbers.
    pub message: String,
}

/// How a file can differ from what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// The size of the file.
    Size,
    /// Its BLAKE3.
    Blake3,
    /// It is not of the format, or not whole.
    Format,
    /// There are fewer records.
    Missing,
    /// There are more records.
    Extra,
    /// Records are there more than once.
    Repeated,
    /// As many records, but not the same ones: altered, or replaced by others.
    Altered,
    /// The same records, in another order or with other line breaks between them.
    Order,
    /// The receipt contradicts itself: the file is what was written, but its records are not what the receipt says.
    Receipt,
}

impl Verification {
    /// Nothing where the file is what was written.
    ///
    /// # Errors
    /// `Mismatch`, which names the file and what differs.
    pub fn to_result(&self, file: &Path) -> Result<()> {
        if self.holds {
            return Ok(());
        }
        let differences = self.differences.iter();
        let messages: Vec<&str> = differences.map(|one| one.message.as_str()).collect();
        let message = format!(
            "{} is not what its receipt says: {}",
            file.display(),
            messages.join("; ")
        );
        Err(Error::new(ErrorKind::Mismatch, message))
    }
}

/// Holds a file against the receipt of an export, whatever the file is called.
///
/// A file that differs is no error: see [`Verification::to_result`]. It is read once, in JSON Lines that differ twice;
/// then, 32 bytes of memory are needed for each line.
///
/// # Errors
/// `Io` when the file cannot be read; `InvalidArgument` for a receipt of a scan or of an export that is not complete.
pub fn verify(file: &Path, receipt: &Receipt) -> Result<Verification> {
    let written = receipts::written(receipt)?;
    let format: Format = written.format.parse()?;
    let kind = format.rows();
    let failed = |error: std::io::Error| {
        let message = format!("cannot read {}: {error}", file.display());
        Error::new(ErrorKind::Io, message)
    };
    // A directory can be opened, and a pipe would be waited for.
    if !std::fs::metadata(file).map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::other("it is not a regular file")));
    }
    let open = || File::open(file);
    let digest = FileDigest::new();
    let (mut lines, mut records) = (Lines::default(), RecordsDigest::default());
    let mut rows = CsvRows::default();
    let read = in_chunks(open().map_err(failed)?, |chunk| {
        digest.update(chunk);
        match kind {
            Rows::Lines => lines.push(chunk, |_, line| records.add(line)),
            Rows::Csv => rows.push(chunk),
            Rows::Told(_) => {}
        }
    });
    read.map_err(failed)?;
    let counted = match kind {
        Rows::Lines => lines
            .end(|_, line| records.add(line))
            .map(|()| records.count),
        Rows::Csv => rows.end(),
        Rows::Told(count) => count(&open().map_err(failed)?),
    };
    let has_texts = matches!(kind, Rows::Lines);
    let mut found = Verification {
        holds: false,
        differences: Vec::new(),
        bytes: digest.bytes(),
        blake3: digest.to_hex(),
        records: counted.as_ref().ok().copied(),
        records_digest: has_texts.then(|| records.to_hex()),
        written: written.clone(),
    };
    found.compare_bytes();
    let is_same_file = found.differences.is_empty();
    match counted {
        Err(wrong) => found.differ(Finding::Format, wrong),
        Ok(_) if is_same_file => found.compare_receipt(),
        Ok(_) if has_texts => {
            let diagnosis = diagnosis::read(open().map_err(failed)?).map_err(failed)?;
            diagnosis.explain(&mut found);
        }
        Ok(count) => found.compare_count(count),
    }
    found.holds = found.differences.is_empty();
    Ok(found)
}

impl Verification {
    fn differ(&mut self, finding: Finding, message: String) {
        self.differences.push(Difference { finding, message });
    }

    fn compare_bytes(&mut self) {
        let (bytes, expected) = (self.bytes, self.written.bytes);
        if bytes != expected {
            let message = format!("it has {bytes} bytes instead of {expected}");
            self.differ(Finding::Size, message);
        }
        if !self.blake3.eq_ignore_ascii_case(&self.written.blake3) {
            let message = format!(
                "its BLAKE3 is {} instead of {}",
                self.blake3, self.written.blake3
            );
            self.differ(Finding::Blake3, message);
        }
    }

    /// The number of records, where it is all that is known.
    fn compare_count(&mut self, count: u64) {
        let expected = self.written.records;
        if count < expected {
            let missing = expected - count;
            let message = format!("at least {missing} of {expected} records missing");
            self.differ(Finding::Missing, message);
        } else if count > expected {
            let extra = count - expected;
            let message =
                format!("at least {extra} more than the {expected} records that were written");
            self.differ(Finding::Extra, message);
        }
    }

    /// Of the file that was written, records and digest have to be those of the receipt.
    fn compare_receipt(&mut self) {
        let written = &self.written;
        let other_digest = |found: &String| !found.eq_ignore_ascii_case(&written.records_digest);
        if self.records != Some(written.records)
            || self.records_digest.as_ref().is_some_and(other_digest)
        {
            let message = format!(
                "the receipt contradicts itself: the file of this BLAKE3 has {} records, \
                 but the receipt says {} with the digest {}",
                self.records.unwrap_or_default(),
                written.records,
                written.records_digest
            );
            self.differ(Finding::Receipt, message);
        }
    }
}
