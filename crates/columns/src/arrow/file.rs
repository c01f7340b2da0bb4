//! Schema files: what `talentdata schema` prints, read back and checked.

use super::infer::{MAX_COLUMNS, MAX_DEPTH, MAX_NODES};
use super::schema::{Column, EXTRA, Kind, TableOptions, TableSchema};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use talentdata_core::types::Resource;
use talentdata_core::{Error, ErrorKind, Result};

impl TableSchema {
    /// A longer text is no schema, and must not fill the memory.
    pub const MOST_BYTES: usize = 8 << 20;

    /// The schema in its JSON form.
    pub fn to_json(&self) -> String {
        // Text goes to memory: nothing can fail.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// `InvalidArgument`, when it is not a schema, or one that no table can have.
    pub fn from_json(text: &str) -> Result<Self> {
        let schema: Self = serde_json::from_str(text).map_err(|error| {
            let why = reason(text, &error);
            invalid(format!("schema: it is not a schema of talentdata: {why}"))
        })?;
        match schema.version {
            Self::VERSION => schema.checked(),
            other => Err(invalid(format!(
                "schema: it has version {other}, but this library reads version {}",
                Self::VERSION
            ))),
        }
    }

    /// Reads a schema file.
    ///
    /// # Errors
    /// `Io`, when the file cannot be read; `InvalidArgument` as for [`from_json`](Self::from_json).
    pub fn from_file(path: &Path) -> Result<Self> {
        let shown = path.display();
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Io, format!("cannot read {shown}: {error}"))
        };
        let length = std::fs::metadata(path).map_err(failed)?.len();
        if length > Self::MOST_BYTES as u64 {
            return Err(invalid(format!(
                "{shown}: the file is too large for a schema"
            )));
        }
        let bytes = std::fs::read(path).map_err(failed)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            invalid(format!(
                "{shown}: schema: it is not a schema of talentdata: it is not JSON"
            ))
        })?;
        Self::from_json(&text).map_err(|error| invalid(format!("{shown}: {}", error.message())))
    }

    /// Reads an Arrow schema as the IPC format has it: a message of its own.
    ///
    /// # Errors
    /// `InvalidArgument`, when it is not a schema, or one that no table can have.
    pub fn from_ipc(message: &[u8]) -> Result<Self> {
        let schema = arrow_ipc::convert::try_schema_from_ipc_buffer(message);
        let refuse = |error| invalid(format!("schema: it is not an Arrow schema: {error}"));
        Self::from_arrow(&schema.map_err(refuse)?)
    }

    /// Refuses what no table can have.
    pub(super) fn checked(self) -> Result<Self> {
        let depth = self.iter().map(|column| column.kind.depth()).max();
        let nodes: usize = self.iter().map(|column| column.kind.size()).sum();
        for (what, count, most) in [
            ("columns", self.fields.len(), MAX_COLUMNS),
            ("levels of nesting", depth.unwrap_or_default(), MAX_DEPTH),
            ("columns, nested ones included,", nodes, MAX_NODES),
        ] {
            if count > most {
                let message = format!("schema: it has {count} {what}, and {most} are the most");
                return Err(invalid(message));
            }
        }
        check_fields(&self.fields, "")?;
        Ok(self)
    }
}

impl TableOptions {
    /// Refuses a schema that was made for another list.
    pub(crate) fn check(&self, resource: Resource) -> Result<()> {
        let name = self
            .schema
            .as_ref()
            .and_then(|schema| schema.resource.as_ref());
        match name.filter(|name| *name != resource.name()) {
            None => Ok(()),
            Some(name) => Err(invalid(format!(
                "schema: it was made for {name}, and the list is {resource}"
            ))),
        }
    }
}

/// Why a text is no schema; names the column that is wrong.
fn reason(text: &str, error: &serde_json::Error) -> String {
    if text.trim().is_empty() {
        return "it is empty".to_owned();
    }
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return format!("it is not JSON: {error}");
    };
    if !value.is_object() {
        return "it is not a JSON object".to_owned();
    }
    let columns = value["fields"].as_array();
    let wrong = columns.into_iter().flatten().find_map(|column| {
        let error = Column::deserialize(column).err()?;
        Some(format!("the column {}: {error}", column["name"]))
    });
    wrong.unwrap_or_else(|| error.to_string())
}

fn check_fields(fields: &[Column], parent: &str) -> Result<()> {
    let mut names = HashSet::new();
    for field in fields {
        let name = &field.name;
        let refuse = |why: &str| Err(invalid(format!("schema: {parent}{name:?} {why}")));
        if !names.insert(name) {
            return refuse("occurs twice");
        }
        if name.contains('\0') || parent.is_empty() && name == EXTRA {
            return refuse("cannot be the name of a column");
        }
        check_kind(&field.kind, &format!("{parent}{name:?} "))?;
    }
    Ok(())
}

fn check_kind(kind: &Kind, parent: &str) -> Result<()> {
    match kind {
        Kind::List { items } => check_kind(items, parent),
        Kind::Struct { fields } if fields.is_empty() => {
            Err(invalid(format!("schema: {parent}has no fields")))
        }
        Kind::Struct { fields } => check_fields(fields, parent),
        _ => Ok(()),
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}
