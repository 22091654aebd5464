-- What source may be: a query or the name of a table; ids of any type; settings
-- that the texts decide.
CREATE EXTENSION pg_dedup;
\set SHOW_CONTEXT never
CREATE TABLE petition (id integer PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash(body)) STORED);
INSERT INTO petition VALUES
    (3, '小区停水三天了，物业不管，请有关部门尽快处理，居民生活受到严重影响'),
    (1, '小区停水三天了，物业不管，请有关部门尽快处理，居民生活受到严重影响'),
    (2, '小区停水三天了!物业不管。请有关部门尽快处理，居民生活受到严重影响。'),
    (4, '学校门口的路灯坏了一个月，晚上接孩子很不安全，请尽快派人来修');
\set options '{"distance": 10, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}'
-- A table is read in the order of its primary key.
SELECT id, keeper, stage FROM dedup('petition', :'options');
SELECT * FROM near_dup_pairs('petition', '{"distance": 20}') ORDER BY a, b;
SELECT * FROM near_dup_pairs('petition', '{"method": "text"}') ORDER BY a, b;
SELECT count(*) FROM near_dup_calibrate('petition');
SELECT method, n FROM dedup_suggest('petition');
-- A query begins with one of four words, whatever stands before it.
SELECT count(*) FROM dedup('  -- a (comment
    /* and /* one */ more */ ( (select id, body FROM petition)) ;', :'options');
SELECT count(*) FROM dedup('TABLE petition', '{"fp": "fp", "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
SELECT count(*) FROM dedup('VALUES(1, ''a'')', :'options');
SELECT count(*) FROM dedup('WITH p AS (TABLE petition) SELECT * FROM p', :'options');
-- Names as regclass reads them.
CREATE SCHEMA "My schema";
CREATE TABLE "My schema"."values" (" id""" bigint PRIMARY KEY, "The text" varchar);
INSERT INTO "My schema"."values" VALUES (1, 'a'), (2, 'a');
SELECT count(*) FILTER (WHERE stage = 'exact') FROM dedup(' "My schema" . values ', :'options');
SET search_path = "My schema", public;
SELECT count(*) FILTER (WHERE stage = 'exact') FROM dedup('values', :'options');
SELECT count(*) FILTER (WHERE stage = 'exact') FROM dedup('"values"', :'options');
SELECT dedup('"Values"', :'options');
\echo :LAST_ERROR_SQLSTATE
RESET search_path;
SELECT dedup('nowhere.petition', :'options');
\echo :LAST_ERROR_SQLSTATE
SELECT dedup('petition; DROP TABLE petition', :'options');
\echo :LAST_ERROR_SQLSTATE
SELECT dedup('petition_pkey', :'options');
\echo :LAST_ERROR_SQLSTATE
SELECT dedup('', :'options');
SELECT dedup('/* unfinished', :'options');
SELECT dedup(NULL, :'options');
SELECT * FROM near_dup_pairs(NULL, '{"method": "text"}');
SELECT * FROM dedup_suggest(NULL);
SELECT * FROM near_dup_calibrate(NULL);

-- Kinds of tables; without a primary key the column is named.
CREATE VIEW seen AS SELECT id AS number, body FROM petition;
CREATE MATERIALIZED VIEW kept AS TABLE seen;
CREATE TABLE parts (id integer PRIMARY KEY, body text) PARTITION BY RANGE (id);
CREATE TABLE part1 PARTITION OF parts FOR VALUES FROM (1) TO (3);
CREATE TABLE part2 PARTITION OF parts FOR VALUES FROM (3) TO (9);
INSERT INTO parts SELECT id, body FROM petition;
SELECT source, string_agg(id || '>' || keeper, ' ') FROM unnest('{seen,kept,parts}'::text[]) source,
     dedup(source, :'options'::jsonb || CASE source WHEN 'parts' THEN '{}' ELSE '{"id": "number"}'::jsonb END) GROUP BY source ORDER BY source;
SELECT dedup('seen', :'options');
SELECT dedup('seen', '{"id": "id"}');
SELECT * FROM near_dup_pairs('seen');
SELECT * FROM near_dup_pairs('parts');
SELECT dedup('TABLE petition', '{"id": "id"}');
-- Which column is the text, and several together: NULLs are skipped.
CREATE TABLE ticket (code text PRIMARY KEY, title varchar(40), body text, filed date, n integer);
INSERT INTO ticket VALUES ('a', 'No water', 'since Monday', '2024-01-01', 1), ('b', NULL, E'No water\nsince Monday', NULL, 2),
    ('c', 'No water', NULL, '2023-01-01', 3), ('d', NULL, NULL, NULL, 4);
SELECT dedup('ticket', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT count(*) FROM dedup('ticket', '{"columns": "n", "recipe": {}, "distance": 0, "similarity": 0, "n": 2, "details": []}', NULL::text);
SELECT dedup('ticket', '{"columns": "nothing"}');
SELECT dedup('ticket', '{"columns": "body", "n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}', NULL::text);
SELECT dedup('ticket', '{"columns": ["title", "body"], "n": 2, "keep": {"column": "filed", "order": "desc"}, "id": "code", "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}', NULL::text);
SELECT dedup('ticket', '{"columns": ["title", "body"], "n": 2, "keep": {"column": "nothing"}, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}', NULL::text);
CREATE TABLE numbers (id integer PRIMARY KEY, n integer);
SELECT dedup('numbers');
-- The rights are those of an ordinary SELECT, and rows that a policy hides are not there.
CREATE ROLE regress_dedup_reader;
GRANT SELECT (id, body) ON petition TO regress_dedup_reader;
SET ROLE regress_dedup_reader;
SELECT count(*) FROM dedup('petition', :'options');
SELECT dedup('petition', '{"fp": "fp", "distance": 10, "similarity": 0.5, "n": 2, "details": []}');
SELECT dedup('ticket', '{"columns": "body", "n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}', NULL::text);
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
ALTER TABLE petition ENABLE ROW LEVEL SECURITY;
CREATE POLICY late ON petition USING (id > 2);
SET ROLE regress_dedup_reader;
SELECT id FROM dedup('petition', :'options');
RESET ROLE;
ALTER TABLE petition DISABLE ROW LEVEL SECURITY;
DROP POLICY late ON petition;
DROP OWNED BY regress_dedup_reader;
DROP ROLE regress_dedup_reader;

-- Ids keep their type: integers come as bigint, others are named.
SELECT pg_typeof(id) AS id, pg_typeof(keeper) AS keeper FROM dedup('petition', :'options') LIMIT 1;
SELECT dedup('ticket', '{"columns": "body", "n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
\echo :LAST_ERROR_SQLSTATE
SELECT dedup('SELECT md5(''a'')::uuid AS id, ''a''::text', NULL);
SELECT dedup('SELECT 1, ''a''::text', NULL, NULL::uuid);
SELECT dedup('SELECT 1::bigint, ''a''::text', NULL, NULL::integer);
SELECT * FROM near_dup_pairs('SELECT 1.5 AS id, ''a''::text', '{"method": "text", "similarity": 0.5, "n": 2}', id_type => NULL::text);
CREATE DOMAIN code AS text CHECK (VALUE <> '');
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TYPE pair AS (a integer, b integer);
SELECT format('SELECT %L AS type, pg_typeof(id) AS result, id, keeper, stage FROM dedup($$SELECT %s AS id, ''text ''::text FROM generate_series(1, 2) i$$, ''{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}'', NULL::%s)', result, value, result)
FROM (VALUES ('smallint', 'i::smallint'), ('bigint', 'i::smallint'), ('bigint', 'i'), ('integer', 'i'), ('numeric', 'i * 1.50'), ('double precision', 'i / 4.0::float8'),
    ('uuid', 'md5(i::text)::uuid'), ('text', '''ä'' || i'), ('text', 'i::text::varchar(5)'), ('varchar', 'i::text::varchar(5)'), ('text', 'i::text::code'), ('code', 'i::text::code'),
    ('bpchar', 'i::text::char(4)'), ('name', '(''n'' || i)::name'), ('date', '''2024-01-01''::date + i'), ('timestamptz', 'to_timestamp(i) AT TIME ZONE ''UTC'' AT TIME ZONE ''UTC'''),
    ('interval', 'i * interval ''1 day'''), ('boolean', 'i > 1'), ('bytea', 'decode(repeat(''0'', 2 * i), ''hex'')'), ('mood', '(''{sad,happy}''::mood[])[i]'), ('inet', '''10.0.0.1''::inet + i'),
    ('int4range', 'int4range(i, i + 2)'), ('oid', 'i::oid')) v(result, value)
\gexec
SELECT dedup('SELECT ROW(1, 2)::pair, ''a''::text', NULL, NULL::pair);
SELECT dedup('SELECT ARRAY[1], ''a''::text', NULL, NULL::integer[]);
SELECT dedup('SELECT ''{}''::json, ''a''::text', NULL, NULL::json);
-- Long ids, out of line and compressed.
CREATE TABLE long (id text, body text);
ALTER TABLE long ALTER id SET STORAGE external;
INSERT INTO long SELECT i || repeat('x', 9000), 'text ' || i % 2 FROM generate_series(1, 4) i;
SELECT left(id, 1) AS id, left(keeper, 1) AS keeper, length(id), id = l FROM dedup('SELECT id, body FROM long', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}', NULL::text) d JOIN (SELECT id AS l FROM long) l ON l = id ORDER BY 1;
-- Pairs: the lesser id first, in the order of the type and the column's collation.
SELECT * FROM near_dup_pairs('VALUES (''10'', 0::bigint), (''9'', 1::bigint)', '{"distance": 3}', NULL::text);
SELECT * FROM near_dup_pairs('VALUES (10::numeric, 0::bigint), (9, 1)', '{"distance": 3}', NULL::numeric);
SELECT * FROM near_dup_pairs('VALUES (-1::smallint, 0::bigint), (1, 1)');
SELECT * FROM near_dup_pairs('VALUES (''-1''::float8, 0::bigint), (-2, 1)', '{"distance": 3}', NULL::float8);
SELECT * FROM near_dup_pairs('SELECT id COLLATE "C", fp FROM (VALUES (''b'', 0::bigint), (''A'', 1)) v(id, fp)', '{"distance": 3}', NULL::text);
SELECT count(*) AS pairs, bool_and(a < b) AS ordered FROM near_dup_pairs('SELECT md5(i::text)::uuid, ''text ''::text FROM generate_series(1, 20) i', '{"method": "text", "similarity": 0.5, "n": 2}', NULL::uuid);
-- The same pairs as by numbers, whatever the memory.
CREATE TABLE prints AS SELECT i AS id, md5(i::text)::uuid AS key, hashint4extended(i % 300, 0) # (1::bigint << (i % 60)) AS fp FROM generate_series(1, 1500) i;
SET work_mem = '64kB';
SELECT count(*) AS pairs, (SELECT count(*) FROM near_dup_pairs('SELECT id, fp FROM prints', '{"distance": 3}') p JOIN prints x ON x.id = p.a JOIN prints y ON y.id = p.b
    JOIN near_dup_pairs('SELECT key, fp FROM prints', '{"distance": 3}', NULL::uuid) q ON (q.a, q.b) = (least(x.key, y.key), greatest(x.key, y.key)) AND q.distance = p.distance) AS same
FROM near_dup_pairs('SELECT id, fp FROM prints', '{"distance": 3}');
RESET work_mem;
-- Rows are deleted without a cast.
CREATE TABLE by_uuid (id uuid PRIMARY KEY, body text);
INSERT INTO by_uuid SELECT md5(i::text)::uuid, 'No water since ' || i / 2 FROM generate_series(2, 7) i;
DELETE FROM by_uuid t USING dedup('by_uuid', '{"method": "exact"}', NULL::uuid) d WHERE t.id = d.id AND d.stage IN ('exact', 'near');
DELETE FROM petition t USING dedup('petition', '{"method": "exact"}') d WHERE t.id = d.id AND d.stage = 'exact';
SELECT (SELECT count(*) FROM by_uuid) AS by_uuid, (SELECT count(*) FROM petition) AS petition;

-- Without settings the texts decide, as dedup_suggest has it, and it is said; the distance of a table that will grow, as
-- dedup_suggest and dedup_into have it, is less than that of one pass over few rows.
CREATE TABLE letter AS SELECT n AS id, repeat('小区停水' || n / 2 || '天了，请尽快派人处理' || chr(20000 + n / 2 * 37), 5) || CASE n % 2 WHEN 0 THEN '' ELSE '谢谢' END AS body FROM generate_series(2, 41) n;
ALTER TABLE letter ADD PRIMARY KEY (id);
\set VERBOSITY terse
CREATE TABLE chosen AS SELECT * FROM dedup('letter', '{"keep": "first"}');
SELECT count(*) AS differing FROM (SELECT d.* FROM dedup_suggest('letter') s, dedup('letter', s.options || '{"keep": "first", "distance": 24}') d EXCEPT TABLE chosen) d;
CALL dedup_into('groups', 'letter', '{"keep": "first"}');
SELECT count(*) AS differing FROM (SELECT id, keeper, stage, distance, similarity FROM groups EXCEPT SELECT d.* FROM groups_state g, dedup('letter', g.options) d) d;
SELECT s.options <@ g.options AS kept, g.source, g.options -> 'columns' AS columns, g.options -> 'id' AS id FROM groups_state g, dedup_suggest('letter') s;
-- Nothing is chosen for no text, nor if any setting is given.
SELECT count(*) FROM dedup('SELECT 1, NULL::text WHERE false');
SELECT count(*) FROM dedup('SELECT 1, NULL::text');
SELECT count(*) FROM dedup('letter', '{"similarity": 0.5, "recipe": {}, "distance": 10, "n": 2, "details": []}'), dedup('letter', '{"method": "exact"}') d;
\set VERBOSITY default
-- Later calls take what is kept; the table may be named otherwise, and get other columns.
INSERT INTO letter VALUES (50, 'another');
ALTER TABLE letter ADD title text;
CALL dedup_into('groups', 'public.letter');
CALL dedup_into('groups', '"letter"', '{"keep": "first"}');
SELECT count(*) FROM groups;
CALL dedup_into('groups', 'letter', '{"keep": "last"}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('groups', 'SELECT id, body FROM letter');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('groups', 'petition');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE another AS TABLE letter;
ALTER TABLE another ADD PRIMARY KEY (id);
ALTER TABLE letter RENAME TO renamed;
ALTER TABLE another RENAME TO letter;
CALL dedup_into('groups', 'renamed');
CALL dedup_into('joined', 'ticket', '{"columns": ["title", "body"], "n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
CALL dedup_into('joined', 'ticket');
SELECT id, keeper, stage FROM joined ORDER BY id;
-- A name with capitals that is not quoted, where exactly that table exists.
CREATE TABLE "SupportTicket" (id int PRIMARY KEY, body text);
SELECT * FROM dedup('SupportTicket');
SELECT * FROM dedup('public.SupportTicket');
DROP TABLE "SupportTicket";
-- One option replaces one option. Of random tables: the pairs that one group has become fewer, never others, if one threshold
-- is tightened or a detail is added, all else as it was chosen; and to give a value that was chosen changes nothing.
CREATE FUNCTION pairs(options jsonb) RETURNS TABLE (a bigint, b bigint) LANGUAGE sql AS $$
    WITH d AS (SELECT * FROM dedup('SELECT id, body FROM random ORDER BY id', '{"group": "components"}' || options))
    SELECT x.id, y.id FROM d x JOIN d y ON x.keeper = y.keeper AND x.id < y.id $$;
CREATE FUNCTION more(tight jsonb, loose jsonb) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM (SELECT * FROM pairs(tight) EXCEPT SELECT * FROM pairs(loose)) d $$;
CREATE TABLE random (id integer, body text);
CREATE TABLE judged (kind text, tried text, wrong bigint, pairs bigint);
SET client_min_messages = warning;
SELECT setseed(0.34);
DO $$
DECLARE s record; long boolean; option text;
BEGIN
    FOR round IN 1..6 LOOP
        TRUNCATE random;
        long := round % 2 = 0;
        INSERT INTO random SELECT i, (SELECT string_agg(CASE WHEN random() < 0.12 THEN (ARRAY['never','always','Mill Street','Oak Street','12','7 May','9 June'])[1 + (random() * 6)::int] ELSE w END, ' ' ORDER BY n)
            FROM unnest(string_to_array((ARRAY['the lamp in Oak Street is out again and nobody answers', 'no water in our building since Monday 12 May 2024',
                'the bus to Ashford leaves ten minutes early every evening'])[1 + i % 3] || CASE WHEN long THEN
                ' and nurses of the late shift have to wait for an hour while children walk home in the dark past the school of the village' ELSE '' END, ' ')) WITH ORDINALITY AS u(w, n))
            FROM generate_series(1, 30) i;
        SELECT * INTO s FROM dedup_suggest('SELECT id, body FROM random ORDER BY id');
        FOREACH option IN ARRAY ARRAY['method', 'recipe', 'similarity', 'n', 'details'] LOOP
            INSERT INTO judged SELECT s.method, option || ' as chosen', more(o, '{}') + more('{}', o) FROM (SELECT jsonb_build_object(option, s.options -> option)) x(o);
        END LOOP;
        INSERT INTO judged
            SELECT s.method, 'similarity', more(jsonb_build_object('similarity', s.similarity + 0.2), '{}'), (SELECT count(*) FROM pairs('{}'))
            UNION ALL SELECT s.method, 'similarity twice', more('{"similarity": 0.9}', '{"similarity": 0.6}'), NULL
            UNION ALL SELECT s.method, 'distance', more('{"distance": 9}', '{}') + more('{"distance": 6}', '{"distance": 14}'), NULL
            UNION ALL SELECT s.method, 'details', more('{"details": ["name", "slot", "number"]}', '{}') + more('{}', '{"details": ["name"]}') + more('{"details": ["slot"]}', '{"details": []}'), NULL;
    END LOOP;
END $$;
SELECT tried, sum(wrong) AS wrong, count(DISTINCT kind) AS methods, sum(pairs) > 200 AS pairs FROM judged GROUP BY 1 ORDER BY 1;
RESET client_min_messages;
-- The notice names what was chosen, not what was given, and says what a given option implies.
SELECT count(*) FROM dedup('SELECT * FROM random', '{"similarity": 0.9, "details": ["number"]}');
TRUNCATE random;
INSERT INTO random SELECT i, 'no water ' || i FROM generate_series(1, 3) i;
SELECT count(*) FROM dedup('SELECT * FROM random', '{"distance": 3}');
-- So over settings: what was asked for stays, what was chosen for other columns or another recipe is chosen again.
CREATE TABLE letters (id bigint PRIMARY KEY, subject text, body text);
INSERT INTO letters SELECT i, 'No water ' || i, 'There has been no water in our building in Harbour Street since Monday morning, nobody from the housing office answers ' || chr(64 + i) FROM generate_series(1, 9) i;
SET client_min_messages = warning;
DO $$ BEGIN PERFORM dedup_setup('letters', '{"columns": "body", "similarity": 0.8, "details": ["name"]}'); END $$;
RESET client_min_messages;
SELECT count(*) FROM dedup('letters', '{"similarity": 0.9}') WHERE stage = 'kept';
SELECT count(*) FROM dedup('letters', '{"columns": "body", "details": ["name", "date"]}') WHERE stage = 'kept';
SELECT count(*) FROM dedup('letters', '{"columns": "subject"}') WHERE stage = 'kept';
SELECT count(*) FROM dedup('letters', '{"recipe": {}}') WHERE stage = 'kept';
SET client_min_messages = warning;
DO $$ BEGIN PERFORM dedup_setup('letters', '{"columns": "subject", "similarity": null}'); END $$;
RESET client_min_messages;
SELECT count(*) FROM dedup('letters', '{"distance": 3}') WHERE stage = 'kept';

-- An id on two rows is refused by all that take ids, by the equality of their type, wherever the rows stand.
CREATE FUNCTION refused(call text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'SELECT count(*) FROM ' || call;
    RETURN 'taken';
EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
SET client_min_messages = warning;
SELECT call, refused(format(call, $$'VALUES (1, ''a text''::text), (3, ''another''), (2, ''b''), (1, ''a third'')'$$))
FROM unnest(ARRAY['dedup(%s)', 'dedup(%s, ''{"method": "text", "details": []}'')', 'dedup_report(%s)', 'near_dup_pairs(%s, ''{"method": "text"}'')']) call;
SELECT call, refused(format(call, $$'VALUES (1, 5::bigint), (3, 6), (2, 7), (1, 8)'$$)) FROM unnest(ARRAY['near_dup_pairs(%s)', 'near_dup_calibrate(%s)']) call;
SELECT refused($$dedup_explain('VALUES (1, ''a'', ''b''), (2, ''a'', ''c''), (1, ''d'', ''e'')', 'VALUES (2, 3)', '{"method": "records"}')$$);
SELECT a, b, refused(format('dedup($$SELECT i, %L || n FROM unnest(ARRAY[%s, %s]) WITH ORDINALITY AS u(i, n)$$, NULL, NULL::%s)', 'text ', a, b, type)) FROM (VALUES
    ('1.0::numeric', '1.00', 'numeric'), ('0::float8', '''-0''', 'float8'), ('''a''::char(3)', '''a  ''::char(5)', 'bpchar'), ('''a''::text', '''a''', 'text'),
    ('md5(''a'')::uuid', 'md5(''a'')::uuid', 'uuid'), ('''2024-01-01''::date', '''2024-1-1''', 'date'), ('B''1''::varbit', 'B''1''', 'varbit'),
    ('''a''::text', '''A''', 'text'), ('1::numeric', '2', 'numeric'), ('B''1''::varbit', 'B''10''', 'varbit')) t(a, b, type);
-- Runs of ids that follow each other, in any order.
SELECT n, refused(format('near_dup_pairs($$SELECT i, i::bigint FROM (SELECT * FROM generate_series(-50, 50) UNION ALL SELECT * FROM generate_series(51, 120) UNION ALL SELECT %s) AS g(i)$$, ''{"distance": 0}'')', n))
FROM unnest(ARRAY[-51, -50, 0, 50, 51, 120, 121]) n;
-- As in a join, where the DELETE of the manual would have taken the only copy.
SELECT refused($$dedup('SELECT pid, ''There has been no water''::text FROM (VALUES (1), (1)) tag(pid)')$$);

-- Numbers and bits are never compared by their digits.
CREATE TABLE picture (id bigint PRIMARY KEY, phash bigint, bits bit(64), price numeric, label text);
INSERT INTO picture VALUES (1, 123456789012345678, 1::bit(64), 1.5, 'a'), (2, 1234567890123456789, 2::bit(64), 15, 'b');
SELECT call, refused(call) FROM unnest(ARRAY[
    $$dedup('picture', '{"columns": "phash"}')$$, $$dedup('picture', '{"columns": ["bits", "price"]}')$$, $$dedup('SELECT id, phash FROM picture')$$, $$dedup_report('picture', '{"columns": "price"}')$$,
    $$dedup_suggest('SELECT id, phash FROM picture')$$, $$near_dup_pairs('SELECT id, bits FROM picture', '{"method": "text"}')$$,
    $$dedup_setup('picture', '{"columns": "phash"}')$$, $$dedup_setup('picture', '{"columns": ["bits", "price"]}')$$,
    $$dedup('picture', '{"columns": ["label", "price"]}')$$, $$dedup_setup('picture', '{"columns": {"label": null, "phash": 5}}', true)$$, $$dedup_setup('picture', '{"columns": {"phash": 5}}', true)$$]) call;
ALTER TABLE picture DROP label, DROP price, DROP bits;
SELECT refused($$dedup_setup('picture')$$), refused($$dedup('picture')$$);
-- The names of a wide table's columns are not all told.
DO $$ BEGIN EXECUTE (SELECT 'CREATE TABLE wide (id bigint PRIMARY KEY, ' || string_agg(format('column_%s text', i), ', ') || ')' FROM generate_series(1, 500) i); END $$;
SELECT left(call, 30) AS call, length(refused(call)) BETWEEN 1500 AND 1600 AS bounded FROM unnest(ARRAY[$$dedup_suggest('wide')$$, format('dedup(%L, %L)', 'wide', jsonb_build_object('columns', repeat('c', 9000)))]) call(call);
RESET client_min_messages;
DROP FUNCTION pairs, more, refused;
DROP TABLE random, judged, letters, picture, wide;

DROP SCHEMA "My schema" CASCADE;
DROP TABLE petition, parts, ticket, numbers, long, prints, by_uuid, letter, renamed, chosen, groups, groups_merges, groups_state, joined, joined_merges, joined_state CASCADE;
DROP DOMAIN code;
DROP TYPE mood, pair;
DROP EXTENSION pg_dedup;
