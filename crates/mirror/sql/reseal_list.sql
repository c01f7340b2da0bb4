-- Recomputes the seal of a list.
UPDATE list
SET seal = row_digest(name, epoch, last, about,
    (SELECT digest(kept_out.list, digest) FROM kept_out WHERE kept_out.list = name))
WHERE name = :list;
