-- dedup_find where no row is repeated: "nearest" gives the rows that come nearest all the same, and changes nothing else.
SET client_min_messages = warning;
CREATE EXTENSION pg_dedup;
CREATE TABLE ticket (id bigint PRIMARY KEY, body text);
SELECT count(*) FROM dedup_setup('ticket', '{"columns": "body", "recipe": {}, "method": "fingerprint", "distance": 10, "similarity": 0.5, "n": 2, "details": ["name"]}');
\set water '''There has been no water in our building in Harbour Street since Monday morning, and nobody from the housing office answers the telephone.'''
-- An empty table, and one row alone.
SELECT id, repeats FROM dedup_find('ticket', :water, options => '{"nearest": 5}');
INSERT INTO ticket VALUES (1, :water);
SELECT t.id, f.id AS repeats FROM ticket t, dedup_find(t, options => '{"nearest": 5}') f;
INSERT INTO ticket VALUES
    (2, 'There has been no water in our building in Harbour Street since monday morning and nobody from the housing office answers the telephone!'),
    (3, 'There has been no gas in our flats in Harbour Street since Tuesday evening, and nobody from the housing office calls us back or writes.'),
    (4, 'The street lamp in front of the school has been broken for a month, and our children walk home in the dark.'),
    (5, NULL), (6, '…'), (7, '♥');
-- Where something is repeated that is all, with the option and without.
SELECT t.id, f.id AS found, f.repeats FROM ticket t, dedup_find(t, NULL, '{"nearest": 2}'::jsonb) f WHERE f.repeats ORDER BY 1, 2;
SELECT t.id, f.id AS found, f.repeats FROM ticket t, dedup_find(t) f ORDER BY 1, 2;
-- Where nothing is, the nearest: a row of the table, a text, by another distance, as many as there are.
SELECT f.id, f.distance, round(f.similarity::numeric, 2) AS similarity, f.shared, f.only_new, f.decided, f.repeats FROM ticket t, dedup_find(t, options => '{"nearest": 2}') f WHERE t.id = 3;
SELECT id, distance > 0 AS far, repeats FROM dedup_find('ticket', 'no gas in Harbour Street', 0, '{"nearest": 1}'::jsonb);
SELECT count(*), bool_or(repeats) AS repeats FROM dedup_find('ticket', 'a bridge', options => '{"nearest": 100}');
SELECT count(*) FROM dedup_find('ticket', 'a bridge', options => '{"nearest": 0}');
SELECT count(*) FROM dedup_find('ticket', 'a bridge', options => '{}');
-- Nothing to compare has no neighbours, nor has what only equals.
SELECT count(*) FROM dedup_find('ticket', NULL, options => '{"nearest": 3}');
SELECT count(*) FROM dedup_find('ticket', '?!', options => '{"nearest": 3}');
SELECT t.id, f.id AS found FROM ticket t, dedup_find(t, options => '{"nearest": 3}') f WHERE t.id >= 5;
SELECT count(*) FROM dedup_find(NULL::ticket, options => '{"nearest": 3}');
-- What people have decided to be not the same is told as nearest, and what is decided of it.
SELECT count(*) FROM dedup_setup('ticket', '{"decisions": true}');
INSERT INTO ticket_decisions (a, b, same) VALUES (1, 2, false), (3, 4, true);
SELECT t.id, f.id AS found, f.decided, f.repeats FROM ticket t, dedup_find(t, options => '{"nearest": 1}') f WHERE t.id IN (1, 3) ORDER BY 1, 2;
-- Values that it cannot have.
\set VERBOSITY default
SELECT * FROM dedup_find('ticket', 'a bridge', options => '{"nearest": 101}');
SELECT * FROM dedup_find('ticket', 'a bridge', options => '{"nearest": -1}');
SELECT * FROM dedup_find('ticket', 'a bridge', options => '{"distance": 3}');
SELECT * FROM dedup_find('ticket', 'a bridge', options => '[]');
\set VERBOSITY terse

-- By text: the most similar of all, however few of the n-grams they share, and the same with the index as without.
CREATE TABLE title (id uuid PRIMARY KEY, name text);
INSERT INTO title SELECT md5(i::text)::uuid, format('%s %s %s', (ARRAY['red','green','blue','black','white'])[1 + i % 5], (ARRAY['lamp','chair','table','shelf','sofa','desk','stool'])[1 + i % 7], (ARRAY['north','south','east','west','oak','elm','pine','birch','willow','rose','iron'])[1 + i % 11])
FROM generate_series(1, 380) i;
SELECT count(*) FROM dedup_setup('title', '{"columns": "name", "method": "text", "similarity": 0.9, "n": 2, "details": []}');
CREATE TABLE asked AS SELECT * FROM unnest(ARRAY['blue lamps by willows', 'blue', 'a lamp of iron', 'greens', 'zzzz', 'desk']) new;
CREATE FUNCTION nearest(new text) RETURNS text LANGUAGE sql AS $$ SELECT string_agg(round(similarity::numeric, 4)::text, ' ') FROM (
    SELECT f.similarity FROM dedup_find('title', new, NULL, NULL::uuid, '{"nearest": 3}') f ORDER BY 1 DESC LIMIT 3) x $$;
SELECT f.repeats, count(*) FROM asked, dedup_find('title', new, NULL, NULL::uuid, '{"nearest": 3}') f GROUP BY 1;
CREATE TABLE answered AS SELECT new, nearest(new) FROM asked;
SET enable_seqscan = off;
SELECT count(*) FROM answered WHERE nearest(new) IS DISTINCT FROM nearest;
RESET enable_seqscan;
-- They are those that a lower threshold finds.
SELECT count(*) FROM dedup_setup('title', '{"similarity": 0.01}');
SELECT new, nearest, nearest IS NOT DISTINCT FROM nearest(new) AS "is nearest" FROM answered ORDER BY new;

-- By records: the most probable.
CREATE TABLE client (id bigint PRIMARY KEY, name text, street text, city text);
INSERT INTO client SELECT i, format('%s %s', (ARRAY['Ann','Bob','Cem','Dora','Emil','Fay','Gus','Hana'])[1 + i % 8], (ARRAY['Bell','Cook','Dunn','Eads','Frye','Gold','Hart','Ives','Jones'])[1 + i % 9]), format('%s %s', i, (ARRAY['Elm Road','Oak Street','Mill Lane'])[1 + i % 3]), (ARRAY['Leeds','York','Hull','Bath'])[1 + i % 4]
FROM generate_series(1, 200) i;
INSERT INTO client SELECT id + 1000, name, street, city FROM client WHERE id % 10 = 0;
SELECT count(*) FROM dedup_setup('client', '{"method": "records", "columns": ["name", "street", "city"]}');
SELECT f.id, f.repeats FROM dedup_find(jsonb_populate_record(NULL::client, '{"name": "Ann Bell", "street": "7 Far Away", "city": "Rome"}')) f;
CREATE FUNCTION likely() RETURNS text LANGUAGE sql AS $$ SELECT string_agg(round(similarity::numeric, 9)::text, ' ') FROM (
    SELECT f.similarity FROM dedup_find(jsonb_populate_record(NULL::client, '{"name": "Ann Bell", "street": "7 Far Away", "city": "Rome"}'), options => '{"nearest": 2}') f ORDER BY 1 DESC LIMIT 2) x $$;
SELECT likely() AS likely \gset
SELECT f.id, f.repeats FROM client c, dedup_find(c, options => '{"nearest": 2}') f WHERE c.id = 10 AND f.id = 1010;
SELECT count(*) FROM dedup_setup('client', '{"similarity": 0.000000001}');
SELECT likely() = :'likely' AS "is nearest";
-- By fingerprints of several columns: rows without a text take nobody's place.
CREATE TABLE nd (id int PRIMARY KEY, subject text, body text);
INSERT INTO nd SELECT i, 'subject common', '' FROM generate_series(1, 20) i;
INSERT INTO nd SELECT 100 + i, 'other ' || i, 'the lift in building ' || i || ' has been out of order since monday and nobody answers the phone number ' || i * 77 FROM generate_series(1, 5) i;
SELECT count(*) FROM dedup_setup('nd', '{"columns": {"subject": 20, "body": null}, "distance": 3}');
SELECT id, repeats FROM dedup_find(jsonb_populate_record(NULL::nd, '{"subject": "subject common", "body": "zebra"}'), options => '{"nearest": 3}') ORDER BY id;
DROP TABLE ticket, ticket_decisions, title, client, nd, asked, answered;
DROP FUNCTION likely, nearest;
DROP EXTENSION pg_dedup;
