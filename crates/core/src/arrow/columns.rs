//! Which columns a table has: decided once, kept for a resumed export, the same for every format.

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The name of the last column, which holds what has no other place.
pub const EXTRA: &str = "_extra";

/// The member of `_extra` that lists fields which are absent although an empty cell would mean null.
pub(super) const ABSENT: &str = "_absent";

/// The columns of a table, without `_extra`, which always comes last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Columns(pub(super) Vec<Column>);

/// A column: a field of the records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The field's name on the wire, its escapes resolved.
    pub name: String,
    /// What the column holds.
    pub kind: Kind,
    /// What an empty cell means.
    pub empty: Empty,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Strings.
    Text,
    /// Whole numbers of 64 bits.
    Integer,
    /// Whole numbers from 0, of 64 bits; some were beyond what `Integer` holds.
    Unsigned,
    /// Numbers, as doubles.
    Number,
    /// True or false.
    Boolean,
    /// The JSON text of values of any type.
    Json,
}

/// What an empty cell means: what most records of the sample without a value had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Empty {
    /// The record has no such field.
    Absent,
    /// The field is null.
    Null,
}

impl Columns {
    /// The columns in their order, without `_extra`.
    pub fn iter(&self) -> std::slice::Iter<'_, Column> {
        self.0.iter()
    }

    /// The Arrow schema, with `_extra`.
    pub fn schema(&self) -> SchemaRef {
        let extra = json_text(Field::new(EXTRA, DataType::Utf8, true));
        let fields: Vec<Field> = self.iter().map(Column::field).chain([extra]).collect();
        Arc::new(Schema::new(fields))
    }
}

impl<'a> IntoIterator for &'a Columns {
    type Item = &'a Column;
    type IntoIter = std::slice::Iter<'a, Column>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Column {
    fn field(&self) -> Field {
        let data_type = match self.kind {
            Kind::Text | Kind::Json => DataType::Utf8,
            Kind::Integer => DataType::Int64,
            Kind::Unsigned => DataType::UInt64,
            Kind::Number => DataType::Float64,
            Kind::Boolean => DataType::Boolean,
        };
        let field = Field::new(&self.name, data_type, true);
        let mut field = match self.kind {
            Kind::Json => json_text(field),
            _ => field,
        };
        if self.empty == Empty::Null {
            add(&mut field, "talentdata:empty", "null");
        }
        field
    }
}

/// The mark of the canonical extension type for JSON.
fn json_text(mut field: Field) -> Field {
    add(&mut field, "ARROW:extension:name", "arrow.json");
    add(&mut field, "ARROW:extension:metadata", "");
    field
}

fn add(field: &mut Field, key: &str, value: &str) {
    let mut metadata = field.metadata().clone();
    metadata.insert(key.to_owned(), value.to_owned());
    field.set_metadata(metadata);
}
