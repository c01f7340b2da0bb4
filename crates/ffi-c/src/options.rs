//! Options of a scan, as a builder that can grow.

use crate::boundary::{guard, guard_or, invalid, lent, slot, terminated, text};
use crate::error::Error;
use crate::parameters::Parameters;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::sync::Arc;
use talentdata_columns::arrow::{Columns, OnNew, TableOptions, TableSchema};
use talentdata_core::{Result, ScanOptions as CoreOptions};

/// Options of a scan, and of how an export reads its list. Freed with talentdata_scan_options_free.
#[derive(Default)]
pub struct ScanOptions {
    pub(crate) scan: CoreOptions,
    pub(crate) table: TableOptions,
}

/// Creates options with the defaults: complete, pages as large as the service allows.
///
/// @param options_out the options
/// Ownership: the caller frees `*options_out` with talentdata_scan_options_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_new(
    options_out: Option<&mut MaybeUninit<Box<ScanOptions>>>,
) -> Option<Box<Error>> {
    guard(|| {
        slot(options_out, "options_out")?.write(Box::default());
        Ok(())
    })
}

/// Frees options; does nothing when they are NULL. Scans made with them keep working.
///
/// Ownership: `options` must not be used any more.
/// Threads: one at a time per options.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_free(options: Option<Box<ScanOptions>>) {
    guard_or((), || drop(options));
}

/// Sets how many records to request per page; by default as many as the service allows.
///
/// @param options the options to change
/// @param records the page size in records, from 1 to the list's maximum (100). A larger size makes
/// the first talentdata_scan_next fail.
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL or 0.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_set_page_size(
    options: Option<&mut ScanOptions>,
    records: u64,
) -> Option<Box<Error>> {
    guard(|| {
        let options = lent(options, "options")?;
        if records == 0 {
            return Err(invalid("records", "must be at least 1 (got 0)"));
        }
        options.scan.page_size = Some(records);
        Ok(())
    })
}

/// Sets the values of the list's parameters, such as filters; by default none. They replace those set before, and are
/// sent with every page. Parameters that the list does not have, lacks, or cannot take make the first
/// talentdata_scan_next fail, before anything is sent.
///
/// @param options the options to change
/// @param parameters the parameters
/// Ownership: the caller still owns `parameters`, and may free them.
/// Threads: one at a time per handle.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_set_parameters(
    options: Option<&mut ScanOptions>,
    parameters: Option<&Parameters>,
) -> Option<Box<Error>> {
    guard(|| {
        let options = lent(options, "options")?;
        options.scan.arguments = lent(parameters, "parameters")?.arguments();
        Ok(())
    })
}

/// Sets how many records to deliver at most; by default all. The scan ends behind them, and its receipt
/// says that it is unfinished.
///
/// @param options the options to change
/// @param records the number of records
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_set_limit(
    options: Option<&mut ScanOptions>,
    records: u64,
) -> Option<Box<Error>> {
    guard(|| {
        lent(options, "options")?.scan.limit = Some(records);
        Ok(())
    })
}

/// Sets which types the columns of an Arrow stream or an exported file have, where no schema is given.
///
/// @param options the options to change
/// @param columns a talentdata_columns
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL or an unknown choice.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_set_columns(
    options: Option<&mut ScanOptions>,
    columns: u32,
) -> Option<Box<Error>> {
    guard(|| {
        lent(options, "options")?.table.columns = Columns::of_number(columns)?;
        Ok(())
    })
}

/// Sets the columns of an Arrow stream or an exported file, so that they are the same in every run. How the records differ
/// from the schema is in the receipt's JSON.
///
/// @param options the options to change
/// @param schema NUL-terminated UTF-8 text: what talentdata_client_schema has determined, or the contents of a
/// file that `talentdata schema` has printed
/// @param on_new a talentdata_on_new
/// Ownership: the text is copied.
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL, text that is not a schema or more than 8 MiB, or an unknown choice.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_set_schema(
    options: Option<&mut ScanOptions>,
    schema: *const c_char,
    on_new: u32,
) -> Option<Box<Error>> {
    guard(|| {
        let options = lent(options, "options")?;
        options.pin(terminated(&schema, "schema")?, on_new)
    })
}

/// Like talentdata_scan_options_set_schema, for text that need not be NUL-terminated.
///
/// @param options the options to change
/// @param schema UTF-8 text: what talentdata_client_schema has determined, or the contents of a file that
/// `talentdata schema` has printed
/// @param schema_length its length in bytes
/// @param on_new a talentdata_on_new
/// Ownership: the text is copied.
/// Threads: one at a time per options.
/// Errors: as talentdata_scan_options_set_schema.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_set_schema_n(
    options: Option<&mut ScanOptions>,
    schema: *const c_char,
    schema_length: usize,
    on_new: u32,
) -> Option<Box<Error>> {
    guard(|| {
        let options = lent(options, "options")?;
        options.pin(text(&schema, schema_length, "schema")?, on_new)
    })
}

impl ScanOptions {
    fn pin(&mut self, schema: &str, on_new: u32) -> Result<()> {
        let schema = TableSchema::from_json(schema)?;
        self.table.on_new = OnNew::of_number(on_new)?;
        self.table.schema = Some(Arc::new(schema));
        Ok(())
    }
}
