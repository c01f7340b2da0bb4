-- Selects the number and the digest of the versions that a sync began and ended.
SELECT count(*), digest(position, key, text)
FROM record INDEXED BY record_order WHERE list = :list AND (first = :sync OR last = :before)
