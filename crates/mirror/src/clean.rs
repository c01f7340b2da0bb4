//! Cleans the file of a mirror, its log and the log's index, so that no byte of a removed row remains in them.
//!
//! SQLite leaves the bytes of removed rows in pages that are free or partly filled, and in its log. The transaction
//! that removes rows records that cleaning is due, until the file is rewritten and the log is empty. If the process is
//! killed in between, the next process that writes to the mirror cleans it.

use crate::file::MirrorResult;
use crate::sql::{run, sql};
use rusqlite::{Connection, OptionalExtension, named_params};

/// Records in the open transaction that cleaning is due.
pub(crate) fn require(connection: &Connection) -> MirrorResult<()> {
    note(connection, true)
}

/// Returns whether cleaning is due.
pub(crate) fn is_due(connection: &Connection) -> MirrorResult<bool> {
    let sql = "SELECT about ->> '$.cleaning' IS NOT NULL FROM mirror LIMIT 1";
    let is_due = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    Ok(is_due.unwrap_or_default())
}

/// Cleans the file if that is due. Returns false if a reader still needs the log.
pub(crate) fn clean(connection: &Connection) -> MirrorResult<bool> {
    if !is_due(connection)? {
        return Ok(true);
    }
    connection.execute_batch("VACUUM")?;
    let is_clean = empty_log(connection)?;
    if is_clean {
        note(connection, false)?;
        empty_log(connection)?;
    }
    Ok(is_clean)
}

/// Moves the log into the file. Returns false if a reader still needs the log, which then remains.
pub(crate) fn empty_log(connection: &Connection) -> MirrorResult<bool> {
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    Ok(connection.query_row(sql, [], |row| row.get::<_, i64>(0))? == 0)
}

fn note(connection: &Connection, is_due: bool) -> MirrorResult<()> {
    run(
        connection,
        sql!("cleaning"),
        named_params! {":is_due": is_due},
    )?;
    Ok(())
}
