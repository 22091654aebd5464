-- The tables on which the examples of docs/ run, each page by itself in an empty database:
--
--     psql -X -f examples/tables.sql
--
-- Their texts are made up. Larger ones: `scripts/demo`.

CREATE EXTENSION IF NOT EXISTS pg_dedup;

-- Petitions with a fingerprint of the body: 1 and 2 are one complaint, 4 is 3 for another street.
CREATE TABLE petition (
    id bigint PRIMARY KEY, petitioner text, department text, title text, body text, filed_at timestamp, state text DEFAULT 'open',
    fp bigint GENERATED ALWAYS AS (simhash(body)) STORED
);
INSERT INTO petition (id, petitioner, department, title, body, filed_at) VALUES
    (1, '王芳', '住建局', '小区停水', '我们小区从上周一开始停水，到今天已经五天了，物业说是水管爆裂，但一直没有人来修，老人孩子用水困难，请尽快派人处理。', '2024-03-08 09:10'),
    (2, '李强', '住建局', '小区停水', '我们小区从上周一开始停水,到今天已经5天了,物业说是水管爆裂,但一直没有人来修,老人孩子用水困难,请尽快派人处理！', '2024-03-08 15:42'),
    (3, '张敏', '交通局', '路灯不亮', '解放路小学门口的路灯坏了一个多月，晚上接孩子很不安全，打了几次电话都没有回音，希望有关部门尽快修复。', '2024-04-02 20:05'),
    (4, '陈静', '交通局', '路灯不亮', '望江路小学门口的路灯坏了一个多月，晚上接孩子很不安全，打了几次电话都没有回音，希望有关部门尽快修复。', '2024-04-05 19:30');

-- Short texts.
CREATE TABLE title (id bigint PRIMARY KEY, content text);
INSERT INTO title VALUES (1, '怎样办理居住证'), (2, '居住证怎么办理'), (3, '公租房什么时候摇号');

-- Web pages, one of which quotes another.
CREATE TABLE page (id bigint PRIMARY KEY, body text);
INSERT INTO page VALUES
    (1, 'The bridge over the river will be closed for repairs from the first of May until the end of June'),
    (2, 'The city says: the bridge over the river will be closed for repairs from the first of May until the end of June. '
        'Buses take the northern road, and tickets stay valid for both lines.'),
    (3, 'The swimming pool opens on Saturday, and entry is free for children.');

-- Papers with keywords.
CREATE TABLE paper (id bigint PRIMARY KEY, fp bigint, keywords text[]);
INSERT INTO paper VALUES (1, simhash('近似重复文本的检测方法'), '{去重,指纹}'), (2, simhash('近似重复文本的检测方法研究'), '{去重,指纹,索引}');

-- Pairs that were found, and pairs that a person judged to be the same.
CREATE TABLE found (a bigint, b bigint);
INSERT INTO found VALUES (1, 2), (3, 4);
CREATE TABLE judged_same (a bigint, b bigint);
INSERT INTO judged_same VALUES (1, 2);
ANALYZE;
