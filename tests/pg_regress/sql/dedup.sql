-- The whole pipeline in one statement.
CREATE EXTENSION pg_dedup;
CREATE TABLE petition (id integer PRIMARY KEY, body text, filed date);
INSERT INTO petition VALUES
    (1, '小区停水三天了，物业不管，请有关部门尽快处理，居民生活受到严重影响', '2019-03-01'),
    (2, '小区停水三天了，物业不管，请有关部门尽快处理，居民生活受到严重影响', '2019-03-02'),
    (3, '小区停水三天了!物业不管。请有关部门尽快处理，居民生活受到严重影响。', '2019-02-01'),
    (4, '我们小区停水三天了，物业一直不管，请有关部门尽快处理，居民生活受到严重影响，谢谢', '2019-03-04'),
    (5, '学校门口的路灯坏了一个月，晚上接孩子很不安全', NULL),
    (6, NULL, NULL), (7, NULL, NULL), (8, '！！', NULL), (9, '！！', NULL), (10, '', NULL);
\set options '{"progress": 0, "distance": 24, "similarity": 0.6}'
SELECT id, keeper, stage, distance IS NOT NULL AS distance, round(similarity::numeric, 2) AS similarity
FROM dedup('SELECT id, body FROM petition ORDER BY id', :'options');
-- Which row is kept.
SELECT rule, string_agg(id || '>' || keeper, ' ' ORDER BY id::int) FILTER (WHERE id <> keeper) AS "row > kept row"
FROM unnest(ARRAY['"first"', '"last"', '"longest"', '{"column": "filed"}', '{"column": "filed", "order": "desc"}']) AS rule,
     dedup('SELECT id, body, filed FROM petition ORDER BY id', :'options'::jsonb || jsonb_build_object('keep', rule::jsonb))
GROUP BY rule ORDER BY rule;
-- The exact stage alone, by characters or by normal form, or not at all.
SELECT exact, string_agg(id || '>' || keeper, ' ' ORDER BY id::int) FILTER (WHERE id <> keeper) AS "row > kept row"
FROM unnest('{text,normal,none}'::text[]) AS exact,
     dedup('SELECT id, body FROM petition ORDER BY id', jsonb_build_object('exact', exact, 'distance', NULL, 'progress', 0))
GROUP BY exact ORDER BY exact;
-- Single-Pass instead of components, own fingerprints instead of made ones,
-- without verification: as the window function says.
CREATE TABLE own AS SELECT i AS id, 'text ' || i AS body, hashint4extended(i % 60, 0) # (1::bigint << (i % 50)) AS fp FROM generate_series(1, 400) i;
SELECT count(*) AS differing FROM (
    (SELECT id::int, keeper::bigint FROM dedup('SELECT id, body, fp FROM own ORDER BY id', '{"fp": "fp", "distance": 3, "similarity": 0, "group": "single_pass", "progress": 0}')
     EXCEPT SELECT id, single_pass(fp, 3) OVER (ORDER BY id) FROM own)) s;
SELECT count(*) AS differing FROM (
    (SELECT id::int, keeper::bigint FROM dedup('SELECT id, body, fp FROM own ORDER BY id', '{"fp": "fp", "distance": 3, "similarity": 0, "progress": 0}')
     EXCEPT SELECT id, near_dup_component(fp, 3) OVER (ORDER BY id) FROM own)) s;
-- Ids of any type, and ids that repeat: rows are rows.
SELECT * FROM dedup($$VALUES ('a'::text, 'one'::varchar), ('a', 'two'), ('b', 'one')$$, '{"progress": 0}');
-- What a run says.
DO $$
BEGIN
    PERFORM FROM dedup('SELECT id, body FROM petition', '{"progress": 1000}');
END $$;
-- Refused.
SELECT dedup('SELECT 1');
SELECT dedup('SELECT 1, 2');
SELECT dedup('SELECT NULL::int, ''a''::text');
SELECT dedup('SELECT 1, ''a''::text', '{"distanse": 3}');
SELECT dedup('SELECT 1, ''a''::text', '{"distance": 65}');
SELECT dedup('SELECT 1, ''a''::text', '{"similarity": 2}');
SELECT dedup('SELECT 1, ''a''::text', '{"keep": "best"}');
SELECT dedup('SELECT 1, ''a''::text', '{"keep": {"column": "likes"}}');
SELECT dedup('SELECT 1, ''a''::text, now()::time AS t', '{"keep": {"column": "t"}}');
SELECT dedup('SELECT 1, ''a''::text, 1 AS fp', '{"fp": "fp"}');
SELECT dedup('SELECT 1, ''a''::text', '{"weights": {"token": 1}}');
DROP TABLE petition, own;
DROP EXTENSION pg_dedup;
