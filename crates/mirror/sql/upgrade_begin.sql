-- Keeps the rows that tables of this version will have, while the table that a file of version 5 has them in is removed.
CREATE TEMP TABLE before_mirror AS SELECT * FROM mirror;
CREATE TEMP TABLE before_list AS SELECT * FROM list;
CREATE TEMP TABLE before_sync AS SELECT * FROM sync;
DROP VIEW temp.kept_out; DROP VIEW temp.mirror; DROP VIEW temp.list; DROP VIEW temp.sync;
DROP TABLE main.sync;
