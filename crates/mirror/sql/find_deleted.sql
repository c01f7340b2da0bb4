-- Finds the records to erase: their last delete was reported up to a sync, and they did not come back.
INSERT INTO erased
SELECT key FROM change WHERE list = :list AND op = 'delete' GROUP BY key HAVING max(sync) <= :old
EXCEPT
SELECT key FROM record WHERE list = :list AND (last IS NULL OR missing IS NOT NULL)
