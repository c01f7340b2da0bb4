-- Saves the rows for the tables of this version, and removes the table of version 5 that contains them.
CREATE TEMP TABLE before_mirror AS SELECT * FROM mirror;
CREATE TEMP TABLE before_list AS SELECT * FROM list;
CREATE TEMP TABLE before_sync AS SELECT * FROM sync;
DROP VIEW temp.kept_out; DROP VIEW temp.mirror; DROP VIEW temp.list; DROP VIEW temp.sync;
DROP TABLE main.sync;
