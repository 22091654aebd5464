-- What dedup_clean removes can be brought back, with what was decided of it and with what pointed at it.
CREATE EXTENSION pg_dedup;
CREATE FUNCTION text_of(n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT (ARRAY['the street lamp in front of the school has been dark for three weeks', 'garbage is not collected behind the market since monday',
        'noise from the building site at night keeps the children awake'])[n] $$;
SET client_min_messages = warning;
CREATE TABLE lamp (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body text, twice int GENERATED ALWAYS AS (extra * 2) STORED, extra int, "Ex""tra" varchar(9)[]);
INSERT INTO lamp (body, extra, "Ex""tra") VALUES (text_of(1), 1, '{a}'), (text_of(1), 2, '{"b,"}'), (text_of(2), 3, NULL), (text_of(1), 4, '{d}'), (text_of(2), 5, '{}');
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', '{"columns": "body", "recipe": {}, "method": "text", "similarity": 0.5, "n": 2, "details": []}');
RESET client_min_messages;
CREATE TABLE before AS TABLE lamp;
SELECT id, keeper, stage FROM dedup_clean('lamp', dry_run => false);
SELECT id, body, twice, extra, "Ex""tra", dedup_run, dedup_keeper, dedup_stage, dedup_similarity, dedup_by = current_user AS by, dedup_at = now() AS at, dedup_children
FROM lamp_archive ORDER BY id;
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attidentity, a.attgenerated FROM pg_attribute a WHERE attrelid = 'lamp_archive'::regclass AND attnum > 0 ORDER BY attnum;
SELECT dedup_undo('lamp', 1, '{2,5}');
SELECT dedup_undo('lamp', 1, '{2}');
SELECT dedup_undo('lamp', 1);
SELECT dedup_undo('lamp', 1);
SELECT dedup_undo('lamp', 7);
SELECT dedup_undo('lamp', 1, archive => 'nowhere');
SELECT dedup_undo(NULL, 1), dedup_undo('lamp', NULL);
SELECT dedup_undo('lamp', NULL);
SELECT count(*) AS back, count(*) FILTER (WHERE l *= b) AS as_it_was FROM lamp l JOIN before b USING (id);
-- For good, into another table, and into none that can be taken for one.
BEGIN;
SELECT id, keeper FROM dedup_clean('lamp', false, '{"archive": false}');
SELECT count(*) FROM lamp_archive;
ROLLBACK;
CREATE SCHEMA "Kept ""ones""";
SELECT id FROM dedup_clean('lamp', false, '{"archive": "\"Kept \"\"ones\"\"\".\"of lamps\""}');
SELECT dedup_undo('lamp', 1, archive => '"Kept ""ones"""."of lamps"');
DROP SCHEMA "Kept ""ones""" CASCADE;
CREATE TABLE other AS TABLE lamp;
CREATE VIEW seen AS TABLE lamp_archive;
SELECT * FROM dedup_clean('lamp', false, '{"archive": "other"}');
SELECT * FROM dedup_clean('lamp', false, '{"archive": "seen"}');
SELECT * FROM dedup_clean('lamp', false, '{"archive": "missing.one"}');
SELECT * FROM dedup_clean('lamp', false, '{"archive": true}');
SELECT * FROM dedup_clean('lamp', false, '{"references": "ignore"}');
DROP VIEW seen;
ALTER TABLE lamp_archive ENABLE ROW LEVEL SECURITY;
SELECT * FROM dedup_clean('lamp', false);
ALTER TABLE lamp_archive DISABLE ROW LEVEL SECURITY;
CREATE RULE away AS ON INSERT TO lamp_archive DO INSTEAD NOTHING;
SELECT * FROM dedup_clean('lamp', false);
SELECT dedup_undo('lamp', 1);
DROP RULE away ON lamp_archive;
CREATE ROLE regress_clerk;
CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''planted, run as %'', current_user; END';
ALTER FUNCTION planted OWNER TO regress_clerk;
CREATE TRIGGER planted BEFORE INSERT ON lamp_archive FOR EACH ROW EXECUTE FUNCTION planted();
SELECT * FROM dedup_clean('lamp', false);
DROP TRIGGER planted ON lamp_archive;
-- Whoever may delete but not create is told; of an archive that may be written by them it goes.
ALTER TABLE lamp_archive RENAME TO old_archive;
GRANT SELECT, DELETE, INSERT ON lamp TO regress_clerk;
SET ROLE regress_clerk;
SELECT * FROM dedup_clean('lamp', false);
SELECT id FROM dedup_clean('lamp', false, '{"archive": "old_archive"}');
RESET ROLE;
ALTER TABLE old_archive RENAME TO lamp_archive;
GRANT SELECT, INSERT, UPDATE, DELETE ON lamp_archive TO regress_clerk;
GRANT USAGE ON SEQUENCE lamp_archive_dedup_run_seq TO regress_clerk;
SET ROLE regress_clerk;
SELECT id FROM dedup_clean('lamp', false);
SELECT dedup_undo('lamp', max(dedup_run)) FROM lamp_archive;
RESET ROLE;
ALTER TABLE lamp_archive OWNER TO regress_clerk;
SELECT id FROM dedup_clean('lamp', false);
ALTER TABLE lamp_archive OWNER TO current_user;
-- Columns that come, go, and change meanwhile.
SELECT id FROM dedup_clean('lamp', false);
ALTER TABLE lamp DROP extra CASCADE, ADD later text DEFAULT 'none', ALTER id TYPE bigint;
SELECT dedup_undo('lamp', (SELECT max(dedup_run) FROM lamp_archive));
ALTER TABLE lamp_archive ALTER id TYPE bigint, ALTER dedup_keeper TYPE bigint;
SELECT dedup_undo('lamp', (SELECT max(dedup_run) FROM lamp_archive));
SELECT id, extra, dedup_stage FROM lamp_archive ORDER BY id;
SELECT id, body, later FROM lamp ORDER BY id;
DELETE FROM lamp_archive;
ALTER TABLE lamp ALTER later TYPE varchar(20);
SELECT id FROM dedup_clean('lamp', false);
SELECT id, later, extra FROM lamp_archive ORDER BY id;
ALTER TABLE lamp ALTER later TYPE text;
INSERT INTO lamp (body) VALUES (text_of(1));
SELECT id FROM dedup_clean('lamp', false);
ALTER TABLE lamp_archive ALTER later TYPE text;
-- Conflicts: all are named, and nothing is done.
INSERT INTO lamp (id, body) OVERRIDING SYSTEM VALUE VALUES (2, 'meanwhile'), (5, 'meanwhile');
SELECT dedup_undo('lamp', (SELECT max(dedup_run) FROM lamp_archive));
SELECT dedup_undo('lamp', (SELECT max(dedup_run) FROM lamp_archive), '{4}');
DELETE FROM lamp WHERE body = 'meanwhile';
CREATE FUNCTION never() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER never BEFORE INSERT OR DELETE ON lamp FOR EACH ROW EXECUTE FUNCTION never();
SELECT dedup_undo('lamp', (SELECT max(dedup_run) FROM lamp_archive));
-- A trigger that keeps a row: it is not in the archive.
SELECT id FROM dedup_clean('lamp', false);
SELECT id FROM lamp_archive ORDER BY id;
DROP TRIGGER never ON lamp;

ALTER TABLE lamp ADD CONSTRAINT late UNIQUE (body, id) DEFERRABLE INITIALLY DEFERRED;
SELECT dedup_undo('lamp', (SELECT max(dedup_run) FROM lamp_archive));
DROP TABLE lamp, lamp_archive, other, before;

-- What people decided comes back, and what they undo stays undone.
SET client_min_messages = warning;
CREATE TABLE lamp (id bigint PRIMARY KEY, body text);
INSERT INTO lamp VALUES (1, text_of(1)), (2, text_of(1)), (3, text_of(1) || ' now'), (4, text_of(2)), (5, text_of(3));
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', '{"decisions": true, "recipe": {}, "method": "text", "similarity": 0.5, "n": 2, "details": []}');
RESET client_min_messages;
INSERT INTO lamp_decisions (a, b, same) VALUES (3, 4, false), (2, 5, false), (4, 5, true);
SELECT id, keeper, stage FROM dedup_clean('lamp', false, '{"decided": true}');
SELECT a, b, same, note FROM lamp_decisions ORDER BY a, b;
SELECT dedup_undo('lamp', 1, '{5}');
SELECT dedup_undo('lamp', 1, '{3}');
SELECT a, b, same, note FROM lamp_decisions ORDER BY a, b;
INSERT INTO lamp_decisions (a, b, same) VALUES (2, 9, true), (1, 9, true);
SELECT dedup_undo('lamp', 1, '{2}');
DELETE FROM lamp_decisions WHERE 9 IN (a, b);
SELECT dedup_undo('lamp', 1, '{2}');
SELECT a, b, same, note FROM lamp_decisions ORDER BY a, b;
CALL dedup_into('lamp_groups', 'lamp');
SELECT (SELECT array_agg(id ORDER BY id) FROM dedup('lamp') WHERE stage = 'exact') AS dedup, (SELECT array_agg(id) FROM dedup_clean('lamp') WHERE keeper = 1) AS clean,
    (SELECT array_agg(id) FROM lamp_groups WHERE keeper = 1 AND id <> 1) AS into, (SELECT array_agg(f.id) FROM lamp t, dedup_find(t) f WHERE t.id = 1) AS find,
    (SELECT array_agg(part) FROM dedup_explain('lamp', 'VALUES (1, 2)', NULL) WHERE part ~ 'decided|group') AS explained;
-- A guard lets rows back that its table had.
INSERT INTO lamp SELECT 6, body FROM lamp WHERE id = 4;
SELECT id FROM dedup_clean('lamp', false);
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON lamp FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
UPDATE lamp SET body = body || ' again' WHERE id IN (1, 2);
BEGIN;
SELECT dedup_undo('lamp', (SELECT max(dedup_run) FROM lamp_archive));
ROLLBACK;
\set VERBOSITY terse
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', '{"decisions": null}');
SELECT dedup_undo('lamp', (SELECT max(dedup_run) FROM lamp_archive));
\set VERBOSITY default
DROP TABLE lamp, lamp_decisions, lamp_archive, lamp_groups, lamp_groups_merges, lamp_groups_state;

-- Foreign keys.
SET client_min_messages = warning;
CREATE TABLE lamp (id bigint PRIMARY KEY, nr int NOT NULL UNIQUE, body text, above bigint REFERENCES lamp);
INSERT INTO lamp VALUES (1, 11, text_of(1), NULL), (2, 12, text_of(1), NULL), (3, 13, text_of(2), 2), (4, 14, text_of(2), 1), (5, 15, text_of(3), 4), (6, 16, text_of(1), 2);
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', '{"columns": "body", "recipe": {}, "method": "text", "similarity": 0.5, "n": 2, "details": []}');
RESET client_min_messages;
CREATE TABLE note (id int PRIMARY KEY, lamp bigint REFERENCES lamp ON DELETE CASCADE, said float8, at date);
INSERT INTO note VALUES (1, 2, 0.1::float8 + 0.2, '2024-01-02'), (2, 2, NULL, NULL), (3, 1, 1, NULL);
CREATE TABLE tag (lamp bigint REFERENCES lamp ON DELETE SET NULL, word text, PRIMARY KEY (lamp, word));
INSERT INTO tag VALUES (1, 'dark'), (2, 'dark'), (2, 'old'), (6, 'old'), (4, 'smell');
CREATE TABLE pair (a bigint REFERENCES lamp, b bigint REFERENCES lamp, PRIMARY KEY (a, b));
INSERT INTO pair VALUES (2, 4), (4, 5);
CREATE TABLE by_nr (nr int REFERENCES lamp (nr), day date, at interval, PRIMARY KEY (day, nr)) PARTITION BY RANGE (day);
CREATE TABLE by_nr_1 PARTITION OF by_nr FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE by_nr_2 PARTITION OF by_nr DEFAULT;
INSERT INTO by_nr VALUES (11, '2024-01-05', '1 day'), (12, '2024-01-05', '2 days'), (12, '2024-03-01', '-3 hours'), (13, '2024-03-01', '0');
SELECT id, keeper FROM dedup_clean('lamp');
SELECT id, keeper FROM dedup_clean('lamp', options => '{"references": "repoint"}');
SELECT id, keeper FROM dedup_clean('lamp', false);
SELECT id, keeper FROM dedup_clean('lamp', false, '{"archive": false}');
SELECT id, keeper FROM dedup_clean('lamp', false, '{"archive": false, "references": "repoint"}');
SELECT (SELECT count(*) FROM lamp) AS lamps, (SELECT count(*) FROM note) AS notes, (SELECT count(*) FROM tag) AS tags;
CREATE VIEW all_rows AS SELECT 'lamp' AS t, to_jsonb(l) - 'fp' AS r FROM lamp l UNION ALL SELECT 'note', to_jsonb(n) FROM note n UNION ALL SELECT 'tag', to_jsonb(g) FROM tag g
    UNION ALL SELECT 'pair', to_jsonb(p) FROM pair p UNION ALL SELECT tableoid::regclass::text, to_jsonb(p) FROM by_nr p;
CREATE TABLE before AS TABLE all_rows;
SET "DateStyle" = 'SQL, DMY';
SET extra_float_digits = -3;
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
SELECT id, above FROM lamp ORDER BY id;
SELECT id, lamp FROM note ORDER BY id;
SELECT lamp, word FROM tag ORDER BY 1, 2;
TABLE pair ORDER BY a;
SELECT tableoid::regclass, nr, day FROM by_nr ORDER BY day, nr;
SELECT id, above, c ->> 'child' AS child, c -> 'removed' AS removed, c -> 'row' AS row FROM lamp_archive LEFT JOIN jsonb_array_elements(dedup_children) c ON true ORDER BY 1, 3, 5;
RESET "DateStyle";
SELECT dedup_undo('lamp', max(dedup_run)) FROM lamp_archive;
RESET extra_float_digits;
(TABLE all_rows EXCEPT TABLE before) UNION ALL (TABLE before EXCEPT TABLE all_rows);
-- A row alone takes with it what pointed at it, unless that was changed since.
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
UPDATE note SET lamp = 5 WHERE id = 2;
SELECT dedup_undo('lamp', (SELECT max(dedup_run) FROM lamp_archive), '{2}');
SELECT id, lamp FROM note ORDER BY id;
SELECT lamp, word FROM tag ORDER BY 1, 2;
ALTER TABLE tag RENAME CONSTRAINT tag_lamp_fkey TO other;
SELECT dedup_undo('lamp', max(dedup_run)) FROM lamp_archive;
SELECT id, dedup_stage FROM lamp_archive;
SELECT lamp, word FROM tag ORDER BY 1, 2;
ALTER TABLE tag RENAME CONSTRAINT other TO tag_lamp_fkey;
-- What cannot be taken back is refused: no key, a trigger that keeps a row, what would go with a row that goes.
CREATE TABLE keyless (lamp bigint REFERENCES lamp);
INSERT INTO keyless VALUES (2);
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
DROP TABLE keyless;
INSERT INTO tag VALUES (6, 'old'), (1, 'old') ON CONFLICT DO NOTHING;
CREATE TABLE said (lamp bigint, word text, FOREIGN KEY (lamp, word) REFERENCES tag ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO said VALUES (2, 'dark'), (2, 'old');
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
DROP TABLE said;
CREATE TRIGGER never BEFORE UPDATE ON note FOR EACH ROW EXECUTE FUNCTION never();
UPDATE note SET lamp = 2;
ALTER TABLE note DISABLE TRIGGER never;
UPDATE note SET lamp = 2;
ALTER TABLE note ENABLE TRIGGER never;
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
DROP TRIGGER never ON note;
CREATE TRIGGER never BEFORE DELETE ON lamp FOR EACH ROW EXECUTE FUNCTION never();
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
DROP TRIGGER never ON lamp;
-- A unique key that is looked at when the transaction ends.
CREATE TABLE late (id int PRIMARY KEY, lamp bigint UNIQUE DEFERRABLE INITIALLY DEFERRED REFERENCES lamp DEFERRABLE INITIALLY DEFERRED);
INSERT INTO late VALUES (1, 1), (2, 2), (3, 4);
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
TABLE late ORDER BY id;
SELECT dedup_undo('lamp', max(dedup_run)) FROM lamp_archive;
TABLE late ORDER BY id;
-- Rows that somebody may not see are counted by nobody but who sees them.
ALTER TABLE lamp OWNER TO regress_clerk;
ALTER TABLE lamp_archive OWNER TO regress_clerk;
GRANT SELECT ON note, tag, pair, by_nr, late TO regress_clerk;
ALTER TABLE note ENABLE ROW LEVEL SECURITY;
SET ROLE regress_clerk;
SELECT id, keeper FROM dedup_clean('lamp', false);
RESET ROLE;
DROP VIEW all_rows;
DROP TABLE before, note, tag, pair, by_nr, late, lamp, lamp_archive;

-- What would be lost on the way there or back is refused, or said, and kept in the archive.
\set settings '{"columns": "body", "recipe": {}, "method": "text", "similarity": 0.5, "n": 2, "details": []}'
SET client_min_messages = warning;
CREATE TABLE lamp (id int PRIMARY KEY, nr int UNIQUE, body text, seen int);
INSERT INTO lamp VALUES (1, NULL, text_of(1), 1), (2, 12, text_of(1), 2), (3, 13, text_of(2), 3), (4, 14, text_of(2), 4);
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', :'settings');
CREATE TABLE tag (lamp int REFERENCES lamp, word text, PRIMARY KEY (lamp, word));
CREATE TABLE said (id int PRIMARY KEY, lamp int, word text, FOREIGN KEY (lamp, word) REFERENCES tag ON UPDATE CASCADE, UNIQUE (lamp, word));
CREATE TABLE heard (lamp int, word text, FOREIGN KEY (lamp, word) REFERENCES said (lamp, word) ON UPDATE SET NULL);
INSERT INTO tag VALUES (2, 'dark');
INSERT INTO said VALUES (1, 2, 'dark');
INSERT INTO heard VALUES (2, 'dark');
RESET client_min_messages;
\set SHOW_CONTEXT never
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
\set SHOW_CONTEXT errors
DROP TABLE heard, said, tag;
CREATE TABLE by_nr (id int PRIMARY KEY, nr int REFERENCES lamp (nr));
INSERT INTO by_nr VALUES (1, 12);
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
DROP TABLE by_nr;
-- Columns of rows that went because of a unique key.
CREATE TABLE note (lamp int PRIMARY KEY REFERENCES lamp, word text, said text[]);
INSERT INTO note VALUES (1, 'one', '{}'), (2, 'two', '{NULL,a}'), (3, 'three', '{}'), (4, 'four', '{NULL,b}');
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
SET array_nulls = off;
SELECT dedup_undo('lamp', 1, '{2}');
RESET array_nulls;
ALTER TABLE note RENAME word TO words;
SELECT dedup_undo('lamp', 1);
TABLE note ORDER BY lamp;
SELECT id, dedup_stage, dedup_children -> 0 -> 'row' ->> 'word' AS word FROM lamp_archive;
-- A trigger that changes rows on their way back.
CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.seen := 0; RETURN NEW; END';
CREATE TRIGGER seen BEFORE INSERT ON lamp FOR EACH ROW EXECUTE FUNCTION seen();
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
SELECT dedup_undo('lamp', 2, '{2}');
SELECT id, seen, dedup_stage FROM lamp_archive WHERE dedup_run = 2 ORDER BY id;
DROP TRIGGER seen ON lamp;
SELECT dedup_undo('lamp', 2);
-- One archive of two tables, and a copy of an archive, which has no sequence.
CREATE TABLE both_of (LIKE lamp_archive);
CREATE TABLE other (id int PRIMARY KEY, body text);
INSERT INTO other VALUES (1, text_of(3)), (2, text_of(3));
DROP TABLE note;
\set VERBOSITY terse
SELECT count(*) > 0 AS set_up FROM dedup_setup('other', :'settings');
SELECT id, keeper FROM dedup_clean('lamp', false, '{"archive": "both_of"}');
SELECT id, keeper FROM dedup_clean('other', false, '{"archive": "both_of"}');
INSERT INTO lamp VALUES (2, 2, text_of(3)), (6, 6, text_of(3));
SELECT id, keeper FROM dedup_clean('lamp', false, '{"archive": "both_of"}');
SELECT dedup_run, dedup_table, id FROM both_of ORDER BY 1, 3;
SELECT dedup_undo('other', 1, archive => 'both_of');
DELETE FROM lamp WHERE id = 2;
ALTER TABLE lamp RENAME TO renamed;
SELECT dedup_undo('renamed', 1, archive => 'both_of');
SELECT id, nr, seen FROM renamed ORDER BY id;
ALTER TABLE renamed RENAME id TO number;
SELECT dedup_undo('renamed', 3, archive => 'both_of');
DROP TABLE renamed, other, both_of, lamp_archive;
DROP FUNCTION seen;
-- Tables that inherit, and a key that does not reach the kept row.
CREATE TABLE lamp (id int PRIMARY KEY, body text);
CREATE TABLE tall (height int, PRIMARY KEY (id)) INHERITS (lamp);
INSERT INTO lamp VALUES (1, text_of(1));
INSERT INTO tall VALUES (2, text_of(1), 9);
CREATE TABLE note (id int PRIMARY KEY, tall int REFERENCES tall);
INSERT INTO note VALUES (1, 2);
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', :'settings');
SELECT id, keeper FROM dedup_clean('lamp', false);
SELECT id, keeper FROM dedup_clean('lamp', false, '{"archive": false}');
DROP TABLE note, tall, lamp;
CREATE TABLE lamp (id int, kind int, body text, PRIMARY KEY (id, kind)) PARTITION BY LIST (kind);
CREATE TABLE lamp_1 PARTITION OF lamp FOR VALUES IN (1);
CREATE TABLE lamp_2 PARTITION OF lamp FOR VALUES IN (2);
INSERT INTO lamp VALUES (1, 1, text_of(1)), (2, 2, text_of(1));
CREATE TABLE note (id int PRIMARY KEY, lamp int, kind int, FOREIGN KEY (lamp, kind) REFERENCES lamp_2);
INSERT INTO note VALUES (1, 2, 2);
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', jsonb_set(:'settings', '{id}', '"id"'));
\set VERBOSITY default
SELECT id, keeper FROM dedup_clean('lamp', false, '{"references": "repoint"}');
TABLE note;
DROP TABLE lamp, note;
-- Ids that are equal though they are written otherwise.
SET client_min_messages = warning;
CREATE TYPE lax;
CREATE FUNCTION lax_in(cstring) RETURNS lax LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION lax_out(lax) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE lax (INPUT = lax_in, OUTPUT = lax_out, LIKE = text);
CREATE CAST (lax AS text) WITHOUT FUNCTION;
DO $$ DECLARE o text[]; BEGIN FOREACH o SLICE 1 IN ARRAY ARRAY[['lt', '<'], ['le', '<='], ['eq', '='], ['ge', '>='], ['gt', '>']] LOOP
    EXECUTE format('CREATE FUNCTION lax_%s(lax, lax) RETURNS boolean LANGUAGE sql IMMUTABLE AS ''SELECT lower($1::text) %s lower($2::text)''', o[1], o[2]);
    EXECUTE format('CREATE OPERATOR %s (LEFTARG = lax, RIGHTARG = lax, FUNCTION = lax_%s)', o[2], o[1]);
END LOOP; END $$;
CREATE FUNCTION lax_cmp(lax, lax) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT bttextcmp(lower($1::text), lower($2::text))';
CREATE OPERATOR CLASS lax_ops DEFAULT FOR TYPE lax USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 lax_cmp(lax, lax);
CREATE TABLE lamp (code lax, body text);
INSERT INTO lamp VALUES ('a', text_of(1)), ('k', text_of(1)), ('K', text_of(2));
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', jsonb_set(:'settings', '{id}', '"code"'));
SELECT * FROM dedup_clean('lamp', false, NULL, NULL::lax);
SELECT code FROM lamp ORDER BY body, code;
DROP TABLE lamp;
DROP TYPE lax CASCADE;
RESET client_min_messages;

-- Partitions, row-level security, ids of any type, and names that are hard to write.
SET client_min_messages = warning;
CREATE TYPE mood AS ENUM ('a', 'b', 'c', 'd');
CREATE DOMAIN code AS uuid;
CREATE FUNCTION round_trip(type text, ids text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE t text := quote_ident(repeat('x', 50) || '"''' || type); kept text; rows bigint; result text; BEGIN
    EXECUTE format('CREATE TABLE %s ("select" %s PRIMARY KEY, "id" text, "Body %%" text, "t" int, "a" int, "d" text)', t, type);
    EXECUTE format('INSERT INTO %s SELECT i::%s, ''x'', text_of(1), 1, 2, ''d'' FROM unnest($1) i', t, type) USING ids;
    EXECUTE format('CREATE TABLE child (id int PRIMARY KEY, "of" %s REFERENCES %s)', type, t);
    EXECUTE format('INSERT INTO child SELECT n, i::%s FROM unnest($1) WITH ORDINALITY u(i, n)', type) USING ids;
    PERFORM dedup_setup(t::regclass, '{"columns": "Body %", "decisions": true}');
    EXECUTE format('SELECT count(*) FROM dedup_clean(%L, false, ''{"references": "repoint"}'', NULL::%s)', t, CASE type WHEN 'code' THEN 'uuid' ELSE type END) INTO rows;
    EXECUTE format('SELECT count(*)::text || '' '' || count(DISTINCT "of") FROM child') INTO kept;
    result := rows || ' gone, children ' || kept;
    EXECUTE format('SELECT dedup_undo(%L, 1, ARRAY[$1[2]])', t) INTO rows USING ids;
    result := result || ', back ' || rows;
    EXECUTE format('SELECT dedup_undo(%L, 1)', t) INTO rows USING ids;
    EXECUTE format('SELECT count(*)::text || '' '' || count(DISTINCT "of") FROM child') INTO kept;
    result := result || ' and ' || rows || ', children ' || kept;
    DROP TABLE child;
    RETURN result;
END $$;
SELECT round_trip('uuid', ARRAY[md5('1'), md5('2'), md5('3')]);
SELECT round_trip('numeric', '{1.0,2.50,-3}');
SELECT round_trip('text', ARRAY['a,"b', 'b''\', 'NULL']);
SELECT round_trip('mood', '{a,b,c}');
SELECT round_trip('int2', '{1,2,3}');
SELECT round_trip('code', ARRAY[md5('1'), md5('2'), md5('3')]);
SELECT round_trip('varchar', '{"",y,z}');
CREATE TABLE part (id bigint, kind int, body text, PRIMARY KEY (id, kind)) PARTITION BY LIST (kind);
CREATE TABLE part_1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF part FOR VALUES IN (2);
ALTER TABLE part ENABLE ROW LEVEL SECURITY;
ALTER TABLE part OWNER TO regress_clerk;
CREATE POLICY own ON part TO regress_clerk USING (kind = 1);
ALTER TABLE part FORCE ROW LEVEL SECURITY;
INSERT INTO part VALUES (1, 1, text_of(1)), (2, 2, text_of(1)), (3, 1, text_of(1)), (4, 2, text_of(1));
CREATE TABLE child (id bigint, kind int, n int PRIMARY KEY, FOREIGN KEY (id, kind) REFERENCES part ON DELETE SET NULL);
INSERT INTO child VALUES (2, 2, 1), (3, 1, 2);
GRANT SELECT, UPDATE ON child TO regress_clerk;
GRANT CREATE ON SCHEMA public TO regress_clerk;
SELECT count(*) > 0 AS set_up FROM dedup_setup('part', '{"columns": "body", "id": "id"}');
SET ROLE regress_clerk;
SELECT id, keeper FROM dedup_clean('part', false);
SELECT id, keeper FROM dedup_clean('part', false, '{"references": "repoint"}');
TABLE child ORDER BY n;
SELECT dedup_undo('part', 1);
RESET ROLE;
TABLE child ORDER BY n;
SELECT id, kind FROM part ORDER BY id;
SELECT id, keeper FROM dedup_clean('part', false, '{"references": "repoint", "archive": "whole"}');
TABLE child ORDER BY n;
SELECT dedup_undo('part', 1, archive => 'whole');
TABLE child ORDER BY n;
SELECT tableoid::regclass, id FROM part ORDER BY id;
CREATE TABLE named (id int PRIMARY KEY, body text, dedup_run int);
INSERT INTO named VALUES (1, text_of(1)), (2, text_of(1));
SELECT count(*) > 0 AS set_up FROM dedup_setup('named', '{"columns": "body"}');
SELECT id, keeper FROM dedup_clean('named', false);
-- What inherits has columns that no archive has; a copy of an archive has no sequence; what its owner has written there is not
-- done by whoever undoes, if the owner could not; nobody waits for a table that is not theirs to write.
CREATE TABLE lamp (id int PRIMARY KEY, body text);
CREATE TABLE street_lamp (street text) INHERITS (lamp);
INSERT INTO lamp VALUES (1, text_of(1));
INSERT INTO street_lamp VALUES (2, text_of(1), 'High Street');
SELECT count(*) > 0 AS set_up FROM dedup_setup('lamp', '{"columns": "body"}');
SELECT id FROM dedup_clean('lamp', false);
DROP TABLE street_lamp;
INSERT INTO lamp VALUES (2, text_of(1)), (3, text_of(1));
SELECT id FROM dedup_clean('lamp', false);
INSERT INTO lamp VALUES (4, text_of(1));
ALTER TABLE lamp_archive ALTER dedup_run DROP IDENTITY;
SELECT id FROM dedup_clean('lamp', false);
SELECT id, dedup_run FROM lamp_archive ORDER BY id;
INSERT INTO lamp VALUES (5, text_of(1));
CREATE TABLE paid (id int PRIMARY KEY, lamp int REFERENCES lamp, amount int);
INSERT INTO paid VALUES (1, 5, 10);
ALTER TABLE lamp OWNER TO regress_clerk;
ALTER TABLE lamp_archive OWNER TO regress_clerk;
UPDATE lamp_archive SET dedup_children = '[{"child": "public.paid", "constraint": "paid_lamp_fkey", "removed": true, "row": {"id": "2", "lamp": "2", "amount": "1000"}}]' WHERE id = 2;
SELECT dedup_undo('lamp', 1);
SELECT id FROM dedup_clean('lamp', false, '{"references": "repoint"}');
TABLE paid;
GRANT INSERT, UPDATE ON paid TO regress_clerk;
SELECT dedup_undo('lamp', 1);
TABLE paid ORDER BY id;
SET ROLE regress_clerk;
SELECT dedup_undo('lamp', 1, archive => 'child');
RESET ROLE;
DROP TABLE lamp, lamp_archive, paid;
-- The kept row goes later than what was removed for it, and that comes back first: it is kept apart from what is kept now, which
-- gives back what points at it.
SET client_min_messages = warning;
CREATE TABLE lane (id int PRIMARY KEY, filed int, body text);
CREATE TABLE letter (id int PRIMARY KEY, lane int REFERENCES lane);
INSERT INTO lane VALUES (1, 1, text_of(1)), (2, 2, text_of(1)), (9, 9, text_of(2));
INSERT INTO letter VALUES (1, 1), (2, 2);
-- Its blanks and the object that it means come back too, whatever the search path.
CREATE TABLE mark (lane int PRIMARY KEY REFERENCES lane, code bpchar, of regclass, all_of oidvector);
INSERT INTO mark VALUES (1, 'a', 'letter', '1 2'), (2, 'b  ', 'letter', '3 4');
CREATE SCHEMA elsewhere CREATE TABLE letter ();
SELECT count(*) > 0 AS set_up FROM dedup_setup('lane', '{"columns": "body", "decisions": true, "keep": {"column": "filed"}, "method": "text", "similarity": 0.5, "n": 2, "details": []}');
SELECT id, keeper FROM dedup_clean('lane', false, '{"references": "repoint"}');
INSERT INTO lane VALUES (3, 0, text_of(1));
SELECT id, keeper FROM dedup_clean('lane', false, '{"references": "repoint"}');
RESET client_min_messages;
SET search_path = elsewhere, public;
SELECT dedup_undo('lane', 1);
RESET search_path;
SELECT lane, code || '.' AS trimmed, octet_length(code), of, all_of FROM mark ORDER BY lane;
TABLE letter ORDER BY id;
SELECT a, b, same, note FROM lane_decisions ORDER BY a, b;
SELECT id, keeper FROM dedup_clean('lane');
SELECT dedup_undo('lane', 2);
TABLE letter ORDER BY id;
SELECT a, b, same, note FROM lane_decisions ORDER BY a, b;
SELECT count(*) FROM dedup_clean('lane');
DROP TABLE letter, mark, lane, lane_archive, lane_decisions, elsewhere.letter;
DROP SCHEMA elsewhere;
-- What points by its key is pointed back if it is what it was: one that took its place meanwhile is the kept row's own.
CREATE TABLE bench (id int PRIMARY KEY, body text);
CREATE TABLE seat (bench int PRIMARY KEY REFERENCES bench, said text);
INSERT INTO bench SELECT i, text_of(1) FROM generate_series(1, 2) i;
INSERT INTO bench SELECT i, text_of(2) FROM generate_series(3, 4) i;
INSERT INTO seat VALUES (2, 'of two'), (4, 'of four');
SELECT count(*) FROM dedup_setup('bench', '{"columns": "body", "recipe": {}, "distance": 3, "similarity": 0.5, "n": 2, "details": []}');
SELECT count(*) FROM dedup_clean('bench', false, '{"references": "repoint"}');
DELETE FROM seat WHERE bench = 1;
INSERT INTO seat VALUES (1, 'of one');
SELECT dedup_undo('bench', 1);
TABLE seat ORDER BY bench;
DROP TABLE seat, bench, bench_archive;
-- Runs of which each removed the kept row of the one before: what was apart stays apart when all have come back, in any order.
SET client_min_messages = warning;
CREATE FUNCTION undone(runs int[]) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
    CREATE TABLE chain (id int PRIMARY KEY, body text);
    PERFORM dedup_setup('chain', '{"columns": "body", "decisions": true}');
    FOR i IN REVERSE 4 .. 1 LOOP INSERT INTO chain VALUES (i, text_of(1)); PERFORM dedup_clean('chain', false); END LOOP;
    PERFORM dedup_undo('chain', run) FROM unnest(runs) run;
    RETURN (SELECT count(*) FROM chain) * 10 + (SELECT count(*) FROM dedup_clean('chain'));
END $$;
DO $$ DECLARE r int[]; BEGIN
    FOREACH r SLICE 1 IN ARRAY '{{1,2,3},{1,3,2},{2,1,3},{2,3,1},{3,1,2},{3,2,1}}'::int[] LOOP
        IF undone(r) <> 40 THEN RAISE WARNING '% went again', r; END IF;
        DROP TABLE chain, chain_archive, chain_decisions;
    END LOOP;
END $$;
DROP FUNCTION undone;
RESET client_min_messages;
-- What a trigger takes away as it comes back stays in the archive.
CREATE TABLE pond (id int PRIMARY KEY, body text);
INSERT INTO pond SELECT i, text_of(1) FROM generate_series(1, 3) i;
SELECT count(*) FROM dedup_clean('pond', false);
CREATE FUNCTION goes() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN DELETE FROM pond WHERE id = NEW.id AND id = 3; RETURN NULL; END';
CREATE TRIGGER goes AFTER INSERT ON pond FOR EACH ROW EXECUTE FUNCTION goes();
SELECT dedup_undo('pond', 1);
SELECT id, dedup_stage FROM pond_archive;
DROP TABLE pond, pond_archive;
DROP FUNCTION goes;
-- A group comes back past the guard of its table. What triggers change of rows that pointed at it, and another type of the row
-- itself, is told, and what they were stays.
SET client_min_messages = warning;
CREATE TABLE yard (id int PRIMARY KEY, size numeric, body text, at timestamp DEFAULT '2020-01-01 12:34');
CREATE TABLE plan (yard int PRIMARY KEY REFERENCES yard, made int);
CREATE TABLE visit (id int PRIMARY KEY, yard int REFERENCES yard);
INSERT INTO yard SELECT i, CASE i WHEN 2 THEN 2 ELSE i + 0.5 END, text_of(1) FROM generate_series(1, 3) i;
INSERT INTO plan SELECT i, i FROM generate_series(1, 3) i;
INSERT INTO visit SELECT i, i FROM generate_series(1, 3) i;
SELECT count(*) > 0 AS set_up FROM dedup_setup('yard', '{"columns": "body", "decisions": true, "recipe": {}, "distance": 3, "similarity": 0.5, "n": 2, "details": []}');
CREATE TRIGGER yard_guard AFTER INSERT OR UPDATE ON yard FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
CREATE FUNCTION changes() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.made := 9; RETURN NEW; END';
CREATE TRIGGER changes BEFORE INSERT ON plan FOR EACH ROW EXECUTE FUNCTION changes();
CREATE FUNCTION stays() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
SELECT id, keeper FROM dedup_clean('yard', false, '{"references": "repoint"}');
CREATE TRIGGER stays BEFORE UPDATE ON visit FOR EACH ROW EXECUTE FUNCTION stays();
ALTER TABLE yard ALTER size TYPE int, ALTER at DROP DEFAULT;
ALTER TABLE yard ALTER at TYPE time;
RESET client_min_messages;
SELECT dedup_undo('yard', 1);
SELECT id, size, at, dedup_stage, jsonb_array_length(dedup_children) AS children FROM yard_archive ORDER BY id;
SELECT y.id, p.made, v.id AS visit FROM yard y LEFT JOIN plan p ON p.yard = y.id LEFT JOIN visit v ON v.yard = y.id ORDER BY y.id, v.id;
INSERT INTO yard VALUES (4, 1, text_of(1));
DROP TABLE plan, visit, yard, yard_archive, yard_decisions;
DROP FUNCTION changes, stays;
DROP TABLE part, part_archive, whole, child, named;
DROP FUNCTION round_trip, text_of, never, planted;
DO $$ DECLARE t regclass; BEGIN FOR t IN SELECT oid FROM pg_class WHERE relname ~ '^xxx' AND relkind = 'r' LOOP EXECUTE 'DROP TABLE ' || t; END LOOP; END $$;
DROP TYPE mood, code;
REVOKE ALL ON SCHEMA public FROM regress_clerk;
DROP ROLE regress_clerk;
DROP EXTENSION pg_dedup;
