-- ORDER BY fp <~> q through the index: the rows and the order of a sequential scan.
CREATE EXTENSION pg_dedup;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE post (id bigint PRIMARY KEY, fp bigint);
INSERT INTO post SELECT n, hashint8extended(n, 0) FROM generate_series(1, 20000) n;
INSERT INTO post VALUES (20001, NULL), (20002, NULL);
CREATE INDEX post_fp ON post USING banding (fp);
VACUUM ANALYZE post;
-- A column that may be NULL, as a generated one, does not keep the index from its work.
EXPLAIN (COSTS OFF) SELECT id FROM post ORDER BY fp <~> 17 LIMIT 10;
EXPLAIN (COSTS OFF) SELECT * FROM post q, LATERAL (SELECT id FROM post ORDER BY fp <~> q.fp LIMIT 3) n WHERE q.id < 4;
-- Rows that are NULL come last, however the rest is asked for.
SET enable_seqscan = off;
SET enable_sort = off;
SET enable_bitmapscan = off;
CREATE FUNCTION tail(query text) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE plan text := ''; line text; n int; last text;
  BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP plan := plan || line; END LOOP;
    EXECUTE format($q$SELECT count(*), right(string_agg(' ' || id, ''), 24) FROM (%s) s$q$, query) INTO n, last;
    RETURN format('%s rows, the last:%s%s', n, last, CASE WHEN plan ~ 'Index Scan.*Order By' THEN '' ELSE ' WITHOUT THE INDEX' END);
  END $$;
SELECT tail('SELECT id FROM post ORDER BY fp <~> 17');
SELECT tail('SELECT id FROM post ORDER BY fp <~> 17 OFFSET 19999');
SELECT tail('SELECT id FROM post WHERE id > 20000 ORDER BY fp <~> 17');
SELECT tail('SELECT id FROM post ORDER BY fp <~> (SELECT NULL::bigint) OFFSET 20000');
SELECT tail('SELECT id FROM post WHERE fp IS NULL ORDER BY fp <~> 17');
SELECT tail('SELECT id FROM post WHERE near_dup(fp, 17, 64) ORDER BY fp <~> 17') ~ '^20000 rows' AS without_null;
-- IS NULL is answered by the index, and reads no more of it than it must.
EXPLAIN (COSTS OFF) SELECT id FROM post WHERE fp IS NULL;
SELECT string_agg(id::text, ' ') FROM post WHERE fp IS NULL;
SELECT count(*) FROM post WHERE fp IS NULL AND fp IS NOT NULL;
SELECT count(*) FROM post WHERE fp IS NULL AND near_dup(fp, 17, 64);
SELECT count(*) FROM post WHERE fp IS NOT NULL AND near_dup(fp, 17, 64);
-- The rows that the snapshot sees, in their versions of that time.
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM post ORDER BY fp <~> 17;
MOVE 19999 FROM c;
UPDATE post SET id = id + 100 WHERE fp IS NULL;
INSERT INTO post VALUES (20003, NULL);
FETCH 5 FROM c;
FETCH BACKWARD 2 FROM c;
CLOSE c;
SELECT tail('SELECT id FROM post ORDER BY fp <~> 17 OFFSET 20000');
UPDATE post SET id = id + 100 WHERE fp IS NULL;
SELECT tail('SELECT id FROM post ORDER BY fp <~> 17 OFFSET 20000');
ROLLBACK;
SELECT tail('SELECT id FROM post ORDER BY fp <~> 17 OFFSET 20000');
-- Many of them, and twice the same by an outer row.
CREATE TABLE empty (id bigint, fp bigint, kind int);
INSERT INTO empty SELECT n, NULLIF(n, n), n % 2 FROM generate_series(1, 100000) n;
INSERT INTO empty VALUES (0, 1, 0);
CREATE INDEX empty_fp ON empty USING banding (fp);
ANALYZE empty;
SELECT q, n.* FROM unnest('{1,2}'::bigint[]) q,
  LATERAL (SELECT count(*), count(DISTINCT id), sum(id), count(fp) FROM (SELECT * FROM empty ORDER BY fp <~> q) s) n;
SELECT q, n.* FROM unnest('{1,2,NULL}'::bigint[]) q,
  LATERAL (SELECT count(*), count(fp) FROM (SELECT * FROM empty ORDER BY fp <~> q LIMIT 30000) s) n;
-- A partial index: its rows only. One that excludes NULL, or a column that cannot be, asks for nothing of the table.
DROP INDEX empty_fp;
CREATE INDEX empty_odd ON empty USING banding (fp) WHERE kind = 1;
SELECT tail('SELECT id FROM empty WHERE kind = 1 ORDER BY fp <~> 17');
CREATE INDEX empty_not ON empty USING banding (fp) WHERE fp IS NOT NULL;
-- Blocks of tables and indexes; caches that are thrown away all the time would be read from the catalogue.
CREATE FUNCTION blocks(query text) RETURNS numeric LANGUAGE plpgsql SET debug_discard_caches = 0 AS $$
  DECLARE plan json; BEGIN EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT json) ' || query INTO plan;
    RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int; END $$;
EXPLAIN (COSTS OFF) SELECT id FROM empty WHERE fp IS NOT NULL ORDER BY fp <~> 17;
SELECT blocks('SELECT id FROM empty WHERE fp IS NOT NULL ORDER BY fp <~> 17 LIMIT 10') < 50 AS of_the_index;
CREATE TABLE never (id bigint, fp bigint NOT NULL, pad text);
INSERT INTO never SELECT n, n, repeat('x', 1000) FROM generate_series(1, 2000) n;
CREATE INDEX never_one ON never USING banding (fp) WHERE id < 10;
ANALYZE never;
SELECT blocks('SELECT id FROM never WHERE id < 10 ORDER BY fp <~> 17 LIMIT 100') < 50 AS of_the_index;
-- Several orders: the second decides between rows that are equally far by the first.
SELECT string_agg(d, ' ') FROM (SELECT concat(fp <~> 1, '/', fp <~> 2) AS d FROM never ORDER BY fp <~> 1, fp <~> 2 LIMIT 20) s;
CREATE INDEX never_fp ON never USING banding (fp);
SELECT string_agg(d, ' ') FROM (SELECT concat(fp <~> 1, '/', fp <~> 2) AS d FROM never ORDER BY fp <~> 1, fp <~> 2 LIMIT 20) s;
EXPLAIN (COSTS OFF) SELECT id FROM never ORDER BY fp <~> 1, fp <~> 2 LIMIT 20;
SELECT string_agg(d, ' ') FROM (SELECT concat(fp <~> 1, '/', fp <~> 2) AS d FROM never ORDER BY fp <~> 1, fp <~> (SELECT NULL::bigint), fp <~> 2 LIMIT 20) s;
SELECT string_agg(d, ' ') FROM (SELECT concat(fp <~> 1, '/', fp <~> 2) AS d FROM never ORDER BY fp <~> (SELECT NULL::bigint), fp <~> 1, fp <~> 2 LIMIT 20) s;
-- Where few rows meet another condition, an ordered scan reads many rows of the table for each: then it is not the cheapest way.
CREATE TABLE tagged AS SELECT n AS id, n % 200 AS tag, hashint8extended(n, 1) AS fp, repeat('x', 100) AS pad FROM generate_series(1, 50000) n;
CREATE INDEX ON tagged (tag);
CREATE INDEX ON tagged USING banding (fp);
ANALYZE tagged;
RESET enable_seqscan; RESET enable_sort; RESET enable_bitmapscan;
EXPLAIN (COSTS OFF) SELECT id FROM tagged WHERE tag = 7 ORDER BY fp <~> 42 LIMIT 10;
EXPLAIN (COSTS OFF) SELECT id FROM tagged WHERE tag < 400 ORDER BY fp <~> 42 LIMIT 10;
DROP TABLE post, empty, never, tagged;
DROP FUNCTION tail, blocks;
DROP EXTENSION pg_dedup;
