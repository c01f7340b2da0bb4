-- Erases the found versions and changes.
DELETE FROM change WHERE list = :list AND (sync, seq) IN (SELECT sync, seq FROM erased_change);
DELETE FROM record WHERE id IN (SELECT id FROM erased_version);
