//! The scan handle: takes record after record, waiting or not, and is cancelled from any thread.

use crate::boundary::{MayBeFreed, get, guard, guard_or, lent, shared, slot};
use crate::error::Error;
use crate::record::Record;
use crate::source::Source;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Poll;
use talentdata_columns::blocking::Scan as Blocking;

/// Reads every record of a list, in order. One thread at a time may use it, except for
/// talentdata_scan_cancel. Freed with talentdata_scan_free.
pub struct Scan {
    source: Arc<Source>,
    _lent: MayBeFreed,
}

impl Scan {
    pub(crate) fn new(scan: Blocking) -> Self {
        Scan {
            source: Arc::new(Source::new(scan)),
            _lent: MayBeFreed::default(),
        }
    }
}

/// The outcome of talentdata_scan_try_next.
#[derive(Clone, Copy)]
#[repr(C)]
pub enum Arrival {
    /// A record.
    Record = 1,
    /// No record yet: wait until the descriptor is readable.
    Pending = 2,
    /// The end of the list.
    End = 3,
}

/// Waits for the next record.
///
/// @param scan the scan
/// @param record_out the record; NULL at the end of the list
/// Ownership: the caller frees `*record_out` with talentdata_record_free; it outlives scan and client.
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
        |scan| Arc::clone(&scan.source).next(),
    )
}

/// Takes the next record if it is there, without waiting.
///
/// @param scan the scan
/// @param arrival_out the outcome
/// @param record_out the record; NULL unless the outcome is a record
/// Ownership: the caller frees `*record_out` with talentdata_record_free; it outlives scan and client.
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
            Poll::Ready(Some(record)) => (Arrival::Record, Some(record)),
            Poll::Ready(None) => (Arrival::End, None),
            Poll::Pending => (Arrival::Pending, None),
        };
        arrival_out.write(arrival);
        record_out.write(record);
        Ok(())
    })
}

/// Returns a file descriptor for poll, select, epoll or an event loop. It is readable while
/// talentdata_scan_try_next has something to report: a record, the end or an error. The first call begins the requests.
///
/// @param scan the scan
/// @param descriptor_out the descriptor, the same in every call
/// Ownership: the descriptor belongs to the scan, which closes it when it is freed. Do not read from it,
/// write to it or close it.
/// Threads: one at a time per scan.
/// Errors: IO when no pipe can be created; CLOSED in a forked child; INVALID_ARGUMENT for NULL, or while another thread is
/// using the scan.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_descriptor(
    scan: Option<NonNull<Scan>>,
    descriptor_out: Option<&mut MaybeUninit<i32>>,
) -> Option<Box<Error>> {
    get(
        (shared(&scan), "scan"),
        (descriptor_out, "descriptor_out"),
        |scan| Arc::clone(&scan.source).descriptor(),
    )
}

/// Turns a scan into a stream of the Arrow C data interface, which any Arrow library reads without
/// copying. Waits for the first pages, which determine the columns.
///
/// Documented fields come first, other fields follow in the order they first appear, and the last
/// column, _extra, has as JSON what has no column. Nested values are lists and structs, and date-times
/// are timestamps, unless the options of the scan say otherwise. An error of the stream has the message of the
/// scan's error, and talentdata_scan_error gives that error. After it every get_next fails: an incomplete stream is never
/// mistaken for a complete one.
///
/// @param scan a scan of which no record was asked for yet. Afterwards only talentdata_scan_cancel,
/// talentdata_scan_receipt, talentdata_scan_error and talentdata_scan_free may be called with it.
/// @param stream_out the stream; what was there before is overwritten
/// Ownership: the caller, or whatever receives the stream, calls its release function. Batches stay valid
/// after stream, scan and client are freed.
/// Threads: one at a time per scan, and per stream; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, after a record was asked for, or while another thread is using the
/// scan; those of talentdata_scan_next. After a failed call the scan cannot be read any more.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_arrow_stream(
    scan: Option<NonNull<Scan>>,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
) -> Option<Box<Error>> {
    get(
        (shared(&scan), "scan"),
        (stream_out, "stream_out"),
        |scan| Arc::clone(&scan.source).stream(),
    )
}

/// The error that has ended the scan or its Arrow stream; NULL where there was none, or `scan` is NULL.
///
/// Ownership: the caller frees the result with talentdata_error_free.
/// Threads: any, also while another thread reads the stream.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_error(scan: Option<&Scan>) -> Option<Box<Error>> {
    guard(|| scan.map_or(Ok(()), |scan| scan.source.outcome()))
}

/// Reports what the scan has done so far; final once it has ended. It counts the records that were
/// handed out, and says "unfinished" until all of them were.
///
/// @param scan the scan
/// @param receipt_out the receipt, a JSON object with `completeness` ("proven", "not_proven", "limited" or "unfinished"), `records`,
/// `total_last`, `doubts` and more
/// Ownership: the caller frees `*receipt_out` with talentdata_record_free.
/// Threads: one at a time per scan.
/// Errors: INVALID_ARGUMENT for NULL or while another thread is using the scan.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_receipt(
    scan: Option<&Scan>,
    receipt_out: Option<&mut MaybeUninit<Box<Record>>>,
) -> Option<Box<Error>> {
    get((scan, "scan"), (receipt_out, "receipt_out"), |scan| {
        Record::of(&Arc::clone(&scan.source).receipt()?)
    })
}

/// Cancels a scan: a call that another thread has in progress, and every later one, fails with CANCELLED. NULL does nothing.
///
/// Ownership: the caller still owns `scan` and has to free it.
/// Threads: any, also while another thread is using the scan, and from a log callback.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_cancel(scan: Option<NonNull<Scan>>) {
    guard_or((), || {
        if let Some(scan) = shared(&scan) {
            Arc::clone(&scan.source).stop();
        }
    });
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
