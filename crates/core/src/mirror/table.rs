//! Writes the Parquet files of a mirror: `current.parquet`, what a sync has changed, and texts of records.

use super::change::Operation;
use super::files::{Finished, NewFile};
use super::parquet_file::{MOST_BYTES, ParquetFile, refused};
use super::together::Together;
use super::{CHANGE_COLUMNS, RECORD};
use crate::arrow::{BatchBuilder, Held, TableSchema};
use crate::error::Result;
use crate::record::RawRecord;
use arrow_array::builder::{BooleanBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use arrow_select::filter::filter_record_batch;
use std::sync::Arc;

/// Records encoded at once.
const ROWS: usize = 1024;

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
}

/// `current.parquet` and the changes, whose columns are cut out of each record once for both.
pub(super) struct Tables {
    generation: u64,
    builder: BatchBuilder,
    files: Files,
    /// For each row of the batch, whether it is current.
    current: BooleanBuilder,
    /// And what is told of it.
    marks: Vec<Option<Mark>>,
    /// The texts of those that are told of.
    texts: StringBuilder,
    bytes: usize,
    /// Rows of the changes, those that wait included.
    marked: u64,
}

/// Where batches go.
enum Files {
    /// All records are current, and told of.
    Together(Box<Together>, SchemaRef),
    Apart(Box<Apart>),
}

/// Files of a later sync.
struct Apart {
    current: ParquetFile,
    changes: ParquetFile,
    changed: SchemaRef,
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
        let changed = changed_columns(columns.fields());
        let files = if generation == 1 {
            let own = changed_columns(&Fields::empty());
            let files = Together::new(current, changes, columns, Arc::clone(&own), changed)?;
            Files::Together(Box::new(files), own)
        } else {
            Files::Apart(Box::new(Apart {
                current: ParquetFile::new(current, columns)?,
                changes: ParquetFile::new(changes, Arc::clone(&changed))?,
                changed,
            }))
        };
        Ok(Tables {
            generation,
            builder,
            files,
            current: BooleanBuilder::new(),
            marks: Vec::new(),
            texts: StringBuilder::new(),
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
    ) -> Result<(Held, Option<u64>)> {
        let held = self.builder.hold(record);
        let row = mark.as_ref().map(|_| self.marked);
        if mark.is_some() {
            self.marked += 1;
            self.texts.append_value(record.as_str());
        }
        self.bytes += record.as_bytes().len();
        self.current.append_value(is_current);
        self.marks.push(mark);
        if self.builder.is_full() {
            self.flush()?;
        }
        Ok((held, row))
    }

    fn flush(&mut self) -> Result<()> {
        let batch = self.builder.finish()?;
        let current = self.current.finish();
        let marks = std::mem::take(&mut self.marks);
        let marked: BooleanArray = marks.iter().map(|mark| Some(mark.is_some())).collect();
        let marks: Vec<Mark> = marks.into_iter().flatten().collect();
        let texts = self.texts.finish();
        let (bytes, text_bytes) = (std::mem::take(&mut self.bytes), texts.value_data().len());
        let of = |columns: &RecordBatch, schema: &SchemaRef| {
            changed(self.generation, &marks, columns, texts.clone(), schema)
        };
        match &mut self.files {
            Files::Together(files, own) => {
                let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
                files.write(&batch, &of(&none, own)?, 2 * bytes)
            }
            Files::Apart(files) => {
                match current.false_count() {
                    0 => files.current.write(&batch, bytes)?,
                    _ => {
                        let kept = filter_record_batch(&batch, &current).map_err(refused)?;
                        files.current.write(&kept, bytes)?;
                    }
                }
                if marks.is_empty() {
                    return Ok(());
                }
                let batch = filter_record_batch(&batch, &marked).map_err(refused)?;
                files
                    .changes
                    .write(&of(&batch, &files.changed)?, 2 * text_bytes)
            }
        }
    }

    /// Ends both files: `current.parquet`, then the changes.
    pub(super) fn finish(mut self) -> Result<(Finished, Finished)> {
        self.flush()?;
        match self.files {
            Files::Together(files, _) => files.finish(),
            Files::Apart(files) => Ok((files.current.finish()?, files.changes.finish()?)),
        }
    }
}

/// The columns of changes around those of their records.
fn changed(
    generation: u64,
    marks: &[Mark],
    columns: &RecordBatch,
    texts: StringArray,
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let generation = i64::try_from(generation).unwrap_or(i64::MAX);
    let operations = marks.iter().map(|mark| mark.operation.name());
    let keys = marks.iter().map(|mark| mark.key.as_str());
    let last_seen: TimestampMicrosecondArray = marks.iter().map(|mark| mark.last_seen).collect();
    let seen: TimestampMicrosecondArray = marks.iter().map(|mark| Some(mark.seen)).collect();
    let mut all: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![generation; marks.len()])),
        Arc::new(StringArray::from_iter_values(operations)),
        Arc::new(StringArray::from_iter_values(keys)),
        Arc::new(last_seen.with_timezone("UTC")),
        Arc::new(seen.with_timezone("UTC")),
    ];
    all.extend(columns.columns().iter().cloned());
    all.push(Arc::new(texts));
    RecordBatch::try_new(Arc::clone(schema), all).map_err(refused)
}

/// The columns of a change around those of a record.
fn changed_columns(columns: &Fields) -> SchemaRef {
    let [generation, operation, key, last_seen, seen] = CHANGE_COLUMNS;
    let instant = DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from("UTC")));
    let mut fields = vec![
        Field::new(generation, DataType::Int64, false),
        text(operation),
        text(key),
        Field::new(last_seen, instant.clone(), true),
        Field::new(seen, instant, false),
    ];
    fields.extend(columns.iter().map(|field| field.as_ref().clone()));
    fields.push(text(RECORD));
    Arc::new(Schema::new(fields))
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, false)
}
