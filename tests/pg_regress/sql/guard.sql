-- near_dup_guard: a trigger that keeps near-duplicates out, or notes them.
-- Whatever tables are granted by default, the secret of guards is not.
ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
CREATE EXTENSION pg_dedup;
ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM PUBLIC;
CREATE TABLE petition (id int PRIMARY KEY, body text, fp bigint, of int);
-- Without an index it refuses to work.
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON petition FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6');
INSERT INTO petition VALUES (1, 'a', 0);
CREATE INDEX petition_part ON petition USING banding (fp) WHERE id > 0;
INSERT INTO petition VALUES (1, 'a', 0);
DROP INDEX petition_part;
CREATE INDEX ON petition USING banding (fp);
-- reject
INSERT INTO petition VALUES (1, 'a', 0);
INSERT INTO petition VALUES (2, 'b', 63);
INSERT INTO petition VALUES (2, 'b', 0);
INSERT INTO petition VALUES (2, 'b', 127), (3, 'c', NULL), (4, 'd', NULL);
INSERT INTO petition VALUES (5, 'e', -1), (6, 'f', -2);
DO $$ DECLARE detail text; BEGIN INSERT INTO petition VALUES (9, 'x', 1);
  EXCEPTION WHEN exclusion_violation THEN GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL; RAISE NOTICE '%: %', SQLSTATE, detail; END $$;
COPY petition (id, fp) FROM stdin;
7	-1
8	-256
9	-2
\.
UPDATE petition SET fp = 126 WHERE id = 1;
UPDATE petition SET fp = 1 WHERE id = 1;
UPDATE petition SET body = 'changed' WHERE id = 1;
UPDATE petition SET fp = 3 WHERE id = 3;
INSERT INTO petition VALUES (1, 'a', 0) ON CONFLICT (id) DO UPDATE SET body = 'again';
SELECT * FROM petition ORDER BY id;
-- An earlier pair does not stand in the way of unrelated updates.
ALTER TABLE petition DISABLE TRIGGER guard;
INSERT INTO petition VALUES (10, 'old', 1);
ALTER TABLE petition ENABLE TRIGGER guard;
UPDATE petition SET body = 'new' WHERE id = 10;
UPDATE petition SET fp = 0 WHERE id = 10;
DELETE FROM petition WHERE id = 10;
-- Deferred
DROP TRIGGER guard ON petition;
CREATE CONSTRAINT TRIGGER guard AFTER INSERT OR UPDATE ON petition DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6');
BEGIN;
INSERT INTO petition VALUES (11, 'x', 1);
UPDATE petition SET fp = 1::bigint << 60 | 1023 << 20 WHERE id = 11;
UPDATE petition SET body = 'y' WHERE id = 11;
COMMIT;
BEGIN;
INSERT INTO petition VALUES (12, 'x', 1);
UPDATE petition SET body = 'y' WHERE id = 12;
COMMIT;
SELECT id FROM petition ORDER BY id;
-- skip
DROP TRIGGER guard ON petition;
TRUNCATE petition;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON petition FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6', 'action=skip');
INSERT INTO petition VALUES (1, 'a', 0), (2, 'b', 1), (3, 'c', 127), (4, 'd', 126), (5, 'e', NULL) RETURNING id;
COPY petition (id, fp) FROM stdin;
6	7
7	-1
8	-2
\.
UPDATE petition SET fp = 126 WHERE id = 1;
UPDATE petition SET fp = 1 WHERE id = 1;
SELECT * FROM petition ORDER BY id;
SELECT count(*) FROM pg_locks WHERE locktype = 'userlock';
-- What it publishes is hidden under a key of the table, which no role may read: the lock table is shown to all roles. Distances within the table
-- stay, for others look for them.
CREATE TABLE stranger (LIKE petition);
CREATE INDEX ON stranger USING banding (fp);
CREATE TRIGGER guard BEFORE INSERT ON stranger FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'action=skip');
CREATE VIEW published AS SELECT (classid::bigint << 32) | objid::bigint AS print FROM pg_locks WHERE locktype = 'userlock' AND objsubid < 0 AND pid = pg_backend_pid();
CREATE TABLE held (of text, print bigint);
BEGIN;
INSERT INTO petition (id, fp) VALUES (20, 1::bigint << 40);
INSERT INTO petition (id, fp) VALUES (21, (1::bigint << 40) # 1023);
INSERT INTO held SELECT 'petition', print FROM published;
COMMIT;
BEGIN;
INSERT INTO stranger (id, fp) VALUES (20, 1::bigint << 40);
INSERT INTO stranger (id, fp) VALUES (21, (1::bigint << 40) # 1023);
INSERT INTO held SELECT 'stranger', print FROM published;
COMMIT;
SELECT count(DISTINCT print) AS "four that differ", bool_or(print IN (1::bigint << 40, (1::bigint << 40) # 1023)) AS "in clear text" FROM held;
SELECT count(DISTINCT bit_xor) AS "bits that differ: those of each table" FROM (SELECT bit_xor(print) FROM held GROUP BY of) s;
SELECT bit_count(bit_xor(print)::bit(64)) AS "distance within a table" FROM held GROUP BY of;
CREATE ROLE regress_reader;
GRANT pg_monitor TO regress_reader;
SET ROLE regress_reader;
\set VERBOSITY sqlstate
SELECT secret FROM _dedup_secret;
REFRESH MATERIALIZED VIEW _dedup_secret;
\set VERBOSITY default
RESET ROLE;
DROP ROLE regress_reader;
SELECT '_dedup_secret'::regclass = ANY (extconfig) AS dumped FROM pg_extension WHERE extname = 'pg_dedup';
SET client_min_messages = error;
CREATE PUBLICATION everything FOR ALL TABLES;
RESET client_min_messages;
SELECT count(*) AS published FROM pg_publication_tables WHERE tablename = '_dedup_secret';
DROP PUBLICATION everything;
BEGIN;
REFRESH MATERIALIZED VIEW _dedup_secret WITH NO DATA;
INSERT INTO petition (id, fp) VALUES (22, 1);
ROLLBACK;
-- A new one is taken by sessions that know the old one.
REFRESH MATERIALIZED VIEW _dedup_secret;
BEGIN;
INSERT INTO stranger (id, fp) VALUES (22, -1);
SELECT count(*) AS published, count(*) FILTER (WHERE print IN (SELECT print FROM held) OR print = -1) AS "as before" FROM published;
COMMIT;
DROP VIEW published;
DROP TABLE stranger, held;
-- flag
DROP TRIGGER guard ON petition;
TRUNCATE petition;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OF fp ON petition FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6', 'action=flag', 'flag=of');
INSERT INTO petition VALUES (1, 'a', 0), (2, 'b', 1), (3, 'c', 127), (4, 'd', 126);
UPDATE petition SET fp = -1 WHERE id = 2;
SELECT * FROM petition ORDER BY id;
-- log
DROP TRIGGER guard ON petition;
TRUNCATE petition;
CREATE TABLE twin (duplicate int, original int, distance int, logged_at timestamptz);
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON petition FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6', 'log=twin');
INSERT INTO petition VALUES (1, 'a', 0), (2, 'b', 1), (3, 'c', 127 << 20), (4, 'd', 3);
SET search_path = pg_catalog;
INSERT INTO public.petition VALUES (5, 'e', 4);
RESET search_path;
SELECT duplicate, original, distance, logged_at <= clock_timestamp() AS past FROM twin ORDER BY duplicate;
-- verified on the text
DROP TRIGGER guard ON petition;
TRUNCATE petition;
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON petition FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=6', 'columns=body', 'similarity=0.5');
INSERT INTO petition VALUES (1, '小区停水三天', 0), (2, '路灯坏了没人修', 1), (3, NULL, 0);
INSERT INTO petition VALUES (4, '小区停水两天', 3);
UPDATE petition SET body = '小区停水！' WHERE id = 2;
UPDATE petition SET body = '路灯不亮' WHERE id = 2;
-- a generated column, before it is stored; a key of two columns; no key
CREATE TABLE note (day int, no int, body text, fp bigint GENERATED ALWAYS AS (simhash(body)) STORED, of text, PRIMARY KEY (no, day));
CREATE INDEX ON note USING banding (fp);
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON note FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'flag=of');
INSERT INTO note VALUES (1, 10, '小区停水三天'), (2, 20, '小区停水，三天！'), (3, 30, '路灯坏了'), (4, 40, '…'), (5, 50, '…');
SELECT day, no, of FROM note ORDER BY day;
DROP TRIGGER guard ON note;
CREATE TRIGGER guard AFTER INSERT ON note FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp');
INSERT INTO note VALUES (6, 60, '路灯坏了！');
ALTER TABLE note DROP CONSTRAINT note_pkey;
INSERT INTO note VALUES (6, 60, '路灯坏了！');
-- without an index
CREATE TABLE bare (id int PRIMARY KEY, fp bigint);
CREATE TRIGGER guard AFTER INSERT ON bare FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'index=none');
INSERT INTO bare VALUES (1, 0), (2, -1);
INSERT INTO bare VALUES (3, 3);
-- partitions are one table
CREATE TABLE parted (id int, fp bigint) PARTITION BY RANGE (id);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (10) TO (20);
ALTER TABLE parted ADD PRIMARY KEY (id);
CREATE INDEX ON parted USING banding (fp);
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON parted FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp');
INSERT INTO parted VALUES (1, 0), (11, -1);
INSERT INTO parted VALUES (12, 1);
INSERT INTO parted VALUES (2, 5), (13, 4);
INSERT INTO parted VALUES (2, -256), (13, -512);
UPDATE parted SET id = 15 WHERE id = 1;
SELECT * FROM parted ORDER BY id;
-- Two rows at one place in two partitions, without a key, are told apart; the index of the whole holds nothing to check.
CREATE TABLE keyless (id int, fp bigint) PARTITION BY LIST (id);
CREATE TABLE keyless_1 PARTITION OF keyless FOR VALUES IN (1);
CREATE TABLE keyless_2 PARTITION OF keyless FOR VALUES IN (2);
CREATE INDEX keyless_fp ON keyless USING banding (fp);
CREATE TRIGGER guard AFTER INSERT ON keyless FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp');
INSERT INTO keyless VALUES (1, 0), (2, 1);
SELECT banding_check('keyless_fp');
SELECT banding_stats('keyless_fp');
SELECT banding_check(relid) FROM pg_partition_tree('keyless_fp') WHERE isleaf;
DROP TABLE keyless;
-- The trigger of a partitioned partition minds its own partitions, not the whole table.
CREATE TABLE tree (id int, region int, month int, fp bigint) PARTITION BY LIST (region);
CREATE TABLE tree_1 PARTITION OF tree FOR VALUES IN (1) PARTITION BY LIST (month);
CREATE TABLE tree_1_1 PARTITION OF tree_1 FOR VALUES IN (1);
CREATE TABLE tree_1_2 PARTITION OF tree_1 FOR VALUES IN (2);
CREATE TABLE tree_2 PARTITION OF tree FOR VALUES IN (2);
CREATE INDEX ON tree_1 USING banding (fp);
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON tree_1 FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp');
INSERT INTO tree VALUES (1, 2, 1, 0), (2, 1, 1, 0);
INSERT INTO tree VALUES (3, 1, 2, 1);
SELECT * FROM tree ORDER BY id;
-- A row that may not move is not lost on the way.
CREATE TABLE moving (id int, p int, fp bigint) PARTITION BY LIST (p);
CREATE TABLE moving_1 PARTITION OF moving FOR VALUES IN (1);
CREATE TABLE moving_2 PARTITION OF moving FOR VALUES IN (2);
CREATE INDEX ON moving USING banding (fp);
INSERT INTO moving VALUES (1, 1, 0), (2, 1, 1), (3, 1, -1);
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON moving FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'action=skip');
UPDATE moving SET p = 2;
UPDATE moving SET id = id + 10;
SELECT id, p FROM moving ORDER BY id;
DROP TABLE moving;
-- A row near one that the same transaction updates afterwards.
CREATE TABLE touched (id int PRIMARY KEY, fp bigint, times int DEFAULT 0);
CREATE INDEX ON touched USING banding (fp);
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON touched FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp');
INSERT INTO touched VALUES (1, 0);
INSERT INTO touched VALUES (2, 1), (1, 0) ON CONFLICT (id) DO UPDATE SET times = touched.times + 1;
WITH u AS (UPDATE touched SET times = times + 1) INSERT INTO touched VALUES (2, 1);
DROP TRIGGER guard ON touched;
CREATE CONSTRAINT TRIGGER guard AFTER INSERT OR UPDATE ON touched DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp');
BEGIN;
INSERT INTO touched VALUES (2, 1);
UPDATE touched SET times = times + 1 WHERE id = 1;
COMMIT;
SELECT * FROM touched;
DROP TABLE touched;
-- who may not read the table is shown neither its keys nor a distance
CREATE ROLE guard_writer;
GRANT INSERT ON petition TO guard_writer;
SET ROLE guard_writer;
INSERT INTO petition VALUES (7, '小区停水三天', 0);
INSERT INTO petition VALUES (7, '小区停水三天', 1);
RESET ROLE;
CREATE TABLE secret (id int PRIMARY KEY, fp bigint, of int, owner name DEFAULT current_user);
CREATE INDEX ON secret USING banding (fp);
ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON secret USING (owner = current_user);
INSERT INTO secret VALUES (1, 0);
CREATE TABLE seen (duplicate bigint NOT NULL, original bigint NOT NULL, distance smallint NOT NULL, logged_at timestamptz);
CREATE TABLE unseen (LIKE seen);
GRANT SELECT, INSERT ON secret, seen TO guard_writer;
CREATE TRIGGER guard AFTER INSERT ON secret FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp');
SET ROLE guard_writer;
INSERT INTO secret VALUES (2, 3);
RESET ROLE;
DROP TRIGGER guard ON secret;
CREATE TRIGGER guard BEFORE INSERT ON secret FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'flag=of');
SET ROLE guard_writer;
INSERT INTO secret VALUES (3, 3), (4, -1) RETURNING id, of;
RESET ROLE;
DROP TRIGGER guard ON secret;
-- A log that the writer may read, and one that only others may.
CREATE TRIGGER guard AFTER INSERT ON secret FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'log=seen');
CREATE TRIGGER guard_2 AFTER INSERT ON secret FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'log=unseen');
SET ROLE guard_writer;
INSERT INTO secret VALUES (5, 1);
RESET ROLE;
GRANT INSERT ON unseen TO guard_writer;
SET ROLE guard_writer;
INSERT INTO secret VALUES (5, 1);
SELECT duplicate, original, distance FROM seen;
RESET ROLE;
SELECT duplicate, original, distance FROM unseen;
-- Who may read a partitioned table may see keys of its partitions.
GRANT SELECT, INSERT ON parted TO guard_writer;
SET ROLE guard_writer;
INSERT INTO parted VALUES (3, 0);
RESET ROLE;
REVOKE ALL ON petition, secret, seen, unseen, parted FROM guard_writer;
DROP TABLE secret, seen, unseen;
DROP ROLE guard_writer;
-- misuse
DROP TRIGGER guard ON bare;
CREATE TRIGGER guard BEFORE INSERT ON bare FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp');
INSERT INTO bare VALUES (9, 9);
DROP TRIGGER guard ON bare;
CREATE TRIGGER guard AFTER INSERT ON bare FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'action=skip');
INSERT INTO bare VALUES (9, 9);
CREATE FUNCTION with_arguments(arguments text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  DROP TRIGGER IF EXISTS guard ON bare;
  EXECUTE format('CREATE TRIGGER guard AFTER INSERT ON bare FOR EACH ROW EXECUTE FUNCTION near_dup_guard(%s)', arguments);
  INSERT INTO bare VALUES (9, 9);
  EXCEPTION WHEN OTHERS THEN RAISE NOTICE '% %', SQLSTATE, SQLERRM; END $$;
SELECT with_arguments(a) FROM unnest(ARRAY[$$$$, $$'nope'$$, $$'fp', 'distance=65'$$, $$'fp', 'distance'$$, $$'fp', 'action=drop'$$,
  $$'fp', 'colour=red'$$, $$'fp', 'action=flag'$$, $$'fp', 'action=skip', 'log=l'$$, $$'fp', 'columns='$$, $$'fp', 'similarity=0.5'$$, $$'fp', 'n=2'$$, $$'fp', 'measure=cosine', 'columns=body'$$,
  $$'fp', 'columns=body', 'similarity=2'$$, $$'fp', 'columns=body', 'n=0'$$, $$'fp', 'verify=jaccard:body:0.5'$$, $$'fp', 'index=maybe'$$]) a;
SELECT near_dup_guard();
ALTER TABLE bare ADD twice bigint GENERATED ALWAYS AS (fp * 2) STORED;
DROP TRIGGER guard ON bare;
CREATE TRIGGER guard BEFORE INSERT ON bare FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'index=none', 'flag=twice');
INSERT INTO bare VALUES (9, 1);
DROP TRIGGER guard ON bare;
-- Before a row is stored, every generated column that is looked at is computed, not the fingerprint only.
CREATE TABLE made (id int PRIMARY KEY, at date, of text, body text, fp bigint GENERATED ALWAYS AS (simhash(body)) STORED,
  year int GENERATED ALWAYS AS (extract(year FROM at)) STORED, tenant text GENERATED ALWAYS AS (lower(of)) STORED,
  plain text GENERATED ALWAYS AS (lower(body)) STORED);
CREATE INDEX ON made USING banding (fp);
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON made FOR EACH ROW
  EXECUTE FUNCTION near_dup_guard('fp', 'action=skip', 'distance=64', 'scope=tenant,year', 'columns=plain', 'similarity=0.9');
INSERT INTO made (id, at, of, body) SELECT i, make_date(2024 + i / 6, 1, i), (ARRAY['North', 'NORTH', 'South'])[i % 3 + 1], 'The lamp is broken' FROM generate_series(1, 8) i;
UPDATE made SET of = 'north' WHERE id = 2;
UPDATE made SET body = 'There is no water' WHERE id IN (2, 8);
UPDATE made SET of = 'north' WHERE id IN (2, 8);
SELECT id, year, tenant, plain FROM made ORDER BY id;
-- Long values of a version that died before the search may be gone already.
CREATE TABLE long_scope (id int PRIMARY KEY, of text, fp bigint) WITH (autovacuum_enabled = off, toast.autovacuum_enabled = off);
ALTER TABLE long_scope ALTER of SET STORAGE EXTERNAL;
CREATE INDEX ON long_scope USING banding (fp);
CREATE TRIGGER guard AFTER INSERT ON long_scope FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'scope=of');
INSERT INTO long_scope VALUES (1, repeat('x', 5000), 5);
DELETE FROM long_scope;
SELECT reltoastrelid::regclass AS long_values FROM pg_class WHERE oid = 'long_scope'::regclass \gset
VACUUM :long_values;
INSERT INTO long_scope VALUES (2, repeat('x', 5000), 5);
INSERT INTO long_scope VALUES (3, repeat('x', 5000), 5);
-- A column of flag that is not there is told at the first row, not at the first duplicate.
CREATE TABLE misspelt (id int PRIMARY KEY, fp bigint);
CREATE TRIGGER guard BEFORE INSERT ON misspelt FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'index=none', 'flag=nowhere');
INSERT INTO misspelt VALUES (1, 5);
-- Nor does it take the place of what rows are found or known by.
CREATE OR REPLACE TRIGGER guard BEFORE INSERT ON misspelt FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'index=none', 'flag=fp');
INSERT INTO misspelt VALUES (1, 5);
CREATE OR REPLACE TRIGGER guard BEFORE INSERT ON misspelt FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'index=none', 'flag=id');
INSERT INTO misspelt VALUES (1, 5);
INSERT INTO misspelt VALUES (2, 5);
-- Hashes of pictures: rows are rejected or logged, by an index or without.
CREATE TABLE picture (id int PRIMARY KEY, tenant int, pdq bit(256));
CREATE INDEX ON picture USING banding (tenant, pdq);
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON picture FOR EACH ROW EXECUTE FUNCTION near_dup_guard('pdq', 'distance=31', 'scope=tenant');
INSERT INTO picture VALUES (1, 1, repeat('01', 128)::bit(256)), (2, 2, repeat('01', 128)::bit(256)), (3, 1, NULL), (4, 1, NULL), (5, 1, repeat('0011', 64)::bit(256));
INSERT INTO picture VALUES (6, 1, (repeat('10', 15) || repeat('01', 113))::bit(256));
INSERT INTO picture VALUES (6, 1, (repeat('10', 16) || repeat('01', 112))::bit(256));
UPDATE picture SET pdq = repeat('01', 128)::bit(256) WHERE id = 6;
UPDATE picture SET tenant = 2 WHERE id = 1;
UPDATE picture SET id = 7 WHERE id = 6;
INSERT INTO picture VALUES (8, 3, repeat('1', 256)::bit(256)), (9, 3, repeat('1', 256)::bit(256));
CREATE TABLE picture_twin (duplicate int, original int, distance int, logged_at timestamptz);
CREATE OR REPLACE TRIGGER guard AFTER INSERT OR UPDATE ON picture FOR EACH ROW EXECUTE FUNCTION near_dup_guard('pdq', 'distance=40', 'scope=tenant', 'log=picture_twin');
INSERT INTO picture VALUES (10, 1, (repeat('10', 10) || repeat('01', 118))::bit(256));
DROP INDEX picture_tenant_pdq_idx;
INSERT INTO picture VALUES (11, 1, (repeat('10', 9) || repeat('01', 119))::bit(256));
CREATE OR REPLACE TRIGGER guard AFTER INSERT OR UPDATE ON picture FOR EACH ROW EXECUTE FUNCTION near_dup_guard('pdq', 'distance=40', 'log=picture_twin', 'index=none');
INSERT INTO picture VALUES (11, 1, (repeat('10', 9) || repeat('01', 119))::bit(256));
SELECT duplicate, original, distance FROM picture_twin;
CREATE OR REPLACE TRIGGER guard BEFORE INSERT OR UPDATE ON picture FOR EACH ROW EXECUTE FUNCTION near_dup_guard('pdq', 'action=skip');
INSERT INTO picture VALUES (12, 1, NULL), (13, 1, (repeat('10', 8) || repeat('01', 120))::bit(256)), (14, 9, (repeat('10', 8) || repeat('01', 120))::bit(256));
CREATE INDEX ON picture USING banding (pdq);
INSERT INTO picture VALUES (12, 1, NULL), (13, 1, (repeat('10', 11) || repeat('01', 117))::bit(256)), (14, 9, repeat('100', 85)::bit(256));
ALTER TABLE picture ADD of text;
CREATE OR REPLACE TRIGGER guard BEFORE INSERT OR UPDATE ON picture FOR EACH ROW EXECUTE FUNCTION near_dup_guard('pdq', 'flag=of', 'distance=64');
INSERT INTO picture VALUES (15, 1, (repeat('10', 20) || repeat('01', 108))::bit(256)) RETURNING id, of;
SELECT id FROM picture ORDER BY id;
DROP TABLE picture, picture_twin;
-- A version that is gone is not read: another length that was refused stands in nobody's way.
CREATE TABLE print (id int PRIMARY KEY, h "bit");
CREATE TRIGGER guard AFTER INSERT ON print FOR EACH ROW EXECUTE FUNCTION near_dup_guard('h', 'distance=1', 'index=none');
INSERT INTO print VALUES (1, B'0000');
INSERT INTO print VALUES (2, B'010');
INSERT INTO print VALUES (3, B'0011'), (4, B'1111');
INSERT INTO print VALUES (5, B'0001');
DROP TABLE print;
-- What texts are read by is another matter than how far apart the fingerprints of the settings may be.
CREATE TABLE kept (id int PRIMARY KEY, title text, body text);
INSERT INTO kept SELECT n, 'Number ' || n, (SELECT string_agg(md5(n || ' ' || w), ' ') FROM generate_series(1, 20) w) FROM generate_series(1, 30) n;
SET client_min_messages = warning;
SELECT count(*) FROM dedup_setup('kept', '{"columns": "body", "distance": 20, "similarity": 0.4, "n": 3, "details": []}');
RESET client_min_messages;
CREATE TRIGGER guard AFTER INSERT ON kept FOR EACH ROW EXECUTE FUNCTION near_dup_guard('recipe={"tokens": "words"}');
INSERT INTO kept SELECT 31, title, substr(body, 1, 500) FROM kept WHERE id = 1;
CREATE OR REPLACE TRIGGER guard AFTER INSERT ON kept FOR EACH ROW EXECUTE FUNCTION near_dup_guard('columns=body,title');
INSERT INTO kept SELECT 31, title, substr(body, 1, 500) FROM kept WHERE id = 1;
DROP TABLE kept;
DROP TABLE petition, twin, note, bare, parted, tree, made, long_scope, misspelt;
DROP FUNCTION with_arguments;
DROP EXTENSION pg_dedup;
