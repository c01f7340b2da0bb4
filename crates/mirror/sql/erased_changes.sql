-- Selects the number and the digest of the erased changes of each sync after `:kept`.
SELECT sync, count(*), digest(sync, seq, op, key, last_seen, seen, record, text)
FROM erased_change
WHERE sync > :kept
GROUP BY sync
