-- What takes a table's settings: dedup, dedup_into, dedup_clean, pairs, calibration and evaluation.
CREATE EXTENSION pg_dedup;
SET client_min_messages = warning;
CREATE TABLE ticket (id integer PRIMARY KEY, subject text, body text, filed date);
INSERT INTO ticket VALUES
    (1, 'Water', 'There has been no water in our building since Monday morning, and nobody from the housing office answers the telephone.', '2024-03-01'),
    (2, 'No water', 'There has been no water in our building since Monday morning and nobody from the housing office answers the telephone!', '2024-03-02'),
    (3, 'Water', 'There has been no water in our building since Monday morning, and nobody from the housing office answers the telephone.', '2024-03-03'),
    (4, 'Bus', 'The bus to the hospital leaves ten minutes early every evening, so that nurses of the late shift have to wait for an hour.', '2024-03-04'),
    (5, 'Lamp', 'The street lamp in front of the school has been broken for a month, and our children walk home in the dark.', '2024-03-05'),
    (6, NULL, NULL, '2024-03-06');
-- Without settings the text is ambiguous; with them it is not, and the stored fingerprints are used.
SELECT * FROM dedup('ticket');
SELECT count(*) FROM dedup_setup('ticket', '{"columns": ["subject", "body"], "recipe": {"tokens": "words"}, "distance": 20, "similarity": 0.6, "n": 3, "keep": {"column": "filed", "order": "desc"}}');
RESET client_min_messages;
SELECT id, keeper, stage, distance, round(similarity::numeric, 2) AS similarity FROM dedup('ticket');
-- What is given wins key by key.
SELECT id, keeper, stage FROM dedup('ticket', '{"keep": "first"}');
SELECT id, keeper, stage FROM dedup('ticket', '{"similarity": 1, "equal": "none"}');
SELECT id, keeper, stage, distance FROM dedup('ticket', '{"columns": "body"}');
SELECT id, keeper, stage, distance FROM dedup('ticket', '{"recipe": {"tokens": "chars"}, "distance": 0}');
SELECT id, keeper, stage FROM dedup('ticket', '{"method": "exact"}');
-- A query is none of its business.
SET client_min_messages = warning;
SELECT id, keeper, stage FROM dedup('SELECT id, body FROM ticket ORDER BY id');
RESET client_min_messages;
-- It is the stored column that counts.
CREATE TABLE other (id integer PRIMARY KEY, body text);
INSERT INTO other SELECT id, body FROM ticket;
SELECT count(*) FROM dedup_setup('other', '{"recipe": {"tokens": "words"}, "distance": 0, "similarity": 0, "n": 2}');
SELECT id, keeper, stage FROM dedup('other');

-- Cleaning: a dry run first. Without settings a table of several texts is refused, in the words of dedup_setup.
CREATE TABLE unset (id uuid PRIMARY KEY, title text, body text);
SELECT * FROM dedup_clean('unset', true, NULL, NULL::uuid);
ALTER TABLE unset DROP title;
SELECT * FROM dedup_clean('unset', true, NULL, NULL::uuid);
DROP TABLE unset;
SELECT id, keeper, stage FROM dedup_clean('ticket');
SELECT count(*) FROM ticket;
CREATE TABLE reply (ticket integer REFERENCES ticket, body text);
INSERT INTO reply VALUES (2, 'We are on our way.');
SELECT id, keeper, stage FROM dedup_clean('ticket', dry_run => false);
SELECT count(*) FROM ticket;
DELETE FROM reply;
CREATE TABLE gone (id integer, subject text);
CREATE FUNCTION note_gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO gone VALUES (OLD.id, OLD.subject); RETURN OLD; END $$;
CREATE TRIGGER note BEFORE DELETE ON ticket FOR EACH ROW EXECUTE FUNCTION note_gone();
SELECT id, keeper, stage FROM dedup_clean('ticket', false);
SELECT * FROM gone ORDER BY id;
SELECT id FROM ticket ORDER BY id;
SELECT count(*) FROM dedup_clean('ticket', false);
-- By uuid, by text, by a domain; the type is asked for.
CREATE DOMAIN code AS varchar(10);
CREATE TABLE by_uuid (id uuid PRIMARY KEY, body text);
CREATE TABLE by_text ("my key" text PRIMARY KEY, body text);
CREATE TABLE by_domain (id code PRIMARY KEY, body text);
INSERT INTO by_uuid SELECT lpad(id::text, 32, '0')::uuid, body FROM other;
INSERT INTO by_text SELECT 'ticket ' || id, body FROM other;
INSERT INTO by_domain SELECT 'T' || id, body FROM other;
SELECT count(*) FROM dedup_setup('by_uuid', '{"distance": 0, "similarity": 0, "n": 2, "recipe": {}}');
SELECT count(*) FROM dedup_setup('by_text', '{"columns": "body", "distance": 0, "similarity": 0, "n": 2, "recipe": {}}');
SELECT count(*) FROM dedup_setup('by_domain', '{"columns": "body", "distance": 0, "similarity": 0, "n": 2, "recipe": {}}');
SELECT * FROM dedup_clean('by_uuid');
SELECT id, keeper, stage FROM dedup_clean('by_uuid', true, NULL, NULL::uuid);
SELECT id, keeper, stage FROM dedup_clean('by_text', dry_run => true, options => NULL, id_type => NULL::text);
SELECT id, keeper, stage FROM dedup_clean('by_text', false, NULL, NULL::text);
SELECT count(*) FROM by_text;
SELECT id, stage FROM dedup_clean('by_domain', false, NULL, NULL::code);
-- Without settings of its own it is what dedup says of the table; without a key there is nothing to delete by.
CREATE TABLE plain (id integer PRIMARY KEY, body text);
INSERT INTO plain VALUES (1, 'a b c'), (2, 'a b c');
SET client_min_messages = warning;
SELECT * FROM dedup_clean('plain', false);
RESET client_min_messages;
CREATE TABLE keyless (body text);
SELECT * FROM dedup_clean('keyless');
SELECT * FROM dedup_clean(NULL);
-- Under row-level security what others have is neither seen nor deleted.
CREATE ROLE clean_clerk;
GRANT SELECT, DELETE ON other TO clean_clerk;
ALTER TABLE other ENABLE ROW LEVEL SECURITY;
CREATE POLICY mine ON other TO clean_clerk USING (id <> 1);
SET ROLE clean_clerk;
SELECT id, keeper FROM dedup_clean('other', false, '{"archive": false}');
RESET ROLE;
SELECT id FROM other ORDER BY id;
REVOKE DELETE ON other FROM clean_clerk;
INSERT INTO other VALUES (7, 'The same again'), (8, 'The same again');
SET ROLE clean_clerk;
SELECT * FROM dedup_clean('other', false, '{"archive": false}');
RESET ROLE;

-- Pairs, calibration, evaluation.
INSERT INTO ticket SELECT id, subject, body FROM gone JOIN other USING (id);
INSERT INTO ticket (id, subject, body) SELECT 11, subject, body || ' Please.' FROM ticket WHERE id = 4;
SELECT * FROM near_dup_pairs('ticket', '{"distance": 20}') ORDER BY a, b;
SELECT count(*) FROM near_dup_calibrate('ticket');
SELECT a, b, round(similarity::numeric, 2) AS similarity FROM near_dup_pairs('ticket', '{"method": "text", "similarity": 0.9}') ORDER BY a, b;
SELECT recall, correct, missed, wrong FROM dedup_evaluate('ticket', 'SELECT 4, 11 UNION SELECT 4, 5');
SELECT correct, missed, wrong FROM dedup_evaluate('by_uuid', $$SELECT lpad('1', 32, '0')::uuid, lpad('3', 32, '0')::uuid$$);

-- Into a table: the settings are those that the table has.
SET client_min_messages = warning;
CALL dedup_into('ticket_groups', 'ticket', '{"group": "single_pass"}');
SELECT id, keeper, stage FROM ticket_groups ORDER BY id;
SELECT options - 'exact' - 'group' FROM ticket_groups_state;
SELECT count(*) FROM dedup_setup('ticket', '{"distance": 3}');
INSERT INTO ticket (id, subject, body) VALUES (12, 'Bus', 'The bus to the hospital leaves ten minutes early every evening, so that nurses of the late shift have to wait for one hour.');
CALL dedup_into('ticket_groups', 'ticket');
SELECT id, keeper, stage FROM ticket_groups ORDER BY id;
-- One that is chosen again too; what else counts of a row gives groups no other names.
SELECT count(*) FROM dedup_setup('ticket', '{"distance": null}');
CALL dedup_into('ticket_groups', 'ticket');
SELECT count(*) AS differ FROM dedup('ticket', '{"group": "single_pass"}') d JOIN ticket_groups g USING (id) WHERE d.keeper <> g.keeper;
SELECT count(*) FROM dedup_setup('ticket', '{"columns": {"subject": 3, "body": null}}');
CALL dedup_into('ticket_groups', 'ticket');
SELECT count(*) AS differ FROM dedup('ticket', '{"group": "single_pass"}') d JOIN ticket_groups g USING (id) WHERE d.keeper <> g.keeper;
SELECT count(*) FILTER (WHERE g.cluster > 9) AS renamed FROM ticket_groups g;
RESET client_min_messages;

DROP TABLE ticket_groups, ticket_groups_merges, ticket_groups_state, reply, ticket, ticket_archive, by_text_archive, by_domain_archive, other, by_uuid, by_text, by_domain, plain, plain_archive, keyless, gone;
DROP FUNCTION note_gone;
DROP DOMAIN code;
DROP ROLE clean_clerk;

-- The check of a domain of ids, which may be somebody else's, is not run by who looks at duplicates; ids that are there
-- twice would take more rows than were shown.
CREATE FUNCTION told(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the check ran'; END $$;
CREATE DOMAIN named AS text;
CREATE TABLE by_domain (id named PRIMARY KEY, body text);
INSERT INTO by_domain SELECT n, 'the street lamp in front of the school has been dark for a month' FROM generate_series(1, 2) n;
SELECT count(*) FROM dedup_setup('by_domain', '{"columns": "body", "distance": 3, "similarity": 0.5}');
ALTER DOMAIN named ADD CHECK (told(VALUE)) NOT VALID;
SET client_min_messages = warning;
SELECT id, keeper, stage FROM dedup_clean('by_domain', true, NULL, NULL::text);
CREATE TABLE twice (grp int, body text);
INSERT INTO twice VALUES (1, 'no water since monday in harbour street'), (2, 'no water since monday in harbour street'), (2, 'another matter altogether');
SELECT count(*) FROM dedup_setup('twice', '{"id": "grp", "columns": "body", "distance": 3, "similarity": 0.5}');
SELECT * FROM dedup_clean('twice', false);
RESET client_min_messages;
DROP TABLE by_domain, twice;

-- One normal form in all that takes settings: the recipe's, of fingerprints and of texts that are compared.
CREATE TABLE letter (id int PRIMARY KEY, body text);
INSERT INTO letter VALUES
    (1, '我们小区的电梯发生故障已经三个星期了，老人上下楼非常困难，物业公司一直没有派人修理，请有关部门尽快处理这个问题'),
    (2, '<p class="first">我們小區的電梯發生故障已經三個星期了，<br>老人上下樓非常困難，物業公司一直沒有派人修理，請有關部門儘快處理這個問題</p>'),
    (3, '学校门口的路灯坏了一个月，晚上接孩子很不安全，请有关部门尽快派人修理，不要等到出了事故才来处理');
SET client_min_messages = warning;
SELECT count(*) FROM dedup_setup('letter', '{"columns": "body", "recipe": {"simplify": true, "markup": "html"}, "distance": 10, "similarity": 0.9, "n": 3, "details": ["name", "number"]}');
SELECT id, keeper, stage, distance, similarity FROM dedup('letter');
SELECT id, keeper, stage FROM dedup_clean('letter');
SELECT t.id, f.id AS repeats, f.distance, f.similarity FROM letter t, dedup_find(t) f ORDER BY 1, 2;
SELECT id, distance, similarity FROM dedup_find('letter', '我們小區的電梯發生故障已經三個星期了，老人上下樓非常困難，物業公司一直沒有派人修理，請有關部門儘快處理這個問題！');
CALL dedup_into('letters', 'letter');
SELECT id, keeper, stage, similarity FROM letters ORDER BY id;
SELECT count(*) FROM near_dup_pairs('letter', '{"method": "text", "similarity": 0.9, "n": 3}');
SELECT * FROM dedup_evaluate('letter', 'VALUES (1, 2)', 'groups', 'pairs');
SELECT dedup_report('letter') ~ '<(p|br)( class="first")?>我' AS shows_markup;
CREATE TRIGGER guard AFTER INSERT ON letter FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
INSERT INTO letter SELECT 4, body FROM letter WHERE id = 2;
INSERT INTO letter SELECT 4, '<div>' || body || '</div>' FROM letter WHERE id = 3;
-- An index of n-grams is of texts as they are written.
SELECT dedup_setup('letter', '{"method": "text"}', dry_run => true);
CREATE TABLE short (id int PRIMARY KEY, body text);
INSERT INTO short VALUES (1, '小区停水三天'), (2, '小區停水三天'), (3, '路灯坏了');
SELECT count(*) FROM dedup_setup('short', '{"columns": "body", "recipe": {"tokens": "chars", "n": [1, 2], "simplify": true}}');
SELECT method FROM dedup_settings WHERE tbl = 'short'::regclass;
SELECT id, keeper, stage FROM dedup('short');

-- One definition of empty, too: such rows are never duplicates, never refused, and there is nothing to find by them.
CREATE TABLE blank (id int PRIMARY KEY, body text, town text);
INSERT INTO blank SELECT id, body, 'Wexcombe' FROM unnest(ARRAY['', '', '  ', '  ', '!!!', '!!!', '…', '…', NULL, NULL, 'the and', 'the and', '😀', '😀',
    'The street lamp in front of the school has been broken for a month.', 'The street lamp in front of the school has been broken for a month!']) WITH ORDINALITY AS t(body, id);
SELECT count(*) FROM dedup_setup('blank', '{"columns": {"body": {"stop": "en"}, "town": 3}, "distance": 20, "similarity": 0}');
SELECT string_agg(id::text, ' ' ORDER BY id) FILTER (WHERE stage = 'empty') AS empty, string_agg(id || '>' || keeper, ' ' ORDER BY id) FILTER (WHERE stage IN ('exact', 'near')) AS duplicates FROM dedup('blank');
SELECT id, keeper, stage FROM dedup_clean('blank');
SELECT t.id, f.id AS repeats FROM blank t, dedup_find(t) f ORDER BY 1, 2;
CREATE TABLE guarded (LIKE blank, PRIMARY KEY (id));
SELECT count(*) FROM dedup_setup('guarded', '{"columns": {"body": {"stop": "en"}, "town": 3}, "distance": 20, "similarity": 0, "fp": "print"}');
CREATE TRIGGER guard AFTER INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
INSERT INTO guarded (id, body, town) SELECT id, body, town FROM blank WHERE id < 16;
INSERT INTO guarded (id, body, town) SELECT id, body, town FROM blank WHERE id = 16;
SELECT string_agg(id::text, ' ' ORDER BY id) FROM guarded;
-- Where other columns count, equal texts alone are no duplicates: for dedup as for dedup_find, whatever is deleted.
CREATE TABLE sent (id int PRIMARY KEY, office text, body text);
INSERT INTO sent SELECT id, office, 'There has been no water in our building in Harbour Street since Monday morning, and nobody answers the telephone.'
    FROM unnest(ARRAY['water board', 'road office', 'water board']) WITH ORDINALITY AS t(office, id);
SELECT count(*) FROM dedup_setup('sent', '{"columns": {"office": 10000, "body": null}, "distance": 6}');
SELECT id, keeper, stage, distance FROM dedup('sent');
SELECT t.id, f.id AS repeats FROM sent t, dedup_find(t) f ORDER BY 1, 2;
SELECT id, keeper FROM dedup('sent', '{"equal": "text"}');
SELECT id, keeper FROM dedup('sent', '{"method": "exact"}');
CALL dedup_into('sents', 'sent');
SELECT id, keeper, stage FROM sents ORDER BY id;
SELECT id, keeper FROM dedup_clean('sent', dry_run => false);
RESET client_min_messages;
SELECT * FROM dedup_find('blank', '');
SELECT * FROM dedup_find('blank', '?!');
SELECT * FROM dedup_find('blank', 'The and');
SELECT id FROM dedup_find('blank', '😀');
SELECT f.id FROM blank t, dedup_find(t) f WHERE t.id = 9;
DROP TABLE letter, letters, letters_merges, letters_state, short, blank, guarded, sent, sent_archive, sents, sents_merges, sents_state;
DROP EXTENSION pg_dedup;
