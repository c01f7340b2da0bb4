-- Removes everything about a list except its own row.
DELETE FROM change WHERE list = :list;
DELETE FROM record WHERE list = :list;
DELETE FROM sync WHERE list = :list;
