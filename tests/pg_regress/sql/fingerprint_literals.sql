-- Weights are jsonb in every form, so that literals need no cast: which function is meant follows from the first argument.
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
CREATE DOMAIN content AS text;
CREATE TABLE petition (
    id int, title varchar(20), body content, words tsvector,
    by_text bigint GENERATED ALWAYS AS (simhash(body, '{"tokens": "words"}')) STORED,
    by_array bigint GENERATED ALWAYS AS (simhash(ARRAY[title, body], '[2, null]')) STORED,
    by_vector bigint GENERATED ALWAYS AS (simhash(words, '[1, 1, 1, 1]')) STORED);
INSERT INTO petition VALUES (1, '停水', '小区停水三天，物业不管', 'water:1 supply:2A'), (2, NULL, NULL, NULL);
\t
-- Literals alone, and their like with types.
SELECT simhash('小区停水') = simhash('小区停水'::text), simhash('小区停水', '{"tokens": "words"}') = simhash('小区停水'::text, '{"tokens": "words"}'::jsonb),
       simhash('小区停水', NULL) = simhash('小区停水'), simhash('小区停水', '{}') = simhash('小区停水'),
       simhash(ARRAY['停水', '小区停水'], '[2, null]') = simhash('{停水,小区停水}'::text[], '[2, null]'::jsonb),
       simhash('water:1 supply:2A'::tsvector) = simhash('water:1 supply:2A'::tsvector, '[0.1, 0.2, 0.4, 1.0]'),
       simhash(ROW('停水'), '{"f1": 2}') = (SELECT simhash(r, '{"f1": 2}') FROM (SELECT '停水'::text AS f1) r);
SELECT near_dup('小区停水', '小区停水', 0, '{"tokens": "words"}'), simhash_cosine('小区停水', '小区停水', '{"tokens": "words"}') > 0.99;
SELECT (SELECT count(*) FROM simhash_features('小区停水', '{"tokens": "words"}')), (SELECT count(*) FROM simhash_features(ARRAY['停水', '小区停水'], '[2, null]')),
       (SELECT count(*) FROM simhash_explain('小区停水', '小区停电')), (SELECT count(*) FROM simhash_explain('小区停水', '小区停电', '{"tokens": "words"}')),
       (SELECT count(*) FROM simhash_explain(ARRAY['停水', '小区停水'], ARRAY['停电', '小区停电'], '[2, null]'));
-- Columns of other text types, of a domain, and with a recipe from a column.
SELECT p.by_text = simhash(p.body, '{"tokens": "words"}'), p.by_array = simhash(ARRAY[p.title, p.body], '[2, null]'),
       p.by_array = simhash(ARRAY[title::char(2), body::varchar], '[2, "tf"]'), p.by_vector = simhash(p.words, '[1, 1, 1, 1]'),
       simhash(p.title, '{}') = simhash('停水'), simhash(p, '{"title": 2, "body": null}') IS NOT NULL
FROM petition p ORDER BY id;
SELECT count(DISTINCT simhash(ARRAY[title, body], weights)) FROM petition, (VALUES ('[2, null]'::jsonb), ('[1, "log"]'), ('[0, {"tokens": "chars"}]')) w(weights);
-- An element is a number, null, or what a column of a row may have.
SELECT simhash(ARRAY[title, body], '[null, 3]') = simhash_agg(feature, weight) FROM petition, simhash_features(ARRAY[title, body], '[null, 3]') WHERE id = 1 GROUP BY title, body;
SELECT simhash(ARRAY[body], '[null]') = simhash(body), simhash(ARRAY[body], '["log"]') = simhash(body, '{"weight": "log"}'),
       simhash(ARRAY[body], '[{"tokens": "words", "n": 1}]') = simhash(body, '{"tokens": "words"}') FROM petition WHERE id = 1;
-- Parameters without types are taken as the literals are.
PREPARE of_text AS SELECT simhash($1, $2) = simhash('小区停水', '{"tokens": "words"}');
EXECUTE of_text('小区停水', '{"tokens": "words"}');
PREPARE of_array AS SELECT simhash(ARRAY[$1, $2], $3) = simhash(ARRAY['停水', '小区停水'], '[2, null]');
EXECUTE of_array('停水', '小区停水', '[2, null]');
PREPARE of_one AS SELECT simhash($1) = simhash('小区停水');
EXECUTE of_one('小区停水');
\t
-- An index on the expression serves it, and near_dup of texts too.
INSERT INTO petition SELECT n, '停水', '小区停水' || n || '天，物业不管' || n * 7919 FROM generate_series(3, 2000) n;
CREATE INDEX ON petition USING banding (simhash(ARRAY[title, body], '[2, null]'));
CREATE INDEX ON petition USING banding (simhash(body, '{"tokens": "words"}'));
ANALYZE petition;
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE near_dup(simhash(ARRAY[title, body], '[2, null]'), simhash(ARRAY['停水', '小区停水三天，物业不管'], '[2, null]'), 0);
SELECT id FROM petition WHERE near_dup(simhash(ARRAY[title, body], '[2, null]'), simhash(ARRAY['停水', '小区停水三天，物业不管'], '[2, null]'), 0);
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE near_dup(body, '小区停水三天，物业不管', 0, '{"tokens": "words"}');
SELECT id FROM petition WHERE near_dup(body, '小区停水三天，物业不管', 0, '{"tokens": "words"}');
DROP TABLE petition;
DROP DOMAIN content;
DROP EXTENSION pg_dedup_papers, pg_dedup;
