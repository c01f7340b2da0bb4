-- Rewrites the row of a sync with its new seal.
UPDATE sync SET about = :about, seal = row_digest(list, number, id, :about) WHERE list = :list AND number = :sync;
