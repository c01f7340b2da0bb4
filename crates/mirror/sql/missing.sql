-- The number of the records that are missing, and the digest of all that is known of them.
SELECT count(*), digest(position, key, text, last, missing, last_seen)
FROM record WHERE list = :list AND missing IS NOT NULL
