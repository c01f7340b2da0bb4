-- The versions of records that were followed by others, by their keys; empty until a page of changes needs them.
CREATE TEMP TABLE earlier (
    key TEXT,
    ended INTEGER, -- The last sync that saw the version.
    version INTEGER,
    PRIMARY KEY (key, ended)
) WITHOUT ROWID;
