-- Reports the erased records, after the other changes of a sync.
INSERT INTO change
SELECT :list, :sync,
    row_number() OVER (ORDER BY key) + (SELECT ifnull(max(seq), 0) FROM change WHERE list = :list AND sync = :sync),
    'erased', key, NULL, :ended, NULL
FROM erased;
