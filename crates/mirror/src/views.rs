//! Views with a column for each field, so that any program that opens SQLite files shows tables of records and of changes.

use crate::file::Fault;
use rusqlite::Connection;
use std::collections::HashSet;
use talentdata_columns::arrow::TableSchema;

/// SQLite does not let a view have more than 2,000 columns.
const MAX_COLUMNS: usize = 1_900;

/// The views of a list: their names and definitions.
pub(crate) fn of(list: &str, columns: &TableSchema) -> [(String, String); 2] {
    let fields = fields(columns);
    let is_table = ["meta", "sync", "record", "missing", "change"].contains(&list);
    let name = format!("{list}{}", if is_table { "_list" } else { "" });
    let current = format!(
        "CREATE VIEW \"{name}\" AS SELECT record.key AS _key{fields}, record.text AS _record FROM record \
         WHERE record.list = '{list}' AND (record.last IS NULL OR record.id IN \
         (SELECT missing.record FROM missing WHERE missing.list = '{list}')) ORDER BY record.position, record.id"
    );
    let changes = format!(
        "CREATE VIEW \"{list}_changes\" AS SELECT change.sync AS _generation, change.op AS _op, change.key AS _key, \
         change.last_seen AS _last_seen, change.seen AS _seen{fields}, record.text AS _record \
         FROM change JOIN record ON record.id = change.record \
         WHERE change.list = '{list}' ORDER BY change.sync, change.seq"
    );
    [(name, current), (format!("{list}_changes"), changes)]
}

/// Makes the views of a list, and makes them again where its columns have grown.
pub(crate) fn make(
    connection: &Connection,
    list: &str,
    columns: &TableSchema,
) -> Result<(), Fault> {
    for (name, sql) in of(list, columns) {
        if !is_defined(connection, &sql)? {
            connection.execute_batch(&format!("DROP VIEW IF EXISTS \"{name}\"; {sql}"))?;
        }
    }
    Ok(())
}

/// Whether a table, an index or a view is defined by this statement.
pub(crate) fn is_defined(connection: &Connection, sql: &str) -> rusqlite::Result<bool> {
    connection
        .prepare("SELECT 1 FROM sqlite_schema WHERE sql = ?1")?
        .exists([sql])
}

fn fields(columns: &TableSchema) -> String {
    // SQLite does not tell upper from lower case in names of columns.
    let mut taken: HashSet<String> = [
        "_key",
        "_record",
        "_generation",
        "_op",
        "_last_seen",
        "_seen",
    ]
    .map(str::to_owned)
    .into();
    let mut fields = String::new();
    let names = columns.fields.iter().map(|column| column.name.as_str());
    for name in names.filter(|name| !name.contains('"')).take(MAX_COLUMNS) {
        if taken.insert(name.to_lowercase()) {
            let path = format!("$.\"{name}\"").replace('\'', "''");
            fields += &format!(", record.text ->> '{path}' AS \"{name}\"");
        }
    }
    fields
}
