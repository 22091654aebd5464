-- dedup_series: rows that say the same but for a name, a date or a number, in Chinese and English; which rows are in one does
-- not depend on their order.
CREATE EXTENSION pg_dedup;
\set SHOW_CONTEXT never
CREATE TABLE question (id integer PRIMARY KEY, content text);
INSERT INTO question VALUES
    (1, '如何评价青山队对阵绿水队的比赛？'), (2, '五月3日的天气怎么样'), (3, '如何评价红星队对阵蓝月队的比赛'),
    (4, '居住证怎样办理'), (5, '如何评价《白云》队对阵黑土队的比赛'), (6, '五月4日的天气怎么样'), (7, '居住证怎样办理？'),
    (8, '五月5日的天气怎么样'), (9, NULL), (10, ''), (11, '！？'), (12, '如何评价红星队对阵蓝月队的比赛'), (13, '为什么海水是咸的');
SELECT * FROM dedup_series('question');
SELECT template, count(*) AS rows, array_agg(gaps[1] ORDER BY id) AS first_gap FROM dedup_series('SELECT * FROM question ORDER BY id DESC') GROUP BY template ORDER BY rows DESC, 1;
-- What must differ.
SELECT DISTINCT template FROM dedup_series('question', '{"particulars": ["date", "number"]}') ORDER BY 1;
SELECT DISTINCT template FROM dedup_series('question', '{"particulars": ["name"]}') ORDER BY 1;
SELECT count(*) FROM dedup_series('question', '{"particulars": []}');
SELECT count(*) FROM dedup_series('question', '{"similarity": 0.9}');

-- A blank in the texts is no mark of a gap, and long templates that differ where they are not shown are two.
SELECT template, gaps FROM dedup_series($$VALUES (1, '姓名____申请办理3号楼的____电梯卡'), (2, '姓名＿＿＿＿申请办理5号楼的____电梯卡')$$);
SELECT series, template, count(*) AS rows FROM dedup_series($$SELECT row_number() OVER (), 'The street lamp in front of the old school ' || w || ' has been out since the last week of May at number ' || i
    FROM generate_series(1, 20) i, (SELECT string_agg(md5((k % 3)::text || k), ' ') AS w FROM generate_series(1, 30) k GROUP BY k % 3) middle$$) GROUP BY 1, 2 ORDER BY 1;

-- English, with ids of another type and columns that are named.
CREATE TABLE ticket (code text PRIMARY KEY, subject text, note text, stars integer);
INSERT INTO ticket VALUES
    ('a', 'Bus 12 to Ashford was late on Monday', NULL, 1), ('b', 'bus 7 to Wexcombe was late on Monday!', NULL, 1),
    ('c', 'Bus 12 to New Malden was late on Monday', 'x', 1), ('d', 'The street lamp in front of the school is broken', NULL, 1),
    ('e', 'The street lamp in front of the school is still broken', NULL, 1);
SELECT * FROM dedup_series('ticket', '{"text": "subject"}', NULL::text);
SELECT id, gaps FROM dedup_series('ticket', '{"text": ["subject", "note"], "id": "code", "n": 4}', id_type => NULL::text);
SELECT id, gaps FROM dedup_series('SELECT stars, subject FROM ticket') ORDER BY gaps;
-- The settings of a table name its columns.
SET client_min_messages = warning;
DO $$ BEGIN PERFORM dedup_setup('ticket', '{"columns": "subject"}'); END $$;
RESET client_min_messages;
SELECT count(*) FROM dedup_series('ticket', NULL, NULL::text);

-- Many: a series of thousands, some among others, and nobody's order of rows matters.
CREATE TABLE many AS
SELECT i AS id, CASE i % 5
    WHEN 0 THEN format('%s号楼%s单元的电梯坏了什么时候能修好', i % 97, i % 7)
    WHEN 1 THEN format('关于%s路公交车早高峰晚点的问题', i)
    ELSE (SELECT string_agg(chr(19968 + (hashint8extended(i, k) & 2047)::int), '') FROM generate_series(1, 14) k) END AS content
FROM generate_series(1, 5000) i;
CREATE TABLE found AS SELECT * FROM dedup_series('SELECT id, content FROM many');
SELECT series, template, count(*) AS rows, count(DISTINCT gaps) AS ways FROM found GROUP BY 1, 2 ORDER BY 1;
SELECT count(*) FROM found f FULL JOIN dedup_series('SELECT id, content FROM many ORDER BY hashint4(id)') o USING (id)
WHERE (f.series, f.template, f.gaps) IS DISTINCT FROM (o.series, o.template, o.gaps);
-- Nothing, and what is not possible.
SELECT * FROM dedup_series('SELECT 1, ''a'' WHERE false');
SELECT * FROM dedup_series(NULL);
SELECT * FROM dedup_series('question', '{"distance": 3}');
SELECT * FROM dedup_series('question', '{"similarity": 0}');
SELECT * FROM dedup_series('question', '{"n": 9}');
SELECT * FROM dedup_series('question', '{"particulars": ["place"]}');
SELECT * FROM dedup_series('question', '[]');
SELECT * FROM dedup_series('ticket', '{"text": "subject"}');
SELECT * FROM dedup_series('SELECT NULL::int, ''a''');
SELECT * FROM dedup_series('SELECT 1');
SELECT * FROM dedup_series('SELECT 1, 2');
SELECT * FROM dedup_series('SELECT 1, repeat(''停水了'', 6000000)');
SET pg_dedup.memory_limit = '1MB';
SELECT count(*) FROM dedup_series('SELECT id, content FROM many');
RESET pg_dedup.memory_limit;
DROP TABLE question, ticket, many, found;
DROP EXTENSION pg_dedup;
