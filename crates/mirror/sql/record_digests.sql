-- Selects the digest of the versions that began or ended with each sync. The syncs up to `:kept` are combined. A
-- version begins with the first sync that saw it, and ends with the sync after the last one that did.
SELECT max(sync, :kept) AS at, digest(position, key, text)
FROM (
    SELECT first AS sync, * FROM record
    UNION ALL
    SELECT last + 1, * FROM record WHERE last IS NOT NULL)
WHERE list = :list
GROUP BY at
