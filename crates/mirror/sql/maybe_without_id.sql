-- Selects the records whose keys may be digests of records without an `id`.
SELECT text FROM record WHERE list = ?1 AND length(key) >= 32 AND substr(key, 1, 32) NOT GLOB '*[^0-9a-f]*'
