-- simhash_agg, and what must agree with it: each line below is true.
CREATE EXTENSION pg_dedup;
\t on
-- The features of a text aggregate to its fingerprint, whatever the recipe.
SELECT recipe, (SELECT simhash_agg(feature, weight) FROM simhash_features(text, recipe)) = simhash(text, recipe)
FROM (VALUES ('小区停水三天，物业不管，停水影响生活，请尽快处理')) t(text), (VALUES ('{}'::jsonb), ('{"tokens": "words"}'),
    ('{"tokens": "chars", "n": 4, "weight": "log"}'), ('{"tokens": "shingles", "n": 2, "weight": "one", "factor": 0.3}'),
    ('{"tokens": "words+chars", "terms": {"停水": 3.7}, "stop": ["物业"]}')) r(recipe);
CREATE TABLE p (title text, filed date, body text);
INSERT INTO p VALUES ('停水', '2021-03-04', '小区停水三天，物业不管，停水影响生活，请尽快处理');
SELECT (SELECT simhash_agg(feature, weight) FROM simhash_features(p, weights)) = simhash(p, weights)
FROM p, (VALUES ('{"title": 2, "filed": 0.7, "body": {"tokens": "words", "weight": "log"}}'::jsonb)) w(weights);
-- The features come heaviest first, each once, with a positive weight.
SELECT count(*) = count(DISTINCT feature), min(weight) > 0, bool_and(weight <= before)
FROM (SELECT feature, weight, lag(weight, 1, weight) OVER () AS before
      FROM p, simhash_features(p.body, '{}') f) f;
-- Rows with a NULL are skipped; no row, or none with a weight, is NULL.
SELECT simhash_agg(f, w) IS NULL FROM (SELECT 'a', 1.0 WHERE false) v(f, w);
SELECT simhash_agg(f, w) IS NULL FROM (VALUES ('a', NULL::float8), (NULL, 1), ('b', 0)) v(f, w);
SELECT simhash_agg(f, w) = simhash('a'::text, '{"tokens": "words"}')
FROM (VALUES ('a', 1::float8), ('b', NULL), (NULL, 9), ('c', 0)) v(f, w);
-- Neither order nor repetition of all matters; FILTER and DISTINCT work.
SELECT simhash_agg(n::text, n / 7.0 ORDER BY n) = simhash_agg(n::text, n / 7.0 ORDER BY -n) FROM generate_series(1, 1000) n;
SELECT simhash_agg('a', 1) = simhash_agg('a', 5) FROM generate_series(1, 5);
SELECT simhash_agg(f, 1) FILTER (WHERE f <> 'b') = simhash_agg(DISTINCT 'a', 1) FROM (VALUES ('a'), ('b')) v(f);
-- Groups have their own sums, hashed or sorted.
CREATE TABLE f AS SELECT g, 'word ' || (n * g) AS feature, n % 5 + 0.5 AS weight
FROM generate_series(1, 50) g, generate_series(1, 40) n;
CREATE TABLE grouped AS SELECT g, simhash_agg(feature, weight) AS fp FROM f GROUP BY g;
SELECT count(*), bool_and(fp = (SELECT simhash_agg(feature, weight) FROM f WHERE f.g = grouped.g)) FROM grouped;
SET enable_hashagg = off;
SELECT count(*) FROM (SELECT g, simhash_agg(feature, weight) AS fp FROM f GROUP BY g) s JOIN grouped USING (g, fp);
RESET enable_hashagg;
DROP TABLE f, grouped;
-- Window frames: one that grows asks the same state again and again, one that moves sums anew.
CREATE TABLE f AS SELECT n, n::text AS feature, n % 3 + 1.0 AS weight FROM generate_series(1, 30) n;
SELECT bool_and(growing = (SELECT simhash_agg(g.feature, g.weight) FROM f g WHERE g.n <= s.n)),
       bool_and(moving = (SELECT simhash_agg(g.feature, g.weight) FROM f g WHERE g.n BETWEEN s.n - 4 AND s.n))
FROM (SELECT n, simhash_agg(feature, weight) OVER (ORDER BY n) AS growing,
             simhash_agg(feature, weight) OVER (ORDER BY n ROWS 4 PRECEDING) AS moving FROM f) s;
DROP TABLE f;
-- Parallel workers send their sums as bytes; the leader adds them up.
CREATE TABLE f AS SELECT n % 7 AS g, md5(n::text) AS feature, 1 + n % 13 / 8.0 AS weight FROM generate_series(1, 60000) n;
ANALYZE f;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE alone AS SELECT g, simhash_agg(feature, weight) AS fp FROM f GROUP BY GROUPING SETS (g, ());
SET max_parallel_workers_per_gather = 3;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT simhash_agg(feature, weight) FROM f;
CREATE TABLE parallel AS SELECT g, simhash_agg(feature, weight) AS fp FROM f GROUP BY g
    UNION ALL SELECT NULL, simhash_agg(feature, weight) FROM f;
SELECT count(*) FROM alone JOIN parallel ON alone.g IS NOT DISTINCT FROM parallel.g AND alone.fp = parallel.fp;
RESET max_parallel_workers_per_gather;
-- A tsvector is its lexemes, each position weighed by its label as ts_rank does.
CREATE TABLE v AS SELECT setweight(to_tsvector('english', 'The quick brown foxes'), 'A') ||
    setweight(to_tsvector('english', 'jumped over the lazy dogs; dogs jumping'), 'C') ||
    to_tsvector('english', 'over and over, a quick brown dog') AS v;
SELECT weights, simhash(v, weights) = (
    SELECT simhash_agg(lexeme, (w.weights -> CASE label WHEN 'D' THEN 0 WHEN 'C' THEN 1 WHEN 'B' THEN 2 ELSE 3 END)::float8)
    FROM unnest(v) u, unnest(u.weights) label)
FROM v, (VALUES ('[0.1,0.2,0.4,1]'::jsonb), ('[1,1,1,1]'), ('[0,0,0.5,2]')) w(weights);
SELECT simhash(v) = simhash(v, '[0.1,0.2,0.4,1]'), simhash(v) <> simhash(v, '[1,1,1,1]'), simhash(v) = simhash(v, NULL) FROM v;
-- Without positions a lexeme counts once, under D; an empty vector not at all.
SELECT simhash(strip('fox:3A dog:1,2'::tsvector)) = simhash('fox:1 dog:2'::tsvector),
       simhash(''::tsvector) IS NULL, simhash(NULL::tsvector) IS NULL, simhash('a:1A'::tsvector, '[1,1,1,0]') IS NULL,
       simhash('停水:1'::tsvector) = simhash('停水'::text, '{"tokens": "words"}');
SELECT simhash(v) = (SELECT simhash_agg(u.lexeme, 1) FROM unnest(v) u)
FROM (SELECT array_to_tsvector(array_agg('lexeme' || n)) FROM generate_series(1, 20000) n) s(v);
\t off
DROP TABLE p, f, alone, parallel, v;
DROP EXTENSION pg_dedup;
