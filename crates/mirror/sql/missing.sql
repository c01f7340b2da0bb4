-- Selects the number of missing records, and the digest of everything that is known about them.
SELECT count(*), digest(position, key, text, last, missing, last_seen)
FROM record WHERE list = :list AND missing IS NOT NULL
