//! The statement that applies the changes of a mirror to a table of a database.
//!
//! The database, its driver and the loading of the changes are the caller's: what is given is the text.

mod identifier;

use crate::error::{Error, ErrorKind, Result};
use crate::mirror::CHANGE_COLUMNS;
use identifier::{check_columns, quoted, quoted_table};
use serde_json::json;
use std::fmt;
use std::str::FromStr;

/// The relation that the statement reads: a table, a view, or in Python a variable that DuckDB finds.
const SOURCE: &str = "changes";

/// What a statement calls the table.
const TARGET: &str = "target";

/// The operations with which a record is there afterwards.
const KEPT: &str = "'insert', 'update', 'return'";

/// For whom a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// DuckDB from 1.4.
    DuckDb,
    /// PostgreSQL from 15.
    PostgreSql,
    /// The Python package `deltalake`.
    Delta,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Dialect; 3] = [Self::DuckDb, Self::PostgreSql, Self::Delta];

    /// Its name: `duckdb`, `postgresql` or `delta`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::PostgreSql => "postgresql",
            Self::Delta => "delta",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Dialect {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|one| one.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            let message = format!("dialect: {text:?} is not one of {names}");
            Error::new(ErrorKind::InvalidArgument, message)
        })
    }
}

/// The statement that applies changes to a table, which has the column `_key` and those of `columns`.
///
/// The changes stand in a relation called `changes`, with the columns that a mirror gives them. Inserted, updated and
/// returned records are written, deleted ones are removed, and missing ones stay as they are. Of several generations
/// the newest change of a record counts. Applied twice, it does no harm: generations are applied in their order, and
/// one that was applied before can be applied again as long as those after it are, too.
///
/// `columns` may be all columns of the changes: `_generation`, `_op`, `_key`, `_last_seen` and `_seen` are passed over.
/// `table` may be qualified, as in `warehouse.contacts`; a part that holds a dot stands in double quotes.
///
/// For Delta it is a JSON object: under `merge` the arguments of `DeltaTable.merge` beside the source, and then, each
/// under the name of a method of what that returns, the arguments of that method. `table` is passed over then, and the
/// source must hold a single generation, since Delta refuses several changes of one record.
///
/// # Errors
/// `InvalidArgument` for a name that is empty, holds a NUL or cannot be told from another one in the dialect.
pub fn merge_sql(dialect: Dialect, table: &str, columns: &[&str]) -> Result<String> {
    let columns = columns
        .iter()
        .filter(|column| !CHANGE_COLUMNS.contains(column));
    let columns: Vec<&str> = columns.copied().collect();
    check_columns(dialect, &columns)?;
    match dialect {
        Dialect::DuckDb | Dialect::PostgreSql => Ok(statement(&quoted_table(table)?, &columns)),
        Dialect::Delta => Ok(delta(&columns)),
    }
}

fn statement(table: &str, columns: &[&str]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    let listed = |prefix: &str| {
        let columns = columns.iter().map(|column| format!(", {prefix}{column}"));
        columns.collect::<String>()
    };
    let set: Vec<String> = columns
        .iter()
        .map(|column| format!("{column} = source.{column}"))
        .collect();
    let update = match set.is_empty() {
        true => String::new(),
        false => format!("WHEN MATCHED THEN UPDATE SET {}\n", set.join(", ")),
    };
    format!(
        r#"MERGE INTO {table} AS {TARGET}
USING (
  SELECT "_op", "_key"{own} FROM (
    SELECT *, row_number() OVER (PARTITION BY "_key" ORDER BY "_generation" DESC) AS "_place"
    FROM {SOURCE} WHERE "_op" IN ({KEPT}, 'delete')
  ) AS numbered WHERE "_place" = 1
) AS source
ON {TARGET}."_key" = source."_key"
WHEN MATCHED AND source."_op" = 'delete' THEN DELETE
{update}WHEN NOT MATCHED AND source."_op" <> 'delete' THEN INSERT ("_key"{own}) VALUES (source."_key"{sources})"#,
        own = listed(""),
        sources = listed("source."),
    )
}

fn delta(columns: &[&str]) -> String {
    let own = ["_key"].into_iter().chain(columns.iter().copied());
    let updates: serde_json::Map<String, serde_json::Value> = own
        .map(|column| {
            let column = quoted(column);
            let value = format!("{SOURCE}.{column}");
            (column, value.into())
        })
        .collect();
    let is_kept = format!("{SOURCE}.\"_op\" IN ({KEPT})");
    let object = json!({
        "merge": {
            "predicate": format!("{TARGET}.\"_key\" = {SOURCE}.\"_key\""),
            "source_alias": SOURCE,
            "target_alias": TARGET,
        },
        "when_matched_delete": {"predicate": format!("{SOURCE}.\"_op\" = 'delete'")},
        "when_matched_update": {"predicate": is_kept, "updates": updates},
        "when_not_matched_insert": {"predicate": is_kept, "updates": updates},
    });
    format!("{object:#}")
}

#[cfg(test)]
mod tests;
