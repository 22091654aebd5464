-- What people are asked, and limits chosen anew by their answers.
CREATE EXTENSION pg_dedup;
SET client_min_messages = warning;
CREATE TABLE lamp (id integer PRIMARY KEY, body text);
-- Of twenty lamps each is told once more with a few words changed, of ten with another number.
INSERT INTO lamp SELECT i, format('the street lamp %s in front of the %s school has been dark for 3 weeks and nobody from the %s office comes',
    substr(w, 1, 6), substr(w, 7, 8), substr(w, 15, 8)) FROM generate_series(1, 20) i, translate(md5(i::text), '0123456789', 'ghijklmnop') w;
INSERT INTO lamp SELECT id + 100, replace(body, 'for 3 weeks', repeat('and very dim ', id / 4) || 'for weeks') FROM lamp WHERE id <= 20;
INSERT INTO lamp SELECT id + 200, replace(body, '3', '4') FROM lamp WHERE id <= 10;
INSERT INTO lamp SELECT id + 300, body FROM lamp WHERE id <= 3;
SELECT count(*) FROM dedup_setup('lamp', '{"recipe": {}, "method": "text", "similarity": 0.95, "n": 2, "details": []}');
-- Nothing to choose by yet.
SELECT dedup_setup('lamp', '{"refit": true}');
SELECT count(*) FROM dedup_setup('lamp', '{"decisions": true}');
SELECT a, b, same, kind, round(score::numeric, 2) AS score, moves, only_a, only_b FROM dedup_review('lamp', 6);
SELECT in_a = (SELECT body FROM lamp WHERE id = a) AS a, in_b = (SELECT body FROM lamp WHERE id = b) AS b FROM dedup_review('lamp', 1);
-- What is asked is what dedup says, and is not asked again once it is answered. No answer contradicts others, whatever it is.
CREATE TABLE asked (a bigint, b bigint, same boolean, kind text, said boolean, CHECK (a <> b));
CREATE UNIQUE INDEX ON asked (least(a, b), greatest(a, b));
CREATE FUNCTION answer(n integer) RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE some bigint; BEGIN
    INSERT INTO asked SELECT a, b, same, kind, a % 100 = b % 100 FROM dedup_review('lamp', n);
    GET DIAGNOSTICS some = ROW_COUNT;
    INSERT INTO lamp_decisions (a, b, same) SELECT a, b, said FROM asked ON CONFLICT DO NOTHING;
    RETURN some;
END $$;
SELECT count(*) AS "not as dedup" FROM dedup_review('lamp', 50) r JOIN dedup('lamp') x ON x.id = r.a JOIN dedup('lamp') y ON y.id = r.b
    WHERE r.same <> (x.keeper = y.keeper);
SELECT answer(2);
-- Too little, which is said, and changes nothing.
SET client_min_messages = notice;
SELECT dedup_setup('lamp', '{"refit": true}');
SET client_min_messages = warning;
SELECT answer(10), answer(10), answer(10), answer(10);
SELECT kind, same, said, count(*) FROM asked GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SET client_min_messages = notice;
SELECT dedup_setup('lamp', '{"refit": true}', dry_run => true) ~ '"similarity": 0' AS chosen;
RESET client_min_messages;
SELECT version, similarity FROM dedup_settings WHERE tbl = 'lamp'::regclass ORDER BY version;
SELECT count(*) FROM dedup_setup('lamp', '{"refit": true}');
SELECT version, similarity < 0.95 AS lower FROM dedup_settings WHERE tbl = 'lamp'::regclass ORDER BY version;
TRUNCATE lamp_decisions;
SELECT count(*) FILTER (WHERE keeper % 100 = id % 100) AS "right", count(*) FILTER (WHERE keeper % 100 <> id % 100) AS wrong FROM dedup('lamp') WHERE id <> keeper;
-- What dedup_undo writes of a whole run is nobody's answer.
INSERT INTO lamp_decisions (a, b, same, note) SELECT i, i + 100, false, 'dedup_undo' FROM generate_series(1, 20) i;
SET client_min_messages = notice;
SELECT count(*) FROM dedup_setup('lamp', '{"refit": true}');
SET client_min_messages = warning;
TRUNCATE lamp_decisions;
-- A kind of details that tells nothing apart counts no more: all answers say so.
SELECT count(*) FROM dedup_setup('lamp', '{"details": ["number"], "similarity": 0.4}');
SELECT a % 100 = b % 100 AS one, same, kind FROM dedup_review('lamp', 8) WHERE kind = 'number';
INSERT INTO lamp_decisions (a, b, same) SELECT i, i + 200, true FROM generate_series(1, 6) i;
SET client_min_messages = notice;
SELECT count(*) FROM dedup_setup('lamp', '{"refit": true}');
SET client_min_messages = warning;
SELECT details FROM dedup_settings WHERE tbl = 'lamp'::regclass ORDER BY version DESC LIMIT 1;
-- Records: answers say what agreement in each column is worth, to all functions. Copies keep maker and parts of the name, never the room;
-- in one room devices of a maker are others.
CREATE TABLE device (id integer PRIMARY KEY, name text, maker text, room text);
INSERT INTO device SELECT i, substr(w, 1, 5) || ' ' || substr(w, 6, 4) || ' ' || substr(w, 10, 6), 'maker ' || i % 40, 'room ' || translate((i / 3)::text, '0123456789', 'abcdefghij')
    FROM generate_series(1, 300) i, translate(md5(i::text), '0123456789', 'ghijklmnop') w;
INSERT INTO device SELECT 1000 + id, split_part(name, ' ', 1) || ' ' || split_part(name, ' ', 3), maker, 'room ' || translate((id * 7 % 97)::text, '0123456789', 'abcdefghij') FROM device WHERE id % 2 = 0;
INSERT INTO device SELECT 2000 + id, split_part(name, ' ', 1) || ' ' || substr(md5(id::text), 1, 4), maker, room FROM device WHERE id % 5 = 1 AND id < 1000;
CREATE FUNCTION is_copy(a bigint, b bigint) RETURNS boolean LANGUAGE sql RETURN a % 1000 = b % 1000 AND a / 1000 + b / 1000 = 1;
CREATE VIEW judged AS SELECT count(*) FILTER (WHERE is_copy(id, keeper)) AS "right", count(*) FILTER (WHERE NOT is_copy(id, keeper)) AS wrong
    FROM dedup('device') WHERE id <> keeper;
SELECT count(*) FROM dedup_setup('device', '{"columns": ["name", "maker", "room"], "method": "records", "decisions": true}');
SELECT * FROM judged;
CALL dedup_into('device_groups', 'device');
DO $$ BEGIN FOR i IN 1 .. 4 LOOP
    INSERT INTO device_decisions (a, b, same) SELECT a, b, is_copy(a, b) FROM dedup_review('device', 10);
    PERFORM dedup_setup('device', '{"refit": true}');
END LOOP; END $$;
TRUNCATE device_decisions;
SELECT * FROM judged;
SELECT count(*) AS disagree FROM dedup('device') d JOIN device USING (id)
    WHERE d.keeper <> d.id IS DISTINCT FROM EXISTS (SELECT FROM dedup_find(device) f WHERE f.id < d.id AND f.repeats);
SELECT a, "column", part, value > 0 AS "for" FROM dedup_explain('device', 'VALUES (2, 1002)', '{}');
-- A result goes on by the settings as they are, and says which groups are others.
SET client_min_messages = notice;
CALL dedup_into('device_groups', 'device');
CALL dedup_into('device_groups', 'device');
SELECT count(*) FROM dedup_setup('device', '{"similarity": 0.99999}');
CALL dedup_into('device_groups', 'device');
SET client_min_messages = warning;
SELECT count(*) AS disagree FROM dedup('device') d JOIN device_groups g USING (id) WHERE d.keeper <> g.keeper;
-- It stays when weights are learned anew, and goes with the settings.
SET client_min_messages = notice;
SELECT dedup_setup('device');
SET client_min_messages = warning;
SELECT count(*) FROM dedup_setup('device', '{"drop": true}');
SELECT count(*) FROM dedup_setup('device', '{"columns": ["name", "maker", "room"], "method": "records"}');
SELECT * FROM judged;
DROP TABLE device_groups, device_decisions;
DROP VIEW judged;
DROP FUNCTION is_copy;
DROP TABLE device;
-- Ids of another type, fingerprints, records, a query.
CREATE TABLE people (id uuid PRIMARY KEY, name text, town text);
INSERT INTO people SELECT md5(i::text)::uuid, 'name' || substr(md5((i % 30)::text), 1, 6), CASE WHEN i <= 30 THEN 'town' || i % 30 / 3 END FROM generate_series(1, 40) i;
SELECT a < b AS ordered, same, kind, score > 0.5 AS likely, replace(in_a, chr(10), ' | ') AS in_a FROM dedup_review('people', 2, '{"method": "records", "columns": ["name", "town"]}', NULL::uuid);
SELECT kind, count(*) FROM dedup_review('SELECT id, body FROM lamp', 9, '{"recipe": {}, "distance": 8, "similarity": 0.5, "n": 2, "details": []}') GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM dedup_review('lamp', options => '{"method": "exact"}');
\set VERBOSITY terse
SELECT dedup_review('lamp', 0);
SELECT dedup_review('people');
SELECT dedup_review('lamp', 3, '{"labels": "id"}');
SELECT dedup_setup('lamp', '{"refit": true, "n": 3}');
SELECT dedup_setup('people', '{"refit": true}');
DROP TABLE asked, lamp_decisions, lamp, people;
DROP FUNCTION answer;
DROP EXTENSION pg_dedup;
