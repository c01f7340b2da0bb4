//! The scan handle: record after record, waiting or not, stopped from any thread.

use crate::boundary::{MayBeFreed, get, guard, guard_or, lent, slot};
use crate::descriptor::Doorbell;
use crate::error::Error;
use crate::receipt::Receipt;
use crate::record::Record;
use crate::source::Source;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::task::Poll;
use talentdata_core::blocking::Scan as Blocking;
use talentdata_core::types::Resource;
use talentdata_core::{Error as CoreError, ErrorKind};

/// Every record of a list, in order. One thread at a time may use it, except for
/// talentdata_scan_cancel. Freed by talentdata_scan_free.
pub struct Scan {
    pub(crate) source: Arc<Source>,
    _lent: MayBeFreed,
}

impl Scan {
    pub(crate) fn new(scan: Blocking, resource: Resource) -> Self {
        Scan {
            source: Arc::new(Source::new(scan, resource)),
            _lent: MayBeFreed::default(),
        }
    }
}

/// What talentdata_scan_try_next found.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Arrival {
    /// A record.
    Record = 1,
    /// Nothing yet: wait until the descriptor is readable.
    Later = 2,
    /// The end of the list.
    End = 3,
}

/// Waits for the next record.
///
/// @param scan the scan
/// @param record_out the record; NULL at the end of the list
/// Ownership: lends `scan`; gives `*record_out`, free it by talentdata_record_free.
/// Threads: one at a time per scan; blocks.
/// Errors: those of a call, with the offset of the page; PAGING when the pages contradict each other;
/// CANCELLED after talentdata_scan_cancel; CLOSED after another error, and in a forked child for a
/// scan of the parent; INVALID_ARGUMENT for NULL or while another thread is in a call.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_next(
    scan: Option<&Scan>,
    record_out: Option<&mut MaybeUninit<Option<Box<Record>>>>,
) -> Option<Box<Error>> {
    get((scan, "scan"), (record_out, "record_out"), |scan| {
        let source = Arc::clone(&scan.source);
        Ok(source.lock()?.next(&source)?.map(Box::new))
    })
}

/// Takes the next record if it is there, without waiting.
///
/// @param scan the scan
/// @param arrival_out what was found, a talentdata_arrival
/// @param record_out the record; NULL when none was found
/// Ownership: lends `scan`; gives `*record_out`, free it by talentdata_record_free.
/// Threads: one at a time per scan.
/// Errors: as talentdata_scan_next.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_try_next(
    scan: Option<&Scan>,
    arrival_out: Option<&mut MaybeUninit<Arrival>>,
    record_out: Option<&mut MaybeUninit<Option<Box<Record>>>>,
) -> Option<Box<Error>> {
    guard(|| {
        let source = Arc::clone(&lent(scan, "scan")?.source);
        let arrival_out = slot(arrival_out, "arrival_out")?;
        let record_out = slot(record_out, "record_out")?;
        let (arrival, record) = match source.lock()?.poll_next(&source)? {
            Poll::Ready(Some(record)) => (Arrival::Record, Some(Box::new(record))),
            Poll::Ready(None) => (Arrival::End, None),
            Poll::Pending => (Arrival::Later, None),
        };
        arrival_out.write(arrival);
        record_out.write(record);
        Ok(())
    })
}

/// A file descriptor for poll, select, epoll or an event loop. It is readable while
/// talentdata_scan_try_next has something to say: a record, the end or an error.
///
/// @param scan the scan
/// @param descriptor_out the descriptor; the same at every call
/// Ownership: the descriptor belongs to the scan. Do not read, write or close it; it ends with the scan.
/// Threads: one at a time per scan.
/// Errors: IO when the system grants no pipe; INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_descriptor(
    scan: Option<&Scan>,
    descriptor_out: Option<&mut MaybeUninit<i32>>,
) -> Option<Box<Error>> {
    get((scan, "scan"), (descriptor_out, "descriptor_out"), |scan| {
        if let Some(doorbell) = scan.source.doorbell.get() {
            return Ok(doorbell.descriptor());
        }
        let made = Doorbell::new().map_err(|error| {
            let message = format!("no pipe for the descriptor: {error}");
            CoreError::new(ErrorKind::Io, message)
        })?;
        // The first look tells whether there is something yet, and asks to be told.
        made.ring();
        let doorbell = scan.source.doorbell.get_or_init(|| Arc::new(made));
        Ok(doorbell.descriptor())
    })
}

/// Stops a scan: a call that waits for it in another thread, and every later one, fails with CANCELLED.
///
/// @param scan the scan
/// Ownership: lends `scan`, which still has to be freed.
/// Threads: any, also while another thread waits for the scan.
/// Errors: INVALID_ARGUMENT for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_cancel(scan: Option<&Scan>) -> Option<Box<Error>> {
    guard(|| {
        Arc::clone(&lent(scan, "scan")?.source).stop();
        Ok(())
    })
}

/// What the scan has done so far; final once it has ended.
///
/// @param scan the scan
/// @param receipt_out the receipt
/// Ownership: lends `scan`; gives `*receipt_out`, free it by talentdata_receipt_free.
/// Threads: one at a time per scan.
/// Errors: INVALID_ARGUMENT for NULL or while another thread is in a call.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_receipt(
    scan: Option<&Scan>,
    receipt_out: Option<&mut MaybeUninit<Box<Receipt>>>,
) -> Option<Box<Error>> {
    get((scan, "scan"), (receipt_out, "receipt_out"), |scan| {
        let source = Arc::clone(&scan.source);
        let receipt = source.lock()?.receipt()?;
        Ok(Box::new(Receipt::new(receipt)?))
    })
}

/// Frees a scan and ends its requests; nothing happens when it is NULL. Its records stay valid, its
/// Arrow stream goes on, and a call of another thread that waits for it ends with CANCELLED.
///
/// Ownership: takes `scan`; its descriptor must not be used any more.
/// Threads: any.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_free(scan: Option<Box<Scan>>) {
    guard_or((), || {
        if let Some(scan) = &scan {
            scan.source.leave();
        }
        drop(scan);
    });
}
