//! Parts of a list: planned by one process, read by others, and proven together by their receipts.

use crate::boundary::{array, get, guard, guard_or, invalid, slot, terminated};
use crate::client::{Client, list};
use crate::error::Error;
use crate::options::ScanOptions;
use crate::receipt::Receipt;
use crate::scan::Scan;
use crate::text::Text;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use talentdata_core::scan::Receipt as CoreReceipt;
use talentdata_core::{Part, Result, ScanOptions as CoreOptions};

/// The parts of a list, as texts. Freed with talentdata_parts_free.
pub struct Parts {
    texts: Vec<String>,
}

/// Divides a list into at most so many parts of about the same size, instead of reading it. talentdata_client_scan_part
/// reads each of them in any process, in any order. Every record that is in the list from now until the last part
/// is read comes in exactly one of them; talentdata_receipt_of_parts says whether that is proven.
///
/// One page is fetched, and one for each part. A list of few pages has fewer parts.
///
/// @param client the client
/// @param resource the list, a talentdata_resource
/// @param count how many parts at most, 1 to 10,000
/// @param options how the parts are read, or NULL for the defaults; without a limit, and not a snapshot
/// @param parts_out the parts
/// Ownership: the caller frees `*parts_out` with talentdata_parts_free.
/// Threads: any; no other may change `options` meanwhile; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, an unknown list, another count, or options that no part has; those of a call.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_parts(
    client: Option<&Client>,
    resource: u32,
    count: u64,
    options: Option<&ScanOptions>,
    parts_out: Option<&mut MaybeUninit<Box<Parts>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (parts_out, "parts_out"), |client| {
        let options = options.map_or_else(CoreOptions::default, |options| options.inner.clone());
        let client = client.inner.clone();
        let parts = client.parts(list(resource)?, count, options)?;
        let texts = parts.iter().map(Part::to_json).collect::<Result<_>>()?;
        Ok(Box::new(Parts { texts }))
    })
}

/// The number of parts.
///
/// @param parts the parts
/// @param count_out how many there are
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_parts_count(
    parts: Option<&Parts>,
    count_out: Option<&mut MaybeUninit<usize>>,
) -> Option<Box<Error>> {
    get((parts, "parts"), (count_out, "count_out"), |parts| {
        Ok(parts.texts.len())
    })
}

/// A part, as JSON text of one line without a secret, a token or a client id.
///
/// @param parts the parts
/// @param index its number, from 0
/// @param json_out the text
/// Ownership: `*json_out` is lent until the parts are freed.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, or where there are no so many parts.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_parts_json(
    parts: Option<&Parts>,
    index: usize,
    json_out: Option<&mut MaybeUninit<Text>>,
) -> Option<Box<Error>> {
    get((parts, "parts"), (json_out, "json_out"), |parts| {
        let text = parts.texts.get(index);
        let text =
            text.ok_or_else(|| invalid("index", format_args!("there is no part {index}")))?;
        Ok(Text::of(text))
    })
}

/// Frees the parts of a list; does nothing when they are NULL.
///
/// Ownership: `parts` and what was read from it must not be used any more.
/// Threads: one at a time per handle.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_parts_free(parts: Option<Box<Parts>>) {
    guard_or((), || drop(parts));
}

/// Creates a scan of a part that was planned here or elsewhere. Its Arrow stream has the same columns as those of all
/// other parts.
///
/// @param client the client
/// @param resource the list that it is a part of, a talentdata_resource
/// @param part the JSON text of the part, NUL-terminated
/// @param scan_out the scan
/// Ownership: the caller frees `*scan_out` with talentdata_scan_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, for what is not a part, was altered, or is of another version or list; CLOSED. Nothing is
/// sent yet. The first wait fails with INVALID_ARGUMENT for a part of another base URL or client id.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_client_scan_part(
    client: Option<&Client>,
    resource: u32,
    part: *const c_char,
    scan_out: Option<&mut MaybeUninit<Box<Scan>>>,
) -> Option<Box<Error>> {
    get((client, "client"), (scan_out, "scan_out"), |client| {
        let resource = list(resource)?;
        let part = Part::from_json(terminated(&part, "part")?)?;
        if part.resource() != resource {
            let other = part.resource();
            return Err(invalid(
                "part",
                format_args!("it is a part of {other}, not of {resource}"),
            ));
        }
        let scan = client.inner.clone().scan_part(&part)?;
        Ok(Box::new(Scan::new(scan, resource)))
    })
}

/// The receipt of a whole list, from the JSON texts of those of its parts in any order. Counts and times are sums.
/// Completeness is proven if each part of the plan is there and proven, and each has as many records as planned where the
/// total never changed; it is unfinished where a part is not there.
///
/// @param receipts the texts, each NUL-terminated
/// @param receipts_count how many these are
/// @param receipt_out the receipt
/// Ownership: the caller frees `*receipt_out` with talentdata_receipt_free.
/// Threads: any.
/// Errors: INVALID_ARGUMENT for NULL, where a text is no receipt of a part or is of another plan, and when a part is there
/// twice: only the reading whose records were kept counts.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_receipt_of_parts(
    receipts: *const *const c_char,
    receipts_count: usize,
    receipt_out: Option<&mut MaybeUninit<Box<Receipt>>>,
) -> Option<Box<Error>> {
    guard(|| {
        let texts = array(&receipts, receipts_count, "receipts")?.iter();
        let texts = texts.map(|text| terminated(text, "receipts"));
        let texts = texts.collect::<Result<Vec<&str>>>()?;
        let receipt_out = slot(receipt_out, "receipt_out")?;
        let read = texts.into_iter().map(|text| {
            serde_json::from_str::<CoreReceipt>(text)
                .map_err(|error| invalid("receipts", format_args!("one is no receipt: {error}")))
        });
        let read = read.collect::<Result<Vec<_>>>()?;
        let whole = CoreReceipt::of_parts(read)?;
        receipt_out.write(Box::new(Receipt::new(whole)?));
        Ok(())
    })
}
