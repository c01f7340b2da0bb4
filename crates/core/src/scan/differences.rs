//! Differences between records and their columns: counted by field, with examples, and in words.

use crate::error::is_terminal_control;
use crate::json;
use crate::record::RawRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of fields of each kind that the summary names.
const MAX_SHOWN_FIELDS: usize = 5;

/// Limits the length of an `id` in an example. A longer one is omitted.
const MAX_ID_BYTES: usize = 200;

/// The differences between records and their columns. Fields are named by JSON pointers, with `*` in the place of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SchemaDifferences {
    /// Fields without a column, unless the caller ignores them.
    pub new_fields: BTreeMap<String, Difference>,
    /// Fields that are absent or null although the given schema does not allow null, or that are absent or null in
    /// every record.
    pub missing_fields: BTreeMap<String, Difference>,
    /// Fields with values that their column cannot hold, unless the caller ignores them.
    pub other_types: BTreeMap<String, Difference>,
}

/// The number of times that a field differed from its column, and an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The number of times that the field differed.
    pub count: u64,
    /// The type of the column, as schema files name it; null for a new field.
    #[serde(default)]
    pub column: Option<String>,
    /// The number of values of each type: `string`, `number`, `boolean`, `array`, `object`, `null` or `nothing`.
    #[serde(default)]
    pub found: BTreeMap<String, u64>,
    /// The first value that differed.
    pub example: Example,
}

/// A place at which a field differed from its column. Values of records are never reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Example {
    /// The place of the record in the list; among changes, the place of its change.
    pub offset: u64,
    /// The `id` of the record as text; null if it has none, or a long one.
    #[serde(default)]
    pub id: Option<String>,
    /// The JSON pointer of the value within the record.
    pub pointer: String,
    /// The type of the value: `string`, `number`, `boolean`, `array`, `object`, `null` or `nothing`.
    pub found: String,
}

impl SchemaDifferences {
    /// Returns the differences in one line, at most five of each kind, or `None` if there are none.
    pub fn summary(&self) -> Option<String> {
        let kinds = [&self.other_types, &self.new_fields, &self.missing_fields];
        let mut parts = Vec::new();
        for (kind, fields) in kinds.into_iter().enumerate() {
            for (name, field) in fields.iter().take(MAX_SHOWN_FIELDS) {
                let (count, example) = (field.count, field.example.in_words());
                let column = field.column.as_deref().unwrap_or_default();
                let found = field.found.keys().map(String::as_str);
                let found = found.collect::<Vec<_>>().join(" or ");
                parts.push(match kind {
                    0 => format!(
                        "{name} has the type {column}, but {found} in {count} values, first in {example}"
                    ),
                    1 => format!("{name} is new in {count} places, first in {example}"),
                    _ => format!("{name} is missing in {count} places, first in {example}"),
                });
            }
            if let Some(more) = fields
                .len()
                .checked_sub(MAX_SHOWN_FIELDS)
                .filter(|more| *more > 0)
            {
                parts.push(format!("{more} fields more"));
            }
        }
        let text = parts.join("; ").replace(is_terminal_control, "?");
        (!parts.is_empty()).then(|| format!("the records differ from their columns: {text}"))
    }

    /// Logs a warning if there are differences.
    pub fn log(&self, list: &str) {
        if let Some(summary) = self.summary() {
            tracing::warn!(list, "{list}: {summary}");
        }
    }
}

impl Example {
    /// Returns an example for a value in a record.
    pub fn new(record: &RawRecord, pointer: &str, found: &str) -> Self {
        let id = record.id().filter(|id| id.len() <= MAX_ID_BYTES);
        let text = id.map(|id| json::decoded(id).map_or(id.to_owned(), |text| text.into_owned()));
        Example {
            offset: record.offset(),
            id: text,
            pointer: pointer.to_owned(),
            found: found.to_owned(),
        }
    }

    /// Returns a phrase that names the record.
    pub fn in_words(&self) -> String {
        let offset = self.offset;
        match &self.id {
            Some(id) => format!("record {offset} (id {id})"),
            None => format!("record {offset}"),
        }
    }
}
