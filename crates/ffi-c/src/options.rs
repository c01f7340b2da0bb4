//! Options of a scan, as a builder that can grow.

use crate::boundary::{guard, guard_or, invalid, lent, slot};
use crate::error::Error;
use std::mem::MaybeUninit;
use talentdata_core::ScanOptions as CoreOptions;
use talentdata_core::scan::Consistency as CoreConsistency;

/// How a scan deals with a list that changes while it is read (section 8 of the service document).
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Consistency {
    /// Every record that is in the list during the whole scan is delivered exactly once, given a
    /// stable order; the receipt says whether that is proven.
    Complete = 1,
    /// Pages follow each other; nothing is checked.
    Fast = 2,
}

/// What a scan is asked to do. Freed by talentdata_scan_options_free.
#[derive(Default)]
pub struct ScanOptions {
    pub(crate) inner: CoreOptions,
}

/// Makes options in which nothing is set: complete, pages as large as the service grants.
///
/// @param options_out the options
/// Ownership: gives `*options_out`; free it by talentdata_scan_options_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_new(
    options_out: Option<&mut MaybeUninit<Box<ScanOptions>>>,
) -> Option<Box<Error>> {
    guard(|| {
        slot(options_out, "options_out")?.write(Box::default());
        Ok(())
    })
}

/// Frees options; nothing happens when they are NULL. Scans made with them go on.
///
/// Ownership: takes `options`.
/// Threads: one at a time per options.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_free(options: Option<Box<ScanOptions>>) {
    guard_or((), || drop(options));
}

/// How the scan deals with a list that changes while it is read.
///
/// @param options the options to change
/// @param consistency a talentdata_consistency
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL or another number.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_set_consistency(
    options: Option<&mut ScanOptions>,
    consistency: u32,
) -> Option<Box<Error>> {
    guard(|| {
        let options = lent(options, "options")?;
        options.inner.consistency = match consistency {
            number if number == Consistency::Complete as u32 => CoreConsistency::Complete,
            number if number == Consistency::Fast as u32 => CoreConsistency::Fast,
            other => return Err(invalid("consistency", format_args!("{other} is none"))),
        };
        Ok(())
    })
}

/// How many records a page is asked to hold; the most that the service grants by default.
///
/// @param options the options to change
/// @param records the page size in records, from 1 to the list's maximum (100 in the service document); more fails with the first record
/// Threads: one at a time per options.
/// Errors: INVALID_ARGUMENT for NULL or 0.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_options_set_page_size(
    options: Option<&mut ScanOptions>,
    records: u64,
) -> Option<Box<Error>> {
    guard(|| {
        let options = lent(options, "options")?;
        if records == 0 {
            return Err(invalid("records", "a page of 0 records is not possible"));
        }
        options.inner.page_size = Some(records);
        Ok(())
    })
}
