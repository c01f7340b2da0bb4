//! Builds record batches, record by record.

use super::builder::{Builder, finish_text};
use super::row::{Cell, Form, Splitter};
use super::schema::{Kind, TableSchema};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use std::sync::Arc;
use talentdata_core::RawRecord;
use talentdata_core::{Error, ErrorKind, Result};

/// A batch with so many bytes is full whatever its rows: it bounds the memory, and the offsets of an
/// Arrow string column end at 2 GiB.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// A cell takes about so many bytes, even where it is empty.
const CELL: usize = 8;

/// Nested values whose cells might take so many bytes, and more than eight times their text, are not
/// taken apart: they stay in `_extra`. Else objects that lack most fields of a wide struct would fill the memory.
const MOST_CELLS: usize = 1024 * 1024;

/// A record batch that grows.
pub struct BatchBuilder {
    schema: SchemaRef,
    splitter: Splitter,
    builders: Vec<Builder>,
    /// For each column, the cells that an object within it makes.
    widths: Vec<usize>,
    /// The cells of a row, without those of further items.
    width: usize,
    extra: StringBuilder,
    most_rows: usize,
    rows: usize,
    bytes: usize,
}

impl BatchBuilder {
    /// An empty batch that is full with `rows` rows.
    pub fn new(schema: &TableSchema, rows: usize) -> Self {
        let sizes = schema.iter().map(|column| column.kind.size());
        BatchBuilder {
            schema: schema.to_arrow(),
            splitter: Splitter::new(schema, Form::Cells),
            builders: schema
                .iter()
                .map(|column| Builder::new(&column.kind))
                .collect(),
            widths: schema.iter().map(|column| width(&column.kind)).collect(),
            width: sizes.sum(),
            extra: StringBuilder::new(),
            most_rows: rows,
            rows: 0,
            bytes: 0,
        }
    }

    /// The schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Adds a row; returns whether the columns say all of it, so that its `_extra` is empty.
    pub fn append(&mut self, record: &RawRecord) -> bool {
        let (builders, widths) = (&mut self.builders, &self.widths);
        let mut bytes = self.width * CELL + record.as_bytes().len();
        let take = |column: usize, cell: Cell<'_>| match cell {
            Cell::Raw(text) if widths[column] > 1 => {
                let objects = text.bytes().filter(|byte| *byte == b'{').count();
                let cells = objects * widths[column] * CELL;
                if cells > MOST_CELLS && cells / 8 > text.len() {
                    builders[column].append(&Cell::Empty);
                    return false;
                }
                bytes += cells;
                builders[column].append(&Cell::Raw(text))
            }
            cell => builders[column].append(&cell),
        };
        let extra = self.splitter.split(record, take);
        self.extra.append_option(extra);
        self.rows += 1;
        self.bytes += bytes + extra.map_or(0, str::len);
        extra.is_none()
    }

    /// Rows added since the last batch.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether no row was added since the last batch.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether it is time to finish the batch: it has its rows, or is large.
    pub fn is_full(&self) -> bool {
        self.rows >= self.most_rows || self.bytes >= MOST_BYTES
    }

    /// Hands over the batch and begins the next one.
    ///
    /// # Errors
    /// `Internal`, should the columns not make a batch.
    pub fn finish(&mut self) -> Result<RecordBatch> {
        let mut arrays: Vec<ArrayRef> = self.builders.iter_mut().map(Builder::finish).collect();
        arrays.push(Arc::new(finish_text(&mut self.extra)));
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new(self.schema(), arrays)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("a record batch: {error}")))
    }
}

/// How many cells an object within such a column makes at most; 0 where there are none.
fn width(kind: &Kind) -> usize {
    match kind {
        Kind::List { items } => width(items),
        Kind::Struct { .. } => kind.size(),
        _ => 0,
    }
}
