-- Scopes: columns before the fingerprint, USING banding (tenant, fp).
CREATE EXTENSION pg_dedup;
SET max_parallel_workers_per_gather = 0;
CREATE TABLE t (id int PRIMARY KEY, tenant int, name text, fp bigint);
INSERT INTO t SELECT i, i % 50, 'n' || i % 50, ('x' || substr(md5((i / 100)::text), 1, 16))::bit(64)::bigint # (i % 3)
  FROM generate_series(1, 20000) i;
INSERT INTO t VALUES (20001, NULL, NULL, 5), (20002, NULL, NULL, 7), (20003, 7, 'n7', NULL), (20004, NULL, NULL, NULL);
CREATE INDEX t_scope ON t USING banding (tenant, fp);
VACUUM ANALYZE t;
-- 18 also says what is disabled.
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS
$$ DECLARE line text; BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    -- Versions write the value of a subquery in other ways.
    line := regexp_replace(regexp_replace(line, '\(InitPlan \w+\)\.col1', '$0'), 'InitPlan .*', 'InitPlan');
    IF line !~ '^ *Disabled: ' THEN RETURN NEXT line; END IF;
  END LOOP;
END $$;
-- The same answer with the index and without.
CREATE FUNCTION agree(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE one text; two text; three text;
BEGIN
  query := 'SELECT count(*) || '' rows, '' || coalesce(sum(id), 0) FROM (' || query || ') s';
  SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; EXECUTE query INTO one;
  SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexscan = off; EXECUTE query INTO two;
  SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on; SET LOCAL enable_bitmapscan = off; EXECUTE query INTO three;
  RETURN CASE WHEN one = two AND two = three THEN one ELSE format('%s, %s, without %s', one, two, three) END;
END $$;

-- Search, nearest neighbours and NULLs within a scope use it.
SELECT plan('SELECT * FROM t WHERE tenant = 7 AND near_dup(fp, 42, 7)');
SELECT plan('SELECT * FROM t WHERE tenant = 7 ORDER BY fp <~> 42 LIMIT 5');
SELECT plan('SELECT * FROM t WHERE tenant IS NULL AND fp <@ hamming_ball(5, 3)');
SELECT plan('SELECT * FROM t WHERE tenant = 7 AND fp IS NULL');
SELECT plan('SELECT a.id, b.id FROM t a JOIN t b ON a.tenant = b.tenant AND near_dup(a.fp, b.fp, 3) WHERE a.id < 5');
-- Several values of the scope are searched one after another, and not the whole index; as are several fingerprints.
SELECT plan('SELECT * FROM t WHERE tenant IN (7, 8) AND near_dup(fp, 42, 7)');
SELECT plan('SELECT * FROM t WHERE tenant = ANY (ARRAY(SELECT 7)) AND near_dup(fp, 42, 3)');
SELECT plan('SELECT * FROM t WHERE tenant = 7 AND fp = ANY ((SELECT ARRAY[1, 2])::bigint[])');
SELECT plan('SELECT * FROM t WHERE tenant = 7 AND fp <@ ANY ((SELECT ARRAY[hamming_ball(1, 3), hamming_ball(2, 3)])::hamming_ball[])');
SELECT count(*) > 0 AS "OR too, whatever a version makes of it" FROM plan('SELECT * FROM t WHERE (tenant = 7 OR tenant = 8) AND near_dup(fp, 42, 3)') line
  WHERE line ~ 'Index Cond: .*tenant = .*fp <@';
-- Costs follow the array's length.
CREATE FUNCTION cost(condition text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off;
  EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM t WHERE ' || condition INTO plan;
  RETURN (SELECT part->>'Total Cost' FROM json_array_elements(plan->0->'Plan'->'Plans') part WHERE part->>'Node Type' = 'Bitmap Index Scan');
END $$;
SELECT cost('tenant = 7 AND fp = 5') < cost('tenant IN (7, 8, 9) AND fp = 5') AND cost('tenant IN (7, 8, 9) AND fp = 5') < cost('tenant = ANY ((SELECT ARRAY[7])::int[]) AND fp = 5') AS "one, three, perhaps ten",
       cost('tenant = 7 AND fp = ANY (ARRAY[1, 2, 3])') BETWEEN 2 * cost('tenant = 7 AND fp = 1') AND 4 * cost('tenant = 7 AND fp = 1') AS "three fingerprints";
SELECT cost('tenant IN (7, 8) AND near_dup(fp, 42, 3)') BETWEEN 1.5 * cost('tenant = 7 AND near_dup(fp, 42, 3)') AND 2.5 * cost('tenant = 7 AND near_dup(fp, 42, 3)') AS "two searches";
DROP FUNCTION cost;
-- Many searches are dearer than one that reads all scopes: an array has as many values as its query is expected to give.
SELECT plan('SELECT * FROM t WHERE tenant = ANY (ARRAY(SELECT g FROM generate_series(1, 1000) g)) AND near_dup(fp, 42, 3)');
-- A value of a near type is hashed as the column's.
SELECT plan('SELECT * FROM t WHERE tenant = 7::bigint AND fp <@ hamming_ball(5, 3)');
-- Without a condition on the scope there is another way.
SELECT plan('SELECT * FROM t WHERE near_dup(fp, 42, 3)');
SELECT plan('SELECT * FROM t ORDER BY fp <~> 42 LIMIT 5');
SELECT plan('SELECT * FROM t WHERE tenant = 7');

SELECT agree(format('SELECT id FROM t WHERE tenant = %s AND near_dup(fp, %s, %s)', tenant, fp, d))
  FROM t, unnest(ARRAY[0, 3, 7, 20, 64]) d WHERE id IN (17, 4711) ORDER BY id, d;
SELECT agree('SELECT id FROM t WHERE near_dup(fp, 5, 20)');
SELECT agree('SELECT id FROM t WHERE tenant IS NULL AND near_dup(fp, 5, 20)');
SELECT agree('SELECT id FROM t WHERE tenant IS NULL AND fp IS NULL');
SELECT agree('SELECT id FROM t WHERE tenant IS NOT NULL AND near_dup(fp, 5, 20)');
SELECT agree('SELECT id FROM t WHERE fp IS NULL');
SELECT agree('SELECT id FROM t WHERE tenant = 7 AND fp IS NULL');
SELECT agree('SELECT id FROM t WHERE tenant = 7 AND tenant = 8 AND fp <@ hamming_ball(5, 3)');
SELECT agree('SELECT id FROM t WHERE tenant = NULL AND fp <@ hamming_ball(5, 3)');
SELECT agree('SELECT id FROM t WHERE tenant = 7::bigint AND fp <@ (SELECT hamming_ball(fp, 3) FROM t WHERE id = 7)');
SELECT agree('SELECT id FROM t WHERE tenant = 7::smallint AND fp <@ (SELECT hamming_ball(fp, 3) FROM t WHERE id = 7)');
SELECT agree('SELECT id FROM t WHERE tenant = 99999999999 AND fp <@ hamming_ball(5, 3)');
SELECT agree('SELECT id FROM t WHERE ' || condition) FROM unnest(ARRAY['tenant IN (7, 8) AND near_dup(fp, 5, 24)', 'tenant = ANY (ARRAY(SELECT g FROM generate_series(5, 8) g)) AND near_dup(fp, 5, 24)',
  '(tenant = 7 OR tenant = 8) AND near_dup(fp, 5, 24)', 'tenant IN (7, NULL, 7) AND near_dup(fp, 5, 24)', 'tenant = ANY (''{}'') AND near_dup(fp, 5, 24)',
  '(tenant = 7 OR tenant IS NULL) AND near_dup(fp, 5, 24)', 'tenant = 7 AND fp = ANY (ARRAY(SELECT fp FROM t WHERE id IN (7, 57)))',
  'tenant IN (7, 8) AND fp <@ ANY (ARRAY(SELECT hamming_ball(fp, 3) FROM t WHERE id IN (7, 8, 57)))', 'tenant IN (7, 8) AND fp <@ ANY (ARRAY[hamming_ball(5, 24), hamming_ball(0, 20)])',
  'tenant IN (7, 8) AND fp IS NULL']) condition;
SELECT agree('SELECT id, fp <~> 5 AS d FROM t WHERE tenant = 7 ORDER BY fp <~> 5, id LIMIT 10');
SELECT agree('SELECT id FROM t WHERE tenant = 7 ORDER BY fp <~> 5');
SELECT agree('SELECT a.id FROM t a JOIN t b ON a.tenant = b.tenant AND near_dup(a.fp, b.fp, 3) AND a.id < b.id WHERE a.id < 1000');
-- A fingerprint can be asked for itself.
SELECT plan('SELECT * FROM t WHERE tenant = 7 AND fp = 42');
SELECT agree('SELECT id FROM t WHERE tenant = 7 AND fp = (SELECT fp FROM t WHERE id = 7)');
SELECT agree('SELECT id FROM t WHERE tenant IS NULL AND fp = 5::smallint');

-- Many types, several columns, a bigint with the default class, values that are equal and not the same.
CREATE TYPE colour AS ENUM ('red', 'green');
CREATE TABLE kinds (id int, a bigint, b text, c uuid, d date, e timestamptz, g bytea, h varchar(20), i char(9), j numeric,
  k colour, fp bigint);
INSERT INTO kinds SELECT n, n % 9, n % 9, md5((n % 9)::text)::uuid, date '2024-01-01' + n % 9, timestamptz '2024-01-01 UTC' + n % 9 * interval '1 day',
  decode(md5((n % 9)::text), 'hex'), n % 9, n % 9, ((n % 9) || '.00')::numeric, (enum_range(NULL::colour))[1 + n % 2],
  n % 5 FROM generate_series(1, 900) n;
DO $$ DECLARE col text;
BEGIN
  FOREACH col IN ARRAY string_to_array('a b c d e g h i j k', ' ') LOOP
    EXECUTE format('CREATE INDEX kinds_%s ON kinds USING banding (%1$s, fp)', col);
  END LOOP;
END $$;
CREATE INDEX kinds_two ON kinds USING banding (b, d, fp);
ANALYZE kinds;
SELECT condition, agree('SELECT id FROM kinds WHERE fp = 3 AND ' || condition) FROM unnest(ARRAY['a = 3', 'b = ''3''',
  'c = md5(''3'')::uuid', 'd = ''2024-01-04''', 'e = ''2024-01-04 UTC''', 'g = decode(md5(''3''), ''hex'')', 'h = ''3''', 'i = ''3''',
  'j = 3.0', 'k = ''red''', 'b = ''3'' AND d = ''2024-01-04''']) condition;
SET enable_seqscan = off;
SELECT plan('SELECT * FROM kinds WHERE h = ''3'' AND fp <@ hamming_ball(3, 3)');
SELECT plan('SELECT * FROM kinds WHERE b = ''3'' AND d = ''2024-01-04'' AND fp <@ hamming_ball(3, 3)');
RESET enable_seqscan;

-- One of a kind within a scope.
CREATE TABLE doc (id int PRIMARY KEY, tenant text, fp bigint, CONSTRAINT doc_near EXCLUDE USING banding (tenant WITH =, hamming_ball(fp, 3) WITH =~));
INSERT INTO doc VALUES (1, 'a', 0), (2, 'b', 0), (3, NULL, 0), (4, NULL, 0), (5, 'a', NULL), (6, 'a', NULL);
INSERT INTO doc VALUES (7, 'a', 7);
INSERT INTO doc VALUES (7, 'a', 15), (8, 'c', 7);
INSERT INTO doc VALUES (9, 'b', 7) ON CONFLICT DO NOTHING RETURNING id;
UPDATE doc SET tenant = 'b' WHERE id = 1;
UPDATE doc SET tenant = 'd' WHERE id = 1;
SELECT * FROM doc ORDER BY id;

-- A constraint at any distance, and within a scope. Each ball has the other's center.
CREATE TABLE far (id int PRIMARY KEY, tenant int, fp bigint, CONSTRAINT far_near EXCLUDE USING banding (tenant WITH =, hamming_ball(fp, 6) WITH =~));
INSERT INTO far VALUES (1, 1, 0), (2, 1, 127), (3, 2, 1), (4, 1, NULL), (5, 1, NULL);
INSERT INTO far VALUES (6, 1, 63);
INSERT INTO far VALUES (6, 1, 63) ON CONFLICT DO NOTHING RETURNING id;
INSERT INTO far SELECT 100 + i, 3, fp FROM (SELECT i, ('x' || substr(md5((i / 3)::text), 1, 16))::bit(64)::bigint # (i % 3) * 7 AS fp
  FROM generate_series(1, 900) i) s ON CONFLICT DO NOTHING;
SELECT count(*), bool_or(EXISTS (SELECT FROM far b WHERE b.tenant = a.tenant AND b.id <> a.id AND hamming(a.fp, b.fp) <= 6)) FROM far a;
SELECT plan('SELECT * FROM far WHERE tenant = 3 AND hamming_ball(fp, 6) =~ hamming_ball(42, 6)');
SELECT agree('SELECT id FROM far WHERE tenant = 3 AND hamming_ball(fp, 6) =~ hamming_ball(42, 24)');
CREATE TABLE ball (id int, b hamming_ball);
INSERT INTO ball SELECT i, hamming_ball(i, i % 10 - 1) FROM generate_series(1, 2000) i;
INSERT INTO ball VALUES (3000, NULL);
CREATE INDEX ball_b ON ball USING banding (b);
SELECT agree(format('SELECT id FROM ball WHERE b =~ hamming_ball(777, %s)', r)) FROM unnest(ARRAY[-1, 0, 3, 8, 64]) r;
SELECT agree('SELECT id FROM ball WHERE b IS NULL');
SELECT banding_check('ball_b', true);
DROP TABLE far, ball;

-- The guard within a scope.
CREATE TABLE guarded (id int PRIMARY KEY, tenant int, year int, fp bigint);
CREATE TRIGGER guarded_near AFTER INSERT OR UPDATE ON guarded FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=5', 'scope=tenant,year');
CREATE INDEX guarded_other ON guarded USING banding (tenant, fp);
INSERT INTO guarded VALUES (1, 1, 2024, 0);
CREATE INDEX guarded_scope ON guarded USING banding (year, tenant, fp);
INSERT INTO guarded VALUES (1, 1, 2024, 0), (2, 2, 2024, 0), (3, 1, 2025, 0), (4, NULL, 2024, 0), (5, NULL, 2024, 0);
INSERT INTO guarded VALUES (6, 1, 2024, 31);
UPDATE guarded SET tenant = 1 WHERE id = 2;
UPDATE guarded SET tenant = 3 WHERE id = 2;
DROP INDEX guarded_scope;
CREATE INDEX ON guarded USING banding (fp);
INSERT INTO guarded VALUES (6, 1, 2024, 31);
INSERT INTO guarded VALUES (6, 4, 2024, 31);
SELECT * FROM guarded ORDER BY id;
CREATE OR REPLACE TRIGGER guarded_near AFTER INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'scope=nobody');
INSERT INTO guarded VALUES (7, 1, 2024, 31);
CREATE OR REPLACE TRIGGER guarded_near AFTER INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'scope=year,year');
INSERT INTO guarded VALUES (7, 1, 2024, 31);
DROP TABLE guarded;

-- Looking inside, rebuilding.
INSERT INTO t SELECT 30000 + i, i % 1000, i, i FROM generate_series(1, 3000) i;
DELETE FROM t WHERE id % 3 = 0;
VACUUM t;
SELECT rows, hot_buckets, second_level_entries FROM banding_stats('t_scope');
SELECT banding_check('t_scope', true);
REINDEX INDEX t_scope;
SELECT banding_check('t_scope', true);
SELECT agree('SELECT id FROM t WHERE tenant = 7 AND near_dup(fp, 5, 24)');
SET maintenance_work_mem = '1MB';
CREATE INDEX CONCURRENTLY t_name ON t USING banding (name, fp) WITH (mu = 0);
SELECT banding_check('t_name', true);
CREATE UNLOGGED TABLE u (tenant int, fp bigint);
CREATE INDEX ON u USING banding (tenant, fp);
INSERT INTO u VALUES (1, 1), (NULL, NULL);
SELECT banding_check('u_tenant_fp_idx', true);

-- What is no scope, and no fingerprint.
CREATE INDEX ON t USING banding (fp, tenant);
CREATE INDEX ON t USING banding (tenant);
CREATE TABLE odd (p point, flag boolean, fp bigint);
CREATE INDEX ON odd USING banding (p, fp);
-- Versions differ in where the planner looks up a condition that is a column.
CREATE INDEX ON odd USING banding (flag, fp);
CREATE INDEX ON odd USING banding ((flag::integer), fp);
SET enable_seqscan = off;
SELECT plan('SELECT * FROM odd WHERE flag::integer = 1 AND fp <@ hamming_ball(5, 3)');
RESET enable_seqscan;
SELECT plan('SELECT * FROM t ORDER BY tenant <~> 5');
CREATE TABLE fps (a bigint, b bigint);
INSERT INTO fps SELECT i, i FROM generate_series(1, 100) i;
CREATE INDEX ON fps USING banding (a, b);
SET enable_seqscan = off;
SELECT plan('SELECT * FROM fps ORDER BY a <~> 5 LIMIT 1');
SELECT count(*) FROM fps WHERE a <@ hamming_ball(5, 3) AND b <@ hamming_ball(5, 3);
SELECT count(*) FROM fps WHERE a <@ hamming_ball(5, 3) AND a = 5 AND b <@ hamming_ball(5, 3);
RESET enable_seqscan;
SELECT opcname, amvalidate(c.oid) FROM pg_opclass c JOIN pg_am m ON m.oid = opcmethod WHERE amname = 'banding' ORDER BY 1;
CREATE OPERATOR CLASS bad_ops FOR TYPE point USING banding AS OPERATOR 4 ~= (point, point), FUNCTION 1 hashint4(int);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'bad_ops';
CREATE OPERATOR CLASS half_ops FOR TYPE point USING banding AS OPERATOR 4 ~= (point, point);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'half_ops';
DROP OPERATOR FAMILY bad_ops USING banding;
DROP OPERATOR FAMILY half_ops USING banding;
DROP TABLE t, kinds, doc, u, odd, fps;
DROP TYPE colour;
DROP FUNCTION plan, agree;
DROP EXTENSION pg_dedup;
