-- A table that cannot hold two near-duplicates: EXCLUDE USING banding.
CREATE EXTENSION pg_dedup;
CREATE TABLE doc (id int PRIMARY KEY, fp bigint, state text DEFAULT 'live',
  CONSTRAINT doc_near EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~));
INSERT INTO doc VALUES (1, 0), (2, 255), (3, NULL), (4, NULL);
-- Within three bits of the first.
INSERT INTO doc VALUES (5, 7);
INSERT INTO doc VALUES (5, 15);
INSERT INTO doc VALUES (6, 1 << 20), (7, 3 << 20);
INSERT INTO doc VALUES (8, 7) ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO doc VALUES (8, 7) ON CONFLICT ON CONSTRAINT doc_near DO NOTHING RETURNING id;
INSERT INTO doc VALUES (8, 7), (9, 1::bigint << 40 | 31::bigint << 50), (10, 31::bigint << 50) ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO doc VALUES (8, 7) ON CONFLICT ON CONSTRAINT doc_near DO UPDATE SET fp = 1;
-- COPY, with duplicates of itself and of the table.
COPY doc (id, fp) FROM stdin;
20	-1
21	-2
\.
COPY doc (id, fp) FROM stdin;
20	-1
21	-65536
\.
-- Updates, of a row against itself and against others.
UPDATE doc SET fp = 1 WHERE id = 1;
UPDATE doc SET fp = 254 WHERE id = 1;
UPDATE doc SET state = 'read' WHERE id = 1;
DELETE FROM doc WHERE id = 2;
UPDATE doc SET fp = 254 WHERE id = 1;
SELECT * FROM doc ORDER BY id;
-- Deferred: pairs may exist until the end.
CREATE TABLE later (id int, fp bigint, EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~) DEFERRABLE INITIALLY DEFERRED);
BEGIN;
INSERT INTO later VALUES (1, 0), (2, 1);
UPDATE later SET fp = -1 WHERE id = 2;
COMMIT;
BEGIN;
INSERT INTO later VALUES (3, 1);
SELECT count(*) FROM later;
COMMIT;
BEGIN;
INSERT INTO later VALUES (3, 1);
SET CONSTRAINTS ALL IMMEDIATE;
ROLLBACK;
SELECT * FROM later ORDER BY id;
-- Partial: only what is live.
CREATE TABLE partial_doc (id int, fp bigint, state text, EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~) WHERE (state = 'live'));
INSERT INTO partial_doc VALUES (1, 0, 'live'), (2, 0, 'dead'), (3, 1, 'dead');
INSERT INTO partial_doc VALUES (4, 3, 'live');
UPDATE partial_doc SET state = 'live' WHERE id = 3;
UPDATE partial_doc SET state = 'dead' WHERE id = 1;
UPDATE partial_doc SET state = 'live' WHERE id = 3;
SELECT * FROM partial_doc ORDER BY id;
-- On rows that are there already; of an expression.
CREATE TABLE text_doc (body text);
INSERT INTO text_doc VALUES ('小区停水三天'), ('小区停水，三天！');
\set VERBOSITY sqlstate
ALTER TABLE text_doc ADD CONSTRAINT text_near EXCLUDE USING banding (hamming_ball(simhash(body), 3) WITH =~);
\set VERBOSITY default
DELETE FROM text_doc WHERE body LIKE '%！';
ALTER TABLE text_doc ADD CONSTRAINT text_near EXCLUDE USING banding (hamming_ball(simhash(body), 3) WITH =~);
INSERT INTO text_doc VALUES ('小区停水 三天');
INSERT INTO text_doc VALUES ('小区停水 三天') ON CONFLICT DO NOTHING;
INSERT INTO text_doc VALUES ('路灯坏了'), ('!'), ('?');
SELECT count(*) FROM text_doc;
-- Only =~ can be a constraint: an ordering operator is not a condition.
\set VERBOSITY sqlstate
CREATE TABLE wrong (fp bigint, EXCLUDE USING banding (fp WITH <~>));
\set VERBOSITY default
DROP TABLE doc, later, partial_doc, text_doc;
DROP EXTENSION pg_dedup;
