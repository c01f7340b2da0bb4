//! How a caller wants its columns: which types, and which schema.

use crate::errors::{error, raise};
use crate::record::Record;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use std::sync::Arc;
use talentdata_columns::arrow::{TableOptions, TableSchema};
use talentdata_core::{Error, ErrorKind};

/// What `columns`, `schema` and `on_new` of a list ask for.
pub(crate) fn options(
    py: Python<'_>,
    (columns, given, on_new): (&str, Option<&Bound<'_, PyAny>>, &str),
) -> PyResult<TableOptions> {
    let refused = |error: Error| raise(py, &error);
    let given = given.map(|given| schema(py, given)).transpose()?;
    Ok(TableOptions {
        columns: columns.parse().map_err(refused)?,
        schema: given.map(Arc::new),
        on_new: on_new.parse().map_err(refused)?,
    })
}

/// A schema: the file of one, what `schema()` returned, or a `pyarrow.Schema`.
fn schema(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<TableSchema> {
    let read = if let Ok(record) = given.cast::<Record>() {
        TableSchema::from_json(record.get().text())
    } else if let Ok(path) = given.extract::<PathBuf>() {
        TableSchema::from_file(&path)
    } else if given.hasattr("serialize")? {
        // The IPC format is read without touching memory that another library owns.
        let message = given
            .call_method0("serialize")?
            .call_method0("to_pybytes")?;
        TableSchema::from_ipc(message.cast::<PyBytes>()?.as_bytes())
    } else {
        let class = given.get_type().name()?;
        let message = format!(
            "schema: this {class} cannot be used; give the path of a schema file, what schema() returned, or a pyarrow.Schema"
        );
        return Err(error(py, ErrorKind::InvalidArgument, message));
    };
    read.map_err(|error| raise(py, &error))
}
