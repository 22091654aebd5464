-- Protects a caller from whoever owns the types, casts, operators and functions of a table: none of another role's code is
-- run as the caller, a superuser here, by any function that is given the table, its rows or a query of it.
\set VERBOSITY terse
CREATE EXTENSION pg_dedup;
SET client_min_messages = error;
CREATE ROLE foreign_planter;
CREATE SCHEMA planter AUTHORIZATION foreign_planter;
GRANT USAGE ON SCHEMA planter TO PUBLIC;
-- Where the extension is others may create functions and operators, which would be taken if they fitted better.
GRANT CREATE ON SCHEMA public TO foreign_planter;
\set ECHO none
SET ROLE foreign_planter;
CREATE SEQUENCE planter.runs;
GRANT USAGE ON SEQUENCE planter.runs TO PUBLIC;
CREATE FUNCTION planter.run() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
    -- As the owner of the types it may run: an index of the owner's table, for example, is built as the owner.
    IF current_user OPERATOR(pg_catalog.<>) 'foreign_planter' THEN PERFORM pg_catalog.nextval('planter.runs'); END IF;
    RETURN true;
END $$;
CREATE FUNCTION planter.gap(integer, integer) RETURNS double precision LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN planter.run() THEN 1.0 END';
CREATE DOMAIN planter.code AS bigint CHECK (planter.run() OR value > 0);
CREATE TYPE planter.mood AS ENUM ('a', 'b', 'c', 'd', 'e', 'f');
CREATE TYPE planter.tag AS ENUM ('a', 'b', 'c', 'd', 'e', 'f');
CREATE TYPE planter.mark AS ENUM ('a', 'b', 'c', 'd', 'e', 'f');
CREATE TYPE planter.rank AS ENUM ('a', 'b', 'c', 'd', 'e', 'f');
CREATE TYPE planter.span AS RANGE (subtype = integer);
CREATE TYPE planter.reach AS RANGE (subtype = integer, subtype_diff = planter.gap);
CREATE TYPE planter.pair AS (a integer, b planter.tag);
-- Casts to what text, numbers and documents are made of.
SELECT format('CREATE FUNCTION planter.cast_%1$s(%2$s) RETURNS %3$s LANGUAGE plpgsql AS $f$ BEGIN PERFORM planter.run(); RETURN 1; END $f$',
        n, type, target),
    format('CREATE CAST (%2$s AS %3$s) WITH FUNCTION planter.cast_%1$s(%2$s)%4$s', n, type, target, CASE WHEN type = 'planter.mark' THEN ' AS IMPLICIT' ELSE ' AS ASSIGNMENT' END)
FROM (SELECT row_number() OVER () AS n, type, target
    FROM unnest(ARRAY['planter.tag', 'planter.tag[]', 'planter.mark', 'planter.span', 'planter.pair', 'planter.pair[]']) type,
        unnest(ARRAY['text', 'varchar', 'bpchar', 'bigint', 'jsonb']) target) c \gexec
-- Operators for the very types.
SELECT format('CREATE FUNCTION planter.sign_%1$s(%2$s, %3$s) RETURNS boolean LANGUAGE plpgsql AS ''BEGIN RETURN planter.run(); END'';'
    'CREATE OPERATOR public.%4$s (LEFTARG = %2$s, RIGHTARG = %3$s, FUNCTION = planter.sign_%1$s)', row_number() OVER (), a, b, sign)
FROM (VALUES ('planter.code', 'planter.code'), ('planter.code', 'bigint'), ('bigint', 'planter.code'), ('planter.mood', 'planter.mood'),
    ('planter.tag', 'planter.tag'), ('planter.mark', 'planter.mark'), ('planter.span', 'planter.span'), ('planter.pair', 'planter.pair')) t(a, b),
    unnest(ARRAY['=', '<>', '<', '<=', '>', '>=']) sign \gexec
-- Operators of PostgreSQL's own types, which are found before its own by a search path that says so.
SELECT format('CREATE FUNCTION planter.own_%1$s(%2$s, %3$s) RETURNS boolean LANGUAGE plpgsql AS ''BEGIN RETURN planter.run(); END'';'
    'CREATE OPERATOR planter.%4$s (LEFTARG = %2$s, RIGHTARG = %3$s, FUNCTION = planter.own_%1$s)', row_number() OVER (), a, b, sign)
FROM (VALUES ('smallint', 'smallint'), ('smallint', 'integer'), ('integer', 'integer'), ('bigint', 'bigint'), ('oid', 'oid'), ('"char"', '"char"'),
    ('name', 'name'), ('name', 'text'), ('text', 'text'), ('boolean', 'boolean'), ('float8', 'float8')) t(a, b),
    unnest(ARRAY['=', '<>', '<', '<=', '>', '>=', '-', '+', '#', '||']) sign \gexec
-- Functions beside the extension's, whose arguments fit literals better.
SELECT format('CREATE FUNCTION public.%s RETURNS %s LANGUAGE plpgsql AS ''BEGIN PERFORM planter.run(); RETURN NULL; END''', call, result)
FROM (VALUES ('ngram_query(text, integer, numeric)', 'bigint[]'), ('ngrams(varchar, integer)', 'bigint[]'), ('ngram_jaccard(text, text, bigint)', 'float8'),
    ('near_dup(bigint, bigint, numeric)', 'boolean'), ('same_details(text, text, varchar[])', 'boolean'),
    ('_dedup(varchar)', 'text')) t(call, result) \gexec
RESET ROLE;
-- Only superusers make operator classes: here of functions of that role.
SELECT format('CREATE FUNCTION planter.rank_%1$s(planter.rank, planter.rank) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
    ''BEGIN PERFORM planter.run(); RETURN enum_%1$s($1, $2); END''; ALTER FUNCTION planter.rank_%1$s OWNER TO foreign_planter;'
    'CREATE OPERATOR planter.%2$s (LEFTARG = planter.rank, RIGHTARG = planter.rank, FUNCTION = planter.rank_%1$s)', name, sign)
FROM (VALUES ('lt', '<'), ('le', '<='), ('eq', '='), ('ge', '>='), ('gt', '>')) t(name, sign) \gexec
CREATE FUNCTION planter.rank_cmp(planter.rank, planter.rank) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS
    'BEGIN PERFORM planter.run(); RETURN enum_cmp($1, $2); END';
CREATE FUNCTION planter.rank_hash(planter.rank) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM planter.run(); RETURN hashenum($1); END';
ALTER FUNCTION planter.rank_cmp OWNER TO foreign_planter;
ALTER FUNCTION planter.rank_hash OWNER TO foreign_planter;
CREATE OPERATOR CLASS planter.rank_ops DEFAULT FOR TYPE planter.rank USING btree AS OPERATOR 1 planter.<, OPERATOR 2 planter.<=,
    OPERATOR 3 planter.=, OPERATOR 4 planter.>=, OPERATOR 5 planter.>, FUNCTION 1 planter.rank_cmp(planter.rank, planter.rank);
CREATE OPERATOR CLASS planter.rank_hash_ops DEFAULT FOR TYPE planter.rank USING hash AS OPERATOR 1 planter.=, FUNCTION 1 planter.rank_hash(planter.rank);
-- A type over that one needs it too.
CREATE TYPE planter.ranks AS RANGE (subtype = planter.rank);
ALTER TYPE planter.ranks OWNER TO foreign_planter;

-- A table for each kind of type: the type of its ids, and what that is over.
CREATE TABLE kind (kind text, type text, base text, value text);
INSERT INTO kind VALUES ('domain', 'planter.code', 'bigint', '%s'), ('enum', 'planter.mood', 'planter.mood', '%2$s'), ('range', 'planter.span', 'planter.span', '[%s,99)'),
    ('range_diff', 'planter.reach', 'planter.reach', '[%s,99)'),
    ('composite', 'planter.pair', 'planter.pair', '(%s,%s)'), ('cast', 'planter.tag', 'planter.tag', '%2$s'),
    ('implicit', 'planter.mark', 'planter.mark', '%2$s'),
    ('class', 'planter.rank', 'planter.rank', '%2$s'), ('class_range', 'planter.ranks', 'planter.ranks', '[%2$s,]');
SET ROLE foreign_planter;
CREATE FUNCTION planter.fill(type text, value text, ids integer[]) RETURNS SETOF text LANGUAGE sql AS
    $$SELECT format('(%L, %L, %L, ARRAY[%3$L]::%s[])', format(value, i, chr(96 + i)),
        'no water since monday in harbour street, and no answer from the office' || repeat('!', i % 2) || repeat(' until now' || i, i / 3), format(value, i, chr(96 + i)), type)
      FROM unnest(ids) i$$;
RESET ROLE;
SELECT format('SET ROLE foreign_planter; CREATE TABLE planter.t_%1$s (id %2$s PRIMARY KEY, body text, extra %2$s, many %2$s[],'
    ' fp bigint GENERATED ALWAYS AS (simhash(body, NULL::jsonb)) STORED);'
    'INSERT INTO planter.t_%1$s (id, body, extra, many) VALUES %3$s; CREATE INDEX t_%1$s_fp ON planter.t_%1$s USING banding (fp); GRANT ALL ON planter.t_%1$s TO PUBLIC; RESET ROLE',
    kind, type, (SELECT string_agg(f, ', ') FROM planter.fill(type, value, '{1,2,3,4,5}') f)) FROM kind \gexec
DO 'BEGIN PERFORM planter.run(); END';
\set ECHO all

-- How each function is called: %1$s is the kind, %2$s the type of the ids.
CREATE TABLE call (n serial, function text, call text);
INSERT INTO call (function, call) VALUES
('dedup(text,jsonb)', $$dedup('planter.t_%1$s')$$),
('dedup(text,jsonb,anyelement)', $$dedup('planter.t_%1$s', '{"columns": "body"}', NULL::%2$s)$$),
('dedup(text,jsonb,anyelement)', $$dedup('SELECT id, body FROM planter.t_%1$s', '{}', NULL::%2$s)$$),
('dedup(text,jsonb,anyelement)', $$dedup('planter.t_%1$s', '{"columns": "extra", "distance": 3}', NULL::%2$s)$$),
('dedup(text,jsonb,anyelement)', $$dedup('planter.t_%1$s', '{"columns": ["many", "body", "extra"]}', NULL::%2$s)$$),
('dedup(text,jsonb,anyelement)', $$dedup('planter.t_%1$s', '{"columns": ["body", "extra", "many"], "method": "records"}', NULL::%2$s)$$),
('dedup(text,jsonb,anyelement)', $$dedup('planter.t_%1$s', '{"columns": "body", "keep": {"column": "extra"}}', NULL::%2$s)$$),
('_dedup(text)', $$_dedup('planter.t_%1$s'::text) AS d(id %2$s, keeper %2$s, stage text, distance integer, similarity float8)$$),
('dedup_explain(text,text,jsonb)', $$dedup_explain('planter.t_%1$s', 'SELECT id, extra FROM planter.t_%1$s', '{"method": "records", "columns": ["body", "extra"]}')$$),
('dedup_explain(text,text,jsonb,anyelement)', $$dedup_explain('planter.t_%1$s', 'SELECT id, extra FROM planter.t_%1$s', '{"method": "records", "columns": ["body", "extra", "many"]}', NULL::%2$s)$$),
('dedup_link(text,text,jsonb)', $$dedup_link('planter.t_%1$s', 'planter.t_%1$s', '{"method": "records", "columns": ["body", "extra"]}')$$),
('dedup_link(text,text,jsonb,anyelement)', $$dedup_link('planter.t_%1$s', 'planter.t_%1$s', '{"method": "records", "columns": ["body", "extra", "many"]}', NULL::%2$s)$$),
('dedup_review(text,integer,jsonb)', $$dedup_review('planter.t_%1$s', 3, '{"columns": "body"}')$$),
('dedup_review(text,integer,jsonb,anyelement)', $$dedup_review('planter.t_%1$s', 3, '{"method": "records", "columns": ["body", "extra", "many"]}', NULL::%2$s)$$),
('dedup_report(text,jsonb)', $$dedup_report('planter.t_%1$s')$$),
('dedup_report(text,jsonb)', $$dedup_report('planter.t_%1$s', '{"labels": "extra", "columns": ["body", "many"]}')$$),
('dedup_evaluate(text,text,text,text)', $$dedup_evaluate('planter.t_%1$s', 'SELECT id, extra FROM planter.t_%1$s', 'groups', 'pairs')$$),
('near_dup_calibrate(text,text)', $$near_dup_calibrate('planter.t_%1$s', 'SELECT id, extra FROM planter.t_%1$s')$$),
('dedup_suggest(text)', $$dedup_suggest('planter.t_%1$s')$$),
('near_dup_pairs(text,jsonb)', $$near_dup_pairs('planter.t_%1$s', '{"distance": 20}')$$),
('near_dup_pairs(text,jsonb,anyelement)', $$near_dup_pairs('planter.t_%1$s', '{"distance": 20}', NULL::%2$s)$$),
('near_dup_pairs(text,jsonb)', $$near_dup_pairs('planter.t_%1$s', '{"method": "text"}')$$),
('near_dup_pairs(text,jsonb,anyelement)', $$near_dup_pairs('planter.t_%1$s', '{"method": "text", "similarity": 0.5, "n": 2}', NULL::%2$s)$$),
('near_dup_groups(text)', $$near_dup_groups('SELECT id, extra FROM planter.t_%1$s')$$),
('near_dup_groups(text,anyelement)', $$near_dup_groups('SELECT id, extra FROM planter.t_%1$s', NULL::%2$s)$$),
('dedup_corpus_build(text,text,jsonb)', $$dedup_corpus_build('of_%1$s', 'SELECT body FROM planter.t_%1$s')$$),
('dedup_corpus_build(text,text,jsonb)', $$dedup_corpus_build('of_%1$s@1', 'SELECT body FROM planter.t_%1$s')$$),
('simhash(record,jsonb)', $$planter.t_%1$s t, simhash(t, '{"body": 1, "extra": 2, "many": 3}')$$),
('simhash_features(record,jsonb)', $$planter.t_%1$s t, simhash_features(t, '{"body": 1, "extra": 2, "many": 3}')$$),
('simhash_explain(record,record,jsonb)', $$planter.t_%1$s t, simhash_explain(t, t, '{"body": 1, "extra": 2, "many": 3}')$$),
('banding_stats(regclass)', $$banding_stats('planter.t_%1$s_fp')$$),
('banding_check(regclass,boolean)', $$banding_check('planter.t_%1$s_fp', true)$$),
('dedup_setup(regclass,jsonb,boolean)', $$dedup_setup('planter.t_%1$s', '{"columns": ["extra"], "fp": "print"}')$$),
('dedup_setup(regclass,jsonb,boolean)', $$dedup_setup('planter.t_%1$s', '{"columns": "body", "fp": "print", "id": "id"}')$$),
('dedup_find(text,text,integer,jsonb)', $$dedup_find('planter.t_%1$s', 'no water since monday in harbour street')$$),
('dedup_find(text,text,integer,anyelement,jsonb)', $$dedup_find('planter.t_%1$s', 'no bridge in harbour street', 0, NULL::%2$s, '{"nearest": 2}')$$),
('dedup_find(text,text,integer,anyelement,jsonb)', $$dedup_find('planter.t_%1$s', 'no water since monday in harbour street, and no answer', NULL, NULL::%2$s)$$),
('dedup_find(record,integer,jsonb)', $$planter.t_%1$s t, dedup_find(t)$$),
('dedup_find(record,integer,anyelement,jsonb)', $$planter.t_%1$s t, dedup_find(t, NULL, NULL::%2$s)$$),
('simhash_explain(record,record)', $$planter.t_%1$s t, simhash_explain(t, t)$$),
('simhash_trigger()', $$own('CREATE TRIGGER fp BEFORE INSERT ON own FOR EACH ROW EXECUTE FUNCTION simhash_trigger(''made'', ''[{}, 3]'', ''extra'', ''many'')', '%1$s')$$),
('near_dup_guard()', $$own('CREATE TRIGGER guard AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION near_dup_guard(''fp'', ''distance=64'', ''index=none'')', '%1$s')$$),
('near_dup_guard()', $$own('CREATE TRIGGER guard AFTER INSERT ON own FOR EACH ROW EXECUTE FUNCTION near_dup_guard(''fp'', ''index=none'', ''scope=extra'', ''columns=many'')', '%1$s')$$),
('near_dup_guard()', $$own('CREATE TRIGGER guard BEFORE INSERT ON own FOR EACH ROW EXECUTE FUNCTION near_dup_guard(''fp'', ''distance=64'', ''index=none'', ''flag=extra'')', '%1$s')$$),
('dedup_decide()', $$own('SELECT count(*) FROM dedup_setup(''own'', ''{"columns": "body", "id": "id", "fp": "mine", "decisions": true}''); INSERT INTO own_decisions SELECT t.id, u.id, false FROM planter.t_%1$s t, planter.t_%1$s u WHERE t.body OPERATOR(pg_catalog.<) u.body; DROP TABLE own_decisions', '%1$s')$$),
('dedup_clean(regclass,boolean,jsonb)', $$dedup_clean('planter.t_%1$s')$$),
('dedup_clean(regclass,boolean,jsonb,anyelement)', $$dedup_clean('planter.t_%1$s', true, NULL, NULL::%2$s)$$),
('dedup_clean(regclass,boolean,jsonb,anyelement)', $$dedup_clean('planter.t_%1$s', false, NULL, NULL::%2$s)$$),
('dedup_undo(regclass,bigint,text[],text)', $$dedup_undo('planter.t_%1$s', 1)$$),
('dedup_clean(regclass,boolean,jsonb,anyelement)', $$dedup_clean('planter.t_%1$s', false, '{"fill": {"extra": "max", "many": "union"}}', NULL::%2$s)$$),
('dedup_undo(regclass,bigint,text[],text)', $$dedup_undo('planter.t_%1$s', (SELECT max(dedup_run) FROM planter.t_%1$s_archive))$$),
('dedup_clean(regclass,boolean,jsonb,anyelement)', $$own('ALTER TABLE own ADD FOREIGN KEY (id) REFERENCES planter.t_%1$s (id); INSERT INTO own SELECT t.*, 0 FROM planter.t_%1$s t; SELECT count(*) FROM dedup_clean(''planter.t_%1$s'', false, ''{"references": "repoint"}'', NULL::%2$s); SELECT dedup_undo(''planter.t_%1$s'', (SELECT pg_catalog.max(dedup_run) FROM planter.t_%1$s_archive)); DELETE FROM own; ALTER TABLE own DROP CONSTRAINT own_id_fkey', '%1$s')$$),
('dedup_find(text,bit,integer,jsonb)', $$own('SELECT count(*) FROM dedup_setup(''own'', ''{"fp": "made", "method": "hash", "id": "id"}''); SELECT count(*) FROM dedup_find(''own'', 5::bit(64))', '%1$s')$$),
('dedup_find(text,bit,integer,anyelement,jsonb)', $$own('SELECT count(*) FROM dedup_setup(''own'', ''{"fp": "made", "method": "hash", "id": "id"}''); SELECT count(*) FROM dedup_find(''own'', 5::bit(64), NULL, NULL::%2$s)', '%1$s')$$),
('dedup_find(text,bigint,integer,jsonb)', $$own('SELECT count(*) FROM dedup_setup(''own'', ''{"fp": "made", "method": "hash", "id": "id"}''); SELECT count(*) FROM dedup_find(''own'', 5::bigint)', '%1$s')$$),
('dedup_find(text,bigint,integer,anyelement,jsonb)', $$own('SELECT count(*) FROM dedup_setup(''own'', ''{"fp": "made", "method": "hash", "id": "id"}''); SELECT count(*) FROM dedup_find(''own'', 5::bigint, NULL, NULL::%2$s)', '%1$s')$$);

-- Each function that is given a table, a row, an index or a query is called: what is new fails here until it is.
SELECT p.oid::regprocedure AS "not called" FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'pg_dedup'
WHERE (p.proargtypes::oid[] && ARRAY['regclass', 'record']::regtype[]::oid[] OR p.prorettype = 'trigger'::regtype AND p.proname !~ '^_'
    OR EXISTS (SELECT FROM unnest(p.proargnames, p.proargtypes::oid[]) a(name, type)
        WHERE a.type = 'text'::regtype AND a.name IN ('source', 'pairs', 'found', 'truth', 'query', 'tbl', 'result')))
  AND p.oid <> ALL (ARRAY['dedup_into', 'dedup_clean_batches']::regproc[]::oid[]) AND p.oid::regprocedure::text NOT IN (SELECT function FROM call) ORDER BY 1::text;
SELECT function AS "not there" FROM call WHERE to_regprocedure(function) IS NULL;

-- A table of the caller's with columns of these types, and a trigger.
CREATE FUNCTION own(trigger text, kind text) RETURNS SETOF text LANGUAGE plpgsql AS $$ DECLARE changed text; BEGIN
    EXECUTE format('CREATE TABLE own AS SELECT t.*, 0::bigint AS made FROM planter.t_%s t WHERE false; ALTER TABLE own ADD PRIMARY KEY (body)', kind);
    EXECUTE trigger;
    EXECUTE format('INSERT INTO own SELECT t.*, 0 FROM planter.t_%s t', kind);
    RETURN NEXT 'ok';
    DROP TABLE own;
END $$;
CREATE FUNCTION answer(call text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE rows bigint; before bigint := (SELECT last_value FROM planter.runs); BEGIN
    BEGIN
        PERFORM set_config('search_path', 'public, planter, pg_catalog', true);
        EXECUTE concat('SELECT count(*) FROM ', call) INTO rows;
        PERFORM set_config('search_path', 'public', true);
    EXCEPTION WHEN OTHERS THEN
        RAISE DEBUG '%', SQLERRM;
        RETURN SQLSTATE || (SELECT CASE WHEN last_value <> before THEN ' PLANTED CODE RAN' ELSE '' END FROM planter.runs);
    END;
    RETURN 'rows ' || rows || (SELECT CASE WHEN last_value <> before THEN ' PLANTED CODE RAN' ELSE '' END FROM planter.runs);
END $$;
WITH asked AS MATERIALIZED (SELECT n, function, kind, format(call, kind, base) AS call FROM call, kind ORDER BY kind, n)
SELECT n, function, max(a) FILTER (WHERE kind = 'domain') AS domain, max(a) FILTER (WHERE kind = 'enum') AS enum, max(a) FILTER (WHERE kind = 'range') AS range,
    max(a) FILTER (WHERE kind = 'range_diff') AS range_diff,
    max(a) FILTER (WHERE kind = 'composite') AS composite, max(a) FILTER (WHERE kind = 'cast') AS cast, max(a) FILTER (WHERE kind = 'implicit') AS implicit,
    max(a) FILTER (WHERE kind = 'class') AS class,
    max(a) FILTER (WHERE kind = 'class_range') AS class_range
FROM asked, LATERAL answer(call) a GROUP BY n, function ORDER BY n;

-- What the owner of a table has put where dedup_clean and dedup_undo write and read: the archive, the decisions, the ids.
\set ECHO none
SET ROLE foreign_planter;
CREATE FUNCTION planter.still(bigint, bigint) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN planter.run(); END';
CREATE OPERATOR planter.~~~ (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = planter.still);
CREATE FUNCTION planter.fired() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM planter.run(); RETURN NEW; END';
CREATE TYPE planter.box AS (a planter.code, b integer);
CREATE TYPE planter.codes AS RANGE (subtype = planter.code);
CREATE TABLE planter.doc (id bigint PRIMARY KEY, body text);
INSERT INTO planter.doc SELECT n, 'no water since monday in harbour street, and no answer from the office' FROM generate_series(1, 3) n;
SELECT count(*) FROM dedup_setup('planter.doc', '{"recipe": {}, "method": "text", "similarity": 0.5, "n": 2, "details": []}');
SELECT count(*) FROM dedup_clean('planter.doc', false);
INSERT INTO planter.doc SELECT 4, body FROM planter.doc;
SELECT format('CREATE TABLE planter.of_%1$s (id planter.%1$s PRIMARY KEY, body text);
    CREATE TABLE planter.of_%1$s_archive AS SELECT NULL::planter.%1$s AS id, NULL::planter.%1$s AS dedup_keeper, a.* FROM (SELECT dedup_run, dedup_stage, dedup_similarity, dedup_by, dedup_at, dedup_children FROM planter.doc_archive) a', kind)
FROM unnest(ARRAY['box', 'codes']) kind \gexec
RESET ROLE;
\set ECHO all
CREATE FUNCTION planted(plant text, call text) RETURNS text LANGUAGE plpgsql AS $$ DECLARE told text; BEGIN
    PERFORM set_config('role', 'foreign_planter', true);
    EXECUTE plant;
    PERFORM set_config('role', 'none', true);
    RAISE EXCEPTION USING ERRCODE = 'ZZ000', MESSAGE = answer(call);
EXCEPTION WHEN SQLSTATE 'ZZ000' THEN RETURN SQLERRM;
END $$;
CREATE TABLE plant (n serial, what text, plant text);
INSERT INTO plant (what, plant) VALUES
('nothing', 'SELECT'),
('check, operator', 'ALTER TABLE planter.doc_archive ADD CHECK (id OPERATOR(planter.~~~) 1)'),
('check, domain', 'ALTER TABLE planter.doc_archive ADD CHECK (id::planter.code IS NOT NULL)'),
('check, own function', $$ALTER TABLE planter.doc_archive ADD CHECK (ts_rewrite('a', 'SELECT ''a''::tsquery, ''b''::tsquery WHERE planter.run()') IS NOT NULL)$$),
('default', $$ALTER TABLE planter.doc_archive ADD extra tsquery DEFAULT ts_rewrite('a', 'SELECT ''a''::tsquery, ''b''::tsquery WHERE planter.run()')$$),
('generated', $$ALTER TABLE planter.doc_archive ADD extra boolean GENERATED ALWAYS AS (id OPERATOR(planter.~~~) 1) STORED$$),
('index', 'CREATE INDEX ON planter.doc_archive (dedup_run) WHERE id OPERATOR(planter.~~~) 1'),
('trigger', 'CREATE TRIGGER t BEFORE INSERT OR DELETE ON planter.doc_archive FOR EACH ROW EXECUTE FUNCTION planter.fired()'),
('condition', 'CREATE TRIGGER t BEFORE INSERT OR DELETE ON planter.doc_archive FOR EACH STATEMENT WHEN (planter.run()) EXECUTE FUNCTION suppress_redundant_updates_trigger()'),
('reference', 'CREATE TABLE planter.one (id bigint PRIMARY KEY); ALTER TABLE planter.doc_archive ADD extra bigint REFERENCES planter.one'),
('decisions', $$SELECT dedup_setup('planter.doc', '{"decisions": true}'); INSERT INTO planter.doc_decisions (a, b, same) VALUES (4, 9, false)$$),
('decisions, default', $$SELECT dedup_setup('planter.doc', '{"decisions": true}'); INSERT INTO planter.doc_decisions (a, b, same) VALUES (4, 9, false);
    ALTER TABLE planter.doc_decisions ALTER decided_at SET DEFAULT (ts_rewrite('a', 'SELECT ''a''::tsquery, ''b''::tsquery WHERE planter.run()') IS NULL)::text::timestamptz$$),
('decisions, note', $$CREATE TABLE planter.decided (a bigint, b bigint, same boolean, note planter.mark); INSERT INTO planter.decided VALUES (1, 2, true, 'a'); SELECT dedup_setup('planter.doc', '{"decisions": "planter.decided"}')$$);
SELECT what, planted(plant, $$dedup_clean('planter.doc', false)$$) AS clean, planted(plant, $$dedup_undo('planter.doc', 1)$$) AS undo FROM plant ORDER BY n;
SELECT planted('SELECT', $$dedup_undo('planter.of_box', 1, ARRAY['(1,1)'])$$) AS box, planted('SELECT', $$dedup_undo('planter.of_codes', 1, ARRAY['[1,3)'])$$) AS codes;
DROP FUNCTION planted;
DROP TABLE plant;

-- Procedures commit, so they are called here: all rows, later ones, after rows were taken out, in batches.
SET client_min_messages = warning;
CREATE FUNCTION has(ids integer[]) RETURNS void LANGUAGE plpgsql AS $$ DECLARE statement text; BEGIN
    FOR statement IN SELECT format('DELETE FROM planter.t_%1$s; INSERT INTO planter.t_%1$s (id, body, extra, many) VALUES %2$s', kind, string_agg(f, ', '))
        FROM kind, planter.fill(type, value, ids) f GROUP BY kind LOOP
        PERFORM set_config('role', 'foreign_planter', true);
        EXECUTE statement;
        PERFORM set_config('role', 'none', true);
    END LOOP;
END $$;
SELECT has('{1,2,3,4}');
SELECT format('CALL dedup_into(%L, %L)', 'into_' || kind, 'planter.t_' || kind) FROM kind \gexec
SELECT has('{1,2,3,4,5}');
SELECT format('DELETE FROM %I WHERE arrival = 1', 'into_' || kind), format('CALL dedup_into(%L, %L)', 'into_' || kind, 'planter.t_' || kind)
FROM kind WHERE to_regclass('into_' || kind) IS NOT NULL \gexec
SELECT has('{1,2,3,4,5,6}');
SELECT format('CALL dedup_into(%L, %L)', 'into_' || kind, 'planter.t_' || kind) FROM kind WHERE to_regclass('into_' || kind) IS NOT NULL \gexec
SELECT format('CALL dedup_into(%L, %L, %L)', 'each_' || kind, format('SELECT id, body FROM planter.t_%s', kind),
    '{"group": "components", "method": "fingerprint", "distance": 10, "similarity": 0, "diameter": 20}') FROM kind \gexec
SELECT format('CALL dedup_clean_batches(%L, %L)', 'planter.t_' || kind, '{"batch": 1, "fill": {"many": "union", "extra": "max"}}') FROM kind \gexec
SELECT id, keeper, stage FROM into_domain ORDER BY id;
SELECT id, keeper, stage FROM into_enum ORDER BY id;
SELECT id, keeper, stage FROM into_range ORDER BY id;
SELECT id, keeper, stage FROM into_cast ORDER BY arrival;
SELECT c.relname AS result, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY attnum) AS ids
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname IN ('id', 'keeper')
WHERE c.relkind = 'r' AND c.relname ~ '^(into|each)_' AND c.relnamespace = 'public'::regnamespace GROUP BY c.relname HAVING count(*) > 1 ORDER BY c.relname;
SELECT last_value - 1 AS "runs of planted code" FROM planter.runs;
-- A result whose columns have been made of a domain is not written.
ALTER TABLE into_domain ALTER keeper TYPE planter.code;
SELECT last_value AS before FROM planter.runs \gset
CALL dedup_into('into_domain', 'planter.t_domain');
-- A guard writes what the table's owner has made of a domain, as PostgreSQL itself does for whoever writes the table.
SET ROLE foreign_planter;
CREATE DOMAIN planter.number AS integer CHECK (value > 0);
CREATE TABLE planter.flagged (id integer PRIMARY KEY, fp bigint, of planter.number);
CREATE TRIGGER guard BEFORE INSERT ON planter.flagged FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'index=none', 'flag=of');
RESET ROLE;
INSERT INTO planter.flagged VALUES (1, 0), (2, 1) RETURNING *;
-- What is refused says what would run, and what to do.
\set VERBOSITY default
SELECT * FROM near_dup_pairs('planter.t_class', '{"distance": 3}', NULL::planter.rank);
SELECT * FROM dedup('SELECT id, body FROM planter.t_domain', '{}', NULL::text);
SELECT last_value - :before AS "runs of planted code" FROM planter.runs;
-- A session asks again when an owner has changed.
SELECT format('ALTER FUNCTION %s OWNER TO CURRENT_USER', oid::regprocedure) FROM pg_proc
WHERE pronamespace = 'planter'::regnamespace AND proname ~ '^rank_' ORDER BY proname \gexec
SELECT count(*) FROM near_dup_pairs('planter.t_class', '{"distance": 64}', NULL::planter.rank);
ALTER FUNCTION planter.rank_hash OWNER TO foreign_planter;
SELECT count(*) FROM near_dup_pairs('planter.t_class', '{"distance": 64}', NULL::planter.rank);

SET client_min_messages = error;
DROP TABLE call, kind;
DROP FUNCTION answer, own, has;
SELECT format('DROP TABLE %I', relname) FROM pg_class WHERE relkind = 'r' AND relname ~ '^(into|each|step)_' AND relnamespace = 'public'::regnamespace ORDER BY relname \gexec
DROP EXTENSION pg_dedup CASCADE;
DROP OWNED BY foreign_planter CASCADE;
DROP SCHEMA IF EXISTS planter CASCADE;
DROP ROLE foreign_planter;
