-- Selects the number of changes of each kind that a sync found.
SELECT json_group_object(op, count)
FROM (SELECT op, count(*) AS count FROM change WHERE list = :list AND sync = :sync GROUP BY op)
