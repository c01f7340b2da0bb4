//! The scan handle: takes record after record, waiting or not, and is cancelled from any thread.

use crate::boundary::{MayBeFreed, get, guard, guard_or, lent, shared, slot};
use crate::descriptor::SelfPipe;
use crate::error::Error;
use crate::receipt::Receipt;
use crate::record::Record;
use crate::source::Source;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Poll;
use talentdata_columns::blocking::Scan as Blocking;
use talentdata_core::types::Resource;
use talentdata_core::{Error as CoreError, ErrorKind};

/// Reads every record of a list, in order. One thread at a time may use it, except for
/// talentdata_scan_cancel. Freed with talentdata_scan_free.
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

/// The outcome of talentdata_scan_try_next.
#[derive(Clone, Copy)]
#[repr(u32)]
pub enum Arrival {
    /// A record.
    Record = 1,
    /// No record yet: wait until the descriptor is readable.
    Later = 2,
    /// The end of the list.
    End = 3,
}

/// Waits for the next record.
///
/// @param scan the scan
/// @param record_out the record; NULL at the end of the list
/// Ownership: the caller frees `*record_out` with talentdata_record_free.
/// Threads: one at a time per scan; waits for the service.
/// Errors: those of a call, with the offset of the page; PAGING when the pages contradict each other;
/// CANCELLED after talentdata_scan_cancel; CLOSED in a forked child for a scan of the parent;
/// INVALID_ARGUMENT for NULL, after another error, when there is an Arrow stream of the scan, or while
/// another thread is using it.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_next(
    scan: Option<NonNull<Scan>>,
    record_out: Option<&mut MaybeUninit<Option<Box<Record>>>>,
) -> Option<Box<Error>> {
    get(
        (shared(&scan), "scan"),
        (record_out, "record_out"),
        |scan| {
            let source = Arc::clone(&scan.source);
            Ok(source.next()?.map(Box::new))
        },
    )
}

/// Takes the next record if it is there, without waiting.
///
/// @param scan the scan
/// @param arrival_out the outcome, a talentdata_arrival
/// @param record_out the record; NULL unless the outcome is a record
/// Ownership: the caller frees `*record_out` with talentdata_record_free.
/// Threads: one at a time per scan.
/// Errors: as talentdata_scan_next.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_try_next(
    scan: Option<NonNull<Scan>>,
    arrival_out: Option<&mut MaybeUninit<Arrival>>,
    record_out: Option<&mut MaybeUninit<Option<Box<Record>>>>,
) -> Option<Box<Error>> {
    guard(|| {
        let source = Arc::clone(&lent(shared(&scan), "scan")?.source);
        let arrival_out = slot(arrival_out, "arrival_out")?;
        let record_out = slot(record_out, "record_out")?;
        let (arrival, record) = match source.poll_next()? {
            Poll::Ready(Some(record)) => (Arrival::Record, Some(Box::new(record))),
            Poll::Ready(None) => (Arrival::End, None),
            Poll::Pending => (Arrival::Later, None),
        };
        arrival_out.write(arrival);
        record_out.write(record);
        Ok(())
    })
}

/// Returns a file descriptor for poll, select, epoll or an event loop. It is readable while
/// talentdata_scan_try_next has something to report: a record, the end or an error.
///
/// @param scan the scan
/// @param descriptor_out the descriptor, the same in every call
/// Ownership: the descriptor belongs to the scan, which closes it when it is freed. Do not read from it,
/// write to it or close it.
/// Threads: one at a time per scan.
/// Errors: IO when no pipe can be created; INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_descriptor(
    scan: Option<NonNull<Scan>>,
    descriptor_out: Option<&mut MaybeUninit<i32>>,
) -> Option<Box<Error>> {
    get(
        (shared(&scan), "scan"),
        (descriptor_out, "descriptor_out"),
        |scan| {
            if let Some(self_pipe) = scan.source.self_pipe.get() {
                return Ok(self_pipe.descriptor());
            }
            let made = SelfPipe::new().map_err(|error| {
                let message = format!("cannot create a pipe for the descriptor: {error}");
                CoreError::new(ErrorKind::Io, message)
            })?;
            // Readable at first, so that the caller looks once and thereby registers for more.
            made.notify();
            let self_pipe = scan.source.self_pipe.get_or_init(|| Arc::new(made));
            Ok(self_pipe.descriptor())
        },
    )
}

/// Cancels a scan: a call that another thread has in progress, and every later one, fails with CANCELLED.
///
/// @param scan the scan
/// Ownership: the caller still owns `scan` and has to free it.
/// Threads: any, also while another thread is using the scan, and from a log callback.
/// Errors: INVALID_ARGUMENT for NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_cancel(scan: Option<NonNull<Scan>>) -> Option<Box<Error>> {
    guard(|| {
        Arc::clone(&lent(shared(&scan), "scan")?.source).stop();
        Ok(())
    })
}

/// Reports what the scan has done so far; final once it has ended. It counts the records that were
/// handed out, and says "unfinished" until all of them were.
///
/// @param scan the scan
/// @param receipt_out the receipt
/// Ownership: the caller frees `*receipt_out` with talentdata_receipt_free.
/// Threads: one at a time per scan.
/// Errors: INVALID_ARGUMENT for NULL or while another thread is using the scan.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_receipt(
    scan: Option<&Scan>,
    receipt_out: Option<&mut MaybeUninit<Box<Receipt>>>,
) -> Option<Box<Error>> {
    get((scan, "scan"), (receipt_out, "receipt_out"), |scan| {
        let source = Arc::clone(&scan.source);
        Ok(Box::new(Receipt::new(source.receipt()?)?))
    })
}

/// Frees a scan and stops its requests; does nothing when it is NULL. Its records stay valid, and its
/// Arrow stream goes on.
///
/// Ownership: `scan` and its descriptor must not be used any more.
/// Threads: any, once every other call with this scan has returned. If another thread may be using it,
/// cancel the scan and join that thread first.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_free(scan: Option<Box<Scan>>) {
    guard_or((), || {
        if let Some(scan) = &scan {
            scan.source.leave();
        }
        drop(scan);
    });
}
