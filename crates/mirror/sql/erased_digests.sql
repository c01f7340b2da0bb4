-- Selects the number and the digest of the erased versions that began or ended with each sync. The syncs up to `:kept`
-- are combined.
SELECT max(sync, :kept) AS at, sum(step), digest(position, key, text)
FROM (
    SELECT first AS sync, 1 AS step, * FROM erased_version
    UNION ALL
    SELECT last + 1, -1, * FROM erased_version WHERE last IS NOT NULL)
GROUP BY at
