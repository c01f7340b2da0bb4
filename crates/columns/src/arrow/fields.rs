//! Conversion of schemas to Arrow schemas, and back from the Arrow schema of a caller.

use super::schema::{
    Column, ColumnKind, ColumnTypes, EXTRA, EmptyMeans, Source, TableSchema, Timestamp, Unit,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;
use talentdata_core::{Error, Result};

/// Metadata key for the meaning of an empty cell: `null`, or absent without this key.
const EMPTY: &str = "talentdata:empty";
/// Metadata key that has the value `json` if a string is the JSON text of a value.
const CONTENT: &str = "talentdata:content";
/// Metadata key for the digits of a timestamp's fraction, as the service writes it.
const FRACTION: &str = "talentdata:fraction";
const OFFSET: &str = "talentdata:offset";
/// The extension type with which other producers mark JSON.
const EXTENSION: (&str, &str) = ("ARROW:extension:name", "arrow.json");

/// The name that Arrow gives the items of a list.
const ITEM: &str = "item";

impl TableSchema {
    /// Returns the Arrow schema, with `_extra`.
    pub fn to_arrow(&self) -> SchemaRef {
        let fields = self.fields.iter().map(Column::field);
        let extra = field(EXTRA, &ColumnKind::Json, EmptyMeans::Absent);
        Arc::new(Schema::new(fields.chain([extra]).collect::<Vec<_>>()))
    }

    /// Returns the columns of an Arrow schema. `_extra` always comes last, and may be missing.
    ///
    /// # Errors
    /// `InvalidArgument`, which names the column, for a type that columns cannot have.
    pub fn from_arrow(schema: &Schema) -> Result<Self> {
        let fields = schema.fields().iter();
        let fields = fields.filter(|field| field.name() != EXTRA);
        let fields: Result<Vec<Column>> = fields.map(|field| column(field, "")).collect();
        TableSchema::new(None, ColumnTypes::Typed, fields?).checked()
    }
}

impl Column {
    /// Returns the Arrow field.
    pub(super) fn field(&self) -> Field {
        field(&self.name, &self.kind, self.empty)
    }
}

fn field(name: &str, kind: &ColumnKind, empty: EmptyMeans) -> Field {
    let mut metadata = HashMap::new();
    let mut add = |key: &str, value: String| metadata.insert(key.to_owned(), value);
    match kind {
        ColumnKind::Json => {
            add(CONTENT, "json".into());
        }
        ColumnKind::Timestamp(timestamp) => {
            add(FRACTION, timestamp.fraction.to_string());
            add(OFFSET, timestamp.offset.clone());
        }
        _ => {}
    }
    if empty == EmptyMeans::Null {
        add(EMPTY, "null".into());
    }
    Field::new(name, data_type(kind), true).with_metadata(metadata)
}

fn data_type(kind: &ColumnKind) -> DataType {
    match kind {
        ColumnKind::Text | ColumnKind::Json => DataType::Utf8,
        ColumnKind::Integer => DataType::Int64,
        ColumnKind::Unsigned => DataType::UInt64,
        ColumnKind::Number => DataType::Float64,
        ColumnKind::Boolean => DataType::Boolean,
        ColumnKind::Timestamp(timestamp) => {
            let unit = match timestamp.unit {
                Unit::Micros => TimeUnit::Microsecond,
                Unit::Nanos => TimeUnit::Nanosecond,
            };
            DataType::Timestamp(unit, Some("UTC".into()))
        }
        ColumnKind::Date => DataType::Date32,
        ColumnKind::List { items } => {
            DataType::List(Arc::new(field(ITEM, items, EmptyMeans::Absent)))
        }
        ColumnKind::Struct { fields } => {
            DataType::Struct(fields.iter().map(Column::field).collect())
        }
    }
}

/// Returns the column for a field. `parent` is the path of the field that contains it.
fn column(field: &Field, parent: &str) -> Result<Column> {
    let path = match parent {
        "" => field.name().clone(),
        parent => format!("{parent}.{}", field.name()),
    };
    let metadata = |key| field.metadata().get(key).map(String::as_str);
    Ok(Column {
        name: field.name().clone(),
        kind: kind(field, &path)?,
        nullable: field.is_nullable(),
        empty: match metadata(EMPTY) {
            Some("null") => EmptyMeans::Null,
            _ => EmptyMeans::Absent,
        },
        source: Source::Given,
    })
}

fn kind(field: &Field, path: &str) -> Result<ColumnKind> {
    let metadata = |key| field.metadata().get(key).map(String::as_str);
    let is_json = metadata(CONTENT) == Some("json") || metadata(EXTENSION.0) == Some(EXTENSION.1);
    Ok(match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if is_json => ColumnKind::Json,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnKind::Text,
        DataType::Int64 => ColumnKind::Integer,
        DataType::UInt64 => ColumnKind::Unsigned,
        DataType::Float64 => ColumnKind::Number,
        DataType::Boolean => ColumnKind::Boolean,
        DataType::Date32 => ColumnKind::Date,
        DataType::Timestamp(unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond), Some(zone))
            if matches!(&**zone, "UTC" | "Etc/UTC" | "Z" | "+00:00") =>
        {
            let digits = metadata(FRACTION).and_then(|digits| digits.parse().ok());
            ColumnKind::Timestamp(Timestamp {
                unit: match unit {
                    TimeUnit::Nanosecond => Unit::Nanos,
                    _ => Unit::Micros,
                },
                fraction: digits.unwrap_or_default(),
                offset: metadata(OFFSET).unwrap_or("Z").to_owned(),
            })
        }
        DataType::List(item) | DataType::LargeList(item) => ColumnKind::List {
            items: Box::new(column(item, path)?.kind),
        },
        DataType::Struct(fields) => {
            let fields: Result<_> = fields.iter().map(|field| column(field, path)).collect();
            ColumnKind::Struct { fields: fields? }
        }
        other => {
            let message = format!(
                "schema: the column {path} is of type {other}, but columns are of type string, int64, uint64, \
                 double, bool, timestamp[us, UTC], timestamp[ns, UTC], date32, list or struct"
            );
            return Err(Error::invalid(message));
        }
    })
}
