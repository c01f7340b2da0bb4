//! Parquet: row groups of a fixed number of records, so that the same list gives the same bytes.

use super::{Held, Sink, refused};
use crate::arrow::{BatchBuilder, TableSchema};
use bytes::Bytes;
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
use std::io::{Read, Seek, Write};
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
const MAX_BYTES: usize = 128 * 1024 * 1024;

/// Writes Parquet: as one file, or each row group as a file of its own, one behind the other, for [`join`].
pub(super) struct ParquetSink<W: Write + Send> {
    state: State<W>,
    builder: BatchBuilder,
    /// Whether an end of a row group is the end of a file.
    is_split: bool,
    /// Whether no row group was begun or is there from an earlier run.
    is_empty: bool,
    /// Records of the row group that has not ended.
    held: usize,
    bytes: usize,
    group: usize,
}

enum State<W: Write + Send> {
    /// Between two files.
    Idle(W),
    Open(Box<ArrowWriter<W>>),
    Failed,
}

impl<W: Write + Send> ParquetSink<W> {
    pub(super) fn new(writer: W, schema: Arc<TableSchema>, continued: Option<Held>) -> Self {
        Self::with_groups(writer, schema, continued, GROUP, ROWS)
    }

    pub(super) fn with_groups(
        writer: W,
        schema: Arc<TableSchema>,
        continued: Option<Held>,
        group: usize,
        rows: usize,
    ) -> Self {
        ParquetSink {
            state: State::Idle(writer),
            builder: BatchBuilder::new(schema, rows),
            is_split: continued.is_some(),
            is_empty: continued != Some(Held::Some),
            held: 0,
            bytes: 0,
            group,
        }
    }

    /// The file that is being written, begun where there is none.
    fn writer(&mut self) -> Result<&mut ArrowWriter<W>> {
        if let State::Idle(_) = self.state
            && let State::Idle(output) = std::mem::replace(&mut self.state, State::Failed)
        {
            let writer = ArrowWriter::try_new(output, self.builder.schema(), Some(properties()));
            self.state = State::Open(Box::new(writer.map_err(refused)?));
            self.is_empty = false;
        }
        match &mut self.state {
            State::Open(writer) => Ok(writer),
            _ => Err(refused("an earlier write has failed")),
        }
    }

    fn write_batch(&mut self) -> Result<()> {
        if !self.builder.is_empty() {
            let batch = self.builder.finish()?;
            self.writer()?.write(&batch).map_err(refused)?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        self.write_batch()?;
        (self.held, self.bytes) = (0, 0);
        match self.is_split {
            true => self.end_file(),
            false => ArrowWriter::flush(self.writer()?).map_err(refused),
        }
    }

    fn end_file(&mut self) -> Result<()> {
        if let State::Open(writer) = std::mem::replace(&mut self.state, State::Failed) {
            self.state = State::Idle(writer.into_inner().map_err(refused)?);
        }
        Ok(())
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
            if self.held == self.group || self.bytes >= MAX_BYTES {
                self.end_group()?;
                if self.is_split {
                    return Ok(taken);
                }
            }
        }
        Ok(records.len())
    }

    fn held(&self) -> usize {
        self.held
    }

    fn flush(&mut self) -> Result<()> {
        match &mut self.state {
            State::Idle(output) => output.flush().map_err(refused),
            _ => self.writer()?.sync().map_err(refused),
        }
    }

    fn finish(&mut self) -> Result<()> {
        if self.held > 0 {
            self.end_group()?;
        }
        if self.is_empty {
            self.writer()?;
        }
        if let State::Open(_) = self.state {
            self.end_file()?;
        }
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

/// Joins Parquet files of the same columns, which follow each other in `files` and end there at `ends`, into one. Row
/// groups are copied as they are: the bytes are those of a single file written without interruption.
///
/// # Errors
/// `Io` for a file that is not whole, and when the output takes no more.
pub(crate) fn join(mut files: &File, ends: &[u64], writer: impl Write + Send) -> Result<()> {
    let unreadable = |error: &dyn std::fmt::Display| {
        let message = format!("the row groups could not be read: {error}");
        Error::new(ErrorKind::Io, message)
    };
    // Read as they are by default, the statistics of encodings could not be written again.
    let whole = ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false);
    let mut output = Some(writer);
    let (mut joined, mut begin) = (None, 0);
    files.rewind().map_err(|error| unreadable(&error))?;
    for end in ends {
        let mut file = Vec::new();
        let read = files.take(end - begin).read_to_end(&mut file);
        read.map_err(|error| unreadable(&error))?;
        let file = Bytes::from(file);
        begin = *end;
        let metadata = ParquetMetaDataReader::new()
            .with_metadata_options(Some(whole.clone()))
            .parse_and_finish(&file)
            .map_err(|error| unreadable(&error))?;
        if let Some(output) = output.take() {
            joined = Some(self::begin(output, &metadata).map_err(refused)?);
        }
        if let Some(joined) = &mut joined {
            copy_groups(&file, &metadata, joined).map_err(refused)?;
        }
    }
    match joined {
        Some(joined) => joined.close().map(drop).map_err(refused),
        None => Err(unreadable(&"there are none")),
    }
}

/// A file with the schema and the metadata of the first part.
fn begin<W: Write + Send>(
    output: W,
    first: &ParquetMetaData,
) -> parquet::errors::Result<SerializedFileWriter<W>> {
    let file = first.file_metadata();
    let properties = properties()
        .into_builder()
        .set_key_value_metadata(file.key_value_metadata().cloned())
        .build();
    let schema = file.schema_descr().root_schema_ptr();
    SerializedFileWriter::new(output, schema, Arc::new(properties))
}

fn copy_groups<W: Write + Send>(
    file: &Bytes,
    metadata: &ParquetMetaData,
    joined: &mut SerializedFileWriter<W>,
) -> parquet::errors::Result<()> {
    for group in metadata.row_groups() {
        let mut copy = joined.next_row_group()?;
        for column in group.columns() {
            let rows = group.num_rows().unsigned_abs();
            copy.append_column(file, closed(rows, as_written(column)?))?;
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
