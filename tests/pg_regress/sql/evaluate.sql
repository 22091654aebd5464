-- Found pairs against true ones.
CREATE EXTENSION pg_dedup;
SELECT * FROM dedup_evaluate('VALUES (1, 2), (2, 1), (3, 4), (5, 5)', 'VALUES (2, 1), (7, 8), (9, 10);');
SELECT * FROM dedup_evaluate_pairs('VALUES (1, 2), (3, 4)', 'VALUES (2, 1), (7, 8)');
SELECT * FROM dedup_evaluate_pairs('VALUES (1, 2), (3, 4)', 'VALUES (2, 1), (7, 8)', true);
SELECT * FROM dedup_evaluate('SELECT 1, 2 WHERE false', 'SELECT 1, 2 WHERE false');
SELECT * FROM dedup_evaluate('DELETE FROM pg_class', 'VALUES (1, 2)');
-- Ids are the same number whatever their type; texts are texts.
SELECT pairs_found, pairs_true, correct FROM dedup_evaluate('VALUES (1, 2), (3, 4), (5, 6)', 'VALUES (2.0, 1.00), (3.5, 4), (50, 60)');
SELECT correct FROM dedup_evaluate('VALUES (1::float8, 1e3::float8), (0.5, ''-0'')', 'VALUES (1000::bigint, 1::numeric), (0, 0.50)');
SELECT correct FROM dedup_evaluate('VALUES (''1'', ''2'')', 'VALUES (''1.0'', ''2'')');
SELECT * FROM dedup_evaluate('VALUES (1)', 'VALUES (1, 2)');
SELECT * FROM dedup_evaluate('VALUES (1, 2)', 'found');
-- Groups as pairs: each two rows of one keeper.
CREATE TABLE grouped AS SELECT n AS id, (n - 1) / 3 AS keeper FROM generate_series(1, 6) n;
SELECT recall FROM dedup_evaluate('SELECT a.id, b.id FROM grouped a JOIN grouped b USING (keeper) WHERE a.id < b.id', 'VALUES (1, 2), (1, 3), (2, 3), (4, 5), (4, 6), (5, 6)');
DROP TABLE grouped;
-- All pairs of similar texts.
CREATE TABLE title (id bigint, content text);
INSERT INTO title VALUES (1, '小区停水三天怎么办'), (2, '小区停水两天怎么办？'), (3, '请问公租房何时摇号'), (4, '公租房何时摇号'), (5, NULL), (6, '……'), (7, '……'), (8, '水');
SELECT a, b, round(similarity::numeric, 3) AS similarity FROM near_dup_text_pairs('SELECT id, content FROM title') ORDER BY a, b;
SELECT (SELECT count(*) FROM near_dup_text_pairs('SELECT id, content FROM title', 0.2, 1))
     = (SELECT count(*) FROM title a JOIN title b ON a.id < b.id AND ngram_jaccard(a.content, b.content, 1) >= 0.2) AS exact;
SELECT * FROM near_dup_text_pairs('SELECT id, content FROM title', 0);
SELECT * FROM near_dup_text_pairs('SELECT id, content FROM title', 0.5, 65);
SELECT * FROM near_dup_text_pairs(NULL);
SELECT count(*) = (SELECT count(*) FROM near_dup_text_pairs('SELECT id, content FROM title')) AS defaults
FROM near_dup_text_pairs('SELECT id, content FROM title', NULL, NULL);
DROP TABLE title;
DROP EXTENSION pg_dedup;
