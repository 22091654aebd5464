-- Why two fingerprints are as far apart as they are.
CREATE EXTENSION pg_dedup;
SELECT * FROM simhash_explain('小区停水三天', '小区停水两天', '{"tokens": "words"}');
SELECT hamming(simhash('小区停水三天'::text), simhash('小区停电两天了'::text)) = round(sum(bits)) AS bits_are_the_distance
FROM simhash_explain('小区停水三天', '小区停电两天了'::text);
-- To the last digit, and without a negative zero.
SELECT count(*) > 20 AS many, abs(sum(bits) - hamming(simhash(min(a)), simhash(min(b)))) < 1e-9 AS exact, bool_or(bits::text = '-0') AS signed
FROM (VALUES ('小区停水三天，物业不管，请有关部门尽快处理，居民生活受到很大影响'::text, '本小区停水已三天，物业公司不管，请领导派人尽快处理，居民都很着急'::text)) v(a, b),
    simhash_explain(a, b, '{"weight": "log"}');
CREATE TABLE petition (id int, title text, body text);
INSERT INTO petition VALUES (1, '停水', '小区停水三天，物业不管'), (2, '停水了', '小区停水三天，物业不管！');
SELECT e.* FROM petition a, petition b, simhash_explain(a, b, '{"title": 2, "body": {"tokens": "words"}}') e WHERE a.id = 1 AND b.id = 2;
-- By column and in all.
SELECT e."column", count(*) FILTER (WHERE found_in = 'both') AS shared, count(*) FILTER (WHERE found_in = 'a') AS only_a,
       count(*) FILTER (WHERE found_in = 'b') AS only_b, sum(least(weight_a, weight_b)) / sum(greatest(weight_a, weight_b)) AS jaccard, sum(bits) AS bits
FROM petition a, petition b, simhash_explain(a, b, '{"title": 2, "body": {"tokens": "words"}}') e WHERE a.id = 1 AND b.id = 2
GROUP BY ROLLUP (e."column") ORDER BY e."column";
-- An array's columns are the numbers of its fields.
SELECT e.* FROM petition a, petition b, simhash_explain(ARRAY[a.title, a.body], ARRAY[b.title, b.body], '[2, {"tokens": "words"}]') e WHERE a.id = 1 AND b.id = 2;
SELECT hamming(simhash(ARRAY[a.title, a.body], '[2, null]'), simhash(ARRAY[b.title, b.body], '[2, null]')) = (
    SELECT round(sum(bits)) FROM simhash_explain(ARRAY[a.title, a.body], ARRAY[b.title, b.body], '[2, null]')) AS bits_are_the_distance
FROM petition a, petition b WHERE a.id = 1 AND b.id = 2;
SELECT count(*) FROM simhash_explain(ARRAY['a', NULL], ARRAY[NULL, 'b'], '[1, null]');
SELECT * FROM simhash_explain(ARRAY['a'], ARRAY['b', 'c'], '[1]');
-- Any name of a column is one, and words that two columns have in common are told by column: what moves from one
-- to the other changes nothing.
CREATE TABLE moved (id int, "a=b" text, body text);
INSERT INTO moved VALUES (1, '停水', '停水 物业'), (2, '停水 物业', '停水');
SELECT e.* FROM moved x, moved y, simhash_explain(x, y, '{"id": 2, "a=b": {"tokens": "words"}, "body": {"tokens": "words"}}') e
  WHERE x.id = 1 AND y.id = 2 ORDER BY "column", feature COLLATE "C";
SELECT "column", sum(weight_a) AS weight_a, sum(weight_b) AS weight_b, sum(bits) AS bits
FROM moved x, moved y, simhash_explain(x, y, '{"a=b": {"tokens": "words"}, "body": {"tokens": "words"}}') e
  WHERE x.id = 1 AND y.id = 2 GROUP BY ROLLUP ("column") ORDER BY "column";
-- The name of a column may contain the sign that stands between name and value.
SELECT e."column", feature, found_in FROM moved x, moved y, simhash_explain(x, y, '{"id": 2, "a=b": 2}') e
  WHERE x.id = 1 AND y.id = 2 ORDER BY "column", feature COLLATE "C";
DROP TABLE moved;
SELECT count(*) FROM simhash_explain(NULL::text, '停水');
-- What nearly equal texts differ in.
SELECT * FROM dedup_explain('2019年K3区翠湖春天小区停水，罚款500元', '2020年K5区金桂嘉园小区停水，罚款800元，请处理');
SELECT * FROM dedup_explain('The lamps along Linden Street are out.', 'The lamps along Oak Street are out again.');
SELECT same_details('我们是翠湖春天小区的居民', '我们是金桂嘉园小区的居民') AS another_place,
       same_details('5月3日停水', '6月3日停水') AS another_date,
       same_details('5月3日停水', '6月3日停水', '{name}') AS date_does_not_count,
       same_details('楚帆社区停水', '楚范社区停水') AS misspelt,
       same_details('书记您好，停水三天', '市长您好，停水三天') AS another_address,
       same_details(NULL, '停水') AS unknown;
-- In either order; house numbers are no dates; Chinese numerals are numbers.
SELECT same_details('55区', 'a5区') = same_details('a5区', '55区') AS either_order;
SELECT d.detail, d.in_a, d.in_b FROM (VALUES (1, '青山小区5号楼停水', '青山小区3号楼停水'), (2, '5月8号停水', '5月6号停水'), (3, '小区停水五天', '小区停水三天')) v(n, a, b),
    dedup_explain(a, b) d WHERE d.detail IS NOT NULL ORDER BY n;
SELECT same_details('停水', '停电', '{place}');
DROP TABLE petition;
DROP EXTENSION pg_dedup;
