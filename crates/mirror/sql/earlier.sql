-- The superseded versions of records, by key. The table is empty until a page of changes needs them.
CREATE TEMP TABLE earlier (
    key TEXT,
    ended INTEGER, -- The last sync that saw the version.
    version INTEGER,
    PRIMARY KEY (key, ended)
) WITHOUT ROWID;
