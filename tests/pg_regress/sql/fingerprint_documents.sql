-- Fingerprints of nested documents by path: jsonb as it is stored, of any depth, with numbers of any length.
CREATE EXTENSION pg_dedup;
\t on
-- A leaf is known by its path; a path stands for what is below it, but for what a longer one stands for, and the empty
-- one for the whole. Elements of an array have its path.
SELECT string_agg(feature || ':' || weight, ' ' ORDER BY feature COLLATE "C") FROM simhash_features(
    '{"title": "停水 ！", "from": {"name": "王芳", "city": "长沙"}, "tags": ["水", "急", ["水", {"by": "x"}]], "open": true, "no": -7.50,
      "closed": null, "replies": [{"by": "住建局", "text": "收到"}, {"by": "物业", "text": ["在修", null]}]}'::jsonb,
    '{"": 1, "from.city": 3, "replies": {"tokens": "words"}, "replies.by": 0, "title": null}');
-- A document without nesting is the row, by absolute weights and by shares.
CREATE TABLE p (title text, body text, no int, n numeric, big numeric, f float8, open bool, day date, at timestamp, nothing text);
INSERT INTO p VALUES ('停水', '小区停水三天，物业不管', 7, -12.50, repeat('123456789', 60)::numeric, 0.1, true, '2021-03-04', '2021-03-04 05:06:07.5', NULL),
    (NULL, NULL, NULL, 'NaN', NULL, NULL, false, 'infinity', NULL, 'x');
SELECT w, simhash(p, w) = simhash(to_jsonb(p), w), simhash(to_jsonb(p), w) IS NULL
FROM p, (VALUES ('{"title": 2, "body": "log", "no": 2, "n": 1, "big": 3, "f": 1, "open": 2, "day": 5, "at": 1, "nothing": 4}'::jsonb),
    ('{"title": {"share": 0.3}, "body": {"share": 0.7, "tokens": "words"}}'), ('{"n": 1}'), ('{"open": 1}'), ('{"nothing": null}')) v(w)
ORDER BY p.no, w::text COLLATE "C";
-- No order counts, nor what no path leads to; equal paths are equal however they are nested, and types are as they print.
SELECT simhash(a::jsonb, w) = simhash(b::jsonb, w), a, b FROM (VALUES ('{"a": {"b": [1, 2]}, "c": "x"}', '{"c": "x", "a": {"b": [2, 1], "z": 3}}'),
    ('{"a": {"b": "1"}}', '{"a.b": 1}'), ('{"a": {"b": [[1], {"q": null}]}}', '{"a": {"b": 1}}'), ('{"a": {"b": true}}', '{"a": {"b": "t"}}'),
    ('[{"a": {"b": 1}}, {"c": "y"}]', '{"a": {"b": 1}, "c": "y"}'), ('{"a": {"b": 1}}', '{"a": {"b": 1.5}}'),
    ('{"a": {"b": 1}}', '{"a": {"bb": 1}, "ab": 1}'), ('{"a": {"b": "王芳"}}', '{"c": "王芳"}')) v(a, b), (VALUES ('{"a.b": 2, "c": 1}'::jsonb)) r(w);
-- Nothing there, no fingerprint.
SELECT doc, simhash(doc::jsonb, '{"a": 2, "b.c": null}') FROM unnest(ARRAY['{}', '[]', 'null', '3', '"x"', '{"a": null}', '{"a": []}', '{"b": {"d": "x"}}', NULL]) doc;
SELECT simhash('{"a": 1}'::jsonb, '{"b": 1}') IS NULL, simhash(NULL::jsonb, '{"b": 1}') IS NULL, simhash('"停水"'::jsonb, '{"": 2}') IS NOT NULL,
    simhash('[]'::jsonb, '{"": null}') IS NULL, simhash('"停水"'::jsonb, '{"": null}') = simhash('停水');
-- Deep, long and large documents; compressed and toasted ones; a number that no double precision has.
SELECT simhash((repeat('{"a":', 1500) || '"停水"' || repeat('}', 1500))::jsonb, '{"a.a": 2}') IS NOT NULL,
    simhash((repeat('[', 1500) || '"停水"' || repeat(']', 1500))::jsonb, '{"": 2}') = simhash('"停水"'::jsonb, '{"": 2}'),
    simhash(jsonb_build_object('a', repeat('9', 5000)::numeric), '{"a": 1}') = simhash(jsonb_build_object('a', repeat('9', 5000)), '{"a": 1}');
CREATE TABLE large (doc jsonb, plain jsonb);
ALTER TABLE large ALTER plain SET STORAGE EXTERNAL;
INSERT INTO large SELECT doc, doc FROM (SELECT jsonb_build_object('all', jsonb_agg(jsonb_build_object('no', i, 'text', '停水' || i % 700))) FROM generate_series(1, 20000) i) s(doc);
SELECT simhash(doc, w) = simhash(plain, w), simhash(doc, w) = (SELECT simhash_agg(feature, weight) FROM simhash_features(plain, w))
FROM large, (VALUES ('{"all.no": 2, "all.text": "one"}'::jsonb)) v(w);
-- By hand from the same leaves.
SELECT simhash(doc, '{"all.no": 2}') = (SELECT simhash_agg('all.no=' || (e ->> 'no'), 2) FROM jsonb_array_elements(doc -> 'all') e) FROM large;
-- Features carry the whole path.
SELECT count(*), max(length(feature)) FROM large, simhash_features(jsonb_build_object(repeat('k', 2000), doc), '{"": 1}');
-- In a generated column, an expression index, in parallel workers.
CREATE TABLE letter (id int PRIMARY KEY, doc jsonb, fp bigint GENERATED ALWAYS AS (simhash(doc, '{"title": 20, "body": "tf"}')) STORED);
INSERT INTO letter SELECT i, jsonb_build_object('title', '停水' || i % 50, 'body', jsonb_build_array('小区停水' || i || '天', '物业不管' || i * 7919)) FROM generate_series(1, 3000) i;
CREATE INDEX ON letter USING banding (fp);
CREATE INDEX letter_body ON letter USING banding (simhash(doc, '{"body": "tf"}'));
ANALYZE letter;
EXPLAIN (COSTS OFF) SELECT id FROM letter WHERE near_dup(simhash(doc, '{"body": "tf"}'), simhash('{"body": ["物业不管55433", "小区停水7天"], "title": 1}'::jsonb, '{"body": "tf"}'), 0);
SELECT id FROM letter WHERE near_dup(simhash(doc, '{"body": "tf"}'), simhash('{"body": ["物业不管55433", "小区停水7天"], "title": 1}'::jsonb, '{"body": "tf"}'), 0);
SELECT count(*) FROM letter a JOIN letter b ON near_dup(a.fp, b.fp, 3) WHERE a.id = 7;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET enable_indexonlyscan = off;
EXPLAIN (COSTS OFF) SELECT sum(simhash(doc, '{"title": 20, "body": "tf"}') - fp) FROM letter;
SELECT sum(simhash(doc, '{"title": 20, "body": "tf"}') - fp) FROM letter;
-- Why two of them differ.
SELECT "column", feature, found_in, round(sum(bits) OVER ()::numeric, 6) = simhash(a, w) <~> simhash(b, w) AS adds_up
FROM (VALUES ('{"from": {"city": "长沙"}, "body": "停水"}'::jsonb, '{"from": {"city": "株洲"}, "body": "停水"}'::jsonb, '{"from": 2, "body": {"tokens": "words"}}'::jsonb)) v(a, b, w),
    simhash_explain(a, b, w) ORDER BY feature COLLATE "C";
-- What is wrong with weights.
SELECT simhash('{"a": 1}'::jsonb, '[1]');
SELECT simhash('{"a": 1}'::jsonb, '{}');
SELECT simhash('{"a": 1}'::jsonb, '{"a.b": "tff"}');
DROP TABLE p, large, letter;
DROP EXTENSION pg_dedup;
