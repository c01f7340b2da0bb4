//! Options of an export, as a builder that can grow.

use crate::boundary::{guard, guard_or, lent, slot};
use crate::error::Error;
use crate::options::ScanOptions;
use std::mem::MaybeUninit;
use talentdata_columns::arrow::TableOptions;
use talentdata_columns::export::Format;
use talentdata_core::ScanOptions as CoreScanOptions;

/// Options of an export. Freed with talentdata_export_options_free.
#[derive(Default)]
pub struct ExportOptions {
    /// None where the name of the file decides.
    pub(crate) format: Option<Format>,
    pub(crate) resume: bool,
    pub(crate) scan: CoreScanOptions,
    pub(crate) table: TableOptions,
}

/// Creates options with the defaults: the format by the file name extension, a new file, and the defaults of a
/// scan.
///
/// @param options_out the options
/// Ownership: the caller frees `*options_out` with talentdata_export_options_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_export_options_new(
    options_out: Option<&mut MaybeUninit<Box<ExportOptions>>>,
) -> Option<Box<Error>> {
    guard(|| {
        slot(options_out, "options_out")?.write(Box::default());
        Ok(())
    })
}

/// Sets the format of the file. By default it is that of the file name extension (.jsonl, .csv, .parquet or
/// .arrow), and JSON Lines for any other name.
///
/// @param options the options to change
/// @param format a talentdata_format
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL or an unknown format.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_export_options_set_format(
    options: Option<&mut ExportOptions>,
    format: u32,
) -> Option<Box<Error>> {
    guard(|| {
        let options = lent(options, "options")?;
        options.format = Some(Format::of_number(format)?);
        Ok(())
    })
}

/// Sets whether to continue an interrupted export of the same list to the same file with the same options, or
/// to begin where there is none. By default what an interrupted export has left is replaced.
///
/// @param options the options to change
/// @param resume whether to continue
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_export_options_set_resume(
    options: Option<&mut ExportOptions>,
    resume: bool,
) -> Option<Box<Error>> {
    guard(|| {
        lent(options, "options")?.resume = resume;
        Ok(())
    })
}

/// Sets how the list is read, and which columns a CSV, Parquet or Arrow file has: page size,
/// limit, column types, and schema with the action for new fields.
///
/// @param options the options to change
/// @param scan_options the options of a scan; they are copied
/// Threads: one at a time per options; no other may change `scan_options` meanwhile.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_export_options_set_scan(
    options: Option<&mut ExportOptions>,
    scan_options: Option<&ScanOptions>,
) -> Option<Box<Error>> {
    guard(|| {
        let options = lent(options, "options")?;
        let scan_options = lent(scan_options, "scan_options")?;
        options.scan = scan_options.scan.clone();
        options.table = scan_options.table.clone();
        Ok(())
    })
}

/// Frees options; does nothing when they are NULL. Exporters made with them keep working.
///
/// Ownership: `options` must not be used any more.
/// Threads: one at a time per options.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_export_options_free(options: Option<Box<ExportOptions>>) {
    guard_or((), || drop(options));
}
