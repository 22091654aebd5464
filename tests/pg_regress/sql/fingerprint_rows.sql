-- Fingerprints of rows by column name.
CREATE EXTENSION pg_dedup;
\t on
-- A column is one value or running text.
CREATE TABLE p (title text, body text);
INSERT INTO p VALUES ('停水', '小区停水，物业不管');
SELECT string_agg(feature || ':' || weight, ' ' ORDER BY feature COLLATE "C")
FROM p, simhash_features(p, '{"title": 2, "body": {"tokens": "words", "factor": 3}}');
SELECT simhash(p, '{"title": 2, "body": "tf"}') <> simhash(p, '{"title": 2, "body": 1}'),
       simhash(p, '{"body": "tf"}') = simhash(p, '{"body": null}'),
       simhash(p, '{"body": {"weight": 2.5}, "title": 5}') = simhash(p, '{"body": {"weight": 1}, "title": 2}'),
       simhash(p, '{"title": 0}') IS NULL FROM p;
-- Columns that are not named do not matter.
SELECT simhash(r, '{"title": 2}') = simhash(s, '{"title": 2}')
FROM (SELECT 1 AS id, '停水' AS title) r, (SELECT 2 AS id, '停水' AS title) s;
DROP TABLE p;
-- The row's own header says how many columns it stores; later ones are NULL or have the default of ALTER TABLE.
CREATE TABLE p (a text, gone text, b text);
INSERT INTO p VALUES ('停水', 'x', '物业');
SELECT simhash(p, '{"a": 1, "b": 2}') AS before FROM p \gset
ALTER TABLE p DROP gone;
SELECT simhash(p, '{"a": 1, "b": 2}') = :before FROM p;
ALTER TABLE p ADD c text;
SELECT simhash(p, '{"a": 1, "b": 2, "c": 5}') = :before FROM p;
ALTER TABLE p ADD d text DEFAULT '住建局';
SELECT simhash(p, '{"a": 1, "b": 2, "c": 5, "d": 9}') AS with_default FROM p \gset
SELECT :with_default <> :before;
UPDATE p SET a = a;
SELECT simhash(p, '{"a": 1, "b": 2, "c": 5, "d": 9}') = :with_default, simhash(p, '{"c": 1}') IS NULL FROM p;
ALTER TABLE p RENAME a TO title;
SELECT simhash(p, '{"title": 1, "b": 2}') IS NOT NULL FROM p;
DROP TABLE p;
-- Anonymous rows, subqueries and VALUES have columns too.
SELECT simhash(ROW('停水'::text), '{"f1": 1}') = (SELECT hash FROM simhash_features(ROW('停水'::text), '{"f1": 1}')),
       simhash(NULL::record, '{"f1": 1}') IS NULL;
SELECT simhash(s, '{"title": 1}') = simhash(v, '{"title": 1}')
FROM (SELECT '停水' AS title) s, (VALUES (1, '停水')) v(id, title);
-- Equal texts are equal features whatever type stores them: toasted, compressed, blank-padded, domains.
CREATE DOMAIN place AS varchar(40) CHECK (VALUE <> '');
CREATE DOMAIN town AS place;
CREATE TABLE p (a text, b varchar(40), c char(40), d place, e town, n name);
INSERT INTO p SELECT t, t, t, t, t, t FROM (VALUES ('岳麓区住建局')) v(t);
SELECT simhash(rb, w) = simhash(ra, w) AS varchar, simhash(rc, w) = simhash(ra, w), simhash(rd, w) = simhash(ra, w),
       simhash(re, w) = simhash(ra, w), simhash(rn, w) = simhash(ra, w)
FROM p, LATERAL (SELECT p.a AS v) ra, LATERAL (SELECT p.b AS v) rb, LATERAL (SELECT p.c AS v) rc,
     LATERAL (SELECT p.d AS v) rd, LATERAL (SELECT p.e AS v) re, LATERAL (SELECT p.n AS v) rn, (VALUES ('{"v": 1}'::jsonb)) r(w);
CREATE TABLE long (a text, b text);
ALTER TABLE long ALTER b SET STORAGE EXTERNAL;
INSERT INTO long SELECT t, t FROM (SELECT string_agg('停水' || n, '，') FROM generate_series(1, 9000) n) s(t);
SELECT simhash(ra, '{"v": "tf"}') = simhash(rb, '{"v": "tf"}'), simhash(long, '{"a": "tf", "b": 2}') IS NOT NULL
FROM long, LATERAL (SELECT long.a AS v) ra, LATERAL (SELECT long.b AS v) rb;
DROP TABLE p, long;
-- Other types are as they print.
CREATE TABLE p (i int, big bigint, n numeric, f float8, b bool, u uuid, j jsonb, a int[]);
INSERT INTO p VALUES (7, 7, 12.50, 0.1, true, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"x": 1}', '{1,2}');
SELECT key, simhash(p, jsonb_build_object(key, 1)) = simhash(s, jsonb_build_object(key, 1))
FROM p, (VALUES ('7', '7', '12.50', '0.1', 't', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"x": 1}', '{1,2}'))
    s(i, big, n, f, b, u, j, a), jsonb_object_keys(to_jsonb(p)) key ORDER BY key;
DROP TABLE p;
-- simhash is immutable, so no setting may show in a fingerprint.
CREATE TABLE p (d date, t timestamp, z timestamptz, h time, y timetz, i interval, f float8, x bytea, ds date[], r tstzrange);
INSERT INTO p VALUES ('2021-03-04', '2021-03-04 05:06:07.5', '2021-03-04 05:06:07+00', '05:06', '05:06+08',
    '1 year 2 days 03:04', 0.1::float8 + 0.2, '\x00ff', '{2021-03-04,infinity}', '[2021-03-04 00:00+00,2021-03-05 00:00+00)');
CREATE VIEW prints AS SELECT key, simhash(p, jsonb_build_object(key, 1)) AS fp FROM p, jsonb_object_keys(to_jsonb(p)) key;
CREATE TABLE before AS SELECT * FROM prints;
SELECT count(fp) FROM before;
CREATE FUNCTION agree(setting text, value text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE same boolean;
BEGIN
  PERFORM set_config(setting, value, true);
  SELECT count(*) = 10 INTO same FROM prints JOIN before USING (key, fp);
  RETURN same;
END $$;
SELECT setting, value, agree(setting, value) FROM (VALUES ('datestyle', 'German, DMY'), ('datestyle', 'SQL, MDY'),
    ('datestyle', 'Postgres'), ('timezone', 'Asia/Shanghai'), ('timezone', 'America/St_Johns'), ('intervalstyle', 'iso_8601'),
    ('intervalstyle', 'postgres_verbose'), ('extra_float_digits', '-10'), ('bytea_output', 'escape')) s(setting, value);
-- And what they are is left as it was.
BEGIN;
SET LOCAL datestyle = 'Postgres';
SET LOCAL bytea_output = 'escape';
SELECT count(fp) FROM prints;
SELECT '2021-03-04'::date, '\x00ff'::bytea;
ROLLBACK;
DROP FUNCTION agree;
DROP VIEW prints;
DROP TABLE p, before;
-- Rows inside rows, and rows with NULLs.
CREATE TYPE pair AS (x int, y text);
CREATE TABLE p (a pair, b text);
INSERT INTO p VALUES ((1, '停水'), NULL);
SELECT simhash(p, '{"a": 1}') IS NOT NULL, simhash(p, '{"a": 1, "b": 3}') = simhash(p, '{"a": 1}'), simhash(p, '{"b": 3}') IS NULL,
       simhash(a, '{"y": 1}') = simhash(ROW(2, '停水')::pair, '{"y": 1}') FROM p;
-- One parse per statement, but each row has its own values.
SELECT count(DISTINCT simhash(q, '{"title": 1}')), count(DISTINCT simhash(q, '{"title": 1, "id": 1}'))
FROM (SELECT n AS id, '第' || n || '号来信' AS title FROM generate_series(1, 200) n) q;
\t off
DROP TABLE p;
DROP TYPE pair;
DROP DOMAIN town, place;
DROP EXTENSION pg_dedup;
