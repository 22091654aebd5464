-- Joins on near_dup: a nested loop whose inner side is an index scan.
CREATE EXTENSION pg_dedup;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
CREATE TABLE post (id bigint PRIMARY KEY, fp bigint);
INSERT INTO post SELECT n, hashint8extended(n, 0) FROM generate_series(1, 20000) n;
INSERT INTO post SELECT 20000 + n, hashint8extended(n, 0) # (1::bigint << n % 64) FROM generate_series(1, 500) n;
CREATE INDEX ON post USING banding (fp);
VACUUM ANALYZE post;
CREATE TABLE incoming AS SELECT n AS id, hashint8extended(n * 97, 0) # 5 AS fp FROM generate_series(1, 300) n;
INSERT INTO incoming VALUES (301, NULL);
ANALYZE incoming;
EXPLAIN (COSTS OFF) SELECT * FROM incoming i JOIN post p ON near_dup(p.fp, i.fp, 3);
EXPLAIN (COSTS OFF) SELECT * FROM incoming i JOIN post p ON near_dup(i.fp, p.fp, 3);
EXPLAIN (COSTS OFF) SELECT * FROM incoming i JOIN post p ON p.fp <@ hamming_ball(i.fp, 3);
EXPLAIN (COSTS OFF) SELECT * FROM incoming i LEFT JOIN post p ON near_dup(p.fp, i.fp, 3);
SELECT count(*), count(p.id) FROM incoming i LEFT JOIN post p ON near_dup(p.fp, i.fp, 3);
-- The pairs of one table.
EXPLAIN (COSTS OFF) SELECT a.id, b.id FROM post a JOIN post b ON near_dup(a.fp, b.fp, 3) AND a.id < b.id;
SELECT count(*) FROM post a JOIN post b ON near_dup(a.fp, b.fp, 3) AND a.id < b.id;
-- LATERAL.
EXPLAIN (COSTS OFF) SELECT i.id, n.id FROM incoming i,
  LATERAL (SELECT id FROM post p WHERE near_dup(p.fp, i.fp, 3) AND p.id > i.id LIMIT 2) n;
-- Is there one, is there none.
EXPLAIN (COSTS OFF) SELECT * FROM incoming i WHERE EXISTS (SELECT FROM post p WHERE near_dup(p.fp, i.fp, 3));
EXPLAIN (COSTS OFF) SELECT * FROM incoming i WHERE NOT EXISTS (SELECT FROM post p WHERE near_dup(p.fp, i.fp, 3));
SELECT count(*) FILTER (WHERE EXISTS (SELECT FROM post p WHERE near_dup(p.fp, i.fp, 3))) AS known,
       count(*) FILTER (WHERE NOT EXISTS (SELECT FROM post p WHERE near_dup(p.fp, i.fp, 3))) AS new FROM incoming i;
SELECT count(*) FROM incoming i WHERE NOT EXISTS (SELECT FROM post p WHERE near_dup(p.fp, i.fp, 3));
-- The distance from the outer row; more tables.
EXPLAIN (COSTS OFF) SELECT * FROM (VALUES (1::bigint, 2), (7, 4)) v(q, d) JOIN post p ON near_dup(p.fp, v.q, v.d);
EXPLAIN (COSTS OFF) SELECT i.id, p.id, q.id FROM incoming i JOIN post p ON near_dup(p.fp, i.fp, 3)
  JOIN post q ON near_dup(q.fp, p.fp, 3) WHERE i.id < 10;
-- Partitions, with an index on each.
CREATE TABLE parted (id bigint, day int, fp bigint) PARTITION BY RANGE (day);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (10) TO (20);
INSERT INTO parted SELECT id, id % 20, fp FROM post;
CREATE INDEX ON parted USING banding (fp);
VACUUM ANALYZE parted;
EXPLAIN (COSTS OFF) SELECT * FROM parted WHERE near_dup(fp, 17, 3);
EXPLAIN (COSTS OFF) SELECT * FROM parted WHERE near_dup(fp, 17, 3) AND day = 12;
EXPLAIN (COSTS OFF) SELECT * FROM incoming i JOIN parted p ON near_dup(p.fp, i.fp, 3);
EXPLAIN (COSTS OFF) SELECT id FROM parted ORDER BY fp <~> 17 LIMIT 3;
SELECT count(*) FROM incoming i JOIN parted p ON near_dup(p.fp, i.fp, 3);
DROP TABLE post, incoming, parted;
DROP EXTENSION pg_dedup;
