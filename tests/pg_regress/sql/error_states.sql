-- Errors of recipes and weights: each has a condition that programs can test, says what is wrong, and has a hint.
-- (What the messages look like in psql is in errors.sql.)
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
CREATE FUNCTION error_of(statement text, OUT state text, OUT message text, OUT hint boolean) LANGUAGE plpgsql AS $$
DECLARE hint_text text;
BEGIN
  EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint_text = PG_EXCEPTION_HINT;
  hint := hint_text <> '';
END $$;
-- Recipes are read strictly, whichever function reads them.
SELECT recipe, e.* FROM (VALUES ('{"token": "words"}'), ('{"tokens": "word"}'), ('{"weight": "bm25"}'), ('{"hash": "md5"}'),
    ('{"stop": "的"}'), ('{"n": 0}'), ('{"n": 65}'), ('{"n": 1.5}'), ('{"dictionary": "nobody@1"}'), ('{"corpus": "nobody@1"}'),
    ('[]'), ('"tf"'), ('2'), ('null')) r(recipe), error_of(format('SELECT simhash(''a''::text, %L::jsonb)', recipe)) e;
SELECT count(*), count(DISTINCT recipe) FROM (VALUES ('{"token": "words"}'), ('{"n": 0}'), ('[]'), ('{"stop": "的"}')) r(recipe),
    (VALUES ('simhash(''a''::text'), ('simhash_features(''a''::text'), ('near_dup(''a'', ''b'', 3')) f(call),
    error_of(format('SELECT %s, %L::jsonb)', call, recipe)) e WHERE e.state = '22023' AND e.hint;
-- Weights must be usable numbers.
SELECT weight, (error_of(format('SELECT simhash(''a''::text, ''{"weight": %s}'')', weight))).*,
       (error_of(format('SELECT simhash(''a''::text, ''{"factor": %s}'')', weight))).state AS factor,
       (error_of(format('SELECT simhash(''a''::text, ''{"terms": {"停水": %s}}'')', weight))).state AS terms,
       (error_of(format('SELECT simhash(ROW(1), ''{"f1": %s}'')', weight))).state AS "row"
FROM (VALUES ('-1'), ('-0.0001'), ('1000001'), ('1e400'), ('NaN'), ('"NaN"')) w(weight);
SELECT weight, (error_of(format('SELECT simhash(''{a,b}''::text[], ''[1,%s]'')', weight))).*,
       (error_of(format('SELECT simhash_agg(''a'', %L)', weight))).state AS aggregate,
       (error_of(format('SELECT simhash(''a''::tsvector, ''[1,1,1,%s]'')', weight))).state AS tsvector
FROM (VALUES ('-1'), ('NaN'), ('Infinity'), ('-Infinity'), ('1000001')) w(weight);
-- Arrays must be equally long, the weights of a tsvector four.
SELECT v.*, e.* FROM (VALUES ('{a}', '[1,2]'), ('{a,b}', '[1]'), ('{}', '[1]'), ('{a}', '[]')) v(fields, weights),
    error_of(format('SELECT simhash(%L::text[], %L)', fields, weights)) e;
SELECT v.*, e.* FROM (VALUES ('[]'), ('[1]'), ('[1,1,1,1,1]'), ('[1,1,1,null]'), ('{}')) v(weights),
    error_of(format('SELECT simhash(''a''::tsvector, %L)', weights)) e;
-- Columns must exist, by their exact name, and not be dropped.
CREATE TABLE desk (id int, title text, gone text, body text);
ALTER TABLE desk DROP gone;
INSERT INTO desk VALUES (1, 'a', 'b');
SELECT call, e.* FROM (VALUES ('boddy'), ('gone'), ('TITLE'), (''), ('........pg.dropped.3........')) c(name),
    (VALUES ('simhash'), ('simhash_features')) f(call),
    error_of(format('SELECT %s(d, %L) FROM desk d', call, jsonb_build_object('title', 2, name, 1))) e;
SELECT recipe, e.* FROM (VALUES ('{}'), ('[1]'), ('{"title": true}'), ('{"title": "tff"}'), ('{"body": {"tokens": "x"}}'),
    ('{"body": {"tokenz": 1}}')) r(recipe), error_of(format('SELECT simhash(d, %L) FROM desk d', recipe)) e;
DROP TABLE desk;
-- Arguments that must not be NULL.
SELECT call, e.* FROM (VALUES ('SELECT dedup_corpus_build(NULL, ''SELECT 1'')'), ('SELECT dedup_corpus_build(''a'', NULL)'),
    ('SELECT dedup_dictionary_build(NULL, ''{a}''::text[])'), ('SELECT dedup_dictionary_build(''a'', NULL::text[])'),
    ('SELECT dedup_version_drop(''words'', ''a@1'')'), ('SELECT dedup_corpus_build(''a@1'', ''SELECT 1'', ''{}'')'),
    ('SELECT dedup(NULL)'), ('SELECT dedup_report(NULL)'), ('SELECT near_dup_pairs(NULL)'), ('SELECT near_dup_pairs(NULL, ''{"method": "text"}'')'), ('SELECT near_dup_calibrate(NULL)'),
    ('SELECT dedup_suggest(NULL)'), ('SELECT dedup_setup(NULL)'), ('SELECT dedup_clean(NULL)'),
    ('SELECT dedup_find(NULL, ''a'')'), ('SELECT single_pass(1, NULL) OVER ()'), ('SELECT near_dup_component(1, NULL) OVER ()')) c(call),
    error_of(call) e;
DROP FUNCTION error_of;
DROP EXTENSION pg_dedup_papers, pg_dedup;
