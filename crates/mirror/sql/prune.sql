-- Removes the history before a sync, which becomes the first one that can be read.

DELETE FROM sync WHERE list = :list AND number < :kept;

DELETE FROM change WHERE list = :list AND sync <= :kept;

DELETE FROM record
WHERE list = :list AND last < :kept AND missing IS NULL
    AND id NOT IN (SELECT record FROM change WHERE list = :list AND record IS NOT NULL);
