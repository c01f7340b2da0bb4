-- A page of changes, oldest first: each as an object of its own, or as a row of a table. In a row, the fields of the change
-- stand after those of its record, because the last duplicate of a name wins. The
-- change `erased` has no record.
SELECT sync, seq, row_digest(sync, seq, op, change.key, change.last_seen, seen, record, text),
    iif(:is_row,
        ifnull(rtrim(substr(text, 1, length(text) - 1), char(9, 10, 13, 32)) || iif(instr(text, '"'), ',', ''), '{')
            || printf('"_generation":%d,"_op":%s,"_key":%s,"_last_seen":%s,"_seen":%s}',
                sync, json_quote(op), json_quote(change.key), json_quote(change.last_seen), json_quote(seen)),
        printf('{"generation":%d,"op":%s,"key":%s,"last_seen":%s,"seen":%s,"record":%s}',
            sync, json_quote(op), json_quote(change.key), json_quote(change.last_seen), json_quote(seen),
            ifnull(text, 'null')))
FROM change LEFT JOIN record ON record.id = change.record
WHERE change.list = :list AND (sync, seq) > (:first, :second)
ORDER BY sync, seq
LIMIT 100
