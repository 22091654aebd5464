-- Comparisons of a distance with a limit use the index as near_dup does.
CREATE EXTENSION pg_dedup;
CREATE TABLE petition AS
SELECT i AS id, i % 3 AS kind, hashint8extended(i / 3, 7) # (1::bigint << (i % 20)) AS fp, 'water off for ' || i || ' days' AS body
FROM generate_series(1, 5000) i;
INSERT INTO petition VALUES (0, 0, NULL, NULL);
CREATE INDEX petition_fp ON petition USING banding (fp);
CREATE INDEX petition_body ON petition USING banding (simhash(body));
ANALYZE petition;
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) SELECT id FROM petition p WHERE ' || query;
END $$;
-- In a new session the first query does too.
\c
SET max_parallel_workers_per_gather = 0;
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE fp <~> 42 <= 8;
\t
-- The forms.
SELECT plan_of('hamming(fp, 42) <= 8');
SELECT plan_of('hamming(42, fp) < 9');
SELECT plan_of('8 >= fp <~> 42');
SELECT plan_of('9 > fp <~> 42');
SELECT plan_of('fp <~> 42 <= 8::bigint AND fp <~> 43 < 9::smallint');
SELECT plan_of('fp <~> 42 BETWEEN 0 AND 8');
SELECT plan_of('NOT fp <~> 42 > 8');
SELECT plan_of('hamming(simhash(body), simhash(''water off for 7 days'')) <= 8');
SET enable_seqscan = off;
SELECT plan_of('fp <~> 42 <= 8 OR fp <~> 43 <= 8');
-- Not those that say something else, or whose limit is of a row of the same table.
SELECT plan_of('fp <~> 42 >= 8');
SELECT plan_of('fp <~> 42 = 8');
SELECT plan_of('fp <~> 42 <= kind');
RESET enable_seqscan;
-- Nor those of two columns of a table, which an index on the distance serves.
CREATE TABLE moved AS SELECT i AS id, hashint8extended(i, 7) AS fp, hashint8extended(i, 7) # (i % 50)::bigint AS was FROM generate_series(1, 3000) i;
CREATE INDEX moved_distance ON moved (hamming(fp, was));
ANALYZE moved;
EXPLAIN (COSTS OFF) SELECT id FROM moved WHERE hamming(fp, was) < 1;
DROP TABLE moved;
-- In joins of every kind, below aggregates and subqueries.
EXPLAIN (COSTS OFF) SELECT * FROM petition a JOIN petition b ON a.fp <~> b.fp <= 3 AND a.id <> b.id WHERE a.id < 10;
EXPLAIN (COSTS OFF) SELECT * FROM petition a LEFT JOIN petition b ON hamming(a.fp, b.fp) <= 3 AND b.kind = 1 WHERE a.id < 10;
EXPLAIN (COSTS OFF) SELECT * FROM petition a WHERE a.id < 5 AND NOT EXISTS (SELECT FROM petition b WHERE b.fp <~> a.fp <= 2 AND b.id <> a.id);
EXPLAIN (COSTS OFF) SELECT a.id, (SELECT count(*) FROM petition b WHERE b.fp <~> a.fp < 3) FROM petition a WHERE a.id < 5;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT * FROM petition WHERE kind = 1 UNION ALL SELECT * FROM petition WHERE kind = 2) s WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) UPDATE petition SET kind = 1 WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) DELETE FROM petition WHERE hamming(fp, 42) <= 3;
-- Prepared, as a generic plan.
SET plan_cache_mode = force_generic_plan;
PREPARE near(bigint, integer) AS SELECT id FROM petition WHERE fp <~> $1 <= $2;
EXPLAIN (COSTS OFF) EXECUTE near(42, 8);
SELECT count(*) FROM petition a, LATERAL (SELECT a.fp) q WHERE id = 7 AND EXISTS (SELECT FROM petition WHERE fp <~> q.fp <= 0);
RESET plan_cache_mode;
-- A partial index of such a condition serves the same condition.
CREATE INDEX petition_around ON petition (id) WHERE fp <~> 42 <= 8;
SELECT plan_of('fp <~> 42 <= 8 AND id = 7');
DROP INDEX petition_around;
-- Partitions, each with its index.
CREATE TABLE parted (id int, fp bigint) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parted SELECT id, fp FROM petition;
CREATE INDEX ON parted USING banding (fp);
ANALYZE parted;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM parted WHERE fp <~> 42 <= 3;
RESET enable_seqscan;
-- Row-level security: the condition does not leak, and the policy's own is one of them.
CREATE ROLE regress_dedup_clerk;
GRANT SELECT ON petition TO regress_dedup_clerk;
ALTER TABLE petition ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON petition USING (kind = 1);
SET ROLE regress_dedup_clerk;
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE fp <~> 42 <= 3;
RESET ROLE;
DROP POLICY own ON petition;
CREATE POLICY own ON petition USING (hamming(fp, 42) <= 20);
SET ROLE regress_dedup_clerk;
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE length(body) > 3;
RESET ROLE;
DROP OWNED BY regress_dedup_clerk;
DROP ROLE regress_dedup_clerk;
\t
-- For every limit the answer of a sequential scan that computes the distance.
SELECT bool_and(a.n = b.n) AS same, count(*) FROM generate_series(-2, 66) d,
    LATERAL (SELECT count(*) AS n FROM petition WHERE fp <~> 42 <= d) a,
    LATERAL (SELECT count(*) AS n FROM petition WHERE (fp <~> 42) + 0 <= d) b;
SELECT (SELECT count(*) FROM petition WHERE fp <~> 42 < -2147483648) AS least, (SELECT count(*) FROM petition WHERE fp <~> 42 <= 9223372036854775807) AS most,
       (SELECT count(*) FROM petition WHERE fp <~> NULL <= 8) AS "null", (SELECT count(*) FROM petition WHERE (fp <~> 42 <= 8) IS NULL) AS "is null";
-- Another function and operator of that name are left alone.
CREATE SCHEMA other;
CREATE FUNCTION other.hamming(bigint, bigint) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 0';
SELECT count(*) FROM petition WHERE other.hamming(fp, 42) <= 3;
DROP SCHEMA other CASCADE;
DROP TABLE petition, parted;
DROP FUNCTION plan_of;
DROP EXTENSION pg_dedup;
