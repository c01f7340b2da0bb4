-- Erases the versions and the changes that were found.
DELETE FROM change WHERE list = :list AND (sync, seq) IN (SELECT sync, seq FROM erased_change);
DELETE FROM record WHERE id IN (SELECT id FROM erased_version);
