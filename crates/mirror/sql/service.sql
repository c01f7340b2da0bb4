-- Selects the service and the client of the lists of a mirror. There is no row if the mirror has no list. Mirrors of
-- earlier -- versions store them only in the rows of syncs.
SELECT coalesce(mirror.about ->> '$.service', sync.about ->> '$.of[0]') FROM sync JOIN mirror LIMIT 1
