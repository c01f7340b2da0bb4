-- Selects a row if a kept version or change of a list has a key.
SELECT 1 FROM record WHERE list = ?1 AND key = ?2
UNION ALL
SELECT 1 FROM change WHERE list = ?1 AND key = ?2
