-- The number and the digest of the erased versions that began or ended with each sync, and with all up to `:kept` together.
SELECT max(sync, :kept) AS at, sum(step), digest(position, key, text)
FROM (
    SELECT first AS sync, 1 AS step, * FROM erased_version
    UNION ALL
    SELECT last + 1, -1, * FROM erased_version WHERE last IS NOT NULL)
GROUP BY at
