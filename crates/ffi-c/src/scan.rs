//! The scan handle, which returns records one by one, with or without waiting. Any thread can cancel it.

use crate::boundary::{guard_or, shared};
use crate::descriptor::SelfPipe;
use crate::error::ErrorHandle;
use crate::export::{get, guard, invalid, lent, slot, stream};
use crate::record::RecordHandle;
use arrow_array::RecordBatchReader;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::task::{Poll, Waker};
use talentdata_columns::blocking::BlockingScan;
use talentdata_core::internal::process::lock;
use talentdata_core::{Error, ErrorKind, Result};

/// A scan of a list, which reads every record in order. One thread at a time may use it, except for
/// talentdata_scan_cancel. Freed with talentdata_scan_free.
pub struct ScanHandle {
    scan: BlockingScan,
    /// The lock of the thread that uses the scan.
    in_use: Mutex<()>,
    self_pipe: OnceLock<Arc<SelfPipe>>,
    failure: KeptError,
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
/// Errors: the errors of a call, with the offset of the page; PAGING if the pages contradict each other;
/// CANCELLED after talentdata_scan_cancel; CLOSED in a forked child for a scan of the parent; INCOMPLETE at the end, if the
/// option unproven is fail;
/// INVALID_ARGUMENT for NULL, if an Arrow stream of the scan exists, or while another thread is using the scan. After any
/// other error every call returns that error.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_next(
    scan: Option<NonNull<ScanHandle>>,
    record_out: Option<&mut MaybeUninit<Option<Box<RecordHandle>>>>,
) -> Option<Box<ErrorHandle>> {
    get(
        (shared(&scan), "scan"),
        (record_out, "record_out"),
        |scan| {
            let _in_use = scan.enter()?;
            scan.failure.or_read(|| {
                let next = scan.scan.next_record()?;
                Ok(next.as_ref().map(RecordHandle::new))
            })
        },
    )
}

/// Takes the next record if it has arrived, without waiting.
///
/// @param scan the scan
/// @param arrival_out the outcome
/// @param record_out the record; NULL unless the outcome is a record
/// Ownership: the caller frees `*record_out` with talentdata_record_free; it outlives scan and client.
/// Threads: one at a time per scan.
/// Errors: see talentdata_scan_next.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_try_next(
    scan: Option<NonNull<ScanHandle>>,
    arrival_out: Option<&mut MaybeUninit<Arrival>>,
    record_out: Option<&mut MaybeUninit<Option<Box<RecordHandle>>>>,
) -> Option<Box<ErrorHandle>> {
    guard(|| {
        let scan = lent(shared(&scan), "scan")?;
        let arrival_out = slot(arrival_out, "arrival_out")?;
        let record_out = slot(record_out, "record_out")?;
        let (arrival, record) = match scan.poll_next()? {
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
/// talentdata_scan_try_next has a record, the end or an error to report. The first call starts the requests.
///
/// @param scan the scan
/// @param descriptor_out the descriptor, the same in every call
/// Ownership: the descriptor belongs to the scan, which closes it when it is freed. Do not read from it,
/// write to it or close it.
/// Threads: one at a time per scan.
/// Errors: IO if no pipe can be created; CLOSED in a forked child; INVALID_ARGUMENT for NULL, or while another thread is
/// using the scan.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_descriptor(
    scan: Option<NonNull<ScanHandle>>,
    descriptor_out: Option<&mut MaybeUninit<i32>>,
) -> Option<Box<ErrorHandle>> {
    get(
        (shared(&scan), "scan"),
        (descriptor_out, "descriptor_out"),
        ScanHandle::descriptor,
    )
}

/// Turns a scan into a stream of the Arrow C data interface, which any Arrow library reads without
/// copying. Waits for the first pages, which determine the columns.
///
/// Documented fields are first, and other fields follow in the order they first appear. The last column, _extra, has
/// the values without a column as JSON. Nested values are lists and structs, and date-times are timestamps, unless the
/// options of the scan say otherwise.
///
/// An error of the stream has the message of the scan's error, and talentdata_scan_error returns that error. After an
/// error every get_next fails, so an incomplete stream cannot look complete. For the same reason, the end of the list
/// is the error INCOMPLETE if completeness is not proven; the option unproven of the scan makes it a warning or no
/// error. A stream that is released early, or that ends at the option limit, has no such error.
///
/// @param scan a scan from which no record has been requested. Afterwards only talentdata_scan_cancel,
/// talentdata_scan_receipt, talentdata_scan_error and talentdata_scan_free may be called with it.
/// @param stream_out the stream; its previous content is overwritten
/// Ownership: the caller, or the consumer that receives the stream, calls its release function. Batches stay valid
/// after stream, scan and client are freed.
/// Threads: one at a time per scan, and per stream; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, after a record was requested, or while another thread is using the
/// scan; the errors of talentdata_scan_next. After a failed call the scan can no longer be read.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_arrow_stream(
    scan: Option<NonNull<ScanHandle>>,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
) -> Option<Box<ErrorHandle>> {
    get(
        (shared(&scan), "scan"),
        (stream_out, "stream_out"),
        ScanHandle::stream,
    )
}

/// Returns the error that ended the scan or its Arrow stream; NULL if there was none, or if `scan` is NULL.
///
/// Ownership: the caller frees the result with talentdata_error_free.
/// Threads: any, also while another thread reads the stream.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_error(scan: Option<&ScanHandle>) -> Option<Box<ErrorHandle>> {
    guard(|| scan.map_or(Ok(()), |scan| scan.failure.check()))
}

/// Returns the receipt of the scan so far, which is final after the end of the scan. It counts the records that the
/// caller has received, and says "unfinished" until the caller has received all of them.
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
    scan: Option<&ScanHandle>,
    receipt_out: Option<&mut MaybeUninit<Box<RecordHandle>>>,
) -> Option<Box<ErrorHandle>> {
    get((scan, "scan"), (receipt_out, "receipt_out"), |scan| {
        let _in_use = scan.enter()?;
        RecordHandle::of(&scan.scan.receipt())
    })
}

/// Cancels a scan: running calls of other threads and all later calls fail with CANCELLED. NULL does nothing.
///
/// Ownership: the caller still owns `scan` and must free it.
/// Threads: any, also while another thread is using the scan, and from a log callback.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_cancel(scan: Option<NonNull<ScanHandle>>) {
    guard_or((), || {
        if let Some(scan) = shared(&scan) {
            scan.scan.close();
            if let Some(self_pipe) = scan.self_pipe.get() {
                self_pipe.notify();
            }
        }
    });
}

/// Frees a scan and stops its requests. NULL does nothing. Its records stay valid, and its Arrow stream continues.
///
/// Ownership: `scan` and its descriptor must no longer be used.
/// Threads: any, after every other call with this scan has returned. If another thread may be using it,
/// cancel the scan and join that thread first.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_free(scan: Option<Box<ScanHandle>>) {
    guard_or((), || drop(scan));
}

impl ScanHandle {
    pub(crate) fn new(scan: BlockingScan) -> Self {
        ScanHandle {
            scan,
            in_use: Mutex::new(()),
            self_pipe: OnceLock::new(),
            failure: KeptError::default(),
        }
    }

    /// Locks the scan for this thread.
    ///
    /// # Errors
    /// `InvalidArgument` while another thread is using the scan.
    fn enter(&self) -> Result<MutexGuard<'_, ()>> {
        self.in_use.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => invalid("scan", "another thread is using it"),
            TryLockError::Poisoned(_) => Error::panicked("a scan"),
        })
    }

    /// Returns the next record without waiting; `None` at the end of the list.
    fn poll_next(&self) -> Result<Poll<Option<Box<RecordHandle>>>> {
        let _in_use = self.enter()?;
        self.failure.or_read(|| {
            loop {
                if let Some(raw) = self.scan.next_received() {
                    return Ok(Poll::Ready(Some(RecordHandle::new(&raw))));
                }
                match self.look() {
                    Poll::Ready(Ok(true)) => {}
                    Poll::Ready(more) => return more.map(|_| Poll::Ready(None)),
                    Poll::Pending => return Ok(Poll::Pending),
                }
            }
        })
    }

    /// Returns a descriptor that is readable while there is a record, the end or an error to report.
    fn descriptor(&self) -> Result<i32> {
        let _in_use = self.enter()?;
        if let Some(self_pipe) = self.self_pipe.get() {
            return Ok(self_pipe.descriptor());
        }
        let new_pipe = SelfPipe::new()?;
        let self_pipe = self.self_pipe.get_or_init(|| Arc::new(new_pipe));
        // This registers the descriptor. The next call reports a record that has arrived, or an error.
        if let Poll::Ready(found) = self.look() {
            let _ = self.failure.or_read(|| found);
        }
        Ok(self_pipe.descriptor())
    }

    /// Returns the scan as a stream of record batches.
    pub(crate) fn stream(&self) -> Result<FFI_ArrowArrayStream> {
        let _in_use = self.enter()?;
        let failure = self.failure.clone();
        let mut batches = failure.or_read(|| self.scan.batches())?;
        let schema = batches.schema();
        let next = move || failure.or_read(|| batches.next_batch());
        Ok(stream(schema, next))
    }

    /// Checks for records, and makes the descriptor readable when later ones arrive.
    fn look(&self) -> Poll<Result<bool>> {
        let self_pipe = self.self_pipe.get();
        let waker = match self_pipe {
            Some(self_pipe) => {
                // The pipe is cleared before the check, so that later records notify again.
                self_pipe.clear();
                Waker::from(Arc::clone(self_pipe))
            }
            None => Waker::noop().clone(),
        };
        let found = self.scan.poll_fill(&waker);
        if let (Poll::Ready(_), Some(self_pipe)) = (&found, self_pipe) {
            self_pipe.notify();
        }
        found
    }
}

/// The error that ended a scan or its Arrow stream. The stream may outlive the handle.
#[derive(Clone, Default)]
struct KeptError(Arc<Mutex<Option<Error>>>);

impl KeptError {
    fn check(&self) -> Result<()> {
        self.lock().clone().map_or(Ok(()), Err)
    }

    /// Calls `read` unless the scan has failed. Keeps an error of the scan, but not `InvalidArgument`.
    fn or_read<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        self.check()?;
        let read = read();
        if let Err(error) = &read
            && error.kind() != ErrorKind::InvalidArgument
        {
            *self.lock() = Some(error.clone());
        }
        read
    }

    /// Locks the error. A panic of another thread does not matter, because it cannot leave the error incomplete.
    fn lock(&self) -> MutexGuard<'_, Option<Error>> {
        lock(&self.0)
    }
}
