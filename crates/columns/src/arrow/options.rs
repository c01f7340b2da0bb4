//! What a caller can ask of the columns.

use super::schema::TableSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use talentdata_core::RawRecord;
use talentdata_core::Result;
use talentdata_core::choice;
use talentdata_core::types::Resource;

/// Which types the columns of a table have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u32)]
pub enum Columns {
    /// Lists and structs for nested values, timestamps and dates for the texts of RFC 3339.
    #[default]
    Typed = 1,
    /// Nested values as JSON text, timestamps and dates as strings.
    Json = 2,
}

/// What to do with fields that a given schema does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u32)]
pub enum OnNew {
    /// They stay in the column `_extra`, and the receipt reports them.
    #[default]
    Keep = 1,
    /// They stay in the column `_extra`, and nothing is reported.
    Freeze = 2,
    /// The first one is an error that names record and field.
    Fail = 3,
}

/// How records become columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableOptions {
    /// The types of columns that are inferred.
    pub columns: Columns,
    /// The columns; inferred from the first records where none are given.
    pub schema: Option<Arc<TableSchema>>,
    /// What to do with fields that the given schema does not have.
    pub on_new: OnNew,
}

impl TableOptions {
    /// The columns of a list that begins with `sample`.
    ///
    /// # Errors
    /// `InvalidArgument` for a schema of another list.
    pub fn schema_of(&self, resource: Resource, sample: &[RawRecord]) -> Result<Arc<TableSchema>> {
        match &self.schema {
            Some(schema) => {
                schema.check_resource(resource)?;
                Ok(Arc::clone(schema))
            }
            None => Ok(Arc::new(TableSchema::infer(resource, sample, self.columns))),
        }
    }
}

choice!(Columns, "columns", {
    Typed => "typed",
    Json => "json",
});

choice!(OnNew, "on_new", {
    Keep => "keep",
    Freeze => "freeze",
    Fail => "fail",
});
