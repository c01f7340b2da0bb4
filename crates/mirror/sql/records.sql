-- Selects a page of the records that a sync saw, in the order of the list. With `:with_missing`, includes missing
-- records. In a row of a table, `_missing_since` comes after the fields of the record, because the last duplicate of a
-- name wins.
SELECT position, id,
    iif(is_seen, row_digest(position, key, text), row_digest(position, key, text, last, missing, last_seen)),
    iif(:is_row,
        rtrim(substr(text, 1, length(text) - 1), char(9, 10, 13, 32)) || iif(instr(text, '"'), ',', '')
            || printf('"_missing_since":%s}', iif(missing IS NULL, 'null', json_quote(last_seen))),
        text)
FROM (
    SELECT *, first <= :sync AND ifnull(last >= :sync, 1) AS is_seen
    FROM record INDEXED BY record_order WHERE list = :list)
WHERE position >= :first AND (position, id) > (:first, :second) AND (is_seen OR :with_missing AND missing IS NOT NULL)
ORDER BY position, id
LIMIT 100
