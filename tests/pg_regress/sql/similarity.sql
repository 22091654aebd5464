-- Similarity of the texts themselves.
CREATE EXTENSION pg_dedup;
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
-- Candidates by index, verified by text.
CREATE TABLE page AS SELECT n AS id, '小区停水' || n || '天，物业不管，已经打过电话' AS body FROM generate_series(1, 500) n;
INSERT INTO page VALUES (0, '路灯坏了没有人修');
CREATE INDEX ON page USING banding (simhash(body));
ANALYZE page;
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM page WHERE near_dup(body, '小区停水7天，物业不管，已经打过电话', 10) AND ngram_jaccard(body, '小区停水7天，物业不管，已经打过电话') >= 0.9;
SELECT id FROM page WHERE near_dup(body, '小区停水7天，物业不管，已经打过电话', 10) AND ngram_jaccard(body, '小区停水7天，物业不管，已经打过电话') >= 0.9 ORDER BY id;
DROP TABLE page;
DROP EXTENSION pg_dedup;
