//! The receipt handle: what a scan has done, and whether it is proven complete.

use crate::boundary::{get, guard_or};
use crate::error::Error;
use crate::text::Text;
use std::mem::MaybeUninit;
use talentdata_core::scan::{Completeness as CoreCompleteness, Receipt as CoreReceipt};
use talentdata_core::{Error as CoreError, ErrorKind, Result};

/// Whether every record that was in the list all the time has been delivered.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Completeness {
    /// The scan has not come to its end.
    Unfinished = 1,
    /// All pages join.
    Proven = 2,
    /// The end was reached, but there are doubts; the receipt's JSON names them.
    NotProven = 3,
    /// The scan was asked not to check.
    NotChecked = 4,
}

/// What a scan has done, at the moment it was asked. Freed by talentdata_receipt_free.
pub struct Receipt {
    inner: CoreReceipt,
    json: String,
}

impl Receipt {
    pub(crate) fn new(inner: CoreReceipt) -> Result<Self> {
        let json = serde_json::to_string(&inner).map_err(|_| {
            CoreError::new(
                ErrorKind::Internal,
                "a receipt could not be written as JSON",
            )
        })?;
        Ok(Receipt { inner, json })
    }
}

/// Whether the scan is complete.
///
/// @param receipt the receipt
/// @param completeness_out a talentdata_completeness
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_completeness(
    receipt: Option<&Receipt>,
    completeness_out: Option<&mut MaybeUninit<Completeness>>,
) -> Option<Box<Error>> {
    get(
        (receipt, "receipt"),
        (completeness_out, "completeness_out"),
        |receipt| {
            Ok(match receipt.inner.completeness {
                CoreCompleteness::Unfinished => Completeness::Unfinished,
                CoreCompleteness::Proven => Completeness::Proven,
                CoreCompleteness::NotProven => Completeness::NotProven,
                CoreCompleteness::NotChecked => Completeness::NotChecked,
            })
        },
    )
}

/// How many records were delivered.
///
/// @param receipt the receipt
/// @param records_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_records(
    receipt: Option<&Receipt>,
    records_out: Option<&mut MaybeUninit<u64>>,
) -> Option<Box<Error>> {
    get(
        (receipt, "receipt"),
        (records_out, "records_out"),
        |receipt| Ok(receipt.inner.records),
    )
}

/// How many pages were joined.
///
/// @param receipt the receipt
/// @param pages_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_pages(
    receipt: Option<&Receipt>,
    pages_out: Option<&mut MaybeUninit<u64>>,
) -> Option<Box<Error>> {
    get((receipt, "receipt"), (pages_out, "pages_out"), |receipt| {
        Ok(receipt.inner.pages)
    })
}

/// How many page requests were sent, retries included.
///
/// @param receipt the receipt
/// @param requests_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_requests(
    receipt: Option<&Receipt>,
    requests_out: Option<&mut MaybeUninit<u64>>,
) -> Option<Box<Error>> {
    get(
        (receipt, "receipt"),
        (requests_out, "requests_out"),
        |receipt| Ok(receipt.inner.requests),
    )
}

/// How many answers had status 429.
///
/// @param receipt the receipt
/// @param rate_limited_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_rate_limited(
    receipt: Option<&Receipt>,
    rate_limited_out: Option<&mut MaybeUninit<u64>>,
) -> Option<Box<Error>> {
    get(
        (receipt, "receipt"),
        (rate_limited_out, "rate_limited_out"),
        |receipt| Ok(receipt.inner.rate_limited),
    )
}

/// How long it took from the first request to the end, in seconds.
///
/// @param receipt the receipt
/// @param seconds_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_seconds(
    receipt: Option<&Receipt>,
    seconds_out: Option<&mut MaybeUninit<f64>>,
) -> Option<Box<Error>> {
    get(
        (receipt, "receipt"),
        (seconds_out, "seconds_out"),
        |receipt| Ok(receipt.inner.seconds),
    )
}

/// The whole receipt as JSON, with all counts, times, doubts and unknown fields.
///
/// @param receipt the receipt
/// @param json_out the JSON text
/// Ownership: `*json_out` is lent until the receipt is freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_json(
    receipt: Option<&Receipt>,
    json_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((receipt, "receipt"), (json_out, "json_out"), |receipt| {
        Ok(Text::of(&receipt.json))
    })
}

/// Frees a receipt; nothing happens when it is NULL.
///
/// Ownership: takes `receipt`, and with it the texts that it lent.
/// Threads: one at a time per receipt.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_free(receipt: Option<Box<Receipt>>) {
    guard_or((), || drop(receipt));
}
