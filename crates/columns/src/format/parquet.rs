//! Parquet: row groups of a fixed number of records, so that the same list gives the same bytes.

use super::Sink;
use super::output::{Output, refused};
use crate::arrow::{BatchBuilder, TableSchema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedFileWriter;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use talentdata_core::RawRecord;
use talentdata_core::{Error, ErrorKind, Result};

/// Records of a row group: what an interruption can cost at most, and what memory has to hold. Larger
/// groups would compress a little better.
const GROUP: usize = 8192;

/// Records handed to the encoder at once.
const ROWS: usize = 1024;

/// The size of a page, in bytes before compression.
const PAGE: usize = 32 * 1024;

/// A row group of records with so many bytes ends, however few they are.
const MOST_BYTES: usize = 128 * 1024 * 1024;

/// Writes Parquet.
///
/// [`Sink::write`] takes no records beyond the end of a row group. Whoever wants to continue after an
/// interruption finishes the file there, begins another, and joins them all with [`join`].
pub struct ParquetSink<W: Write + Send> {
    writer: ArrowWriter<Output<W>>,
    builder: BatchBuilder,
    /// Records of the row group that has not ended.
    held: usize,
    bytes: usize,
    group: usize,
}

impl<W: Write + Send> ParquetSink<W> {
    /// Writes to `writer`, which holds nothing yet.
    ///
    /// # Errors
    /// `Io`, when the output does not take the beginning.
    pub fn new(writer: W, schema: &TableSchema) -> Result<Self> {
        Self::with_groups(writer, schema, GROUP, ROWS)
    }

    pub(super) fn with_groups(
        writer: W,
        schema: &TableSchema,
        group: usize,
        rows: usize,
    ) -> Result<Self> {
        let output = Output::new(writer, 0);
        let writer = ArrowWriter::try_new(output, schema.to_arrow(), Some(properties()));
        Ok(ParquetSink {
            writer: writer.map_err(refused)?,
            builder: BatchBuilder::new(schema, rows),
            held: 0,
            bytes: 0,
            group,
        })
    }

    fn write_batch(&mut self) -> Result<()> {
        if !self.builder.is_empty() {
            let batch = self.builder.finish()?;
            self.writer.write(&batch).map_err(refused)?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        self.write_batch()?;
        (self.held, self.bytes) = (0, 0);
        ArrowWriter::flush(&mut self.writer).map_err(refused)
    }
}

impl<W: Write + Send> Sink for ParquetSink<W> {
    fn write(&mut self, records: &[RawRecord]) -> Result<usize> {
        for (record, taken) in records.iter().zip(1..) {
            self.builder.append(record);
            self.held += 1;
            if self.builder.is_full() {
                self.write_batch()?;
            }
            self.bytes += record.as_bytes().len();
            if self.held == self.group || self.bytes >= MOST_BYTES {
                self.end_group()?;
                return Ok(taken);
            }
        }
        Ok(records.len())
    }

    fn held(&self) -> u64 {
        self.held as u64
    }

    fn position(&self) -> u64 {
        self.writer.bytes_written() as u64
    }

    fn flush(&mut self) -> Result<()> {
        self.writer.sync().map_err(refused)
    }

    fn finish(&mut self) -> Result<()> {
        if self.held > 0 {
            self.end_group()?;
        }
        self.writer.finish().map_err(refused)?;
        self.flush()
    }
}

/// The same for every file and release, because an export may be continued by a later one.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by("talentdata".into())
        .set_compression(Compression::SNAPPY)
        // Larger dictionaries hold values that hardly repeat, larger pages what could be on the disk already:
        // they make files and memory larger.
        .set_dictionary_page_size_limit(PAGE)
        .set_data_page_size_limit(PAGE)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // It serves to skip pages of a row group; these groups have few, and the end of the file stays small.
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .build()
}

/// Joins finished Parquet files of the same columns into one, copying row groups as they are: the
/// bytes are those of a single file written without interruption.
///
/// # Errors
/// `InvalidArgument` without any part; `Io` for a part that is not whole or has other columns, and
/// when the output takes no more.
pub fn join(parts: impl IntoIterator<Item = File>, writer: impl Write + Send) -> Result<()> {
    let unreadable = |error| {
        let message = format!("a part of the Parquet file could not be read: {error}");
        Error::new(ErrorKind::Io, message)
    };
    // Read as they are by default, the statistics of encodings could not be written again.
    let whole = ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false);
    let mut output = Some(Output::new(writer, 0));
    let mut joined = None;
    for part in parts {
        let metadata = ParquetMetaDataReader::new()
            .with_metadata_options(Some(whole.clone()))
            .parse_and_finish(&part)
            .map_err(unreadable)?;
        if let Some(output) = output.take() {
            joined = Some(begin(output, &metadata).map_err(refused)?);
        }
        if let Some(joined) = &mut joined {
            copy_groups(&part, &metadata, joined).map_err(refused)?;
        }
    }
    match joined {
        Some(joined) => joined.close().map(drop).map_err(refused),
        None => Err(Error::new(ErrorKind::InvalidArgument, "no parts to join")),
    }
}

/// A file with the schema and the metadata of the first part.
fn begin<W: Write + Send>(
    output: Output<W>,
    first: &ParquetMetaData,
) -> parquet::errors::Result<SerializedFileWriter<Output<W>>> {
    let file = first.file_metadata();
    let properties = properties()
        .into_builder()
        .set_key_value_metadata(file.key_value_metadata().cloned())
        .build();
    let schema = file.schema_descr().root_schema_ptr();
    SerializedFileWriter::new(output, schema, Arc::new(properties))
}

fn copy_groups<W: Write + Send>(
    part: &File,
    metadata: &ParquetMetaData,
    joined: &mut SerializedFileWriter<Output<W>>,
) -> parquet::errors::Result<()> {
    for group in metadata.row_groups() {
        let mut copy = joined.next_row_group()?;
        for column in group.columns() {
            let rows = group.num_rows().unsigned_abs();
            copy.append_column(part, closed(rows, as_written(column)?))?;
        }
        copy.close()?;
    }
    Ok(())
}

/// What the writer of a column that is already encoded has said when it was closed.
fn closed(rows: u64, column: ColumnChunkMetaData) -> ColumnCloseResult {
    ColumnCloseResult {
        bytes_written: column.compressed_size().unsigned_abs(),
        rows_written: rows,
        metadata: column,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    }
}

/// What the writer said of a column. Of numbers it writes the range twice, for old readers too,
/// which the reader does not tell.
fn as_written(column: &ColumnChunkMetaData) -> parquet::errors::Result<ColumnChunkMetaData> {
    let signed = column.column_descr().sort_order().is_signed();
    let statistics = match column.statistics().cloned() {
        Some(Statistics::Int32(range)) => range.with_backwards_compatible_min_max(signed).into(),
        Some(Statistics::Int64(range)) => range.with_backwards_compatible_min_max(signed).into(),
        Some(Statistics::Double(range)) => range.with_backwards_compatible_min_max(signed).into(),
        Some(Statistics::Boolean(range)) => range.with_backwards_compatible_min_max(signed).into(),
        Some(others) => others,
        None => return Ok(column.clone()),
    };
    column
        .clone()
        .into_builder()
        .set_statistics(statistics)
        .build()
}
