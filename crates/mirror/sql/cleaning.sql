-- Notes whether the file may still have bytes of what was removed. A row that was changed stays as it is, to be found.
UPDATE mirror
SET about = new.about, seal = row_digest(mirror.id, new.about)
FROM (
    SELECT iif(:is_due, json_set(about, '$.cleaning', 1), json_remove(about, '$.cleaning')) AS about FROM mirror) AS new
WHERE seal = row_digest(mirror.id, mirror.about);
