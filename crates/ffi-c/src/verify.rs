//! Files compared with the receipts of the exports that wrote them.

use crate::boundary::{guard, slot, terminated};
use crate::error::Error;
use crate::json_text::JsonText;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::path::Path;
use talentdata_columns::verify::{parse_receipt, read_receipt, verify};
use talentdata_core::{Error as CoreError, ErrorKind};

/// Checks a file against its export receipt, byte for byte.
///
/// The report is a JSON object: `matches`; `bytes` and `blake3` of the file; and `written`, what the receipt contains. A
/// file that differs is not an error.
///
/// @param file the file, NUL-terminated UTF-8 text
/// @param receipt the JSON of the receipt, or else the path of a file with it, NUL-terminated UTF-8 text. Of an array of
/// receipts, the one of a file of this name counts.
/// @param matches_out whether the file is what was written, byte for byte
/// @param report_out the report
/// Ownership: the caller frees `*report_out` with talentdata_json_text_free.
/// Threads: any; reads the whole file.
/// Errors: INVALID_ARGUMENT for NULL, for what is no receipt, and for a receipt of a scan or of an export that is not
/// complete; IO when a file cannot be read.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_verify(
    file: *const c_char,
    receipt: *const c_char,
    matches_out: Option<&mut MaybeUninit<bool>>,
    report_out: Option<&mut MaybeUninit<Box<JsonText>>>,
) -> Option<Box<Error>> {
    guard(|| {
        let file = Path::new(terminated(&file, "file")?);
        let receipt = terminated(&receipt, "receipt")?;
        let matches = slot(matches_out, "matches_out")?;
        let report = slot(report_out, "report_out")?;
        let receipt = match receipt.trim_ascii_start().starts_with(['{', '[']) {
            true => parse_receipt(receipt, file)?,
            false => read_receipt(Path::new(receipt), file)?,
        };
        let verification = verify(file, &receipt)?;
        let json = serde_json::to_string(&verification).map_err(|_| {
            let message = "a verification could not be written as JSON";
            CoreError::new(ErrorKind::Internal, message)
        })?;
        matches.write(verification.matches);
        report.write(Box::new(JsonText::new(json)));
        Ok(())
    })
}
