-- Selects a page of the records that a sync saw, in the order of the list. With `:with_missing`, includes missing
-- records.
SELECT position, id,
    iif(is_seen, row_digest(position, key, text), row_digest(position, key, text, last, missing, last_seen)),
    text
FROM (
    SELECT *, first <= :sync AND ifnull(last >= :sync, 1) AS is_seen
    FROM record INDEXED BY record_order WHERE list = :list)
WHERE position >= :first AND (position, id) > (:first, :second) AND (is_seen OR :with_missing AND missing IS NOT NULL)
ORDER BY position, id
LIMIT 100
