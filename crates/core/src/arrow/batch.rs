//! Builds record batches, record by record.

use super::columns::{Columns, Kind};
use super::row::{Cell, Decimals, Splitter};
use crate::error::{Error, ErrorKind, Result};
use crate::record::RawRecord;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Float64Builder, Int64Builder, PrimitiveBuilder, StringBuilder,
    UInt64Builder,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, RecordBatch, StringArray};
use arrow_schema::SchemaRef;
use std::sync::Arc;

/// A batch with so many bytes is full whatever its rows: it bounds the memory, and the offsets of an
/// Arrow string column end at 2 GiB.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// A record batch that grows.
pub struct BatchBuilder {
    schema: SchemaRef,
    splitter: Splitter,
    builders: Vec<Builder>,
    extra: StringBuilder,
    most_rows: usize,
    rows: usize,
    bytes: usize,
}

enum Builder {
    Text(StringBuilder),
    Integer(Int64Builder),
    Unsigned(UInt64Builder),
    Number(Float64Builder),
    Boolean(BooleanBuilder),
}

impl BatchBuilder {
    /// An empty batch that is full with `rows` rows.
    pub fn new(columns: &Columns, rows: usize) -> Self {
        BatchBuilder {
            schema: columns.schema(),
            splitter: Splitter::new(columns, Decimals::Doubles),
            builders: columns
                .iter()
                .map(|column| Builder::new(column.kind, 0, 0))
                .collect(),
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

    /// Adds a row.
    pub fn append(&mut self, record: &RawRecord) {
        let builders = &mut self.builders;
        let take = |column: usize, cell: Cell<'_>| builders[column].append(&cell);
        let extra = self.splitter.split(record, take);
        self.extra.append_option(extra);
        self.rows += 1;
        self.bytes += record.as_bytes().len() + extra.map_or(0, str::len);
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

impl Builder {
    /// A builder with room for `rows` cells, and for `bytes` bytes of text in all of them.
    fn new(kind: Kind, rows: usize, bytes: usize) -> Self {
        match kind {
            Kind::Text | Kind::Json => Builder::Text(StringBuilder::with_capacity(rows, bytes)),
            Kind::Integer => Builder::Integer(Int64Builder::with_capacity(rows)),
            Kind::Unsigned => Builder::Unsigned(UInt64Builder::with_capacity(rows)),
            Kind::Number => Builder::Number(Float64Builder::with_capacity(rows)),
            Kind::Boolean => Builder::Boolean(BooleanBuilder::with_capacity(rows)),
        }
    }

    /// A cell of the column's own kind, else nothing.
    fn append(&mut self, cell: &Cell<'_>) {
        match (self, cell) {
            (Builder::Text(builder), Cell::Text(text)) => builder.append_value(text),
            (Builder::Text(builder), Cell::Raw(text)) => builder.append_value(text),
            (Builder::Text(builder), _) => builder.append_null(),
            (Builder::Integer(builder), Cell::Integer(value)) => builder.append_value(*value),
            (Builder::Integer(builder), _) => builder.append_null(),
            (Builder::Unsigned(builder), Cell::Unsigned(value)) => builder.append_value(*value),
            (Builder::Unsigned(builder), _) => builder.append_null(),
            (Builder::Number(builder), Cell::Number(value)) => builder.append_value(*value),
            (Builder::Number(builder), _) => builder.append_null(),
            (Builder::Boolean(builder), Cell::Boolean(value)) => builder.append_value(*value),
            (Builder::Boolean(builder), _) => builder.append_null(),
        }
    }

    /// The column; the builder then has room for another one like it.
    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Text(builder) => Arc::new(finish_text(builder)),
            Builder::Integer(builder) => finish_primitive(builder),
            Builder::Unsigned(builder) => finish_primitive(builder),
            Builder::Number(builder) => finish_primitive(builder),
            Builder::Boolean(builder) => {
                let next = BooleanBuilder::with_capacity(builder.len());
                Arc::new(std::mem::replace(builder, next).finish())
            }
        }
    }
}

fn finish_text(builder: &mut StringBuilder) -> StringArray {
    let bytes = builder.values_slice().len();
    // Without some more, every other batch would have to move its text.
    let next = StringBuilder::with_capacity(builder.len(), bytes + bytes / 8);
    std::mem::replace(builder, next).finish()
}

fn finish_primitive<T: ArrowPrimitiveType>(builder: &mut PrimitiveBuilder<T>) -> ArrayRef {
    let next = PrimitiveBuilder::with_capacity(builder.len());
    Arc::new(std::mem::replace(builder, next).finish())
}
