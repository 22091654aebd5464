-- The background of distances, and settings for a kind of text.
CREATE EXTENSION pg_dedup;
CREATE TABLE prints AS SELECT n AS id, hashint8extended(n / 2, 1) # (n % 2) * 5 AS fp FROM generate_series(2, 601) n;
SELECT radius, nearest, round(expected_false_pairs::numeric, 1) AS false_pairs, probes, "precision", recall, histogram, advice
FROM near_dup_calibrate('SELECT id, fp FROM prints', 'SELECT a.id, a.id + 1 FROM prints a WHERE a.id % 2 = 0') WHERE radius <= 6 OR advice IS NOT NULL;
SELECT count(*), max(expected_false_pairs) FROM near_dup_calibrate('SELECT 1, 2::bigint');
SELECT method, weights, n, threshold FROM dedup_suggest('SELECT ''小区停水怎么办'' || n FROM generate_series(1, 50) n');
SELECT method, weights, n, threshold FROM dedup_suggest('SELECT repeat(''小区停水怎么办'' || n, 9) FROM generate_series(1, 50) n');
SELECT method, weights, n, threshold FROM dedup_suggest('SELECT repeat(''<p>No water in house '' || n || '' today</p>'', 9) FROM generate_series(1, 50) n');
DROP TABLE prints;
DROP EXTENSION pg_dedup;
