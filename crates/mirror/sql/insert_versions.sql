-- Writes the new versions in the order of the list, and reports their changes.

INSERT INTO record (list, key, first, position, text, plain)
SELECT :list, key, :sync, position, text, plain(text) FROM fresh ORDER BY place;

-- If the clock was set back after a record was last seen, `last_seen` is not a lower limit of the time of the change.
INSERT INTO change
SELECT :list, :sync, row_number() OVER (ORDER BY place), op, new.key,
    CASE WHEN op = 'update' AND :last_seen <= :ended THEN :last_seen
        WHEN op <> 'update' AND fresh.last_seen <= :ended THEN fresh.last_seen END,
    :ended, new.id
FROM fresh JOIN record AS new ON new.list = :list AND new.position = fresh.position AND first = :sync
WHERE op IS NOT NULL;
