-- The syncs of a list that are kept, oldest first.
SELECT number, sync.seal = row_digest(sync.list, number, sync.id, sync.about), sync.about, mirror.id, epoch, sync.id
FROM sync JOIN list ON name = list JOIN mirror
WHERE sync.list = :list
ORDER BY number
