-- Selects the keys to erase without kept versions or changes. With `:keep_out`, skips keys that are kept out already.
SELECT key FROM erased
WHERE key NOT IN (SELECT key FROM erased_version UNION ALL SELECT key FROM erased_change)
    AND NOT (:keep_out AND EXISTS (
        SELECT 1 FROM kept_out JOIN mirror
        WHERE list = :list AND digest = keyed_digest(ifnull(about ->> '$.secret', ''), key)))
