//! Views with a column for each field, so that any program that opens SQLite files shows tables of records and of changes.

use crate::plain;
use std::collections::HashSet;
use talentdata_columns::arrow::TableSchema;

/// The statements that define the views of a list, in words that SQLite 3.26 knows.
pub(crate) fn of(list: &str, columns: &TableSchema) -> [String; 2] {
    let (fields, [name, changes]) = (fields(columns), names(list));
    let current = format!(
        "CREATE VIEW \"{name}\" AS SELECT record.key AS _key{fields}, record.text AS _record FROM record \
         WHERE record.list = '{list}' AND (record.last IS NULL OR record.missing IS NOT NULL) \
         ORDER BY record.position, record.id"
    );
    let changes = format!(
        "CREATE VIEW \"{changes}\" AS SELECT change.sync AS _generation, change.op AS _op, change.key AS _key, \
         change.last_seen AS _last_seen, change.seen AS _seen{fields}, record.text AS _record \
         FROM change LEFT JOIN record ON record.id = change.record \
         WHERE change.list = '{list}' ORDER BY change.sync, change.seq"
    );
    [current, changes]
}

fn names(list: &str) -> [String; 2] {
    let is_table = ["mirror", "list", "kept_out", "sync", "record", "change"].contains(&list);
    let name = format!("{list}{}", if is_table { "_list" } else { "" });
    [name, format!("{list}_changes")]
}

/// The statement that removes the views of a list.
pub(crate) fn drop(list: &str) -> String {
    let drop = |name| format!("DROP VIEW IF EXISTS \"{name}\"");
    names(list).map(drop).join(";")
}

fn fields(columns: &TableSchema) -> String {
    // SQLite does not tell upper from lower case in names of columns.
    let taken = "_key _record _generation _op _last_seen _seen".split(' ');
    let mut taken: HashSet<String> = taken.map(str::to_owned).collect();
    let mut fields = String::new();
    for name in columns.fields.iter().map(|column| column.name.as_str()) {
        if taken.insert(name.to_ascii_lowercase()) {
            let path = plain::path(name).replace('\'', "''");
            let name = name.replace('"', "\"\"");
            fields += &format!(
                ", json_extract(ifnull(record.plain, record.text), '{path}') AS \"{name}\""
            );
        }
    }
    fields
}
