-- Stages a delivered record, unless a record with the same key is staged.
INSERT OR IGNORE INTO staged (key, record, op, last_seen, position, text)
SELECT iif(id IS NULL, :key, NULL), id,
    CASE WHEN id IS NULL THEN 'insert'
        WHEN missing IS NOT NULL THEN 'reappeared'
        WHEN values_differ(text, :text) THEN 'update' END,
    last_seen, position, iif(text = :text AND missing IS NULL, NULL, :text)
FROM (SELECT 1) LEFT JOIN record ON list = :list AND key = :key AND (last IS NULL OR missing IS NOT NULL)
