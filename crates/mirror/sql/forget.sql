-- Removes all that is kept of a list but its own row.
DELETE FROM change WHERE list = :list;
DELETE FROM record WHERE list = :list;
DELETE FROM sync WHERE list = :list;
