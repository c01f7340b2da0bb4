//! Files held against the receipts of the exports that wrote them.

use crate::boundary::{guard, slot, terminated};
use crate::error::Error;
use crate::json_text::JsonText;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::path::Path;
use talentdata_columns::verify::{read_receipt, verify};
use talentdata_core::{Error as CoreError, ErrorKind};

/// Holds a file against the receipt of the export that wrote it.
///
/// The report is a JSON object: `holds`; `differences`, each with a `finding` and a `message`; `bytes`, `blake3`,
/// `records` and `records_digest` of the file; and `written`, what the receipt says. A file that differs is no error.
///
/// @param file the file, NUL-terminated UTF-8 text
/// @param receipt a file with the JSON of the receipt, NUL-terminated UTF-8 text. Of an array of receipts, the one of a
/// file of this name counts.
/// @param holds_out whether the file is what was written, byte for byte
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
    holds_out: Option<&mut MaybeUninit<bool>>,
    report_out: Option<&mut MaybeUninit<Box<JsonText>>>,
) -> Option<Box<Error>> {
    guard(|| {
        let file = Path::new(terminated(&file, "file")?);
        let receipt = Path::new(terminated(&receipt, "receipt")?);
        let holds = slot(holds_out, "holds_out")?;
        let report = slot(report_out, "report_out")?;
        let verification = verify(file, &read_receipt(receipt, file)?)?;
        let json = serde_json::to_string(&verification).map_err(|_| {
            let message = "a verification could not be written as JSON";
            CoreError::new(ErrorKind::Internal, message)
        })?;
        holds.write(verification.holds);
        report.write(Box::new(JsonText::new(json)));
        Ok(())
    })
}
