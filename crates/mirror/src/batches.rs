//! Rows as Arrow record batches.

use talentdata_columns::arrow::{BatchBuilder, RecordBatch, SchemaRef, TableOptions, TableSchema};
use talentdata_core::types::Resource;
use talentdata_core::{RawRecord, Result};

type Rows = Box<dyn Iterator<Item = Result<RawRecord>> + Send>;

/// Rows as Arrow record batches. After an error there are no more.
pub struct RecordBatches {
    rows: Rows,
    builder: BatchBuilder,
    over: bool,
}

impl RecordBatches {
    /// Record batches of `size` rows. Reads the first records where no schema is given.
    ///
    /// # Errors
    /// That of the records, where it comes before the first of them.
    pub(crate) fn new(
        resource: Resource,
        table: &TableOptions,
        size: usize,
        rows: impl Iterator<Item = Result<RawRecord>> + Send + 'static,
    ) -> Result<Self> {
        let mut rows: Rows = Box::new(rows);
        let (mut sample, mut bytes) = (Vec::new(), 0);
        while table.schema.is_none()
            && sample.len() < TableSchema::SAMPLE
            && bytes < TableSchema::SAMPLE_BYTES
            && let Some(row) = rows.next().transpose()?
        {
            bytes += row.as_bytes().len();
            sample.push(row);
        }
        let schema = table.schema_of(resource, &sample)?;
        Ok(RecordBatches {
            rows: Box::new(sample.into_iter().map(Ok).chain(rows)),
            builder: BatchBuilder::new(&schema, size.max(1)),
            over: false,
        })
    }

    /// The schema of all batches.
    pub fn schema(&self) -> SchemaRef {
        self.builder.schema()
    }
}

impl Iterator for RecordBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.over {
            match self.rows.next() {
                Some(Ok(row)) => {
                    self.builder.append(&row);
                    if self.builder.is_full() {
                        return Some(self.builder.finish());
                    }
                }
                Some(Err(error)) => {
                    self.over = true;
                    return Some(Err(error));
                }
                None => {
                    self.over = true;
                    return (!self.builder.is_empty()).then(|| self.builder.finish());
                }
            }
        }
        None
    }
}
