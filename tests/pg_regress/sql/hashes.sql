-- A table of hashes of pictures, of which nothing else is compared: one call gives it settings, and all functions go by them.
\set VERBOSITY terse
SET client_min_messages = warning;
SET intervalstyle = postgres;
CREATE EXTENSION pg_dedup;
CREATE SCHEMA hashes;
SET search_path = hashes, public;
CREATE TABLE img (id int PRIMARY KEY, url text, phash bit(256));
-- 300 pictures; of 60 of them a copy with 1 to 15 other bits, of 10 an equal one, and of 5 one with 40 bits.
CREATE FUNCTION hash(n int, parts int) RETURNS varbit LANGUAGE sql IMMUTABLE AS
    $$ SELECT ('x' || string_agg(md5(n || ' ' || part), '' ORDER BY part))::varbit FROM generate_series(1, parts) AS part $$;
CREATE FUNCTION flipped(h varbit, bits int) RETURNS varbit LANGUAGE sql IMMUTABLE AS
    $$ SELECT (overlay(h::text PLACING (~ substring(h FROM 7 FOR bits))::text FROM 7))::varbit $$;
INSERT INTO img SELECT n, 'p' || n, hash(n, 2)::bit(256) FROM generate_series(1, 300) n;
INSERT INTO img SELECT 300 + n, 'q' || n, flipped(hash(n, 2), 1 + n % 15)::bit(256) FROM generate_series(1, 60) n;
INSERT INTO img SELECT 400 + n, 'r' || n, hash(n, 2)::bit(256) FROM generate_series(101, 110) n;
INSERT INTO img SELECT 600 + n, 's' || n, flipped(hash(n, 2), 40)::bit(256) FROM generate_series(201, 205) n;
INSERT INTO img VALUES (900, 'none', NULL), (901, 'none', NULL);

-- What was not asked for is chosen by the hashes.
SET client_min_messages = notice;
\set VERBOSITY default
SELECT * FROM dedup_setup('img', '{"fp": "phash", "decisions": true}');
SELECT * FROM dedup_setup('img');
SELECT options, columns, fp, method, distance, empty FROM dedup_settings WHERE tbl = 'img'::regclass;
\set VERBOSITY terse
SET client_min_messages = warning;

-- All functions say the same.
SELECT stage, count(*), min(distance), max(distance), round(min(similarity)::numeric, 3) AS least FROM dedup('img') GROUP BY stage ORDER BY stage;
CREATE TABLE said AS SELECT * FROM dedup('img');
CALL dedup_into('groups', 'img');
SELECT count(*) FROM said JOIN groups USING (id) WHERE (said.keeper, said.stage, said.distance) IS DISTINCT FROM (groups.keeper, groups.stage, groups.distance);
SELECT count(*) FILTER (WHERE f.found IS DISTINCT FROM b.found) AS differ, count(f.found) AS found FROM img i,
    LATERAL (SELECT array_agg(f.id || ' ' || distance ORDER BY distance, f.id) AS found FROM dedup_find(i) f) AS f,
    LATERAL (SELECT array_agg(j.id || ' ' || hamming(i.phash, j.phash) ORDER BY hamming(i.phash, j.phash), j.id) AS found
        FROM img j WHERE j.id <> i.id AND hamming(i.phash, j.phash) <= 31) AS b;
SELECT id, distance, round(similarity::numeric, 3) AS similarity, repeats FROM dedup_find('img', (SELECT phash::text FROM img WHERE id = 2));
SELECT id, distance FROM dedup_find('img', (SELECT phash::text FROM img WHERE id = 201), 40);
-- A hash is found as it is, whatever way it is written.
SELECT i.id, count(f.id) AS found, bool_and(f.id = h.id AND f.distance = h.distance AND f.distance = r.distance) AS same FROM img i, dedup_find('img', i.phash::text) f
    LEFT JOIN LATERAL dedup_find('img', i.phash) h USING (id) LEFT JOIN LATERAL dedup_find('img', i.phash, 31, NULL::bigint) r USING (id) WHERE i.id IN (2, 801) GROUP BY i.id;
SELECT f.id, f.distance, f.repeats FROM img i, dedup_find(i, options => '{"nearest": 1}') f WHERE i.id = 801;
SELECT a, b, part, value FROM dedup_explain('img', 'VALUES (1, 301), (201, 801), (101, 501), (900, 901)', NULL);
SELECT a, b, same, kind, moves FROM dedup_review('img', 3);
SELECT length(dedup_report('img')) > 10000 AS report;
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON img FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
INSERT INTO img SELECT 1000, 'new', flipped(phash, 31)::bit(256) FROM img WHERE id = 150;
INSERT INTO img SELECT 1000, 'new', flipped(phash, 32)::bit(256) FROM img WHERE id = 150;
-- Somebody says that two are not the same, and two that are.
INSERT INTO img_decisions (a, b, same) VALUES (1, 301, false), (201, 801, true);
SELECT id, keeper, stage, distance FROM dedup('img') WHERE id IN (301, 801);
CALL dedup_into('groups', 'img');
SELECT id, keeper, stage, distance FROM groups WHERE id IN (301, 801, 1000);
SELECT stage, count(*) FROM dedup_clean('img', dry_run => false) GROUP BY stage ORDER BY stage;
SELECT dedup_undo('img', 1);

-- A plan by the index.
SET enable_seqscan = off;
EXPLAIN (COSTS off) SELECT b.id FROM img a JOIN img b ON near_dup(b.phash, a.phash, 31) WHERE a.id = 1;
RESET enable_seqscan;

-- Of 64 bits, as bit and as bigint, queries too; settings are given once.
CREATE TABLE small (id bigint PRIMARY KEY, h bigint);
INSERT INTO small SELECT n, (hash(n % 90, 1)::bit(64) # (1 << n / 90)::bit(64))::bigint FROM generate_series(1, 200) n;
SELECT * FROM dedup_setup('small', '{"fp": "h", "distance": 4}');
SELECT stage, count(*) FROM dedup('small') GROUP BY stage ORDER BY stage;
SELECT count(*) FROM dedup('small') a JOIN dedup('SELECT id, h::bit(64) FROM small', '{"method": "hash", "distance": 4}') b USING (id, keeper, stage, distance);
SELECT count(*) FROM dedup('small') a JOIN dedup('SELECT id, h::text FROM small', '{"method": "hash", "distance": 4}') b USING (id, keeper, stage, distance);
DELETE FROM dedup_settings WHERE tbl = 'small'::regclass;
SELECT count(*) FROM dedup('small', '{"fp": "h", "distance": 4}') WHERE stage = 'near';
SELECT distance, nearest FROM near_dup_calibrate('SELECT id, h::bit(64) FROM small') WHERE distance IN (0, 1, 2);
SELECT count(*), max(distance) FROM near_dup_calibrate('SELECT id, phash FROM img');

-- What is no hash, has another length, or is not compared.
SELECT * FROM dedup('VALUES (1, ''101''), (2, ''x1'')', '{"method": "hash"}');
SELECT * FROM dedup('SELECT n, repeat(''1'', 64 * n)::varbit::text FROM generate_series(1, 2) n', '{"method": "hash"}');
SELECT * FROM dedup('SELECT id, phash FROM img', '{"method": "hash", "similarity": 0.5}');
SELECT * FROM dedup('SELECT id, url FROM img', '{"distance": 65}');
SELECT * FROM dedup_setup('img', '{"columns": "url"}');
SELECT * FROM dedup_setup('img', '{"n": 3}');
SELECT * FROM dedup_find('img', '101');
SELECT * FROM dedup_find('img', 'picture');
SELECT * FROM dedup_find('img', (SELECT phash::text FROM img WHERE id = 1), 257);
SELECT * FROM dedup_find('img', NULL::text);
SELECT * FROM dedup_find('img', NULL);
SELECT * FROM dedup_find('img', b'101');
SELECT * FROM dedup_find('img', 5::bit(100));
SELECT * FROM dedup_find('img', -5::bigint);
SELECT * FROM dedup('SELECT 1 AS n, 5', '{"method": "hash"}');
SELECT advice FROM near_dup_calibrate('SELECT id, phash FROM img') WHERE advice IS NOT NULL;
CREATE TABLE odd (id int PRIMARY KEY, h bit(100), v varbit, t text);
SELECT * FROM dedup_setup('odd', '{"fp": "h"}');
SELECT * FROM dedup_setup('odd', '{"fp": "v"}');
SELECT * FROM dedup_setup('odd', '{"method": "hash"}');
SELECT * FROM dedup_setup('odd', '{"method": "hash", "fp": "t"}');
-- Only bits of these lengths are hashes, and only one column; what else is asked of a table of hashes is refused.
SELECT * FROM dedup('VALUES (1, b''0100''), (2, b''0011'')', '{"method": "hash"}');
SELECT * FROM dedup('odd', '{"fp": "h"}');
INSERT INTO odd VALUES (1, 5::bit(100));
SELECT * FROM dedup('odd', '{"fp": "h"}');
SELECT * FROM dedup('odd', '{"columns": ["h", "t"], "method": "hash"}');
SELECT * FROM dedup('img', '{"similarity": 0.5}');
SELECT * FROM dedup('img', '{"method": "text"}');
SELECT count(*) FROM dedup('img', '{"distance": 40}') WHERE stage = 'near';
SELECT * FROM dedup_setup('img', '{"method": "text"}');
SELECT * FROM dedup_setup('img', '{"columns": ["phash", "id"]}');
SELECT * FROM dedup_setup('img', '{"keep": {"column": "phash"}}');
SELECT * FROM dedup_setup('img', '{"keep": "longest"}');
SELECT * FROM dedup('SELECT 1, 5::bigint', '{"method": "hash", "keep": "longest"}');
SELECT * FROM dedup_suggest('img');
SELECT * FROM simhash_explain((SELECT i FROM img i WHERE id = 1), (SELECT i FROM img i WHERE id = 2));
-- A guard with a distance of its own compares hashes too.
CREATE TABLE narrow (id int PRIMARY KEY, h bigint);
INSERT INTO narrow VALUES (1, 5), (2, 101), (3, -1);
SELECT count(*) FROM dedup_setup('narrow', '{"fp": "h", "distance": 0}');
SELECT id FROM dedup_find('narrow', 5::bit(64)::text);
SELECT id FROM dedup_find('narrow', '+0005');
SELECT id FROM dedup_find('narrow', repeat('0', 128));
SELECT id FROM dedup_find('narrow', -1::bigint) UNION ALL SELECT id FROM dedup_find('narrow', 101::bit(64)) UNION ALL SELECT id FROM dedup_find('narrow', 5::bigint, 0, NULL::int);
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON narrow FOR EACH ROW EXECUTE FUNCTION near_dup_guard('distance=1');
INSERT INTO narrow VALUES (4, 7);
CREATE TRIGGER wrong AFTER INSERT OR UPDATE ON narrow FOR EACH ROW EXECUTE FUNCTION near_dup_guard('similarity=0.5');
INSERT INTO narrow VALUES (4, 1000);
DROP TRIGGER wrong ON narrow;
-- Other settings leave the column of the hashes where it is.
ALTER TABLE narrow ADD body text;
SELECT * FROM dedup_setup('narrow', '{"columns": "body", "fp": null}');
\d narrow
SELECT * FROM dedup_find('narrow', 5::bigint);
-- Of settings of texts the ones of hashes take over nothing that hashes do not have.
SELECT count(*) FROM dedup_setup('narrow', '{"columns": "body", "keep": "longest", "n": 3, "similarity": 0.7}');
SELECT count(*) FROM dedup_setup('narrow', '{"fp": "h", "method": "hash", "distance": 0}');
-- A fingerprint beside a text is none of these.
CREATE TABLE beside (id int PRIMARY KEY, body text, fp bigint);
SELECT * FROM dedup_setup('beside', '{"fp": "fp"}');
SELECT * FROM dedup_setup('beside', '{"fp": "fp", "method": "hash"}');
-- What is dropped and made anew is set up again.
ALTER TABLE beside DROP fp;
ALTER TABLE beside ADD fp bit(64);
SELECT count(*) FROM dedup('beside');
SELECT * FROM dedup_setup('beside');
SELECT count(*) FROM dedup('beside');
-- The index of a column that has lost its length is none: rows are found without it, and it says what to do.
CREATE TABLE lost (id int, h bit(256));
CREATE INDEX lost_h ON lost USING banding (h);
INSERT INTO lost SELECT n, hash(n, 2)::bit(256) FROM generate_series(1, 20000) n;
ANALYZE lost;
ALTER TABLE lost ALTER h TYPE varbit;
SELECT count(*) FROM lost WHERE near_dup(h, hash(7, 2), 3);
INSERT INTO lost VALUES (20001, hash(1, 2));
VACUUM lost;
ALTER TABLE lost ALTER h TYPE bit(256);
INSERT INTO lost VALUES (20001, hash(1, 2));
-- Where many rows are near, the two least alike are shown whole.
SET client_min_messages = notice;
\set VERBOSITY default
SELECT count(*) FROM dedup('SELECT n, (repeat(''01'', 32)::bit(64) # (1::bigint << n)::bit(64))::bigint FROM generate_series(0, 30) n', '{"method": "hash", "distance": 2}');
\set VERBOSITY terse
SET client_min_messages = warning;
-- An empty table: chosen again when there are rows.
CREATE TABLE later (id int PRIMARY KEY, h bit(128));
SELECT * FROM dedup_setup('later', '{"fp": "h"}');
INSERT INTO later SELECT n, hash(n, 1)::bit(128) FROM generate_series(1, 5) n;
SELECT * FROM dedup_setup('later');
ALTER TABLE later RENAME h TO other;
SELECT count(*) FROM dedup('later');
ALTER TABLE later ALTER other TYPE text USING other::text;
SELECT count(*) FROM dedup('later');
-- What is gone is named, as after a dump of a renamed column.
\set VERBOSITY default
ALTER TABLE later DROP other, ADD again bit(128);
SELECT count(*) FROM dedup('later');
\set VERBOSITY terse
SELECT count(*) FROM dedup_setup('later', '{"fp": "again"}');
-- Another column is named, a distance is one of the hashes.
CREATE TABLE two (id int PRIMARY KEY, a bit(64), b bit(64));
INSERT INTO two SELECT n, n::bit(64), (n / 4)::bit(64) FROM generate_series(1, 8) n;
SELECT * FROM dedup_setup('two', '{"fp": "a", "method": "hash", "distance": 0}');
SELECT id FROM dedup_find('two', '5');
SELECT id FROM dedup_find('two', 5::bigint);
SELECT * FROM dedup_setup('two', '{"fp": "b"}');
SELECT * FROM dedup_setup('two', '{"fp": "c"}');
SELECT * FROM dedup_setup('two', '{"distance": 65}');
SELECT count(*) FROM near_dup_pairs('SELECT id, b::bigint FROM two', '{"distance": 65}');
SELECT count(*) FROM near_dup_pairs('two', '{"method": "text"}');
DROP TRIGGER guard ON img;
DROP SCHEMA hashes CASCADE;
RESET search_path;
DROP EXTENSION pg_dedup CASCADE;
