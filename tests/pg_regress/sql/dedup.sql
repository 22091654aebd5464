-- The whole pipeline in one statement.
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
CREATE TABLE petition (id integer PRIMARY KEY, body text, filed date);
INSERT INTO petition VALUES
    (1, '小区停水三天了，物业不管，请有关部门尽快处理，居民生活受到严重影响', '2019-03-01'),
    (2, '小区停水三天了，物业不管，请有关部门尽快处理，居民生活受到严重影响', '2019-03-02'),
    (3, '小区停水三天了!物业不管。请有关部门尽快处理，居民生活受到严重影响。', '2019-02-01'),
    (4, '我们小区停水三天了，物业一直不管，请有关部门尽快处理，居民生活受到严重影响，谢谢', '2019-03-04'),
    (5, '学校门口的路灯坏了一个月，晚上接孩子很不安全', NULL),
    (6, NULL, NULL), (7, NULL, NULL), (8, '！！', NULL), (9, '！！', NULL), (10, '', NULL);
\set options '{"distance": 24, "similarity": 0.6, "recipe": {}, "n": 2, "details": []}'
SELECT id, keeper, stage, distance IS NOT NULL AS distance, round(similarity::numeric, 2) AS similarity
FROM dedup('SELECT id, body FROM petition ORDER BY id', :'options');
-- Why, or why not.
SELECT a, b, part, in_a, in_b, round(value::numeric, 2) AS value
FROM dedup_explain('SELECT id, body FROM petition UNION ALL VALUES (11, ''青山小区停水三天，物业不管''), (12, ''绿水小区停水三天，物业不管'') ORDER BY id',
    'VALUES (1, 2), (1, 4), (11, 12), (1, 5), (1, 8)', :'options'::jsonb || '{"details": ["name", "number"]}');
SELECT method, count(*) FILTER (WHERE part = 'similarity') AS near, bool_and(value = similarity) FILTER (WHERE part = 'similarity') AS "as dedup says",
    bool_and(value = distance) FILTER (WHERE part = 'distance') AS "distance too", count(*) FILTER (WHERE part = 'one group') AS "one group"
FROM unnest('{fingerprint,text}'::text[]) AS method, jsonb_build_object('method', method) AS by,
    dedup('SELECT id, body FROM petition ORDER BY id', :'options'::jsonb || by) d,
    dedup_explain('SELECT id, body FROM petition ORDER BY id', format('VALUES (%s, %s)', d.keeper, d.id), :'options'::jsonb || by) e
WHERE stage = 'near' GROUP BY method ORDER BY method;
-- Which row is kept.
SELECT rule, string_agg(id || '>' || keeper, ' ' ORDER BY id) FILTER (WHERE id <> keeper) AS "row > kept row"
FROM unnest(ARRAY['"first"', '"last"', '"longest"', '{"column": "filed"}', '{"column": "filed", "order": "desc"}']) AS rule,
     dedup('SELECT id, body, filed FROM petition ORDER BY id', :'options'::jsonb || jsonb_build_object('keep', rule::jsonb))
GROUP BY rule ORDER BY rule;
-- The exact stage alone, by characters or by normal form, or not at all.
SELECT exact, string_agg(id || '>' || keeper, ' ' ORDER BY id) FILTER (WHERE id <> keeper) AS "row > kept row"
FROM unnest('{text,normal,none}'::text[]) AS exact,
     dedup('SELECT id, body FROM petition ORDER BY id', jsonb_build_object('equal', exact, 'method', 'exact'))
GROUP BY exact ORDER BY exact;
-- Single-Pass instead of components, own fingerprints instead of made ones,
-- without verification: as the window function says.
CREATE TABLE own AS SELECT i AS id, 'text ' || i AS body, hashint4extended(i % 60, 0) # (1::bigint << (i % 50)) AS fp FROM generate_series(1, 400) i;
SELECT count(*) AS differing FROM (
    (SELECT id, keeper FROM dedup('SELECT id, body, fp FROM own ORDER BY id', '{"fp": "fp", "distance": 3, "similarity": 0, "group": "single_pass", "n": 2, "details": []}')
     EXCEPT SELECT id, single_pass(fp, 3) OVER (ORDER BY id) FROM own)) s;
SELECT count(*) AS differing FROM (
    (SELECT id, keeper FROM dedup('SELECT id, body, fp FROM own ORDER BY id', '{"fp": "fp", "distance": 3, "similarity": 0, "group": "components", "n": 2, "details": []}')
     EXCEPT SELECT id, near_dup_component(fp, 3) OVER (ORDER BY id) FROM own)) s;
-- Ids of any type that has an order, and ids that repeat: rows are rows.
SELECT * FROM dedup($$VALUES ('a'::text, 'one'::varchar), ('b', 'two'), ('c', 'one')$$, '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}', NULL::text);
-- With a diameter no group is wider, and pairs are taken from the nearest to
-- the farthest, among equals in the order of the rows: without verification as the window function says, where equal
-- fingerprints are one row.
CREATE TABLE distinct_own AS SELECT row_number() OVER (ORDER BY hashint8(fp)) AS id, 'text ' || fp AS body, fp FROM (SELECT DISTINCT fp FROM own) s;
CREATE FUNCTION grouped(options jsonb) RETURNS TABLE (id bigint, keeper bigint) LANGUAGE sql AS $$
    SELECT id, keeper
    FROM dedup('SELECT id, body, fp FROM distinct_own ORDER BY id', '{"fp": "fp", "similarity": 0, "distance": 10, "n": 2, "details": []}' || options) $$;
SELECT diameter,
       (SELECT count(*) FROM grouped(jsonb_build_object('distance', 8, 'diameter', diameter))
          JOIN (SELECT id, near_dup_component(fp, 8, diameter) OVER (ORDER BY id) AS component FROM distinct_own) c USING (id)
         WHERE keeper <> component) AS differing,
       (SELECT max(a.fp <~> b.fp) <= diameter FROM grouped(jsonb_build_object('distance', 8, 'diameter', diameter)) g
          JOIN distinct_own a USING (id) JOIN distinct_own b ON b.id = g.keeper) AS within
FROM unnest('{0,2,4,9,20,64}'::int[]) diameter;
-- Every two rows of a group, not only the kept one, and verified by the text:
-- row 4 is near row 3 but its text is another; 5 is too far from 1.
SELECT * FROM dedup($$VALUES (1, 'abcdefgh'::text, 0::bigint), (2, 'abcdefgh!', 1), (3, 'abcdefghi', 3), (4, 'uvwxyz', 7), (5, 'abcdefgh?', 15)$$,
    '{"fp": "column3", "distance": 4, "diameter": 3, "similarity": 0.5, "n": 2, "details": []}');
SELECT * FROM dedup($$VALUES (1, 'abcdefgh'::text, 0::bigint), (2, 'abcdefgh!', 1), (3, 'abcdefghi', 3), (4, 'uvwxyz', 7), (5, 'abcdefgh?', 15)$$,
    '{"fp": "column3", "distance": 4, "group": "components", "similarity": 0.5, "n": 2, "details": []}');
-- Without a group that is named no chain leads to a row: 3 is farther from 1 than 2 is, and 5 is near to 3 alone. Each is verified
-- against the row that is kept for it, whichever rows are kept.
SELECT keep, string_agg(id || '>' || keeper, ' ' ORDER BY id) AS "row > kept row" FROM unnest('{first,last,longest}'::text[]) keep,
    dedup($$VALUES (1, 'abcdefgh'::text, 0::bigint), (2, 'abcdefgh!', 1), (3, 'abcdefghi', 3), (4, 'uvwxyz', 7), (5, 'abcdefgh?', 15), (6, 'abcdefgh', 9)$$,
    jsonb_build_object('fp', 'column3', 'distance', 2, 'keep', keep, 'similarity', 0.5, 'n', 2, 'details', '[]'::jsonb)) GROUP BY keep ORDER BY keep;
CREATE TABLE chained AS SELECT i AS id, 'row ' || string_agg(chr(97 + j % 26) || j, ' ' ORDER BY j) AS body, length(md5(i::text || i)) AS likes
FROM generate_series(1, 120) i, generate_series(i, i + 20) j GROUP BY i;
SELECT keep, count(*) FILTER (WHERE id <> keeper) > 50 AS many, count(*) FILTER (WHERE id <> keeper AND (near_dup(simhash(a), simhash(b), 14) AND ngram_jaccard(a, b) >= 0.5) IS NOT TRUE) AS unverified
FROM unnest(ARRAY['"first"', '"last"', '"longest"', '{"column": "likes", "order": "desc"}']::jsonb[]) keep,
    dedup('SELECT id, body, likes FROM chained ORDER BY id', jsonb_build_object('distance', 14, 'keep', keep, 'recipe', '{}'::jsonb, 'similarity', 0.5, 'n', 2, 'details', '[]'::jsonb)) d,
    LATERAL (SELECT (SELECT body FROM chained c WHERE c.id = d.id) AS a, (SELECT body FROM chained c WHERE c.id = d.keeper) AS b) t GROUP BY keep ORDER BY keep;
DROP TABLE chained;
-- A text that tells of another place is another matter, if asked for.
SELECT details, (SELECT string_agg(keeper::text, ' ' ORDER BY id) FROM dedup($$VALUES
    (1, '青山小区3号楼停水三天了，物业不管，请有关部门尽快处理'::text, 0::bigint),
    (2, '绿水小区3号楼停水三天了，物业不管，请有关部门尽快处理', 1),
    (3, '青山小区5号楼停水三天了，物业不管，请有关部门尽快处理', 2)$$,
    '{"fp": "column3", "distance": 10, "similarity": 0.5, "n": 2, "details": []}' || CASE WHEN details IS NULL THEN '{}' ELSE jsonb_build_object('details', details) END) d) AS keepers
FROM unnest(ARRAY[NULL, '[]', '["name"]', '["number"]', '["name", "date", "number"]']::jsonb[]) details;
-- The same whatever the memory and the threads, with every way to group.
CREATE TABLE skewed AS SELECT i AS id, repeat(chr(19968 + i % 40), 3 + i % 3) || i % 200 AS body,
    hashint4extended(i % 300, 0) # (1::bigint << (i % 60)) # (1::bigint << (i % 11)) AS fp FROM generate_series(1, 3000) i;
CREATE FUNCTION fingerprint_of_result(options jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT md5(string_agg(d::text, ' ')) FROM dedup('SELECT id, body, fp FROM skewed ORDER BY id', '{"fp": "fp", "distance": 8, "similarity": 0.5, "n": 2, "details": []}' || options) d $$;
CREATE TABLE results AS SELECT options, fingerprint_of_result(options) AS plenty FROM unnest(ARRAY['{}', '{"keep": "last"}', '{"keep": "longest"}', '{"group": "components"}', '{"diameter": 9}', '{"diameter": 3}',
    '{"group": "single_pass"}', '{"equal": "normal"}', '{"equal": "none"}']::jsonb[]) options;
SET work_mem = '64kB';
SET pg_dedup.threads = 1;
SELECT options, fingerprint_of_result(options) = plenty AS same FROM results;
SET pg_dedup.threads = 3;
SELECT options, fingerprint_of_result(options) = plenty AS same FROM results;
RESET work_mem;
RESET pg_dedup.threads;
-- No rows; no row with a content; contents that are all alike.
SELECT count(*) FROM dedup('SELECT 1, ''a''::text WHERE false', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT stage, count(*) FROM dedup('SELECT i, NULL::text FROM generate_series(1, 3) i', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}') GROUP BY stage;
SELECT stage, count(*), min(keeper) FROM dedup('SELECT i, ''a''::text FROM generate_series(1, 3000) i', '{"n": 2, "keep": "last", "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}') GROUP BY stage;
-- Contents and ids longer than a page, and of many bytes a character.
SELECT length(id), keeper = id AS kept, stage FROM dedup($$SELECT repeat('编', 5000) || i, repeat('停水', 100000) || i / 2 FROM generate_series(1, 4) i$$,
    '{"method": "exact"}', id_type => NULL::text);
-- NULL options are the defaults; a whole number may be written as it likes.
SELECT * FROM dedup('SELECT 1, ''a''::text', NULL);
SELECT * FROM near_dup_pairs('VALUES (1, 0::bigint), (2, 7), (3, 255)', NULL);
SELECT id FROM dedup('SELECT 1, ''a''::text', '{"distance": 10.0, "n": 2e0, "diameter": 2e1, "recipe": {}, "similarity": 0.5, "details": []}');
-- Contents of types that are text at heart; of others not.
CREATE DOMAIN prose AS varchar(9);
CREATE DOMAIN print AS bigint;
SELECT keeper FROM dedup('VALUES (1, ''a''::prose, 1::print), (2, ''a'', 2)', '{"fp": "column3", "keep": {"column": "column3", "order": "desc"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
SELECT keeper FROM dedup('VALUES (1, ''a''::char(3)), (2, ''a '')', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT dedup('SELECT 1, ''{}''::jsonb');
DROP DOMAIN prose, print;
-- A normal form without a character says nothing: such contents are compared as
-- they are.
SELECT string_agg(keeper::text, ' ' ORDER BY id) AS keepers FROM dedup($$VALUES (1, '👍'), (2, '…'), (3, ''), (4, '👍'), (5, 'a b'), (6, 'A, B'), (7, '')$$, '{"equal": "normal", "method": "exact"}');
-- Kept by a number as PostgreSQL orders it, NULL always last: NaN is above all
-- others, whatever its sign, zeros are equal, and infinity is something.
CREATE TABLE liked (id serial, class text, likes float8, at timestamptz, n bigint);
INSERT INTO liked (class, likes) VALUES ('nan', '-NaN'::float8 * -1), ('nan', '1'), ('nan', '-NaN'), ('zero', 0), ('zero', '-0'), ('null', NULL), ('null', 'NaN'), ('below', '-1'), ('below', '-Infinity');
INSERT INTO liked (class, at) VALUES ('infinity', NULL), ('infinity', 'infinity'), ('minus', NULL), ('minus', '-infinity');
INSERT INTO liked (class, n) VALUES ('most', NULL), ('most', 9223372036854775807), ('least', NULL), ('least', -9223372036854775808);
SELECT col, sort, string_agg(DISTINCT class || '>' || keeper, ' ') FILTER (WHERE d.stage = 'kept') AS kept
FROM (VALUES ('likes'), ('at'), ('n')) c(col), (VALUES ('asc'), ('desc')) o(sort),
     dedup('SELECT id, class, likes, at, n FROM liked ORDER BY id', jsonb_build_object('method', 'exact', 'keep', jsonb_build_object('column', col, 'order', sort))) d
     JOIN liked l ON l.id = d.id GROUP BY 1, 2 ORDER BY 1, 2;
SELECT col, sort, count(*) AS "kept otherwise than by ORDER BY"
FROM (VALUES ('likes'), ('at'), ('n')) c(col), (VALUES ('asc'), ('desc')) o(sort),
     dedup('SELECT id, class, likes, at, n FROM liked ORDER BY id', jsonb_build_object('method', 'exact', 'keep', jsonb_build_object('column', col, 'order', sort))) d
     JOIN liked l ON l.id = d.id
WHERE d.stage = 'kept' AND d.id <> (SELECT id FROM liked f WHERE f.class = l.class
    ORDER BY CASE WHEN sort = 'asc' THEN CASE col WHEN 'likes' THEN likes END END NULLS LAST, CASE WHEN sort = 'desc' THEN CASE col WHEN 'likes' THEN likes END END DESC NULLS LAST,
             CASE WHEN sort = 'asc' THEN CASE col WHEN 'at' THEN at END END NULLS LAST, CASE WHEN sort = 'desc' THEN CASE col WHEN 'at' THEN at END END DESC NULLS LAST,
             CASE WHEN sort = 'asc' THEN CASE col WHEN 'n' THEN n END END NULLS LAST, CASE WHEN sort = 'desc' THEN CASE col WHEN 'n' THEN n END END DESC NULLS LAST, id LIMIT 1)
GROUP BY 1, 2 ORDER BY 1, 2;
DROP TABLE liked;
-- By text: each row repeats the most similar of those kept before it, however far the fingerprints are; dedup_into says
-- the same, batch by batch; without options short texts are compared so, and a row about another thing is none.
CREATE TABLE title (id bigint PRIMARY KEY, t text);
INSERT INTO title SELECT i, t FROM unnest(ARRAY['How do I reset my password', 'how do i reset my password?', 'How can I reset the password', 'Where is the invoice for May',
    'Where is my invoice for May', 'Opening hours on Sunday', 'Opening hours on Sundays', '小区停水怎么办', '小区停水了怎么办', '公交什么时候来', 'Repairs in Harbour Street', 'Repairs in Linden Street',
    'Repairs in Harbour Streets', NULL, '']) WITH ORDINALITY AS u(t, i);
\set by_text '{"method": "text", "similarity": 0.5, "n": 2, "details": ["name"], "recipe": {}, "distance": 10}'
SELECT id, keeper, stage, round(similarity::numeric, 2) AS similarity FROM dedup('title', :'by_text') WHERE id <> keeper;
SELECT id, keeper FROM dedup('title', :'by_text'::jsonb || '{"keep": "last"}') WHERE id <> keeper;
SELECT id, keeper FROM dedup('title', :'by_text'::jsonb || '{"group": "components"}') WHERE id <> keeper;
SELECT id, keeper FROM dedup('title') WHERE id <> keeper;
CALL dedup_into('title_groups', 'title', '{"method": "text", "similarity": 0.5, "n": 2, "details": ["name"], "recipe": {}, "distance": 10}');
SELECT count(*) AS rows, count(*) FILTER (WHERE g.keeper = d.keeper AND g.stage = d.stage) AS same
FROM title_groups g JOIN dedup('title', :'by_text') d USING (id);
SELECT dedup('title', '{"method": "text", "similarity": 0, "recipe": {}, "distance": 10, "n": 2, "details": []}');
SELECT dedup('title', '{"method": "text", "diameter": 9}');
SELECT dedup('title', '{"method": "meaning"}');
DROP TABLE title, title_groups, title_groups_merges, title_groups_state;
-- Nothing is said of a run that takes no time.
SELECT id FROM dedup('SELECT 1, ''a''::text');
-- Refused.
SELECT dedup('SELECT 1');
SELECT dedup('SELECT 1, 2');
SELECT dedup('SELECT NULL::int, ''a''::text');
SELECT dedup('SELECT 1, ''a''::text', '{"distanse": 3}');
SELECT dedup('SELECT 1, ''a''::text', '{"distance": 65, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
SELECT dedup('SELECT 1, ''a''::text', '{"similarity": 2, "recipe": {}, "distance": 10, "n": 2, "details": []}');
SELECT dedup('SELECT 1, ''a''::text', '{"keep": "best"}');
SELECT dedup('SELECT 1, ''a''::text', '{"keep": {"column": "likes"}}');
SELECT dedup('SELECT 1, ''a''::text, now()::time AS t', '{"keep": {"column": "t"}}');
SELECT dedup('SELECT 1, ''a''::text, 1 AS fp', '{"fp": "fp", "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
SELECT dedup('SELECT 1, ''a''::text', '{"recipe": {"token": 1}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
SELECT dedup('SELECT 1, ''a''::text', '{"diameter": 65}');
SELECT dedup('SELECT 1, ''a''::text', '{"diameter": -1}');
SELECT dedup('SELECT 1, ''a''::text', '{"diameter": 3, "group": "single_pass"}');
SELECT dedup('SELECT 1, ''a''::text', '{"n": 65, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT dedup('SELECT 1, ''a''::text', '{"details": ["names"]}');
SELECT dedup('SELECT 1, ''a''::text', '{"progress": 1}');
SELECT dedup('SELECT 1, ''a''::text', '[]');
SELECT dedup('SELECT 1, ''a''::text', '{"fp": "fp", "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
SELECT dedup('SELECT 1, ''a''::text', '{"keep": {"column": "likes", "oder": "desc"}}');
SELECT dedup('SELECT 1, ''a''::text', '{"keep": {"column": "likes", "order": "down"}}');
SELECT dedup('SELECT 1, ''a''::text', '{"distance": 10.5, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
SELECT dedup(NULL);
SELECT * FROM near_dup_pairs(NULL);
SELECT dedup('SELECT 1, ''a''::bytea');
SELECT dedup('DELETE FROM own RETURNING id, body');
SELECT dedup('SELECT 1, ''a''::text; SELECT 2, ''b''::text');
SELECT dedup('SELECT nothing');
SELECT dedup('SELECT 1 / (3 - i), ''a''::text FROM generate_series(1, 5) i');
-- More memory than allowed: in files is allowed, in memory is not.
SET pg_dedup.memory_limit = '2MB';
SELECT count(*) FROM dedup('SELECT i, ''a''::text FROM generate_series(1, 700) i', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT count(*) FROM dedup('SELECT i, ''a''::text FROM generate_series(1, 100000) i', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT count(seen) FROM (SELECT exact_seen(i::text) OVER () AS seen FROM generate_series(1, 100000) i) s;
SELECT count(seen) FROM (SELECT trie_seen(i::text) OVER () AS seen FROM generate_series(1, 100000) i) s;
SELECT count(c) FROM (SELECT single_pass(hashint8extended(i, 0), 1) OVER () AS c FROM generate_series(1, 100000) i) s;
SELECT count(c) FROM (SELECT near_dup_component(hashint8extended(i, 0), 1) OVER () AS c FROM generate_series(1, 100000) i) s;
RESET pg_dedup.memory_limit;
SELECT count(*) AS "temporary files left" FROM pg_ls_tmpdir();
-- A record and the same with an abstract: one of them stands in the other, whichever comes first; what only shares common words
-- does not. Every row that goes is verified against the row that is kept. (40 is a collection.)
CREATE TABLE record AS SELECT i AS id, (SELECT string_agg(left(md5((hashint8extended(i, k) % 900)::text), 5), ' ') FROM generate_series(1, 9) k) AS body
FROM generate_series(1, 120) i;
UPDATE record SET body = body || ' ' || (SELECT string_agg(o.body, ' ' ORDER BY o.id) FROM record o WHERE o.id BETWEEN 41 AND 45) WHERE id = 40;
UPDATE record SET body = (SELECT body FROM record WHERE id = 10) || ' we show that ' || body || ' and ' || reverse(body) WHERE id = 9;
UPDATE record SET body = (SELECT body FROM record WHERE id = 20) || ' we show that ' || body || ' and ' || reverse(body) WHERE id = 21;
SELECT share, string_agg(id || '>' || keeper, ' ' ORDER BY id) FILTER (WHERE id <> keeper) AS "row > kept row"
FROM unnest('{0,0.7,1}'::numeric[]) AS share, dedup('SELECT id, body FROM record ORDER BY id', jsonb_build_object('contained', share, 'similarity', 0.5, 'n', 3, 'distance', 10, 'recipe', '{}'::jsonb, 'details', '[]'::jsonb)) GROUP BY share ORDER BY share;
SELECT string_agg(id || '>' || keeper, ' ' ORDER BY id) FILTER (WHERE id <> keeper) AS "the longest is kept"
FROM dedup('SELECT id, body FROM record ORDER BY id', '{"contained": 0.7, "keep": "longest", "method": "text"}');
-- A distance is of two fingerprints: there are none without a near stage, and none where the given one is NULL.
SELECT id, keeper, stage, distance, round(similarity::numeric, 2) AS similarity FROM dedup('SELECT id, body FROM record ORDER BY id', '{"contained": 0.7, "method": "exact"}') WHERE stage <> 'kept';
ALTER TABLE record ADD fp bigint;
UPDATE record SET fp = CASE id WHEN 9 THEN 0 WHEN 10 THEN 15 WHEN 20 THEN 1::bigint << 62 WHEN 21 THEN NULL ELSE hashint8extended(id, 7) END;
SELECT id, keeper, stage, distance, round(similarity::numeric, 2) AS similarity FROM dedup('SELECT id, body, fp FROM record ORDER BY id', '{"contained": 0.7, "distance": 2, "fp": "fp", "n": 3, "similarity": 0.5, "details": []}') WHERE stage <> 'kept';
-- Rows of one template stand in each other, all in all: they are left alone, and are not many pairs in memory.
CREATE TABLE form AS SELECT i AS id, (SELECT string_agg(md5((i % 30 * 20 + k)::text), ' ') FROM generate_series(1, 20) k) || ' case ' || i AS body FROM generate_series(1, 3000) i;
SELECT count(*) AS rows, count(*) FILTER (WHERE id <> keeper) AS gone FROM dedup('SELECT id, body FROM form', '{"contained": 0.7, "method": "exact"}');
SET pg_dedup.memory_limit = '3500kB';
SELECT count(*) FROM dedup('SELECT id, body FROM form', '{"contained": 0.7, "method": "exact"}');
SET pg_dedup.memory_limit = '1MB';
SELECT count(*) FROM dedup('SELECT id, body FROM form', '{"method": "exact"}');
SELECT count(*) FROM dedup('SELECT id, body FROM form', '{"contained": 0.7, "method": "exact"}');
RESET pg_dedup.memory_limit;
-- One normal form, made by the recipe, for fingerprints, what is equal and what is compared: what it makes one is one, by every method.
CREATE TABLE written (id int PRIMARY KEY, kind text, body text);
INSERT INTO written VALUES
    (1, 'simplify', '我们小区的电梯发生故障已经三个星期了，老人上下楼非常困难，物业公司一直没有派人修理，请有关部门尽快处理这个问题'),
    (2, 'simplify', '我們小區的電梯發生故障已經三個星期了，老人上下樓非常困難，物業公司一直沒有派人修理，請有關部門儘快處理這個問題'),
    (3, 'markup', 'The lamp in front of the school in Mill Street has been broken for a month & our children walk home in the dark.'),
    (4, 'markup', '<style>' || repeat('p {margin: 0; color: #333} ', 30) || '</style><p class="x">The <b>lamp</b> in front of the school in Mill Street has been broken for a month &amp; our children walk home in the dark.</p>'),
    (5, 'folding', 'Οδός Αθηνάς'), (6, 'folding', 'ΟΔΌΣ ΑΘΗΝΆΣ'), (7, 'folding', 'Große Straße'), (8, 'folding', 'GROSSE STRASSE');
SELECT options, string_agg(concat_ws(' ', id, stage, keeper, distance, similarity), ', ' ORDER BY id) FILTER (WHERE stage <> 'kept') AS duplicates
FROM unnest(ARRAY['{"recipe": {"simplify": true}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}', '{"recipe": {"markup": "html"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}', '{"recipe": {"simplify": true, "markup": "html"}, "details": ["name", "date", "number"], "distance": 10, "similarity": 0.5, "n": 2}',
        '{"recipe": {"simplify": true, "markup": "html"}, "method": "text", "distance": 10, "similarity": 0.5, "n": 2, "details": []}', '{"recipe": {"simplify": true, "markup": "html"}, "group": "components", "method": "text", "distance": 10, "similarity": 0.5, "n": 2, "details": []}',
        '{"recipe": {"simplify": true, "markup": "html"}, "group": "single_pass", "distance": 10, "similarity": 0.5, "n": 2, "details": []}', '{"recipe": {"simplify": true, "markup": "html"}, "contained": 0.9, "distance": 10, "similarity": 0.5, "n": 2, "details": []}',
        '{"recipe": {"simplify": true, "markup": "html"}, "equal": "normal", "method": "exact"}', '{"equal": "normal", "method": "exact"}']::jsonb[]) AS options,
     dedup('SELECT id, body FROM written ORDER BY id', options)
GROUP BY options ORDER BY options::text;
SELECT (SELECT count(DISTINCT simhash(body, '{"simplify": true, "markup": "html"}')) FROM written) AS fingerprints, ngram_jaccard('Große Straße', 'GROSSE STRASSE') AS folded,
    same_details('Die Große Straße ist kaputt', 'Die GROSSE STRASSE ist kaputt') AS same;

-- Empty is what has no word and no symbol: it equals nothing. Symbols alone equal what is identical. So in all that tells duplicates.
CREATE TABLE nothing (id int PRIMARY KEY, body text);
INSERT INTO nothing VALUES (1, ''), (2, ''), (3, ' '), (4, ' '), (5, '!!!'), (6, '!!!'), (7, '…'), (8, '…'), (9, NULL), (10, NULL), (11, E'\u200B\t'), (12, E'\u200B\t'), (13, '<p>&nbsp;</p>'),
    (14, '<p>&nbsp;</p>'), (15, 'The, and of'), (16, 'The, and of'), (17, '😀'), (18, '😀'), (19, '♥♥'), (20, '😀 '),
    (21, 'The street lamp in front of the school has been broken for a month, and our children walk home in the dark.'), (22, 'The street lamp in front of the school has been broken for a month, and our children walk home in the dark!');
SELECT options, string_agg(id::text, ' ' ORDER BY id) FILTER (WHERE stage = 'empty') AS empty,
    string_agg(id || '>' || keeper, ' ' ORDER BY id) FILTER (WHERE stage IN ('exact', 'near')) AS duplicates
FROM unnest(ARRAY['{}', '{"recipe": {}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}', '{"recipe": {"markup": "html"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}', '{"recipe": {"stop": "en", "markup": "html"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}', '{"equal": "normal", "recipe": {"stop": "en", "markup": "html"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}',
        '{"method": "text", "recipe": {"stop": "en", "markup": "html"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}', '{"method": "exact"}', '{"distance": 64, "similarity": 0, "recipe": {}, "n": 2, "details": []}']::jsonb[]) AS options, dedup('SELECT id, body FROM nothing ORDER BY id', options)
GROUP BY options ORDER BY options::text;
-- The columns of a record are empty together. A fingerprint that is given makes no text.
SELECT id, stage FROM dedup($$VALUES (1, '…', ''), (2, '…', ''), (3, '', 'Mill Street'), (4, NULL, NULL)$$, '{"method": "records"}');
SELECT id, stage FROM dedup($$VALUES (1, '', 7::bigint), (2, '', 7), (3, NULL, 7), (4, '😀', 7), (5, '😀', 8)$$, '{"fp": "column3", "similarity": 0, "distance": 64, "n": 2, "details": []}');
CALL dedup_into('nothing_groups', 'SELECT id, body FROM nothing WHERE id < 19', '{"recipe": {"stop": "en", "markup": "html"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
CALL dedup_into('nothing_batches', 'SELECT id, body FROM nothing', '{"recipe": {"stop": "en", "markup": "html"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
SELECT count(*) FROM dedup('SELECT id, body FROM nothing ORDER BY id', '{"recipe": {"stop": "en", "markup": "html"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}') d
    FULL JOIN (SELECT * FROM nothing_batches) b USING (id) WHERE (d.stage, d.keeper) IS DISTINCT FROM (b.stage, b.keeper::bigint);
SELECT string_agg(id::text, ' ' ORDER BY id) FILTER (WHERE stage = 'empty') AS empty FROM nothing_groups;
SELECT substring(dedup_report('SELECT id, body FROM nothing', '{"recipe": {"stop": "en", "markup": "html"}, "distance": 10, "similarity": 0.5, "n": 2, "details": []}') FROM 'Rows without a text[^;]*') AS report;
DROP TABLE written, nothing, nothing_groups, nothing_groups_merges, nothing_groups_state, nothing_batches, nothing_batches_merges, nothing_batches_state;
DROP TABLE record, form, petition, own, distinct_own, skewed, results;
DROP FUNCTION grouped, fingerprint_of_result;
DROP EXTENSION pg_dedup_papers, pg_dedup;
