-- Fingerprints as users write them. The recipes are spelt out, so that these
-- numbers never change.
CREATE EXTENSION pg_dedup;
SELECT simhash('abc'::text, '{"tokens": "words"}');
SELECT * FROM simhash_features('停水，停水！小区物业 (2019) don''t', '{"tokens": "words"}');
SELECT * FROM simhash_features('Ｂ区 停水', '{"tokens": "chars", "n": 2, "weight": 1.5}');
SELECT * FROM simhash_features('the quick brown fox', '{"tokens": "shingles", "n": 3}');
CREATE TABLE petition (id int, petitioner text, title text, filed date, body text);
INSERT INTO petition VALUES
  (1, '张三', '小区停水', '2021-03-04', '小区停水三天，物业不管，请尽快处理。'),
  (2, '李四', '小区停水', '2021-03-05', '小区停水 3 天，物业不管；请尽快处理！'),
  (3, '张三', '公租房',   '2021-03-06', '请问公租房何时摇号？'),
  (4, NULL,  '',         NULL,         '……');
SELECT id, feature, weight FROM petition p,
  simhash_features(p, '{"petitioner": 2, "filed": 0.5, "body": {"tokens": "words", "stop": ["请"]}}')
ORDER BY id, weight DESC, feature COLLATE "C";
SELECT id, simhash(p, '{"petitioner": 2, "title": 2, "body": {"tokens": "words"}}') AS row,
  simhash(ARRAY[petitioner, title], '[1,2]') AS fields, simhash(to_tsvector('simple', title)) AS tsvector
FROM petition p ORDER BY id;
-- Running text has the same features in a text, an array and a row: they differ by the few whole values only, and a
-- text finds the row that holds it.
WITH ticket AS (SELECT '张三' AS petitioner, '小区停水' AS title,
  '我们小区从上周一开始停水，到今天已经五天了，物业说是水管爆裂，但一直没有人来修，老人孩子用水困难，请尽快派人处理。' AS body),
forms AS (SELECT simhash(body) AS text, simhash(ARRAY[petitioner, title, body], '[2,2,null]') AS fields,
  simhash(ticket, '{"petitioner": 2, "title": 2, "body": "tf"}') AS row FROM ticket)
SELECT text <~> fields <= 10 AS text_fields, text <~> row <= 10 AS text_row, fields <~> row <= 10 AS fields_row FROM forms;
SELECT simhash(body) = simhash(ARRAY[body], '[null]') AS array_of_one, simhash(body) = simhash(p, '{"body": "tf"}') AS row_of_one,
  simhash(ARRAY[title, body], '[null,null]') = simhash(ARRAY[body, title], '[null,null]') AS any_order
FROM petition p WHERE id = 1;
-- Distances.
SELECT simhash('停水'::text, '{"tokens": "words"}') <~> simhash('公租房'::text, '{"tokens": "words"}') AS distance;
SELECT a.id, b.id, hamming(simhash(a.body), simhash(b.body)) <= 12 AS near
FROM petition a JOIN petition b ON a.id < b.id ORDER BY 1, 2;
SELECT near_dup('小区停水三天。', '小区 停水三天'), near_dup('停水', '公租房'), near_dup('', ''), near_dup(1, 2, 2);
SELECT near_dup_bands(x'0001000200030004'::bigint);
-- An aggregate of features is the fingerprint of what they are features of.
SELECT id, simhash_agg(feature, weight) = simhash(body) AS equal
FROM petition, simhash_features(body) GROUP BY id, body ORDER BY id;
SELECT simhash_agg(w, 1) FROM unnest(ARRAY['停水', '小区', NULL]) w;
DROP TABLE petition;
DROP EXTENSION pg_dedup;
