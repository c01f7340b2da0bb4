-- Creates views that replace the tables of this version while a file of version 5 is read.

CREATE TEMP VIEW kept_out AS SELECT '' AS list, '' AS digest WHERE 0;

CREATE TEMP VIEW mirror AS
SELECT id, '{}' AS about, row_digest(id, '{}') AS seal
FROM (SELECT lower(hex(substr(digest(list, number, seal), 1, 8))) AS id FROM main.sync);

CREATE TEMP VIEW list AS
SELECT name, epoch, last, '{}' AS about, row_digest(name, epoch, last, '{}', (SELECT digest(1) WHERE 0)) AS seal
FROM (SELECT list AS name, lower(hex(substr(seal, 1, 8))) AS epoch, max(number) AS last FROM main.sync GROUP BY list);

CREATE TEMP VIEW sync AS
SELECT list, number, id, about,
    CASE known WHEN row_digest(list, number, about) THEN row_digest(list, number, id, about) ELSE x'' END AS seal
FROM (SELECT *, seal AS known, lower(hex(substr(seal, 1, 8))) AS id FROM main.sync);
