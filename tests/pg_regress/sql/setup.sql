-- A table's settings: dedup_setup, and what it makes; dedup_find.
\set VERBOSITY default
CREATE EXTENSION pg_dedup;
SET timezone = 'UTC';
CREATE SCHEMA setup;
SET search_path = setup, public;

CREATE TABLE ticket (id bigint PRIMARY KEY, subject text, body text, opened date, priority integer);
INSERT INTO ticket
    SELECT i, 'Street lamp', format('The street lamp near the school in %s has been broken for %s weeks and children walk home in the dark, please repair it.',
        (ARRAY['Oak Street','Elm Road','Pine Lane','Birch Way','Willow Close','Harbour Quay','Station Square','Mill Bridge'])[1 + i % 8], 1 + i / 8), '2024-03-01', i % 3
    FROM generate_series(1, 12) i;
INSERT INTO ticket VALUES
    (20, 'Water', 'There has been no water in our building since Monday morning, and nobody from the housing office answers the telephone.', '2024-03-02', 1),
    (21, 'No water', 'There has been no water in our building since Monday morning and nobody at the housing office answers the telephone!', '2024-03-03', 2),
    (22, 'Bus', 'The bus to the hospital leaves ten minutes early every evening, so that nurses of the late shift have to wait for an hour.', '2024-03-04', 1);

-- Several columns could be meant.
SELECT * FROM dedup_setup('ticket');
-- What would be done; nothing is.
SELECT * FROM dedup_setup('ticket', '{"columns": "body"}', dry_run => true);
SELECT attname FROM pg_attribute WHERE attrelid = 'ticket'::regclass AND attname = 'fp';
SELECT count(*) FROM dedup_settings;
-- It is done, rows that are there are filled; then there is nothing to do.
SELECT * FROM dedup_setup('ticket', '{"columns": "body"}');
SELECT * FROM dedup_setup('ticket', '{"columns": "body"}');
SELECT * FROM dedup_setup('ticket');
SELECT tbl, version, options, columns, recipes, fp, id, similarity, n, empty FROM dedup_settings;
SELECT count(fp) FROM ticket;
\d ticket

-- What a text repeats, nearest first, and why.
SELECT * FROM dedup_find('ticket', 'Since Monday morning there has been no water in our building and nobody from the housing office answers the telephone.', 20);
-- Within the distance of the settings, and by a row that is not stored.
SELECT id, distance, round(similarity::numeric, 2) AS similarity FROM dedup_find('ticket', (SELECT body FROM ticket WHERE id = 20));
SELECT f.id, f.distance, round(f.similarity::numeric, 2) AS similarity
FROM dedup_find(jsonb_populate_record(NULL::ticket, '{"body": "There has been no water in our building since Monday morning, and nobody from the housing office answers the phone."}'), 20) f;
-- A stored row does not repeat itself.
SELECT t.id, f.id AS repeats FROM ticket t, dedup_find(t) f WHERE t.id IN (20, 22);
SELECT t.id, f.id AS repeats FROM ticket t, dedup_find(t, 64) f WHERE t.id = 20;
-- NULL and texts without a feature repeat nothing.
SELECT count(*) FROM dedup_find('ticket', NULL);
SELECT count(*) FROM dedup_find('ticket', '…');
SELECT count(*) FROM dedup_find(NULL::ticket);
SELECT count(*) FROM dedup_find('ticket', 'water', 65);
SELECT count(*) FROM dedup_find(NULL::text, 'water');
SELECT count(*) FROM dedup_find(ROW(1, 2));
-- The search goes through the index.
SET client_min_messages = debug1;
SELECT count(*) FROM dedup_find('ticket', 'water');
RESET client_min_messages;

-- Another distance is another version; the column stays. What is not named stays as it is; null has it chosen again.
SELECT * FROM dedup_setup('ticket', '{"distance": 9, "similarity": 0.25}');
SELECT version, options, distance, similarity, n FROM dedup_settings ORDER BY version;
SELECT * FROM dedup_setup('ticket', '{"similarity": null}');
-- Other columns are another fingerprint.
SELECT * FROM dedup_setup('ticket', '{"columns": {"subject": 2, "body": null, "priority": 1}, "distance": 12, "n": 3}');
SELECT columns, recipes FROM dedup_settings ORDER BY version DESC LIMIT 1;
SELECT count(*) FROM ticket WHERE fp = simhash(ARRAY[subject, body, priority::text],
    (SELECT recipes FROM dedup_settings WHERE tbl = 'ticket'::regclass ORDER BY version DESC LIMIT 1));
SELECT f.id, f.shared, f.only_new, f.only_row FROM ticket t, dedup_find(t, 30) f WHERE t.id = 20 AND f.id = 21;
SELECT id, shared FROM dedup_find('ticket', (SELECT body FROM ticket WHERE id = 20), 12);
-- Why two rows are as far apart as they are.
SELECT e."column", e.feature, e.found_in, e.weight_a, e.weight_b FROM ticket a, ticket b, simhash_explain(a, b) e
WHERE a.id = 20 AND b.id = 21 AND e."column" <> 'body' ORDER BY 1, 2;
SELECT sum(e.bits)::numeric(5, 2) = hamming(a.fp, b.fp) AS bits_add_up FROM ticket a, ticket b, simhash_explain(a, b) e
WHERE a.id = 20 AND b.id = 22 GROUP BY a.fp, b.fp;
SELECT count(*) FROM ticket a, pg_class b, simhash_explain(a, b) WHERE a.id = 20;
-- Columns and tables may get other names.
ALTER TABLE ticket RENAME body TO "Body text";
ALTER TABLE ticket RENAME TO "My tickets";
SELECT id, distance FROM dedup_find('"My tickets"', (SELECT "Body text" FROM "My tickets" WHERE id = 20), 12);
SELECT * FROM dedup_setup('"My tickets"', '{"distance": 14}');
ALTER TABLE "My tickets" RENAME TO ticket;
ALTER TABLE ticket RENAME "Body text" TO body;

-- What depends on the column is not dropped.
CREATE VIEW prints AS SELECT id, fp FROM ticket;
CREATE INDEX ticket_print ON ticket (fp);
SELECT * FROM dedup_setup('ticket', '{"columns": "body"}');
DROP VIEW prints;
DROP INDEX ticket_print;
ALTER TABLE ticket ADD CONSTRAINT fp_known CHECK (fp IS NOT NULL);
SELECT * FROM dedup_setup('ticket', '{"columns": "body"}');
ALTER TABLE ticket DROP CONSTRAINT fp_known;
ALTER TABLE ticket ADD CONSTRAINT fp_near EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~) WHERE (id > 100);
SELECT * FROM dedup_setup('ticket', '{"columns": "body"}');
ALTER TABLE ticket DROP CONSTRAINT fp_near;
CREATE TRIGGER watch AFTER UPDATE OF fp ON ticket FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
SELECT * FROM dedup_setup('ticket', '{"columns": "body"}');
DROP TRIGGER watch ON ticket;
-- An index that is missing is made; the column may get another name.
DROP INDEX ticket_fp_idx;
SELECT * FROM dedup_setup('ticket');
SELECT * FROM dedup_setup('ticket', '{"columns": "body", "fp": "print"}');
-- A column that somebody drops or makes otherwise.
ALTER TABLE ticket DROP print;
SELECT count(*) FROM dedup_find('ticket', 'water');
ALTER TABLE ticket ADD print bigint;
SELECT * FROM dedup_setup('ticket', '{"columns": "body", "fp": "print"}');
ALTER TABLE ticket DROP print;
SELECT * FROM dedup_setup('ticket', '{"columns": "body", "fp": null, "recipe": {"tokens": "words"}, "distance": 10, "similarity": 0.5, "n": 2}');
-- Settings are taken away; the column and its index stay, for somebody may use them.
SELECT * FROM dedup_setup('ticket', '{"drop": true}', dry_run => true);
SELECT * FROM dedup_setup('ticket', '{"drop": true, "fp": "print"}');
SELECT * FROM dedup_setup('ticket', '{"drop": false}');
SELECT * FROM dedup_setup('ticket', '{"drop": true}');
SELECT count(*) FROM dedup_settings;
SELECT count(*) FROM dedup_find('ticket', 'water');
-- The column that is there already is that one.
SELECT * FROM dedup_setup('ticket', '{"columns": "body", "recipe": {"tokens": "words"}, "distance": 10, "similarity": 0.5, "n": 2}');

-- Chinese, uuid keys, an empty table, names that need quotes.
CREATE TABLE "信访" (编号 uuid PRIMARY KEY, 标题 varchar(40), 内容 text);
SELECT * FROM dedup_setup('信访', '{"columns": {"标题": 2, "内容": null}}');
INSERT INTO "信访" VALUES
    ('00000000-0000-0000-0000-000000000001', '小区停水', '我们小区从上周一开始停水，到今天已经五天了，物业说是水管爆裂，但一直没有人来修，老人孩子用水困难，请尽快派人处理。'),
    ('00000000-0000-0000-0000-000000000002', '小区停水', '我们小区从上周一开始停水,到今天已经5天了,物业说是水管爆裂,但一直没有人来修,老人孩子用水困难,请尽快派人处理！'),
    ('00000000-0000-0000-0000-000000000003', '路灯不亮', '学校门口的路灯坏了一个多月，晚上接孩子很不安全，打了几次电话都没有回音，希望有关部门尽快修复。');
-- Chosen again, for now there are rows.
SELECT * FROM dedup_setup('信访');
SELECT id, shared, only_new, only_row FROM dedup_find('信访', '我们小区从上周一开始停水，到今天已经六天了，物业说是水管爆裂，一直没有人来修，请尽快派人处理。', 20, NULL::uuid);
SELECT f.id, f.shared FROM "信访" t, dedup_find(t, NULL, NULL::uuid) f WHERE t.编号 = '00000000-0000-0000-0000-000000000001';
SELECT count(*) FROM dedup_find('信访', '停水');
SELECT * FROM dedup_setup('信访', '{"details": ["date"], "keep": "longest"}');
SELECT id FROM dedup_find('信访', (SELECT 内容 FROM "信访" WHERE 标题 = '小区停水' ORDER BY 编号 LIMIT 1), 20, NULL::uuid);

-- Keys of other types; no key.
CREATE TABLE page (url text PRIMARY KEY, body text);
SELECT * FROM dedup_setup('page');
INSERT INTO page VALUES ('/a', 'The bridge is closed until June'), ('/b', 'The bridge is closed until June');
SELECT p.url, f.id FROM page p, dedup_find(p, NULL, NULL::text) f ORDER BY 1;
CREATE TABLE keyless (number smallint, body text);
SELECT * FROM dedup_setup('keyless', '{"columns": "body", "distance": 5, "similarity": 0, "n": 2, "recipe": {}}');
SELECT * FROM dedup_find('keyless', 'bridge');
SELECT count(*) FROM dedup_setup('keyless', '{"id": "number"}');
INSERT INTO keyless VALUES (7, 'The bridge is closed'), (8, NULL);
SELECT id FROM dedup_find('keyless', 'The bridge is closed');

-- Partitions: the settings are those of the whole.
CREATE TABLE part (id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (10);
INSERT INTO part VALUES (1, 'The bridge is closed until June'), (2, 'The bridge is closed until June.');
SELECT * FROM dedup_setup('part_1');
SELECT * FROM dedup_setup('part', '{"recipe": {}, "distance": 5, "similarity": 0.4, "n": 2}');
CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (10) TO (20);
INSERT INTO part VALUES (11, 'The bridge is closed until June!');
SELECT id FROM dedup_find('part', 'the bridge is closed until june') ORDER BY 1;
SELECT id FROM dedup_find('part_2', 'the bridge is closed until june') ORDER BY 1;

-- The guard takes what it is not told from the settings, and new ones at once.
CREATE TABLE guarded (id integer PRIMARY KEY, subject text, body text);
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON guarded FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
INSERT INTO guarded VALUES (1, 'Water', 'There has been no water in our building since Monday morning.');
SELECT count(*) FROM dedup_setup('guarded', '{"columns": ["subject", "body"], "recipe": {"tokens": "words"}, "distance": 6, "similarity": 0.6, "n": 3}');
INSERT INTO guarded VALUES (1, 'Water', 'There has been no water in our building since Monday morning.');
INSERT INTO guarded VALUES (2, 'Water', 'There has been no water in our building since monday morning!');
SELECT count(*) FROM dedup_setup('guarded', '{"similarity": 1, "n": 8}');
INSERT INTO guarded VALUES (2, 'Water', 'There has been no water in our building since monday evening: morning!');
SELECT count(*) FROM dedup_setup('guarded', '{"distance": 64, "similarity": 0}');
INSERT INTO guarded VALUES (3, 'Bus', 'The bus to the hospital leaves ten minutes early every evening.');
BEGIN;
SELECT count(*) FROM dedup_setup('guarded', '{"distance": 0}');
INSERT INTO guarded VALUES (3, 'Bus', 'The bus to the hospital leaves ten minutes early every evening.');
ROLLBACK;
INSERT INTO guarded VALUES (3, 'Bus', 'The bus to the hospital leaves ten minutes early every evening.');
SELECT count(*) FROM dedup_setup('guarded', '{"distance": 20, "details": ["name"]}');
INSERT INTO guarded VALUES (4, 'Bus', 'Bus 12 to the hospital leaves ten minutes early every evening.'), (5, 'Bus', 'Bus 14 to the hospital leaves ten minutes early every evening.');
INSERT INTO guarded VALUES (6, 'Bus', 'Bus 14 to the hospital leaves ten minutes early every evening!');
DROP TRIGGER guard ON guarded;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON guarded FOR EACH ROW EXECUTE FUNCTION near_dup_guard('action=skip', 'distance=0');
INSERT INTO guarded VALUES (6, 'Bus', 'Bus 14 to the hospital leaves ten minutes early every evening!'), (7, 'Bus', 'Bus 16 leaves early.');
SELECT id FROM guarded ORDER BY id;
-- On a partitioned table they are those of the whole.
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON part FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
INSERT INTO part VALUES (12, 'The bridge is closed until June?');
INSERT INTO part_1 VALUES (3, 'The bridge is closed until June?');
-- A whole has the rows of its partitions, once.
ANALYZE part;
INSERT INTO dedup_settings SELECT (jsonb_populate_record(s, '{"version": 9, "distance": 6, "distances": {"4": null, "6": 3}}')).* FROM dedup_settings s WHERE tbl = 'part'::regclass;
INSERT INTO part VALUES (12, 'The bridge is closed until June?');

-- Errors.
CREATE VIEW looked AS SELECT * FROM page;
SELECT * FROM dedup_setup('looked');
DROP VIEW looked;
SELECT * FROM dedup_setup('page_pkey');
SELECT * FROM dedup_setup(NULL);
SELECT * FROM dedup_setup('ticket', '[1]');
SELECT * FROM dedup_setup('ticket', '{"colums": "body"}');
SELECT * FROM dedup_setup('ticket', '{"contained": 0.7}');
SELECT * FROM dedup_setup('ticket', '{"columns": []}');
SELECT * FROM dedup_setup('ticket', '{"columns": ["body", "body"]}');
SELECT * FROM dedup_setup('ticket', '{"columns": [1]}');
SELECT * FROM dedup_setup('ticket', '{"columns": 1}');
SELECT * FROM dedup_setup('ticket', '{"columns": "text"}');
SELECT * FROM dedup_setup('ticket', '{"columns": ["body", "fp"]}');
SELECT * FROM dedup_setup('ticket', '{"columns": ["body", "opened"]}', dry_run => true);
ALTER TABLE ticket ADD COLUMN closed timestamptz;
SELECT * FROM dedup_setup('ticket', '{"columns": ["body", "closed"]}');
ALTER TABLE ticket DROP COLUMN closed;
SELECT * FROM dedup_setup('ticket', '{"columns": {"body": {"tokens": "x"}}}');
SELECT * FROM dedup_setup('ticket', '{"columns": {"body": -1}}');
SELECT * FROM dedup_setup('ticket', '{"recipe": {"body": 2}}');
SELECT * FROM dedup_setup('ticket', '{"recipe": 2}');
SELECT * FROM dedup_setup('ticket', '{"distance": 65}');
SELECT * FROM dedup_setup('ticket', '{"n": 0}');
SELECT * FROM dedup_setup('ticket', '{"similarity": 2}');
SELECT * FROM dedup_setup('ticket', '{"fp": "subject"}');
SELECT * FROM dedup_setup('ticket', '{"fp": 1}');
SELECT * FROM dedup_setup('ticket', '{"id": "number"}');
UPDATE dedup_settings SET distance = 1;
TRUNCATE dedup_settings;
INSERT INTO dedup_settings (tbl, version, options, columns, recipes, fp, distance, similarity, n) VALUES ('none', 1, '{}', '{body}', '[null]', 'fp', 1, 1, 1);
INSERT INTO dedup_settings (tbl, version, options, columns, recipes, fp, distance, similarity, n) VALUES ('page_pkey', 1, '{}', '{body}', '[null]', 'fp', 1, 1, 1);

-- Whose affair settings are.
CREATE ROLE setup_other;
GRANT USAGE ON SCHEMA setup TO setup_other;
GRANT SELECT ON ticket TO setup_other;
SET ROLE setup_other;
SELECT * FROM dedup_setup('ticket');
SELECT * FROM dedup_setup('ticket', dry_run => true);
INSERT INTO dedup_settings (tbl, version, options, columns, recipes, fp, distance, similarity, n) VALUES ('ticket', 99, '{}', '{body}', '[null]', 'fp', 64, 0, 1);
SELECT * FROM dedup_setup('ticket', '{"drop": true}');
DELETE FROM dedup_settings;
UPDATE dedup_settings SET distance = 1;
TRUNCATE dedup_settings;
LOCK TABLE dedup_settings IN ROW SHARE MODE;
SELECT count(*) > 0 FROM dedup_settings;
SELECT count(*) FROM dedup_find('ticket', 'There has been no water in our building since Monday morning, and nobody from the housing office answers the telephone.');
RESET ROLE;
REVOKE SELECT ON ticket FROM setup_other;
SET ROLE setup_other;
SELECT count(*) FROM dedup_find('ticket', 'water');
RESET ROLE;

-- No cast that another role made runs as whoever searches.
CREATE TYPE mood AS ENUM ('calm', 'angry');
CREATE FUNCTION mood_text(mood) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'run as %', current_user; RETURN 'mood'; END $$;
CREATE CAST (mood AS text) WITH FUNCTION mood_text(mood);
CREATE TABLE moody (id integer PRIMARY KEY, state mood, fp bigint GENERATED ALWAYS AS (simhash(mood_text(state))) STORED);
SELECT * FROM dedup_setup('moody', '{"columns": "state", "fp": "print"}');
INSERT INTO dedup_settings (tbl, version, options, columns, recipes, fp, distance, similarity, n) VALUES ('moody', 1, '{}', '{state}', '[null]', 'fp', 64, 0, 1);
SELECT count(*) FROM dedup_find('moody', 'calm');
DROP TABLE moody;
DROP TYPE mood CASCADE;
-- Settings of dropped tables go with the next call.
DROP TABLE keyless;
SELECT count(*) FROM dedup_settings WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = tbl);
SELECT count(*) FROM dedup_setup('page');
SELECT count(*) FROM dedup_settings WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = tbl);

RESET client_min_messages;
DROP SCHEMA setup CASCADE;
DELETE FROM dedup_settings;
DROP ROLE setup_other;
DROP EXTENSION pg_dedup;
