-- dedup kept in a table: the first call has what dedup has, and whatever comes, changes and goes afterwards, each row is
-- judged the same as the row that is kept for it, and no two kept rows are.
CREATE EXTENSION pg_dedup;
SET client_min_messages = warning;
\set SHOW_CONTEXT never
-- Families of texts, some equal, some equal but for punctuation, some NULL,
-- some without a feature.
CREATE TABLE letter AS
SELECT i AS id, abs(hashint4(i)) AS mixed, hashint4(i * 7) % 20 AS likes,
       CASE WHEN i % 97 = 0 THEN NULL WHEN i % 50 = 3 THEN '！！' ELSE (
           SELECT string_agg(chr(19968 + (hashint4(p + 1000 * (i % 40)) & 1023)
                                 + CASE WHEN (hashint4(p * 31 + i % 200) & 31) < i % 5 THEN 1000 ELSE 0 END),
                             CASE WHEN i % 3 = 0 THEN '，' ELSE ',' END ORDER BY p)
           FROM generate_series(1, 60) p) || i % 3 || '号' END AS body
FROM generate_series(1, 600) i;
ALTER TABLE letter ADD PRIMARY KEY (id), ADD fp bigint;
UPDATE letter SET fp = simhash(body) # (1::bigint << (id % 3));
CREATE TABLE pool AS TABLE letter;
-- In how many rows a result differs from dedup.
CREATE FUNCTION differing(result text, query text, options jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    EXECUTE format('WITH found AS (SELECT id::text, keeper::text, stage, distance, similarity FROM %1$s),
                         truth AS (SELECT id::text, keeper::text, stage, distance, similarity FROM dedup(%2$L, %3$L))
        SELECT count(*) FROM ((TABLE found EXCEPT ALL TABLE truth) UNION ALL (TABLE truth EXCEPT ALL TABLE found)) d', result, query, options) INTO n;
    RETURN n;
END $$;
-- Rows that the result lacks or has too many of, rows that do not repeat the row that is kept for them, kept rows that repeat
-- another, and groups with two names or two kept rows.
CREATE FUNCTION wrong(result text) RETURNS TABLE (missing bigint, unverified bigint, alike bigint, misnamed bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('WITH r AS (SELECT r.*, l.body FROM %1$s r JOIN letter l USING (id))
        SELECT (SELECT count(*) FROM %1$s FULL JOIN letter l USING (id) WHERE arrival IS NULL OR l IS NULL),
            (SELECT count(*) FROM r LEFT JOIN r k ON k.id = r.keeper WHERE k.stage NOT IN (''kept'', ''empty'') OR r.cluster <> k.cluster OR k IS NULL
                OR r.stage = ''exact'' AND r.body <> k.body OR r.stage = ''near'' AND NOT (near_dup(r.fp, k.fp, 10) AND ngram_jaccard(r.body, k.body) >= 0.5)),
            (SELECT count(*) FROM r JOIN r k ON r.id < k.id AND r.stage = ''kept'' AND k.stage = ''kept''
                AND (r.body = k.body OR near_dup(r.fp, k.fp, 10) AND ngram_jaccard(r.body, k.body) >= 0.5)),
            (SELECT count(*) FROM (SELECT FROM r GROUP BY cluster HAVING count(DISTINCT keeper) > 1 OR count(*) FILTER (WHERE stage IN (''kept'', ''empty'')) <> 1) c)', result);
END $$;
\set plain '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}'

-- Every option: the first call has what dedup has, and so has a later one where all groups are formed anew. A group is named
-- by its first row.
CREATE TABLE run AS
SELECT 'r' || row_number() OVER () AS result, options || CASE WHEN options ? 'method' THEN '{}' ELSE '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}' || options END AS options
FROM unnest(ARRAY['{}', '{"distance": 14, "similarity": 0.4}', '{"distance": 8, "similarity": 0}', '{"method": "exact"}', '{"equal": "normal"}', '{"equal": "none", "distance": 4}',
    '{"fp": "fp"}', '{"fp": "fp", "group": "single_pass"}', '{"group": "single_pass", "distance": 12}', '{"keep": "last"}', '{"keep": "last", "group": "components"}',
    '{"keep": "longest", "distance": 14, "group": "components"}', '{"fp": "fp", "group": "components"}', '{"keep": {"column": "likes"}}', '{"n": 3, "recipe": {"tokens": "chars"}}',
    '{"details": ["number"]}', '{"keep": {"column": "likes", "order": "desc"}, "equal": "normal", "group": "single_pass"}', '{"fp": "fp", "distance": 14, "diameter": 14}',
    '{"distance": 20, "similarity": 0.3, "diameter": 9, "keep": "longest"}', '{"method": "text", "similarity": 0.6}', '{"contained": 0.7}', '{"method": "records"}']::jsonb[]) options;
CREATE FUNCTION query(options jsonb) RETURNS text LANGUAGE sql AS
$$SELECT 'SELECT id, body, ' || CASE WHEN options ->> 'method' = 'records' THEN 'likes' ELSE 'likes, fp' END || ' FROM letter ORDER BY mixed'$$;
\set ECHO none
\o /dev/null
SELECT format('CALL dedup_into(%L, %L, %L)', result, query(options), options) FROM run \gexec
\o
\set ECHO all
SELECT options, differing(result, query(options), options) FROM run WHERE differing(result, query(options), options) > 0;
-- A tenth comes, changes or goes.
DELETE FROM letter WHERE id % 9 = 1;
UPDATE letter SET body = (SELECT body FROM pool WHERE pool.id = letter.id % 50 + 1) WHERE id % 9 = 2;
UPDATE letter SET fp = simhash(body);
\set ECHO none
\o /dev/null
SELECT format('CALL dedup_into(%L, %L, %L)', result, query(options), options) FROM run \gexec
\o
\set ECHO all
SELECT options, differing(result, query(options), options) FROM run WHERE differing(result, query(options), options) > 0;
\set ECHO none
\o /dev/null
SELECT format('DROP TABLE %1$s, %1$s_merges, %1$s_state', result) FROM run \gexec
\o
\set ECHO all

-- A few rows at a time, by comparing and by following: none of the others changes. Every so often so many that all groups are
-- formed anew. Somebody else writes to the result, without a trigger, or the table is emptied.
CALL dedup_into('compared', 'SELECT id, body FROM letter ORDER BY id', :'plain');
CALL dedup_into('followed', 'letter', :'plain'::jsonb || '{"follow": true, "columns": "body"}');
CREATE TABLE trouble (turn integer, result text, missing bigint, unverified bigint, alike bigint, misnamed bigint);
CREATE PROCEDURE history(turns integer) LANGUAGE plpgsql AS $$
DECLARE many integer; others bigint;
BEGIN
    PERFORM setseed(0.5);
    FOR turn IN 1 .. turns LOOP
        many := CASE WHEN turn % 10 = 0 THEN 60 ELSE 6 END;
        DELETE FROM letter WHERE id IN (SELECT id FROM letter ORDER BY random() LIMIT random() * many);
        -- Kept rows above all.
        DELETE FROM letter WHERE id IN (SELECT keeper FROM compared WHERE stage <> 'kept' ORDER BY random() LIMIT random() * many / 4);
        UPDATE letter SET (body, fp) = (SELECT body, fp FROM pool WHERE pool.id = 1 + (letter.id * turn) % 600) WHERE id IN (SELECT id FROM letter ORDER BY random() LIMIT random() * many);
        INSERT INTO letter SELECT * FROM pool ORDER BY random() LIMIT many ON CONFLICT DO NOTHING;
        IF turn % 7 = 0 THEN
            UPDATE compared SET stage = 'kept' WHERE id IN (SELECT id FROM compared WHERE stage = 'near' ORDER BY random() LIMIT 1);
            UPDATE compared SET keeper = -1 WHERE id IN (SELECT id FROM compared WHERE stage = 'kept' ORDER BY random() LIMIT 1);
            DELETE FROM compared WHERE id IN (SELECT id FROM compared WHERE stage = 'kept' ORDER BY random() LIMIT 2);
            DELETE FROM followed WHERE id IN (SELECT id FROM followed WHERE stage = 'kept' ORDER BY random() LIMIT 2);
        ELSIF turn % 11 = 0 THEN
            ALTER TABLE letter DISABLE TRIGGER USER;
            UPDATE letter SET body = 'unseen ' || turn WHERE id IN (SELECT id FROM letter ORDER BY random() LIMIT 2);
            ALTER TABLE letter ENABLE TRIGGER USER;
        ELSIF turn % 13 = 0 THEN
            TRUNCATE letter;
            INSERT INTO letter SELECT * FROM pool WHERE id % 2 = 0;
        END IF;
        CALL dedup_into('compared', 'SELECT id, body FROM letter ORDER BY id');
        CALL dedup_into('followed', 'letter');
        INSERT INTO trouble SELECT turn, 'compared', w.* FROM wrong('compared') w WHERE missing + unverified + alike + misnamed > 0
            UNION ALL SELECT turn, 'followed', w.* FROM wrong('followed') w WHERE missing + unverified + alike + misnamed > 0;
    END LOOP;
END $$;
CALL history(60);
TABLE trouble;
SELECT count(*) > 0 AS merged FROM compared_merges;
-- What is there is named as it was, though nothing tells the trigger any more.
CREATE TABLE before AS TABLE followed;
CALL dedup_into('followed', 'letter', '{"follow": false}');
SELECT count(*) AS changed FROM (TABLE before EXCEPT TABLE followed) b;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'letter'::regclass;
SELECT to_regclass('followed_todo') AS todo, to_regproc('followed_follow') AS follow;
DROP TABLE before, compared, compared_merges, compared_state, followed, followed_merges, followed_state;
TRUNCATE letter;
INSERT INTO letter TABLE pool;

-- Where a kept row goes, its group goes on under its own name; a row that has become something else comes as new.
CREATE TABLE note (id integer PRIMARY KEY, body text);
INSERT INTO note SELECT i, string_agg(chr(19968 + (hashint4(p + 1000 * i) & 4095)), '' ORDER BY p) FROM generate_series(1, 100) i, generate_series(1, 30) p GROUP BY i;
INSERT INTO note SELECT id + 100, body || '。' FROM note WHERE id IN (7, 9);
INSERT INTO note SELECT id + 200, body || '！' FROM note WHERE id IN (7, 9);
CALL dedup_into('groups', 'note', :'plain');
DELETE FROM note WHERE id = 7;
UPDATE note SET body = '学校门口的路灯坏了一个月，晚上接孩子很不安全' WHERE id = 109;
INSERT INTO note SELECT 300, body FROM note WHERE id = 50;
CALL dedup_into('groups', 'note');
SELECT id, cluster, keeper, stage, arrival FROM groups WHERE id % 100 IN (7, 9, 50, 0) AND id NOT IN (100) ORDER BY id;
-- In a transaction that is taken back nothing happens.
BEGIN;
DELETE FROM note WHERE id = 50;
CALL dedup_into('groups', 'note');
SELECT id, cluster, keeper, stage FROM groups WHERE id IN (50, 300) ORDER BY id;
ROLLBACK;
SELECT id, cluster, keeper, stage FROM groups WHERE id IN (50, 300) ORDER BY id;
DROP TABLE note, groups, groups_merges, groups_state;

-- A row that bridges two clusters makes them one: the older name stays, and the log has the other.
CREATE TABLE note (id text PRIMARY KEY, body text);
INSERT INTO note VALUES ('old', 'abcdefghijklmnopqrstuvwxyz'), ('young', 'ghijklmnopqrstuvwxyz012345'), ('alone', '学校门口的路灯坏了一个月');
\set options '{"distance": 64, "similarity": 0.7, "group": "components", "recipe": {}, "n": 2, "details": []}'
CALL dedup_into('note groups', 'SELECT id, body FROM note', :'options');
CALL dedup_into('"note groups"', 'SELECT id, body FROM note', :'options');
SELECT id, cluster, keeper, stage FROM "note groups" ORDER BY arrival;
INSERT INTO note VALUES ('bridge', 'defghijklmnopqrstuvwxyz012');
CALL dedup_into('"note groups"', 'SELECT id, body FROM note', :'options');
SELECT id, cluster, keeper, stage, round(similarity::numeric, 3) AS similarity FROM "note groups" ORDER BY arrival;
SELECT merge, merged_at <= now() AS merged, kept, absorbed, id FROM "note groups_merges";
-- The bridge goes: the group falls apart, and the part with the oldest row keeps the name.
DELETE FROM note WHERE id = 'bridge';
CALL dedup_into('"note groups"', 'SELECT id, body FROM note;', :'options');
SELECT id, cluster, keeper, stage FROM "note groups" ORDER BY arrival;
DROP TABLE note, "note groups", "note groups_merges", "note groups_state";

-- What cannot be followed.
CREATE VIEW shown AS SELECT id, body FROM letter;
CALL dedup_into('refused', 'shown', '{"follow": true, "id": "id"}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT id, body FROM letter', '{"follow": true}');
DROP VIEW shown;
-- A writer without any right on the list is followed, also where triggers are off for others; who drops the result is not held up.
CREATE ROLE regress_dedup_writer;
GRANT INSERT ON letter TO regress_dedup_writer;
CALL dedup_into('followed', 'letter', :'plain'::jsonb || '{"follow": true, "columns": "body"}');
SET session_replication_role = replica;
SET ROLE regress_dedup_writer;
INSERT INTO letter VALUES (1001, 0, 0, 'followed by a trigger of its owner', NULL);
RESET ROLE;
RESET session_replication_role;
TABLE followed_todo;
-- What others could have done to the list is looked for as in the other tables.
CREATE RULE planted AS ON DELETE TO followed_todo DO ALSO NOTHING;
CALL dedup_into('followed', 'letter');
DROP RULE planted ON followed_todo;
CALL dedup_into('followed', 'letter');
SELECT id, stage, (SELECT count(*) FROM followed_todo) AS todo FROM followed WHERE id > 1000;
DROP TABLE followed, followed_merges, followed_state, followed_todo;
DELETE FROM letter WHERE id = 1001;
DROP FUNCTION followed_follow() CASCADE;
REVOKE ALL ON letter FROM regress_dedup_writer;
DROP ROLE regress_dedup_writer;
CREATE VIEW arrived AS SELECT id, body, likes FROM letter WHERE mixed % 100 < current_setting('test.share')::integer;
SET test.share = 100;
\set components '{"distance": 12, "keep": "longest", "group": "components", "recipe": {}, "similarity": 0.5, "n": 2, "details": []}'
CALL dedup_into('slow', 'SELECT id, body FROM arrived ORDER BY id', :'components');

-- Ids of many types, one after the other in one session.
CREATE DOMAIN number AS bigint;
SELECT format('CALL dedup_into(%L, %L, ''{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}'')', 'typed_' || t,
    format('SELECT id::text::%s AS id, ''text '' || id %% 3 AS body FROM generate_series(1, 5) id', t))
FROM unnest('{smallint,bigint,text,varchar,name,numeric,float8,number}'::text[]) t \gexec
CALL dedup_into('typed_uuid', 'SELECT md5(i::text)::uuid AS id, ''text '' || i % 3 AS body FROM generate_series(1, 5) i', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT format('SELECT %L AS type, count(*), string_agg(id || ''>'' || keeper, '' '' ORDER BY arrival) FROM %I', id, tablename)
FROM (SELECT tablename, (SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = tablename::regclass AND attname = 'id') AS id
      FROM pg_tables WHERE tablename ~ '^typed_[a-z0-9]+$') t WHERE id <> 'uuid'::regtype ORDER BY tablename \gexec
CALL dedup_into('typed_json', 'SELECT ''1''::json AS id, ''a'' AS body', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
\echo :LAST_ERROR_SQLSTATE

-- Names: with a schema, quoted, as long as they can be.
CREATE SCHEMA "a ""schema""";
CALL dedup_into('"a ""schema""".petition_groups', 'SELECT id, body FROM letter', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
CALL dedup_into('"a ""schema""".petition_groups', 'SELECT id, body FROM letter', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
CALL dedup_into(repeat('long_', 12) || 'abc', 'SELECT id, body FROM letter', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
CALL dedup_into(repeat('long_', 12) || 'xyz', 'SELECT id, body FROM letter', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into(repeat('long_', 12) || 'abcd', 'SELECT id, body FROM letter', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
\echo :LAST_ERROR_SQLSTATE
SELECT schemaname, tablename FROM pg_tables WHERE tablename ~ 'long_|petition_groups' ORDER BY tablename;

-- A search path with other people's objects before PostgreSQL's own.
CREATE SCHEMA hostile;
CREATE FUNCTION hostile.equal(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile ='; END $$;
CREATE OPERATOR hostile.= (FUNCTION = hostile.equal, LEFTARG = bigint, RIGHTARG = bigint);
CREATE FUNCTION hostile.equal(integer, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile ='; END $$;
CREATE OPERATOR hostile.= (FUNCTION = hostile.equal, LEFTARG = integer, RIGHTARG = integer);
CREATE FUNCTION hostile.near_dup(bigint, bigint, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile near_dup'; END $$;
CREATE FUNCTION hostile.format(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile format'; END $$;
CREATE FUNCTION hostile.unnest(bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile unnest'; END $$;
CREATE FUNCTION hostile.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE 'hostile now'; END $$;
CREATE DOMAIN hostile.text AS pg_catalog.text CHECK (VALUE <> VALUE);
CREATE DOMAIN hostile.bigint AS pg_catalog.int8 CHECK (VALUE IS NULL);
CREATE DOMAIN hostile.int8 AS pg_catalog.int8 CHECK (VALUE IS NULL);
SET search_path = hostile, pg_catalog, public;
CALL public.dedup_into('public.safe', 'SELECT id, body FROM public.letter WHERE id OPERATOR(pg_catalog.<) 580', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
DELETE FROM public.safe WHERE arrival OPERATOR(pg_catalog.<) 20;
CALL public.dedup_into('public.safe', 'SELECT id, body FROM public.letter WHERE id OPERATOR(pg_catalog.<) 580', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
RESET search_path;
SELECT count(*) AS rows, count(*) FILTER (WHERE id = keeper) AS kept FROM safe;
-- The extension moves away; the result stays.
CREATE SCHEMA tools;
ALTER EXTENSION pg_dedup SET SCHEMA tools;
DELETE FROM safe WHERE arrival > 570;
SET search_path = hostile, pg_catalog, public;
CALL tools.dedup_into('public.safe', 'SELECT id, body FROM public.letter WHERE id OPERATOR(pg_catalog.<) 580', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
RESET search_path;
ALTER EXTENSION pg_dedup SET SCHEMA public;
SELECT count(*) AS rows, count(*) FILTER (WHERE id = keeper) AS kept FROM safe;

-- An ordinary user, for a table of their own, and not for another's.
CREATE ROLE regress_dedup_user;
GRANT CREATE ON SCHEMA public TO regress_dedup_user;
GRANT SELECT ON letter TO regress_dedup_user;
SET ROLE regress_dedup_user;
CALL dedup_into('own', 'SELECT id, body FROM letter WHERE id < 100', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
DELETE FROM own WHERE id < 5;
CALL dedup_into('own', 'SELECT id, body FROM letter WHERE id < 100', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT count(*) AS rows, tableowner FROM own, pg_tables WHERE tablename = 'own' GROUP BY tableowner;
CALL dedup_into('safe', 'SELECT id, body FROM public.letter WHERE id OPERATOR(pg_catalog.<) 580', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
DROP TABLE own, own_merges, own_state;
REVOKE ALL ON SCHEMA public FROM regress_dedup_user;
REVOKE ALL ON letter FROM regress_dedup_user;
DROP ROLE regress_dedup_user;

-- Refused.
SET default_transaction_isolation = 'repeatable read';
CALL dedup_into('refused', 'SELECT id, body FROM letter');
\echo :LAST_ERROR_SQLSTATE
RESET default_transaction_isolation;
CALL dedup_into('letter', 'SELECT id, body FROM letter');
\echo :LAST_ERROR_SQLSTATE
CREATE TABLE refused_merges (id integer);
CALL dedup_into('refused', 'SELECT id, body FROM letter');
\echo :LAST_ERROR_SQLSTATE
DROP TABLE refused_merges;
CALL dedup_into(NULL, 'SELECT id, body FROM letter');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', NULL);
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('a.b.c', 'SELECT id, body FROM letter');
\echo :LAST_ERROR_SQLSTATE
\set VERBOSITY sqlstate
CALL dedup_into('nowhere.refused', 'SELECT id, body FROM letter');
\set VERBOSITY default
CALL dedup_into('slow', 'SELECT id, body FROM letter', :'components');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('slow', 'SELECT id, body FROM arrived ORDER BY id', '{"distance": 12, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT id, body FROM letter', '{"distanse": 12}');
CALL dedup_into('refused', 'SELECT id, body FROM letter', '{"follow": 1}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT id, body FROM letter', '{"distance": 65, "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT id FROM letter');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT id, likes FROM letter');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT id, body, likes AS id FROM letter');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'DELETE FROM letter RETURNING id, body');
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) AS left_behind FROM pg_class WHERE relname ~ 'refused';
-- NULL and repeated ids.
CALL dedup_into('nulls', 'SELECT NULLIF(id, 599) AS id, body FROM letter ORDER BY 1', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('twice', 'SELECT id % 300 AS id, body FROM letter ORDER BY letter.id', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
\echo :LAST_ERROR_SQLSTATE
-- Many of them, and all rows at once.
CALL dedup_into('twice', 'SELECT i % 2000 AS id, ''water '' || i FROM generate_series(0, 3999) i', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
SELECT to_regclass('nulls') AS nulls, to_regclass('twice') AS twice;
-- Another type of id than that of the result.
CREATE VIEW changing AS SELECT id, body FROM letter;
CALL dedup_into('changed', 'SELECT * FROM changing', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
DROP VIEW changing;
CREATE VIEW changing AS SELECT id::text AS id, body FROM letter;
CALL dedup_into('changed', 'SELECT * FROM changing', '{"n": 2, "recipe": {}, "distance": 10, "similarity": 0.5, "details": []}');
\echo :LAST_ERROR_SQLSTATE
-- What a call says.
SET client_min_messages = notice;
CALL dedup_into('slow', 'SELECT id, body FROM arrived ORDER BY id', '{"distance": 12, "keep": "longest", "group": "components", "recipe": {}, "similarity": 0.5, "n": 2, "details": []}');
SET client_min_messages = warning;
\d slow
\d slow_merges
DROP SCHEMA "a ""schema""", hostile, tools CASCADE;
DROP VIEW arrived, changing;
DROP FUNCTION differing, wrong, query;
DROP PROCEDURE history;
SELECT format('DROP TABLE %s', string_agg(quote_ident(tablename), ', ' ORDER BY tablename COLLATE "C"))
FROM pg_tables WHERE schemaname = 'public' AND tablename !~ '^_?dedup_' \gexec
DROP DOMAIN number;
DROP EXTENSION pg_dedup;
