//! Record batches as a stream of the Arrow C data interface that cannot be mistaken for a complete one after an error.

use crate::boundary::caught;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use talentdata_core::{Error, ErrorKind, Result};

/// A stream of what `next` gives, until it gives nothing. After an error or a panic every batch is an error of the same
/// kind.
pub(crate) fn stream(
    schema: SchemaRef,
    next: impl FnMut() -> Result<Option<RecordBatch>> + Send + 'static,
) -> FFI_ArrowArrayStream {
    FFI_ArrowArrayStream::new(Box::new(Reader {
        schema,
        next: Box::new(next),
        failed: None,
    }))
}

struct Reader {
    schema: SchemaRef,
    next: Box<dyn FnMut() -> Result<Option<RecordBatch>> + Send>,
    failed: Option<ErrorKind>,
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self.failed {
            Some(kind) => Err(Error::new(kind, "the stream has failed; open another one")),
            None => caught(&mut self.next),
        };
        self.failed = next.as_ref().err().map(Error::kind);
        next.map_err(|error| ArrowError::ExternalError(Box::new(error)))
            .transpose()
    }
}
