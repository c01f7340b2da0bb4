-- Selects the kept syncs of a list, oldest first.
SELECT number, sync.seal = row_digest(sync.list, number, sync.id, sync.about), sync.about, mirror.id, epoch, sync.id
FROM sync JOIN list ON name = list JOIN mirror
WHERE sync.list = :list
ORDER BY number
