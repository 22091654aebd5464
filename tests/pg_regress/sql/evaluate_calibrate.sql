-- The background of distances, and settings for a kind of text.
CREATE EXTENSION pg_dedup;
CREATE TABLE prints AS SELECT n AS id, hashint8extended(n / 2, 1) # (n % 2) * 5 AS fp FROM generate_series(2, 601) n;
SELECT distance, nearest, round(expected_false_pairs::numeric, 1) AS false_pairs, probes, "precision", recall, histogram, advice
FROM near_dup_calibrate('SELECT id, fp FROM prints', 'SELECT a.id, a.id + 1 FROM prints a WHERE a.id % 2 = 0') WHERE distance <= 6 OR advice IS NOT NULL;
-- Precision is counted in a large table too; a true pair of which a row is missing is missed.
CREATE TABLE many AS SELECT n AS id, hashint8extended(n / 4, 1) # (n % 4) AS fp FROM generate_series(4, 41003) n;
CREATE FUNCTION judged() RETURNS text LANGUAGE sql RETURN
    'SELECT id, id + 1.0 FROM many WHERE id % 4 = 2 UNION ALL SELECT -n, n FROM generate_series(1, 10250) n';
WITH near AS (SELECT *, a + 1 = b AND a % 4 = 2 AS correct FROM near_dup_pairs('SELECT id, fp FROM many', '{"distance": 3}')),
     counted AS (SELECT d AS distance, count(*) AS pairs, count(*) FILTER (WHERE correct) AS correct FROM generate_series(0, 3) d JOIN near ON near.distance <= d GROUP BY d)
SELECT distance, "precision", recall, "precision" = round(1.0 * correct / pairs, 4)::float8 AND recall = round(correct / 20500.0, 4)::float8 AS exact
FROM near_dup_calibrate('SELECT id, fp FROM many', judged()) JOIN counted USING (distance) ORDER BY distance;
DROP FUNCTION judged;
DROP TABLE many;
SELECT * FROM near_dup_calibrate('SELECT id, id::text FROM prints');
SELECT * FROM near_dup_calibrate('SELECT fp FROM prints');
SELECT * FROM near_dup_calibrate('prints');
SELECT count(*), max(expected_false_pairs) FROM near_dup_calibrate('SELECT 1, 2::bigint');
SELECT method, recipe, n, similarity FROM dedup_suggest('SELECT ''怎么办'' || translate(md5(n::text), ''0123456789abcdef'', ''小区停水道路电灯公交学校噪音垃圾'') FROM generate_series(1, 50) n');
SELECT method, recipe, n, similarity FROM dedup_suggest('SELECT string_agg(translate(md5(n::text || m), ''0123456789abcdef'', ''小区停水道路电灯公交学校噪音垃圾''), ''，'') FROM generate_series(1, 50) n, generate_series(1, 3) m GROUP BY n');
SELECT method, recipe, n, similarity FROM dedup_suggest('SELECT repeat(''<p>No water in house '' || n || '' today</p>'', 9) FROM generate_series(1, 50) n');
-- No text, no column, no query.
SELECT * FROM dedup_suggest('SELECT body FROM (VALUES (NULL::text), (''…'')) v(body)');
SELECT * FROM dedup_suggest('SELECT FROM prints');
SELECT * FROM dedup_suggest('"My".prints');
-- Letters in common by chance raise the similarity that is asked for.
SELECT method, n, similarity FROM dedup_suggest('SELECT translate(md5(n::text), ''0123456789abcdef'', ''aeaeaeaeioioioio'') FROM generate_series(1, 2500) n');
-- What is suggested is what dedup takes, of the same query.
CREATE TABLE petition AS SELECT n AS id, repeat('小区停水' || n / 2 || '天了，请尽快派人处理' || chr(20000 + n / 2 * 37), 5) || CASE n % 2 WHEN 0 THEN '' ELSE '谢谢' END AS body FROM generate_series(2, 41) n;
CREATE FUNCTION q() RETURNS text LANGUAGE sql IMMUTABLE RETURN 'SELECT id, body FROM petition';
SELECT key FROM dedup_suggest(q()) s, jsonb_object_keys(s.options) key ORDER BY key;
SET client_min_messages = warning;
SELECT count(*) AS rows, count(DISTINCT keeper) AS groups, count(*) FILTER (WHERE stage = 'near') AS near
FROM (SELECT (dedup(q(), s.options)).* FROM dedup_suggest(q()) s) d;
RESET client_min_messages;
SELECT s.method = t.method AS "one column or two" FROM dedup_suggest(q()) s, dedup_suggest('SELECT body FROM petition') t;
DROP FUNCTION q;
DROP TABLE petition, prints;
DROP EXTENSION pg_dedup;
