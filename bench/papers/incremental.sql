-- P2's incremental search: its relational table (fingerprint and four block columns, each with a btree) and its
-- documents (one for each value of a block, with the fingerprints that have it, as it keeps them in MongoDB) beside a
-- banding index, on the same rows. Both of its questions: is there a similar one, and which are they.
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
CREATE TABLE documents (block_name text PRIMARY KEY, info jsonb NOT NULL);
CREATE TABLE banded (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON banded USING banding (fp);
CREATE TEMP TABLE measured (step int, what text, relational float8, documents float8, banding float8, answers text);

CREATE FUNCTION block(fp bigint, number int) RETURNS int LANGUAGE sql IMMUTABLE
    RETURN (fp >> (48 - 16 * number)) & 65535;
CREATE FUNCTION blocks(fp bigint) RETURNS text[] LANGUAGE sql IMMUTABLE
    RETURN ARRAY['1:' || block(fp, 0), '2:' || block(fp, 1), '3:' || block(fp, 2), '4:' || block(fp, 3)];

DO $$
DECLARE
    incremental constant int := 10000;
    rows constant bigint := (SELECT count(*) FROM fps);
    queries constant bigint[] := ARRAY(SELECT fp FROM fps ORDER BY md5(id::text) LIMIT 2000);
    started timestamptz;
    a float8;
    b float8;
    c float8;
    new record;
    fingerprint bigint;
    counts bigint[];
    n bigint;
    hit boolean;
BEGIN
    -- Most rows at once, the last ones one by one.
    INSERT INTO relational SELECT id, fp, block(fp, 0), block(fp, 1), block(fp, 2), block(fp, 3) FROM fps WHERE id <= rows - incremental;
    INSERT INTO documents SELECT name, jsonb_agg(jsonb_build_object('hashcode', fp, 'textname', id))
      FROM fps, unnest(blocks(fp)) name WHERE id <= rows - incremental GROUP BY name;
    INSERT INTO banded SELECT id, fp FROM fps WHERE id <= rows - incremental;
    started := clock_timestamp();
    FOR new IN SELECT * FROM fps WHERE id > rows - incremental LOOP
        INSERT INTO relational VALUES (new.id, new.fp, block(new.fp, 0), block(new.fp, 1), block(new.fp, 2), block(new.fp, 3));
    END LOOP;
    a := extract(epoch FROM clock_timestamp() - started);
    started := clock_timestamp();
    FOR new IN SELECT * FROM fps WHERE id > rows - incremental LOOP
        INSERT INTO documents SELECT name, jsonb_build_array(jsonb_build_object('hashcode', new.fp, 'textname', new.id)) FROM unnest(blocks(new.fp)) name
            ON CONFLICT (block_name) DO UPDATE SET info = documents.info || excluded.info;
    END LOOP;
    b := extract(epoch FROM clock_timestamp() - started);
    started := clock_timestamp();
    FOR new IN SELECT * FROM fps WHERE id > rows - incremental LOOP
        INSERT INTO banded VALUES (new.id, new.fp);
    END LOOP;
    c := extract(epoch FROM clock_timestamp() - started);
    INSERT INTO measured VALUES (1, 'insert one row', a / incremental, b / incremental, c / incremental, '');
    ANALYZE relational;
    ANALYZE documents;
    ANALYZE banded;

    counts := '{0,0,0}';
    started := clock_timestamp();
    FOREACH fingerprint IN ARRAY queries LOOP
        SELECT EXISTS (SELECT FROM relational r
            WHERE (q1 = block(fingerprint, 0) OR q2 = block(fingerprint, 1) OR q3 = block(fingerprint, 2) OR q4 = block(fingerprint, 3))
              AND hamming(r.fp, fingerprint) BETWEEN 1 AND 3) INTO hit;
        counts[1] := counts[1] + hit::int;
    END LOOP;
    a := extract(epoch FROM clock_timestamp() - started);
    started := clock_timestamp();
    FOREACH fingerprint IN ARRAY queries LOOP
        SELECT EXISTS (SELECT FROM documents, jsonb_to_recordset(info) AS i(hashcode bigint)
            WHERE block_name = ANY (blocks(fingerprint)) AND hamming(hashcode, fingerprint) BETWEEN 1 AND 3) INTO hit;
        counts[2] := counts[2] + hit::int;
    END LOOP;
    b := extract(epoch FROM clock_timestamp() - started);
    started := clock_timestamp();
    FOREACH fingerprint IN ARRAY queries LOOP
        SELECT EXISTS (SELECT FROM banded r WHERE near_dup(r.fp, fingerprint, 3) AND r.fp <> fingerprint) INTO hit;
        counts[3] := counts[3] + hit::int;
    END LOOP;
    c := extract(epoch FROM clock_timestamp() - started);
    INSERT INTO measured VALUES (2, 'is there a similar one?', a / cardinality(queries), b / cardinality(queries), c / cardinality(queries),
        CASE WHEN counts[3] = ALL (counts) THEN 'equal, ' || counts[3] ELSE counts::text END);

    counts := '{0,0,0}';
    started := clock_timestamp();
    FOREACH fingerprint IN ARRAY queries LOOP
        SELECT count(*) FROM relational r
         WHERE (q1 = block(fingerprint, 0) OR q2 = block(fingerprint, 1) OR q3 = block(fingerprint, 2) OR q4 = block(fingerprint, 3))
           AND hamming(r.fp, fingerprint) <= 3 INTO n;
        counts[1] := counts[1] + n;
    END LOOP;
    a := extract(epoch FROM clock_timestamp() - started);
    started := clock_timestamp();
    FOREACH fingerprint IN ARRAY queries LOOP
        SELECT count(DISTINCT textname) FROM documents, jsonb_to_recordset(info) AS i(hashcode bigint, textname int)
         WHERE block_name = ANY (blocks(fingerprint)) AND hamming(hashcode, fingerprint) <= 3 INTO n;
        counts[2] := counts[2] + n;
    END LOOP;
    b := extract(epoch FROM clock_timestamp() - started);
    started := clock_timestamp();
    FOREACH fingerprint IN ARRAY queries LOOP
        SELECT count(*) FROM banded r WHERE near_dup(r.fp, fingerprint, 3) INTO n;
        counts[3] := counts[3] + n;
    END LOOP;
    c := extract(epoch FROM clock_timestamp() - started);
    INSERT INTO measured VALUES (3, 'all similar ones', a / cardinality(queries), b / cardinality(queries), c / cardinality(queries),
        CASE WHEN counts[3] = ALL (counts) THEN 'equal, ' || counts[3] ELSE counts::text END);
END $$;

SELECT format(E'## P2, incremental, inside PostgreSQL\n\n%s rows: the paper''s relational table with four btree block columns and its documents, one for each value of a block, as jsonb, beside a banding index, distance 3. (Its times for MySQL and MongoDB are lost.)\n\n| step | relational, 4 btrees | documents | banding | answers of 2,000 |\n|---|---|---|---|---|', :rows);
SELECT format('| %s | %s µs | %s µs | %s µs | %s |', what, round(relational * 1e6), round(documents * 1e6), round(banding * 1e6), answers)
  FROM measured ORDER BY step;
SELECT format('| bytes a row | %s | %s | %s | |', pg_total_relation_size('relational') / :rows, pg_total_relation_size('documents') / :rows, pg_total_relation_size('banded') / :rows);
SELECT '';
