-- What holds of every fingerprint and distance: each line below is true.
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
\t on
-- One feature is its own fingerprint, so simhash shows the hash: Google's CityHash64 1.1 of the UTF-8 bytes.
SELECT word, (SELECT f.hash FROM simhash_features(word, '{"tokens": "chars", "n": 9}') f) = hash,
       simhash(word, '{"tokens": "chars", "n": 9}') = hash
FROM (VALUES ('abc', 2640714258260161385), ('hello', -5436999610281751320), ('数据', -7555523796863189993),
      ('投诉', 3674983135383489421), ('城市管理', -55886090265790423)) w(word, hash);
-- The definition, without the extension's own arithmetic: bit i is set if the features that have it weigh more
-- than those that have it not.
SELECT recipe, simhash(text, recipe) = (
    SELECT bit_or(CASE WHEN sum > 0 THEN 1::bigint << i ELSE 0 END) FROM (
        SELECT i, sum(CASE WHEN hash >> i & 1 = 1 THEN weight ELSE -weight END) AS sum
        FROM simhash_features(text, recipe), generate_series(0, 63) i GROUP BY i) bits)
FROM (VALUES ('小区停水三天，物业不管，停水影响生活。Please help!')) t(text), (VALUES ('{"tokens": "words"}'::jsonb),
    ('{"tokens": "chars", "n": 2, "weight": "log"}'), ('{"tokens": "words", "terms": {"停水": 5}}'), ('{}')) r(recipe);
-- The heavier of two features decides; of two equally heavy ones neither does; only proportions count.
SELECT simhash('{a,b}'::text[], '[3,2]') = simhash('{a}'::text[], '[1]'),
       simhash('{a,b}'::text[], '[2,2]') = simhash('{a}'::text[], '[1]') & simhash('{NULL,b}'::text[], '[1,1]'),
       simhash('{a,b}'::text[], '[1,0]') = simhash('{a,zzz}'::text[], '[1,0]');
SELECT simhash(f, '[1,2,0.5]') = simhash(f, '[1000,2000,500]')
FROM (VALUES (ARRAY['张三', '住建局', '停水']), (ARRAY['a', NULL, 'c'])) v(f);
-- A text without a word has no fingerprint.
SELECT simhash(nothing) IS NULL, simhash(nothing, '{"tokens": "words"}') IS NULL,
       (SELECT count(*) = 0 FROM simhash_features(nothing))
FROM (VALUES (NULL), (''), (E' \n'), ('……！？'), ('😀'), (E'\u200B')) v(nothing);
SELECT simhash('x'::text, NULL) = simhash('x'), simhash(NULL::text[], '[1]') IS NULL, simhash('{a}'::text[], NULL) IS NULL,
       simhash('{}'::text[], '[]') IS NULL, simhash(ARRAY[NULL, '，', ''], '[1,1,null]') IS NULL,
       near_dup(simhash(''), simhash('')) IS NULL, near_dup(NULL::text, 'a', 64) IS NULL, near_dup('', '', 64) IS NULL,
       hamming(NULL, 1) IS NULL, (1::bigint <~> NULL) IS NULL;
-- A NULL field is skipped but keeps its place; a number makes the whole value one feature, NULL running text.
SELECT simhash(ARRAY['a', NULL, 'c'], '[1,1,1]') = simhash(ARRAY['a', '', 'c'], '[1,9,1]'),
       simhash(ARRAY['a', NULL], '[1,1]') <> simhash(ARRAY[NULL, 'a'], '[1,1]'),
       simhash(ARRAY['停水 三天'], '[2]') = simhash(ARRAY['停水，三天'], '[7]'),
       simhash(ARRAY['停水三天'], '[2]') <> simhash(ARRAY['停水三天'], '[null]'),
       simhash('{住建局}'::text[], '[1]') <> (SELECT hash FROM simhash_features(ROW('住建局'::text), '{"f1": 1}'));
-- Width, case, punctuation and layout do not matter; the order of a recipe's keys neither.
SELECT simhash('请问２０１９年Ａ市公租房何时摇号？') = simhash(E'请问 2019 年，a市公租房\n何时摇号'),
       near_dup('Ａ市停水了！', 'a市 停水了', 0), NOT near_dup('A市停水了', 'B市修路了', 0),
       simhash('小区停水'::text, '{"n": 3, "tokens": "chars"}') = simhash('小区停水'::text, '{"tokens":"chars"}');
SELECT count(DISTINCT simhash('小区停水三天，物业不管，请尽快处理'::text, recipe)) FROM (VALUES ('{"tokens": "words"}'::jsonb),
    ('{"tokens": "chars", "n": 2}'), ('{"tokens": "chars", "n": 3}'), ('{"tokens": "shingles", "n": 2}'),
    ('{"tokens": "words", "stop": ["停水", "物业"]}')) r(recipe);
-- More recipes in one statement than a session caches.
SELECT bool_and(simhash('a b c d e f g h i j k l m n'::text, jsonb_build_object('tokens', 'chars', 'n', n)) = fp)
FROM (SELECT n, simhash('a b c d e f g h i j k l m n'::text, jsonb_build_object('tokens', 'chars', 'n', n)) AS fp
      FROM generate_series(1, 12) n ORDER BY n DESC) s;
-- Ten megabytes of text.
CREATE TABLE big AS SELECT string_agg('第' || n || '次停水，小区居民反映物业不管。', '') AS t FROM generate_series(1, 220000) n;
SELECT octet_length(t) > 10000000, simhash(t) = simhash(t || '。'), near_dup(simhash(t), simhash(t || '再补充一句'), 3),
       simhash(ARRAY[t, t], '[1,null]') IS NOT NULL, simhash(big, '{"t": {"tokens": "chars", "n": 2}}') IS NOT NULL FROM big;
SELECT simhash(repeat('x', 10000000)) IS NOT NULL, simhash(repeat('，', 4000000)) IS NULL;
-- Distances are counted in bits.
SELECT hamming(0, -1) = 64, hamming(5, 5) = 0, (21::bigint <~> 6::bigint) = 3, hamming(-9223372036854775808, 0) = 1,
       near_dup(0, 7), NOT near_dup(0, 15), near_dup(0, 15, 4), NOT near_dup(1, 1, -1), near_dup(0, -1, 64),
       near_dup(0, -1, 2147483647);
-- Block 1 is the top 16 bits, each key carries its block's number; three flipped bits leave one block of four whole.
SELECT array(SELECT near_dup_bands(x'1234ABCD00FF8001'::bigint)) = ARRAY[x'1234', x'1ABCD', x'200FF', x'38001']::bigint[],
       array(SELECT near_dup_bands(-1)) = ARRAY[x'FFFF', x'1FFFF', x'2FFFF', x'3FFFF']::bigint[];
SELECT bool_and(EXISTS (SELECT near_dup_bands(fp) INTERSECT
    SELECT near_dup_bands(fp # (1::bigint << a) # (1::bigint << b) # (1::bigint << c))))
FROM (SELECT simhash('petition ' || n), n % 64, n * 7 % 64, n * 13 % 64 FROM generate_series(1, 300) n) s(fp, a, b, c);
-- The similarities of texts agree with each other.
SELECT ngram_jaccard('停水', '停水') = 1, ngram_containment('停水', '小区停水') = 1, simhash_cosine('停水', '停水！') > 0.999,
       ngram_jaccard('ab', 'cd') = 0, ngram_containment('ab', 'cd') = 0, simhash_cosine('ab', 'cd') = 0,
       ngram_jaccard(NULL, 'a') IS NULL, simhash_cosine('a', NULL) IS NULL;
-- A failed statement leaves nothing behind that the next one meets.
SELECT simhash('停水'::text, '{"tokens": "words"}') AS before \gset
\set VERBOSITY sqlstate
SELECT simhash('停水'::text, '{"tokens": "wordz"}');
SELECT simhash_agg(n::text, 50 - n) FROM generate_series(1, 100) n;
SELECT simhash(ROW(1, '2020-01-01'::date), '{"f2": 1, "f9": 1}');
\set VERBOSITY default
SELECT simhash('停水'::text, '{"tokens": "words"}') = :before;
\t off
DROP TABLE big;
DROP EXTENSION pg_dedup_papers, pg_dedup;
