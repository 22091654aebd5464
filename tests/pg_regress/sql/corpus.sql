-- Corpora and dictionaries: versions that recipes name.
CREATE EXTENSION pg_dedup;
CREATE TABLE petition (id int PRIMARY KEY, body text);
INSERT INTO petition SELECT n, '尊敬的领导：' || CASE n % 3 WHEN 0 THEN '小区停水' WHEN 1 THEN '道路停电' ELSE '学校停课' END || n FROM generate_series(1, 30) n;
SELECT dedup_corpus_build('petitions', 'SELECT body FROM petition;', '{"tokens": "words"}');
-- P3: tf · ln(N / df) · (1 + len(x)); a word of all documents weighs nothing, an unknown one the most.
SELECT feature, round(weight::numeric, 4) AS weight, round((ln(30 / CASE feature WHEN '停水' THEN 10 WHEN '尊敬' THEN 30 ELSE 1 END::numeric) * (1 + exp(-power(length(feature) - 4.51, 2) / (2 * power(2.207, 2))))), 4) AS by_hand
FROM simhash_features('尊敬的领导，停水，火灾'::text, '{"weight": "tfidf_len", "corpus": "petitions@1"}') ORDER BY feature COLLATE "C";
-- Words of a form that everybody fills in.
SELECT string_agg(feature, ' ' ORDER BY feature COLLATE "C") FROM simhash_features('尊敬的领导，小区停水'::text, '{"corpus": "petitions@1", "max_df": 0.5}');
-- A corpus says what its tokens are.
SELECT simhash('停水'::text, '{"corpus": "petitions@1", "weight": "tfidf", "tokens": "chars"}');
SELECT simhash('停水'::text, '{"corpus": "petitions@2", "weight": "tfidf"}');
SELECT simhash('停水'::text, '{"corpus": "petitions", "weight": "tfidf"}');
-- Extended by more texts, it is the corpus of all of them.
SELECT dedup_corpus_build('part', 'SELECT body FROM petition WHERE id <= 10', '{"tokens": "words"}');
SELECT dedup_corpus_build('part@1', 'SELECT body FROM petition WHERE id > 10');
SELECT a.documents = b.documents AND a.common = b.common AND a.single = b.single AS equal FROM _dedup_corpus a, _dedup_corpus b
WHERE (a.name, a.version) = ('petitions', 1) AND (b.name, b.version) = ('part', 2);
SELECT corpus, documents, tokens, recipe FROM dedup_corpora;
-- A version that was rolled back leaves nothing behind, in this process either.
BEGIN;
SELECT dedup_corpus_build('brief', 'SELECT ''停水 停电''::text');
SELECT simhash('停水 火灾'::text, '{"corpus": "brief@1", "weight": "tfidf"}') IS NULL AS one_document_knows_nothing;
ROLLBACK;
SELECT simhash('停水 火灾'::text, '{"corpus": "brief@1", "weight": "tfidf"}');
-- Used by a column, an index, a trigger, a view, a function: not dropped.
CREATE TABLE used (body text, fp bigint GENERATED ALWAYS AS (simhash(body, '{"corpus": "petitions@1", "weight": "tfidf"}')) STORED, by_trigger bigint);
CREATE INDEX used_body ON used (simhash(body, '{"corpus": "petitions@1", "weight": "tfidf_len"}'));
CREATE TRIGGER used_trigger BEFORE INSERT ON used FOR EACH ROW EXECUTE FUNCTION simhash_trigger('by_trigger', '{"body": {"corpus": "petitions@1", "weight": "tfidf"}}');
CREATE VIEW used_view AS SELECT simhash('停水'::text, '{"corpus": "petitions@1"}') AS fp;
CREATE FUNCTION used_function(text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT simhash($1, '{"corpus": "petitions@1"}') $$;
INSERT INTO used (body) SELECT body FROM petition;
SELECT count(*), bool_and(fp = simhash(body, '{"corpus": "petitions@1", "weight": "tfidf"}')) AS equal FROM used;
SELECT dedup_version_drop('corpus', 'petitions@1');
DROP TABLE used;
DROP VIEW used_view;
DROP FUNCTION used_function;
SELECT dedup_version_drop('corpus', 'petitions@1');
SELECT dedup_version_drop('corpus', 'petitions@1');
SELECT dedup_corpus_build('petitions', 'SELECT body FROM petition', '{"tokens": "words"}') AS "a number never comes again";
-- Dictionaries.
SELECT dedup_dictionary_build('own', ARRAY['云上花园', '楚江新区 5000 ns'], ARRAY['的', '我们']);
SELECT string_agg(feature, ' ' ORDER BY feature COLLATE "C") FROM simhash_features('我们投诉楚江新区的云上花园'::text, '{"tokens": "words", "dictionary": "own@1"}');
SELECT dedup_dictionary_build('own', ARRAY(SELECT word FROM (VALUES ('云上花园')) AS lexicon(word)));
SELECT dedup_dictionary_build('own', string_to_array(E'云上花园 3 nz\n楚江新区\n', E'\n'));
SELECT dictionary, words, stop_words FROM dedup_dictionaries;
SELECT dedup_corpus_build('with_words', 'SELECT body FROM petition', '{"tokens": "words", "dictionary": "own@1"}');
SELECT dedup_version_drop('dictionary', 'own@1');
-- Words are data: nothing in them is executed, and they may look like a query.
CREATE FUNCTION executed() RETURNS text LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''data was executed''; END';
SELECT dedup_dictionary_build('lines', ARRAY[line]) FROM (VALUES ('with x as (select executed()) table x'), ('with 5 n'), ('table')) AS stored(line) WHERE line !~ 'executed';
SELECT dedup_dictionary_build('lines', ARRAY['with x as (select executed()) table x']);
SELECT dedup_dictionary_build('lines', ARRAY['values (executed()) n']);
SELECT version, words FROM _dedup_dictionary WHERE name = 'lines' ORDER BY version;
-- Rows are (text) or (id, text): nothing else is silently taken for a text.
SELECT dedup_corpus_build('pairs', 'SELECT id, body FROM petition', '{"tokens": "words"}');
SELECT a.common = b.common AND a.single = b.single AS equal FROM _dedup_corpus a, _dedup_corpus b
WHERE (a.name, a.version) = ('petitions', 2) AND (b.name, b.version) = ('pairs', 1);
SELECT dedup_corpus_build('pairs', 'SELECT id FROM petition');
SELECT dedup_corpus_build('pairs', 'SELECT body, id FROM petition');
SELECT dedup_corpus_build('pairs', 'SELECT id, body, body FROM petition');
SELECT dedup_corpus_build('pairs@1', 'SELECT id FROM petition');
SELECT dedup_corpus_build('kinds', 'SELECT body::varchar(40) FROM petition');
-- The query may hold what is not for everybody; it is not kept.
SELECT corpus, extends FROM dedup_corpora WHERE extends IS NOT NULL;
SELECT bool_or(t::text ~ 'SELECT body') AS "query is kept" FROM _dedup_corpus t;
-- F3: a version is as it was built, for its owner too.
DELETE FROM _dedup_corpus;
\set VERBOSITY terse
UPDATE _dedup_corpus SET documents = documents + 1;
UPDATE _dedup_corpus SET name = 'other';
UPDATE _dedup_corpus SET common = '', single = '' WHERE name = 'pairs';
UPDATE _dedup_corpus SET common = NULL, single = NULL, dropped = true, tokens = 0 WHERE name = 'pairs';
UPDATE _dedup_corpus SET dropped = false WHERE dropped;
UPDATE _dedup_dictionary SET stop_words = 'other' WHERE name = 'own';
DELETE FROM _dedup_dictionary;
TRUNCATE _dedup_corpus, _dedup_dictionary;
TRUNCATE _dedup_dictionary;
SET session_replication_role = replica;
UPDATE _dedup_corpus SET documents = documents + 1;
DELETE FROM _dedup_dictionary;
RESET session_replication_role;
-- Dropped by an UPDATE it is dropped all the same: not under a recipe that names it.
UPDATE _dedup_dictionary SET words = NULL, stop_words = NULL, dropped = true WHERE name = 'own' AND version = 1;
UPDATE _dedup_corpus SET common = NULL, single = NULL, dropped = true WHERE name = 'kinds';
SELECT simhash('x'::text, '{"corpus": "kinds@1"}');
-- Rows that were not built.
INSERT INTO _dedup_corpus (name, version, recipe, documents, tokens, common, single) VALUES ('forged', 1, '{}', 3, 1, '\xff', '');
INSERT INTO _dedup_corpus (name, version, recipe, documents, tokens, common, single) VALUES ('forged', 1, '{}', -3, 1, '', '');
INSERT INTO _dedup_corpus (name, version, recipe, documents, tokens, common, single) VALUES ('forged"', 1, '{}', 3, 1, '', '');
INSERT INTO _dedup_corpus (name, version, recipe, documents, tokens) VALUES ('forged', 1, '{}', 3, 1);
INSERT INTO _dedup_corpus (name, version, recipe, documents, tokens, common, single) VALUES ('forged', 0, '{}', 3, 1, '', '');
INSERT INTO _dedup_dictionary (name, version, words, word_count, stop_words, stop_count) VALUES ('forged', 1, 'no frequency', 1, '', 0);
INSERT INTO _dedup_dictionary (name, version, words, word_count, stop_words, stop_count) VALUES ('own', 2, 'other 3 n', 1, '', 0);
\set VERBOSITY default
-- As they are, they may come again.
INSERT INTO _dedup_corpus SELECT * FROM _dedup_corpus;
INSERT INTO _dedup_dictionary SELECT * FROM _dedup_dictionary;
-- G3: what a result of dedup_into was made with stays.
CALL dedup_into('petition_groups', 'SELECT id, body FROM petition', '{"recipe": {"corpus": "pairs@1"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
SELECT dedup_version_drop('corpus', 'pairs@1');
CALL dedup_into('petition_prints', 'SELECT id, body, simhash(body, ''{"stop": "own@2"}'') FROM petition', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT dedup_version_drop('dictionary', 'own@2');
DROP TABLE petition_groups, petition_groups_merges, petition_groups_state, petition_prints, petition_prints_merges, petition_prints_state;
SELECT dedup_version_drop('corpus', 'pairs@1');
-- An argument that is NULL.
SELECT dedup_dictionary_build('a', NULL::text[]);
SELECT dedup_dictionary_build(NULL, ARRAY['a']);
SELECT dedup_corpus_build('a', NULL);
SELECT dedup_corpus_build(NULL, 'SELECT body FROM petition');
-- H60: a version is read without the types of whoever calls: in a function with the
-- rights of its owner their checks would run as that owner.
SELECT dedup_corpus_build('typed', 'SELECT body FROM petition', '{"tokens": "words"}');
CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (executed() IS NULL);
SELECT simhash('停水'::pg_catalog.text, '{"corpus": "typed@1"}') IS NOT NULL AS made;
SELECT dedup_corpus_build('typed@1', 'SELECT body FROM petition');
DROP DOMAIN pg_temp.text;
-- H61: only who may drop versions has all sessions forget what they keep.
CREATE ROLE regress_corpus_reader;
SET ROLE regress_corpus_reader;
SELECT _dedup_version_dropped('corpus', 'none@1');
RESET ROLE;
-- Every role computes with a version; its words and weights are shown to who built it and whom a plain GRANT names.
SELECT dedup_dictionary_build('hidden', ARRAY['云上花园'], ARRAY['secret']);
CREATE TABLE shared (id int PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash(body, '{"corpus": "typed@1", "weight": "tfidf"}')) STORED);
CREATE TABLE listed (id int PRIMARY KEY, body text);
SELECT count(*) FROM dedup_setup('listed', '{"columns": {"body": {"tokens": "words", "stop": "hidden@1"}}, "distance": 10}');
INSERT INTO listed VALUES (1, '小区停水'), (2, '道路停水');
GRANT SELECT, INSERT ON shared, listed TO regress_corpus_reader;
SELECT server FROM dedup_corpora WHERE corpus = 'typed@1' \gset
SELECT server AS dictionary FROM dedup_dictionaries WHERE dictionary = 'hidden@1' \gset
\set VERBOSITY sqlstate
SET ROLE regress_corpus_reader;
INSERT INTO shared VALUES (1, '小区停水');
INSERT INTO listed VALUES (3, '学校停水');
SELECT fp IS NOT NULL AS made, fp = simhash(body, '{"corpus": "typed@1", "weight": "tfidf"}') AS equal FROM shared;
SELECT count(*) > 0 AS found FROM dedup_find('listed', '学校停水。', 64);
SELECT * FROM simhash_features('停水'::text, '{"corpus": "typed@1", "weight": "tfidf"}');
SELECT * FROM simhash_features('停水'::text, '{"corpus": "typed\u00401"}');
SELECT * FROM simhash_features(ARRAY['停水'], '[{"corpus": "typed@1", "weight": "tfidf"}]');
SELECT f.* FROM shared s, simhash_features(s, '{"body": {"stop": "hidden@1"}}') f;
SELECT * FROM simhash_features('{"a": "停水"}'::jsonb, '{"$.a": {"dictionary": "hidden@1"}}');
SELECT * FROM simhash_explain('停水'::text, '停电'::text, '{"dictionary": "hidden@1"}');
SELECT * FROM simhash_explain(ARRAY['停水'], ARRAY['停电'], '[{"corpus": "typed@1"}]');
SELECT e.* FROM shared a, shared b, simhash_explain(a, b, '{"body": {"corpus": "typed@1"}}') e;
SELECT e.* FROM listed a, listed b, simhash_explain(a, b) e WHERE a.id = 1 AND b.id = 2;
SELECT * FROM _dedup_corpus;
SELECT words FROM _dedup_dictionary;
SELECT count(*) FROM _dedup_carrier('dictionary', 'hidden', 1) WHERE content IS NOT NULL;
SELECT count(*) FROM pg_user_mappings WHERE umoptions IS NOT NULL;
SELECT count(*) FROM pg_proc WHERE prosrc ~ 'secret';
SELECT dedup_corpus_build('typed@1', 'SELECT ''停水''::text');
CREATE SERVER planted FOREIGN DATA WRAPPER _dedup_versions;
RESET ROLE;
\set VERBOSITY default
SET ROLE regress_corpus_reader;
SELECT * FROM simhash_features('停水'::text, '{"dictionary": "hidden@1"}');
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER :server TO regress_corpus_reader;
GRANT USAGE ON FOREIGN SERVER :dictionary TO regress_corpus_reader;
SET ROLE regress_corpus_reader;
SELECT feature, round(weight::numeric, 4) AS weight FROM simhash_features('停水'::text, '{"corpus": "typed@1", "weight": "tfidf"}');
SELECT count(*) > 0 AS shown FROM listed a, listed b, simhash_explain(a, b) e WHERE a.id = 1 AND b.id = 2;
-- What was granted is taken back, in this session as well.
RESET ROLE;
REVOKE USAGE ON FOREIGN SERVER :server FROM regress_corpus_reader;
REVOKE USAGE ON FOREIGN SERVER :dictionary FROM regress_corpus_reader;
SET ROLE regress_corpus_reader;
\set VERBOSITY sqlstate
SELECT * FROM simhash_features('停水'::text, '{"corpus": "typed@1", "weight": "tfidf"}');
\set VERBOSITY default
RESET ROLE;
-- H62: a server of another wrapper, whose name somebody guessed, carries nothing.
CREATE FOREIGN DATA WRAPPER regress_corpus_other;
SELECT format('CREATE SERVER %I FOREIGN DATA WRAPPER regress_corpus_other; CREATE USER MAPPING FOR PUBLIC SERVER %1$I OPTIONS (content %L)',
    _dedup_carrier_name('dictionary', 'planted', 1), '{"name": "planted", "version": 1, "words": "", "stop_words": "water"}') \gexec
SELECT simhash('water'::text, '{"stop": "planted@1"}');
SET client_min_messages = warning;
DROP FOREIGN DATA WRAPPER regress_corpus_other CASCADE;
RESET client_min_messages;
DROP TABLE shared, listed;
DROP ROLE regress_corpus_reader;
DROP FUNCTION executed;
-- What makes no sense.
SELECT dedup_dictionary_build('own', ARRAY['云上 x y']);
SELECT dedup_dictionary_build('own', ARRAY['宝马(进口)', 'iphone-pro']);
SELECT dedup_dictionary_build('own', '{}'::text[]);
SELECT dedup_corpus_build('a"b', 'SELECT 1');
SELECT dedup_corpus_build('empty', 'SELECT NULL::text');
DROP TABLE petition;
-- The servers that carry versions through a dump go with the extension, without CASCADE.
SELECT count(*) > 0 AS carried FROM pg_foreign_server WHERE srvname ~ '^_dedup_(corpus|dictionary)_[0-9a-f]{32}$';
DROP EXTENSION pg_dedup;
SELECT (SELECT count(*) FROM pg_proc WHERE proname ~ '^_dedup_') + (SELECT count(*) FROM pg_foreign_server) AS left_behind;
-- H63: functions and operators that somebody made in the extension's schema before it came are not used by it.
CREATE SCHEMA squat;
CREATE FUNCTION squat.concat(text, text, integer) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE EXCEPTION ''squatted''; END';
CREATE FUNCTION squat.concat(text, text, text, text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE EXCEPTION ''squatted''; END';
CREATE FUNCTION squat.convert_to(text, text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE EXCEPTION ''squatted''; END';
CREATE FUNCTION squat.same(oid, regclass) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE EXCEPTION ''squatted''; END';
CREATE OPERATOR squat.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = squat.same);
CREATE FUNCTION squat.same(oid, integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE EXCEPTION ''squatted''; END';
CREATE OPERATOR squat.= (LEFTARG = oid, RIGHTARG = integer, FUNCTION = squat.same);
CREATE EXTENSION pg_dedup SCHEMA squat;
SELECT squat.dedup_dictionary_build('own', ARRAY['x']);
SELECT dictionary FROM squat.dedup_dictionaries;
SELECT count(*) FROM squat._dedup_carrier('dictionary', 'own', 1);
DROP EXTENSION pg_dedup;
SET client_min_messages = warning;
DROP SCHEMA squat CASCADE;
