-- Protects the owner of the extension, a superuser here, from roles that were granted everything on all tables and functions
-- of the extension's schema: what runs with the owner's rights runs nothing of theirs.
\set VERBOSITY default
SET client_min_messages = warning;
CREATE ROLE rights_planter;
CREATE SCHEMA planted AUTHORIZATION rights_planter;
GRANT CREATE ON SCHEMA public TO rights_planter;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO rights_planter;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON FUNCTIONS TO rights_planter;
CREATE EXTENSION pg_dedup;
SET ROLE rights_planter;
CREATE SEQUENCE planted.runs;
GRANT USAGE ON SCHEMA planted TO PUBLIC;
GRANT ALL ON SEQUENCE planted.runs TO PUBLIC;
CREATE FUNCTION planted.run() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
    IF current_user OPERATOR(pg_catalog.<>) 'rights_planter' THEN PERFORM pg_catalog.nextval('planted.runs'); END IF;
    RETURN true;
END $$;
CREATE FUNCTION planted.fired() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM planted.run(); RETURN NEW; END';

\set ECHO none
-- Beside every function that the extension calls itself, those that fit better if an argument is of a type near its own.
SELECT format('CREATE FUNCTION %s.%I(%s) RETURNS %s LANGUAGE plpgsql AS ''BEGIN PERFORM planted.run(); RETURN NULL; END''', p.pronamespace::regnamespace, p.proname,
    (SELECT string_agg(CASE WHEN a.n = changed.n THEN changed.type ELSE format_type(a.type, NULL) END, ', ' ORDER BY a.n)
     FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY a(type, n)), CASE WHEN p.prorettype IN ('void'::regtype, 'record'::regtype) THEN 'text' ELSE format_type(p.prorettype, NULL) END)
FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e',
    LATERAL (SELECT a.n, near.type FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY a(type, n)
        JOIN (VALUES ('oid', 'regclass'), ('oid', 'bigint'), ('text', 'varchar'), ('text', 'name'), ('integer', 'bigint'), ('integer', 'smallint'),
            ('bigint', 'integer'), ('bytea', 'text'), ('jsonb', 'json')) near(own, type) ON near.own::regtype = a.type) changed
WHERE p.proname ~ '^_dedup' AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_dedup')
ORDER BY 1 \gexec
\set ECHO all
SELECT count(*) > 20 AS planted FROM pg_proc WHERE proowner = 'rights_planter'::regrole;
CREATE TABLE planted.note (id int PRIMARY KEY, body text);
SELECT count(*) FROM dedup_setup('planted.note', '{"recipe": {}, "distance": 3, "similarity": 0, "n": 2}');
SELECT dedup_corpus_build('words', $$VALUES ('lamp street'), ('lamp road')$$), dedup_dictionary_build('own', ARRAY['lamp']);
SELECT dedup_corpus_build('words@1', $$VALUES ('road works')$$), simhash('lamp', '{"corpus": "words@1"}') IS NOT NULL AS found;
SELECT dedup_version_drop('corpus', 'words@1'), dedup_version_drop('dictionary', 'own@1');
RESET ROLE;
SELECT dedup_corpus_build('words', $$VALUES ('lamp street')$$), dedup_dictionary_build('own', ARRAY['lamp']), dedup_version_drop('corpus', 'words@2');
SELECT last_value, is_called FROM planted.runs;

-- Triggers on the extension's tables.
SET ROLE rights_planter;
\set ECHO none
SELECT format('CREATE TRIGGER planted BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION planted.fired()', name)
FROM unnest(ARRAY['dedup_settings', '_dedup_corpus', '_dedup_dictionary']) name \gexec
\set ECHO all
SELECT dedup_setup('planted.note', '{"drop": true}');
SELECT dedup_corpus_build('words', $$VALUES ('lamp street')$$);
SELECT dedup_dictionary_build('own', ARRAY['lamp']);
SELECT dedup_version_drop('dictionary', 'own@2');
SELECT last_value, is_called FROM planted.runs;

-- The extension's trigger on a table of another role.
CREATE TABLE planted._dedup_corpus (name text, version int, recipe jsonb, documents bigint, common bytea, dropped boolean);
CREATE FUNCTION planted._dedup_carrier_name(text, text, integer) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM planted.run(); RETURN ''own''; END';
CREATE TRIGGER carry AFTER INSERT ON planted._dedup_corpus FOR EACH ROW EXECUTE FUNCTION _dedup_version_carry('corpus');
INSERT INTO planted._dedup_corpus VALUES ('own', 1, '{}', 1, '', true);
SELECT last_value, is_called FROM planted.runs;

-- A guard on the result of another role, which logs into a table with a trigger.
RESET ROLE;
CREATE TABLE note (id int PRIMARY KEY, body text);
INSERT INTO note SELECT n, 'the street lamp in front of the school has been dark for a month' FROM generate_series(1, 2) n;
CALL dedup_into('result', 'note');
SET ROLE rights_planter;
CREATE TABLE planted.log (duplicate int, original int, distance int, logged_at timestamptz);
GRANT ALL ON planted.log TO PUBLIC;
CREATE TRIGGER planted BEFORE INSERT ON planted.log FOR EACH ROW EXECUTE FUNCTION planted.fired();
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON result FOR EACH ROW
    EXECUTE FUNCTION near_dup_guard('fp', 'action=log', 'log=planted.log', 'index=none', 'distance=64');
RESET ROLE;
INSERT INTO note VALUES (3, 'the street lamp in front of the school has been dark for a month');
CALL dedup_into('result', 'note');
SELECT last_value, is_called FROM planted.runs;

SET client_min_messages = error;
DROP TABLE result, result_merges, result_state, note;
DROP EXTENSION pg_dedup CASCADE;
ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON TABLES FROM rights_planter;
ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE ALL ON FUNCTIONS FROM rights_planter;
DROP OWNED BY rights_planter CASCADE;
DROP ROLE rights_planter;
