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
SET seq_page_cost = 1000000;
SELECT plan_of('fp <~> 42 <= 8 OR fp <~> 43 <= 8');
-- Not those that say something else, or whose limit is of a row of the same table.
SELECT plan_of('fp <~> 42 >= 8');
SELECT plan_of('fp <~> 42 = 8');
SELECT plan_of('fp <~> 42 <= kind');
RESET seq_page_cost;
-- Nor those of two columns of a table, which an index on the distance serves.
CREATE TABLE moved AS SELECT i AS id, hashint8extended(i, 7) AS fp, hashint8extended(i, 7) # (i % 50)::bigint AS was FROM generate_series(1, 3000) i;
CREATE INDEX moved_distance ON moved (hamming(fp, was));
ANALYZE moved;
EXPLAIN (COSTS OFF) SELECT id FROM moved WHERE hamming(fp, was) < 1;
DROP TABLE moved;
-- Nor those of a table without a banding index on the fingerprint: a B-tree on the distance, a partial index of a wider
-- limit, a CHECK constraint and a partition's bound serve them as they are written.
CREATE TABLE spread AS SELECT i AS id, hashint8extended(i, 7) AS fp, hashint8extended(i, 8) AS other FROM generate_series(1, 3000) i;
CREATE INDEX spread_distance ON spread (hamming(fp, 0));
CREATE INDEX spread_around ON spread (id) WHERE fp <~> 42 <= 24;
CREATE INDEX spread_other ON spread USING banding (other);
ANALYZE spread;
EXPLAIN (COSTS OFF) SELECT id FROM spread WHERE hamming(fp, 0) <= 15;
EXPLAIN (COSTS OFF) SELECT id FROM spread WHERE fp <~> 42 < 20 ORDER BY id LIMIT 1;
EXPLAIN (COSTS OFF) SELECT id FROM spread WHERE hamming(other, 0) <= 3;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'spread_other'::regclass;
EXPLAIN (COSTS OFF) SELECT id FROM spread WHERE hamming(other, 0) <= 3;
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'spread_other'::regclass;
DROP TABLE spread;
CREATE TABLE ringed (id int, fp bigint);
CREATE TABLE ringed_in (CHECK (hamming(fp, 0) <= 20)) INHERITS (ringed);
CREATE TABLE ringed_out (CHECK (hamming(fp, 0) > 20)) INHERITS (ringed);
EXPLAIN (COSTS OFF) SELECT id FROM ringed WHERE hamming(fp, 0) <= 8;
DROP TABLE ringed CASCADE;
CREATE TABLE rings (id int, fp bigint) PARTITION BY RANGE (hamming(fp, 0));
CREATE TABLE rings_in PARTITION OF rings FOR VALUES FROM (0) TO (20) PARTITION BY RANGE (hamming(fp, 0));
CREATE TABLE rings_in_in PARTITION OF rings_in FOR VALUES FROM (0) TO (10);
CREATE TABLE rings_in_out PARTITION OF rings_in FOR VALUES FROM (10) TO (20);
CREATE TABLE rings_out PARTITION OF rings FOR VALUES FROM (20) TO (65);
EXPLAIN (COSTS OFF) SELECT id FROM rings WHERE hamming(fp, 0) <= 8;
-- With an index on the partitions too, which have it without their parent.
CREATE INDEX rings_fp ON rings_in_in USING banding (fp);
SET seq_page_cost = 1000000;
EXPLAIN (COSTS OFF) SELECT id FROM rings WHERE hamming(fp, 0) <= 8;
EXPLAIN (COSTS OFF) SELECT id FROM rings WHERE fp <~> 42 <= 8;
RESET seq_page_cost;
DROP TABLE rings;
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
PREPARE below(bigint, integer) AS SELECT id FROM petition WHERE fp <~> $1 < $2;
EXPLAIN (COSTS OFF) EXECUTE below(42, 9);
PREPARE below_wide(bigint, bigint) AS SELECT id FROM petition WHERE $2 > fp <~> $1;
EXPLAIN (COSTS OFF) EXECUTE below_wide(42, 9);
PREPARE near_short(bigint, smallint) AS SELECT id FROM petition WHERE fp <~> $1 <= $2;
EXPLAIN (COSTS OFF) EXECUTE near_short(42, 8::smallint);
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
SET seq_page_cost = 1000000;
EXPLAIN (COSTS OFF) SELECT id FROM parted WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT id FROM parted WHERE fp <~> 42 <= 3 OR hamming(fp, 43) < 3;
EXPLAIN (COSTS OFF) SELECT * FROM petition a LEFT JOIN parted b ON hamming(a.fp, b.fp) <= 3 AND b.id > 0 WHERE a.id < 10;
-- One with its columns in another order, below a partition, and one without an index.
CREATE TABLE parted_list (id int, fp bigint) PARTITION BY LIST (id);
CREATE TABLE parted_list_1 PARTITION OF parted_list FOR VALUES IN (1) PARTITION BY HASH (fp);
CREATE TABLE parted_list_1_0 (fp bigint, id int);
ALTER TABLE parted_list_1 ATTACH PARTITION parted_list_1_0 FOR VALUES WITH (MODULUS 1, REMAINDER 0);
CREATE INDEX ON parted_list_1_0 USING banding (fp);
CREATE TABLE parted_list_0 PARTITION OF parted_list DEFAULT;
CREATE TABLE computed (id int, b bigint);
CREATE INDEX ON computed USING banding ((b # 1));
EXPLAIN (COSTS OFF) SELECT id FROM parted_list WHERE fp <~> 42 <= 3;
EXPLAIN (COSTS OFF) SELECT a.id FROM petition a JOIN parted_list b ON hamming(a.fp, b.fp) < 3 WHERE a.id < 10;
EXPLAIN (COSTS OFF) SELECT * FROM (SELECT fp FROM parted_list UNION ALL SELECT fp FROM petition UNION ALL SELECT b # 1 FROM computed) s WHERE fp <~> 42 <= 3;
DROP TABLE parted_list, computed;
RESET seq_page_cost;
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
ALTER TABLE petition DISABLE ROW LEVEL SECURITY;
-- Who may not call near_dup or hamming_ball may compare a distance, also by a plan that was made for somebody else.
SET plan_cache_mode = force_generic_plan;
REVOKE EXECUTE ON FUNCTION near_dup(bigint, bigint, integer) FROM PUBLIC;
EXPLAIN (COSTS OFF) EXECUTE near(42, 8);
SET ROLE regress_dedup_clerk;
SELECT count(*) FROM petition WHERE fp <~> 42 <= 20;
EXPLAIN (COSTS OFF) EXECUTE near(42, 8);
RESET ROLE;
GRANT EXECUTE ON FUNCTION near_dup(bigint, bigint, integer) TO PUBLIC;
REVOKE EXECUTE ON FUNCTION hamming_ball(bigint, integer) FROM PUBLIC;
SET ROLE regress_dedup_clerk;
EXPLAIN (COSTS OFF) SELECT count(*) FROM petition WHERE fp <~> 42 <= 20;
SELECT count(*) FROM petition WHERE near_dup(fp, 42, 20);
RESET ROLE;
GRANT EXECUTE ON FUNCTION hamming_ball(bigint, integer) TO PUBLIC;
RESET plan_cache_mode;
DROP OWNED BY regress_dedup_clerk;
DROP ROLE regress_dedup_clerk;
\t
-- For every limit the answer of a sequential scan that computes the distance.
SELECT bool_and(a.n = b.n) AS same, count(*) FROM generate_series(-2, 66) d,
    LATERAL (SELECT count(*) AS n FROM petition WHERE fp <~> 42 <= d) a,
    LATERAL (SELECT count(*) AS n FROM petition WHERE (fp <~> 42) + 0 <= d) b;
SET plan_cache_mode = force_generic_plan;
DO $$
DECLARE
    fails bigint := 0;
BEGIN
    FOR d IN -2 .. 66 LOOP
        fails := fails + (SELECT (count(*) FILTER (WHERE fp <~> 42 < d) <> count(*) FILTER (WHERE (fp <~> 42) + 0 < d))::int FROM petition)
            + (SELECT ((SELECT count(*) FROM petition WHERE fp <~> 42 < d) <> (SELECT count(*) FROM petition WHERE (fp <~> 42) + 0 < d))::int)
            + (SELECT ((SELECT count(*) FROM petition WHERE fp <~> 42 < d::bigint) <> (SELECT count(*) FROM petition WHERE (fp <~> 42) + 0 < d))::int)
            + (SELECT ((SELECT count(*) FROM petition WHERE fp <~> 42 <= d::smallint) <> (SELECT count(*) FROM petition WHERE (fp <~> 42) + 0 <= d))::int);
    END LOOP;
    RAISE NOTICE '% limits whose answers differ', fails;
END $$;
SELECT count(*) FROM petition, (VALUES (-2147483648), (2147483647), (NULL)) AS limits(d) WHERE fp <~> 42 < d;
SELECT count(*) FROM petition, (VALUES (-9223372036854775808), (9223372036854775807), (NULL)) AS limits(d) WHERE fp <~> 42 < d;
RESET plan_cache_mode;
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
