//! The tables of a mirror, in words that SQLite 3.26 knows, and how those of an earlier version are read.

use rusqlite::Connection;

/// The version of the tables below.
pub(crate) const VERSION: i32 = 6;
/// The version before, which the next sync brings up to date.
pub(crate) const BEFORE: i32 = 5;

/// The tables and their indexes, in words that SQLite 3.26 knows.
///
/// `mirror` has one row: the id of this mirror, made with the file. `list` has a row for each list that was ever synced,
/// which survives when the list is forgotten: its `epoch`, an id that is new whenever the list begins anew, and the last
/// number that a sync of it was given. `about` is a JSON object. `record` has a row for each version of a record: the first
/// sync that saw it, and the last one that did, which is null as long as it is the current one. `missing` is not null as
/// long as a record is missing: whether the last scan that lacked it was proven; `last_seen` is when the scan began that
/// delivered it last; `plain` is its text for views, where they cannot read `text`. `change` has no record where that was
/// erased. `kept_out` has digests of the keys of records that must not come back.
pub(crate) const TABLES: [&str; 9] = [
    "CREATE TABLE mirror (id TEXT NOT NULL, about TEXT NOT NULL, seal BLOB NOT NULL)",
    "CREATE TABLE list (name TEXT NOT NULL PRIMARY KEY, epoch TEXT NOT NULL, \
     last INTEGER NOT NULL CHECK (typeof(last) = 'integer'), about TEXT NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE kept_out (list TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (list, digest)) WITHOUT ROWID",
    "CREATE TABLE sync (list TEXT NOT NULL, number INTEGER NOT NULL CHECK (typeof(number) = 'integer'), id TEXT NOT NULL, \
     about TEXT NOT NULL, seal BLOB NOT NULL, PRIMARY KEY (list, number)) WITHOUT ROWID",
    "CREATE TABLE record (id INTEGER PRIMARY KEY, list TEXT NOT NULL, key TEXT NOT NULL, \
     first INTEGER NOT NULL CHECK (typeof(first) = 'integer'), last INTEGER CHECK (typeof(last) IN ('integer', 'null')), \
     missing INTEGER CHECK (typeof(missing) IN ('integer', 'null')), last_seen TEXT, \
     position INTEGER NOT NULL CHECK (typeof(position) = 'integer'), \
     text TEXT NOT NULL CHECK (typeof(text) = 'text'), plain TEXT)",
    "CREATE UNIQUE INDEX record_key ON record (list, key) WHERE last IS NULL OR missing IS NOT NULL",
    "CREATE INDEX record_order ON record (list, position)",
    "CREATE INDEX record_missing ON record (list) WHERE missing IS NOT NULL",
    "CREATE TABLE change (list TEXT NOT NULL, sync INTEGER NOT NULL CHECK (typeof(sync) = 'integer'), \
     seq INTEGER NOT NULL CHECK (typeof(seq) = 'integer'), op TEXT NOT NULL, key TEXT, last_seen TEXT, seen TEXT NOT NULL, \
     record INTEGER, CHECK (op = 'erased' OR key IS NOT NULL AND typeof(record) = 'integer'), \
     PRIMARY KEY (list, sync, seq)) WITHOUT ROWID",
];

/// The seal of a row of `list`, which covers its rows of `kept_out`.
pub(crate) const LIST_SEAL: &str = "seal(name, epoch, last, about, \
    (SELECT digest(kept_out.list, digest) FROM kept_out WHERE kept_out.list = name))";

/// A random id: of a mirror, of a list from its beginning on, or of a sync.
pub(crate) fn new_id(connection: &Connection) -> rusqlite::Result<String> {
    connection.query_row("SELECT lower(hex(randomblob(8)))", [], |row| row.get(0))
}

/// Writes the seal of a row of `list`, after it or its rows of `kept_out` have changed.
pub(crate) fn seal_list(connection: &Connection, list: &str) -> rusqlite::Result<()> {
    let sql = format!("UPDATE list SET seal = {LIST_SEAL} WHERE name = ?1");
    connection.execute(&sql, [list]).map(drop)
}

/// Stands in the place of tables of this version while a file of the version before is read, and what they begin with.
pub(crate) const FROM_BEFORE: [(&str, &str); 4] = [
    ("kept_out", "SELECT '' AS list, '' AS digest WHERE 0"),
    (
        "mirror",
        "SELECT id, '{}' AS about, seal(id, '{}') AS seal \
         FROM (SELECT lower(hex(substr(digest(list, number, seal), 1, 8))) AS id FROM main.sync)",
    ),
    (
        "list",
        "SELECT name, epoch, last, '{}' AS about, seal(name, epoch, last, '{}', (SELECT digest(1) WHERE 0)) AS seal \
         FROM (SELECT list AS name, lower(hex(substr(seal, 1, 8))) AS epoch, max(number) AS last \
         FROM main.sync GROUP BY list)",
    ),
    (
        "sync",
        "SELECT list, number, id, about, \
         CASE known WHEN seal(list, number, about) THEN seal(list, number, id, about) ELSE x'' END AS seal \
         FROM (SELECT *, seal AS known, lower(hex(substr(seal, 1, 8))) AS id FROM main.sync)",
    ),
];

/// The version of the file as this connection sees it.
pub(crate) fn version(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Lets a file of the version before be read as one of this version; of another file, nothing changes.
pub(crate) fn read_as_current(connection: &Connection) -> rusqlite::Result<()> {
    if version(connection)? != BEFORE {
        return Ok(());
    }
    let views = FROM_BEFORE.map(|(name, select)| format!("CREATE TEMP VIEW {name} AS {select}"));
    connection.execute_batch(&views.join(";"))
}
