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
SELECT dedup_corpus_extend('part@1', 'SELECT body FROM petition WHERE id > 10');
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
SELECT dedup_corpus_drop('petitions@1');
DROP TABLE used;
DROP VIEW used_view;
DROP FUNCTION used_function;
SELECT dedup_corpus_drop('petitions@1');
SELECT dedup_corpus_drop('petitions@1');
SELECT dedup_corpus_build('petitions', 'SELECT body FROM petition', '{"tokens": "words"}') AS "a number never comes again";
-- Dictionaries.
SELECT dedup_dictionary_build('own', ARRAY['云上花园', '楚江新区 5000 ns'], ARRAY['的', '我们']);
SELECT string_agg(feature, ' ' ORDER BY feature COLLATE "C") FROM simhash_features('我们投诉楚江新区的云上花园'::text, '{"tokens": "words", "dictionary": "own@1"}');
SELECT dedup_dictionary_build('own', 'SELECT word FROM (VALUES (''云上花园'')) AS lexicon(word)');
SELECT dedup_dictionary_build('own', E'云上花园 3 nz\n楚江新区\n');
SELECT dictionary, words, stop_words FROM dedup_dictionaries;
SELECT dedup_corpus_build('with_words', 'SELECT body FROM petition', '{"tokens": "words", "dictionary": "own@1"}');
SELECT dedup_dictionary_drop('own@1');
SELECT dedup_dictionary_drop('own@2');
-- What makes no sense.
SELECT dedup_dictionary_build('own', ARRAY['云上 x y']);
SELECT dedup_dictionary_build('own', '{}'::text[]);
SELECT dedup_corpus_build('a"b', 'SELECT 1');
SELECT dedup_corpus_build('empty', 'SELECT NULL::text');
DROP TABLE petition;
DROP EXTENSION pg_dedup;
