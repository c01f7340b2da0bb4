//! A scan as a stream of the Arrow C data interface.

use crate::boundary::{caught, guard, lent, shared, slot};
use crate::error::Error;
use crate::scan::Scan;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;
use talentdata_columns::blocking::BatchScan;
use talentdata_core::Error as CoreError;

/// Turns a scan into a stream of the Arrow C data interface, which any Arrow library reads without
/// copying. Waits for the first pages, which determine the columns.
///
/// Documented fields come first, other fields follow in the order they first appear, and the last
/// column, _extra, holds as JSON what has no column. Nested values are lists and structs, and date-times
/// are timestamps, unless the options of the scan say otherwise. An error of the stream carries the message of the
/// scan's error. After it every get_next fails: an incomplete stream never looks like one that ended.
///
/// @param scan a scan of which no record was asked for yet. Afterwards only talentdata_scan_cancel,
/// talentdata_scan_receipt and talentdata_scan_free may be called with it.
/// @param stream_out the stream; what was there before is overwritten
/// Ownership: the caller, or whoever receives the stream, calls its release function. Batches stay valid
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
    guard(|| {
        let source = Arc::clone(&lent(shared(&scan), "scan")?.source);
        let out = slot(stream_out, "stream_out")?;
        let batches = source.batches()?;
        let schema = batches.schema()?;
        out.write(FFI_ArrowArrayStream::new(Box::new(Reader {
            batches,
            schema,
        })));
        Ok(())
    })
}

struct Reader {
    batches: BatchScan,
    schema: SchemaRef,
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = caught(|| self.batches.next_batch());
        next.map_err(arrow_error).transpose()
    }
}

fn arrow_error(error: CoreError) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}
