//! Builds columns, cell by cell.

use super::nested::{ListBuilder, StructBuilder};
use super::row::Cell;
use super::schema::{Kind, Unit};
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Date32Builder, Float64Builder, Int64Builder, PrimitiveBuilder,
    StringBuilder, TimestampMicrosecondBuilder, TimestampNanosecondBuilder, UInt64Builder,
};
use arrow_array::{ArrayRef, ArrowPrimitiveType, StringArray};
use std::sync::Arc;

/// A column that grows.
pub(super) enum Builder {
    Text(StringBuilder),
    Integer(Int64Builder),
    Unsigned(UInt64Builder),
    Number(Float64Builder),
    Boolean(BooleanBuilder),
    Micros(TimestampMicrosecondBuilder),
    Nanos(TimestampNanosecondBuilder),
    Date(Date32Builder),
    List(Box<ListBuilder>),
    Struct(Box<StructBuilder>),
}

impl Builder {
    pub(super) fn new(kind: &Kind) -> Self {
        match kind {
            Kind::Text | Kind::Json => Builder::Text(StringBuilder::new()),
            Kind::Integer => Builder::Integer(Int64Builder::new()),
            Kind::Unsigned => Builder::Unsigned(UInt64Builder::new()),
            Kind::Number => Builder::Number(Float64Builder::new()),
            Kind::Boolean => Builder::Boolean(BooleanBuilder::new()),
            Kind::Timestamp(timestamp) => match timestamp.unit {
                Unit::Micros => Builder::Micros(TimestampMicrosecondBuilder::new()),
                Unit::Nanos => Builder::Nanos(TimestampNanosecondBuilder::new()),
            },
            Kind::Date => Builder::Date(Date32Builder::new()),
            Kind::List { items } => Builder::List(Box::new(ListBuilder::new(items))),
            Kind::Struct { fields } => Builder::Struct(Box::new(StructBuilder::new(fields))),
        }
    }

    /// Adds a cell of the column's own kind, else nothing; returns whether it is all of the cell.
    #[inline]
    pub(super) fn append(&mut self, cell: &Cell<'_>) -> bool {
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
            (Builder::Micros(builder), Cell::Instant(value)) => builder.append_value(*value),
            (Builder::Micros(builder), _) => builder.append_null(),
            (Builder::Nanos(builder), Cell::Instant(value)) => builder.append_value(*value),
            (Builder::Nanos(builder), _) => builder.append_null(),
            (Builder::Date(builder), Cell::Day(value)) => builder.append_value(*value),
            (Builder::Date(builder), _) => builder.append_null(),
            (Builder::List(builder), Cell::Raw(text)) => {
                return builder.append(text);
            }
            (Builder::List(builder), _) => builder.append_null(),
            (Builder::Struct(builder), Cell::Raw(text)) => {
                return builder.append(text);
            }
            (Builder::Struct(builder), _) => builder.append_null(),
        }
        true
    }

    /// The column; the builder then has room for another one like it.
    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Text(builder) => Arc::new(finish_text(builder)),
            Builder::Integer(builder) => finish_primitive(builder),
            Builder::Unsigned(builder) => finish_primitive(builder),
            Builder::Number(builder) => finish_primitive(builder),
            Builder::Boolean(builder) => {
                let next = BooleanBuilder::with_capacity(builder.len());
                Arc::new(std::mem::replace(builder, next).finish())
            }
            Builder::Micros(builder) => {
                let next = TimestampMicrosecondBuilder::with_capacity(builder.len());
                Arc::new(
                    std::mem::replace(builder, next)
                        .finish()
                        .with_timezone("UTC"),
                )
            }
            Builder::Nanos(builder) => {
                let next = TimestampNanosecondBuilder::with_capacity(builder.len());
                Arc::new(
                    std::mem::replace(builder, next)
                        .finish()
                        .with_timezone("UTC"),
                )
            }
            Builder::Date(builder) => finish_primitive(builder),
            Builder::List(builder) => builder.finish(),
            Builder::Struct(builder) => builder.finish(),
        }
    }
}

pub(super) fn finish_text(builder: &mut StringBuilder) -> StringArray {
    let bytes = builder.values_slice().len();
    // Without some more, every other batch would have to move its text.
    let next = StringBuilder::with_capacity(builder.len(), bytes + bytes / 8);
    std::mem::replace(builder, next).finish()
}

fn finish_primitive<T: ArrowPrimitiveType>(builder: &mut PrimitiveBuilder<T>) -> ArrayRef {
    let next = PrimitiveBuilder::with_capacity(builder.len());
    Arc::new(std::mem::replace(builder, next).finish())
}
