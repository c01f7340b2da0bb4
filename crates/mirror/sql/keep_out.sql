-- Prevents the erased records from being stored again. A row with a wrong seal is not modified, so that a check finds
-- it.

UPDATE mirror
SET about = new.about, seal = row_digest(mirror.id, new.about)
FROM (SELECT json_set(about, '$.secret', :secret) AS about FROM mirror) AS new
WHERE mirror.about ->> '$.secret' IS NULL AND seal = row_digest(mirror.id, mirror.about);

INSERT OR IGNORE INTO kept_out SELECT :list, keyed_digest(about ->> '$.secret', key) FROM erased JOIN mirror;
