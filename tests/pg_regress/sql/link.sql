-- dedup_link: rows of two sources that are one thing, each at most once; and dedup of one table that holds both.
CREATE EXTENSION pg_dedup;
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE FUNCTION word(seed int, salt int) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT translate(left(md5(seed || '-' || salt), 6), '0123456789', 'ghijklmnop') $$;
CREATE TABLE mine (id int PRIMARY KEY, name text, maker text, price numeric);
CREATE TABLE theirs (id bigint PRIMARY KEY, price numeric, name varchar, maker text, seen timestamptz DEFAULT now());
INSERT INTO mine SELECT i, word(i, 1) || ' ' || word(i % 40, 2) || ' ' || word(i, 3), word(i % 20, 4), 10 + i % 25 FROM generate_series(1, 200) i;
-- Every second one, a word shortened, the maker sometimes missing; and others.
INSERT INTO theirs SELECT 1000 + id, price, replace(name, right(name, 3), ''), CASE WHEN id % 3 > 0 THEN maker END FROM mine WHERE id % 2 = 0;
INSERT INTO theirs SELECT 3000 + i, 5 + i % 25, word(i, 7) || ' ' || word(i, 8) || ' ' || word(i % 40, 2), word(i % 20, 9) FROM generate_series(1, 100) i;
SELECT count(*) FILTER (WHERE b - a = 1000) AS right, count(*) FILTER (WHERE b - a <> 1000) AS wrong,
    count(DISTINCT a) = count(*) AND count(DISTINCT b) = count(*) AS "each once", min(score) >= 0.3 AS sure FROM dedup_link('mine', 'theirs');
SELECT a, b, regexp_replace(evidence, '-?\d+(\.\d+)?', '#', 'g') AS evidence FROM dedup_link('mine', 'theirs') ORDER BY a LIMIT 2;
-- The other way round, and by queries, it is the same; so it is of one table that holds both.
CREATE TEMP TABLE linked AS SELECT a, b, round(score::numeric, 6) AS score FROM dedup_link('mine', 'theirs', '{"columns": ["name", "maker", "price"]}');
SELECT count(*) AS "other by queries" FROM (SELECT a, b, round(score::numeric, 6) FROM dedup_link(
    'SELECT id, name, maker, price FROM mine ORDER BY id', 'SELECT id, name, maker, price FROM theirs ORDER BY id') EXCEPT TABLE linked) AS x;
CREATE TABLE both_sides AS SELECT id::bigint, name, maker, price, 'm' AS source FROM mine UNION ALL SELECT id, name, maker, price, 't' FROM theirs;
ALTER TABLE both_sides ADD PRIMARY KEY (id);
\set sides '{"side": "source", "method": "records", "columns": ["name", "maker", "price"]}'
SELECT count(*) AS pairs, count(*) FILTER (WHERE l.a IS NULL OR d.id IS NULL) AS "only one way" FROM linked l
    FULL JOIN (SELECT * FROM dedup('both_sides', :'sides') WHERE id <> keeper) d ON d.keeper = l.a AND d.id = l.b AND round(d.similarity::numeric, 6) = l.score;
SELECT max(count) AS "most rows in a group" FROM (SELECT count(*) FROM dedup('both_sides', :'sides') GROUP BY keeper) AS x;
SELECT part, count(*) FROM dedup_explain('both_sides', 'SELECT a, b FROM linked', :'sides') WHERE part LIKE '%group%' GROUP BY part;
SELECT count(*) = 2 * (SELECT count(*) FROM linked) AS "as groups" FROM near_dup_groups('SELECT a, b FROM dedup_link(''mine'', ''theirs'', ''{"columns": ["name", "maker", "price"]}'')');
-- By text: equal rows first, the first with the first; of many each of b goes to the row of a that it is nearest.
\set a 'VALUES (1, ''the quick brown fox jumps over the lazy dog''), (2, ''the quick brown fox jumps over the lazy dog''), (3, ''nothing else is like this one''), (4, NULL)'
\set b 'VALUES (11, ''the quick brown fox jumps over a lazy dog''), (12, ''the quick brown fox jumps over the lazy dog''), (13, ''the quick brown fox jumps over the lazy dog''), (14, ''the quick brown fox jumped over the lazy dog''), (15, NULL), (16, '''')'
SELECT a, b, round(score::numeric, 2) AS score, evidence FROM dedup_link(:'a', :'b', '{"method": "text", "similarity": 0.5, "n": 2, "details": []}');
SELECT a, b, round(score::numeric, 2) AS score FROM dedup_link(:'a', :'b', '{"method": "text", "similarity": 0.5, "n": 2, "details": [], "many": true}');
SELECT a, b, round(score::numeric, 2) AS score FROM dedup_link(:'a', :'b', '{"method": "text", "similarity": 0.5, "n": 2, "details": [], "equal": "none"}');
SELECT a, b FROM dedup_link(:'a', :'b', '{"method": "fingerprint", "distance": 20, "similarity": 0, "details": []}');
-- Never two rows of one source, however near.
SELECT * FROM dedup_link(:'a', 'VALUES (11, ''quite another text than those'')', '{"method": "text"}');
-- Empty sources, and rows of nothing.
SELECT * FROM dedup_link('SELECT * FROM mine WHERE false', 'SELECT id, name, maker, price FROM theirs WHERE false');
SELECT * FROM dedup_link('SELECT id, name, maker FROM mine', 'SELECT id, name, maker FROM theirs WHERE false');
SELECT * FROM dedup_link('SELECT 1, NULL::text, NULL::text', 'SELECT 2, NULL::text, NULL::text');
-- Ids of other types; the same ids in both are other rows.
SELECT count(*) FILTER (WHERE right(a::text, 4) = right(b::text, 4)) AS right, count(*) FROM dedup_link(
    'SELECT format(''00000000-0000-0000-0000-%s'', lpad(id::text, 12, ''0''))::uuid, name, maker FROM mine ORDER BY id',
    'SELECT format(''00000000-0000-0000-0000-%s'', lpad((id - 1000)::text, 12, ''0''))::uuid, name, maker FROM theirs WHERE id < 3000 ORDER BY id', NULL, NULL::uuid);
\set VERBOSITY default
SELECT * FROM dedup_link('SELECT id, name FROM mine', 'SELECT NULL::int, name FROM mine');
SELECT * FROM dedup_link('SELECT id, name FROM mine', 'SELECT 7, name FROM mine');
SELECT * FROM dedup_link('SELECT id, name FROM mine', 'SELECT id, name, maker FROM theirs');
SELECT * FROM dedup_link('mine', 'nowhere');
SELECT * FROM dedup_link('mine', NULL);
SELECT * FROM dedup_link('mine', 'theirs', '{"side": "maker"}');
SELECT * FROM dedup_link('SELECT id::text, name FROM mine', 'SELECT id, name FROM theirs');
SELECT * FROM dedup('both_sides', '{"side": "maker", "method": "records", "columns": ["name", "price"]}');
SELECT * FROM dedup('SELECT 1, ''a'', NULL::text AS source', '{"side": "source", "method": "text"}');
SELECT * FROM dedup('both_sides', '{"side": "source", "method": "records", "columns": ["name", "maker"], "group": "star"}');
-- A table of several columns of text is taken for records by its rows, by every function; a text beside names stays a text.
SET client_min_messages = notice;
\set VERBOSITY terse
CREATE TABLE person (id int PRIMARY KEY, first text, last text, street text, phone text, born date, seen timestamptz DEFAULT now());
INSERT INTO person SELECT i, word(i % 50, 1), word(i * 7 % 90, 2), i % 70 || ' ' || word(i % 60, 3), '555' || 1000000 + i * 7919, '1950-01-01'::date + i * 17 FROM generate_series(1, 240) i;
INSERT INTO person SELECT 1000 + id, first, last, CASE WHEN id % 2 = 0 THEN street END, phone, born FROM person WHERE id % 12 = 0;
SELECT count(*) FILTER (WHERE id - keeper = 1000) AS right, count(*) FILTER (WHERE id <> keeper AND id - keeper <> 1000) AS wrong FROM dedup('person');
CALL dedup_into('people', 'person');
SELECT count(*) FILTER (WHERE id - keeper = 1000) AS right, count(*) FILTER (WHERE id <> keeper AND id - keeper <> 1000) AS wrong FROM people;
SELECT count(*) FROM dedup_setup('person');
SELECT method, columns, options FROM dedup_settings;
SELECT count(*) FROM dedup_setup('person');
SELECT f.id FROM person p, dedup_find(p) f WHERE p.id = 1012;
CREATE TABLE petition (id int PRIMARY KEY, name text, body text);
INSERT INTO petition SELECT i, word(i, 1) || ' ' || word(i, 2), (SELECT string_agg(word(i * 31 + j, 3), ' ' ORDER BY j) FROM generate_series(1, 20) j) FROM generate_series(1, 120) i;
INSERT INTO petition SELECT 500 + id, name || ' x', body || ' please' FROM petition WHERE id <= 5;
SELECT count(*) FILTER (WHERE id - keeper = 500) AS right, count(*) FILTER (WHERE id <> keeper AND id - keeper <> 500) AS wrong FROM dedup('petition');
-- A title that alone identifies is compared alone; of columns that tell no rows apart one must be named.
CREATE TABLE product (id int PRIMARY KEY, title text, maker text, state text);
INSERT INTO product SELECT i, concat_ws(' ', word(i, 1), word(i, 2), word(i, 3), word(i, 4)), word(i % 9, 5), word(i % 3, 6) FROM generate_series(1, 200) i;
INSERT INTO product SELECT 500 + id, title || ' new', NULL, state FROM product WHERE id <= 5;
SELECT count(*) FILTER (WHERE id - keeper = 500) AS right, count(*) FILTER (WHERE id <> keeper AND id - keeper <> 500) AS wrong FROM dedup('product');
ALTER TABLE product DROP COLUMN title;
SELECT * FROM dedup('product');
-- What is named stands; few rows want it named.
SELECT count(*) FILTER (WHERE id <> keeper) AS near FROM dedup('petition', '{"columns": ["name", "body"], "method": "fingerprint"}');
SELECT * FROM dedup('petition', '{"method": "text"}');
DELETE FROM petition WHERE id > 50;
SELECT * FROM dedup('petition');
SET client_min_messages = warning;
-- Rows that are equal to another one across sides are asked about as that.
CREATE TABLE doubled AS SELECT i AS id, md5(i::text) AS a, md5(i || 'b') AS b, (555000 + i * 7)::text AS c, CASE WHEN i % 2 = 0 THEN 'x' ELSE 'y' END AS side FROM generate_series(1, 120) i;
INSERT INTO doubled SELECT id + 2000, a, b, c, 'x' FROM doubled WHERE id IN (7, 9);
ALTER TABLE doubled ADD PRIMARY KEY (id);
SELECT count(*) FROM dedup_review('doubled', 20, '{"method": "records", "columns": ["a", "b", "c"], "side": "side"}');
DROP TABLE doubled;
DROP TABLE people, person, petition, product;
DROP TABLE linked, mine, theirs, both_sides;
DROP FUNCTION word;
DROP EXTENSION pg_dedup;
