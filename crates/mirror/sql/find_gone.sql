-- Finds the missing records that are proven to be gone. A scan that counted the list is a proof on its own. Any other
-- proven -- scan is a proof together with the previous scan, if that was proven as well and also lacked the record.
INSERT INTO gone
SELECT id FROM record
WHERE list = :list AND missing IS NOT NULL AND (:is_counted OR :is_proven AND missing)
    AND id NOT IN (SELECT record FROM late)
