-- Selects the state of a list in this file.
SELECT mirror.id, ifnull(epoch, ''), ifnull(last, 0), list.about ->> '$.fork',
    ifnull(json_type(list.about, '$.fork'), '') <> '',
    (SELECT id FROM sync WHERE list = :list ORDER BY number DESC LIMIT 1)
FROM mirror LEFT JOIN list ON name = :list
