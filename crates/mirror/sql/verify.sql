-- Selects a message for each row that differs from what a sync wrote, and for each list without a row.
SELECT 'the row of a sync was changed' FROM sync WHERE seal <> row_digest(list, number, id, about)
UNION ALL
SELECT 'the row of list ' || name || ' was changed' FROM list
WHERE seal <> row_digest(name, epoch, last, about,
    (SELECT digest(kept_out.list, digest) FROM kept_out WHERE kept_out.list = name))
UNION ALL
SELECT 'the row of the mirror was changed'
WHERE (SELECT group_concat(seal = row_digest(id, about)) FROM mirror) IS NOT '1'
UNION ALL
SELECT 'list ' || list || ' has no row' FROM (SELECT list FROM sync UNION SELECT list FROM kept_out)
WHERE list NOT IN (SELECT name FROM list)
UNION ALL
SELECT 'list ' || name || ' lacks its last sync' FROM list
WHERE last < (SELECT max(number) FROM sync WHERE list = name)
