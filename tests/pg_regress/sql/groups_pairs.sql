-- All near pairs of a query: what they are, whatever the memory and the
-- number of threads, and what is refused.
CREATE EXTENSION pg_dedup;
CREATE TABLE row_fp (id bigint, fp bigint);
INSERT INTO row_fp VALUES (1, 0), (2, 1), (3, 7), (4, NULL), (5, -1), (6, -1), (7, -2);
-- Each pair once, the lesser id first; no fingerprint, no pair; rows of one id are different rows.
SELECT * FROM near_dup_pairs('SELECT id, fp FROM row_fp') ORDER BY 1, 2, 3;
SELECT * FROM near_dup_pairs('SELECT id, fp FROM row_fp', '{"distance": 0}') ORDER BY 1, 2, 3;
SELECT count(*) AS "all of six" FROM near_dup_pairs('SELECT id, fp FROM row_fp', '{"distance": 64}');
SELECT near_dup_pairs('SELECT id, fp FROM row_fp', '{"distance": 65}');
SELECT * FROM near_dup_pairs('SELECT id::smallint, fp FROM row_fp WHERE id < 0');
-- Other integers may be ids, negative ones too.
SELECT * FROM near_dup_pairs('VALUES (-2::smallint, 5::bigint), (1::smallint, 4)');
SELECT * FROM near_dup_pairs('VALUES (-2, 5::bigint), (1, 4)');
SELECT near_dup_pairs(NULL);

-- Against a join, at radii near and wide, over rows half of which share a block.
CREATE FUNCTION fp_of(i integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT CASE WHEN i % 2 = 0 THEN hashint4extended(i, 0) ELSE hashint4extended(i, 0) & 65535 END $$;
CREATE TABLE many AS
SELECT i::bigint AS id,
       CASE WHEN i % 3 = 0 THEN fp_of(i / 3) # (1::bigint << (i % 64)) # (1::bigint << (i % 7)) ELSE fp_of(i) END AS fp
FROM generate_series(1, 1500) i;
CREATE FUNCTION differing(radius integer) RETURNS bigint LANGUAGE sql AS $$
    WITH joined AS (SELECT x.id, y.id, x.fp <~> y.fp FROM many x JOIN many y ON x.id < y.id AND x.fp <~> y.fp <= radius),
         found AS (SELECT a, b, distance FROM near_dup_pairs('SELECT id, fp FROM many', jsonb_build_object('distance', radius)))
    SELECT (SELECT count(*) FROM (TABLE joined EXCEPT ALL TABLE found) a)
         + (SELECT count(*) FROM (TABLE found EXCEPT ALL TABLE joined) b) $$;
SELECT radius, differing(radius) FROM unnest('{0,1,2,3,5,8,12,20,40}'::int[]) radius;
SET work_mem = '64kB';
SELECT radius, differing(radius) AS "through files" FROM unnest('{0,3,8,20}'::int[]) radius;
SET pg_dedup.threads = 3;
SELECT radius, differing(radius) AS "on threads" FROM unnest('{0,3,8,20}'::int[]) radius;
RESET pg_dedup.threads;
RESET work_mem;

-- Wrong shapes.
SELECT * FROM near_dup_pairs('SELECT 1');
SELECT * FROM near_dup_pairs('SELECT 1, 2::bigint, 3');
SELECT * FROM near_dup_pairs('SELECT ''a''::text AS name, 2::bigint AS fp');
SELECT * FROM near_dup_pairs('SELECT 1 AS id, 2 AS fp');
SELECT * FROM near_dup_pairs('SELECT NULL::bigint, 2::bigint');
SELECT * FROM near_dup_pairs('DELETE FROM row_fp');
SELECT * FROM near_dup_pairs('DELETE FROM row_fp RETURNING id, fp');
SELECT * FROM near_dup_pairs('SELECT nothing');
SELECT * FROM near_dup_pairs('SELECT 1::bigint, 1::bigint; SELECT 2::bigint, 2::bigint');
SELECT * FROM near_dup_pairs('');
SELECT * FROM near_dup_pairs('SELECT id, fp FROM row_fp', '{"distance": -1}');
SELECT count(*) AS "nothing was deleted" FROM row_fp;

-- Too large for the temporary files allowed; cancelled in the middle of an
-- answer that would be five thousand million pairs. Nothing is left behind.
-- The words of PostgreSQL's error differ between its versions, its code does not.
\set VERBOSITY sqlstate
SET temp_file_limit = '1MB';
SET work_mem = '64kB';
SELECT count(*) FROM near_dup_pairs('SELECT i::bigint, i::bigint FROM generate_series(1, 100000) i', '{"distance": 0}');
\set VERBOSITY default
RESET temp_file_limit;
RESET work_mem;
SET statement_timeout = '300ms';
SELECT count(*) FROM near_dup_pairs('SELECT i::bigint, 1::bigint FROM generate_series(1, 100000) i', '{"distance": 0}');
RESET statement_timeout;
SELECT count(*) AS "temporary files left" FROM pg_ls_tmpdir();
SELECT * FROM near_dup_pairs('SELECT id, fp FROM row_fp', '{"distance": 0}');
-- Bit strings of any length, as they are joined; in files as well. A table's one column with an index is the fingerprint.
CREATE TABLE hash (id bigint PRIMARY KEY, pdq bit(256), short bit(70));
INSERT INTO hash SELECT i, CASE WHEN i % 19 <> 0 THEN h END, h::bit(70) FROM (SELECT i, set_bit(set_bit(('x' || CASE WHEN i % 7 = 0 THEN repeat('0', 48) || md5(i::text)
  ELSE md5((i / 4)::text) || md5((i / 4)::text || 'b') END)::bit(256), i % 61, 1), i % 200 + 40, 0) AS h FROM generate_series(1, 2000) i) s;
CREATE INDEX hash_pdq ON hash USING banding (pdq);
CREATE FUNCTION pairs(source text, d int) RETURNS text LANGUAGE sql AS $$
  SELECT count(*) || ' ' || sum(a * b % 1000 + distance) FROM near_dup_pairs(source, format('{"distance": %s}', d)::jsonb) $$;
SELECT d, pairs('hash', d), pairs('hash', d) = count(*) || ' ' || sum(a.id * b.id % 1000 + (a.pdq <-> b.pdq)) AS same
FROM unnest('{0,4,31,64}'::int[]) d, hash a JOIN hash b ON a.id < b.id AND hamming(a.pdq, b.pdq) <= 64 WHERE a.pdq <-> b.pdq <= d GROUP BY d ORDER BY d;
SET work_mem = '64kB';
SELECT pairs('hash', 31), pairs('SELECT id, short FROM hash', 9) = (SELECT count(*) || ' ' || sum(a.id * b.id % 1000 + (a.short <-> b.short)) FROM hash a JOIN hash b ON a.id < b.id AND near_dup(a.short, b.short, 9)) AS same;
RESET work_mem;
SELECT * FROM near_dup_pairs('SELECT id, CASE WHEN id < 3 THEN pdq ELSE short END FROM hash');
SELECT a, b, distance FROM near_dup_pairs('SELECT ''n'' || id, pdq FROM hash WHERE id < 3', '{"distance": 31}', NULL::text);
DROP TABLE hash;
DROP FUNCTION pairs;
DROP TABLE row_fp, many CASCADE;
DROP FUNCTION fp_of, differing;
DROP EXTENSION pg_dedup;
