-- Finds the reports of erased records up to a sync.
INSERT INTO erased_change
SELECT sync, seq, op, key, last_seen, seen, record, NULL FROM change
WHERE list = :list AND op = 'erased' AND sync <= :sync
