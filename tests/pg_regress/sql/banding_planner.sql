-- near_dup and <@ as index conditions.
CREATE EXTENSION pg_dedup;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
-- 20,000 unrelated rows, and 1,000 that are one to three bits from one of them.
CREATE TABLE post (id bigint PRIMARY KEY, grp int, fp bigint);
INSERT INTO post SELECT n, n % 10, hashint8extended(n, 0) FROM generate_series(1, 20000) n;
INSERT INTO post SELECT 20000 + n, n % 10, hashint8extended(n, 0) # (1::bigint << n % 64) # (1::bigint << n % 7)
  FROM generate_series(1, 1000) n;
CREATE INDEX post_fp ON post USING banding (fp);
VACUUM ANALYZE post;
CREATE TABLE small AS SELECT * FROM post WHERE id <= 50;
CREATE INDEX ON small USING banding (fp);
ANALYZE small;
-- Whichever side is the column, constants are folded.
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, 8);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(17, fp);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(a => 17, b => fp, distance => 2 + 3);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE fp <@ hamming_ball(17, 8);
-- A subquery, whose value versions write in other ways; a stable expression, a set-returning outer side.
DO $$ DECLARE line text; BEGIN
  FOR line IN EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, (SELECT fp FROM post WHERE id = 5), 3) LOOP
    RAISE NOTICE '%', regexp_replace(regexp_replace(line, '\(InitPlan \w+\)\.col1', '$0'), 'InitPlan .*', 'InitPlan');
  END LOOP;
END $$;
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, extract(epoch FROM now())::bigint, 3);
EXPLAIN (COSTS OFF) SELECT * FROM unnest('{1,2}'::bigint[]) q JOIN post ON near_dup(fp, q, 4);
-- Not: the row's own columns, volatile expressions, other access methods.
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, id, 3);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, grp);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, (random() * 10)::bigint, 3);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(id, 17, 3);
-- Nor comparisons of a distance, which are plain filters.
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE hamming(fp, 17) <= 8;
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE fp <~> 17 <= 8;
-- Small tables are read whole.
EXPLAIN (COSTS OFF) SELECT * FROM small WHERE near_dup(fp, 17, 3);
-- By distance: index, bitmap, the whole table. (PostgreSQL keeps a rewritten condition as the filter of a bitmap scan.)
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, 0);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, 12);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, 24);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, 48);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, 64);
-- All rows in order of distance are sorted, for a tree would be read several times; the first ones are searched.
EXPLAIN (COSTS OFF) SELECT * FROM post ORDER BY fp <~> 17;
EXPLAIN (COSTS OFF) SELECT * FROM post ORDER BY fp <~> 17 LIMIT 5;
-- A search costs no less than a narrower one.
CREATE FUNCTION cost(query text) RETURNS numeric LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan; RETURN plan->0->'Plan'->>'Total Cost'; END $$;
SELECT d, cost, narrower FROM (SELECT d, cost, lag(cost) OVER (ORDER BY d) AS narrower
  FROM (SELECT d, cost(format('SELECT FROM post WHERE near_dup(fp, 17, %s)', d)) FROM generate_series(0, 64) d) s) s WHERE cost < narrower;
-- The estimates are of the right size; contsel would say 21.
CREATE FUNCTION estimate(query text) RETURNS numeric LANGUAGE plpgsql AS $$
  DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (FORMAT json) ' || query INTO plan; RETURN plan->0->'Plan'->>'Plan Rows'; END $$;
SELECT d, estimate <= 8 * actual + 8 AND actual <= 8 * estimate + 8 AS close
FROM (SELECT d, estimate(format('SELECT * FROM post WHERE near_dup(fp, %s, %s)', fp, d)),
             (SELECT count(*) FROM post o WHERE hamming(o.fp, q.fp) <= d) AS actual
      FROM post q, unnest('{-1,0,3,8,16,20,24,28,32,40,64,100}'::int[]) d WHERE q.id = 20007) s;
SELECT estimate('SELECT * FROM post WHERE near_dup(fp, 17)') AS near, estimate('SELECT * FROM post WHERE fp <@ hamming_ball(17, 64)') AS all;
SELECT estimate('SELECT * FROM post a JOIN post b ON near_dup(a.fp, b.fp, 3)') BETWEEN 10000 AND 60000 AS pairs;
-- A ball from a function of the user's: nothing is known of it, whatever its arguments.
CREATE FUNCTION mk(a text, b text) RETURNS hamming_ball IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN hamming_ball(length(a), length(b)); END';
CREATE FUNCTION mk(a text) RETURNS hamming_ball IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN hamming_ball(length(a), 3); END';
CREATE TABLE said AS SELECT 'word ' || n AS word FROM generate_series(1, 100) n;
ANALYZE said;
SELECT estimate('SELECT FROM said, post WHERE fp <@ mk(word, ''x'')') = estimate('SELECT FROM said, post WHERE fp <@ mk(word)') AS same;
EXPLAIN (COSTS OFF) SELECT FROM said, post WHERE fp <@ mk(word, 'x');
SELECT count(*) FROM said, post WHERE fp <@ mk(word, 'x') OR fp <@ mk('', word || 'twenty letters more..');
DROP TABLE said;
DROP FUNCTION mk(text, text), mk(text);
-- A negative distance is met by nothing, NULL neither; 64 by all that have a fingerprint.
SET enable_seqscan = off;
SELECT count(*) FROM post WHERE near_dup(fp, 17, -1);
SELECT count(*) FROM post WHERE near_dup(fp, 17, NULL);
SELECT count(*) FROM post WHERE near_dup(fp, NULL, 3);
SELECT count(*) FROM post WHERE near_dup(fp, 17, 2147483647);
SELECT hamming_ball(17, -9), hamming_ball(17, 99), 17 <@ hamming_ball(17, -1) AS holds;
RESET enable_seqscan;
-- Prepared statements: the radius too may be a parameter.
PREPARE find(bigint, int) AS SELECT id FROM post WHERE near_dup(fp, $1, $2) ORDER BY id;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE find(17, 3);
EXECUTE find(hashint8extended(9, 0), 3);
EXECUTE find(hashint8extended(9, 0), -3);
EXECUTE find(NULL, 3);
SET plan_cache_mode = force_custom_plan;
EXPLAIN (COSTS OFF) EXECUTE find(17, 3);
EXPLAIN (COSTS OFF) EXECUTE find(17, 40);
EXECUTE find(hashint8extended(9, 0), 3);
RESET plan_cache_mode;
-- OR and AND.
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, 3) OR near_dup(99, fp, 3);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, 3) AND near_dup(fp, 99, 5);
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, 20) AND id < 3000;
EXPLAIN (COSTS OFF) SELECT * FROM post WHERE near_dup(fp, 17, 3) OR id = 7;
SELECT count(*) FROM post WHERE near_dup(fp, hashint8extended(9, 0), 3) OR near_dup(hashint8extended(11, 0), fp, 3);
SELECT count(*) FROM post WHERE near_dup(fp, hashint8extended(9, 0), 30) AND near_dup(fp, hashint8extended(11, 0), 30) AND id < 3000;
SELECT count(*) FROM post WHERE hamming(fp, hashint8extended(9, 0)) <= 30 AND hamming(fp, hashint8extended(11, 0)) <= 30 AND id < 3000;
-- One is enough: a LIMIT 1 reads a handful of pages, however many rows match.
CREATE TABLE same AS SELECT n AS id, 42::bigint AS fp FROM generate_series(1, 30000) n;
CREATE INDEX ON same USING banding (fp);
VACUUM ANALYZE same;
-- Blocks of tables and indexes; caches that are thrown away all the time would be read from the catalogue.
CREATE FUNCTION blocks(query text) RETURNS int LANGUAGE plpgsql SET debug_discard_caches = 0 AS $$
  DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
  RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int; END $$;
SET enable_seqscan = off;
SELECT blocks('SELECT FROM same WHERE near_dup(fp, 43, 3) LIMIT 1') < 12 AS few,
       blocks('SELECT EXISTS (SELECT FROM same WHERE near_dup(fp, 43, 3))') < 12 AS exists_few;
SET enable_bitmapscan = off;
SELECT blocks('SELECT FROM post WHERE near_dup(fp, 17, 3)') < 20 AS few;
RESET enable_bitmapscan;
RESET enable_seqscan;
-- Texts: near_dup is looked through, to an expression index.
CREATE TABLE page AS SELECT n AS id, '第' || n * 7919 || '号：小区停水' || n % 977 || '天，物业不管，电话' || n * 104729 AS body FROM generate_series(1, 5000) n;
CREATE INDEX ON page USING banding (simhash(body));
CREATE INDEX ON page USING banding (simhash(body, '{"tokens": "words"}'));
ANALYZE page;
EXPLAIN (COSTS OFF) SELECT id FROM page WHERE near_dup(body, '小区停水');
EXPLAIN (COSTS OFF) SELECT id FROM page WHERE near_dup('小区停水', body, 5, '{"tokens": "words"}');
EXPLAIN (COSTS OFF) SELECT id FROM page WHERE near_dup(body, '小区停水', 3, '{"tokens": "chars"}');
SELECT count(*) > 0 AS found FROM page p JOIN page q ON near_dup(p.body, q.body) WHERE q.id = 77;
-- Nearest first, with other conditions; NULLs are not in the index.
EXPLAIN (COSTS OFF) SELECT id FROM post ORDER BY fp <~> 17 LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM post WHERE grp = 3 ORDER BY fp <~> 17 LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM post WHERE near_dup(fp, 17, 20) ORDER BY fp <~> 17 LIMIT 5;
EXPLAIN (COSTS OFF) SELECT q.id, n.id FROM small q CROSS JOIN LATERAL
  (SELECT id FROM post p ORDER BY p.fp <~> q.fp LIMIT 3) n WHERE q.id < 4;
SELECT q.id, array_agg(n.distance) AS nearest FROM small q CROSS JOIN LATERAL
  (SELECT p.fp <~> q.fp AS distance FROM post p WHERE p.id <> q.id ORDER BY p.fp <~> q.fp LIMIT 2) n WHERE q.id < 4 GROUP BY q.id ORDER BY q.id;
-- Partial indexes serve the queries that imply their condition.
DROP INDEX post_fp;
CREATE INDEX post_some ON post USING banding (fp) WHERE grp = 3;
EXPLAIN (COSTS OFF) SELECT id FROM post WHERE near_dup(fp, 17, 3) AND grp = 3;
EXPLAIN (COSTS OFF) SELECT id FROM post WHERE near_dup(fp, 17, 3) AND grp = 4;
-- Another schema, and no help from the search path.
CREATE SCHEMA elsewhere;
ALTER EXTENSION pg_dedup SET SCHEMA elsewhere;
CREATE TYPE hamming_ball AS (center bigint, radius int);
CREATE FUNCTION hamming_ball(bigint, int) RETURNS hamming_ball LANGUAGE sql RETURN (($1, $2)::hamming_ball);
EXPLAIN (COSTS OFF) SELECT id FROM post WHERE elsewhere.near_dup(fp, 17, 3) AND grp = 3;
PREPARE other(bigint) AS SELECT id FROM post WHERE elsewhere.near_dup(fp, $1, 3) AND grp = 3;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE other(17);
RESET plan_cache_mode;
DROP TABLE post, small, same, page;
DROP FUNCTION cost, estimate, blocks, hamming_ball;
DROP TYPE hamming_ball;
DROP EXTENSION pg_dedup;
DROP SCHEMA elsewhere;
