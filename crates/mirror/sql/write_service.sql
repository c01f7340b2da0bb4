-- Stores the service and the client of the lists of the mirror. A row with a wrong seal is not modified, so that a
-- check finds it.
UPDATE mirror
SET about = json_set(about, '$.service', :service), seal = row_digest(id, json_set(about, '$.service', :service))
WHERE about ->> '$.service' IS NOT :service AND seal = row_digest(id, about);
