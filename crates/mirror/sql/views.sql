-- The views of a list, for any program that opens SQLite files, in the syntax of SQLite 3.26.

CREATE VIEW "{records}" AS
SELECT record.key AS _key{fields}, CASE WHEN record.missing IS NOT NULL THEN record.last_seen END AS _missing_since,
    record.text AS _record
FROM record
WHERE record.list = '{list}' AND (record.last IS NULL OR record.missing IS NOT NULL)
ORDER BY record.position, record.id;

CREATE VIEW "{changes}" AS
SELECT change.sync AS _generation, change.op AS _op, change.key AS _key,
    change.last_seen AS _last_seen, change.seen AS _seen{fields}, record.text AS _record
FROM change LEFT JOIN record ON record.id = change.record
WHERE change.list = '{list}'
ORDER BY change.sync, change.seq;
