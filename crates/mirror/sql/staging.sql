-- The tables of one sync. They need no rollback, because a failed sync does not continue.
PRAGMA temp.journal_mode = OFF;

-- The records of the scan.
CREATE TEMP TABLE staged (
    place INTEGER PRIMARY KEY, -- Counted from 1 in the order of the list.
    key TEXT, -- The key of a new record, else null.
    record INTEGER UNIQUE, -- The previous version, else null.
    op TEXT, -- The kind of change; null if there is none.
    last_seen TEXT, -- The value of `record`.
    position INTEGER, -- The position of `record`, until positions are assigned.
    is_placed INTEGER, -- 1 if the record got another position.
    text TEXT -- Null if it is the text of `record`.
) STRICT;
CREATE UNIQUE INDEX temp.staged_key ON staged (key) WHERE key IS NOT NULL;

-- The versions of records that exist although they were not delivered.
CREATE TEMP TABLE late (record INTEGER PRIMARY KEY) STRICT;

-- The versions of missing records that are deleted.
CREATE TEMP TABLE gone (record INTEGER PRIMARY KEY) STRICT;

-- The staged records that need a version of their own, because they are new, changed or moved.
CREATE TEMP VIEW fresh AS
SELECT place, ifnull(staged.key, old.key) AS key, record, op, staged.last_seen, staged.position,
    ifnull(staged.text, old.text) AS text
FROM staged LEFT JOIN record AS old ON old.id = record
WHERE staged.text IS NOT NULL OR is_placed;
