-- The keys to erase of which nothing is kept.
SELECT key FROM erased
WHERE key NOT IN (SELECT key FROM erased_version UNION ALL SELECT key FROM erased_change)
