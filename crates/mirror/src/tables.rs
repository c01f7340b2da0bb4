//! The tables of a mirror, in words that SQLite 3.26 knows, and how those of an earlier version are read.

use crate::sql::{one_line_each, sql};
use rusqlite::Connection;

/// The version of the tables in `schema.sql`.
pub(crate) const TABLES_VERSION: i32 = 6;
/// The version before, which the next sync updates to this one.
pub(crate) const BEFORE: i32 = 5;

/// Returns the definitions of the tables and their indexes, as a file stores them.
pub(crate) fn definitions() -> Vec<String> {
    one_line_each(sql!("schema"))
}

/// Returns a random id for a mirror, for a list from its beginning on, or for a sync.
pub(crate) fn new_id(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT lower(hex(randomblob(8)))", [], |row| row.get(0))
}

/// Returns the version of the file as this connection sees it.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Lets a file of the version before be read as one of this version; of another file, nothing changes.
pub(crate) fn read_as_current(connection: &Connection) -> rusqlite::Result<()> {
    if version(connection)? == BEFORE {
        connection.execute_batch(sql!("version_5"))?;
    }
    Ok(())
}
