-- Selects the number and the digest of the records that the last sync saw.
SELECT count(*), digest(position, key, text) FROM record INDEXED BY record_order WHERE list = :list AND last IS NULL
