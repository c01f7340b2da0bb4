-- Notes the service and the client that the lists of the mirror are of. A row that was changed stays as it is, to be found.
UPDATE mirror
SET about = json_set(about, '$.service', :service), seal = row_digest(id, json_set(about, '$.service', :service))
WHERE about ->> '$.service' IS NOT :service AND seal = row_digest(id, about);
