//! Views with a column for each field. With them, any program that opens SQLite files shows tables of records and of
//! changes.

use crate::plain;
use crate::sql::{fill, one_line_each, sql};
use rusqlite::Connection;
use std::collections::HashSet;
use talentdata_columns::arrow::TableSchema;

const DROP: &str = r#"DROP VIEW IF EXISTS "{records}"; DROP VIEW IF EXISTS "{changes}""#;
/// A field as a column of both views. DuckDB has no `likely`, so SQLite evaluates the view when DuckDB attaches the
/// file. DuckDB's own `json_extract` would return the text `null` for a null, and keep the quotes of strings.
const FIELD: &str =
    r#", likely(json_extract(ifnull(record.plain, record.text), '{path}')) AS "{column}""#;

/// Returns the definitions of the views of a list, as they are stored in a file.
pub(crate) fn definitions(list: &str, columns: &TableSchema) -> Vec<String> {
    let (fields, [records, changes]) = (fields(columns), names(list));
    let texts = [
        ("list", list),
        ("records", &records),
        ("changes", &changes),
        ("fields", &fields),
    ];
    let views = one_line_each(sql!("views")).into_iter();
    views.map(|view| fill(&view, &texts)).collect()
}

/// Defines the views of a list, and replaces existing ones.
pub(crate) fn define(
    connection: &Connection,
    list: &str,
    columns: &TableSchema,
) -> rusqlite::Result<()> {
    drop(connection, list)?;
    connection.execute_batch(&definitions(list, columns).join(";"))
}

/// Removes the views of a list.
pub(crate) fn drop(connection: &Connection, list: &str) -> rusqlite::Result<()> {
    let [records, changes] = names(list);
    connection.execute_batch(&fill(DROP, &[("records", &records), ("changes", &changes)]))
}

/// Returns the names of the views of records and of changes.
fn names(list: &str) -> [String; 2] {
    let is_table = ["mirror", "list", "kept_out", "sync", "record", "change"].contains(&list);
    let name = format!("{list}{}", if is_table { "_list" } else { "" });
    [name, format!("{list}_changes")]
}

fn fields(columns: &TableSchema) -> String {
    // SQLite does not distinguish upper from lower case in names of columns.
    let taken = "_key _record _missing_since _generation _op _last_seen _seen".split(' ');
    let mut taken: HashSet<String> = taken.map(str::to_owned).collect();
    let mut fields = String::new();
    for name in columns.fields.iter().map(|column| column.name.as_str()) {
        if taken.insert(name.to_ascii_lowercase()) {
            let path = plain::path(name).replace('\'', "''");
            let column = name.replace('"', "\"\"");
            fields += &fill(FIELD, &[("path", &path), ("column", &column)]);
        }
    }
    fields
}
