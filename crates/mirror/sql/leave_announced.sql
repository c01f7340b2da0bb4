-- Skips keys without kept versions or changes. With `:is_reported`, also skips the records that were erased before and
-- whose report is still kept.
DELETE FROM erased WHERE key NOT IN (
    SELECT key FROM erased_version UNION ALL SELECT key FROM erased_change WHERE NOT :is_reported);
DELETE FROM erased_change WHERE key NOT IN (SELECT key FROM erased);
