//! The tables of a mirror, in the syntax of SQLite 3.26, and the reading of tables of an earlier version.

use crate::sql::{one_line_each, sql};
use rusqlite::Connection;

/// The version of the tables in `schema.sql`.
pub(crate) const TABLES_VERSION: i32 = 6;
/// The previous version, which the next sync upgrades to this one.
pub(crate) const BEFORE: i32 = 5;

/// Returns the definitions of the tables and their indexes, as they are stored in a file.
pub(crate) fn definitions() -> Vec<String> {
    one_line_each(sql!("schema"))
}

/// Returns a random id for a mirror, for a new list, or for a sync.
pub(crate) fn new_id(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT lower(hex(randomblob(8)))", [], |row| row.get(0))
}

/// Returns the version of the file, as this connection reads it.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Defines views with which a file of the previous version can be read like one of this version. Does nothing for other
/// files.
pub(crate) fn read_as_current(connection: &Connection) -> rusqlite::Result<()> {
    if version(connection)? == BEFORE {
        connection.execute_batch(sql!("version_5"))?;
    }
    Ok(())
}
