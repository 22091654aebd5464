-- What decides whose code a call of dedup_into runs and what it reads: owners,
-- triggers, search paths, a first call that fails, types of ids.
CREATE EXTENSION pg_dedup;
SET client_min_messages = warning;
\set SHOW_CONTEXT never
\set quiet '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}'
CREATE TABLE letter (id integer PRIMARY KEY, body text);
INSERT INTO letter SELECT i, 'text ' || i % 3 FROM generate_series(1, 6) i;
\set query 'SELECT id, body FROM letter'

-- A result that somebody else made is theirs alone, whoever calls: their
-- triggers, rules and views would run as the caller.
CREATE ROLE regress_dedup_mallory;
CREATE ROLE regress_dedup_alice;
GRANT CREATE ON SCHEMA public TO regress_dedup_mallory, regress_dedup_alice;
GRANT SELECT ON letter TO regress_dedup_mallory, regress_dedup_alice;
SET ROLE regress_dedup_mallory;
CREATE FUNCTION ran() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'ran as %', current_user; RETURN NEW; END $$;
CALL dedup_into('trap', :'query', :'quiet');
CREATE TRIGGER ran BEFORE INSERT ON trap_merges FOR EACH ROW EXECUTE FUNCTION ran();
CREATE TRIGGER ran BEFORE INSERT ON trap FOR EACH ROW EXECUTE FUNCTION ran();
RESET ROLE;
INSERT INTO letter VALUES (7, 'text 7');
CALL dedup_into('trap', :'query', :'quiet');
\echo :LAST_ERROR_SQLSTATE
-- One of the three tables is enough.
ALTER TABLE trap OWNER TO CURRENT_USER;
DROP TRIGGER ran ON trap;
CALL dedup_into('trap', :'query', :'quiet');
\echo :LAST_ERROR_SQLSTATE
ALTER TABLE trap_merges OWNER TO CURRENT_USER;
ALTER TABLE trap_state OWNER TO CURRENT_USER;
-- The trigger is mallory's still.
CALL dedup_into('trap', :'query', :'quiet');
\echo :LAST_ERROR_SQLSTATE
DROP TRIGGER ran ON trap_merges;
CREATE RULE also AS ON INSERT TO trap_merges DO ALSO SELECT 1;
CALL dedup_into('trap', :'query', :'quiet');
DROP RULE also ON trap_merges;
-- So are a check, an index and a default with mallory's function (H65).
SET ROLE regress_dedup_mallory;
CREATE FUNCTION fits(bigint) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
RESET ROLE;
ALTER TABLE trap_merges ADD CONSTRAINT fits CHECK (fits(kept));
CALL dedup_into('trap', :'query', :'quiet');
ALTER TABLE trap_merges DROP CONSTRAINT fits;
CREATE INDEX fits_index ON trap (cluster) WHERE fits(cluster);
CALL dedup_into('trap', :'query', :'quiet');
DROP INDEX fits_index;
ALTER TABLE trap ADD fits boolean DEFAULT fits(1);
CALL dedup_into('trap', :'query', :'quiet');
ALTER TABLE trap DROP fits;
CREATE TRIGGER fits BEFORE INSERT ON trap FOR EACH STATEMENT WHEN (fits(1)) EXECUTE FUNCTION suppress_redundant_updates_trigger();
CALL dedup_into('trap', :'query', :'quiet');
DROP TRIGGER fits ON trap;
DROP FUNCTION fits;
ALTER TABLE trap ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CALL dedup_into('trap', :'query', :'quiet');
ALTER TABLE trap DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
CREATE TABLE heir () INHERITS (trap);
CALL dedup_into('trap', :'query', :'quiet');
DROP TABLE heir;
-- A trigger of the owner's own is the owner's business.
CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE TRIGGER mine BEFORE INSERT ON trap FOR EACH ROW EXECUTE FUNCTION mine();
CALL dedup_into('trap', :'query', :'quiet');
SELECT count(*) FROM trap;
-- A view in the place of the table with the state.
SET ROLE regress_dedup_mallory;
CREATE FUNCTION spy() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'ran as %', current_user; RETURN ''; END $$;
CALL dedup_into('trap2', :'query', :'quiet');
DROP TABLE trap2_state;
CREATE VIEW trap2_state AS SELECT 'trap2'::regclass AS result, spy() AS query, '{}'::jsonb AS options, 0::bigint AS arrivals, ''::text AS search_path;
RESET ROLE;
CALL dedup_into('trap2', :'query', :'quiet');
\echo :LAST_ERROR_SQLSTATE
-- Being in the owner's role is not enough; having taken it is.
CREATE ROLE regress_dedup_group;
GRANT CREATE ON SCHEMA public TO regress_dedup_group;
GRANT SELECT ON letter TO regress_dedup_group;
GRANT regress_dedup_group TO regress_dedup_alice;
SET ROLE regress_dedup_group;
CALL dedup_into('ours', :'query', :'quiet');
SET ROLE regress_dedup_alice;
CALL dedup_into('ours', :'query', :'quiet');
\echo :LAST_ERROR_SQLSTATE
SET ROLE regress_dedup_group;
CALL dedup_into('ours', :'query', :'quiet');
RESET ROLE;
DROP TABLE ours, ours_merges, ours_state, trap, trap_merges, trap_state, trap2, trap2_merges CASCADE;
DROP FUNCTION ran, spy, mine;
DROP OWNED BY regress_dedup_mallory, regress_dedup_alice, regress_dedup_group;
DROP ROLE regress_dedup_mallory, regress_dedup_alice, regress_dedup_group;

-- A first call that fails leaves nothing, whether it was listing rows or reading them.
CALL dedup_into('again', 'SELECT id, body FROM letter WHERE 1 / (id - 3) < 9', :'quiet');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('again', 'SELECT id, body, 1 / (id - 3) FROM letter', :'quiet');
\echo :LAST_ERROR_SQLSTATE
SELECT relname FROM pg_class WHERE relname LIKE 'again%';
-- As long as nothing has arrived, query and options can be changed, the type of the ids too (G6).
CALL dedup_into('again', 'SELECT id, body FROM letter WHERE id < 0', :'quiet');
CALL dedup_into('again', 'SELECT id::text AS id, body FROM letter ORDER BY letter.id', '{"distance": 3, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
SELECT pg_typeof(id) AS id, pg_typeof(keeper) AS keeper, count(*) FROM again GROUP BY 1, 2;
-- From then on they cannot.
CALL dedup_into('again', :'query', '{"distance": 3, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
\echo :LAST_ERROR_SQLSTATE
-- Neither when all rows are taken out: their names were given.
DELETE FROM again;
CALL dedup_into('again', :'query', '{"distance": 3, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
\echo :LAST_ERROR_SQLSTATE

-- Later calls read what the first one read: with another search path they are refused (G13).
CREATE SCHEMA app;
CREATE SCHEMA other;
CREATE TABLE app.petition AS TABLE letter;
CREATE TABLE other.petition AS SELECT id + 100 AS id, body FROM letter;
CREATE FUNCTION app.shown(body text) RETURNS text LANGUAGE sql IMMUTABLE RETURN body;
CREATE FUNCTION other.shown(body text) RETURNS text LANGUAGE sql IMMUTABLE RETURN 'other ' || body;
SET search_path = app, public;
CALL dedup_into('public.pinned', 'SELECT id, shown(body) AS body FROM petition', :'quiet');
INSERT INTO app.petition VALUES (8, 'text 1'), (9, 'other text 1');
SET search_path = other, public;
CALL dedup_into('public.pinned', 'SELECT id, shown(body) AS body FROM petition', :'quiet');
\echo :LAST_ERROR_SQLSTATE
SHOW search_path;
SET search_path = app, public;
-- Nor is the one that is kept followed, for others may have the right to write it.
CREATE ROLE regress_dedup_writer;
GRANT UPDATE ON pinned_state TO regress_dedup_writer;
SET ROLE regress_dedup_writer;
UPDATE pinned_state SET search_path = 'other, public, pg_temp';
RESET ROLE;
CALL dedup_into('public.pinned', 'SELECT id, shown(body) AS body FROM petition', :'quiet');
SELECT count(*) FROM pinned;
UPDATE pinned_state SET search_path = 'app, public, pg_temp';
DROP OWNED BY regress_dedup_writer;
DROP ROLE regress_dedup_writer;
-- Nor does a temporary table take the source's place.
CREATE TEMP TABLE petition AS SELECT 1000 AS id, 'text' AS body;
CALL dedup_into('public.pinned', 'SELECT id, shown(body) AS body FROM petition', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT count(*), max(id), count(*) FILTER (WHERE stage = 'exact') AS exact FROM pinned;
SELECT search_path FROM pinned_state;
-- When the source moves, the owner says so.
ALTER TABLE app.petition SET SCHEMA public;
ALTER FUNCTION app.shown SET SCHEMA public;
DROP SCHEMA app;
DROP TABLE pg_temp.petition;
CALL dedup_into('public.pinned', 'SELECT id, shown(body) AS body FROM petition', :'quiet');
SELECT count(*) FROM pinned;
RESET search_path;
DROP SCHEMA other CASCADE;
DROP TABLE petition, pinned, pinned_merges, pinned_state;
DROP FUNCTION shown;

-- Types of ids: blanks and bits of a length, and what cannot be a key (G7).
CALL dedup_into('typed_char', 'SELECT id::text::char(4) AS id, body FROM letter', :'quiet');
CALL dedup_into('typed_bit', 'SELECT id::bit(8) AS id, body FROM letter', :'quiet');
CALL dedup_into('typed_varchar', 'SELECT id::text::varchar(5) AS id, body FROM letter', :'quiet');
CALL dedup_into('typed_varchar', 'SELECT id::text::varchar(5) AS id, body FROM letter', :'quiet');
SELECT format('SELECT %L AS type, count(*), count(*) FILTER (WHERE stage = ''exact'') AS exact, max(id::text) FROM %I', format_type(atttypid, atttypmod), attrelid::regclass)
FROM pg_attribute WHERE attrelid::regclass::text ~ '^typed_[a-z]+$' AND attname = 'id' ORDER BY attrelid::regclass::text \gexec
CREATE TYPE pair AS (a integer, b integer);
CREATE DOMAIN numbers AS integer[];
CALL dedup_into('refused', 'SELECT ROW(id, id)::pair AS id, body FROM letter', :'quiet');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT ROW(id, id) AS id, body FROM letter', :'quiet');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT ARRAY[id] AS id, body FROM letter', :'quiet');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT ARRAY[id]::numbers AS id, body FROM letter', :'quiet');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) AS left_behind FROM pg_class WHERE relname ~ 'refused';
SELECT * FROM dedup('SELECT ROW(id, id)::pair, body FROM letter', :'quiet');
DROP TABLE typed_char, typed_char_merges, typed_char_state, typed_bit, typed_bit_merges, typed_bit_state, typed_varchar, typed_varchar_merges, typed_varchar_state;
DROP TYPE pair;
DROP DOMAIN numbers;

-- What is kept, and what the options say, is as in dedup: NULL options, whole
-- numbers, contents of other types, contents without a letter, and the counts.
CREATE DOMAIN prose AS text;
CREATE TABLE odd AS SELECT i AS id, (ARRAY['👍', '…', '', '👍', 'a b', 'A, B', '…'])[i]::char(9) AS body, (ARRAY['👍', '…', '', '👍', 'a b', 'A, B', '…'])[i]::prose AS prose,
    (ARRAY['-NaN', '1', 'NaN', '-0', '0', '-Infinity', NULL])[i]::float8 AS likes FROM generate_series(1, 7) i;
CALL dedup_into('odd1', 'SELECT id, body, likes FROM odd ORDER BY id', '{"equal": "normal", "method": "exact", "n": 2.0}');
CALL dedup_into('odd2', 'SELECT id, prose FROM odd ORDER BY id', '{"distance": 10, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
CALL dedup_into('odd2', 'SELECT id, prose FROM odd ORDER BY id', '{"distance": 10.0, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
SELECT o.id, o.keeper, o.stage, t.keeper AS text, p.keeper AS prose FROM odd1 o JOIN dedup('SELECT id, body FROM odd ORDER BY id', '{"equal": "text", "method": "exact"}') t ON t.id = o.id
  JOIN odd2 p ON p.id = o.id ORDER BY o.id;
SELECT count(*) AS differing FROM (SELECT id, keeper, stage FROM odd1
    EXCEPT SELECT id, keeper, stage FROM dedup('SELECT id, body FROM odd ORDER BY id', '{"equal": "normal", "method": "exact"}')) d;
-- Of a family only so many contents are read as it takes to judge what is new (G16).
CREATE SEQUENCE reads;
CREATE FUNCTION counted(body text) RETURNS text LANGUAGE plpgsql STABLE AS $$ BEGIN PERFORM nextval('reads'); RETURN body; END $$;
CREATE TABLE family AS SELECT i AS id, 'the water in our street has been cut off for three days and nobody came ' || i AS body,
    1::bigint << (i % 60) | 1::bigint << (i % 59) | 1::bigint << (i % 53) AS fp FROM generate_series(1, 3000) i;
ALTER TABLE family ADD PRIMARY KEY (id);
CALL dedup_into('families', 'family', '{"fp": "fp", "columns": "body", "follow": true, "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
INSERT INTO family SELECT id + 3000, body || '!', fp FROM family WHERE id <= 10;
CALL dedup_into('families', 'family');
SELECT count(DISTINCT cluster) AS clusters, count(*) AS rows FROM families;
CALL dedup_into('families', 'family', '{"follow": false}');
DROP TABLE families, families_merges, families_state;
CALL dedup_into('families', 'SELECT id, counted(body) AS body, fp FROM family', '{"fp": "fp", "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
INSERT INTO family SELECT id + 4000, body || '!', fp FROM family WHERE id <= 10;
SELECT setval('reads', 1);
CALL dedup_into('families', 'SELECT id, counted(body) AS body, fp FROM family', '{"fp": "fp", "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
SELECT nextval('reads') - (SELECT count(*) FROM family) < 100 AS few, (SELECT count(DISTINCT cluster) FROM families) AS clusters, (SELECT count(*) FROM families) AS rows;
-- What cannot wait in a file is within the limit (G8).
SET pg_dedup.memory_limit = '2MB';
CALL dedup_into('limited', 'SELECT id, body, fp FROM family', '{"fp": "fp", "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
\echo :LAST_ERROR_SQLSTATE
RESET pg_dedup.memory_limit;
CALL dedup_into('limited', 'SELECT id, body, fp FROM family', '{"fp": "fp", "group": "single_pass", "distance": 6, "similarity": 0.5, "n": 2, "details": []}');
SELECT count(*) FROM limited;
DROP TABLE family, families, families_merges, families_state, limited, limited_merges, limited_state;
DROP SEQUENCE reads;
DROP FUNCTION counted;
-- An error in the text of a query says where, in the user's text.
SELECT * FROM dedup('SELECT id, nonesuch FROM letter');
SELECT * FROM near_dup_pairs('SELECT id, fp
FROM nowhere WHERE true');
CALL dedup_into('refused', 'SELECT id, nonesuch FROM letter');
SELECT * FROM dedup_evaluate('SELECT nonesuch FROM letter', 'SELECT 1');
DO $$ BEGIN PERFORM dedup('SELECT id, nonesuch FROM letter'); EXCEPTION WHEN undefined_column THEN RAISE WARNING 'caught: %', sqlerrm; END $$;
-- Nothing of it is left for the next error.
SELECT 1 / 0;
SELECT * FROM dedup('SELECT 1 / (id - 1), body FROM letter');
-- Types of a session's temporary schema are not those of the procedure (H64),
-- in a session that has not called it before.
\connect -
SET client_min_messages = warning;
CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (false);
CREATE DOMAIN pg_temp.record AS pg_catalog.int4 CHECK (false);
CALL dedup_into('shadowed', :'query', :'quiet');
DROP DOMAIN pg_temp.text, pg_temp.record;
SELECT count(*) > 0 AS taken FROM shadowed;
-- Options that were given once stay, though the first call met no row; the rest is chosen when there are rows.
SET client_min_messages = warning;
CREATE TABLE late (id int PRIMARY KEY, body text);
CALL dedup_into('asked', 'late', '{"distance": 3, "similarity": 0, "group": "components", "keep": "last", "recipe": {}, "n": 2, "details": []}');
CALL dedup_into('asked', 'late');
CREATE VIEW nobody AS SELECT id, body FROM late WHERE id > 9;
INSERT INTO late SELECT i, 'There has been no water in our building in Harbour Street since Monday morning and nobody from the housing office answers the telephone, item ' || repeat(chr(96 + i), 6) FROM generate_series(1, 4) i;
CALL dedup_into('asked', 'late');
SELECT s.options -> 'distance' AS distance, s.options -> 'similarity' AS similarity, s.options -> 'keep' AS keep, s.options -> 'details' AS details, (SELECT count(*) FROM asked WHERE id = keeper) AS kept
FROM asked_state s;
-- The original options again are no error, others are.
CALL dedup_into('asked', 'late', '{"distance": 3, "similarity": 0, "group": "components", "keep": "last", "recipe": {}, "n": 2, "details": []}');
CALL dedup_into('asked', 'late', '{"distance": 4, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
-- Before the first row one option replaces one.
CALL dedup_into('asked2', 'SELECT * FROM nobody', '{"distance": 3, "similarity": 0.6, "recipe": {}, "n": 2, "details": []}');
CREATE OR REPLACE VIEW nobody AS SELECT id, body FROM late;
CALL dedup_into('asked2', 'SELECT * FROM nobody', '{"similarity": 0.9, "recipe": {}, "distance": 10, "n": 2, "details": []}');
SELECT s.options -> 'distance' AS distance, s.options -> 'similarity' AS similarity FROM asked2_state s;
DROP VIEW nobody;
DROP TABLE late, asked, asked_merges, asked_state, asked2, asked2_merges, asked2_state;
RESET client_min_messages;
DROP TABLE shadowed, shadowed_merges, shadowed_state;
DROP TABLE letter, odd, odd1, odd1_merges, odd1_state, odd2, odd2_merges, odd2_state, again, again_merges, again_state;
DROP DOMAIN prose;
DROP EXTENSION pg_dedup;
