//! A Parquet file of a mirror, in row groups of bounded size.

use super::RECORD;
use super::files::{Finished, NewFile};
use crate::error::{Error, ErrorKind, Result};
use crate::format::parquet_properties;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

/// Records of a row group, as exports have them.
pub(super) const GROUP: usize = 8192;
/// A group with so many bytes of text ends however few its records are: readers have it in memory as a whole.
pub(super) const MOST_BYTES: usize = 16 * 1024 * 1024;

/// A Parquet file that is being written, in row groups of bounded size.
pub(super) struct ParquetFile {
    writer: ArrowWriter<NewFile>,
    held: usize,
    bytes: usize,
}

impl ParquetFile {
    pub(super) fn new(file: NewFile, schema: SchemaRef) -> Result<Self> {
        let writer = ArrowWriter::try_new(file, schema, Some(properties()));
        Ok(ParquetFile {
            writer: writer.map_err(refused)?,
            held: 0,
            bytes: 0,
        })
    }

    /// Adds a batch, which holds about so many bytes of text.
    pub(super) fn write(&mut self, batch: &RecordBatch, bytes: usize) -> Result<()> {
        self.writer.write(batch).map_err(refused)?;
        self.held += batch.num_rows();
        self.bytes += bytes;
        if self.held >= GROUP || self.bytes >= MOST_BYTES {
            (self.held, self.bytes) = (0, 0);
            self.writer.flush().map_err(refused)?;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Finished> {
        self.writer.into_inner().map_err(refused)?.finish()
    }
}

/// As exports have them; whole records are neither told apart nor put in order.
pub(super) fn properties() -> WriterProperties {
    let record = || ColumnPath::from(RECORD);
    (parquet_properties().into_builder())
        .set_column_dictionary_enabled(record(), false)
        .set_column_statistics_enabled(record(), EnabledStatistics::None)
        .build()
}

pub(super) fn refused(error: impl std::fmt::Display) -> Error {
    let message = format!("the mirror could not be written: {error}");
    Error::new(ErrorKind::Io, message)
}
