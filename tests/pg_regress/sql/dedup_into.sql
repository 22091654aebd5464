-- The pipeline into a table, batch by batch: the same answers as dedup,
-- whatever the batches, the stops and the order in which rows arrive.
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
-- Stops when it comes to a row; as if somebody had.
CREATE FUNCTION stopping(id integer, body text) RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF id = ANY (current_setting('test.stop', true)::integer[]) THEN RAISE 'stopped at %', id; END IF;
    RETURN body;
END $$;
-- In how many rows a result differs from dedup over the same rows in the
-- order in which they arrived.
CREATE FUNCTION differing(result text, query text, options jsonb) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    -- A call that was stopped in its first batch leaves nothing.
    IF to_regclass(result) IS NULL THEN RETURN 0; END IF;
    EXECUTE format('WITH found AS (SELECT id::text, keeper::text, stage, distance, similarity FROM %1$s),
                         truth AS (SELECT id::text, keeper::text, stage, distance, similarity FROM dedup(%2$L, %3$L))
        SELECT count(*) FROM ((TABLE found EXCEPT ALL TABLE truth) UNION ALL (TABLE truth EXCEPT ALL TABLE found)) d',
        result, format('SELECT q.* FROM (%s) q JOIN %s r USING (id) ORDER BY r.arrival', query, result),
        '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}' || options) INTO n;
    RETURN n;
END $$;
CREATE FUNCTION rows_of(result text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    IF to_regclass(result) IS NULL THEN RETURN 0; END IF;
    EXECUTE 'SELECT count(*) FROM ' || result INTO n;
    RETURN n;
END $$;
-- Rows that do not repeat the row that is kept for them.
CREATE FUNCTION unverified(result text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    EXECUTE format('SELECT count(*) FROM %1$s r JOIN %1$s k ON k.id = r.keeper JOIN letter a ON a.id = r.id JOIN letter b ON b.id = k.id
        WHERE k.stage NOT IN (''kept'', ''empty'') OR r.cluster <> k.cluster OR r.stage = ''exact'' AND a.body <> b.body
           OR r.stage = ''near'' AND NOT (near_dup(r.fp, k.fp, 10) AND ngram_jaccard(a.body, b.body) >= 0.5)', result) INTO n;
    RETURN n;
END $$;
-- That a cluster is named by the first row it ever had, and rows of one keeper
-- are one cluster.
CREATE FUNCTION misnamed(result text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE n bigint;
BEGIN
    IF to_regclass(result) IS NULL THEN RETURN 0; END IF;
    EXECUTE format('SELECT count(*) FROM (SELECT FROM %s GROUP BY cluster HAVING min(arrival) <> cluster
        OR count(DISTINCT keeper) > 1 OR count(*) FILTER (WHERE stage IN (''kept'', ''empty'')) <> 1) c', result) INTO n;
    RETURN n;
END $$;

-- Every option, several batches or all rows at once, two stops each.
CREATE FUNCTION arguments(batch integer) RETURNS jsonb LANGUAGE sql AS
$$SELECT '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}' || CASE WHEN batch < 600 THEN jsonb_build_object('batch', batch) ELSE '{}' END$$;
CREATE TABLE run AS
SELECT 'r' || row_number() OVER () AS result, options, batch,
       'SELECT id, stopping(id, body) AS body, likes, fp FROM letter ORDER BY ' || sorted AS query
FROM (VALUES ('mixed', 97), ('mixed', 250), ('id', 1000)) v(sorted, batch),
     unnest(ARRAY['{}', '{"distance": 14, "similarity": 0.4, "weights": {}, "n": 2, "particulars": []}', '{"distance": 8, "similarity": 0, "weights": {}, "n": 2, "particulars": []}', '{"distance": null}',
         '{"exact": "normal"}', '{"exact": "none", "distance": 4, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}', '{"fp": "fp", "distance": 10, "similarity": 0.5, "n": 2, "particulars": []}', '{"fp": "fp", "group": "single_pass", "distance": 10, "similarity": 0.5, "n": 2, "particulars": []}',
         '{"group": "single_pass", "distance": 12, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}', '{"keep": "last", "group": "components"}',
         '{"keep": "longest", "distance": 14, "group": "components", "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}', '{"fp": "fp", "group": "components", "distance": 10, "similarity": 0.5, "n": 2, "particulars": []}',
         '{"keep": {"column": "likes"}, "group": "components"}', '{"n": 3, "weights": {"tokens": "chars"}, "distance": 10, "similarity": 0.5, "particulars": []}', '{"particulars": ["number"]}',
         '{"keep": {"column": "likes", "order": "desc"}, "exact": "normal", "group": "single_pass"}',
         '{"fp": "fp", "distance": 14, "diameter": 14, "similarity": 0.5, "n": 2, "particulars": []}', '{"distance": 20, "similarity": 0.3, "diameter": 9, "keep": "longest", "weights": {}, "n": 2, "particulars": []}',
         '{"distance": 20, "similarity": 0, "diameter": 16, "particulars": ["number"], "exact": "normal", "weights": {}, "n": 2}']::jsonb[]) options;
\set ECHO none
\o /dev/null
SET test.stop = '{300}';
SELECT format('CALL dedup_into(%L, %L, %L)', result, query, arguments(batch) || options) FROM run \gexec
SET test.stop = '{480, 555}';
SELECT format('CALL dedup_into(%L, %L, %L)', result, query, arguments(batch) || options) FROM run \gexec
\o
\set ECHO all
-- Stopped: whole batches are there, and they are right.
SET test.stop = '{}';
SELECT count(*) AS runs, count(DISTINCT rows_of(result)) AS stops, sum(rows_of(result) % least(batch, 600)) AS parts_of_batches,
       sum(differing(result, query, options)) AS differing, sum(misnamed(result)) AS misnamed FROM run;
\set ECHO none
\o /dev/null
SELECT format('CALL dedup_into(%L, %L, %L)', result, query, arguments(batch) || options) FROM run \gexec
\o
\set ECHO all
SELECT options, sum(differing(result, query, options)) AS differing, sum(misnamed(result)) AS misnamed,
       bool_and(rows_of(result) = 600) AS complete
FROM run GROUP BY options ORDER BY options;
\set ECHO none
\o /dev/null
SELECT format('DROP TABLE %1$s, %1$s_merges, %1$s_state', result) FROM run \gexec
\o
\set ECHO all

-- Rows arrive little by little, in any order, before and behind others in the
-- order of the query. Names stay, except as the log says.
CREATE VIEW arrived AS SELECT id, body, likes FROM letter WHERE mixed % 100 < current_setting('test.share')::integer;
CREATE TABLE before AS SELECT 0 AS id, 0::bigint AS cluster LIMIT 0;
CREATE FUNCTION renamed(result text) RETURNS TABLE (rows bigint, renamed bigint, as_logged bigint) LANGUAGE plpgsql AS $$
BEGIN
    -- A name is what the log, read in order, makes of it.
    RETURN QUERY EXECUTE format('
        WITH RECURSIVE step AS (
            SELECT id, cluster, 0::bigint AS merge FROM before
            UNION ALL
            SELECT s.id, m.kept, m.merge FROM step s, LATERAL (SELECT * FROM %1$s_merges m
                WHERE m.absorbed = s.cluster AND m.merge > s.merge ORDER BY m.merge LIMIT 1) m),
        now_is AS (SELECT DISTINCT ON (id) id, cluster FROM step ORDER BY id, merge DESC)
        SELECT count(*), count(*) FILTER (WHERE b.cluster <> r.cluster), count(*) FILTER (WHERE n.cluster = r.cluster)
        FROM before b JOIN now_is n USING (id) JOIN %1$s r USING (id)', result);
    EXECUTE format('TRUNCATE before; INSERT INTO before SELECT id, cluster FROM %s', result);
END $$;
\set components '{"distance": 12, "keep": "longest", "group": "components", "batch": 100, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}'
SET test.share = 30;
CALL dedup_into('slow', 'SELECT id, body FROM arrived ORDER BY id', :'components');
SELECT * FROM renamed('slow');
SET test.share = 31;
CALL dedup_into('slow', 'SELECT id, body FROM arrived ORDER BY id', :'components');
SELECT * FROM renamed('slow');
SET test.share = 32;
CALL dedup_into('slow', 'SELECT id, body FROM arrived ORDER BY id', :'components');
SELECT * FROM renamed('slow');
SET test.share = 90;
CALL dedup_into('slow', 'SELECT id, body FROM arrived ORDER BY id', :'components');
SELECT rows, renamed > 0 AS renamed, as_logged FROM renamed('slow');
SET test.share = 100;
CALL dedup_into('slow', 'SELECT id, body FROM arrived ORDER BY id', '{"distance": 12, "keep": "longest", "group": "components", "batch": 1, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}');
SELECT rows, as_logged FROM renamed('slow');
SELECT count(*) AS rows, differing('slow', 'SELECT id, body FROM letter', '{"distance": 12, "keep": "longest", "group": "components", "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}'), misnamed('slow') FROM slow;
-- The partition does not depend on the order.
SELECT count(*) AS differing FROM (
    SELECT id, min(id) OVER (PARTITION BY cluster) FROM slow EXCEPT
    SELECT id, min(id) OVER (PARTITION BY keeper) FROM dedup('SELECT id, body FROM letter ORDER BY id', '{"distance": 12, "group": "components", "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}')) d;
-- The two rows of every merge are as near as the log says.
SELECT count(*) > 0 AS merges, count(*) FILTER (WHERE m.distance <> simhash(a.body) <~> simhash(b.body) OR m.distance > 12
        OR m.similarity <> ngram_jaccard(a.body, b.body) OR m.similarity < 0.5 OR m.kept >= m.absorbed) AS wrong
FROM slow_merges m JOIN letter a ON a.id = m.a JOIN letter b ON b.id = m.b;

-- Single-Pass: each to the nearest centre that arrived before it.
SET test.share = 92;
CALL dedup_into('pass', 'SELECT id, body FROM arrived ORDER BY id', '{"group": "single_pass", "distance": 12, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}');
SET test.share = 100;
CALL dedup_into('pass', 'SELECT id, body FROM arrived ORDER BY id', '{"group": "single_pass", "distance": 12, "batch": 1, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}');
SELECT count(*) AS rows, (SELECT count(*) FROM pass_merges) AS merges,
       differing('pass', 'SELECT id, body FROM letter', '{"group": "single_pass", "distance": 12, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}'), misnamed('pass') FROM pass;

-- One at a time, and so near that the index is searched, which is less work than to read 500 rows; more at once are compared
-- with all. Either way they are near the same.
CREATE TABLE found AS SELECT 'found_' || "group" || batch AS result, batch, jsonb_build_object('group', "group", 'distance', 6, 'similarity', 0, 'weights', '{}'::jsonb, 'n', 2, 'particulars', '[]'::jsonb) AS options
FROM unnest(ARRAY['star', 'components', 'single_pass']) "group", unnest(ARRAY[1, 60]) batch;
\set ECHO none
\o /dev/null
SET test.share = 90;
SELECT format('CALL dedup_into(%L, %L, %L)', result, 'SELECT id, body FROM arrived ORDER BY id', options) FROM found \gexec
SET test.share = 100;
SELECT format('CALL dedup_into(%L, %L, %L)', result, 'SELECT id, body FROM arrived ORDER BY id', options || jsonb_build_object('batch', batch)) FROM found \gexec
\o
\set ECHO all
CREATE FUNCTION late(result text) RETURNS TABLE (late bigint, near bigint) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT count(*), count(*) FILTER (WHERE stage = ''near'') FROM %s JOIN letter USING (id) WHERE mixed %% 100 >= 90', result);
END $$;
SELECT options ->> 'group' AS "group", batch, differing(result, 'SELECT id, body FROM letter', options), misnamed(result), l.*
FROM found, late(result) l ORDER BY result;

-- By default each row is verified against the row that is kept for it: a bridge joins one of two clusters. Where the row that was
-- kept is gone, its copy takes its place; what was verified against it alone comes again as new.
CREATE TABLE note (id text PRIMARY KEY, body text);
INSERT INTO note VALUES ('a', 'abcdefghijklmnopqrstuvwxyz'), ('b', 'ghijklmnopqrstuvwxyz012345'), ('c', 'defghijklmnopqrstuvwxyz012');
\set star '{"distance": 64, "similarity": 0.7, "weights": {}, "n": 2, "particulars": []}'
CALL dedup_into('stars', 'SELECT id, body FROM note ORDER BY id', :'star');
INSERT INTO note VALUES ('d', 'abcdefghijklmnopqrstuvwxyz');
CALL dedup_into('stars', 'SELECT id, body FROM note ORDER BY id', :'star');
SELECT id, cluster, keeper, stage, round(similarity::numeric, 3) AS similarity FROM stars ORDER BY arrival;
DELETE FROM stars WHERE id = 'a';
DELETE FROM note WHERE id = 'a';
CALL dedup_into('stars', 'SELECT id, body FROM note ORDER BY id', :'star');
SELECT id, cluster, keeper, stage, round(similarity::numeric, 3) AS similarity FROM stars ORDER BY arrival;
DELETE FROM stars WHERE id = 'd';
DELETE FROM note WHERE id = 'd';
INSERT INTO note VALUES ('e', 'bcdefghijklmnopqrstuvwxyz');
CALL dedup_into('stars', 'SELECT id, body FROM note ORDER BY id', :'star');
SELECT id, cluster, keeper, stage, round(similarity::numeric, 3) AS similarity FROM stars ORDER BY arrival;
-- Another row than the first is kept of a group that is named, whose rows were verified against its first, not of a star.
CALL dedup_into('refused', 'SELECT id, body FROM note ORDER BY id', '{"keep": "last", "group": "star"}');
CALL dedup_into('latest', 'SELECT id, body FROM note ORDER BY id', '{"keep": "last", "similarity": 0.7, "weights": {}, "distance": 10, "n": 2, "particulars": []}');
DROP TABLE stars, stars_merges, stars_state, note;

-- A row that bridges two clusters.
CREATE TABLE note (id text PRIMARY KEY, body text);
INSERT INTO note VALUES ('old', 'abcdefghijklmnopqrstuvwxyz'), ('young', 'ghijklmnopqrstuvwxyz012345'), ('alone', '学校门口的路灯坏了一个月');
\set options '{"distance": 64, "similarity": 0.7, "group": "components", "weights": {}, "n": 2, "particulars": []}'
CALL dedup_into('note groups', 'SELECT id, body FROM note', :'options');
CALL dedup_into('"note groups"', 'SELECT id, body FROM note', :'options');
SELECT id, cluster, keeper, stage FROM "note groups" ORDER BY arrival;
INSERT INTO note VALUES ('bridge', 'defghijklmnopqrstuvwxyz012');
CALL dedup_into('"note groups"', 'SELECT id, body FROM note', :'options');
SELECT id, cluster, keeper, stage, round(similarity::numeric, 3) AS similarity FROM "note groups" ORDER BY arrival;
SELECT merge, merged_at <= now() AS merged, kept, absorbed, a, b, distance < 64 AS distance, round(similarity::numeric, 3) AS similarity FROM "note groups_merges";
-- Rows changed at the source are taken out and come again; the kept row of a
-- cluster and the first of equal rows go, and others take their places.
INSERT INTO note VALUES ('copy', 'abcdefghijklmnopqrstuvwxyz');
CALL dedup_into('"note groups"', 'SELECT id, body FROM note', :'options');
UPDATE note SET body = '学校门口的路灯坏了两个月' WHERE id = 'old';
DELETE FROM "note groups" WHERE id = 'old';
CALL dedup_into('"note groups"', 'SELECT id, body FROM note;', :'options');
SELECT id, cluster, keeper, stage, same_as, round(similarity::numeric, 3) AS similarity FROM "note groups" ORDER BY arrival;
INSERT INTO note VALUES ('copy 2', 'abcdefghijklmnopqrstuvwxyz');
CALL dedup_into('"note groups"', 'SELECT id, body FROM note', :'options');
SELECT id, cluster, keeper, stage, same_as, distance FROM "note groups" WHERE id LIKE 'copy%' ORDER BY arrival;
-- A row that is gone from the source is still there, and equal rows still
-- find it by its hash; nothing can be verified against it.
DELETE FROM note WHERE id = 'alone';
INSERT INTO note VALUES ('alone again', '学校门口的路灯坏了一个月');
CALL dedup_into('"note groups"', 'SELECT id, body FROM note', :'options');
SELECT id, cluster, keeper, stage FROM "note groups" WHERE id LIKE 'alone%' ORDER BY arrival;
-- Only part of the query is looked at.
INSERT INTO note VALUES ('x1', 'new'), ('x2', 'newer');
CALL dedup_into('"note groups"', 'SELECT id, body FROM note', '{"distance": 64, "similarity": 0.7, "where": "id = ''x2'' -- only", "weights": {}, "n": 2, "particulars": []}');
SELECT id FROM "note groups" WHERE id LIKE 'x%';
DROP TABLE "note groups", "note groups_merges", "note groups_state";

-- A group falls apart where the row that connected it is gone, and no group with a diameter is wider, whatever comes and goes:
-- what is there is grouped as dedup groups it.
CREATE TABLE chain AS SELECT i AS id, 'text ' || i AS body, (1::bigint << i) - 1 AS fp FROM generate_series(0, 12) i;
\set chained '{"fp": "fp", "distance": 3, "similarity": 0, "group": "components", "n": 2, "particulars": []}'
\set bounded '{"fp": "fp", "distance": 3, "similarity": 0, "diameter": 4, "n": 2, "particulars": []}'
CALL dedup_into('chained', 'SELECT id, body, fp FROM chain ORDER BY id', :'chained');
CALL dedup_into('bounded', 'SELECT id, body, fp FROM chain WHERE id <> 6 ORDER BY id', :'bounded');
CALL dedup_into('bounded', 'SELECT id, body, fp FROM chain WHERE id <> 6 ORDER BY id', :'bounded');
SELECT cluster, array_agg(id ORDER BY id) FROM chained GROUP BY cluster ORDER BY cluster;
SELECT cluster, component, array_agg(id ORDER BY id), max(members) AS members FROM bounded GROUP BY cluster, component ORDER BY cluster;
DELETE FROM chain WHERE id BETWEEN 5 AND 7;
DELETE FROM chained WHERE id BETWEEN 5 AND 7;
DELETE FROM bounded WHERE id BETWEEN 5 AND 7;
CALL dedup_into('chained', 'SELECT id, body, fp FROM chain ORDER BY id', :'chained');
CALL dedup_into('bounded', 'SELECT id, body, fp FROM chain WHERE id <> 6 ORDER BY id', :'bounded');
SELECT cluster, array_agg(id ORDER BY id) FROM chained GROUP BY cluster ORDER BY cluster;
SELECT cluster, component, array_agg(id ORDER BY id), max(members) AS members FROM bounded GROUP BY cluster, component ORDER BY cluster;
DROP TABLE chain, chained, chained_merges, chained_state, bounded, bounded_merges, bounded_state;

-- A row near two components makes them one, also for a group that stays as it was.
CREATE TABLE bridge AS SELECT id, 'text ' || id AS body, fp FROM unnest('{0,15,3}'::bigint[]) WITH ORDINALITY AS u(fp, id);
CALL dedup_into('bridged', 'SELECT id, body, fp FROM bridge ORDER BY id', '{"fp": "fp", "distance": 3, "similarity": 0, "diameter": 2, "batch": 1, "n": 2, "particulars": []}');
SELECT id, cluster, component FROM bridged ORDER BY id;
DELETE FROM bridge WHERE id = 1;
DELETE FROM bridged WHERE id = 1;
CALL dedup_into('bridged', 'SELECT id, body, fp FROM bridge ORDER BY id');
SELECT id, keeper, stage, distance FROM bridged ORDER BY id;
DROP TABLE bridge, bridged, bridged_merges, bridged_state;

-- Ids of many types, one after the other in one session.
CREATE DOMAIN number AS bigint;
SELECT format('CALL dedup_into(%L, %L, ''{"n": 2, "batch": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}'')', 'typed_' || t,
    format('SELECT id::text::%s AS id, ''text '' || id %% 3 AS body FROM generate_series(1, 5) id', t))
FROM unnest('{smallint,bigint,text,varchar,name,numeric,float8,number}'::text[]) t \gexec
CALL dedup_into('typed_uuid', 'SELECT md5(i::text)::uuid AS id, ''text '' || i % 3 AS body FROM generate_series(1, 5) i', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
SELECT format('SELECT %L AS type, count(*), string_agg(id || ''>'' || keeper, '' '' ORDER BY arrival) FROM %I', id, tablename)
FROM (SELECT tablename, (SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = tablename::regclass AND attname = 'id') AS id
      FROM pg_tables WHERE tablename ~ '^typed_[a-z0-9]+$') t WHERE id <> 'uuid'::regtype ORDER BY tablename \gexec
CALL dedup_into('typed_json', 'SELECT ''1''::json AS id, ''a'' AS body', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
\echo :LAST_ERROR_SQLSTATE

-- Names: with a schema, quoted, as long as they can be.
CREATE SCHEMA "a ""schema""";
CALL dedup_into('"a ""schema""".petition_groups', 'SELECT id, body FROM letter', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
CALL dedup_into('"a ""schema""".petition_groups', 'SELECT id, body FROM letter', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
CALL dedup_into(repeat('long_', 12) || 'abc', 'SELECT id, body FROM letter', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
CALL dedup_into(repeat('long_', 12) || 'xyz', 'SELECT id, body FROM letter', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into(repeat('long_', 12) || 'abcd', 'SELECT id, body FROM letter', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
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
CALL public.dedup_into('public.safe', 'SELECT id, body FROM public.letter WHERE id OPERATOR(pg_catalog.<) 580', '{"n": 2, "batch": 100, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
DELETE FROM public.safe WHERE arrival OPERATOR(pg_catalog.<) 20;
CALL public.dedup_into('public.safe', 'SELECT id, body FROM public.letter WHERE id OPERATOR(pg_catalog.<) 580', '{"n": 2, "batch": 100, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
RESET search_path;
-- Copies stand for rows that are gone, so it is not the result that all rows in this order have.
SELECT count(*) AS rows, unverified('safe') FROM safe;
-- The extension moves away; the result stays.
CREATE SCHEMA tools;
ALTER EXTENSION pg_dedup SET SCHEMA tools;
DELETE FROM safe WHERE arrival > 570;
SET search_path = hostile, pg_catalog, public;
CALL tools.dedup_into('public.safe', 'SELECT id, body FROM public.letter WHERE id OPERATOR(pg_catalog.<) 580', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
RESET search_path;
ALTER EXTENSION pg_dedup SET SCHEMA public;
SELECT count(*) AS rows, unverified('safe') FROM safe;

-- An ordinary user, for a table of their own, and not for another's.
CREATE ROLE regress_dedup_user;
GRANT CREATE ON SCHEMA public TO regress_dedup_user;
GRANT SELECT ON letter TO regress_dedup_user;
SET ROLE regress_dedup_user;
CALL dedup_into('own', 'SELECT id, body FROM letter WHERE id < 100', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
DELETE FROM own WHERE id < 5;
CALL dedup_into('own', 'SELECT id, body FROM letter WHERE id < 100', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
SELECT count(*) AS rows, tableowner FROM own, pg_tables WHERE tablename = 'own' GROUP BY tableowner;
CALL dedup_into('safe', 'SELECT id, body FROM public.letter WHERE id OPERATOR(pg_catalog.<) 580', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
DROP TABLE own, own_merges, own_state;
REVOKE ALL ON SCHEMA public FROM regress_dedup_user;
REVOKE ALL ON letter FROM regress_dedup_user;
DROP ROLE regress_dedup_user;

-- Refused.
BEGIN;
CALL dedup_into('refused', 'SELECT id, body FROM letter');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK;
DO $$ BEGIN CALL dedup_into('refused', 'SELECT id, body FROM letter', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}'); END $$;
DROP TABLE refused, refused_merges, refused_state;
CREATE FUNCTION calls() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL dedup_into('refused', 'SELECT id, body FROM letter'); END $$;
SELECT calls();
\echo :LAST_ERROR_SQLSTATE
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
CALL dedup_into('nowhere.refused', 'SELECT id, body FROM letter');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('slow', 'SELECT id, body FROM letter', :'components');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('slow', 'SELECT id, body FROM arrived ORDER BY id', '{"distance": 12, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT id, body FROM letter', '{"distanse": 12}');
CALL dedup_into('refused', 'SELECT id, body FROM letter', '{"contained": 0.7}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT id, body FROM letter', '{"batch": 0}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT id, body FROM letter', '{"where": 1}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('refused', 'SELECT id, body FROM letter', '{"distance": 65, "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}');
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
CALL dedup_into('nulls', 'SELECT NULLIF(id, 599) AS id, body FROM letter ORDER BY 1', '{"n": 2, "batch": 100, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
\echo :LAST_ERROR_SQLSTATE
CALL dedup_into('twice', 'SELECT id % 300 AS id, body FROM letter ORDER BY letter.id', '{"n": 2, "batch": 50, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
\echo :LAST_ERROR_SQLSTATE
-- Many of them, and all rows at once.
CALL dedup_into('twice', 'SELECT i % 2000 AS id, ''water '' || i FROM generate_series(0, 3999) i', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
SELECT to_regclass('nulls') AS nulls, to_regclass('twice') AS twice;
-- Another type of id than that of the result.
CREATE VIEW changing AS SELECT id, body FROM letter;
CALL dedup_into('changed', 'SELECT * FROM changing', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
DROP VIEW changing;
CREATE VIEW changing AS SELECT id::text AS id, body FROM letter;
CALL dedup_into('changed', 'SELECT * FROM changing', '{"n": 2, "weights": {}, "distance": 10, "similarity": 0.5, "particulars": []}');
\echo :LAST_ERROR_SQLSTATE
-- The steps by themselves, with nonsense.
SELECT _dedup_into_take('slow', 'SELECT id, body FROM arrived ORDER BY id', :'components', ROW(1, 2));
SELECT _dedup_into_take('slow', 'SELECT id, body FROM arrived ORDER BY id', :'components', t) FROM (SELECT '{a}'::text[] AS ids, 1::bigint AS total, 0::bigint AS without_id) t;
SELECT _dedup_into_take('slow', 'SELECT id, body FROM arrived ORDER BY id', :'components', t) FROM (SELECT '{1,NULL,-5}'::integer[] AS ids, 3::bigint AS total, 0::bigint AS without_id) t;
-- What a call says.
SET client_min_messages = notice;
CALL dedup_into('slow', 'SELECT id, body FROM arrived ORDER BY id', '{"distance": 12, "keep": "longest", "group": "components", "weights": {}, "similarity": 0.5, "n": 2, "particulars": []}');
SET client_min_messages = warning;
\d slow
\d slow_merges
DROP SCHEMA "a ""schema""", hostile, tools CASCADE;
DROP VIEW arrived, changing;
DROP FUNCTION stopping, rows_of, differing, misnamed, renamed, late, calls;
SELECT format('DROP TABLE %s', string_agg(quote_ident(tablename), ', ' ORDER BY tablename COLLATE "C"))
FROM pg_tables WHERE schemaname = 'public' AND tablename !~ '^_?dedup_' \gexec
DROP DOMAIN number;
DROP EXTENSION pg_dedup;
