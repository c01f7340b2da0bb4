-- Finds all kept versions and changes of the records to erase.

INSERT INTO erased_version SELECT * FROM record WHERE list = :list AND key IN (SELECT key FROM erased);

INSERT INTO erased_change
SELECT sync, seq, op, change.key, change.last_seen, seen, record, text
FROM change LEFT JOIN record ON record.id = change.record
WHERE change.list = :list AND change.key IN (SELECT key FROM erased);
