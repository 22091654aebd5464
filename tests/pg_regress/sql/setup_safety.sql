-- A table's settings are about what they were made for: not about what another role plants beside the extension, nor
-- about columns that look alike.
\set VERBOSITY default
CREATE EXTENSION pg_dedup;
SET client_min_messages = warning;
SELECT extnamespace::regnamespace AS tools FROM pg_extension WHERE extname = 'pg_dedup' \gset

-- An expression around a column is not the column.
CREATE DOMAIN entitled AS varchar(400);
CREATE TABLE wrapped (id int PRIMARY KEY, body text, short varchar(400), fixed char(300), named entitled, code int, flag boolean,
    fp bigint GENERATED ALWAYS AS (simhash(lower(body))) STORED);
INSERT INTO wrapped SELECT n, t, t, t, t, n, true FROM (VALUES (1, 'The bridge is closed until June'), (2, 'THE BRIDGE IS CLOSED UNTIL JUNE')) v(n, t);
CREATE FUNCTION taken(expression text, columns text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    ALTER TABLE wrapped DROP fp;
    EXECUTE format('ALTER TABLE wrapped ADD fp bigint GENERATED ALWAYS AS (simhash(%s)) STORED', expression);
    DELETE FROM dedup_settings;
    PERFORM dedup_setup('wrapped', format('{"columns": %s, "weights": {"tokens": "words"}, "distance": 3, "similarity": 0, "n": 2}', columns)::jsonb);
    RETURN 'taken';
EXCEPTION WHEN duplicate_column THEN
    RETURN 'refused';
END $$;
SELECT expression, taken(format('%s, ''{"tokens": "words"}''', expression), '"' || (regexp_match(expression, 'body|short|fixed|named|code|flag'))[1] || '"')
FROM unnest(ARRAY['body', 'short', 'short::text', 'fixed', 'fixed::text', 'named::text', 'code::text', 'flag::text', '(body)::varchar',
    'lower(body)', 'upper(short)', 'coalesce(body, '''')', '''x'' || left(body, 0)', 'body COLLATE "C"', 'body::varchar(5)', 'short::varchar(5)', 'fixed::char(5)',
    'code::oid::text', 'code::bigint::text', 'CASE WHEN flag THEN body END', 'btrim(body)', 'reverse(short)']) expression;
SELECT taken(format('ARRAY[%s], ''[{"tokens": "words"}, {"tokens": "words"}]''', expression), '["body", "code"]'), expression
FROM unnest(ARRAY['body, code::text', 'body, (code + 1)::text', 'lower(body), code::text']) expression;
-- Made otherwise later: refused as well.
SELECT taken('body, ''{"tokens": "words"}''', '"body"');
ALTER TABLE wrapped DROP fp, ADD fp bigint GENERATED ALWAYS AS (simhash(coalesce(body, ''), '{"tokens": "words"}')) STORED;
SELECT * FROM dedup_find('wrapped', 'The bridge is closed until June');
DROP TABLE wrapped;
DROP DOMAIN entitled;
DROP FUNCTION taken;

-- Functions that another role makes beside the extension's, where it may, are not called.
CREATE ROLE setup_planter;
GRANT CREATE ON SCHEMA :tools TO setup_planter;
SET ROLE setup_planter;
CREATE FUNCTION :tools.simhash(text, text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'planted, run as %', current_user; END $$;
CREATE FUNCTION :tools.simhash(text, json) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'planted, run as %', current_user; END $$;
CREATE FUNCTION :tools.simhash(text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'planted, run as %', current_user; END $$;
CREATE FUNCTION :tools.simhash(text[], text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE EXCEPTION 'planted, run as %', current_user; END $$;
CREATE FUNCTION :tools.dedup(text) RETURNS TABLE (id bigint, keeper bigint, stage text, distance integer, similarity double precision)
    LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted, run as %', current_user; END $$;
CREATE FUNCTION :tools.dedup(text, jsonb, uuid) RETURNS TABLE (id uuid, keeper uuid, stage text, distance integer, similarity double precision)
    LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted, run as %', current_user; END $$;
CREATE FUNCTION :tools.dedup(text, text, uuid) RETURNS TABLE (id uuid, keeper uuid, stage text, distance integer, similarity double precision)
    LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted, run as %', current_user; END $$;
RESET ROLE;
CREATE TABLE note (id int PRIMARY KEY, body text, subject varchar(40));
CREATE TABLE page (id uuid PRIMARY KEY, body text);
INSERT INTO note SELECT n, 'the street lamp in front of the school has been dark for a month', 'lamp' FROM generate_series(1, 2) n;
INSERT INTO page SELECT lpad(id::text, 32, '0')::uuid, body FROM note;
SELECT * FROM dedup_setup('note', '{"columns": {"subject": 1, "body": null}, "weights": {"tokens": "words"}, "distance": 3, "similarity": 0, "n": 2}');
SELECT statement FROM dedup_setup('page', '{"weights": {}, "distance": 3, "similarity": 0, "n": 2}') statement;
SELECT count(*) FROM dedup_setup('page');
SELECT id, keeper, stage FROM dedup_clean('note');
SELECT id, keeper, stage FROM dedup_clean('page', true, NULL::uuid);
SELECT recall FROM dedup_evaluate('page', $$SELECT lpad('1', 32, '0')::uuid, lpad('2', 32, '0')::uuid$$);
SELECT id FROM dedup_find('note', 'the street lamp', 64) ORDER BY id;
-- The function behind looks at the columns that it is asked for.
SELECT * FROM :tools._dedup('note') AS d(id bigint, keeper bigint, stage text, distance int, similarity double precision);
SELECT * FROM :tools._dedup('note') AS d(id bigint, keeper text, stage text, distance int, similarity double precision);
SELECT * FROM :tools._dedup('note') AS d(id bigint);
SELECT * FROM :tools._dedup('note') AS d(id text, keeper text, stage text, distance int, similarity double precision);
SELECT :tools._dedup('note');
DROP TABLE note, page;
DROP OWNED BY setup_planter;
DROP ROLE setup_planter;

-- An index answers whether ids are unique where it can; where it cannot, the rows do.
CREATE TABLE keyed (id int, name text, body text);
INSERT INTO keyed VALUES (1, 'a', 'no water since monday in harbour street'), (2, 'b', 'no water since monday in harbour street'), (2, 'c', 'another matter altogether');
SELECT count(*) FROM dedup_setup('keyed', '{"id": "id", "columns": "body", "weights": {}, "distance": 3, "similarity": 0, "n": 2}');
CREATE UNIQUE INDEX ON keyed (id) WHERE id < 2;
CREATE UNIQUE INDEX ON keyed (id, name);
SELECT * FROM dedup_clean('keyed', false);
UPDATE keyed SET id = 3 WHERE name = 'c';
CREATE UNIQUE INDEX ON keyed (id);
CREATE TABLE heir () INHERITS (keyed);
INSERT INTO heir VALUES (2, 'd', 'another matter, and the same number');
SELECT * FROM dedup_clean('keyed', false);
DROP TABLE keyed CASCADE;

DELETE FROM dedup_settings;
DROP EXTENSION pg_dedup;
