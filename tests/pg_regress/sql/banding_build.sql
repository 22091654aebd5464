-- Protects builds on parallel workers: their rows are in the index, and their errors are the statement's.
CREATE EXTENSION pg_dedup;
SET min_parallel_table_scan_size = 0;
SET maintenance_work_mem = '128MB';
SET max_parallel_maintenance_workers = 2;
CREATE TABLE built AS
    SELECT i AS id, i % 3 AS tenant, CASE WHEN i % 7 > 0 THEN hashint8extended(i, 5) END AS fp,
           'Street lamp ' || i || ' in front of the school is broken' AS body
    FROM generate_series(1, 3000) i;
CREATE INDEX built_ix ON built USING banding (tenant, simhash(body)) WHERE id > 1000;
SELECT banding_check('built_ix', true);
SELECT rows FROM banding_stats('built_ix');
DROP INDEX built_ix;
CREATE INDEX built_ix ON built USING banding (fp);
SELECT banding_check('built_ix', true);
SELECT rows FROM banding_stats('built_ix');
SELECT count(*) FROM built WHERE fp IS NULL;

-- The backend is slow, so that a worker comes to read rows.
CREATE FUNCTION by_a_worker(fp bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF pg_backend_pid()::text = current_setting('built.leader', true) THEN
        PERFORM pg_sleep(0.05);
    ELSE
        RAISE EXCEPTION 'read by a worker' USING ERRCODE = 'data_exception';
    END IF;
    RETURN fp;
END $$;
SELECT set_config('built.leader', pg_backend_pid()::text, false) IS NOT NULL AS set;
DO $$
BEGIN
    CREATE INDEX ON built USING banding (by_a_worker(fp));
EXCEPTION WHEN data_exception THEN
    RAISE NOTICE '%', SQLERRM;
    INSERT INTO built VALUES (0);
END $$;
SELECT count(*) FROM built;

-- A scope's hash is computed where its function may be: here it could not, on a worker.
CREATE SEQUENCE hashed;
CREATE FUNCTION counting_hash(value integer, seed bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    PERFORM nextval('public.hashed');
    RETURN hashint4extended(value, seed);
END $$;
CREATE OPERATOR CLASS counting_ops FOR TYPE integer USING banding AS
    OPERATOR 4 = (integer, integer), FUNCTION 1 counting_hash(integer, bigint);
CREATE INDEX built_scope ON built USING banding (tenant counting_ops, fp);
SELECT banding_check('built_scope', true);

-- One whose making was broken off is not damaged.
CREATE INDEX CONCURRENTLY built_never ON built USING banding ((fp / (tenant - tenant)));
SELECT banding_check('built_never');
SELECT banding_stats('built_never');
DROP TABLE built;
DROP OPERATOR FAMILY counting_ops USING banding;
DROP FUNCTION by_a_worker, counting_hash;
DROP SEQUENCE hashed;
DROP EXTENSION pg_dedup;
