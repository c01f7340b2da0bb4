-- Writes the row of a sync, and its number into the row of its list.

INSERT INTO sync VALUES (:list, :sync, :id, :about, row_digest(:list, :sync, :id, :about));

INSERT INTO list VALUES (:list, :epoch, :sync, json_object('fork', :fork), x'')
ON CONFLICT DO UPDATE SET epoch = :epoch, last = :sync, about = json_set(about, '$.fork', :fork);

UPDATE list
SET seal = row_digest(name, epoch, last, about,
    (SELECT digest(kept_out.list, digest) FROM kept_out WHERE kept_out.list = name))
WHERE name = :list;
