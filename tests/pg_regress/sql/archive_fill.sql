-- What kept rows take from those that dedup_clean removes, and what they are when those come back.
\set VERBOSITY default
SET client_min_messages = warning;
CREATE EXTENSION pg_dedup;
CREATE FUNCTION text_of(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT (ARRAY['the street lamp in front of the school has been dark for three weeks', 'garbage is not collected behind the market since monday',
        'noise from the building site at night keeps the children awake'])[n] $$;
CREATE TYPE mood AS ENUM ('calm', 'angry');
CREATE COLLATION odd FROM "C";
CREATE TABLE lamp (id int PRIMARY KEY, nr int GENERATED ALWAYS AS IDENTITY, body text, phone text COLLATE odd, tags text[], seen date, least numeric, state mood, at point, note varchar(9),
    twice numeric GENERATED ALWAYS AS (least * 2) STORED, "Who ""is""" text, born timestamptz);
INSERT INTO lamp (id, body, phone, tags, seen, least, state, at, note, "Who ""is""", born) VALUES
    (1, text_of(1), '', '{a,a,b}', '2024-01-02', 3, 'calm', NULL, 'one', NULL, '2024-01-01 10:00+00'),
    (2, text_of(1), NULL, '{b,c,NULL}', NULL, 1.50, NULL, '(1,2)', 'two', 'x', NULL),
    (3, text_of(1), '555', '{d,NULL,c}', '2024-03-04', NULL, 'angry', '(3,4)', NULL, 'y', '2024-01-01 12:00+02'),
    (4, text_of(2), '777', NULL, NULL, 9, NULL, NULL, NULL, 'z', NULL),
    (5, text_of(2), '888', NULL, NULL, 9, NULL, NULL, NULL, 'z', NULL),
    (6, text_of(3), NULL, '{e}', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', '{"columns": "body", "recipe": {}, "method": "text", "similarity": 0.5, "n": 2, "details": []}');
RESET client_min_messages;
CREATE TABLE before AS TABLE lamp;
\set fill '''{"fill": {"phone": "first", "tags": "union", "seen": "max", "least": "min", "state": "max", "at": "first", "note": "min", "Who \\"is\\"": "first", "born": "max"}}'''
SELECT id, keeper FROM dedup_clean('lamp', options => :fill);
SELECT id, keeper FROM dedup_clean('lamp', false, :fill);
SELECT * FROM lamp ORDER BY id;
SELECT id, phone, tags, seen, least, dedup_stage, dedup_keeper, dedup_children FROM lamp_archive ORDER BY id;
-- Part of them: the kept row stays as it is until all are back; it is no row of the run.
SELECT dedup_undo('lamp', 1, '{1}');
SELECT dedup_undo('lamp', 1, '{2}');
SELECT id, phone, tags FROM lamp WHERE id < 4 ORDER BY id;
SELECT dedup_undo('lamp', 1);
SELECT count(*) AS back, count(*) FILTER (WHERE l *= b) AS as_it_was FROM lamp l FULL JOIN before b USING (id);
SELECT count(*) FROM lamp_archive;
-- What was changed since stays, and is named; so does a kept row that is gone.
SELECT count(*) FROM dedup_clean('lamp', false, '{"fill": {"phone": "first", "least": "min", "born": "max"}}');
UPDATE lamp SET phone = '999' WHERE id = 1;
SELECT dedup_undo('lamp', 2);
SELECT id, phone, least, dedup_stage FROM lamp_archive;
SELECT id, phone, least FROM lamp WHERE id = 1;
DELETE FROM lamp_archive;
TRUNCATE lamp;
INSERT INTO lamp (id, body, phone, tags) SELECT id, body, phone, tags FROM before;
SELECT count(*) FROM dedup_clean('lamp', false, '{"fill": {"phone": "max"}}');
DELETE FROM lamp WHERE id = 1;
ALTER TABLE lamp RENAME tags TO labels;
SELECT dedup_undo('lamp', 3);
ALTER TABLE lamp RENAME labels TO tags;
SELECT id, dedup_stage FROM lamp_archive ORDER BY id;
DELETE FROM lamp_archive;
-- Without anything to take nothing is written.
SELECT count(*) FROM dedup_clean('lamp', true, '{"fill": {"born": "max"}}');
-- The order in which rows are kept.
SET client_min_messages = warning;
SELECT count(*) FROM dedup_setup('lamp', '{"keep": "last"}');
TRUNCATE lamp;
INSERT INTO lamp (id, body, phone, least, seen) VALUES (1, text_of(1), '1', 2, '2024-01-02'), (2, text_of(1) || '!', '2', 3, '2024-01-03'), (3, text_of(1), '', 1, '2024-01-01');
BEGIN; SELECT count(*) FROM dedup_clean('lamp', false, '{"fill": {"phone": "first"}}'); SELECT id, phone FROM lamp; ROLLBACK;
SELECT count(*) FROM dedup_setup('lamp', '{"keep": {"column": "seen"}}');
BEGIN; SELECT count(*) FROM dedup_clean('lamp', false, '{"fill": {"phone": "first", "least": "max"}}'); SELECT id, phone, least FROM lamp; ROLLBACK;
SELECT count(*) FROM dedup_setup('lamp', '{"keep": "longest"}');
UPDATE lamp SET phone = NULLIF(phone, '2');
BEGIN; SELECT count(*) FROM dedup_clean('lamp', false, '{"fill": {"phone": "first"}}'); SELECT id, phone FROM lamp; ROLLBACK;
RESET client_min_messages;
-- What cannot be filled.
SELECT * FROM dedup_clean('lamp', true, '{"fill": {"nothing": "first"}}');
SELECT * FROM dedup_clean('lamp', true, '{"fill": {"twice": "max"}}');
SELECT * FROM dedup_clean('lamp', true, '{"fill": {"nr": "max"}}');
SELECT * FROM dedup_clean('lamp', true, '{"fill": {"id": "max"}}');
SELECT * FROM dedup_clean('lamp', true, '{"fill": {"body": "max"}}');
SELECT * FROM dedup_clean('lamp', true, '{"fill": {"phone": "union"}}');
SELECT * FROM dedup_clean('lamp', true, '{"fill": {"at": "max"}}');
SELECT * FROM dedup_clean('lamp', true, '{"fill": {"phone": "sum"}}');
SELECT * FROM dedup_clean('lamp', true, '{"fill": {}}');
SELECT * FROM dedup_clean('lamp', true, '{"fill": {"phone": "first"}, "archive": false}');
-- What points at the table itself would point at rows that go; int2vector is no array.
CREATE TABLE reply (id int PRIMARY KEY, body text, parent int REFERENCES reply, v int2vector);
SELECT id FROM dedup_clean('reply', true, '{"references": "repoint", "fill": {"parent": "first"}}');
CALL dedup_clean_batches('reply', '{"references": "repoint", "fill": {"parent": "first"}}');
SELECT id FROM dedup_clean('reply', true, '{"fill": {"v": "union"}}');
DROP TABLE reply;
-- What is compared may be generated; without settings too.
CREATE TABLE made (id int PRIMARY KEY, lamp int, body text GENERATED ALWAYS AS ('the street lamp in front of school number ' || lamp) STORED, n int[], b bytea);
INSERT INTO made (id, lamp, n, b) VALUES (1, 7, '{{1,2},{2,3}}', NULL), (2, 7, '[0:0]={4}', '\x01'), (3, 7, NULL, '\x02');
SELECT id FROM dedup_clean('made', true, '{"fill": {"lamp": "first"}}');
\set VERBOSITY terse
SELECT id FROM dedup_clean('made', false, '{"fill": {"b": "max", "n": "union"}}');
SELECT id, b, n FROM made;
SET bytea_output = escape;
SELECT dedup_undo('made', 1);
RESET bytea_output;
SELECT id, b, n FROM made ORDER BY id;
DROP TABLE made, made_archive;
\set VERBOSITY default

-- Rights of the columns, row-level security, triggers.
CREATE ROLE regress_filler;
GRANT SELECT, DELETE, INSERT ON lamp TO regress_filler;
GRANT UPDATE (least) ON lamp TO regress_filler;
GRANT SELECT, INSERT, UPDATE, DELETE ON lamp_archive TO regress_filler;
GRANT USAGE ON SEQUENCE lamp_archive_dedup_run_seq TO regress_filler;
SET ROLE regress_filler;
SELECT id FROM dedup_clean('lamp', false, '{"fill": {"phone": "first"}}');
BEGIN;
SELECT id FROM dedup_clean('lamp', false, '{"fill": {"least": "max"}}');
SELECT id, least FROM lamp;
ROLLBACK;
RESET ROLE;
GRANT UPDATE ON lamp TO regress_filler;
ALTER TABLE lamp ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON lamp FOR SELECT USING (true);
CREATE POLICY remove ON lamp FOR DELETE USING (true);
CREATE POLICY change ON lamp FOR UPDATE USING (id <> 2);
SET ROLE regress_filler;
SELECT id FROM dedup_clean('lamp', false, '{"fill": {"least": "min"}}');
RESET ROLE;
SELECT count(*) FROM lamp;
ALTER TABLE lamp DISABLE ROW LEVEL SECURITY;
CREATE FUNCTION upper_phone() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.phone := NEW.phone || '' (taken)''; RETURN NEW; END';
CREATE TRIGGER upper_phone BEFORE UPDATE ON lamp FOR EACH ROW WHEN (NEW.phone IS DISTINCT FROM OLD.phone AND OLD.phone IS NULL) EXECUTE FUNCTION upper_phone();
SELECT id FROM dedup_clean('lamp', false, '{"fill": {"phone": "first"}}');
SELECT id, phone FROM lamp;
SELECT dedup_undo('lamp', max(dedup_run)) FROM lamp_archive;
SELECT id, phone FROM lamp ORDER BY id;
CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER never BEFORE UPDATE ON lamp FOR EACH ROW EXECUTE FUNCTION never();
SELECT id FROM dedup_clean('lamp', false, '{"fill": {"phone": "first"}}');
DROP TRIGGER never ON lamp;
DROP TRIGGER upper_phone ON lamp;
-- A guard of the same table lets the kept row be filled and be what it was, a result that follows learns of it, and a unique value goes from row to row.
CREATE UNIQUE INDEX ON lamp (phone);
TRUNCATE lamp;
INSERT INTO lamp (id, body, phone) VALUES (1, text_of(1), NULL), (2, text_of(1), '22'), (3, text_of(2), '33');
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON lamp FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
CALL dedup_into('lamp_groups', 'lamp', '{"follow": true}');
SELECT id, keeper FROM dedup_clean('lamp', false, '{"fill": {"phone": "first"}}');
CALL dedup_into('lamp_groups', 'lamp');
SELECT id, keeper FROM lamp_groups ORDER BY id;
SELECT id, phone FROM lamp ORDER BY id;
DROP TRIGGER guard ON lamp;
SELECT dedup_undo('lamp', max(dedup_run)) FROM lamp_archive;
SELECT id, phone FROM lamp ORDER BY id;
CALL dedup_into('lamp_groups', 'lamp');
SELECT id, keeper FROM lamp_groups ORDER BY id;
DROP TABLE lamp, lamp_archive, lamp_groups, lamp_groups_merges, lamp_groups_state, lamp_groups_todo, before;

-- What a trigger writes on the way back is told, and what was there stays in the archive. What foreign keys would set to NULL is refused.
CREATE TABLE post (id int PRIMARY KEY, body text, phone text, code text UNIQUE);
INSERT INTO post VALUES (1, text_of(1), '', 'a'), (2, text_of(1), '555', 'b');
CREATE FUNCTION keeps_phone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.phone = '' THEN NEW.phone := OLD.phone; END IF; RETURN NEW; END $$;
CREATE TRIGGER keeps_phone BEFORE UPDATE ON post FOR EACH ROW EXECUTE FUNCTION keeps_phone();
CREATE TABLE parcel (post text REFERENCES post (code) ON UPDATE SET NULL);
INSERT INTO parcel VALUES ('a');
SET client_min_messages = warning;
SELECT count(*) > 0 AS set_up FROM dedup_setup('post', '{"recipe": {}, "columns": "body", "method": "text", "similarity": 0.5, "n": 2, "details": []}');
RESET client_min_messages;
SELECT id FROM dedup_clean('post', false, '{"fill": {"code": "max"}}');
SELECT id FROM dedup_clean('post', false, '{"fill": {"phone": "first"}}');
SELECT dedup_undo('post', 1);
SELECT id, phone, code FROM post ORDER BY id;
SELECT id, phone, dedup_stage FROM post_archive;
DROP TABLE parcel, post, post_archive;
DROP FUNCTION keeps_phone;

-- A function has no more than 100 arguments: more columns than half of that are filled.
DO $$ BEGIN EXECUTE (SELECT 'CREATE TABLE wide (id int PRIMARY KEY, body text, ' || string_agg('c' || n || ' text', ', ') || ')' FROM generate_series(1, 60) n); END $$;
INSERT INTO wide (id, body) VALUES (1, text_of(1)), (2, text_of(1));
UPDATE wide SET c1 = 'one', c60 = 'sixty' WHERE id = 2;
SET client_min_messages = warning;
SELECT count(*) > 0 AS set_up FROM dedup_setup('wide', '{"recipe": {}, "columns": "body", "method": "text", "similarity": 0.5, "n": 2, "details": []}');
RESET client_min_messages;
SELECT id FROM dedup_clean('wide', false, (SELECT jsonb_build_object('fill', jsonb_object_agg('c' || n, 'first')) FROM generate_series(1, 60) n));
SELECT id, c1, c60 FROM wide;
SELECT dedup_undo('wide', 1);
SELECT id, c1, c60 FROM wide ORDER BY id;
DROP TABLE wide, wide_archive;

-- Partitions: a kept row may move by what it takes.
CREATE TABLE part (id int, body text, region text) PARTITION BY LIST (region);
CREATE TABLE part_a PARTITION OF part FOR VALUES IN ('a');
CREATE TABLE part_b PARTITION OF part DEFAULT;
INSERT INTO part VALUES (1, text_of(1), 'a'), (2, text_of(1), 'b'), (3, text_of(1), 'c');
SET client_min_messages = warning;
SELECT count(*) > 0 AS set_up FROM dedup_setup('part', '{"id": "id", "recipe": {}, "columns": "body", "method": "text", "similarity": 0.5, "n": 2, "details": []}');
SELECT id FROM dedup_clean('part', false, '{"fill": {"region": "max"}}');
SELECT tableoid::regclass, id, region FROM part;
SELECT dedup_undo('part', 1);
SELECT tableoid::regclass, id, region FROM part ORDER BY id;
DROP TABLE part, part_archive;
DROP OWNED BY regress_filler;
DROP ROLE regress_filler;
DROP FUNCTION text_of, upper_phone, never;
DROP TYPE mood;
DROP COLLATION odd;
DROP EXTENSION pg_dedup CASCADE;
