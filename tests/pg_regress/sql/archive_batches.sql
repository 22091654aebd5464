-- dedup_clean_batches: what dedup_clean does, in transactions of their own, all of it one run.
\set VERBOSITY default
SET client_min_messages = warning;
CREATE EXTENSION pg_dedup;
CREATE TABLE lamp (id int PRIMARY KEY, body text, phone text, above int REFERENCES lamp);
INSERT INTO lamp SELECT i, format('the street lamp number %s in front of the school has been dark', md5((i / 3)::text)), CASE WHEN i % 3 = 2 THEN i::text END, GREATEST(3, i - 5) FROM generate_series(3, 20) i;
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', '{"columns": "body", "recipe": {}, "distance": 3, "similarity": 0, "n": 2, "details": []}');
CREATE TABLE before AS TABLE lamp;
CREATE TABLE answer (id int PRIMARY KEY, lamp int REFERENCES lamp);
INSERT INTO answer SELECT id, id FROM lamp;
RESET client_min_messages;
SELECT count(*), count(DISTINCT keeper) FROM dedup_clean('lamp');
-- In a transaction it is refused before it does anything, as is a wrong option.
BEGIN;
CALL dedup_clean_batches('lamp');
ROLLBACK;
CALL dedup_clean_batches('lamp', '{"batch": 0}');
CALL dedup_clean_batches('lamp', '{"references": "repoint", "archive": false}');
CALL dedup_clean_batches('lamp', '{"fill": {"body": "max"}}');
CALL dedup_clean_batches(NULL);
CALL dedup_clean_batches('lamp', '{"dry_run": true}');
-- Whole groups, as many rows as a batch has and those of the last group beyond. A batch that is refused leaves those before it.
CALL dedup_clean_batches('lamp', '{"batch": 5}');
CALL dedup_clean_batches('lamp', '{"batch": 5, "references": "repoint", "fill": {"phone": "first"}}');
SELECT dedup_run, dedup_stage, count(*), count(DISTINCT dedup_at) AS transactions FROM lamp_archive GROUP BY 1, 2 ORDER BY 1, 2;
SELECT id, phone, above FROM lamp ORDER BY id;
SELECT id, lamp FROM answer ORDER BY id;
CALL dedup_clean_batches('lamp', '{"references": "repoint"}');
SELECT dedup_undo('lamp', 1);
SELECT count(*) AS back, count(*) FILTER (WHERE l *= b) AS as_it_was FROM lamp l FULL JOIN before b USING (id);
SELECT count(*) FROM answer WHERE lamp = id;
SELECT count(*) FROM lamp_archive;
-- For good; out of a block that may commit; a table whose ids are of another type, without settings.
DROP TABLE answer;
ALTER TABLE lamp DROP above;
DO $$ BEGIN CALL dedup_clean_batches('lamp', '{"archive": false, "batch": 100}'); COMMIT; END $$;
SELECT count(*) FROM lamp;
CREATE TABLE page (url text PRIMARY KEY, n int);
INSERT INTO page VALUES ('a', 1);
CREATE TABLE named (url uuid PRIMARY KEY, body text);
INSERT INTO named SELECT md5(i::text)::uuid, 'the street lamp in front of the school' FROM generate_series(1, 4) i;
\set VERBOSITY terse
CALL dedup_clean_batches('named', '{"batch": 1}');
CALL dedup_clean_batches('named');
\set VERBOSITY sqlstate
CALL dedup_clean_batches('page');
SELECT dedup_undo('named', 1);
SELECT count(*) FROM named;
-- What the last batch did is taken back first.
SET client_min_messages = warning;
CREATE TABLE street (id int PRIMARY KEY, body text);
CREATE TABLE way (a int REFERENCES street, b int REFERENCES street, PRIMARY KEY (a, b));
INSERT INTO street SELECT i, (ARRAY['the street lamp in front of the school', 'garbage is not collected behind the market'])[1 + i / 4] FROM unnest('{1,2,4,5}'::int[]) i;
INSERT INTO way VALUES (5, 2), (4, 1);
CALL dedup_clean_batches('street', '{"references": "repoint", "batch": 1}');
TABLE way;
SELECT dedup_undo('street', 1);
TABLE way ORDER BY 1;
DROP TABLE way, street, street_archive;
DROP TABLE lamp, lamp_archive, before, named, named_archive, page;
DROP EXTENSION pg_dedup;
