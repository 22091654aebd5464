-- Run by bench/fingerprint: :rows made-up petitions, and how long they take.
\pset footer off
CREATE EXTENSION pg_dedup;

-- The same petitions at every run: clauses chosen by a hash of the row's number.
CREATE FUNCTION pick(choices text[], row_number bigint, place int) RETURNS text LANGUAGE sql IMMUTABLE
RETURN choices[1 + (hashint8extended(row_number, place) & 1048575) % cardinality(choices)];

CREATE TABLE petition AS
WITH clauses AS (SELECT
  '{岳麓区梅溪湖街道,开福区四方坪小区,天心区南门口附近,雨花区万家丽路沿线,望城区月亮岛安置房,芙蓉区马王堆菜市场,浏阳市淮川街道,宁乡市玉潭镇,长沙县星沙大道,高新区尖山路工地}'::text[] AS place,
  '{夜间施工噪音严重扰民,自来水连续停水三天没有任何通知,物业公司长期不作为垃圾堆积如山,电梯经常发生故障老人和孩子出行困难,开发商拖延交房时间业主多次协商无果,路灯损坏多日无人维修存在安全隐患,油烟直排影响居民正常生活,拖欠农民工工资超过半年,学校附近占道经营现象屡禁不止,房产证迟迟办不下来}'::text[] AS what,
  '{我们多次拨打12345热线反映,去年10月曾经向社区居委会投诉,相关部门答复正在处理可是至今没有结果,几十户居民联名写信要求解决,工作人员态度冷淡让我们回家等消息,对方拿出的整改方案根本没有执行,业主群里大家意见很大,每次检查过后又恢复原样}'::text[] AS since,
  '{恳请领导高度重视，尽快派人现场核查。,希望有关部门给老百姓一个明确的说法！,请问什么时候能够彻底解决？,请依法查处并公开处理结果，谢谢。}'::text[] AS please)
SELECT n AS id, '来信人' || n % 5000 AS petitioner, pick('{市住建局,市城管局,市教育局,市交通局}', n, 0) AS department,
  pick(place, n, 1) || pick(what, n, 2) AS title,
  '尊敬的领导：您好！我是' || pick(place, n, 1) || '的居民。' ||
  (SELECT string_agg(pick(place, n, 10 * i) || pick(what, n, 10 * i + 1) || '，' || pick(since, n, 10 * i + 2) || '。', '' ORDER BY i)
   FROM generate_series(1, 5) i) || pick(please, n, 3) AS body
FROM clauses, generate_series(1, :rows::bigint) n;
VACUUM ANALYZE petition;
SELECT count(*) AS rows, round(avg(length(body))) AS "characters a body",
  round(sum(octet_length(body)) / 1e6, 1) AS "MB of bodies" FROM petition;

-- Seconds that a query takes, the best of three.
CREATE FUNCTION seconds(query text) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE started timestamptz; best float8 := 'infinity';
BEGIN
  FOR round IN 1..3 LOOP
    started := clock_timestamp();
    EXECUTE query;
    best := least(best, extract(epoch FROM clock_timestamp() - started));
  END LOOP;
  RETURN best;
END $$;

\echo 'Recipes, on the bodies'
SELECT recipe, round((:rows / seconds)::numeric) AS "rows a second", round((megabytes / seconds)::numeric, 1) AS "MB/s"
FROM (SELECT sum(octet_length(body)) / 1e6 AS megabytes FROM petition) size,
  (VALUES (0, '(none: length of the text)', 'length(body)'),
    (1, 'default', 'simhash(body)'),
    (2, 'words', $$simhash(body, '{"tokens": "words"}')$$),
    (3, 'words, hmm', $$simhash(body, '{"tokens": "words", "hmm": true}')$$),
    (4, 'words, log', $$simhash(body, '{"tokens": "words", "weight": "log"}')$$),
    (5, 'chars, n = 2', $$simhash(body, '{"tokens": "chars", "n": 2}')$$),
    (6, 'chars, n = 3', $$simhash(body, '{"tokens": "chars", "n": 3}')$$),
    (7, 'shingles, n = 2', $$simhash(body, '{"tokens": "shingles", "n": 2}')$$)) v(at, recipe, expression),
  LATERAL seconds('SELECT count(' || expression || ') FROM petition')
ORDER BY at;

\echo 'Rows of four columns: weights 2, 2, 2 and running text (target: 10000 a second)'
SELECT way, round((:rows / seconds)::numeric) AS "rows a second"
FROM (VALUES (1, 'simhash(text[], jsonb)', $$simhash(ARRAY[petitioner, department, title, body], '[2,2,2,null]')$$),
    (2, 'simhash(record, jsonb)', $$simhash(p, '{"petitioner": 2, "department": 2, "title": 2, "body": null}')$$)) v(at, way, expression),
  LATERAL seconds('SELECT count(' || expression || ') FROM petition p')
ORDER BY at;

\echo 'Inserting the rows'
CREATE TABLE plain (LIKE petition, fp bigint);
CREATE TABLE generated (LIKE petition,
  fp bigint GENERATED ALWAYS AS (simhash(ARRAY[petitioner, department, title, body], '[2,2,2,null]')) STORED);
CREATE TABLE triggered (LIKE petition, fp bigint);
CREATE TRIGGER fp BEFORE INSERT ON triggered FOR EACH ROW
  EXECUTE FUNCTION simhash_trigger('fp', '[2,2,2,null]', 'petitioner', 'department', 'title', 'body');
SELECT way, round((:rows / seconds)::numeric) AS "rows a second"
FROM (VALUES (0, 'without a fingerprint', 'plain'), (1, 'generated column', 'generated'), (2, 'trigger', 'triggered')) v(at, way, into_table),
  LATERAL seconds('INSERT INTO ' || into_table || ' SELECT * FROM petition')
ORDER BY at;

\echo 'Distances'
ALTER TABLE petition ADD fp bigint;
UPDATE petition SET fp = simhash(body);
SELECT expression, round((:rows / seconds / 1e6)::numeric, 2) AS "million rows a second"
FROM (VALUES (1, 'fp IS NOT NULL'), (2, 'hamming(fp, 42) < 9'), (3, 'near_dup(fp, 42, 8)')) v(at, expression),
  LATERAL seconds('SELECT count(*) FROM petition WHERE ' || expression)
ORDER BY at;
