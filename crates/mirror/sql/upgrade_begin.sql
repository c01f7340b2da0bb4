-- Keeps what a file of version 5 has in the place of the tables that it lacks.

CREATE TEMP TABLE before_kept_out AS SELECT * FROM kept_out;
CREATE TEMP TABLE before_mirror AS SELECT * FROM mirror;
CREATE TEMP TABLE before_list AS SELECT * FROM list;
CREATE TEMP TABLE before_sync AS SELECT * FROM sync;
DROP VIEW temp.kept_out;
DROP VIEW temp.mirror;
DROP VIEW temp.list;
DROP VIEW temp.sync;
DROP TABLE main.sync;
