//! Makes a file of the version before one of this version, within the transaction of a sync.

use crate::file::MirrorResult;
use crate::receipt::SyncRow;
use crate::tables::{FROM_BEFORE, TABLES, VERSION, version};
use crate::views;
use rusqlite::Connection;

/// Brings the file up to date, in the transaction that has begun. A table whose rows are stored as before gets another
/// definition only, so that a large mirror takes no longer than a small one, but for the records that need a text for views.
pub(crate) fn upgrade(connection: &Connection) -> MirrorResult<()> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    for (name, _) in FROM_BEFORE {
        connection.execute_batch(&format!(
            "CREATE TEMP TABLE before_{name} AS SELECT * FROM {name}; DROP VIEW temp.{name}"
        ))?;
    }
    connection.execute_batch("DROP TABLE main.sync; PRAGMA writable_schema = ON")?;
    let mut lacking = Vec::new();
    for definition in TABLES {
        let known = "UPDATE main.sqlite_schema SET sql = ?1 WHERE sql = ?1 OR ?1 LIKE 'CREATE TABLE ' || name || ' (%'";
        if connection.execute(known, [definition])? == 0 {
            lacking.push(definition);
        }
    }
    connection.execute_batch("PRAGMA writable_schema = RESET")?;
    connection.execute_batch(&lacking.join(";"))?;
    for (name, _) in FROM_BEFORE {
        connection.execute_batch(&format!(
            "INSERT INTO main.{name} SELECT * FROM before_{name}; DROP TABLE before_{name}"
        ))?;
    }
    let plain = "UPDATE record SET plain = plain(text) WHERE plain(text) IS NOT NULL";
    connection.execute_batch(&format!("{plain}; PRAGMA user_version = {VERSION}"))?;
    let mut lists = connection.prepare("SELECT name FROM list")?;
    for list in lists.query_map([], |row| row.get::<_, String>(0))? {
        let list = list?;
        if let Some(last) = SyncRow::all(connection, &list)?.pop() {
            let [current, changes] = views::of(&list, &last.columns);
            connection.execute_batch(&[views::drop(&list), current, changes].join(";"))?;
        }
    }
    Ok(())
}
