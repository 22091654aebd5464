-- Window functions that group rows by their fingerprints.
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
CREATE TABLE row_fp (part integer, id integer, fp bigint);
INSERT INTO row_fp VALUES
    (1, 1, 0), (1, 2, 1), (1, 3, 3), (1, 4, NULL), (1, 5, 15), (1, 6, 1),
    (2, 1, 15), (2, 2, 0), (2, 3, 3), (2, 4, 255);
-- Single-Pass: the nearest earlier center, the oldest of the nearest, by the
-- row's number in its partition. (2, 3) is two bits from either center.
SELECT part, id, fp, single_pass(fp, 2) OVER (PARTITION BY part ORDER BY id) AS center FROM row_fp ORDER BY 1, 2;
-- The order decides.
SELECT part, id, fp, single_pass(fp, 2) OVER (PARTITION BY part ORDER BY id DESC) AS center FROM row_fp ORDER BY 1, 2;
-- Components: whatever a chain of steps connects. With a diameter no two rows
-- of a component are farther apart.
SELECT part, id, fp,
       near_dup_component(fp, 2) OVER (PARTITION BY part ORDER BY id) AS chained,
       near_dup_component(fp, 2, 2) OVER (PARTITION BY part ORDER BY id) AS guarded
FROM row_fp ORDER BY 1, 2;
-- Computed anew when the query is run again within one.
SELECT outside, inside.* FROM generate_series(1, 2) AS outside,
    LATERAL (SELECT id, single_pass(fp, outside) OVER (ORDER BY id) FROM row_fp WHERE part = 1 OFFSET 0) AS inside
ORDER BY 1, 2;
-- A prepared statement, run twice.
PREPARE again(integer) AS SELECT count(DISTINCT c) FROM (SELECT near_dup_component(fp, $1) OVER () AS c FROM row_fp) s;
EXECUTE again(0);
EXECUTE again(64);
-- Components against the pairs: rows of a pair are in one component, and there
-- are as many components as the pairs leave.
CREATE TABLE many AS SELECT i AS id, hashint4extended(i % 400, 0) # (1::bigint << (i % 50)) AS fp FROM generate_series(1, 2000) i;
WITH grouped AS (SELECT id, near_dup_component(fp, 3) OVER (ORDER BY id) AS c FROM many)
SELECT count(*) FILTER (WHERE x.c <> y.c) AS "pairs apart", (SELECT count(DISTINCT c) FROM grouped) AS components
FROM near_dup_pairs('SELECT id, fp FROM many') p JOIN grouped x ON x.id = p.a JOIN grouped y ON y.id = p.b;
-- No rows, no fingerprints.
SELECT single_pass(fp, 3) OVER (), near_dup_component(fp, 3) OVER () FROM row_fp WHERE false;
SELECT single_pass(NULL, 3) OVER (), near_dup_component(NULL, 3) OVER () FROM generate_series(1, 2);
-- Refused.
SELECT single_pass(fp, 3) FROM row_fp;
SELECT single_pass(fp, -1) OVER () FROM row_fp;
SELECT single_pass(fp, NULL) OVER () FROM row_fp;
SELECT near_dup_component(fp, -1) OVER () FROM row_fp;
SELECT near_dup_component(fp, 3, -1) OVER () FROM row_fp;
SELECT single_pass(fp, 65) OVER () FROM row_fp;
SELECT near_dup_component(fp, 1000) OVER () FROM row_fp;
SELECT near_dup_component(fp, 3, 65) OVER () FROM row_fp;
DROP TABLE row_fp, many;
DROP EXTENSION pg_dedup_papers, pg_dedup;
