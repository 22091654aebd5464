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
    PERFORM dedup_setup('wrapped', format('{"columns": %s, "recipe": {"tokens": "words"}, "distance": 3, "similarity": 0, "n": 2}', columns)::jsonb);
    RETURN 'taken';
EXCEPTION WHEN duplicate_column THEN
    RETURN 'refused';
END $$;
SELECT expression, taken(format('%s, ''{"tokens": "words"}''', expression), '"' || (regexp_match(expression, 'body|short|fixed|named|flag'))[1] || '"')
FROM unnest(ARRAY['body', 'short', 'short::text', 'fixed', 'fixed::text', 'named::text', 'flag::text', '(body)::varchar',
    'lower(body)', 'upper(short)', 'coalesce(body, '''')', '''x'' || left(body, 0)', 'body COLLATE "C"', 'body::varchar(5)', 'short::varchar(5)', 'fixed::char(5)',
    'CASE WHEN flag THEN body END', 'btrim(body)', 'reverse(short)']) expression;
SELECT taken(format('ARRAY[%s], ''[{"tokens": "words"}, {"tokens": "words"}]''', expression), '["body", "code"]'), expression
FROM unnest(ARRAY['body, code::text', 'body, (code + 1)::text', 'lower(body), code::text', 'body, code::oid::text', 'body, code::bigint::text']) expression;
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
SELECT * FROM dedup_setup('note', '{"columns": {"subject": 1, "body": null}, "recipe": {"tokens": "words"}, "distance": 3, "similarity": 0, "n": 2}');
SELECT statement FROM dedup_setup('page', '{"recipe": {}, "distance": 3, "similarity": 0, "n": 2}') statement;
SELECT count(*) FROM dedup_setup('page');
SELECT id, keeper, stage FROM dedup_clean('note');
SELECT id, keeper, stage FROM dedup_clean('page', true, NULL, NULL::uuid);
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

-- Nor operators for a domain, where those of its base type stand in a schema in which another role may create some.
CREATE TYPE code;
CREATE FUNCTION code_in(cstring) RETURNS code LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION code_out(code) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE code (INPUT = code_in, OUTPUT = code_out, LIKE = integer);
CREATE FUNCTION code_cmp(code, code) RETURNS integer LANGUAGE internal IMMUTABLE STRICT AS 'btint4cmp';
SELECT format('CREATE FUNCTION code_%1$s(code, code) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS ''int4%1$s'';'
    'CREATE OPERATOR %2$s (LEFTARG = code, RIGHTARG = code, FUNCTION = code_%1$s)', name, sign)
FROM (VALUES ('lt', '<'), ('le', '<='), ('eq', '='), ('ge', '>='), ('gt', '>')) o(name, sign) \gexec
CREATE OPERATOR CLASS code_ops DEFAULT FOR TYPE code USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
    FUNCTION 1 code_cmp(code, code);
CREATE DOMAIN docket AS code;
CREATE ROLE setup_planter;
GRANT CREATE ON SCHEMA public TO setup_planter;
SET ROLE setup_planter;
CREATE FUNCTION planted(docket, docket) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted, run as %', current_user; END $$;
CREATE FUNCTION planted(docket, code) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'planted, run as %', current_user; END $$;
CREATE OPERATOR = (LEFTARG = docket, RIGHTARG = docket, FUNCTION = planted);
CREATE OPERATOR = (LEFTARG = docket, RIGHTARG = code, FUNCTION = planted);
RESET ROLE;
CREATE TABLE filed (id docket PRIMARY KEY, body text);
INSERT INTO filed VALUES ('1', 'no water since monday in harbour street'), ('2', 'no water since monday in harbour street'), ('3', 'another matter altogether');
SELECT count(*) FROM dedup_setup('filed', '{"recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
SELECT t.id, f.id FROM filed t, dedup_find(t, 3, NULL::code) f ORDER BY t.id::text;
CALL dedup_into('filed_groups', 'filed', '{"recipe": {}, "distance": 3, "similarity": 0, "n": 2, "details": []}');
INSERT INTO filed VALUES ('4', 'no water since monday in harbour street');
DELETE FROM filed_groups WHERE id::text = '1';
CALL dedup_into('filed_groups', 'filed');
SELECT id, keeper, stage FROM filed_groups ORDER BY id::text;
SELECT id, keeper, stage FROM dedup_clean('filed', false, NULL, NULL::code);
SELECT id FROM filed;
DROP TABLE filed_groups, filed_groups_merges, filed_groups_state;
DROP TABLE filed, filed_archive;
DROP OWNED BY setup_planter;
DROP ROLE setup_planter;
DROP TYPE code CASCADE;

-- An index answers whether ids are unique where it can; where it cannot, the rows do.
CREATE TABLE keyed (id int, name text, body text);
INSERT INTO keyed VALUES (1, 'a', 'no water since monday in harbour street'), (2, 'b', 'no water since monday in harbour street'), (2, 'c', 'another matter altogether');
SELECT count(*) FROM dedup_setup('keyed', '{"id": "id", "columns": "body", "recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
CREATE UNIQUE INDEX ON keyed (id) WHERE id < 2;
CREATE UNIQUE INDEX ON keyed (id, name);
SELECT * FROM dedup_clean('keyed', false);
UPDATE keyed SET id = 3 WHERE name = 'c';
CREATE UNIQUE INDEX ON keyed (id);
CREATE TABLE heir () INHERITS (keyed);
INSERT INTO heir VALUES (2, 'd', 'another matter, and the same number');
SELECT * FROM dedup_clean('keyed', false);
DROP TABLE keyed CASCADE;

-- Columns with new names: that of the fingerprint is followed, those of the ids and of keep are asked for, whatever has their old names now.
CREATE TABLE entry (id int, filed int, body text);
INSERT INTO entry VALUES (1, 1, 'no water since monday in harbour street'), (2, 2, 'no water since monday in harbour street'), (3, 3, 'another matter altogether');
SELECT count(*) FROM dedup_setup('entry', '{"id": "id", "keep": {"column": "filed", "order": "desc"}, "columns": "body", "recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
SELECT id, keeper, stage FROM dedup('entry');
ALTER TABLE entry RENAME fp TO print;
ALTER TABLE entry RENAME id TO number;
ALTER TABLE entry RENAME filed TO received;
SELECT * FROM dedup('entry');
ALTER TABLE entry ADD fp bigint, ADD id int, ADD filed int;
UPDATE entry SET fp = number, id = 10 - number, filed = -received;
SELECT * FROM dedup('entry');
SELECT * FROM dedup_clean('entry', false);
SELECT * FROM dedup_find('entry', 'no water since monday in harbour street');
SELECT * FROM dedup('entry', '{"id": "number"}');
SELECT id, keeper, stage FROM dedup('entry', '{"id": "number", "keep": "first"}');
SELECT * FROM dedup_setup('entry', dry_run => true);
SELECT * FROM dedup_setup('entry', '{"distance": 4}');
SELECT * FROM dedup_setup('entry');
SELECT id, keeper, stage FROM dedup('entry');
SELECT id FROM dedup_find('entry', 'no water since monday in harbour street') ORDER BY id;
SELECT version, options, fp, id, keep FROM dedup_settings ORDER BY version;
-- A column that is gone is not another one of its name, and no default takes its place unasked.
ALTER TABLE entry DROP received;
ALTER TABLE entry ADD received int;
SELECT * FROM dedup('entry');
SELECT * FROM dedup_setup('entry', '{"distance": 5}');
SELECT count(*) FROM dedup_setup('entry', '{"keep": null}');
ALTER TABLE entry DROP number;
SELECT * FROM dedup('entry');
SELECT * FROM dedup_setup('entry');
SELECT count(*) FROM dedup_setup('entry', '{"id": "id"}');
SELECT id, keeper, stage FROM dedup('entry');
-- Another fingerprint in the place of the one that settings are of; what was asked for is asked for again.
ALTER TABLE entry ADD note text;
ALTER TABLE entry DROP print, ADD print bigint GENERATED ALWAYS AS (simhash(note, '{}')) STORED;
SELECT * FROM dedup('entry');
SELECT * FROM dedup_setup('entry');
ALTER TABLE entry DROP print;
SELECT * FROM dedup_setup('entry');
DROP TABLE entry;

-- A partition whose column is made otherwise, as one that was detached while the table was set up anew: PostgreSQL 16
-- and later take it, so the expression is written where they have it.
CREATE TABLE record (id int PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE record_1 PARTITION OF record FOR VALUES FROM (0) TO (10);
CREATE TABLE record_2 PARTITION OF record FOR VALUES FROM (10) TO (20);
INSERT INTO record SELECT i, 'no water since monday in harbour street' || repeat('!', i - 9) FROM generate_series(9, 10) i;
SELECT count(*) FROM dedup_setup('record', '{"recipe": {"tokens": "words"}, "distance": 3, "similarity": 0, "n": 2}');
CREATE TABLE aside (id int, body text, fp bigint GENERATED ALWAYS AS (simhash(body, '{"tokens": "chars", "n": 2}')) STORED);
SELECT id, keeper, stage FROM dedup('record');
UPDATE pg_attrdef SET adbin = (SELECT adbin FROM pg_attrdef WHERE adrelid = 'aside'::regclass) WHERE adrelid = 'record_2'::regclass;
ALTER TABLE record_2 ALTER body SET NOT NULL;
UPDATE record_2 SET body = body;
ALTER TABLE record ALTER body SET STATISTICS 50;
SELECT id, keeper, stage FROM dedup('record');
SELECT id FROM dedup_find('record', 'no water since monday in harbour street');
SELECT count(*) FROM dedup_setup('record');
SELECT id, keeper, stage FROM dedup('record');
DROP TABLE record, aside;

-- Types whose text follows a setting, though their output is immutable: the same row would get two fingerprints.
CREATE DOMAIN metres AS real;
CREATE TABLE measured (id int PRIMARY KEY, width double precision, height metres, place point, raw bytea, amount numeric);
SELECT dedup_setup('measured', '{"columns": "width"}');
SELECT dedup_setup('measured', '{"columns": "height"}');
SELECT dedup_setup('measured', '{"columns": {"place": 1}}');
SELECT dedup_setup('measured', '{"columns": {"raw": 1}}');
SELECT count(*) FROM dedup_setup('measured', '{"columns": {"amount": 1}}');
DROP TABLE measured;
DROP DOMAIN metres;

-- The number of a dropped table: settings are not those of the next one that gets it.
CREATE TABLE gone (id int PRIMARY KEY, body text);
SELECT count(*) FROM dedup_setup('gone', '{"columns": "body", "recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
CREATE TABLE later (id int PRIMARY KEY, fp text, body text);
INSERT INTO later VALUES (1, '', 'no water since monday in harbour street');
ALTER TABLE dedup_settings DISABLE TRIGGER _dedup_guard;
UPDATE dedup_settings SET tbl = 'later';
ALTER TABLE dedup_settings ENABLE ALWAYS TRIGGER _dedup_guard;
SELECT id, stage FROM dedup('later', '{"columns": "body"}');
SELECT * FROM dedup_find('later', 'no water');
SELECT * FROM dedup_setup('later', '{"columns": "body", "fp": "print", "recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
SELECT id FROM dedup_find('later', 'no water since monday in harbour street');
DROP TABLE gone, later;

-- Only dedup_setup writes: a role sets up its own tables, without a right on dedup_settings but to read. Those of
-- tables that are gone, temporary ones too, go at the next set-up, whoever calls it.
CREATE ROLE setup_tenant;
CREATE SCHEMA tenant AUTHORIZATION setup_tenant;
SET ROLE setup_tenant;
CREATE TABLE tenant.own (id int PRIMARY KEY, body text);
CREATE TEMPORARY TABLE passing (id int PRIMARY KEY, body text);
SELECT count(*) FROM dedup_setup('tenant.own', '{"recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
SELECT count(*) FROM dedup_setup('passing', '{"recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
INSERT INTO tenant.own VALUES (1, 'no water since monday in harbour street');
SELECT id FROM dedup_find('tenant.own', 'no water since monday in harbour street');
-- Nor can it keep others from reading or writing them.
BEGIN;
LOCK TABLE dedup_settings IN ROW EXCLUSIVE MODE;
ROLLBACK;
DELETE FROM dedup_settings;
INSERT INTO dedup_settings (tbl, version, options, columns, recipes, fp, distance, similarity, n) VALUES ('tenant.own', 9, '{}', '{body}', '[null]', 'fp', 3, 0, 2);
DROP TABLE passing;
SELECT * FROM dedup_setup('tenant.own', '{"distance": 4}');
SELECT tbl, version FROM dedup_settings ORDER BY version;
SELECT * FROM dedup_setup('tenant.own', '{"drop": true}');
SELECT count(*) FROM dedup_settings;
RESET ROLE;
DROP OWNED BY setup_tenant;
DROP ROLE setup_tenant;

-- Rows that somebody wrote by hand.
CREATE TABLE forged (id int PRIMARY KEY, body text);
SELECT count(*) FROM dedup_setup('forged', '{"recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
CREATE FUNCTION forge(keep jsonb, details jsonb, version int, columns text[] DEFAULT '{body}', recipes jsonb DEFAULT '[{}]') RETURNS void LANGUAGE sql AS
    $$INSERT INTO dedup_settings (tbl, version, options, columns, recipes, fp, distance, similarity, n, keep, details)
      VALUES ('forged', version, '{}', columns, recipes, 'fp', 3, 0, 2, keep, details)$$;
SELECT forge('5', NULL, 2);
SELECT * FROM dedup('forged');
SELECT * FROM dedup_setup('forged');
SELECT * FROM dedup_setup('forged', '{"drop": true}');
SELECT count(*) FROM dedup_setup('forged', '{"recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
SELECT forge('{"column": "id", "oder": "desc"}', NULL, 2);
SELECT * FROM dedup('forged');
DELETE FROM dedup_settings WHERE tbl = 'forged'::regclass AND version = 2;
SELECT forge(NULL, '5', 2);
SELECT * FROM dedup_find('forged', 'water');
DELETE FROM dedup_settings WHERE tbl = 'forged'::regclass AND version = 2;
INSERT INTO dedup_settings SELECT (jsonb_populate_record(s, '{"version": 2, "distances": {"65": null}}')).* FROM dedup_settings s WHERE tbl = 'forged'::regclass;
SELECT * FROM dedup_find('forged', 'water');
\echo :LAST_ERROR_SQLSTATE
DELETE FROM dedup_settings WHERE tbl = 'forged'::regclass AND version = 2;
SELECT forge(NULL, NULL, 2, ARRAY[NULL]);
SELECT * FROM dedup_find('forged', 'water');
DELETE FROM dedup_settings WHERE tbl = 'forged'::regclass AND version = 2;
SELECT forge(NULL, NULL, 2, '{body}', '["x"]');
SELECT * FROM dedup_find('forged', 'water');
DELETE FROM dedup_settings WHERE tbl = 'forged'::regclass AND version = 2;
SELECT forge(NULL, NULL, 2147483647);
SELECT count(*) FROM dedup_find('forged', 'water');
SELECT * FROM dedup_setup('forged', '{"distance": 5}');
DROP TABLE forged;
DROP FUNCTION forge;

-- What cannot be set up says so at once, in a dry run as well.
CREATE TABLE pair (a int, b int, body text, PRIMARY KEY (b, a));
SELECT * FROM dedup_setup('pair', dry_run => true);
SELECT count(*) FROM dedup_setup('pair', '{"id": "a", "recipe": {}, "distance": 3, "similarity": 0, "n": 2}', dry_run => true);
SELECT * FROM dedup_setup('pair', '{"id": "a", "fp": "ctid"}', dry_run => true);
SELECT * FROM dedup_setup('pair', '{"id": "ctid"}', dry_run => true);
SELECT * FROM dedup_setup('pair', '{"id": "a", "keep": {"column": "b", "oder": "desc"}}', dry_run => true);
SELECT * FROM dedup_setup('pair', '{"id": "a", "keep": {"column": "b", "order": 1}}', dry_run => true);
SELECT * FROM dedup_setup('pair', '{"id": "a", "keep": {"order": "desc"}}', dry_run => true);
DROP TABLE pair;
-- Of a partition: it is named, and the table to set up.
CREATE TABLE whole (id int PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE piece PARTITION OF whole FOR VALUES FROM (0) TO (10);
SELECT * FROM dedup_find('piece', 'water');
SELECT * FROM dedup_setup('piece');
SELECT count(*) FROM dedup_setup('whole', '{"id": "id", "columns": "body", "recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
ALTER TABLE whole RENAME fp TO print;
ALTER TABLE whole RENAME body TO content;
SELECT * FROM dedup_find('piece', 'water');
ALTER TABLE whole RENAME id TO number;
SELECT * FROM dedup_find('piece', 'water');
ALTER TABLE whole DROP print;
SELECT * FROM dedup_find('piece', 'water');
DROP TABLE whole;

-- A column that is not text is compared by its text, wherever the settings are taken from.
CREATE TABLE part (id int PRIMARY KEY, code uuid);
INSERT INTO part SELECT i, md5((i / 2)::text)::uuid FROM generate_series(1, 5) AS i;
SELECT count(*) FROM dedup_setup('part', '{"columns": {"code": null}, "distance": 0, "similarity": 1}');
SELECT * FROM dedup('part') ORDER BY id;
SELECT * FROM dedup_clean('part') ORDER BY id;
SELECT id, distance FROM dedup_find('part', md5('1')::uuid::text) ORDER BY id;
SELECT count(*) FROM dedup_setup('part', '{"columns": {"code": 3}, "distance": 0, "similarity": 1}');
SELECT * FROM dedup('part') ORDER BY id;
SELECT count(*) FROM dedup_setup('part', '{"id": "fp"}');
DROP TABLE part;

DELETE FROM dedup_settings;
DROP EXTENSION pg_dedup;
