-- Selects the digest of the changes after a sync.
SELECT digest(sync, seq, op, change.key, change.last_seen, seen, record, text)
FROM change LEFT JOIN record ON record.id = change.record
WHERE change.list = :list AND sync > :sync
