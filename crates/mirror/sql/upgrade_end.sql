-- Fills the tables that version 5 does not have, and writes the text for views if a record needs one.
INSERT INTO main.mirror SELECT * FROM before_mirror;
INSERT INTO main.list SELECT * FROM before_list;
INSERT INTO main.sync SELECT * FROM before_sync;
DROP TABLE before_mirror; DROP TABLE before_list; DROP TABLE before_sync;
UPDATE record SET plain = plain(text) WHERE plain(text) IS NOT NULL;
