//! The statement that applies the changes of a mirror to a table.

use crate::errors::raise;
use pyo3::prelude::*;

/// The statement for a table with these columns.
#[pyfunction]
pub(crate) fn merge_sql(
    py: Python<'_>,
    dialect: &str,
    table: &str,
    columns: Vec<String>,
) -> PyResult<String> {
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let statement = dialect
        .parse()
        .and_then(|dialect| talentdata_core::merge_sql(dialect, table, &columns));
    statement.map_err(|error| raise(py, &error))
}
