//! The receipt handle: what a scan has done, and whether it is proven complete.

use crate::boundary::{get, guard_or};
use crate::error::Error;
use crate::text::Text;
use std::mem::MaybeUninit;
use talentdata_core::scan::{
    Basis as CoreBasis, Completeness as CoreCompleteness, Receipt as CoreReceipt,
};
use talentdata_core::{Error as CoreError, ErrorKind, Result};

/// Whether every record present throughout the scan was delivered.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Completeness {
    /// The scan has not ended, or not all of its records were taken.
    Unfinished = 1,
    /// It was, given what the receipt's basis says.
    Proven = 2,
    /// The end was reached, but there are doubts; the receipt's JSON lists them.
    NotProven = 3,
}

/// What a proof of completeness rests on.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Basis {
    /// Completeness is not proven.
    None = 0,
    /// The total never changed during the scan, and exactly that many records were delivered.
    Counted = 1,
    /// The list changed during the scan; every page joined the one before it, and the order held.
    Joined = 2,
}

/// What a scan has done, at the time of the request. Freed with talentdata_receipt_free.
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
#[must_use]
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
                CoreCompleteness::Limited => Completeness::Unfinished,
            })
        },
    )
}

/// What the proof of completeness rests on.
///
/// @param receipt the receipt
/// @param basis_out a talentdata_basis
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_basis(
    receipt: Option<&Receipt>,
    basis_out: Option<&mut MaybeUninit<Basis>>,
) -> Option<Box<Error>> {
    get((receipt, "receipt"), (basis_out, "basis_out"), |receipt| {
        Ok(match receipt.inner.basis {
            None => Basis::None,
            Some(CoreBasis::Counted) => Basis::Counted,
            Some(CoreBasis::Joined) => Basis::Joined,
        })
    })
}

/// The number of records handed out.
///
/// @param receipt the receipt
/// @param records_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
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

/// The number of records in the list as the service last reported it; -1 where it has not been asked yet.
///
/// @param receipt the receipt
/// @param total_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_total(
    receipt: Option<&Receipt>,
    total_out: Option<&mut MaybeUninit<i64>>,
) -> Option<Box<Error>> {
    get((receipt, "receipt"), (total_out, "total_out"), |receipt| {
        Ok(receipt.inner.total_last.unwrap_or(-1))
    })
}

/// The number of pages read.
///
/// @param receipt the receipt
/// @param pages_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_pages(
    receipt: Option<&Receipt>,
    pages_out: Option<&mut MaybeUninit<u64>>,
) -> Option<Box<Error>> {
    get((receipt, "receipt"), (pages_out, "pages_out"), |receipt| {
        Ok(receipt.inner.pages)
    })
}

/// The number of page requests sent, including retries.
///
/// @param receipt the receipt
/// @param requests_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
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

/// The number of responses with status 429.
///
/// @param receipt the receipt
/// @param rate_limited_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
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

/// The time from the first request to the end, in seconds.
///
/// @param receipt the receipt
/// @param seconds_out the number
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
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
/// Ownership: `*json_out` is valid until the receipt is freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_json(
    receipt: Option<&Receipt>,
    json_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((receipt, "receipt"), (json_out, "json_out"), |receipt| {
        Ok(Text::of(&receipt.json))
    })
}

/// Frees a receipt; does nothing when it is NULL.
///
/// Ownership: `receipt` and everything read from it must not be used any more.
/// Threads: one at a time per receipt.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_free(receipt: Option<Box<Receipt>>) {
    guard_or((), || drop(receipt));
}
