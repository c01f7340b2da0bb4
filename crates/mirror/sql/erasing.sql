-- Creates the tables of one erasure.

-- The keys of the records to erase.
CREATE TEMP TABLE erased (key TEXT PRIMARY KEY) WITHOUT ROWID;

-- Their versions.
CREATE TEMP TABLE erased_version AS SELECT * FROM record WHERE 0;

-- Their changes, with the columns that their digests cover.
CREATE TEMP TABLE erased_change AS SELECT sync, seq, op, key, last_seen, seen, record, '' AS text FROM change WHERE 0;
