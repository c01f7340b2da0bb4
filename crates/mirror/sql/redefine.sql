-- Gives a table or an index, whose rows are stored as before, its definition of this version.
UPDATE main.sqlite_schema SET sql = :definition
WHERE sql = :definition OR :definition LIKE 'CREATE TABLE ' || name || ' (%'
