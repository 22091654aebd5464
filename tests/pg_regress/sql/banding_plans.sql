-- What the planner makes of the functions.
CREATE EXTENSION pg_dedup;
CREATE TABLE petition AS SELECT n AS id, '小区停水' || n || '天，物业不管' AS body FROM generate_series(1, 5000) n;
CREATE INDEX petition_fp ON petition (simhash(body, '{"tokens": "words"}'));
ANALYZE petition;
SET max_parallel_workers_per_gather = 0;
-- near_dup of texts is looked through: simhash of the column as an index has
-- it, and the other side computed once.
EXPLAIN (VERBOSE, COSTS OFF)
  SELECT id FROM petition WHERE near_dup(body, '停水', 3, '{"tokens": "words"}');
EXPLAIN (VERBOSE, COSTS OFF)
  SELECT id FROM petition WHERE near_dup('停水', body);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF)
  SELECT id FROM petition WHERE simhash(body, '{"tokens": "words"}') = simhash('停水'::text, '{"tokens": "words"}');
RESET enable_seqscan;
-- Constants are folded when the query is planned.
EXPLAIN (COSTS OFF, VERBOSE) SELECT simhash('停水'::text, '{"tokens": "words"}'), hamming(1, 2), 1::bigint <~> 2::bigint;
-- The aggregate and the functions run in workers.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
EXPLAIN (COSTS OFF) SELECT simhash_agg(body, 1) FROM petition;
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE near_dup(simhash(body), 42);
EXPLAIN (COSTS OFF) SELECT count(*) FROM petition WHERE near_dup(body, '停水', 20);
CREATE TABLE in_parallel AS SELECT id, simhash(body) AS fp FROM petition;
CREATE TABLE of_all AS SELECT simhash_agg(body, id % 10) AS fp FROM petition;
SET max_parallel_workers_per_gather = 0;
SELECT count(*), bool_and(fp = simhash(body)) AS same FROM petition JOIN in_parallel USING (id);
SELECT fp = (SELECT simhash_agg(body, id % 10) FROM petition) AS same FROM of_all;
DROP TABLE petition, in_parallel, of_all;
DROP EXTENSION pg_dedup;
