-- The service and the client that the lists of a mirror are of; no row while it has no list. A mirror of which no sync has
-- noted them has them in every sync.
SELECT coalesce(mirror.about ->> '$.service', sync.about ->> '$.of[0]') FROM sync JOIN mirror LIMIT 1
