-- Hashes of 64, 128 and 256 bits: an index on bit changes no answer.
CREATE EXTENSION pg_dedup;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
-- Bits of a row: random, a copy with some flipped, of one first part, of zeroes but for the end, NULL.
CREATE FUNCTION random_bits(seed text, n int) RETURNS bit varying LANGUAGE sql IMMUTABLE
  RETURN substring(('x' || md5(seed) || md5(seed || 'b'))::bit(256), 1, n);
CREATE FUNCTION flipped(h bit varying, seed text, times int) RETURNS bit varying LANGUAGE plpgsql IMMUTABLE AS $$
  BEGIN
    FOR i IN 1 .. times LOOP h := set_bit(h, abs(hashtext(seed || i)) % length(h), abs(hashtext(i || seed)) % 2); END LOOP;
    RETURN h;
  END $$;
CREATE FUNCTION made(i int, n int) RETURNS bit varying LANGUAGE sql IMMUTABLE
  RETURN CASE WHEN i % 17 = 0 THEN NULL
    WHEN i % 5 = 0 THEN flipped(random_bits('f' || i / 50, n), 'g' || i, i % 40)
    WHEN i % 5 = 1 THEN repeat('0', n / 4)::bit varying || substring(random_bits('s' || i, n), n / 4 + 1)
    WHEN i % 25 = 2 THEN flipped(repeat('0', n)::bit varying, 'z' || i, i % 9)
    ELSE random_bits('r' || i, n) END;
CREATE TABLE h64 (id int PRIMARY KEY, tenant int, h bit(64));
CREATE TABLE h128 (id int PRIMARY KEY, tenant int, h bit(128));
CREATE TABLE h256 (id int PRIMARY KEY, tenant int, h bit(256));
INSERT INTO h64 SELECT i, i % 7, made(i, 64)::bit(64) FROM generate_series(1, 4000) i;
INSERT INTO h128 SELECT i, i % 7, made(i, 128)::bit(128) FROM generate_series(1, 4000) i;
INSERT INTO h256 SELECT i, i % 7, made(i, 256)::bit(256) FROM generate_series(1, 4000) i;
CREATE INDEX h64_h ON h64 USING banding (h);
CREATE INDEX h128_h ON h128 USING banding (h);
CREATE INDEX h256_h ON h256 USING banding (h);
ANALYZE h64, h128, h256;
-- Rows that are stored after the build, and some that go.
INSERT INTO h256 SELECT i, i % 7, made(i, 256)::bit(256) FROM generate_series(4001, 5000) i;
DELETE FROM h256 WHERE id % 11 = 3;
UPDATE h256 SET h = ~h WHERE id % 400 = 9;
VACUUM h256;
DELETE FROM h256 WHERE id % 13 = 3;
SELECT relname, round(reltuples) AS rows FROM pg_class WHERE relname ~ '^h(64|128)_h$' ORDER BY 1;
SELECT rows, pages > 5 AS pages, hot_buckets FROM banding_stats('h128_h');
SELECT banding_check('h64_h', true), banding_check('h128_h', true), banding_check('h256_h', true);

-- 18 also says what is disabled.
CREATE FUNCTION plan(query text) RETURNS SETOF text LANGUAGE plpgsql AS
$$ DECLARE line text; BEGIN
  FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
    IF line !~ '^ *Disabled: ' THEN RETURN NEXT regexp_replace(line, '[01]{64,}', '…', 'g'); END IF;
  END LOOP;
END $$;
-- The same answer by an index scan, a bitmap and a sequential scan.
CREATE FUNCTION agree(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE one text; two text; three text;
BEGIN
  query := 'SELECT count(*) || '' rows, '' || coalesce(sum(id), 0) FROM (' || query || ') s';
  SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; EXECUTE query INTO one;
  SET LOCAL enable_bitmapscan = on; SET LOCAL enable_indexscan = off; EXECUTE query INTO two;
  SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on; SET LOCAL enable_bitmapscan = off; EXECUTE query INTO three;
  RETURN CASE WHEN one = two AND two = three THEN one ELSE format('%s, %s, without %s', one, two, three) END;
END $$;
SELECT plan(format('SELECT id FROM h256 WHERE near_dup(h, %L::bit(256), 31)', h)) FROM h256 WHERE id = 7;
SELECT plan(format('SELECT id FROM h256 ORDER BY h <-> %L::bit(256) LIMIT 3', h)) FROM h256 WHERE id = 7;
SELECT plan('SELECT * FROM h256 a JOIN h256 b ON near_dup(a.h, b.h, 31) WHERE a.id = 7');
SELECT t, d, agree(format('SELECT id FROM %I WHERE near_dup(h, (SELECT h FROM %1$I WHERE id = %s), %s)', t, id, d))
FROM unnest('{h64,h128,h256}'::text[]) t, unnest('{5,77,1001,2001}'::int[]) id, unnest('{-1,0,3,31,70,130,300}'::int[]) d ORDER BY t, id, d;
SELECT agree('SELECT a.id FROM ' || t || ' a JOIN ' || t || ' b ON near_dup(a.h, b.h, 20) WHERE b.id % 50 = 0') FROM unnest('{h64,h128,h256}'::text[]) t;
SELECT agree('SELECT id FROM h256 WHERE near_dup(h, (SELECT h FROM h256 WHERE id = 5), 31) OR near_dup(h, (SELECT h FROM h256 WHERE id = 1001), 40)');
SELECT agree('SELECT id FROM h256 WHERE near_dup(h, (SELECT h FROM h256 WHERE id = 5), 90) AND near_dup((SELECT h FROM h256 WHERE id = 10), h, 31)');
SELECT agree('SELECT id FROM h256 WHERE h IS NULL'), agree('SELECT id FROM h256 WHERE h IS NOT NULL AND near_dup(h, (SELECT NULL::bit(256)), 9)');
SELECT agree('SELECT id FROM h256 WHERE NOT near_dup(h, (SELECT h FROM h256 WHERE id = 5), 31)');
SELECT agree('SELECT id FROM h256 q WHERE id % 60 = 5 AND EXISTS (SELECT FROM h256 p WHERE p.id <> q.id AND near_dup(p.h, q.h, 31))');
PREPARE near (bit(256), int) AS SELECT count(*) FROM h256 WHERE near_dup(h, $1, $2);
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) EXECUTE near (repeat('0', 256)::bit(256), 31);
EXECUTE near (repeat('0', 256)::bit(256), 31);
SET enable_seqscan = on; SET enable_bitmapscan = off; SET enable_indexscan = off;
EXECUTE near (repeat('0', 256)::bit(256), 31);
RESET plan_cache_mode; RESET enable_bitmapscan; RESET enable_indexscan;

-- A search by blocks that would be dearer than a pass costs what that costs.
CREATE TABLE many AS SELECT random_bits('m' || i, 256)::bit(256) AS h FROM generate_series(1, 60000) i;
CREATE INDEX many_h ON many USING banding (h);
ANALYZE many;
SELECT plan('SELECT * FROM many WHERE near_dup(h, repeat(''01'', 128)::bit(256), 34)');
DROP TABLE many;

-- The nearest: the distances of a sequential scan, in its order, whatever is asked for (16 sorts for a DISTINCT aggregate).
CREATE FUNCTION nearest(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE one text; two text;
BEGIN
  query := 'SELECT md5(string_agg(coalesce(d::text, ''NULL''), '' '')) || '' '' || count(*) || '' '' || (SELECT count(DISTINCT i) FROM unnest(array_agg(id)) i) || '' '' || coalesce(min(d), -1) || ''-'' || coalesce(max(d), -1) FROM (' || query || ') s';
  SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off; EXECUTE query INTO one;
  SET LOCAL enable_seqscan = on; SET LOCAL enable_sort = on; SET LOCAL enable_indexscan = off; EXECUTE query INTO two;
  RETURN CASE WHEN one = two THEN substr(one, 34) ELSE format('%s, without %s', one, two) END;
END $$;
SELECT t, k, nearest(format('SELECT id, h <-> q AS d FROM (VALUES (%L::%s)) q (q), LATERAL (SELECT id, h FROM %I ORDER BY h <-> q LIMIT %s) s', h, b, t, k))
FROM (SELECT 'h64', 'bit(64)', id, h::bit varying FROM h64 UNION ALL SELECT 'h128', 'bit(128)', id, h FROM h128 UNION ALL SELECT 'h256', 'bit(256)', id, h FROM h256) s (t, b, id, h),
  unnest('{1,20,99999}'::int[]) k WHERE id IN (5, 77, 1001) ORDER BY t, id, k;
SELECT nearest(format('SELECT id, h <-> %L::bit(256) AS d FROM h256 WHERE near_dup(h, %1$L::bit(256), %s) ORDER BY h <-> %1$L::bit(256)', h, d)) FROM h256, unnest('{31,110}'::int[]) d WHERE id = 1005;
SELECT nearest(format('SELECT id, (h <-> %L::bit(256)) * 1000 + (h <-> %L) AS d FROM h256 WHERE near_dup(h, %1$L::bit(256), 120) ORDER BY h <-> %1$L::bit(256), h <-> %2$L', a.h, b.h)) FROM h256 a, h256 b WHERE a.id = 1005 AND b.id = 77;
SELECT nearest('SELECT id, h <-> NULL AS d FROM h256 ORDER BY h <-> (SELECT NULL::bit(256))');
-- A memory of 64 kB is less than a pass takes.
SET work_mem = '64kB';
SELECT nearest(format('SELECT id, h <-> %L::bit(256) AS d FROM h256 ORDER BY h <-> %1$L::bit(256) LIMIT 100', h)) FROM h256 WHERE id = 77;
SELECT agree('SELECT id FROM h256 WHERE near_dup(h, (SELECT h FROM h256 WHERE id = 5), 100)');
RESET work_mem;
-- A cursor goes on while rows change.
BEGIN;
SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off;
DECLARE c CURSOR FOR SELECT id FROM h256 ORDER BY h <-> repeat('0', 256)::bit(256);
MOVE 10 FROM c;
UPDATE h256 SET id = -id;
MOVE ALL FROM c;
ROLLBACK;

-- Within a scope, on expressions, on parts of a table, on domains, unlogged.
DROP INDEX h256_h;
CREATE INDEX h256_scope ON h256 USING banding (tenant, h);
SELECT plan('SELECT id FROM h256 WHERE tenant = 3 AND near_dup(h, repeat(''0'', 256)::bit(256), 31)');
SELECT agree(format('SELECT id FROM h256 WHERE %s near_dup(h, (SELECT h FROM h256 WHERE id = 1001), %s)', c, d))
FROM unnest('{"tenant = 0 AND","tenant IN (0, 1) AND","tenant IS NULL AND",""}'::text[]) c, unnest('{31,100}'::int[]) d;
SELECT agree('SELECT id FROM h256 WHERE h IS NULL'), agree('SELECT id FROM h256 WHERE tenant = 3 AND h IS NULL');
SELECT nearest(format('SELECT id, h <-> %L::bit(256) AS d FROM h256 %s ORDER BY h <-> %1$L::bit(256) LIMIT 30', h, c)) FROM h256, unnest('{WHERE tenant = 3,""}'::text[]) c WHERE id = 77;
SELECT banding_check('h256_scope', true);
DROP INDEX h256_scope;
CREATE INDEX h256_not ON h256 USING banding ((~h)) WHERE tenant > 3;
CREATE INDEX h256_not ON h256 USING banding (((~h)::bit(256))) WHERE tenant > 3;
SELECT agree('SELECT id FROM h256 WHERE tenant > 3 AND near_dup((~h)::bit(256), (SELECT ~h FROM h256 WHERE id = 1002), 31)');
SELECT nearest('SELECT id, (~h)::bit(256) <-> repeat(''1'', 256)::bit(256) AS d FROM h256 WHERE tenant > 3 ORDER BY (~h)::bit(256) <-> repeat(''1'', 256)::bit(256) LIMIT 9');
SELECT banding_check('h256_not', true);
CREATE DOMAIN pdq AS bit(256);
CREATE TABLE parted (id int, h pdq) PARTITION BY HASH (id);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE UNLOGGED TABLE parted_1 PARTITION OF parted FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE INDEX ON parted USING banding (h);
INSERT INTO parted SELECT id, h FROM h256;
ANALYZE parted;
SELECT agree('SELECT id FROM parted WHERE near_dup(h, (SELECT h FROM h256 WHERE id = 5), 31)'),
  nearest(format('SELECT id, h <-> %L::bit(256) AS d FROM parted ORDER BY h <-> %1$L::bit(256) LIMIT 30', h)) FROM h256 WHERE id = 77;
TRUNCATE parted;
INSERT INTO parted SELECT id, h FROM h256 WHERE id < 50;
SELECT agree('SELECT id FROM parted WHERE near_dup(h, (SELECT h FROM h256 WHERE id = 5), 31)');
-- What the scope is made by is not run by who orders by two distances.
CREATE FUNCTION loud(int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'loud'; RETURN $1; END $$;
CREATE TABLE album (id int, h bit(128));
INSERT INTO album VALUES (1, repeat('0', 128)::bit(128)), (2, repeat('01', 64)::bit(128));
SET client_min_messages = warning;
CREATE INDEX ON album USING banding (loud(id), ((~h)::bit(128)));
RESET client_min_messages;
SET enable_seqscan = off; SET enable_sort = off;
SELECT id FROM album ORDER BY (~h)::bit(128) <-> repeat('0', 128)::bit(128), (~h)::bit(128) <-> repeat('1', 128)::bit(128);
RESET enable_seqscan; RESET enable_sort;
DROP TABLE album;
DROP FUNCTION loud;
-- Many that are equal in a part: more than are remembered.
CREATE TABLE many (id int, h bit(128));
INSERT INTO many SELECT i, repeat('0', 64)::bit(64) || substring(random_bits('m' || i, 128), 1, 64) FROM generate_series(1, 70000) i;
CREATE INDEX many_h ON many USING banding (h);
ANALYZE many;
SELECT agree('SELECT id FROM many WHERE near_dup(h, (SELECT h FROM many WHERE id = 5), 15)'), agree('SELECT id FROM many WHERE near_dup(h, (SELECT h FROM many WHERE id = 5), 25)');
SELECT nearest(format('SELECT id, h <-> %L::bit(128) AS d FROM many ORDER BY h <-> %1$L::bit(128) LIMIT 3', h)) FROM many WHERE id = 77;

-- Distances of any length; what is of another length is refused as PostgreSQL refuses it.
SELECT hamming(B'101', B'110'), B'101' <-> B'101', near_dup(B'0', B'1', 0), near_dup(B'0', B'1', 1), hamming(repeat('01', 1000)::bit(2000), repeat('10', 1000)::bit(2000)),
  hamming(B''::bit varying, B''), hamming(NULL::bit, B'1'), near_dup(B'0101', NULL, 3);
SELECT hamming(B'101', B'1010');
\echo :LAST_ERROR_SQLSTATE
SET enable_seqscan = off;
SELECT count(*) FROM h128 WHERE near_dup(h, B'1010', 3);
\echo :LAST_ERROR_SQLSTATE
SELECT id FROM h128 ORDER BY h <-> B'1010' LIMIT 1;
RESET enable_seqscan;
INSERT INTO h128 VALUES (9999, 1, B'1010');
CREATE TABLE refused (a bit(65), b bit(512), c bit varying(64), d bit varying, e bit);
CREATE INDEX ON refused USING banding (a);
CREATE INDEX ON refused USING banding (b);
CREATE INDEX ON refused USING banding (c);
CREATE INDEX ON refused USING banding (d);
CREATE INDEX ON refused USING banding (e);
CREATE INDEX ON refused USING banding ((a # a));
CREATE INDEX ON refused USING banding ((d::bit(64)));
ALTER TABLE h128 ALTER h TYPE bit(127) USING substring(h, 1, 127)::bit(127);
ALTER TABLE h128 ALTER h TYPE bit(64) USING substring(h, 1, 64)::bit(64);
SELECT agree('SELECT id FROM h128 WHERE near_dup(h, (SELECT h FROM h128 WHERE id = 5), 9)'), banding_check('h128_h', true);
SELECT amvalidate(oid) FROM pg_opclass WHERE opcname = 'bit_hamming_ops' AND opcmethod = (SELECT oid FROM pg_am WHERE amname = 'banding');
SELECT B'1' <@ '\x00'::bytea;
DROP TABLE h64, h128, h256, parted, many, refused;
DROP DOMAIN pdq;
DROP FUNCTION random_bits, flipped, made, plan, agree, nearest;
DROP EXTENSION pg_dedup;
