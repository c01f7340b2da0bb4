-- Records that a record exists although it was not delivered.
INSERT OR IGNORE INTO late
SELECT id FROM record WHERE list = :list AND key = :key AND (last IS NULL OR missing IS NOT NULL)
