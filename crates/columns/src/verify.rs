//! Verifies that a file still has the bytes that an export wrote, by the BLAKE3 in the export's receipt.

use crate::paths::{IoContext, begin_of};
use blake3::Hasher;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::path::Path;
use talentdata_core::scan::{Receipt, Written};
use talentdata_core::{Error, ErrorKind, Result};

/// The maximum size that is read. A receipt has some kilobytes.
const MAX_BYTES: u64 = 64 << 20;

/// The comparison of a file with its receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Verification {
    /// True if the file has exactly the bytes that were written.
    pub matches: bool,
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// The BLAKE3 of the file, as 64 hexadecimal digits.
    pub blake3: String,
    /// The records and the file that the receipt describes.
    pub written: Written,
}

impl Verification {
    /// Returns an error unless the file has exactly the bytes that were written.
    ///
    /// # Errors
    /// `Mismatch`, which names the file and the difference.
    pub fn to_result(&self, file: &Path) -> Result<()> {
        if self.matches {
            return Ok(());
        }
        let (file, written) = (file.display(), &self.written);
        let size = if self.bytes == written.bytes {
            String::new()
        } else {
            format!("it has {} bytes instead of {}; ", self.bytes, written.bytes)
        };
        let message = format!(
            "{file} does not match its receipt: {size}its BLAKE3 is {} instead of {}",
            self.blake3, written.blake3
        );
        Err(Error::new(ErrorKind::Mismatch, message))
    }
}

/// Compares a file with the receipt of its export. The file may have another name by now. The whole file is read.
///
/// A file that differs is not an error: see [`Verification::to_result`].
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let records = [("contacts".to_owned(), 250)].into();
/// # let sandbox = talentdata_sandbox::Sandbox::start(talentdata_sandbox::Options { records, ..Default::default() })?;
/// # let mut settings = talentdata_core::Client::builder();
/// # settings.base_url(sandbox.base_url()).client_id(sandbox.client_id()).client_secret(sandbox.client_secret());
/// # settings.budget("process");
/// # let client = talentdata_core::blocking::Client::new(&settings)?;
/// # let directory = tempfile::tempdir()?;
/// use talentdata_columns::export::{Export, Format, Target};
/// use talentdata_core::ListName;
/// use talentdata_columns::verify::verify;
///
/// let path = directory.path().join("contacts.jsonl");
/// let receipt = Export::new(ListName::Contacts, Format::Jsonl, Target::File(path.clone())).job(&client)?.run()?;
/// assert!(verify(&path, &receipt)?.matches);
/// std::fs::write(&path, "{}")?;
/// assert!(!verify(&path, &receipt)?.matches);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `Path` or `Io` if the file cannot be read; `InvalidArgument` for a receipt of a scan or of an export that is not
/// complete.
pub fn verify(file: &Path, receipt: &Receipt) -> Result<Verification> {
    let Some(written) = &receipt.written else {
        let message = "receipt: it does not say what was written: it is the receipt of a scan, or of an export \
                       that is not complete";
        return Err(Error::invalid(message));
    };
    // Opening a directory succeeds, and opening a pipe would block.
    if !file.metadata().at("read", file)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
        .at("read", file);
    }
    let mut hasher = Hasher::new();
    let opened = File::open(file).at("read", file)?;
    hasher.update_reader(opened).at("read", file)?;
    let (bytes, blake3) = (hasher.count(), hasher.finalize().to_string());
    Ok(Verification {
        matches: bytes == written.bytes && blake3.eq_ignore_ascii_case(&written.blake3),
        bytes,
        blake3,
        written: written.clone(),
    })
}

/// Reads the receipt of `file` from the file at `path`, which may contain the receipts of several lists.
///
/// # Errors
/// `Path` or `Io` if it cannot be read; otherwise see [`parse_receipt`].
pub fn read_receipt(path: &Path, file: &Path) -> Result<Receipt> {
    let text = begin_of(path, MAX_BYTES).at("read", path)?;
    parse_receipt(text, file).map_err(|error| {
        let message = format!("{}: {}", path.display(), error.message());
        error.with_message(message)
    })
}

/// Reads a receipt from its JSON. If there are several receipts, returns the one of an export to a file with the name
/// of `file`.
///
/// # Errors
/// `InvalidArgument` if it is not a receipt, or if no receipt is of a file with that name.
pub fn parse_receipt(text: impl AsRef<[u8]>, file: &Path) -> Result<Receipt> {
    let text = text.as_ref();
    let parsed = if text.trim_ascii_start().starts_with(b"[") {
        serde_json::from_slice(text)
    } else {
        serde_json::from_slice(text).map(|receipt| vec![receipt])
    };
    let mut receipts: Vec<Receipt> =
        parsed.map_err(|error| Error::invalid(format!("it is not a receipt: {error}")))?;
    let name = |receipt: &Receipt| receipt.written.as_ref()?.file.clone();
    let names: Vec<String> = receipts.iter().filter_map(name).collect();
    let is_wanted = |receipt: &Receipt| {
        name(receipt).is_some_and(|name| file.file_name() == Some(name.as_ref()))
    };
    let found = match receipts.len() {
        1 => receipts.pop(),
        _ => receipts.into_iter().find(is_wanted),
    };
    found.ok_or_else(|| {
        let file = file.display();
        let names = if names.is_empty() {
            "no files".to_owned()
        } else {
            names.join(", ")
        };
        Error::invalid(format!(
            "there is no receipt of a file named {file}, only of {names}"
        ))
    })
}
