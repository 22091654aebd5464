-- The report: one page that says what dedup finds, whatever the texts hold, and sees no more than its caller.
CREATE EXTENSION pg_dedup;
CREATE FUNCTION articles_of(page text, OUT article text, OUT place bigint) RETURNS SETOF record LANGUAGE sql AS $$
    SELECT m[1], n FROM regexp_matches(page, '(<article data-least.*?</article>)', 'g') WITH ORDINALITY r(m, n) $$;
-- Each group as: size, kept row, then each row with how it was caught.
CREATE FUNCTION groups_of(page text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT format('%s: %s <- %s', substring(article FROM '<small>(\d+)'), min(m[2]) FILTER (WHERE n = 1), string_agg(m[2] || ' ' || m[1], ', ' ORDER BY n) FILTER (WHERE n > 1))
    FROM articles_of(page), regexp_matches(article, '<b class="chip">([^<]*)</b> <span class="id" dir="auto">([^<]*)</span>', 'g') WITH ORDINALITY r(m, n)
    GROUP BY place, article ORDER BY place $$;
CREATE TABLE ticket (id integer PRIMARY KEY, body text, matter text);
INSERT INTO ticket VALUES
    (1, 'The street lamp in front of the school has been broken for a month, please send somebody', 'lamp'),
    (2, 'The street lamp in front of the school has been broken for a month, please send somebody', 'lamp'),
    (3, 'The street light in front of the school has been broken for a month, please send somebody soon', 'lamp'),
    (4, '我们是翠湖春天小区的居民，小区停水三天了，物业不管，请有关部门尽快处理', 'a'),
    (5, '我们是金桂嘉园小区的居民，小区停水三天了，物业不管，请有关部门尽快处理', 'b'),
    (6, E'</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> " '' & &lt; \u2028 \u2029 \\', NULL),
    (7, E'</script><script>alert(1)</script><!-- <img src=x onerror=alert(2)> " '' & &lt; \u2028 \u2029 \\ more', NULL),
    (8, NULL, 'lamp'), (9, 'Something else altogether, and nobody else has said so', 'c');
\set options '{"columns": "body", "distance": 30, "similarity": 0.5, "recipe": {}, "n": 2, "details": []}'
CREATE TABLE page AS SELECT dedup_report('ticket', :'options') AS html;
SELECT groups_of(html) FROM page;
-- How the rows of each group differ.
SELECT place, m[1] AS differing FROM page, articles_of(html), regexp_matches(article, '<div class="row">.*?<p class="(?:text" dir="auto|note)">(.*?)</p>', 'g') m;
-- Texts are texts: no script but the page's own, no element of theirs, nothing loaded; the policy names the script.
SELECT (SELECT count(*) FROM regexp_matches(html, '<script', 'g')) AS scripts, html ~ '<img|onerror=alert\(2\)>' AS markup,
       html LIKE '%script-src ''sha256-' ||
           encode(sha256(convert_to(substring(html FROM '.*<script>(.*)</script></body>'), 'UTF8')), 'base64') || '''%' AS policy_fits
FROM page;
SELECT html ~* '\m(src|href|action|srcset|poster)=|\murl\(|@import|https?:|fetch\(|XMLHttp|innerHTML|eval\(' AS loads
FROM dedup_report('SELECT i, ''the same text''::text FROM generate_series(1, 2) i', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}') html;
SELECT html LIKE '%&lt;/script&gt;&lt;script&gt;alert(1)%' AS readable FROM page;
-- A title and an id are texts too.
SELECT html LIKE '%<title>&lt;b&gt;&quot;&amp;%' AS title, html LIKE '%>&lt;i&gt;1&#39;<%' AS id, html ~ '<b>"|<i>1' AS markup
FROM dedup_report('SELECT ''<i>'' || i || '''''''', ''the same text''::text FROM generate_series(1, 2) i', '{"n": 2, "title": "<b>\"&", "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}') html;
-- The deciding detail is marked where details are in use.
SELECT substring(html FROM '<del class="why">.*?</ins>') AS marked, groups_of(html) AS groups
FROM dedup_report('SELECT * FROM ticket WHERE id IN (4, 5) ORDER BY id', '{"distance": 30, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}') html
UNION ALL SELECT substring(html FROM '<del class="why">.*?</ins>'), (SELECT string_agg(g, ' ') FROM groups_of(html) g)
FROM dedup_report('SELECT * FROM ticket WHERE id IN (4, 5) ORDER BY id', '{"distance": 30, "details": ["name"], "recipe": {}, "similarity": 0.5, "n": 2}') html;
-- Precision and recall are those of dedup_evaluate.
SELECT (regexp_matches(html, 'Pairs of rows: ([^.]*)\.'))[1] AS pairs,
       ARRAY(SELECT m[1] FROM regexp_matches(html, '<td>([01]\.\d\d\d)</td>', 'g') m) AS precision_recall_f1,
       (SELECT count(*) FROM regexp_matches(html, '>another label<', 'g')) AS other_label
FROM dedup_report('ticket', :'options'::jsonb || '{"labels": "matter"}') html;
SELECT pairs_found, pairs_true, correct, missed, wrong, round(precision::numeric, 3) AS precision, round(recall::numeric, 3) AS recall,
       round(f1::numeric, 3) AS f1
FROM dedup_evaluate(format('SELECT id, keeper FROM dedup(''ticket'', %L)', :'options'), 'SELECT id, matter FROM ticket WHERE matter IS NOT NULL',
    found_are => 'groups', truth_are => 'groups');
-- The groups are those of dedup: random texts, several ways.
CREATE TABLE random_text AS SELECT i AS id, (SELECT string_agg('word' || hashint8(i / 3 * 50 + w) % 2000 + (hashint8(i * 50 + w) % 20 = 0)::int, ' ')
    FROM generate_series(1, 20) w) AS body FROM generate_series(1, 900) i;
ALTER TABLE random_text ADD PRIMARY KEY (id);
SELECT way, (SELECT array_agg(g ORDER BY g) FROM (SELECT split_part(g, ' ', 2) || ':' || split_part(g, ':', 1) FROM groups_of(dedup_report('random_text', way)) g) s(g))
     = (SELECT array_agg(g ORDER BY g) FROM (SELECT keeper || ':' || count(*) FROM dedup('random_text', way) GROUP BY keeper HAVING count(*) > 1) s(g)) AS same
FROM unnest(ARRAY['{"distance": 12, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}', '{"distance": 16, "keep": "longest", "recipe": {}, "similarity": 0.5, "n": 2, "details": []}', '{"distance": 20, "diameter": 9, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}', '{"method": "exact"}',
    '{"distance": 16, "group": "single_pass", "recipe": {}, "similarity": 0.5, "n": 2, "details": []}', '{"distance": 16, "equal": "none", "similarity": 0, "recipe": {}, "n": 2, "details": []}']::jsonb[]) way;
-- Pairs that somebody is asked about are those of dedup_review, in its order; columns by which people know a row stand beside its id, blanks folded.
CREATE FUNCTION asked_of(page text, OUT a text, OUT b text, OUT place bigint) RETURNS SETOF record LANGUAGE sql AS $$
    SELECT m[1], m[2], n FROM regexp_matches(page, '<article data-a="([^"]*)" data-b="([^"]*)">', 'g') WITH ORDINALITY r(m, n) $$;
SELECT array_agg((a, b)::text ORDER BY place) = (SELECT array_agg((a, b)::text) FROM dedup_review('ticket', 3, :'options')) AS same, count(*)
FROM dedup_report('ticket', :'options'::jsonb || '{"review": 3}') html, asked_of(html);
SELECT (regexp_matches(html, '<article data-a="4".*?</article>'))[1] AS pair, substring(html FROM '<section id="review"[^>]*>') ~ 'data-table="decisions"' AS no_table
FROM dedup_report('SELECT id, body, E'' lot\n '' || id || '' & <b> '' AS lot, NULL::text AS nothing FROM ticket WHERE id IN (4, 5) ORDER BY id',
    '{"distance": 30, "recipe": {}, "similarity": 0.5, "n": 2, "details": [], "review": 5, "show": ["lot", "nothing"]}') html;
-- What is compared is shown too, and compared none the less.
SELECT html ~ 'body: <b>The street lamp' AS shown, (SELECT count(*) FROM groups_of(html)) AS groups FROM dedup_report('ticket', :'options'::jsonb || '{"show": ["body", "matter"]}') html;
CREATE TABLE person (id integer PRIMARY KEY, name text, town text, note text);
INSERT INTO person SELECT i, 'name' || i / 2, 'town' || i / 2 % 7, 'note' || i FROM generate_series(1, 40) i;
SELECT count(DISTINCT groups) AS answers, max(cardinality(groups)) AS groups, bool_or(html ~ 'note: <b>note2<') AS note
FROM unnest('{"{}", "{\"show\": [\"name\", \"note\"]}", "{\"picture\": \"town\"}", "{\"labels\": \"town\"}"}'::jsonb[]) show,
     dedup_report('person', '{"method": "records", "columns": ["name", "town"], "similarity": 0.5}'::jsonb || show) html, LATERAL (SELECT array_agg(g) FROM groups_of(html) g) s(groups);
SET client_min_messages = warning;
SELECT count(*) FROM dedup_setup('person', '{"method": "records", "columns": ["name", "town"], "similarity": 0.5}');
SELECT count(DISTINCT groups) AS answers, max(cardinality(groups)) AS groups FROM unnest('{"{}", "{\"show\": [\"name\", \"note\"]}"}'::jsonb[]) show,
     dedup_report('person', show) html, LATERAL (SELECT array_agg(g) FROM groups_of(html) g) s(groups);
SELECT count(DISTINCT groups) AS answers, max(cardinality(groups)) AS groups FROM unnest('{"{}", "{\"show\": [\"name\", \"id\"]}"}'::jsonb[]) show,
     dedup_report('SELECT id, name, town FROM person', '{"method": "records", "similarity": 0.5}'::jsonb || show) html, LATERAL (SELECT array_agg(g) FROM groups_of(html) g) s(groups);
-- A picture that a query has beside other columns is compared with nothing, by records either.
SELECT count(*) AS groups FROM dedup_report('SELECT id, name, town, name || ''/'' || id AS url FROM person', '{"method": "records", "similarity": 0.5, "picture": "url"}') html, groups_of(html);
RESET client_min_messages;
DROP TABLE person;
SELECT dedup_report('ticket', :'options'::jsonb || '{"show": "nothing"}');
SELECT html ~ 'There is no pair in doubt' AS none FROM dedup_report('SELECT 1, ''a''::text', '{"review": 5, "n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}') html;
-- The table that takes the answers is named where there is one.
CREATE TABLE "the decisions" (a integer, b integer, same boolean);
SELECT substring(html FROM 'data-table="[^"]*"') AS "table" FROM dedup_report('ticket', :'options'::jsonb || '{"review": 1, "decisions": "\"the decisions\""}') html;
DROP TABLE "the decisions";
-- Ids whose characters no document may have come back as they are; the key of what is answered is of these pairs alone.
SELECT (SELECT string_agg(a || ' ' || b, ' ') FROM asked_of(html)) AS ids, count(*) OVER (PARTITION BY substring(html FROM 'data-key="[^"]*"')) AS pages_of_key
FROM unnest('{"one","two"}'::text[]) word, dedup_report('SELECT E''\x01%41\r'' || i, ''the street lamp of ' || word || ' is broken again, please mend ''::text || i FROM generate_series(1, 2) i',
    '{"review": 1, "n": 2, "recipe": {}, "distance": 30, "similarity": 0.5, "details": []}') html;
-- Chinese.
SELECT html LIKE '<!DOCTYPE html>%<html lang="zh-CN">%<title>查重报告</title>%' AS chinese, html LIKE '%9 条记录中，有 4 条（44.4%）与其他记录重复%' AS lead
FROM dedup_report('ticket', :'options'::jsonb || '{"language": "zh"}') html;
-- Large groups and long texts are cut, and it says so.
SELECT html LIKE '%950 more rows of this group are not shown.%' AS rest, html LIKE '%The text is longer; its first 2000 characters%' AS long_text,
       length(html) < 60000 AS short
FROM dedup_report('SELECT i, repeat(''long text '', 500) FROM generate_series(1, 1000) i', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}') html;
-- Nothing to report; no text; no near stage.
SELECT html LIKE '%None of the 0 rows repeats another.%' AS none FROM dedup_report('SELECT 1, ''a''::text WHERE false', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}') html;
SELECT html LIKE '%Rows without a text, or without a word in it: 3;%' AS empty FROM dedup_report('SELECT i, NULL::text FROM generate_series(1, 3) i', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}') html;
SELECT html !~ '[Ff]ingerprint|bits</' AS exact_only, groups_of(html) FROM dedup_report('ticket', '{"columns": "body", "method": "exact"}') html;
-- A text in a longer one: without a fingerprint there is no distance, and the row is a duplicate all the same.
CREATE TABLE entry AS SELECT i AS id, (SELECT string_agg(left(md5((hashint8extended(i, k) % 900)::text), 5), ' ') FROM generate_series(1, 9) k) AS body, hashint8extended(i, 5) AS fp
FROM generate_series(1, 60) i;
UPDATE entry SET body = (SELECT body FROM entry WHERE id = 10) || ' we show that ' || body, fp = NULL WHERE id = 9;
SELECT substring(html FROM '<p class="lead">[^<]*') AS lead, html LIKE '%The 0 of 1 that have a fingerprint.%' AS some, html ~ '>distance [0-9]+</span>' AS bits, groups_of(html)
FROM unnest(ARRAY['{"method": "exact"}', '{"distance": 2, "fp": "fp", "n": 3, "similarity": 0.5, "details": []}']) AS options, dedup_report('SELECT id, body, fp FROM entry', '{"contained": 0.7}'::jsonb || options::jsonb) html;
DROP TABLE entry;
-- Without options the texts decide, and the page has the options that do it again.
SET client_min_messages = warning;
SELECT html ~ '<pre>{&quot;distance&quot;:\d+,' AS options FROM dedup_report('SELECT id, body FROM ticket') html;
RESET client_min_messages;
-- Pictures, where somebody asks for them: bytes and addresses, what the policy allows, and what is not shown and why.
CREATE TABLE photo (id int PRIMARY KEY, h bit(64), thumb bytea, url varchar);
INSERT INTO photo SELECT n, x'00ff00ff00ff00ff', decode(bytes, 'hex'), url FROM (VALUES
    (1, '89504e470d0a1a0a00', 'https://a.example/1.jpg'), (2, 'ffd8ffe0', 'thumbs/2"a".jpg'), (3, '474946383961', '//b.example/3.jpg'),
    (4, '52494646000000005745425000', 'javascript:alert(1)'), (5, encode('<svg onload="alert(1)"/>', 'hex'), 'data:image/png;base64,iVBORw0KGgo='),
    (6, '89504e470d0a1a0a' || repeat('00', 65536 - 8), ''), (7, '89504e470d0a1a0a' || repeat('00', 65536 - 7), NULL), (8, NULL, ' HTTP://c.example/8')) v (n, bytes, url);
CREATE FUNCTION pictures_of(page text) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT regexp_replace(m[1], 'A{100,}', '…') FROM regexp_matches(page, '(; img-src [^"]*|<img [^>]*>|<p class="note">(?:The picture|图片)[^<]*)', 'g') m $$;
CREATE FUNCTION pictures_of_photo(options jsonb) RETURNS SETOF text LANGUAGE sql AS $$ SELECT pictures_of(dedup_report('SELECT * FROM photo', '{"method": "hash", "distance": 3}' || options)) $$;
SELECT pictures_of_photo('{"picture": "thumb", "show": ["url"]}');
SELECT pictures_of_photo('{"picture": "url"}');
SELECT pictures_of_photo('{"picture": "url", "language": "zh"}') OFFSET 4;
SELECT pictures_of_photo('{"show": ["url"]}');
SELECT count(*) FROM pictures_of(dedup_report('photo', '{"fp": "h", "distance": 3, "picture": "thumb", "review": 1}'));
-- Pairs that are asked about, and near misses, have them too.
UPDATE photo SET h = (x'00ff00ff00ff00ff' # (CASE id WHEN 1 THEN 0 WHEN 2 THEN 7 ELSE id::bigint << 30 END)::bit(64));
SELECT pictures_of(dedup_report('SELECT * FROM photo WHERE id < 3', '{"method": "hash", "distance": 3, "picture": "url", "review": 1}'));
SELECT pictures_of(dedup_report('SELECT * FROM photo WHERE id < 3', '{"method": "hash", "distance": 2, "picture": "thumb"}'));
SELECT pictures_of_photo('{"picture": "nothing"}');
SELECT pictures_of_photo('{"picture": "h"}');
SELECT pictures_of_photo('{"picture": "id"}');
-- What is said is said of hashes.
SELECT language, regexp_matches(regexp_replace(html, '<(style|script)>.*?</\1>|<[^>]*>', ' ', 'g'), '[^.。]*(?:text|ingerprint|文字|指纹)[^.。]*', 'g')
FROM unnest('{en,zh}'::text[]) language, dedup_report('photo', jsonb_build_object('fp', 'h', 'distance', 3, 'review', 5, 'language', language)) html;
-- Of two hashes the bits that differ are marked.
SELECT m[1] FROM dedup_report('SELECT id, h FROM photo WHERE id < 3', '{"method": "hash", "distance": 3}') html, regexp_matches(html, '<p class="text" dir="auto">([01]+<del>[01]+</del><ins>[01]+</ins>[01]*)</p>', 'g') m;
DROP FUNCTION pictures_of_photo, pictures_of;
DROP TABLE photo;
-- The rows that the caller may see, and no others.
CREATE ROLE regress_dedup_clerk;
GRANT SELECT ON ticket TO regress_dedup_clerk;
ALTER TABLE ticket ENABLE ROW LEVEL SECURITY;
CREATE POLICY lamps ON ticket USING (matter = 'lamp' AND id <> 2);
SET ROLE regress_dedup_clerk;
SELECT groups_of(html), html ~ '翠湖|alert\(1\)|nobody else' AS others FROM dedup_report('ticket', '{"columns": "body", "distance": 30, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}') html;
SELECT dedup_report('SELECT 1, html FROM page');
RESET ROLE;
DROP OWNED BY regress_dedup_clerk;
DROP ROLE regress_dedup_clerk;
-- Options that are none.
\set VERBOSITY terse
SELECT dedup_report(NULL);
SELECT dedup_report('ticket', '{"columns": "body", "language": "de"}');
SELECT dedup_report('ticket', '{"columns": "body", "title": 1}');
SELECT dedup_report('ticket', '{"columns": "body", "labels": "nobody"}');
SELECT dedup_report('SELECT id, body FROM ticket', '{"labels": "matter", "n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT dedup_report('ticket', '{"columns": "body", "colour": "red"}');
SELECT count(*) FROM dedup('ticket', '{"columns": "body", "title": "no option of dedup"}');
-- Memory is bounded. (On a slow machine progress would be told.)
SET client_min_messages = warning;
SET pg_dedup.memory_limit = '64kB';
SELECT length(dedup_report('random_text', '{"distance": 12, "labels": "id", "recipe": {}, "similarity": 0.5, "n": 2, "details": []}'));
-- The report says what was done, whatever the method: of fingerprints and bits only where they decided.
RESET pg_dedup.memory_limit;
SET client_min_messages = error;
CREATE TABLE part (id int PRIMARY KEY, name text, maker text, city text);
INSERT INTO part SELECT i, 'Pump model ' || md5((i % 200)::text), 'Maker ' || i % 40, 'City ' || i % 7 FROM generate_series(1, 400) i;
SELECT way, language, html ~ 'fingerprint|指纹' AS fingerprints, html ~ '[0-9] bits|bits that differ|相差 [0-9]|位）' AS bits, html ~ 'Jaccard' AS texts,
       html ~ 'probability of at least 90.0%|概率至少为 90.0%' AS records, html ~ 'at least 70.0% of its words|至少 70.0% 的词' AS contained, html ~ 'texts are equal\.|文字相同，即判为重复' AS exact
FROM unnest(ARRAY['{"method": "fingerprint"}', '{"method": "text"}', '{"method": "records", "columns": ["name", "maker", "city"]}', '{"method": "exact"}', '{"method": "exact", "contained": 0.7}']) way,
     unnest(ARRAY['en', 'zh']) language, LATERAL dedup_report('part', '{"columns": "name"}' || way::jsonb || jsonb_build_object('language', language)) page,
     -- What is said, without the options and the data of the script.
     LATERAL (SELECT regexp_replace(regexp_replace(page, '<script.*</script>', '', 'g'), '<footer>.*</footer>|<style>.*</style>', '', 'g')) x(html);
DROP TABLE part;
-- What many rows say alike: a row of it with its slots, and their names and values.
SELECT string_agg(translate(part[1], E'\n', ''), E'\n') AS templates
FROM dedup_report($$SELECT i, format('Dear office, the <lift> in %s Court is broken again, says tenant %s to all of us.', s[1 + i % 12], s[1 + (i * 5 + i / 12) % 12])
    FROM generate_series(0, 35) i, (SELECT '{Ashford,Birch,Canal,Dover,Elm,Foundry,Grange,Harbour,Iris,Juniper,Kestrel,Linden}'::text[] AS s) AS street$$,
    '{"method": "text", "similarity": 0.5, "n": 3, "details": ["name", "slot"], "slots": {"tenant ___": false}}') html,
    regexp_matches(html, '(<article><h3>36 different.*?</article>)', 'g') part;
RESET client_min_messages;
RESET pg_dedup.memory_limit;
RESET client_min_messages;
DROP EXTENSION pg_dedup CASCADE;
DROP TABLE ticket, page, random_text;
DROP FUNCTION articles_of, groups_of;
