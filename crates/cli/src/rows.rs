//! Writes the content of a mirror: rows of a list, records or changes.

use crate::lists::dashed;
use crate::output::{Ending, reader_gone, stderr_line, warn};
use talentdata_columns::arrow::TableOptions;
use talentdata_columns::export::{Format, Target};
use talentdata_core::scan::SchemaDifferences;
use talentdata_core::types::ListName;
use talentdata_core::{Error, ErrorKind};
use talentdata_mirror::{Rows, RowsReceipt};

/// Writes rows of a list, and prints the bookmark at which they end.
///
/// # Errors
/// `ReaderGone` if the reader of standard output has gone away; otherwise the error of reading or writing.
pub(crate) fn write_rows(
    list: ListName,
    rows: Result<Rows, Error>,
    format: Format,
    target: &Target,
    table: TableOptions,
) -> Result<RowsReceipt, Ending> {
    let written = rows.and_then(|rows| rows.write(format, target, table));
    let receipt = written.map_err(|error| match error.kind() {
        ErrorKind::Io if *target == Target::Stdout && reader_gone() => Ending::ReaderGone,
        _ => error.into(),
    })?;
    let differences = receipt
        .export
        .schema
        .as_ref()
        .and_then(SchemaDifferences::summary);
    if let Some(text) = differences {
        warn(list, &text);
    }
    stderr_line(&format!("{}: bookmark {}", dashed(list), receipt.bookmark));
    Ok(receipt)
}
