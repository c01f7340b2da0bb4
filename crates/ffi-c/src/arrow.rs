//! A scan as a stream of the Arrow C data interface.

use crate::boundary::{caught, guard, lent, shared, slot};
use crate::error::Error;
use crate::scan::Scan;
use crate::source::ended;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use talentdata_core::blocking::BatchScan;
use talentdata_core::scan::Receipt;
use talentdata_core::{Error as CoreError, ErrorKind, Result};

/// Rows of a batch: large enough for columnar work, small enough to stay in a cache.
const ROWS: usize = 8192;

/// Turns a scan into a stream of the Arrow C data interface, which any Arrow library reads without
/// copying. Waits for the first pages, which determine the columns.
///
/// Documented fields come first, other fields follow in the order they first appear, and the last
/// column, _extra, holds as JSON what has no column. Nested values are lists and structs, and date-times
/// are timestamps, unless the options of the scan say otherwise. An error of the stream carries the message of the
/// scan's error. After it every get_next fails: an incomplete stream never looks like one that ended.
///
/// @param scan a scan from which no record was taken yet. Afterwards only talentdata_scan_cancel,
/// talentdata_scan_receipt and talentdata_scan_free may be called with it.
/// @param stream_out the stream; what was there before is overwritten
/// Ownership: the caller, or whoever receives the stream, calls its release function. Batches stay valid
/// after stream, scan and client are freed.
/// Threads: one at a time per scan, and per stream; waits for the service.
/// Errors: INVALID_ARGUMENT for NULL, after a record was taken, or while another thread is using the
/// scan; those of talentdata_scan_next. After a failed call the scan cannot be read any more.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_arrow_stream(
    scan: Option<NonNull<Scan>>,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
) -> Option<Box<Error>> {
    guard(|| {
        let source = Arc::clone(&lent(shared(&scan), "scan")?.source);
        let out = slot(stream_out, "stream_out")?;
        let batches = source.lock()?.batches(&source, ROWS)?;
        let reader = Reader::new(batches).inspect_err(|_| {
            if let Ok(mut reader) = source.lock() {
                reader.fail();
            }
        })?;
        out.write(FFI_ArrowArrayStream::new(Box::new(reader)));
        Ok(())
    })
}

/// The batches of a scan, which a stream takes and the scan's handle accounts for.
pub(crate) struct Batches {
    scan: BatchScan,
    /// Rows that the stream has handed out.
    taken: u64,
    failed: bool,
}

/// Shared by a stream and the handle of its scan.
pub(crate) type Shared = Arc<Mutex<Batches>>;

impl Batches {
    pub(crate) fn new(scan: BatchScan) -> Self {
        Batches {
            scan,
            taken: 0,
            failed: false,
        }
    }

    pub(crate) fn receipt(&self) -> Receipt {
        let receipt = self.scan.receipt();
        let held = receipt.records.saturating_sub(self.taken);
        receipt.without(usize::try_from(held).unwrap_or(usize::MAX))
    }

    /// The next batch. After an error there is none and no end either, which would look like the end
    /// of the list.
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        if self.failed {
            return Err(ended());
        }
        let next = self.scan.next().transpose();
        match &next {
            Ok(Some(batch)) => self.taken += batch.num_rows() as u64,
            Ok(None) => {}
            Err(error) => self.failed = error.kind() != ErrorKind::Cancelled,
        }
        next
    }
}

struct Reader {
    batches: Shared,
    schema: SchemaRef,
}

impl Reader {
    fn new(batches: Shared) -> Result<Self> {
        let schema = locked(&batches).scan.schema()?;
        Ok(Reader { batches, schema })
    }
}

fn locked(batches: &Shared) -> MutexGuard<'_, Batches> {
    batches.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = caught(|| locked(&self.batches).next());
        next.map_err(arrow_error).transpose()
    }
}

fn arrow_error(error: CoreError) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}
