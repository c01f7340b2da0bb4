-- Records whether the file may still contain bytes of removed rows. A row with a wrong seal is not modified, so that a
-- check finds it.
UPDATE mirror
SET about = new.about, seal = row_digest(mirror.id, new.about)
FROM (
    SELECT iif(:is_due, json_set(about, '$.cleaning', 1), json_remove(about, '$.cleaning')) AS about FROM mirror) AS new
WHERE seal = row_digest(mirror.id, mirror.about);
