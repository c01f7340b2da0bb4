-- Reports deleted records, and records that are missing for the first time, after the other changes.

INSERT INTO change
SELECT :list, :sync,
    row_number() OVER (ORDER BY position, id)
        + (SELECT ifnull(max(seq), 0) FROM change WHERE list = :list AND sync = :sync),
    op, key, iif(last_seen <= :ended, last_seen, NULL), :ended, id
FROM (
    SELECT *, CASE WHEN id IN (SELECT record FROM gone) THEN 'delete' WHEN last = :before THEN 'missing' END AS op
    FROM record WHERE list = :list AND missing IS NOT NULL)
WHERE op IS NOT NULL;

UPDATE record
SET missing = iif(id IN (SELECT record FROM gone), NULL, :is_proven AND id NOT IN (SELECT record FROM late))
WHERE list = :list AND missing IS NOT NULL;
