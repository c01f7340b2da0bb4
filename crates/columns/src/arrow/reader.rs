//! A reader of record batches for streams of the Arrow C data interface. A failed stream never looks complete.

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use talentdata_core::{Error, Result};

/// A reader of batches. After an error or a panic, every further call returns that error.
pub struct BatchReader<F> {
    schema: SchemaRef,
    next: F,
    failed: Option<Error>,
}

impl<F> std::fmt::Debug for BatchReader<F> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BatchReader")
            .field("schema", &self.schema)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

impl<F: FnMut() -> Result<Option<RecordBatch>>> BatchReader<F> {
    /// Creates a reader of the batches that `next` returns.
    pub fn new(schema: SchemaRef, next: F) -> Self {
        BatchReader {
            schema,
            next,
            failed: None,
        }
    }

    /// Returns the next batch; `None` at the end.
    ///
    /// # Errors
    /// The first error of `next`, which every later call returns again.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let next = match &self.failed {
            Some(error) => Err(error.clone()),
            None => Error::catch("a stream", &mut self.next),
        };
        self.failed = next.as_ref().err().cloned();
        next
    }
}

impl<F: FnMut() -> Result<Option<RecordBatch>> + Send> BatchReader<F> {
    /// Returns the reader for a stream of the Arrow C data interface, in which an error is a text and a number. The
    /// number is EIO, because EINVAL would blame the caller.
    pub fn for_c(self) -> impl RecordBatchReader + Send {
        let schema = SchemaRef::clone(&self.schema);
        let batches = self.map(|batch| {
            batch.map_err(|error| match error {
                ArrowError::ExternalError(ours) => {
                    ArrowError::IoError(ours.to_string(), std::io::ErrorKind::Other.into())
                }
                other => other,
            })
        });
        RecordBatchIterator::new(batches, schema)
    }
}

impl<F: FnMut() -> Result<Option<RecordBatch>>> Iterator for BatchReader<F> {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_batch();
        next.map_err(|error| ArrowError::ExternalError(Box::new(error)))
            .transpose()
    }
}

impl<F: FnMut() -> Result<Option<RecordBatch>>> RecordBatchReader for BatchReader<F> {
    fn schema(&self) -> SchemaRef {
        SchemaRef::clone(&self.schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::Schema;
    use std::sync::Arc;
    use talentdata_core::ErrorKind;

    #[test]
    fn a_reader_that_has_failed_or_panicked_in_the_middle_stays_failed() {
        let schema = Arc::new(Schema::empty());
        for (panics, words) in [
            (false, "the disk is gone"),
            (true, "a stream panicked: the roof is on fire"),
        ] {
            let mut calls = 0;
            let batch = RecordBatch::new_empty(Arc::clone(&schema));
            let mut reader = BatchReader::new(Arc::clone(&schema), move || {
                calls += 1;
                match calls {
                    1 => Ok(Some(batch.clone())),
                    2 if panics => panic!("the roof is on fire"),
                    2 => Err(Error::new(ErrorKind::Io, "the disk is gone")),
                    _ => Ok(None),
                }
            });
            assert!(reader.next().unwrap().is_ok());
            for _ in 0..3 {
                let error = reader.next().unwrap().unwrap_err();
                assert!(error.to_string().contains(words), "{error}");
            }
        }
    }
}
