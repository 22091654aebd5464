-- dedup by records: several columns, weights learned from the table. Which rows are one does not depend on their order; each row
-- that goes is verified against the row that is kept; what there is no sense in is refused with a hint.
CREATE EXTENSION pg_dedup;
\set SHOW_CONTEXT never
SET client_min_messages = warning;
-- Shops; every third one a second time, its street shortened, its name longer, its telephone written otherwise or missing.
CREATE FUNCTION word(seed int, salt int, of int) RETURNS text LANGUAGE sql IMMUTABLE AS
    $$ SELECT translate(left(md5((mod(abs(hashint8extended(seed, salt)), of))::text), 6), '0123456789', 'ghijklmnop') $$;
CREATE TABLE shop (id integer PRIMARY KEY, name text, address varchar, city char(12), opened date, phone text);
INSERT INTO shop SELECT i, word(i, 1, 400) || ' ' || word(i, 2, 400), i * 37 % 900 || ' ' || word(i, 3, 300) || ' street', 'city ' || i % 4,
    '2001-01-01'::date + i % 90, format('555-%s', 1000 + i * 7919 % 9000) FROM generate_series(1, 300) i;
INSERT INTO shop SELECT 1000 + id, 'The ' || name || ' Inc.', replace(address, 'street', 'st.'), city, CASE WHEN id % 2 = 0 THEN opened END,
    CASE WHEN id % 4 > 0 THEN replace(phone, '-', ' ') END FROM shop WHERE id % 3 = 0;
-- A branch of the same name is another shop.
INSERT INTO shop SELECT 2000 + id, name, id || ' ' || word(id, 9, 300) || ' avenue', 'city 9', opened, '777-' || id FROM shop WHERE id % 30 = 1 AND id < 300;
\set found 'SELECT count(*) FILTER (WHERE id > keeper AND id - keeper = 1000) AS right, count(*) FILTER (WHERE id <> keeper AND id - keeper <> 1000) AS wrong, count(*) FILTER (WHERE id = keeper) AS kept'
:found FROM dedup('SELECT * FROM shop ORDER BY id', '{"method": "records"}');
:found FROM dedup('shop', '{"method": "records", "columns": ["name", "address", "city", "phone"]}');
SELECT count(*) AS "another order, other rows" FROM (
    SELECT least(id, keeper), greatest(id, keeper) FROM dedup('SELECT * FROM shop ORDER BY md5(id::text)', '{"method": "records"}')
    EXCEPT SELECT least(id, keeper), greatest(id, keeper) FROM dedup('SELECT * FROM shop ORDER BY id', '{"method": "records"}')) AS differ(a, b) WHERE a <> b;
-- The similarity is a probability, there is no distance, and the column that rows are kept by is not compared.
SELECT stage, count(*), count(distance) AS distances, min(similarity) >= 0.9 AS sure FROM dedup('SELECT * FROM shop ORDER BY id', '{"method": "records"}') GROUP BY stage ORDER BY stage;
SELECT count(*) FILTER (WHERE keeper - id = 1000) AS "the last is kept" FROM dedup('SELECT * FROM shop ORDER BY id', '{"method": "records", "keep": {"column": "id", "order": "desc"}}');
-- Nothing but NULL, one row, equal rows, columns that are everywhere the same.
SELECT * FROM dedup('SELECT 1, NULL::text, NULL::text UNION ALL SELECT 2, NULL, NULL', '{"method": "records"}');
SELECT * FROM dedup('SELECT 1, ''a b''::text, 3', '{"method": "records"}');
SELECT * FROM dedup('SELECT i, ''a b''::text, 3 FROM generate_series(1, 3) i', '{"method": "records"}');
SELECT count(*) AS rows, count(*) FILTER (WHERE id = keeper) AS kept FROM dedup('SELECT i, ''all''::text, 7, NULL::text, md5(i::text) FROM generate_series(1, 100) i', '{"method": "records"}');
SELECT count(*) FROM dedup('SELECT id, name, address FROM shop WHERE false', '{"method": "records"}');
-- What is learned.
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT count(*) FROM dedup('SELECT id, name, address, city, phone FROM shop ORDER BY id', '{"method": "records"}');
\set VERBOSITY default
-- Why: a shop and its second row, one without telephone, a branch of the same name. What is shown adds up to the total, and that to
-- the similarity; equal rows are one without that; ids that are no row's are left out.
SET client_min_messages = warning;
\set shops '$$SELECT id, name, address, city, phone FROM shop ORDER BY id$$'
SELECT a, b, "column", part, in_a, in_b, round(value::numeric, 1) AS bits
FROM dedup_explain(:shops, 'VALUES (3, 1003), (12, 1012), (1, 2001), (1, 1), (1, 999999)', '{"method": "records"}');
SELECT count(*) AS pairs, max(abs(total - shown)) < 1e-9 AS "adds up", max(abs(1 / (1 + 2 ^ -total) - similarity)) < 1e-9 AS "is the similarity",
    bool_and(total >= needed) AS enough
FROM (SELECT e.b, d.similarity, max(value) FILTER (WHERE part = 'total') AS total, max(value) FILTER (WHERE part = 'needed') AS needed,
          sum(value) FILTER (WHERE part NOT IN ('total', 'needed')) AS shown
      FROM dedup_explain(:shops, 'SELECT id - 1000, id FROM shop WHERE id BETWEEN 1000 AND 1999', '{"method": "records"}') e
      JOIN dedup(:shops, '{"method": "records"}') d ON d.id = e.b GROUP BY e.b, d.similarity) AS pair;
SELECT a, b, part FROM dedup_explain('SELECT ''no '' || id, name, address, phone FROM shop', 'VALUES (''no 3'', ''no 1003'')', '{"method": "records"}', NULL::text)
WHERE "column" IS NOT NULL;
SELECT a, b, part FROM dedup_explain('SELECT id, name, address FROM shop WHERE false', 'VALUES (1, 2)', '{"method": "records"}');
-- Shown is what dedup decides, of empty and equal rows too; an id padded with blanks is that id.
SELECT a, b, part FROM dedup_explain('VALUES (1, ''a b'', ''c''), (2, ''a b'', ''c''), (3, NULL, NULL), (4, NULL, NULL)', 'VALUES (1, 2), (1, 3), (3, 4)', '{"method": "records"}');
SELECT a, b, part FROM dedup_explain('SELECT 1, NULL::text, NULL::text UNION ALL SELECT 2, NULL, NULL', 'VALUES (1, 2)', '{"method": "records"}');
SELECT count(DISTINCT (a, b)) AS pairs, count(*) FILTER (WHERE part = 'one group') AS "one group", count(*) FILTER (WHERE (part = 'one group') <> (x.keeper = y.keeper)) AS wrong
FROM dedup_explain(:shops, 'SELECT a.id, b.id FROM shop a, shop b WHERE a.id % 20 = 3 AND b.id % 20 = 3', '{"method": "records"}') e
JOIN dedup(:shops, '{"method": "records"}') x ON x.id = a JOIN dedup(:shops, '{"method": "records"}') y ON y.id = b WHERE part LIKE '%group%';
SELECT a, b, part FROM dedup_explain('SELECT id::char(8) AS id, name, address, phone FROM shop', 'VALUES (''3'', ''1003'')', '{"method": "records"}', NULL::bpchar)
WHERE part = 'one group';
RESET client_min_messages;
-- Different people who share names and years stay; second records go. (Of a smaller table than a register's.)
CREATE TABLE people AS WITH f AS (SELECT array_agg(chr(65+(i*7)%26)||substr(md5(i::text),1,5) ORDER BY i) a FROM generate_series(1,150) i),
    l AS (SELECT array_agg(chr(65+(i*11)%26)||substr(md5('l'||i),1,6) ORDER BY i) a FROM generate_series(1,300) i)
SELECT g::bigint id, f.a[1+(hashint4(g)&2147483647)%150] given, l.a[1+(hashint4(g*3)&2147483647)%300] family, 1930+(hashint4(g*5)&2147483647)%70 y,
    1+(hashint4(g*7)&2147483647)%12 m, 1+(hashint4(g*11)&2147483647)%28 d FROM generate_series(1,4500) g, f, l;
INSERT INTO people SELECT id+10000, CASE WHEN id%3=0 THEN overlay(given placing 'q' from 3 for 1) ELSE given END,
    CASE WHEN id%3=1 THEN overlay(family placing 'z' from 4 for 1) ELSE family END, y, CASE WHEN id%3=2 THEN 1+m%12 ELSE m END, d FROM people WHERE id<=500;
SELECT count(*) FILTER (WHERE id<>keeper) AS removed, count(*) FILTER (WHERE id=keeper+10000) AS right, count(*) FILTER (WHERE id<10000 AND id<>keeper) AS lost
FROM dedup('SELECT id,given,family,y,m,d FROM people ORDER BY id', '{"method":"records"}');
DROP TABLE people;
-- What is refused.
SELECT dedup_explain('SELECT id % 300, name, phone FROM shop', 'VALUES (1, 2)', '{"method": "records"}');
SELECT dedup_explain('shop', NULL, '{"method": "records"}');
SELECT dedup_explain('shop', 'SELECT 1', '{"method": "records", "columns": ["name", "phone"]}');
SELECT dedup_explain('SELECT id::text, name, phone FROM shop', 'VALUES (1, 2)', '{"method": "records"}');
SELECT dedup('SELECT id, name FROM shop', '{"method": "records"}');
SELECT count(*) FROM dedup('shop', '{"method": "records"}');
SELECT dedup('SELECT * FROM shop', '{"method": "records", "n": 2}');
SELECT dedup('SELECT * FROM shop', '{"method": "record"}');
CALL dedup_into('shop_groups', 'SELECT * FROM shop', '{"method": "records"}');
SELECT count(*) FILTER (WHERE (g.keeper, g.stage) = (d.keeper, d.stage)) = count(*) AS same FROM shop_groups g FULL JOIN dedup('SELECT * FROM shop', '{"method": "records"}') d USING (id);
SELECT dedup_setup('shop', '{"columns": "name", "method": "records"}');
SELECT dedup_setup('shop', '{"columns": {"name": 2, "phone": 1}, "method": "records"}');
SELECT dedup_setup('shop', '{"columns": ["name", "phone"], "method": "records", "distance": 3}');
SELECT record_keys('{a,b}', 'nx');
SET pg_dedup.memory_limit = '100kB';
SELECT count(*) FROM dedup('SELECT * FROM shop', '{"method": "records"}');
RESET pg_dedup.memory_limit;
-- Settings: the model is learned once and stored; a row alone is judged by it as in the table, whoever asks. A date is compared too,
-- whatever DateStyle a session has, and equal rows are found whatever they have.
SET client_min_messages = warning;
CREATE TABLE client (id bigint PRIMARY KEY, name text, address text, born date, phone text) WITH (autovacuum_enabled = false);
INSERT INTO client SELECT id, name, address, date '1950-01-01' + (id % 1000 * 17)::int, phone FROM shop;
INSERT INTO client VALUES (5000, 'Zoe', NULL, NULL, NULL), (5001, 'Zoe', NULL, NULL, NULL), (5002, NULL, NULL, NULL, NULL);
SELECT * FROM dedup_setup('client', '{"columns": ["name", "address", "born", "phone"], "method": "records"}');
SELECT dedup_setup('client');
SET datestyle = 'SQL, DMY';
CREATE TEMP TABLE verdict AS SELECT c.id AS a, f.id AS b, f.similarity FROM client c, dedup_find(c) f;
SELECT count(*) > 100 AS found, min(similarity) >= 0.9 AS sure, count(*) FILTER (WHERE (b, a) NOT IN (SELECT a, b FROM verdict)) AS "one way" FROM verdict;
SELECT count(*) FILTER (WHERE stage IN ('exact', 'near')) > 90 AS found, count(*) FILTER (WHERE id <> keeper AND (id, keeper) NOT IN (SELECT a, b FROM verdict)) AS "not found"
FROM dedup('client');
SELECT count(*) FROM verdict JOIN dedup('client') x ON x.id = a JOIN dedup('client') y ON y.id = b WHERE x.stage = 'kept' AND y.stage = 'kept';
SELECT (SELECT count(*) FROM dedup_clean('client')) = count(*) AS same FROM dedup('client') WHERE stage IN ('exact', 'near');
CALL dedup_into('client_groups', 'client');
SELECT count(*) FROM client_groups g JOIN dedup('client') d USING (id) WHERE (g.keeper, g.stage, g.similarity) IS DISTINCT FROM (d.keeper, d.stage, d.similarity);
SELECT DISTINCT part FROM dedup_explain('client', 'SELECT id, keeper FROM client_groups WHERE stage = ''near'' LIMIT 1', '{}') WHERE "column" IS NULL ORDER BY 1;
SELECT dedup_report('client') LIKE '%probability%' AS told;
RESET datestyle;
-- The guard, with settings and without.
CREATE TRIGGER alone AFTER INSERT OR UPDATE ON client FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
INSERT INTO client SELECT 6000, 'The ' || name, address, born, phone FROM client WHERE id = 1;
INSERT INTO client SELECT 6000, 'Somebody else', 'elsewhere 1', NULL, '000';
UPDATE client SET name = 'Nobody' WHERE id = 6000;
DROP TRIGGER alone ON client;
CREATE TRIGGER alone BEFORE INSERT ON client FOR EACH ROW EXECUTE FUNCTION near_dup_guard('action=skip');
INSERT INTO client SELECT 6001, 'The ' || name, address, born, phone FROM client WHERE id IN (1, 2);
SELECT count(*) FROM client WHERE id = 6001;
SELECT dedup_setup('client', '{"drop": true}');
DROP TRIGGER alone ON client;
CREATE TRIGGER alone AFTER INSERT ON client FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'method=records', 'columns={name,phone}');
INSERT INTO client (id, name) VALUES (7000, 'x');
DROP TABLE client, client_groups, client_groups_merges, client_groups_state;
RESET client_min_messages;
-- A table of no rows, whose columns are of no kind yet; one that has doubled since it was learned from, told once a session.
CREATE TABLE client (id bigint PRIMARY KEY, name text, phone text);
SELECT * FROM dedup_setup('client', '{"columns": ["name", "phone"], "method": "records"}');
INSERT INTO client SELECT g, md5(g::text), 5550000 + g FROM generate_series(1, 300) g;
SELECT * FROM dedup_setup('client');
INSERT INTO client SELECT g, md5(g::text), 5550000 + g FROM generate_series(301, 12000) g;
ANALYZE client;
SELECT count(*) FROM client, dedup_find(client) WHERE client.id < 3;
SELECT count(*) FROM dedup_setup('client');
SELECT count(*) FROM client, dedup_find(client) WHERE client.id < 3;
SELECT * FROM dedup_setup('client', '{"method": null}', dry_run => true);
DROP TABLE client;
-- What is filled as a row comes tells nothing of what it is of: the day, a number, a token. A constant is compared.
CREATE TABLE visitor (id int PRIMARY KEY, name text, phone text, mail text, seen date DEFAULT CURRENT_DATE, number int GENERATED BY DEFAULT AS IDENTITY,
    token text DEFAULT gen_random_uuid()::text, note varchar(20) DEFAULT 'n/a (none)');
INSERT INTO visitor (id, name, phone, mail) SELECT g, md5(g::text), 5550000 + g * 37, g || '@x.org' FROM generate_series(1, 120) g;
SELECT count(*) FROM dedup('visitor') WHERE id <> keeper;
DROP TABLE visitor;
-- A guard finds what the index has, in which a boolean is written out.
CREATE TABLE member (id int PRIMARY KEY, name text, paid boolean);
INSERT INTO member SELECT i, CASE WHEN i % 4 = 0 THEN 'Anna Abel' ELSE 'N' || md5(i::text) END, i % 100 = 1 FROM generate_series(1, 2000) i;
SELECT count(*) FROM dedup_setup('member', '{"method": "records", "columns": ["name", "paid"]}');
CREATE TRIGGER near_dup AFTER INSERT ON member FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
INSERT INTO member VALUES (3001, 'Anna Abel', true);
INSERT INTO member VALUES (3002, 'Anna Abel', true);
DROP TABLE member;
DROP TABLE shop, shop_groups, shop_groups_merges, shop_groups_state;
DROP FUNCTION word;
DROP EXTENSION pg_dedup;
