-- P2's incremental search: its relational table (fingerprint and four block
-- columns, each with a btree) beside a banding index, on the same rows. Both
-- of its questions: is there a similar one, and which are they.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION pg_dedup;
SELECT setseed(0.5) \g /dev/null
CREATE TEMP TABLE fps AS
SELECT i AS id, ('x' || left(md5((CASE WHEN i % 10 < 7 THEN i ELSE i / 10 * 10 END)::text), 16))::bit(64)::bigint
         # CASE WHEN i % 10 < 7 THEN 0 ELSE (1::bigint << (i % 60)) | (1::bigint << (i % 7)) END AS fp
  FROM generate_series(1, :rows) i;
CREATE TABLE relational (id int PRIMARY KEY, fp bigint, q1 int, q2 int, q3 int, q4 int);
CREATE INDEX ON relational (q1);
CREATE INDEX ON relational (q2);
CREATE INDEX ON relational (q3);
CREATE INDEX ON relational (q4);
CREATE TABLE banded (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON banded USING banding (fp);
CREATE TEMP TABLE measured (step int, what text, relational float8, banding float8, answers text);

CREATE FUNCTION block(fp bigint, number int) RETURNS int LANGUAGE sql IMMUTABLE
    RETURN (fp >> (48 - 16 * number)) & 65535;

DO $$
DECLARE
    started timestamptz;
    a float8;
    b float8;
    fingerprint bigint;
    any_a bigint := 0;
    any_b bigint := 0;
    all_a bigint := 0;
    all_b bigint := 0;
    hit boolean;
    n bigint;
    queries bigint[] := ARRAY(SELECT fp FROM fps ORDER BY md5(id::text) LIMIT 2000);
BEGIN
    started := clock_timestamp();
    INSERT INTO relational SELECT id, fp, block(fp, 0), block(fp, 1), block(fp, 2), block(fp, 3) FROM fps;
    a := extract(epoch FROM clock_timestamp() - started);
    started := clock_timestamp();
    INSERT INTO banded SELECT id, fp FROM fps;
    b := extract(epoch FROM clock_timestamp() - started);
    INSERT INTO measured SELECT 1, 'insert one row', a / count(*), b / count(*), '' FROM fps;
    ANALYZE relational;
    ANALYZE banded;
    started := clock_timestamp();
    FOREACH fingerprint IN ARRAY queries LOOP
        SELECT EXISTS (SELECT FROM relational r
            WHERE (q1 = block(fingerprint, 0) OR q2 = block(fingerprint, 1) OR q3 = block(fingerprint, 2) OR q4 = block(fingerprint, 3))
              AND hamming(r.fp, fingerprint) BETWEEN 1 AND 3) INTO hit;
        any_a := any_a + hit::int;
    END LOOP;
    a := extract(epoch FROM clock_timestamp() - started);
    started := clock_timestamp();
    FOREACH fingerprint IN ARRAY queries LOOP
        SELECT EXISTS (SELECT FROM banded r WHERE near_dup(r.fp, fingerprint, 3) AND r.fp <> fingerprint) INTO hit;
        any_b := any_b + hit::int;
    END LOOP;
    b := extract(epoch FROM clock_timestamp() - started);
    INSERT INTO measured VALUES (2, 'is there a similar one?', a / cardinality(queries), b / cardinality(queries),
        CASE WHEN any_a = any_b THEN 'equal, ' || any_a ELSE any_a || ' and ' || any_b END);
    started := clock_timestamp();
    FOREACH fingerprint IN ARRAY queries LOOP
        SELECT count(*) FROM relational r
         WHERE (q1 = block(fingerprint, 0) OR q2 = block(fingerprint, 1) OR q3 = block(fingerprint, 2) OR q4 = block(fingerprint, 3))
           AND hamming(r.fp, fingerprint) <= 3 INTO n;
        all_a := all_a + n;
    END LOOP;
    a := extract(epoch FROM clock_timestamp() - started);
    started := clock_timestamp();
    FOREACH fingerprint IN ARRAY queries LOOP
        SELECT count(*) FROM banded r WHERE near_dup(r.fp, fingerprint, 3) INTO n;
        all_b := all_b + n;
    END LOOP;
    b := extract(epoch FROM clock_timestamp() - started);
    INSERT INTO measured VALUES (3, 'all similar ones', a / cardinality(queries), b / cardinality(queries),
        CASE WHEN all_a = all_b THEN 'equal, ' || all_a ELSE all_a || ' and ' || all_b END);
END $$;

SELECT format(E'## P2, incremental, inside PostgreSQL\n\n%s rows: the paper''s relational table with four btree block columns beside a banding index, distance 3. (Its times for MySQL and MongoDB are lost.)\n\n| step | relational, 4 btrees | banding | ratio | answers of 2,000 |\n|---|---|---|---|---|', :rows);
SELECT format('| %s | %s µs | %s µs | %s | %s |', what, round(relational * 1e6), round(banding * 1e6), round((relational / banding)::numeric, 1), answers)
  FROM measured ORDER BY step;
SELECT '';
