//! What a caller can ask of the columns.

use super::schema::TableSchema;
use crate::error::{Error, ErrorKind, Result};
use crate::record::RawRecord;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use talentdata_types::Resource;

/// Which types the columns have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Columns {
    /// Lists and structs for nested values, timestamps and dates for the texts of RFC 3339.
    #[default]
    Typed,
    /// Nested values as JSON text, timestamps and dates as strings.
    Json,
}

/// What to do with fields that a pinned schema does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnNew {
    /// They stay in `_extra`, and the receipt reports them.
    #[default]
    Keep,
    /// They stay in `_extra`, and nothing is said.
    Freeze,
    /// The first one is an error that names record and field.
    Fail,
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

impl Columns {
    /// Every choice.
    pub const ALL: [Columns; 2] = [Self::Typed, Self::Json];

    /// The name of the choice.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Typed => "typed",
            Self::Json => "json",
        }
    }
}

impl OnNew {
    /// Every choice.
    pub const ALL: [OnNew; 3] = [Self::Keep, Self::Freeze, Self::Fail];

    /// The name of the choice.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Freeze => "freeze",
            Self::Fail => "fail",
        }
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl fmt::Display for OnNew {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Columns {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|choice| choice.name() == text);
        found.ok_or_else(|| unknown("columns", text, &Self::ALL.map(Self::name)))
    }
}

impl FromStr for OnNew {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|choice| choice.name() == text);
        found.ok_or_else(|| unknown("on_new", text, &Self::ALL.map(Self::name)))
    }
}

fn unknown(setting: &str, text: &str, names: &[&str]) -> Error {
    let message = format!("{setting}: {text:?} is not one of {}", names.join(", "));
    Error::new(ErrorKind::InvalidArgument, message)
}
