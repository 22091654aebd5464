-- Similarity of the texts themselves.
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
SELECT ngram_jaccard('小区停水三天', '小区停水两天'), ngram_jaccard('小区停水三天', '小区停水两天', 1), ngram_jaccard('小区停水三天', '小区停水两天', 3);
SELECT ngram_containment('小区停水', '我们小区停水三天'), ngram_containment('我们小区停水三天', '小区停水');
SELECT round(simhash_cosine('小区停水', '小区停水，停水！')::numeric, 4) AS "default",
       round(simhash_cosine('a b b', 'a b', '{"tokens": "words"}')::numeric, 4) AS words;
-- The normal form counts; n larger than the text compares it whole.
SELECT ngram_jaccard('Ａ区 停水！', 'a区停水'), ngram_jaccard('abc', 'ABC', 10), ngram_jaccard('abc', 'abcd', 10);
-- Empty texts are similar to nothing, NULL is unknown.
SELECT ngram_jaccard('', ''), ngram_containment('', 'a'), ngram_containment('a', ''), simhash_cosine('！', '？'), simhash_cosine('', '');
SELECT ngram_jaccard(NULL, 'a') IS NULL AS j, ngram_containment('a', NULL) IS NULL AS c, simhash_cosine('a', NULL) IS NULL AS s,
       simhash_cosine('a', 'a', NULL) AS "default", ngram_jaccard('a', 'a', NULL) IS NULL AS n;
SELECT ngram_jaccard('a', 'b', 0);
SELECT ngram_containment('a', 'b', 65);
-- Numbers side by side are another number if one of them is; an order's are its name.
SELECT a, b, same_details(a, b, '{name}') AS name, same_details(a, b, '{number}') AS number, same_details(a, b, '{name,date,number}') AS "all"
    FROM (VALUES ('Order 4711 88', 'Order 5622 99'), ('Order 5622 99', 'Order 5622'), ('Flat 12 34', 'Flat 15 36'),
        ('meter 12 345', 'meter 67 890'), ('电话 0571 8888 1234', '电话 0571 9999 5678'), ('size 42 blue', 'size 43 red')) AS pair(a, b);
-- Candidates by index, verified by text.
CREATE TABLE page AS SELECT n AS id, '小区停水' || n || '天，物业不管，已经打过电话' AS body FROM generate_series(1, 500) n;
INSERT INTO page VALUES (0, '路灯坏了没有人修');
CREATE INDEX ON page USING banding (simhash(body));
ANALYZE page;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM page WHERE near_dup(body, '小区停水7天，物业不管，已经打过电话', 10) AND ngram_jaccard(body, '小区停水7天，物业不管，已经打过电话') >= 0.9;
SELECT id FROM page WHERE near_dup(body, '小区停水7天，物业不管，已经打过电话', 10) AND ngram_jaccard(body, '小区停水7天，物业不管，已经打过电话') >= 0.9 ORDER BY id;
DROP TABLE page;

-- N-grams as an index has them, and what is asked of it: every similar text has enough.
SELECT ngrams('停水 停水', 2), ngrams(ARRAY['停水', NULL, '停水'], 2) = ngrams(E'停水\n停水', 2) AS joined, ngrams('…', 2) AS none,
    ngrams(ARRAY[NULL]::text[], 2) IS NULL AS null, cardinality(ngrams('no water', 5)) AS hashed;
SELECT ngram_query('停水三天', 2, 0.5), ngram_query('…', 2, 0.5);
SELECT ngrams('停水三天了', 2) @% ngram_query('停水三天', 2, 0.5) AS enough, ngrams('停电了', 2) @% ngram_query('停水三天', 2, 0.5) AS other,
    ngrams('…', 2) @% ngram_query('…', 2, 0.5) AS nothing, '{1,2}'::bigint[] @% '{}' AS empty, '{1,NULL}'::bigint[] @% '{1,NULL,1}' AS nulls;
SELECT ngram_query('a', 2, 0);
SELECT ngram_query('a', 2, 'NaN');
SELECT ngrams('a', 65);
CREATE TABLE title (id int, content text);
INSERT INTO title SELECT i, '问题' || chr(19968 + i) || chr(20968 + i % 7) || chr(21968 + i % 11) FROM generate_series(1, 400) i;
INSERT INTO title VALUES (500, NULL), (501, ''), (502, '…');
CREATE INDEX ON title USING gin (ngrams(content, 2) ngram_ops);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM title WHERE ngrams(content, 2) @% ngram_query('问题一二三', 2, 0.3);
SELECT count(*), bool_and(i.ids = s.ids) AS same FROM title q,
    LATERAL (SELECT array_agg(t.id ORDER BY id) AS ids FROM title t WHERE ngrams(t.content, 2) @% ngram_query(q.content, 2, 0.3)) i,
    LATERAL (SELECT array_agg(t.id ORDER BY id) AS ids FROM title t WHERE _ngrams_enough(ngrams(t.content, 2), ngram_query(q.content, 2, 0.3))) s
    WHERE i.ids IS NOT NULL OR s.ids IS NOT NULL;
SELECT count(*) FROM title WHERE ngrams(content, 2) @% '{}';
RESET enable_seqscan;
DROP TABLE title;
DROP EXTENSION pg_dedup_papers, pg_dedup;
