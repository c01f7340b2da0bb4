//! Writes the Parquet files of a mirror: `current.parquet`, what a sync has changed, and texts of records.

use super::change::Operation;
use super::files::{Finished, NewFile};
use super::{CHANGE_COLUMNS, RECORD};
use crate::arrow::{BatchBuilder, TableSchema};
use crate::error::{Error, ErrorKind, Result};
use crate::format::parquet_properties;
use crate::record::RawRecord;
use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use arrow_select::filter::filter_record_batch;
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

/// Records of a row group, as exports have them.
const GROUP: usize = 8192;
/// A group with so many bytes of text ends however few its records are: readers have it in memory as a whole.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Records encoded at once.
const ROWS: usize = 1024;

/// A Parquet file that is being written, in row groups of bounded size.
pub(super) struct ParquetFile {
    writer: ArrowWriter<NewFile>,
    held: usize,
    bytes: usize,
}

impl ParquetFile {
    pub(super) fn new(file: NewFile, schema: SchemaRef) -> Result<Self> {
        let writer = ArrowWriter::try_new(file, schema, Some(parquet_properties()));
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

/// The texts of records, in a file of their own.
pub(super) struct TextFile {
    file: ParquetFile,
    keys: StringBuilder,
    texts: StringBuilder,
    rows: u64,
    bytes: usize,
}

impl TextFile {
    pub(super) fn new(file: NewFile) -> Result<Self> {
        Ok(TextFile {
            file: ParquetFile::new(file, Self::schema())?,
            keys: StringBuilder::new(),
            texts: StringBuilder::new(),
            rows: 0,
            bytes: 0,
        })
    }

    fn schema() -> SchemaRef {
        let fields = [text(CHANGE_COLUMNS[2]), text(RECORD)];
        Arc::new(Schema::new(fields.to_vec()))
    }

    /// Adds a record; returns its row.
    pub(super) fn push(&mut self, key: &str, record: &str) -> Result<u64> {
        self.keys.append_value(key);
        self.texts.append_value(record);
        self.bytes += record.len();
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS as u64) || self.bytes >= MOST_BYTES {
            self.flush()?;
        }
        Ok(self.rows - 1)
    }

    fn flush(&mut self) -> Result<()> {
        let columns: Vec<ArrayRef> =
            vec![Arc::new(self.keys.finish()), Arc::new(self.texts.finish())];
        let batch = RecordBatch::try_new(Self::schema(), columns).map_err(refused)?;
        let bytes = std::mem::take(&mut self.bytes);
        self.file.write(&batch, bytes)
    }

    pub(super) fn finish(mut self) -> Result<Finished> {
        self.flush()?;
        self.file.finish()
    }
}

/// What is told of a record.
pub(super) struct Mark {
    pub(super) operation: Operation,
    pub(super) key: String,
    pub(super) last_seen: Option<i64>,
    pub(super) seen: i64,
    /// Its text, for the column `_record`.
    pub(super) text: String,
}

/// `current.parquet` and the changes, whose columns are cut out of each record once for both.
pub(super) struct Tables {
    generation: u64,
    changed_columns: SchemaRef,
    builder: BatchBuilder,
    current: ParquetFile,
    changes: ParquetFile,
    /// For each row of the batch, whether it is current, and what is told of it.
    rows: Vec<(bool, Option<Mark>)>,
    bytes: usize,
    /// Rows of the changes, those that wait included.
    marked: u64,
}

impl Tables {
    pub(super) fn new(
        generation: u64,
        schema: &TableSchema,
        current: NewFile,
        changes: NewFile,
    ) -> Result<Self> {
        let builder = BatchBuilder::new(schema, ROWS);
        let columns = builder.schema();
        let changed_columns = changed_columns(&columns);
        Ok(Tables {
            generation,
            current: ParquetFile::new(current, columns)?,
            changes: ParquetFile::new(changes, Arc::clone(&changed_columns))?,
            changed_columns,
            builder,
            rows: Vec::new(),
            bytes: 0,
            marked: 0,
        })
    }

    /// Adds a record that the mirror holds now, or one that is only told of; returns whether its columns say
    /// all of it, and its row among the changes if it is told of.
    pub(super) fn push(
        &mut self,
        record: &RawRecord,
        is_current: bool,
        mark: Option<Mark>,
    ) -> Result<(bool, Option<u64>)> {
        let exact = self.builder.append(record);
        let row = mark.as_ref().map(|_| self.marked);
        self.marked += u64::from(mark.is_some());
        self.bytes += record.as_bytes().len();
        self.rows.push((is_current, mark));
        if self.builder.is_full() {
            self.flush()?;
        }
        Ok((exact, row))
    }

    fn flush(&mut self) -> Result<()> {
        let batch = self.builder.finish()?;
        let rows = std::mem::take(&mut self.rows);
        let bytes = std::mem::take(&mut self.bytes);
        let current: BooleanArray = rows
            .iter()
            .map(|(is_current, _)| Some(*is_current))
            .collect();
        match current.false_count() {
            0 => self.current.write(&batch, bytes)?,
            _ => {
                let kept = filter_record_batch(&batch, &current).map_err(refused)?;
                self.current.write(&kept, bytes)?;
            }
        }
        let marked: BooleanArray = rows.iter().map(|(_, mark)| Some(mark.is_some())).collect();
        if marked.true_count() == 0 {
            return Ok(());
        }
        let batch = filter_record_batch(&batch, &marked).map_err(refused)?;
        let marks: Vec<Mark> = rows.into_iter().filter_map(|(_, mark)| mark).collect();
        let (changes, bytes) = self.changed(&batch, &marks)?;
        self.changes.write(&changes, bytes)
    }

    /// The columns of a change around those of the records.
    fn changed(&self, batch: &RecordBatch, marks: &[Mark]) -> Result<(RecordBatch, usize)> {
        let count = marks.len();
        let generation = i64::try_from(self.generation).unwrap_or(i64::MAX);
        let operations = marks.iter().map(|mark| mark.operation.name());
        let keys = marks.iter().map(|mark| mark.key.as_str());
        let last_seen: TimestampMicrosecondArray =
            marks.iter().map(|mark| mark.last_seen).collect();
        let seen: TimestampMicrosecondArray = marks.iter().map(|mark| Some(mark.seen)).collect();
        let texts = StringArray::from_iter_values(marks.iter().map(|mark| mark.text.as_str()));
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![generation; count])),
            Arc::new(StringArray::from_iter_values(operations)),
            Arc::new(StringArray::from_iter_values(keys)),
            Arc::new(last_seen.with_timezone("UTC")),
            Arc::new(seen.with_timezone("UTC")),
        ];
        columns.extend(batch.columns().iter().cloned());
        columns.push(Arc::new(texts));
        let bytes: usize = marks.iter().map(|mark| mark.text.len()).sum();
        let batch = RecordBatch::try_new(Arc::clone(&self.changed_columns), columns);
        Ok((batch.map_err(refused)?, 2 * bytes))
    }

    /// Ends both files: `current.parquet`, then the changes.
    pub(super) fn finish(mut self) -> Result<(Finished, Finished)> {
        self.flush()?;
        Ok((self.current.finish()?, self.changes.finish()?))
    }
}

fn changed_columns(columns: &SchemaRef) -> SchemaRef {
    let [generation, operation, key, last_seen, seen] = CHANGE_COLUMNS;
    let instant = DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from("UTC")));
    let mut fields = vec![
        Field::new(generation, DataType::Int64, false),
        text(operation),
        text(key),
        Field::new(last_seen, instant.clone(), true),
        Field::new(seen, instant, false),
    ];
    let own: &Fields = columns.fields();
    fields.extend(own.iter().map(|field| field.as_ref().clone()));
    fields.push(text(RECORD));
    Arc::new(Schema::new(fields))
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, false)
}

fn refused(error: impl std::fmt::Display) -> Error {
    let message = format!("the mirror could not be written: {error}");
    Error::new(ErrorKind::Io, message)
}
