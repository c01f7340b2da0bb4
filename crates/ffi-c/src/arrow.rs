//! A scan as a stream of the Arrow C data interface.

use crate::boundary::{caught, guard, lent, slot};
use crate::error::Error;
use crate::scan::Scan;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, PoisonError};
use talentdata_core::blocking::BatchScan;
use talentdata_core::{Error as CoreError, Result};

/// Rows of a batch: large enough for columnar work, small enough to stay in a cache.
const ROWS: usize = 8192;

/// Hands all records of a scan out as a stream of the Arrow C data interface, which any Arrow
/// library takes without copying. Waits for the first pages, from which the columns are decided.
///
/// Documented fields come first, further ones follow as they were met, and the last column, _extra,
/// keeps as JSON what has no column. An error of the stream carries the message of the scan's error.
///
/// @param scan a scan of which no record was taken yet; then only talentdata_scan_cancel,
/// talentdata_scan_receipt and talentdata_scan_free are left to do with it
/// @param stream_out the stream; what was there before is overwritten
/// Ownership: lends `scan`; gives `*stream_out`, which the caller, or whom it hands it to, ends by
/// its own release. Batches stay valid when stream, scan and client are gone.
/// Threads: one at a time per scan, and per stream; blocks.
/// Errors: INVALID_ARGUMENT for NULL, a scan that was begun, or while another thread is in a call;
/// those of talentdata_scan_next.
#[unsafe(no_mangle)]
pub extern "C" fn talentdata_scan_arrow_stream(
    scan: Option<&Scan>,
    stream_out: Option<&mut MaybeUninit<FFI_ArrowArrayStream>>,
) -> Option<Box<Error>> {
    guard(|| {
        let source = Arc::clone(&lent(scan, "scan")?.source);
        let out = slot(stream_out, "stream_out")?;
        let batches = source.lock()?.batches(&source, ROWS)?;
        let reader = Reader::new(batches)?;
        out.write(FFI_ArrowArrayStream::new(Box::new(reader)));
        Ok(())
    })
}

/// A scan that a stream reads and whose handle still tells the receipt.
pub(crate) type Shared = Arc<Mutex<BatchScan>>;

struct Reader {
    batches: Shared,
    schema: SchemaRef,
}

impl Reader {
    fn new(batches: Shared) -> Result<Self> {
        let schema = batches
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .schema()?;
        Ok(Reader { batches, schema })
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = || {
            self.batches
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .next()
        };
        let next = caught(|| batches().transpose());
        next.map_err(arrow_error).transpose()
    }
}

fn arrow_error(error: CoreError) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}
