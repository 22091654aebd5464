-- What people have decided of two rows stands over every comparison, in every function.
CREATE EXTENSION pg_dedup;
SET client_min_messages = warning;
CREATE TABLE lamp (id bigint PRIMARY KEY, body text);
INSERT INTO lamp VALUES (1, 'the street lamp in front of the school has been dark for three weeks'),
    (2, 'the street lamp in front of the school has been dark for three weeks now'),
    (3, 'the street lamp in front of the school has been dark for three weeks'),
    (4, 'garbage is not collected behind the market since monday'),
    (5, 'noise from the building site at night keeps the children awake'),
    (6, 'garbage is not collected behind the market since monday morning'), (7, '!!');
SELECT * FROM dedup_setup('lamp', '{"decisions": true, "recipe": {}, "method": "text", "similarity": 0.5, "n": 2, "details": []}');
SELECT * FROM dedup_setup('lamp', '{"decisions": true}');
INSERT INTO lamp_decisions (a, b, same) VALUES (2, 1, false), (5, 4, true), (7, 5, true);
SELECT a, b, same, decided_by = current_user AS by, decided_at = now() AS at, note FROM lamp_decisions;
-- A copy goes where the first of its text goes, the third row to the kept one that it is near to.
SELECT id, keeper, stage, distance, round(similarity::numeric, 2) AS similarity FROM dedup('lamp');
SELECT id, keeper, stage FROM dedup('lamp', '{"group": "components"}');
SELECT id, keeper, stage FROM dedup('lamp', '{"method": "fingerprint", "distance": 20, "keep": "last"}');
SELECT id, keeper, stage FROM dedup('lamp', '{"method": "exact"}');
SELECT id, keeper, stage FROM dedup('SELECT id, body FROM lamp', '{"decisions": "lamp_decisions", "method": "text", "similarity": 0.5, "n": 2, "details": []}');
SELECT t.id, f.id AS found, round(f.similarity::numeric, 2) AS similarity, decided FROM lamp t, dedup_find(t) f ORDER BY 1, 2;
SELECT a, b, part FROM dedup_explain('lamp', 'VALUES (1, 2), (4, 5), (7, 4), (2, 3)', NULL) WHERE part ~ 'decided|group';
SELECT dedup_report('lamp') ~ 'decided to be the same' AS reported;
SELECT id, stage FROM dedup_clean('lamp');
SELECT id, stage FROM dedup_clean('lamp', options => '{"decided": true}');
-- dedup_into moves the rows when something else is decided.
CALL dedup_into('lamp_groups', 'lamp');
SELECT id, cluster, keeper, stage FROM lamp_groups ORDER BY id;
DELETE FROM lamp_decisions WHERE a = 4;
UPDATE lamp_decisions SET same = true, note = 'on second thoughts' WHERE a = 1;
CALL dedup_into('lamp_groups', 'lamp');
SELECT id, cluster, keeper, stage FROM lamp_groups ORDER BY id;
-- Equal texts can be of two matters; what is decided of a row that is gone still holds.
INSERT INTO lamp_decisions (a, b, same) VALUES (1, 3, false), (99, 4, true), (99, 6, false);
SELECT id, keeper, stage FROM dedup('lamp');
-- The guard lets in what is not the same, edits included, whoever writes.
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON lamp FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
UPDATE lamp SET body = body || '!' WHERE id = 6;
UPDATE lamp SET body = body || '!' WHERE id = 2;
CREATE ROLE regress_clerk;
GRANT SELECT, UPDATE ON lamp TO regress_clerk;
SET ROLE regress_clerk;
UPDATE lamp SET body = body || '!' WHERE id = 6;
SELECT count(*) FROM dedup('lamp');
RESET ROLE;
DROP TRIGGER guard ON lamp;
-- Refused: what contradicts, and one row alone. The pair itself can be written anew.
TRUNCATE lamp_decisions;
INSERT INTO lamp_decisions (a, b, same) VALUES (1, 2, true), (2, 3, true), (4, 5, false), (3, 4, true);
INSERT INTO lamp_decisions (a, b, same) VALUES (5, 1, true);
INSERT INTO lamp_decisions (a, b, same) VALUES (4, 2, false);
UPDATE lamp_decisions SET same = true WHERE a = 4;
UPDATE lamp_decisions SET a = 1, b = 4, same = false WHERE a = 3;
INSERT INTO lamp_decisions (a, b, same) VALUES (4, 3, false);
INSERT INTO lamp_decisions (a, b, same) VALUES (3, 3, true);
INSERT INTO lamp_decisions (a, b, same) VALUES (5, 4, true) ON CONFLICT (a, b) DO UPDATE SET same = excluded.same;
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO lamp_decisions (a, b, same) VALUES (8, 9, true);
ROLLBACK;
SELECT a, b, same FROM lamp_decisions ORDER BY 1, 2;
-- Refused: what is no such table.
CREATE VIEW seen AS SELECT * FROM lamp_decisions;
CREATE TABLE other (a bigint, b integer, same boolean);
SELECT count(*) FROM dedup('lamp', '{"decisions": "seen"}');
SELECT count(*) FROM dedup('lamp', '{"decisions": "other"}');
SELECT count(*) FROM dedup('lamp', '{"decisions": "missing"}');
SELECT count(*) FROM dedup('lamp', '{"decisions": true}');
SELECT * FROM dedup_clean('lamp', options => '{"decided": 1}');
CREATE TABLE planted (a bigint, b bigint, same boolean);
ALTER TABLE planted OWNER TO regress_clerk;
SELECT * FROM dedup_setup('lamp', '{"decisions": "planted"}');
ALTER TABLE planted OWNER TO current_user;
ALTER TABLE planted ENABLE ROW LEVEL SECURITY;
SELECT * FROM dedup_setup('lamp', '{"decisions": "planted"}');
CREATE TABLE moment (at timestamptz PRIMARY KEY, body text);
SELECT * FROM dedup_setup('moment', '{"decisions": true}');
-- What was decided of a row that dedup_clean removes holds for the kept one.
TRUNCATE lamp_decisions;
INSERT INTO lamp_decisions (a, b, same) VALUES (3, 2, false);
UPDATE lamp SET body = 'the street lamp in front of the school has been dark for three weeks' WHERE id IN (1, 3);
SELECT id, keeper, stage FROM dedup_clean('lamp', dry_run => false);
SELECT id, keeper, stage FROM dedup_clean('lamp', dry_run => false);
SELECT a, b, same, note FROM lamp_decisions ORDER BY a;
-- Taken back, and by another name; ids of any type, equal as their type has it.
SELECT * FROM dedup_setup('lamp', '{"decisions": null}');
SELECT id, keeper, stage FROM dedup('lamp');
CREATE TABLE "Named" (nr numeric PRIMARY KEY, body text);
INSERT INTO "Named" VALUES (1.0, 'the street lamp in front of the school has been dark for three weeks'),
    (2.0, 'the street lamp in front of the school has been dark for three weeks now'),
    (3.0, 'the street lamp in front of the school has been dark for three weeks');
SELECT * FROM dedup_setup('"Named"', '{"decisions": "\"My decisions\"", "recipe": {}, "method": "text", "similarity": 0.5, "n": 2, "details": []}');
INSERT INTO "My decisions" (a, b, same) VALUES (2, 1.00, false);
SELECT id, keeper, stage FROM dedup('"Named"', NULL, NULL::numeric);
SELECT t.nr, f.id FROM "Named" t, dedup_find(t, NULL, NULL::numeric) f ORDER BY 1, 2;
-- Cut off, the names of two tables of decisions are one.
CREATE TABLE "一二三四五六七八九十一二三四五六七甲" (id int PRIMARY KEY, body text);
CREATE TABLE "一二三四五六七八九十一二三四五六七乙" (id int PRIMARY KEY, body text);
SELECT count(*) > 0 AS set_up FROM dedup_setup('"一二三四五六七八九十一二三四五六七甲"', '{"decisions": true, "columns": "body"}');
SELECT count(*) FROM dedup_setup('"一二三四五六七八九十一二三四五六七甲"', '{"decisions": null}');
SELECT count(*) FROM dedup_setup('"一二三四五六七八九十一二三四五六七甲"', '{"decisions": true}');
SELECT dedup_setup('"一二三四五六七八九十一二三四五六七乙"', '{"decisions": true, "columns": "body"}');
DROP TABLE "一二三四五六七八九十一二三四五六七甲", "一二三四五六七八九十一二三四五六七乙", "一二三四五六七八九十一二三四五六七_decisions";
DROP TABLE lamp, lamp_archive, lamp_decisions, lamp_groups, lamp_groups_merges, lamp_groups_state, other, planted, moment, "Named", "My decisions" CASCADE;
DROP ROLE regress_clerk;
DROP EXTENSION pg_dedup;
