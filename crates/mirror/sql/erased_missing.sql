-- Selects the number and the digest of the erased records that are missing.
SELECT count(*), digest(position, key, text, last, missing, last_seen)
FROM erased_version WHERE missing IS NOT NULL
