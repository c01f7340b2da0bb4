-- Finds the records to erase: those whose delete was reported up to a sync, and that are not there again.
INSERT INTO erased
SELECT key FROM change
WHERE list = :list AND op = 'delete' AND sync <= :old
EXCEPT
SELECT key FROM record WHERE list = :list AND (last IS NULL OR missing IS NOT NULL)
