-- The tables and indexes of a mirror, in the syntax of SQLite 3.26. A file stores each definition in one line.

-- The mirror: one row.
CREATE TABLE mirror (
    id TEXT NOT NULL, -- Random, made with the file; copies of the file have the same one.
    about TEXT NOT NULL, -- A JSON object with `service`: the service and the client of the lists.
    seal BLOB NOT NULL -- The digest of the other columns.
);

-- All lists that were ever synced. The row of a list remains after the list is forgotten.
CREATE TABLE list (
    name TEXT NOT NULL PRIMARY KEY,
    epoch TEXT NOT NULL, -- A random id, new whenever the list begins again.
    last INTEGER NOT NULL CHECK (typeof(last) = 'integer'), -- The number of its last sync; no number is used twice.
    about TEXT NOT NULL, -- A JSON object with `fork`: the last sync whose number is unique among all copies.
    seal BLOB NOT NULL -- The digest of the other columns and of the list's rows of `kept_out`.
) WITHOUT ROWID;

-- The erased records that must not be stored again.
CREATE TABLE kept_out (
    list TEXT NOT NULL,
    digest TEXT NOT NULL, -- The digest of a record's key.
    PRIMARY KEY (list, digest)
) WITHOUT ROWID;

-- The syncs that are kept.
CREATE TABLE sync (
    list TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (typeof(number) = 'integer'), -- Counted from 1.
    id TEXT NOT NULL, -- Random.
    about TEXT NOT NULL, -- A JSON object: the receipt, digests of what the sync read and reported, and the columns.
    seal BLOB NOT NULL, -- The digest of the other columns.
    PRIMARY KEY (list, number)
) WITHOUT ROWID;

-- The versions of records.
CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    list TEXT NOT NULL,
    key TEXT NOT NULL, -- The record's `id` as text, or a digest of its bytes.
    first INTEGER NOT NULL CHECK (typeof(first) = 'integer'), -- The first sync that saw this version.
    last INTEGER CHECK (typeof(last) IN ('integer', 'null')), -- The last sync that saw it; null in the current version.
    -- 1 if the record is missing and the last scan that lacked it was proven complete, 0 if it is missing without that,
    -- else null.
    missing INTEGER CHECK (typeof(missing) IN ('integer', 'null')),
    last_seen TEXT, -- The start of the last scan that delivered the record; set when the record is first missing.
    position INTEGER NOT NULL CHECK (typeof(position) = 'integer'), -- Increases in the order of the list.
    text TEXT NOT NULL CHECK (typeof(text) = 'text'), -- The record's JSON, byte for byte as the service sent it.
    plain TEXT -- The text for views; null if they can read `text`.
);
CREATE UNIQUE INDEX record_key ON record (list, key) WHERE last IS NULL OR missing IS NOT NULL;
CREATE INDEX record_order ON record (list, position);
CREATE INDEX record_missing ON record (list) WHERE missing IS NOT NULL;

-- The changes that syncs found.
CREATE TABLE change (
    list TEXT NOT NULL,
    sync INTEGER NOT NULL CHECK (typeof(sync) = 'integer'),
    seq INTEGER NOT NULL CHECK (typeof(seq) = 'integer'), -- Counted from 1 in each sync.
    op TEXT NOT NULL, -- insert, update, delete, missing, reappeared, or erased.
    key TEXT,
    last_seen TEXT, -- The start of the last scan that saw the record before; null if unknown.
    seen TEXT NOT NULL, -- The end of the scan that found the change.
    record INTEGER, -- The version that was inserted or is gone; null if it was erased.
    CHECK (op = 'erased' OR key IS NOT NULL AND typeof(record) = 'integer'),
    PRIMARY KEY (list, sync, seq)
) WITHOUT ROWID;
