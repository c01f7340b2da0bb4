-- Writes the row of a sync, and its number into the row of its list.

INSERT INTO sync VALUES (:list, :sync, :id, :about, row_digest(:list, :sync, :id, :about));

INSERT INTO list VALUES (:list, :epoch, :sync, json_object('fork', :fork), x'')
ON CONFLICT DO UPDATE SET epoch = :epoch, last = :sync, about = json_set(about, '$.fork', :fork);
