-- The digest of the versions that began or ended with each sync, and with all up to `:kept` together. A version exists from
-- the first sync that saw it until after the last one.
SELECT max(sync, :kept) AS at, digest(position, key, text)
FROM (
    SELECT first AS sync, * FROM record
    UNION ALL
    SELECT last + 1, * FROM record WHERE last IS NOT NULL)
WHERE list = :list
GROUP BY at
