-- All functions say the same of two rows, also where random tables (tests/tap/058_agreement.pl) seldom lead.
CREATE EXTENSION pg_dedup;
CREATE SCHEMA agreement;
SET search_path = agreement, public;
SET client_min_messages = warning;
-- What dedup and dedup_find say of a table with settings: pairs of a kept row and another one.
CREATE FUNCTION said(of text, OUT by_dedup text, OUT by_find text, OUT into_differs bigint) LANGUAGE plpgsql AS $$ BEGIN
    EXECUTE format($f$SELECT string_agg(concat_ws('-', keeper, id), ' ' ORDER BY keeper, id) FROM dedup(%L) WHERE stage IN ('exact', 'near')$f$, of) INTO by_dedup;
    EXECUTE format($f$SELECT string_agg(concat_ws('-', t.id, f.id), ' ' ORDER BY t.id, f.id) FROM %I t, dedup_find(t) f WHERE t.id < f.id$f$, of) INTO by_find;
    IF to_regclass(of || '_groups') IS NOT NULL THEN
        EXECUTE format('SELECT count(*) FROM dedup(%L) d FULL JOIN %I_groups g USING (id) WHERE (d.keeper, d.stage) IS DISTINCT FROM (g.keeper, g.stage)', of, of) INTO into_differs;
    END IF;
END $$;

-- A value that counts as a whole beside texts: of two customers, though the texts are equal symbols, or so short that texts would be compared.
CREATE TABLE wish (id int PRIMARY KEY, customer text, body text);
INSERT INTO wish VALUES (1, 'Harbour Mills', '♥'), (2, 'Quarry Bakery', '♥'), (3, 'Quarry Bakery', '♥'), (4, 'Harbour Mills', 'no water'), (5, 'Quarry Bakery', 'no water'),
    (6, 'Quarry Bakery', 'no water'), (7, 'Elm Tree', 'lamp broken'), (8, 'Elm Tree', 'bus late'), (9, 'Elm Tree', 'noise at night'), (10, NULL, '♥');
SELECT * FROM dedup_setup('wish', '{"columns": {"body": null, "customer": 20}, "method": "text"}');
SELECT count(*) FROM dedup_setup('wish', '{"columns": {"body": null, "customer": 20}}');
SELECT method FROM dedup_settings WHERE tbl = 'wish'::regclass;
CALL dedup_into('wish_groups', 'wish');
SELECT * FROM said('wish');
INSERT INTO wish SELECT i, 'customer ' || i, 'wish ' || md5(i::text) || ' ' || md5((-i)::text) FROM generate_series(20, 80) i;
CALL dedup_into('wish_groups', 'wish');
INSERT INTO wish VALUES (101, 'Quarry Bakery', '♥'), (102, 'Elm Tree', '♥'), (103, 'Elm Tree', '♥');
DELETE FROM wish WHERE id = 2;
CALL dedup_into('wish_groups', 'wish');
SELECT id, keeper, stage FROM wish_groups WHERE id < 20 OR id > 100 ORDER BY id;
SELECT * FROM said('wish');
SELECT id, keeper FROM dedup_clean('wish') ORDER BY id;
-- A text alone says nothing of the customer.
SELECT string_agg(id::text, ' ' ORDER BY id) AS hearts FROM dedup_find('wish', '♥');

-- The distance is that of the rows, whichever has the same text.
CREATE TABLE given (id int PRIMARY KEY, body text, fp bigint);
INSERT INTO given VALUES (1, 'no water since monday', 0), (2, 'no water since tuesday', 7), (3, 'no water since monday', 1);
SELECT id, keeper, stage, distance FROM dedup('given', '{"columns": "body", "fp": "fp", "keep": "last", "distance": 8, "similarity": 0.3, "n": 2, "details": []}');
SELECT a, b, part, value FROM dedup_explain('given', 'VALUES (2, 3)', '{"columns": "body", "fp": "fp", "distance": 8, "similarity": 0, "n": 2, "details": []}');
-- What is not compared is said.
UPDATE given SET fp = NULL WHERE id = 2;
SELECT part, value FROM dedup_explain('given', 'VALUES (2, 3)', '{"columns": "body", "fp": "fp", "distance": 8, "similarity": 0, "n": 2, "details": []}');
SELECT part, value FROM dedup_explain('given', 'VALUES (2, 3)', '{"columns": "body", "method": "exact"}');

-- By records, symbols alone beside nothing.
CREATE TABLE sign (id int PRIMARY KEY, a text, b text);
INSERT INTO sign SELECT i, 'name ' || md5(i::text), 'street ' || i FROM generate_series(1, 50) i;
INSERT INTO sign VALUES (101, NULL, '☆'), (102, NULL, '☆'), (103, '☆', NULL), (104, '☆', '★'), (105, '☆', '★');
SELECT count(*) FROM dedup_setup('sign', '{"columns": ["a", "b"], "method": "records"}');
SELECT * FROM said('sign');

-- Where a frame is cut out of a text stand n-grams that the index does not have: here those that are looked for first.
CREATE TABLE framed (id int PRIMARY KEY, body text);
CREATE FUNCTION own(i int) RETURNS text LANGUAGE sql AS
    $$ SELECT string_agg(chr(24000 + abs(hashint8extended(n, i) % 9000)::int), '' ORDER BY n) FROM generate_series(1, 26) n $$;
INSERT INTO framed SELECT i, own(i) || chr(20000 + i) || '本站郑重声明以下内容由网友投稿上传仅代表作者个人观点与本网立场无关如有侵权请联系管理员删除谢谢合作并欢迎继续关注我们' || own(-i) FROM generate_series(1, 200) i;
INSERT INTO framed SELECT 1000 + id, body FROM framed;
SELECT count(*) FROM dedup_setup('framed', '{"method": "text", "similarity": 1, "n": 2, "details": []}');
SELECT count(*) AS copies FROM dedup('framed') WHERE stage = 'exact';
SELECT count(*) AS found FROM framed t, dedup_find(t) f WHERE t.id < f.id;
SELECT part, left(in_a, 6) AS in_a, in_a = in_b AS same, value FROM dedup_explain('framed', 'VALUES (1, 2), (1, 1001)', '{}') ORDER BY a, b, part;

-- What dedup_setup learns anew counts in a result too, also if nothing else has changed; once it does, calls change nothing.
CREATE TABLE lift (id int PRIMARY KEY, body text);
INSERT INTO lift SELECT i, 'something else ' || md5(i::text) || ' ' || md5((-i)::text) FROM generate_series(1, 300) i;
SELECT count(*) FROM dedup_setup('lift', '{"method": "fingerprint", "distance": 30, "similarity": 0.5, "n": 2, "details": ["slot"]}');
CALL dedup_into('lift_groups', 'lift', '{"follow": true}');
INSERT INTO lift SELECT 1000 + n, 'The lift in ' || street || ' Court, flat ' || n || ', is broken again and nobody comes to mend it.'
    FROM unnest('{Ashford,Birch,Canal,Dover,Elm,Foundry,Grange,Harbour,Iris,Juniper,Kilburn,Lowther}'::text[]) WITH ORDINALITY AS s(street, n);
CALL dedup_into('lift_groups', 'lift');
SELECT count(DISTINCT keeper) AS groups FROM lift_groups WHERE id > 1000;
SELECT count(*) FROM dedup_setup('lift');
CALL dedup_into('lift_groups', 'lift');
SELECT count(DISTINCT keeper) AS groups FROM lift_groups WHERE id > 1000;
SELECT into_differs, by_find FROM said('lift');
CREATE TABLE before AS SELECT id, xmin::text AS at FROM lift_groups;
CALL dedup_into('lift_groups', 'lift');
SELECT count(*) AS written FROM (SELECT id, xmin::text FROM lift_groups EXCEPT TABLE before) w;
SELECT rows FROM lift_groups_state;

-- A followed table whose columns change places, or whose labels get other names, is compared.
CREATE TYPE trouble AS ENUM ('there is no water in the house', 'the lamp of the street is dark');
CREATE TABLE followed (id int PRIMARY KEY, body text, other text, label trouble);
INSERT INTO followed SELECT i, md5(i::text) || md5((-i)::text), 'the same in all rows of the table', (enum_range(NULL::trouble))[1 + i % 2] FROM generate_series(1, 20) i;
CALL dedup_into('by_body', 'followed', '{"columns": "body", "follow": true, "method": "text", "similarity": 0.5, "n": 2, "details": []}');
CALL dedup_into('by_label', 'followed', '{"columns": ["label"], "follow": true, "method": "text", "similarity": 0.9, "n": 2, "details": []}');
SELECT count(DISTINCT b.keeper) AS by_body, count(DISTINCT l.keeper) AS by_label FROM by_body b, by_label l;
ALTER TABLE followed RENAME body TO kept;
ALTER TABLE followed RENAME other TO body;
ALTER TYPE trouble RENAME VALUE 'the lamp of the street is dark' TO 'There is no water in the house';
CALL dedup_into('by_body', 'followed');
CALL dedup_into('by_label', 'followed');
SELECT count(DISTINCT b.keeper) AS by_body, count(DISTINCT l.keeper) AS by_label FROM by_body b, by_label l;
ALTER TABLE followed DROP body;
ALTER TABLE followed ADD body text DEFAULT 'new';
UPDATE followed SET body = kept WHERE id < 3;
CALL dedup_into('by_body', 'followed');
SELECT count(DISTINCT keeper) AS by_body FROM by_body;

-- Slots that somebody has named: freed (copies that differ in nothing else are one), told at the foot of a letter, by settings, by the call, and of a query.
CREATE TABLE repair (id int PRIMARY KEY, body text);
INSERT INTO repair SELECT i, format('Dear office, the lift in %s Court is broken again, says tenant %s to all of us.', s[1 + i % 12], s[1 + (i * 5 + i / 12) % 12])
    FROM generate_series(0, 35) i, (SELECT '{Ashford,Birch,Canal,Dover,Elm,Foundry,Grange,Harbour,Iris,Juniper,Kestrel,Linden}'::text[] AS s) AS street;
SELECT count(*) > 0 AS made FROM dedup_setup('repair', '{"method": "text", "similarity": 0.5, "n": 3, "details": ["name", "slot"]}');
CALL dedup_into('repair_groups', 'repair');
SELECT count(*) FILTER (WHERE stage = 'near') AS near FROM dedup('repair');
SELECT * FROM said('repair');
SELECT count(*) FROM dedup_setup('repair', '{"method": "text", "similarity": 0.5, "n": 3, "details": ["name", "slot"], "slots": {"says tenant ___": false, "opens at ___": true}}');
CALL dedup_into('repair_groups', 'repair');
SELECT * FROM said('repair');
CREATE TRIGGER guard BEFORE INSERT ON repair FOR EACH ROW EXECUTE FUNCTION near_dup_guard('action=skip');
INSERT INTO repair SELECT 100 + i, format('Dear office, the lift in %s Court is broken again, says tenant Quarry to all of us.', s) FROM unnest('{Elm,Rowan}'::text[]) WITH ORDINALITY AS t(s, i);
SELECT id, body FROM repair WHERE id > 99;
SELECT count(*) FILTER (WHERE stage = 'near') AS by_call FROM dedup('repair', '{"slots": {"tenant ___": true}}');
SELECT a, b, part, in_a, in_b FROM dedup_explain('repair', 'VALUES (0, 12), (0, 1)', '{}') WHERE part IN ('name', 'slot');
SELECT count(*) FILTER (WHERE stage = 'near') AS of_query FROM dedup('SELECT id, body FROM repair', '{"method": "text", "similarity": 0.5, "n": 3, "details": ["name", "slot"], "slots": {"tenant ___ to all": false}}');
-- Slots of a call stand for those of the settings; none count without the detail.
SELECT count(*) FILTER (WHERE stage = 'near') AS by_call FROM dedup('repair', '{"slots": {"no such ___": false}}');
SELECT count(*) FILTER (WHERE stage = 'near') AS by_call FROM dedup('repair', '{"details": []}');
-- Two answers that it is one thing settle all rows of the template.
DROP TRIGGER guard ON repair;
SELECT count(*) FROM dedup_setup('repair', '{"method": "text", "similarity": 0.5, "n": 3, "details": ["name", "slot"], "slots": null, "decisions": true}');
CALL dedup_into('repair_groups', 'repair');
SELECT * FROM said('repair');
INSERT INTO repair_decisions (a, b, same) VALUES (0, 12, true), (1, 13, true);
SELECT count(*) FROM dedup_setup('repair', '{"refit": true}');
SELECT options -> 'slots' AS slots FROM dedup_settings WHERE tbl = 'repair'::regclass ORDER BY version DESC LIMIT 1;
CALL dedup_into('repair_groups', 'repair');
SELECT * FROM said('repair');
DROP SCHEMA agreement CASCADE;
-- Dead rows make no table larger: the chosen distance, which narrows as it grows, stays.
CREATE TABLE worn (id int PRIMARY KEY, body text, k int DEFAULT 0);
INSERT INTO worn SELECT i, (SELECT string_agg(CASE WHEN i > 1200 AND (j * 7 + i) % 25 < 3 + i % 6 THEN md5(i || ' ' || j) ELSE (ARRAY['water','lift','street','house','office',
    'school','noise','night','garden','bridge','river','winter','doctor','letter','broken','people','please','month','child','road','market','light','train','paper',
    'stone','window','summer','bottle','castle','forest'])[1 + abs(hashint4((i - i / 1201 * 1200) * 100 + j)) % 30] END, ' ' ORDER BY j) FROM generate_series(1, 25) j)
    FROM generate_series(1, 1350) i;
SELECT count(*) FROM dedup_setup('worn', '{"method": "fingerprint", "details": [], "similarity": 0.1}');
SELECT distance, distances -> '24' AS rows FROM dedup_settings WHERE tbl = 'worn'::regclass;
CREATE TABLE fresh AS SELECT id, keeper, stage FROM dedup('worn');
UPDATE worn SET k = 1;
UPDATE worn SET k = 2;
SELECT count(*) FROM (SELECT id, keeper, stage FROM dedup('worn') EXCEPT TABLE fresh) d;
DROP TABLE worn, fresh;
DROP EXTENSION pg_dedup;
