//! The upgrade of a file from the previous version to this one, in the transaction of a sync.

use crate::file::MirrorResult;
use crate::receipt::SyncRow;
use crate::sql::sql;
use crate::tables::{TABLES_VERSION, definitions, version};
use crate::views;
use rusqlite::Connection;

/// Upgrades the file in the open transaction. A table whose rows are stored as before only gets a new definition. So a
/// large mirror takes no longer than a small one, except for records that need a text for views.
pub(crate) fn upgrade(connection: &Connection) -> MirrorResult<()> {
    if version(connection)? == TABLES_VERSION {
        return Ok(());
    }
    connection.execute_batch(sql!("upgrade_begin"))?;
    connection.execute_batch("PRAGMA writable_schema = ON")?;
    let mut lacking = Vec::new();
    for definition in definitions() {
        if connection.execute(sql!("redefine"), &[(":definition", &definition)])? == 0 {
            lacking.push(definition);
        }
    }
    connection.execute_batch("PRAGMA writable_schema = RESET")?;
    connection.execute_batch(&lacking.join(";"))?;
    connection.execute_batch(sql!("upgrade_end"))?;
    connection.pragma_update(None, "user_version", TABLES_VERSION)?;
    let mut lists = connection.prepare("SELECT name FROM list")?;
    for list in lists.query_map([], |row| row.get::<_, String>(0))? {
        let list = list?;
        if let Some(last) = SyncRow::all(connection, &list)?.pop() {
            views::define(connection, &list, &last.columns)?;
        }
    }
    Ok(())
}
