//! Builds record batches, record by record, with arrow's own builders.

use super::cell::append;
use super::check::Checker;
use super::object::Object;
use super::schema::{ColumnKind, TableSchema};
use arrow_array::builder::{ArrayBuilder, StringBuilder, make_builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use std::sync::Arc;
use talentdata_core::{Error, ErrorKind, RawRecord, Result};

/// The number of bytes at which a batch is full, regardless of its rows. It bounds the memory, and the offsets of an
/// Arrow string column end at 2 GiB.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// The approximate number of bytes that every cell takes, even an empty one.
const CELL: usize = 8;

/// Nested values stay in `_extra` if their cells might take this number of bytes, and more than eight times their text.
/// Otherwise, objects that lack most fields of a wide struct would fill the memory.
const MAX_CELLS: usize = 1024 * 1024;

/// A record batch that grows.
pub(crate) struct BatchBuilder {
    columns: Arc<TableSchema>,
    schema: SchemaRef,
    builders: Vec<Box<dyn ArrayBuilder>>,
    /// The number of cells of each column, and the largest number that an object within it takes.
    cells: Vec<[usize; 2]>,
    extra: StringBuilder,
    max_rows: usize,
    rows: usize,
    bytes: usize,
}

impl BatchBuilder {
    /// Creates an empty batch that is full with `rows` rows.
    pub(crate) fn new(columns: Arc<TableSchema>, rows: usize) -> Self {
        let schema = columns.to_arrow();
        let fields = schema.fields().iter().take(columns.fields.len());
        let kinds = columns.fields.iter().map(|column| &column.kind);
        BatchBuilder {
            cells: kinds.map(|kind| [kind.size(), width(kind)]).collect(),
            builders: fields
                .map(|field| make_builder(field.data_type(), 0))
                .collect(),
            extra: StringBuilder::new(),
            max_rows: rows,
            rows: 0,
            bytes: 0,
            columns,
            schema,
        }
    }

    /// Returns the schema of every batch.
    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Adds a row. The checker compares the fields that the row cannot hold with the columns. Once the batch is full,
    /// returns it and begins the next one.
    pub(crate) fn append(
        &mut self,
        record: &RawRecord,
        checker: Option<&mut Checker>,
    ) -> Option<Result<RecordBatch>> {
        let columns = &self.columns.fields;
        let object = Object::of_record(columns, record);
        let mut bytes = record.as_bytes().len();
        let rest = object.hold(columns, |at, value| {
            let (kind, builder) = (&columns[at].kind, &mut *self.builders[at]);
            let text = value.unwrap_or_default();
            let [size, width] = self.cells[at];
            let objects = match width {
                0 => 0,
                _ => memchr::memchr_iter(b'{', text.as_bytes()).count(),
            };
            let cells = CELL * (size + objects * width);
            if cells > MAX_CELLS && cells / 8 > text.len() {
                append(builder, kind, None);
                return false;
            }
            bytes += cells;
            append(builder, kind, value)
        });
        let extra = object.extra(&rest);
        if let (true, Some(checker)) = (extra.is_some(), checker) {
            checker.after_row(record, &object, &rest);
        }
        self.rows += 1;
        self.bytes += bytes + extra.as_ref().map_or(0, String::len);
        self.extra.append_option(extra);
        (self.rows >= self.max_rows || self.bytes >= MAX_BYTES).then(|| self.finish())
    }

    /// Returns the number of rows that were added since the last batch.
    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    /// Returns the batch and begins the next one.
    ///
    /// # Errors
    /// `Internal` if arrow rejects the columns.
    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        let builders = self.builders.iter_mut();
        let mut arrays: Vec<ArrayRef> = builders.map(|builder| builder.finish()).collect();
        arrays.push(Arc::new(self.extra.finish()));
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new(self.schema(), arrays)
            .map_err(|error| Error::new(ErrorKind::Internal, format!("a record batch: {error}")))
    }
}

/// Returns the largest number of cells that an object within such a column takes, or 0.
fn width(kind: &ColumnKind) -> usize {
    match kind {
        ColumnKind::List { items } => width(items),
        ColumnKind::Struct { .. } => kind.size(),
        _ => 0,
    }
}
