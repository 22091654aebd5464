-- Found pairs against true ones.
CREATE EXTENSION pg_dedup;
SELECT * FROM dedup_evaluate('VALUES (1, 2), (2, 1), (3, 4), (5, 5)', 'VALUES (2, 1), (7, 8), (9, 10);');
SELECT * FROM dedup_evaluate('SELECT 1, 2 WHERE false', 'SELECT 1, 2 WHERE false');
SELECT * FROM dedup_evaluate('DELETE FROM pg_class', 'VALUES (1, 2)');
-- Ids of any type that can be written; two columns count, whatever they and others are called.
CREATE DOMAIN even AS int CHECK (VALUE % 2 = 0);
SELECT correct FROM dedup_evaluate('VALUES (10::even, 2::even)', 'VALUES (2, 10), (4, 6)');
SELECT correct FROM dedup_evaluate('SELECT 1 AS b, 2 AS a, 3 AS a -- both ways', 'SELECT 2 AS a, 1 AS a, 3 AS b;');
SELECT correct FROM dedup_evaluate('VALUES (''b''::char(3), ''a ''::char(2))', 'VALUES (''b''::varchar, ''a'')');
SELECT correct FROM dedup_evaluate('VALUES (DATE ''2024-03-10'', DATE ''2024-03-02'')', 'VALUES (DATE ''2024-03-10'', 7), (DATE ''2024-03-02'', 7)', truth_are => 'groups');
SELECT correct FROM dedup_evaluate('VALUES (''00000000-0000-0000-0000-00000000000B''::uuid, ''00000000-0000-0000-0000-00000000000a''::uuid)',
    'VALUES (''00000000-0000-0000-0000-00000000000a'', ''00000000-0000-0000-0000-00000000000b''), (NULL, ''1'')');
DROP DOMAIN even;
-- Ids are the same number whatever their type; texts are texts.
SELECT pairs_found, pairs_true, correct FROM dedup_evaluate('VALUES (1, 2), (3, 4), (5, 6)', 'VALUES (2.0, 1.00), (3.5, 4), (50, 60)');
SELECT correct FROM dedup_evaluate('VALUES (1::float8, 1e3::float8), (0.5, ''-0'')', 'VALUES (1000::bigint, 1::numeric), (0, 0.50)');
SELECT correct FROM dedup_evaluate('VALUES (''1'', ''2'')', 'VALUES (''1.0'', ''2'')');
SELECT * FROM dedup_evaluate('VALUES (1)', 'VALUES (1, 2)');
SELECT * FROM dedup_evaluate('VALUES (1, 2)', 'found');
-- Groups: all pairs of rows with one keeper, against pairs, groups, and the same pairs listed.
CREATE TABLE grouped AS SELECT n AS id, (n - 1) / 3 AS keeper, n % 2 AS truth FROM generate_series(1, 60) n;
INSERT INTO grouped VALUES (100, NULL, 1), (101, 7, NULL), (NULL, 7, 1);
CREATE FUNCTION listed(label text) RETURNS text LANGUAGE sql RETURN
    format('SELECT a.id, b.id FROM grouped a JOIN grouped b USING (%I) WHERE a.id < b.id', label);
CREATE FUNCTION labelled(label text) RETURNS text LANGUAGE sql RETURN format('SELECT id, %I FROM grouped', label);
SELECT * FROM dedup_evaluate(labelled('keeper'), labelled('truth'), 'groups', 'groups');
SELECT count(DISTINCT e) AS same FROM (
    SELECT e FROM dedup_evaluate(labelled('keeper'), labelled('truth'), 'groups', 'groups') e
    UNION ALL SELECT e FROM dedup_evaluate(listed('keeper'), labelled('truth'), truth_are => 'groups') e
    UNION ALL SELECT e FROM dedup_evaluate(labelled('keeper'), listed('truth'), 'groups') e
    UNION ALL SELECT e FROM dedup_evaluate(listed('keeper'), listed('truth')) e) s;
-- Half a million rows in ten groups are counted, not listed: 12.5 thousand million pairs.
SELECT pairs_found, pairs_true, correct FROM dedup_evaluate('SELECT i, i % 10 FROM generate_series(1, 500000) i', 'SELECT i, i % 100 FROM generate_series(1, 500000) i', 'groups', 'groups');
SELECT correct FROM dedup_evaluate('VALUES (1, 1), (1, 2)', 'VALUES (1, 1)', 'groups', 'groups');
SELECT correct FROM dedup_evaluate('VALUES (1, 1)', 'VALUES (1, 1)', 'clusters');
SELECT correct FROM dedup_evaluate('VALUES (1, 1)', 'VALUES (1, 1)', truth_are => 'lists');
DROP TABLE grouped;
DROP FUNCTION listed, labelled;
-- All pairs of similar texts.
CREATE TABLE title (id bigint, content text);
INSERT INTO title VALUES (1, '小区停水三天怎么办'), (2, '小区停水两天怎么办？'), (3, '请问公租房何时摇号'), (4, '公租房何时摇号'), (5, NULL), (6, '……'), (7, '……'), (8, '水');
SELECT a, b, round(similarity::numeric, 3) AS similarity FROM near_dup_pairs('SELECT id, content FROM title', '{"method": "text"}') ORDER BY a, b;
SELECT (SELECT count(*) FROM near_dup_pairs('SELECT id, content FROM title', '{"method": "text", "similarity": 0.2, "n": 1}'))
     = (SELECT count(*) FROM title a JOIN title b ON a.id < b.id AND ngram_jaccard(a.content, b.content, 1) >= 0.2) AS exact;
SELECT * FROM near_dup_pairs('SELECT id, content FROM title', '{"method": "text", "similarity": 0}');
SELECT * FROM near_dup_pairs('SELECT id, content FROM title', '{"method": "text", "distance": 3}');
SELECT * FROM near_dup_pairs('SELECT id, content FROM title', '{"similarity": 0.5}');
SELECT * FROM near_dup_pairs('SELECT id, content FROM title', '{"method": "records"}');
SELECT * FROM near_dup_pairs('SELECT id, content FROM title', '{"columns": "content"}');
SELECT * FROM near_dup_pairs('SELECT id, content FROM title', '{"method": "text", "similarity": 0.5, "n": 65}');
SELECT * FROM near_dup_pairs(NULL, '{"method": "text"}');
SELECT count(*) = (SELECT count(*) FROM near_dup_pairs('SELECT id, content FROM title', '{"method": "text"}')) AS defaults
FROM near_dup_pairs('SELECT id, content FROM title', '{"method": "text", "similarity": null, "n": 2.0, "distance": null}');
DROP TABLE title;
DROP EXTENSION pg_dedup;
