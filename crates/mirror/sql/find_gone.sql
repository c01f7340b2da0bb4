-- Finds the missing records that are proven to be gone. A scan that counted the list is a proof on its own. Another scan
-- that is proven complete is one together with the last scan, if that was proven and lacked the record, too.
INSERT INTO gone
SELECT id FROM record
WHERE list = :list AND missing IS NOT NULL AND (:is_counted OR :is_proven AND missing)
    AND id NOT IN (SELECT record FROM late)
