-- Ends the versions that are no longer current.

-- Versions with a successor.
UPDATE record SET last = ifnull(last, :before), missing = NULL WHERE id IN (SELECT record FROM fresh);

-- Versions of records that the scan did not see.
UPDATE record INDEXED BY record_order SET last = :before, missing = 0, last_seen = :last_seen
WHERE list = :list AND last IS NULL AND id NOT IN (SELECT record FROM late)
    AND NOT EXISTS (SELECT 1 FROM staged WHERE staged.record = record.id);
