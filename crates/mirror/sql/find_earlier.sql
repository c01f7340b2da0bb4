-- Finds the versions that ended with a sync or later.
INSERT OR IGNORE INTO earlier
SELECT key, last, id FROM record INDEXED BY record_order WHERE list = :list AND last >= :since AND missing IS NULL;
