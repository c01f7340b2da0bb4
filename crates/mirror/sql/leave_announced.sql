-- Skips the records that were erased before and whose report is still kept.
DELETE FROM erased WHERE key NOT IN (SELECT key FROM erased_version);
DELETE FROM erased_change WHERE key NOT IN (SELECT key FROM erased);
