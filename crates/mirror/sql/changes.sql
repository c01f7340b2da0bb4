-- Selects a page of changes, oldest first, as objects or as rows of a table. In a row, the fields of the change come
-- after those of its record, because the last duplicate of a name wins. The changed fields of an update are found by a
-- comparison with the previous version, which has the same position unless the record moved. The last column is true if
-- that version was not found. It may then be in `earlier`. The change `erased` has no record.
WITH found AS MATERIALIZED (
    SELECT sync, seq, op, change.key AS key, change.last_seen AS last_seen, seen, record, record.text AS text,
        CASE WHEN op = 'update' THEN ifnull(
            (SELECT old.text FROM record AS old INDEXED BY record_order
                WHERE old.list = :list AND old.position = record.position AND old.key = change.key
                    AND old.last = sync - 1),
            (SELECT old.text FROM earlier JOIN record AS old ON old.id = version
                WHERE earlier.key = change.key AND ended = sync - 1)) END AS before
    FROM change LEFT JOIN record ON record.id = change.record
    WHERE change.list = :list AND (sync, seq) > (:first, :second)
    ORDER BY sync, seq
    LIMIT 100),
page AS MATERIALIZED (
    SELECT *, changed_fields(before, text) AS changed,
        iif(:with_before, printf(',"%s":%s', iif(:is_row, '_before', 'before'), ifnull(before, 'null')), '') AS extra
    FROM found)
SELECT sync, seq, row_digest(sync, seq, op, key, last_seen, seen, record, text),
    iif(:is_row,
        ifnull(rtrim(substr(text, 1, length(text) - 1), char(9, 10, 13, 32)) || iif(instr(text, '"'), ',', ''), '{')
            || printf('"_generation":%d,"_op":%s,"_key":%s,"_last_seen":%s,"_seen":%s,"_changed":%s%s}',
                sync, json_quote(op), json_quote(key), json_quote(last_seen), json_quote(seen), ifnull(changed, 'null'),
                extra),
        printf('{"generation":%d,"op":%s,"key":%s,"last_seen":%s,"seen":%s,"changed":%s,"record":%s%s}',
            sync, json_quote(op), json_quote(key), json_quote(last_seen), json_quote(seen), ifnull(changed, 'null'),
            ifnull(text, 'null'), extra)),
    op = 'update' AND changed IS NULL
FROM page
ORDER BY sync, seq
