//! Reads, checks and writes schema files, which `talentdata schema` prints.

use super::infer::{MAX_COLUMNS, MAX_NODES};
use super::schema::{Column, ColumnKind, EXTRA, TableOptions, TableSchema};
use crate::paths::{IoContext, begin_of};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use talentdata_core::types::ListName;
use talentdata_core::{Error, Result};

impl TableSchema {
    /// The maximum size of a schema file in bytes. The rest of a larger file is not read.
    pub const MOST_BYTES: usize = 8 << 20;

    /// Returns the schema in its JSON form.
    pub fn to_json(&self) -> String {
        // Text goes to memory: nothing can fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// `InvalidArgument` if it is not a schema, or a schema that no table can have.
    pub fn from_json(text: &str) -> Result<Self> {
        Self::from_bytes(text.as_bytes())
    }

    /// Reads a schema file.
    ///
    /// # Errors
    /// `Path` or `Io` if the file cannot be read; `InvalidArgument` as for [`from_json`](Self::from_json).
    pub fn from_file(path: &Path) -> Result<Self> {
        let bytes = begin_of(path, Self::MOST_BYTES as u64).at("read", path)?;
        let named = |why: &str| Error::invalid(format!("{}: {why}", path.display()));
        Self::from_bytes(&bytes).map_err(|error| named(error.message()))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let schema: Self = serde_json::from_slice(bytes).map_err(|error| {
            Error::invalid(format!("schema: it is not a schema of talentdata: {error}"))
        })?;
        match schema.version {
            Self::VERSION => schema.checked(),
            other => Err(Error::invalid(format!(
                "schema: it has version {other}, but this library reads version {}",
                Self::VERSION
            ))),
        }
    }

    /// Reads an Arrow schema from a schema message of the Arrow IPC format.
    ///
    /// # Errors
    /// `InvalidArgument` if it is not a schema, or a schema that no table can have.
    pub fn from_ipc(message: &[u8]) -> Result<Self> {
        let schema = arrow_ipc::convert::try_schema_from_ipc_buffer(message);
        let refuse = |error| Error::invalid(format!("schema: it is not an Arrow schema: {error}"));
        Self::from_arrow(&schema.map_err(refuse)?)
    }

    /// Checks that a table can have this schema.
    pub(super) fn checked(self) -> Result<Self> {
        let nodes: usize = self.fields.iter().map(|column| column.kind.size()).sum();
        for (what, count, most) in [
            ("columns", self.fields.len(), MAX_COLUMNS),
            ("columns, nested ones included,", nodes, MAX_NODES),
        ] {
            if count > most {
                let message = format!("schema: it has {count} {what}, and {most} are the most");
                return Err(Error::invalid(message));
            }
        }
        check_fields(&self.fields, "")?;
        Ok(self)
    }
}

impl TableOptions {
    /// Returns the columns, if they need not be inferred.
    pub(super) fn columns_given(&self) -> Option<&Arc<TableSchema>> {
        self.schema.as_ref().or(self.known.as_ref())
    }

    /// Checks that the schema was not made for another list.
    pub(crate) fn check(&self, resource: ListName) -> Result<()> {
        let schema = self.columns_given();
        match schema.and_then(|schema| schema.resource.as_ref()) {
            Some(name) if name != resource.name() => Err(Error::invalid(format!(
                "schema: it was made for {name}, and the list is {resource}"
            ))),
            _ => Ok(()),
        }
    }
}

/// Checks names. `parent` is empty for the columns themselves, and otherwise the name of a struct and a space.
fn check_fields(fields: &[Column], parent: &str) -> Result<()> {
    let mut names = HashSet::new();
    if fields.is_empty() && !parent.is_empty() {
        return Err(Error::invalid(format!("schema: {parent}has no fields")));
    }
    for field in fields {
        let name = &field.name;
        let refuse = |why: &str| Err(Error::invalid(format!("schema: {parent}{name:?} {why}")));
        if !names.insert(name) {
            return refuse("occurs twice");
        }
        if name.contains('\0') || parent.is_empty() && name == EXTRA {
            return refuse("cannot be the name of a column");
        }
        let mut kind = &field.kind;
        while let ColumnKind::List { items } = kind {
            kind = items;
        }
        if let ColumnKind::Struct { fields } = kind {
            check_fields(fields, &format!("{parent}{name:?} "))?;
        }
    }
    Ok(())
}
