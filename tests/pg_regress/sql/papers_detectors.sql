-- The papers' other detectors.
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
-- P3's worked example: sets over the rows a to e, (x+1) mod 5 and (2x+1) mod 5.
SELECT name, minhash(rows, '{1,2}', '{1,1}', 5) FROM (VALUES
  ('s1', '{0,1}'::bigint[]), ('s2', '{1,2,3}'), ('s3', '{0,3,4}'), ('s4', '{3,4}')) sets(name, rows);
SELECT minhash(ARRAY['停水', '物业'], 3) = minhash(ARRAY['物业', NULL, '停水', '停水'], 3) AS a_set,
  array_length(minhash('小区停水三天'::text), 1) AS values, minhash('……'::text) AS nothing, minhash('{}'::text[]) AS empty;
SELECT max(v) < 100 AS paper FROM unnest(minhash(ARRAY['停水', '物业'], 100, 'paper')) v;
-- The estimate is near what it estimates.
SELECT abs(minhash_similarity(minhash(a, 1024), minhash(b, 1024)) - ngram_jaccard(a, b)) < 0.06 AS near
FROM (VALUES ('小区停水三天，物业一直不管，请有关部门尽快处理', '小区停水两天，物业一直不管，请有关部门处理')) v(a, b);
SELECT hamming, combined_similarity(hamming, 0.5) FROM generate_series(0, 5) hamming;
SELECT mu, combined_similarity_radius(0.25, mu) FROM unnest('{0.9,0.85,0.8}'::float8[]) mu;
SELECT combined_similarity_radius(), combined_similarity_radius(0.2, 0.5), combined_similarity_radius(1, 0.9);
SELECT n, round(length_weight(repeat('水', n))::numeric, 4) FROM generate_series(1, 5) n;
SELECT s, round(minhash_band_recall(s, 32, 4)::numeric, 4) FROM unnest('{0.2,0.4,0.6,0.8}'::float8[]) s;
-- Sets.
SELECT set_jaccard(ARRAY['a','b'], ARRAY['b','c',NULL]), set_containment(ARRAY['a','b'], ARRAY['b','c']),
  set_jaccard('{1,2}'::bigint[], '{2,1,1}'), set_containment('{}'::bigint[], '{1}'), set_jaccard('{}'::text[], '{}');
SELECT ngram_jaccard('小区停水', '小区停电') AS of_texts;
-- Shingles.
SELECT shingles('A rose is a rose is a rose.', 4);
SELECT shingle_hashes('停水停电', 2) = ARRAY[simhash('停水 停电'::text, '{"tokens": "shingles", "n": 2}')] AS same_hash;
SELECT array_length(shingle_hashes(t, 2), 1) AS all, array_length(shingle_hashes(t, 2, 3), 1) AS sampled,
  shingle_hashes(t, 2) @> shingle_hashes(t, 2, 3) AS part, super_shingles(t, 2, 1, 3) = super_shingles(shingle_hashes(t, 2), 3) AS stored
FROM (SELECT string_agg('word' || n, ' ') AS t FROM generate_series(1, 60) n) t;
-- I-Match: order and repetition do not matter, telling words do.
WITH lexicon AS (SELECT '{停水,停电,物业}'::text[] AS l)
SELECT imatch('小区停水，物业不管', l) = imatch('物业！停水停水', l) AS equal, imatch('停水', l) = imatch('停电', l) AS other,
  imatch('小区', l) AS none, imatch('停水', l, 2) AS too_few, array_length(imatch_random('停水，停电，物业', l, 4, 1.0), 1) AS copies FROM lexicon;
SELECT imatch_lexicon(t, 0.1, 0.9) FROM unnest('{a b c,a b,a d,"a, b",NULL}'::text[]) t;
SELECT imatch_lexicon(t, 0, 1) FROM unnest('{}'::text[]) t;
SELECT dedup_corpus_build('imatch', $$VALUES ('a b c'), ('a b'), ('a d'), ('a, b')$$, '{"tokens": "words"}');
SELECT dedup_corpus_build('imatch_shingles', $$VALUES ('x y a b c'), ('x y a b d'), ('x y e f g'), ('x y h i j')$$, '{"tokens": "shingles", "n": 2}');
SELECT imatch('x y a b c', 'imatch_shingles@1', 0.1, 0.9) = imatch('x y a b d', 'imatch_shingles@1', 0.1, 0.9) AS by_shingles,
  imatch('b a y x', 'imatch_shingles@1', 0.1, 0.9) AS other_order, imatch('x y e f g', 'imatch_shingles@1', 0.1, 0.9) AS alone;
SELECT imatch('a b c', 'imatch@1', 0.1, 0.9) = imatch('b', '{b}'::text[]) AS by_corpus, imatch('a', 'imatch@1', 0.1, 0.9) AS common;
-- Words.
SELECT boolean_terms('停水，物业停水！'), boolean_terms('小区停水') @> boolean_terms('停水') AS contains;
SELECT scam_subset('a b', 'a b c d'), scam_subset('a b c d', 'a b'), scam_similarity('a b c d', 'a b'), scam_similarity('', 'a');
SELECT spotsigs('At a meeting to open the new bridge of Riverton', '{a,the}', '{to,of}'), spotsigs('小区的水管在漏水，物业不管');
SELECT spotsigs_similarity('{a,a,b}', '{a,b,b}'), spotsigs_similarity('{}', '{}');
SELECT feature_codes('小区停水三天，物业不管。'), feature_codes('小区停水，好！', 2);
-- P5: a block of five whose third sentence fails becomes two blocks of two; one of four whose second and third fail, none.
SELECT sentence_string('One two. Three four. Five six seven.', '{}'), sentence_lengths('停水三天。物业不管！', '{}');
SELECT * FROM sentence_blocks('One two. Three four. Five six seven. Eight nine. Ten eleven.',
  'One two. Three four. Other six seven. Eight nine. Ten eleven.', '{}');
SELECT * FROM sentence_blocks('One two. Three four. Five six seven. Eight nine ten eleven.',
  'One two. Other four. Other six seven. Eight nine ten eleven.', '{}');
SELECT * FROM sentence_blocks('小区停水三天。物业一直不管！请有关部门处理。谢谢。', '您好！请有关部门处理。谢谢。小区停水三天。物业一直不管！');
SELECT round(sentence_similarity('小区停水三天。物业一直不管！请处理。', '小区停水三天。物业一直不管！退费。')::numeric, 4), sentence_similarity('', ''),
  sentence_length_similarity('{3,5,2,7}', '{3,2,7}'), sentence_length_similarity('{}', '{}');
-- NULL in, NULL out; no rows of NULL.
SELECT num_nonnulls(minhash(NULL::text), minhash('{a}', k => NULL), shingles(NULL), imatch('a', NULL::text[]), boolean_terms(NULL), spotsigs(NULL),
  spotsigs('a b', chain => NULL), feature_codes(NULL), sentence_string(NULL), sentence_similarity('a', NULL), combined_similarity(NULL, 1)) AS nonnull,
  (SELECT count(*) FROM sentence_blocks(NULL, 'a')) AS rows;
-- MinHash bands: a GIN index gives the candidates, the signatures verify them.
CREATE TABLE petition AS
SELECT n AS id, '第' || n % 40 || '号楼停水' || n / 40 || '天，物业' || n % 40 * 37 || '不管，电话' || n % 40 * 1013 || '打不通' AS body FROM generate_series(0, 199) n;
CREATE INDEX ON petition USING gin (minhash_bands(minhash(body, 64), 16, 4));
ANALYZE petition;
SET enable_seqscan = off;
CREATE INDEX ON petition USING gin (minhash_bands(minhash(body, 4), 1, 4));
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE minhash_bands(minhash(body, 4), 1, 4) && minhash_bands(minhash('第7号楼停水3天'::text, 4), 1, 4);
SELECT array_agg(id ORDER BY id) FROM petition,
  (SELECT body AS q FROM petition WHERE id = 7) s
 WHERE minhash_bands(minhash(body, 64), 16, 4) && minhash_bands(minhash(q, 64), 16, 4) AND ngram_jaccard(body, q) >= 0.6;
-- I-Match: equality, by a btree.
CREATE INDEX ON petition (imatch(body, '{停水,37,74,111}'));
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE imatch(body, '{停水,37,74,111}') = imatch('停水 74', '{停水,37,74,111}');
SELECT count(*) FROM petition WHERE imatch(body, '{停水,37,74,111}') = imatch('停水 74', '{停水,37,74,111}');
-- SpotSigs and super-shingles: shared elements, by GIN.
CREATE INDEX ON petition USING gin (spotsigs(body));
CREATE INDEX ON petition USING gin (super_shingles(body, 2, 1, 2));
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE super_shingles(body, 2, 1, 2) && super_shingles('停水', 2, 1, 2);
RESET enable_seqscan;
-- P3's combined similarity over candidates of the fingerprint index.
ALTER TABLE petition ADD fp bigint GENERATED ALWAYS AS (simhash(body)) STORED, ADD tags text[];
UPDATE petition SET tags = ARRAY['停水', (id % 40)::text, (id % 40 * 7)::text];
CREATE INDEX ON petition (id);
CREATE INDEX ON petition USING banding (fp);
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT p.id FROM petition p, (SELECT fp, tags FROM petition WHERE id = 7) q
 WHERE near_dup(p.fp, q.fp, combined_similarity_radius(0.25, 0.9))
   AND combined_similarity(hamming(p.fp, q.fp), minhash_similarity(minhash(p.tags, 100), minhash(q.tags, 100)), 0.9) >= 0.25;
RESET enable_seqscan;
SELECT bool_and(near) AS radius_suffices, count(*) > 0 AS some_pairs, max(distance) > 0 AS not_only_equal_ones FROM (
  SELECT near_dup(p.fp, q.fp, combined_similarity_radius()) AS near, hamming(p.fp, q.fp) AS distance FROM petition p, petition q
  WHERE p.id < q.id AND combined_similarity(hamming(p.fp, q.fp), set_jaccard(p.tags, q.tags)) >= 0.25) pairs;
SELECT mu, max(d) AS widest, combined_similarity_radius(0.25, mu) AS radius FROM unnest('{0.8,0.85,0.9}'::float8[]) mu, generate_series(0, 64) d
 WHERE combined_similarity(d, 1, mu) >= 0.25 GROUP BY mu ORDER BY mu;
DROP TABLE petition;
-- Errors.
DO $$
DECLARE statement text; state text; message text; hint text;
BEGIN
  FOREACH statement IN ARRAY ARRAY[
    $s$SELECT minhash('a'::text, 0)$s$, $s$SELECT minhash('a'::text, 5000)$s$, $s$SELECT minhash('{a}'::text[], 8, 'md5')$s$,
    $s$SELECT minhash('a'::text, 8, 0)$s$, $s$SELECT minhash('{1}', '{1,2}', '{1}', 5)$s$, $s$SELECT minhash('{1}', '{1}', '{1}', 0)$s$,
    $s$SELECT minhash_similarity('{1,2}', '{1}')$s$, $s$SELECT minhash_similarity('{}', '{}')$s$, $s$SELECT minhash_similarity('{1,NULL}', '{1,2}')$s$,
    $s$SELECT minhash_bands('{1,2,3}', 2, 2)$s$, $s$SELECT minhash_bands('{1,2,3}', 0, 2)$s$, $s$SELECT minhash_band_recall(1.5, 2, 2)$s$,
    $s$SELECT combined_similarity(65, 0.5)$s$, $s$SELECT combined_similarity(3, 'NaN')$s$, $s$SELECT combined_similarity_radius(0.25, 2)$s$,
    $s$SELECT shingles('a', 0)$s$, $s$SELECT shingle_hashes('a', 3, 0)$s$, $s$SELECT super_shingles('a', 3, 1, 0)$s$, $s$SELECT super_shingles('{1,NULL}'::bigint[])$s$,
    $s$SELECT imatch('a', '{a}'::text[], 0)$s$, $s$SELECT imatch('a', 'nobody@1', 0.1, 0.9)$s$, $s$SELECT imatch('a', 'imatch@1', 0.1, 1.9)$s$,
    $s$SELECT imatch_random('a', '{a}', 2000)$s$, $s$SELECT imatch_random('a', '{a}', 5, -1)$s$, $s$SELECT imatch_lexicon('a', -1, NULL)$s$,
    $s$SELECT scam_subset('a', 'b', 2)$s$, $s$SELECT spotsigs('a', distance => 0)$s$,
    $s$SELECT feature_codes('a', 0)$s$, $s$SELECT sentence_length_similarity('{1,NULL}', '{1}')$s$]
  LOOP
    BEGIN
      EXECUTE statement;
      RAISE NOTICE '% gives no error', statement;
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
      RAISE NOTICE '% -> % % [%]', substr(statement, 8), state, message, hint;
    END;
  END LOOP;
END $$;
DROP EXTENSION pg_dedup_papers, pg_dedup;
