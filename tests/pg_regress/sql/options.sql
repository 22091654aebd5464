-- Every option in every function that takes it: a wrong value is refused in the same words everywhere, with the line that the
-- manual has of that option as hint. Which options a function takes is what it says itself of an unknown one.
CREATE EXTENSION pg_dedup;
\set SHOW_CONTEXT never
\pset format unaligned
CREATE TABLE laid (id bigint PRIMARY KEY, body text);
SELECT count(*) FROM dedup_setup('laid');
CREATE TABLE note (id bigint PRIMARY KEY, body text, phash bigint, of bigint, meta json);
CREATE FUNCTION refused(call text, OUT state text, OUT message text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE call;
EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
END $$;
CREATE FUNCTION guarded(arguments jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER guard AFTER INSERT ON note FOR EACH ROW EXECUTE FUNCTION near_dup_guard(''phash'', %s)',
        (SELECT string_agg(quote_literal(key || '=' || CASE jsonb_typeof(value) WHEN 'array' THEN
            (SELECT coalesce(string_agg(e, ','), '') FROM jsonb_array_elements_text(value) e) ELSE value #>> '{}' END), ', ') FROM jsonb_each(arguments)));
    INSERT INTO note VALUES (1, 'a');
END $$;
CREATE TABLE function (name text, call text);
INSERT INTO function VALUES ('dedup', 'SELECT dedup(''note'', %L)'), ('dedup_into', 'CALL dedup_into(''kept'', ''note'', %L)'), ('dedup_report', 'SELECT dedup_report(''note'', %L)'), ('dedup_explain', 'SELECT dedup_explain(''note'', ''SELECT 1, 2'', %L)'),
    ('dedup_setup', 'SELECT dedup_setup(''note'', %L)'), ('near_dup_guard', 'SELECT guarded(%L)'),
    ('near_dup_pairs', 'SELECT near_dup_pairs(''VALUES (1, 5::bigint)'', %L)'), ('dedup_find', 'SELECT dedup_find(''laid'', ''a'', options => %L)'),
    ('dedup_clean', 'SELECT dedup_clean(''laid'', true, %L)'), ('dedup_clean_batches', 'CALL dedup_clean_batches(''laid'', %L)');
CREATE TABLE takes AS SELECT f.*, key FROM function f, refused(format(call, '{"colour": 1}')) r,
    unnest(string_to_array(split_part(r.message, ' has: ', 2), ', ')) key;
SELECT name, string_agg(key, ' ') AS takes FROM takes GROUP BY name ORDER BY name COLLATE "C";
CREATE TABLE wrong (key text, value jsonb);
INSERT INTO wrong VALUES ('id', '3'), ('columns', '[]'), ('fp', '""'), ('recipe', '3'), ('equal', '"case"'), ('method', '"guess"'), ('distance', '257'),
    ('similarity', '1.5'), ('n', '0'), ('details', '["size"]'), ('slots', '{"name ___ is ___": true}'), ('contained', '-1'), ('group', '"pairs"'), ('diameter', '2.5'),
    ('keep', '{"column": "id", "oder": "desc"}'), ('scope', '[]'), ('action', '"drop"'), ('flag', '""'), ('log', '""'), ('index', '"maybe"'), ('title', '1'),
    ('language', '"de"'), ('labels', '[]'), ('show', '[]'), ('picture', '["a"]'), ('review', '0'), ('follow', '1'), ('drop', 'false'), ('refit', 'false'), ('side', '3'), ('nearest', '101'),
    ('decided', '1'), ('archive', 'true'), ('references', '"ignore"'), ('fill', '{"body": "sum"}'), ('batch', '0');
SELECT key AS not_tried FROM takes EXCEPT SELECT key FROM wrong;
SELECT message, string_agg(name, ' ' ORDER BY name COLLATE "C") AS "by", string_agg(DISTINCT state, ' ') AS state, count(DISTINCT hint) AS hints
FROM takes JOIN wrong USING (key), refused(format(call, jsonb_build_object(key, value))) GROUP BY message ORDER BY message COLLATE "C";
SELECT DISTINCT hint COLLATE "C" AS hint FROM takes JOIN wrong USING (key), refused(format(call, jsonb_build_object(key, value))) ORDER BY 1;
-- Options that exclude each other, columns that are none, and what is taken for a fingerprint.
SELECT name, options, r.* FROM function JOIN (VALUES
    ('dedup', '[]'), ('dedup', '{"method": "text", "similarity": 0}'), ('dedup', '{"diameter": 3, "group": "star"}'),
    ('dedup', '{"diameter": 3, "method": "text"}'), ('dedup', '{"contained": 0.8, "group": "components"}'), ('dedup', '{"method": "records", "n": 2}'),
    ('dedup', '{"slots": {"___": true}}'), ('dedup', '{"slots": {"name": true}}'), ('dedup', '{"slots": {"name ___": 1}}'),
    ('dedup', '{"columns": "phash"}'), ('dedup', '{"columns": "nothing"}'), ('dedup', '{"columns": ["body", "body"]}'), ('dedup', '{"fp": "body"}'),
    ('dedup', '{"columns": {"body": 2}}'),
    ('dedup', '{"id": "meta"}'), ('dedup_setup', '{"id": "meta"}'), ('dedup_setup', '{"keep": {"column": "meta"}}'), ('near_dup_guard', '{"fp": "of"}'),
    ('dedup_setup', format('{"fp": "%s"}', repeat('f', 64))), ('dedup', format('{"title": "%s"}', repeat('t', 200))), ('dedup', format('{"n": "%s"}', repeat('n', 200))),
    ('dedup_setup', '{"columns": {"phash": null}}'), ('dedup_setup', '{"fp": "body"}'), ('dedup_setup', '{"drop": true, "n": 2}'),
    ('dedup_setup', '{"method": "text", "recipe": {"markup": "html"}}'),
    ('near_dup_pairs', '{"n": 2}'), ('near_dup_pairs', '{"method": "text", "distance": 3}'), ('near_dup_guard', '{"similarity": 0.5}'), ('near_dup_guard', '{"action": "flag"}'), ('near_dup_guard', '{"action": "skip", "log": "l"}'),
    ('near_dup_guard', '{"method": "text"}')) t(name, options) USING (name),
    refused(format(call, options)) r;
-- Null is not asked for, whatever the option.
SELECT DISTINCT message FROM takes, refused(format('SELECT dedup(''note'', %L)', jsonb_build_object(key, null))) WHERE name = 'dedup';
DROP TABLE note, laid, function, takes, wrong;
DROP FUNCTION refused, guarded;
DROP EXTENSION pg_dedup;
