-- The planner's estimates without statistics, with NULLs, and with one common value.
CREATE EXTENSION pg_dedup;
CREATE TABLE skewed AS SELECT CASE WHEN n % 4 = 0 THEN NULL WHEN n % 2 = 0 THEN 5 ELSE hashint8extended(n, 0) END AS fp
FROM generate_series(1, 10000) n;
CREATE FUNCTION estimate(condition text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM skewed WHERE ' || condition INTO plan;
  RETURN plan->0->'Plan'->>'Plan Rows';
END $$;
SELECT estimate('near_dup(fp, 5, 3)') < 100 AS "unrelated, as long as nothing is known";
ANALYZE skewed;
SELECT estimate('near_dup(fp, 7, 3)') BETWEEN 2300 AND 2700 AS "the common value",
       estimate('fp <@ hamming_ball(1, 64)') BETWEEN 7300 AND 7700 AS "all but the NULLs",
       estimate('near_dup(fp, 81985529216486895)') < 10 AS "a rare value", estimate('near_dup(fp, 5, -1)') = 1 AS "none";

-- Estimators and support functions that somebody gave to operators and functions of other types: nothing is read as what it
-- is not, and whoever plans such a query gets a plan.
CREATE SCHEMA other;
CREATE TYPE other.pair AS (a bigint, b text);
CREATE TYPE other.mood AS ENUM ('good', 'bad');
CREATE DOMAIN other.hamming_ball AS text;
CREATE DOMAIN other.fp AS bigint;
CREATE DOMAIN other.ball AS public.hamming_ball;
CREATE FUNCTION other.plans(one text, two text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE query text; condition text; planned integer := 0;
BEGIN
  EXECUTE format('CREATE FUNCTION other.f(%1$s, %2$s) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS ''BEGIN RETURN true; END'';
    CREATE OPERATOR other.<<~ (LEFTARG = %1$s, RIGHTARG = %2$s, FUNCTION = other.f, RESTRICT = hamming_sel, JOIN = hamming_joinsel);
    CREATE TABLE other.t AS SELECT s.one, s.two FROM (VALUES (NULL::%1$s, NULL::%2$s)) s(one, two), generate_series(1, 20)', one, two);
  ANALYZE other.t;
  FOREACH condition IN ARRAY ARRAY['one OPERATOR(other.<<~) two', 'one OPERATOR(other.<<~) (%2$s)', '(%1$s) OPERATOR(other.<<~) two',
      'one OPERATOR(other.<<~) (SELECT %2$s)', 'one OPERATOR(other.<<~) NULL::%3$s', 'EXISTS (SELECT FROM other.t b WHERE t.one OPERATOR(other.<<~) b.two)'] LOOP
    query := format('SELECT FROM other.t WHERE ' || condition, other.value(one), other.value(two), two);
    EXECUTE query;
    EXECUTE 'EXPLAIN ' || query;
    planned := planned + 1;
  END LOOP;
  DROP TABLE other.t;
  EXECUTE format('DROP FUNCTION other.f(%s, %s) CASCADE', one, two);
  RETURN planned;
END $$;
-- A value that is no pointer, or points to less than a ball.
CREATE FUNCTION other.value(type text) RETURNS text LANGUAGE sql AS $$
  SELECT CASE WHEN type ~ 'ball$' AND type <> 'other.hamming_ball' THEN '''(5,3)''::' WHEN type = 'other.pair' THEN '''(5,x)''::' WHEN type = 'other.mood' THEN '''good''::'
    WHEN type = 'bigint[]' THEN '''{}''::' WHEN type = 'point' THEN '''(1,2)''::' WHEN type = 'uuid' THEN '''00000000-0000-0000-0000-000000000005''::' WHEN type = 'jsonb' THEN '''5''::'
    WHEN type = 'int8range' THEN '''empty''::' WHEN type = 'boolean' THEN '''t''::' ELSE '''5''::' END || type $$;
SET client_min_messages = warning;
SELECT count(*) AS pairs, min(plans), max(plans)
  FROM (SELECT other.plans(a, b) AS plans FROM unnest('{oid,text,bigint,integer,bigint[],point,uuid,float8,name,interval,jsonb,boolean,int8range,
    other.pair,other.mood,other.hamming_ball,other.fp,other.ball,hamming_ball,"char"}'::text[]) a,
    unnest('{oid,text,bigint,other.pair,other.hamming_ball,other.ball,hamming_ball}'::text[]) b) s;
RESET client_min_messages;
CREATE TABLE other.indexed AS SELECT n::bigint AS fp, n::text AS body FROM generate_series(1, 1000) n;
CREATE INDEX ON other.indexed USING banding (fp);
CREATE FUNCTION other.near(bigint, text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE SUPPORT near_dup_support AS 'BEGIN RETURN $1 = 5; END';
CREATE FUNCTION other.near(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE SUPPORT near_dup_support AS 'BEGIN RETURN $1 = ''5''; END';
SET enable_seqscan = off;
SELECT count(*) FROM other.indexed WHERE other.near(fp, '5', '3') AND other.near(body);
RESET enable_seqscan;
SET client_min_messages = warning;
DROP SCHEMA other CASCADE;
RESET client_min_messages;

-- CREATE EXTENSION warns on servers where every role may do so, as its script does it with the numbers of others.
CREATE FUNCTION warns(server integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE script text := pg_read_file((SELECT setting FROM pg_config WHERE name = 'SHAREDIR') || '/extension/pg_dedup--'
  || (SELECT extversion FROM pg_extension WHERE extname = 'pg_dedup') || '.sql');
BEGIN
  EXECUTE replace(replace(substring(script FROM 'DO [$]check[$].*?[$]check[$];'), $q$pg_catalog.current_setting('server_version_num')$q$, quote_literal(server)),
    'RAISE WARNING', 'RAISE EXCEPTION');
  RETURN false;
EXCEPTION WHEN raise_exception THEN RAISE NOTICE '%', SQLERRM; RETURN true;
END $$;
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT array_agg(server ORDER BY server) FILTER (WHERE warns(server)) AS warned, array_agg(server ORDER BY server) FILTER (WHERE NOT warns(server)) AS silent
  FROM unnest('{150015,150016,150020,160011,160012,170007,170008,180000,180001,180002,190000}'::int[]) server;
RESET client_min_messages;
DROP FUNCTION warns;
DROP TABLE skewed;
DROP FUNCTION estimate;
DROP EXTENSION pg_dedup;
