//! The schema of a table, which is the same for every format and kept for a resumed export, and the options of tables.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use talentdata_core::internal::choice;
use talentdata_core::scan::AlteredFields;

/// The name of the last column, which holds everything that the other columns do not.
pub const EXTRA: &str = "_extra";

/// The member of `_extra` that lists fields which are absent although an empty cell would mean null.
pub(super) const ABSENT: &str = "_absent";

/// The columns of a table, without `_extra`, which always comes last.
/// Its JSON form is the content of a schema file, as `talentdata schema` prints it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use talentdata_columns::arrow::{ColumnKind, ColumnTypes, TableSchema};
/// use talentdata_core::{ListName, RawRecord};
///
/// let records = RawRecord::parse_all(&[r#"{"id":"p-1","size":3}"#])?;
/// let schema = TableSchema::infer(ListName::Pools, &records, ColumnTypes::Typed);
/// let size = schema.fields.iter().find(|column| column.name == "size");
/// assert!(matches!(size.map(|column| &column.kind), Some(ColumnKind::Integer)));
/// assert_eq!(TableSchema::from_json(&schema.to_json())?, schema);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "the JSON object of a schema")]
pub struct TableSchema {
    /// The version of the JSON form.
    #[serde(rename = "talentdata_schema")]
    pub(super) version: u32,
    /// The list that it was made for; `None` if it fits any list.
    pub resource: Option<String>,
    /// The choice of types for nested values and timestamps.
    pub columns: ColumnTypes,
    /// The number of records that were examined.
    pub sampled_records: u64,
    /// The columns in their order.
    pub fields: Vec<Column>,
}

/// A column of a table, or a field of a struct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(expecting = "an object that describes a column")]
pub struct Column {
    /// The name of the field in the API, with its escapes resolved.
    pub name: String,
    /// The type of the column.
    #[serde(flatten)]
    pub kind: ColumnKind,
    /// True if the field may be absent or null. Otherwise a missing value is reported, and its cell is empty as well.
    #[serde(default = "yes")]
    pub nullable: bool,
    /// The meaning of an empty cell.
    #[serde(default)]
    pub empty: EmptyMeans,
    /// The origin of the column.
    #[serde(default)]
    pub source: Source,
}

fn yes() -> bool {
    true
}

/// The type of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ColumnKind {
    /// Strings.
    #[serde(rename = "string")]
    Text,
    /// Signed integers of 64 bits.
    #[serde(rename = "int64")]
    Integer,
    /// Unsigned integers of 64 bits, for fields with values that `Integer` cannot hold.
    #[serde(rename = "uint64")]
    Unsigned,
    /// Numbers, as doubles.
    #[serde(rename = "double")]
    Number,
    /// True or false.
    Boolean,
    /// Date-times of RFC 3339, as instants in UTC.
    Timestamp(Timestamp),
    /// Full-dates of RFC 3339.
    Date,
    /// Arrays.
    List {
        /// The type of the items.
        items: Box<ColumnKind>,
    },
    /// Objects with named members.
    Struct {
        /// The members in their order.
        fields: Vec<Column>,
    },
    /// The JSON text of values of any type.
    Json,
}

/// The unit of date-times in a column, and their notation in the service's JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timestamp {
    /// The unit of the instants.
    pub unit: Unit,
    /// The number of digits, from 0 to 9, in the fraction of a second.
    #[serde(default)]
    pub fraction: u8,
    /// The offset, for example `Z` or `+02:00`.
    #[serde(default = "zulu")]
    pub offset: String,
}

fn zulu() -> String {
    "Z".to_owned()
}

/// The unit of a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Microseconds.
    #[serde(rename = "us")]
    Micros,
    /// Nanoseconds, for fields in which some date-times have that many digits.
    #[serde(rename = "ns")]
    Nanos,
}

/// The meaning of an empty cell. An inferred column takes the more frequent one in the sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmptyMeans {
    /// The record does not contain the field.
    #[default]
    Absent,
    /// The field is null.
    Null,
}

/// The origin of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The API description documents the field.
    Documented,
    /// The sampled records contain the field.
    Sampled,
    /// The caller gave the column.
    #[default]
    Given,
}

impl TableSchema {
    /// The version of the JSON form that this library writes and reads.
    pub(super) const VERSION: u32 = 1;

    pub(super) fn new(resource: Option<String>, columns: ColumnTypes, fields: Vec<Column>) -> Self {
        TableSchema {
            version: Self::VERSION,
            resource,
            columns,
            sampled_records: 0,
            fields,
        }
    }

    /// Returns the columns of records whose fields are altered. An omitted field has no column, and a hashed field has
    /// a text column.
    #[must_use]
    pub fn altered(mut self, altered: &AlteredFields) -> Self {
        self.fields
            .retain(|column| !altered.left_out.contains(&column.name.as_str()));
        for steps in &altered.hashed {
            hash_columns(&mut self.fields, steps);
        }
        self
    }

    /// Returns the columns with the types that [`ColumnTypes::Json`] allows.
    #[must_use]
    pub fn into_json(mut self) -> Self {
        self.columns = ColumnTypes::Json;
        for column in &mut self.fields {
            match column.kind {
                ColumnKind::List { .. } | ColumnKind::Struct { .. } => {
                    column.kind = ColumnKind::Json
                }
                ColumnKind::Timestamp(_) | ColumnKind::Date => column.kind = ColumnKind::Text,
                ColumnKind::Text
                | ColumnKind::Integer
                | ColumnKind::Unsigned
                | ColumnKind::Number
                | ColumnKind::Boolean
                | ColumnKind::Json => {}
            }
        }
        self
    }
}

/// Makes the column at these steps a text column, if it exists.
fn hash_columns(columns: &mut [Column], steps: &[String]) {
    if let Some((name, rest)) = steps.split_first()
        && let Some(column) = columns.iter_mut().find(|column| column.name == *name)
    {
        hash_column(&mut column.kind, rest);
    }
}

fn hash_column(kind: &mut ColumnKind, steps: &[String]) {
    match (kind, steps) {
        (kind, []) => *kind = ColumnKind::Text,
        (ColumnKind::Struct { fields }, steps) => hash_columns(fields, steps),
        (ColumnKind::List { items }, [step, rest @ ..]) if step == "*" => hash_column(items, rest),
        _ => {}
    }
}

impl ColumnKind {
    /// Returns the name of the type in schema files.
    pub fn name(&self) -> &'static str {
        match self {
            ColumnKind::Text => "string",
            ColumnKind::Integer => "int64",
            ColumnKind::Unsigned => "uint64",
            ColumnKind::Number => "double",
            ColumnKind::Boolean => "boolean",
            ColumnKind::Timestamp(_) => "timestamp",
            ColumnKind::Date => "date",
            ColumnKind::List { .. } => "list",
            ColumnKind::Struct { .. } => "struct",
            ColumnKind::Json => "json",
        }
    }

    /// Returns the number of columns that the type consists of, including itself.
    pub(super) fn size(&self) -> usize {
        1 + match self {
            ColumnKind::List { items } => items.size(),
            ColumnKind::Struct { fields } => fields.iter().map(|field| field.kind.size()).sum(),
            _ => 0,
        }
    }
}

/// The choice of types for inferred columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u32)]
pub enum ColumnTypes {
    /// Nested values are lists and structs. Texts in the format of RFC 3339 are timestamps and dates.
    #[default]
    Typed = 1,
    /// Nested values are JSON text. Timestamps and dates are strings.
    Json = 2,
}

/// The policy for fields without a column, and for values that do not fit the type of their column.
/// Without a schema, the columns are inferred from the first records, or come from a mirror.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u32)]
pub enum NewFieldPolicy {
    /// They stay in the column `_extra`, and the receipt reports them. A sync makes columns of new fields.
    #[default]
    Keep = 1,
    /// They stay in the column `_extra`, and nothing is reported. A sync makes no columns.
    Freeze = 2,
    /// The first such field or value is an error that names the record and the field.
    Fail = 3,
}

/// The options for turning records into columns.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use talentdata_columns::arrow::{ColumnTypes, NewFieldPolicy, TableOptions};
///
/// let options = TableOptions::default()
///     .with_columns(ColumnTypes::Json)
///     .with_on_new(NewFieldPolicy::Fail);
/// assert!(options.schema.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TableOptions {
    /// The types of columns that are inferred.
    pub columns: ColumnTypes,
    /// The columns that the caller gave. Without them, the columns are inferred from the first records.
    pub schema: Option<Arc<TableSchema>>,
    /// The columns if none are given and none must be inferred, for example those of a mirror. A field that is missing
    /// from a record is then not reported.
    pub known: Option<Arc<TableSchema>>,
    /// The policy for fields without a column, and for values that do not fit their column.
    pub on_new: NewFieldPolicy,
    /// The fields that the scan omits, which get no column, and those that it hashes, which get a text column.
    pub altered: AlteredFields,
    /// The number of rows of a record batch. Batches have fewer if their rows are large. Files have their own sizes.
    pub batch_rows: usize,
}

impl Default for TableOptions {
    fn default() -> Self {
        TableOptions {
            columns: ColumnTypes::default(),
            schema: None,
            known: None,
            on_new: NewFieldPolicy::default(),
            altered: AlteredFields::default(),
            // Enough rows for columnar work, and few enough for a progress bar to move about once a second.
            batch_rows: 4096,
        }
    }
}

impl TableOptions {
    /// Sets [`columns`](Self::columns).
    pub fn with_columns(mut self, columns: ColumnTypes) -> Self {
        self.columns = columns;
        self
    }

    /// Sets [`schema`](Self::schema).
    pub fn with_schema(mut self, schema: impl Into<Arc<TableSchema>>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Sets [`on_new`](Self::on_new).
    pub fn with_on_new(mut self, on_new: NewFieldPolicy) -> Self {
        self.on_new = on_new;
        self
    }

    /// Sets [`batch_rows`](Self::batch_rows).
    pub fn with_batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows;
        self
    }
}

choice!(ColumnTypes, "columns", {
    Typed => "typed",
    Json => "json",
});

choice!(NewFieldPolicy, "on_new_field", {
    Keep => "keep",
    Freeze => "freeze",
    Fail => "fail",
});
