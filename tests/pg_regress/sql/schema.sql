-- The extension can live in any schema, and move while it is used.
CREATE SCHEMA tools;
CREATE SCHEMA "other ""tools""";
CREATE EXTENSION pg_dedup SCHEMA tools;
\set VERBOSITY sqlstate
SELECT simhash('停水');
\set VERBOSITY default
SELECT tools.simhash('abc'::text, '{"tokens": "words"}'), 1::bigint OPERATOR(tools.<~>) 2::bigint AS distance;
SELECT tools.near_dup('Ａ区停水！', 'a区停水');
CREATE TABLE petition (body text, fp bigint GENERATED ALWAYS AS (tools.simhash(body)) STORED);
CREATE INDEX ON petition (tools.simhash(body));
INSERT INTO petition VALUES ('小区停水');
ALTER EXTENSION pg_dedup SET SCHEMA "other ""tools""";
INSERT INTO petition VALUES ('小区停水了');
\set VERBOSITY sqlstate
SELECT tools.simhash('停水');
\set VERBOSITY default
SELECT fp = "other ""tools""".simhash(body) AS same FROM petition;
-- near_dup finds simhash where it has gone, whatever the search path.
SELECT "other ""tools""".near_dup('Ａ区停水！', 'a区停水');
\d petition
ALTER EXTENSION pg_dedup SET SCHEMA public;
SELECT near_dup(body, '小区停水', 0) FROM petition;
DROP EXTENSION pg_dedup;
DROP TABLE petition;
DROP EXTENSION pg_dedup;
-- pg_dedup_papers in another schema reads the corpora of pg_dedup, wherever that goes.
CREATE EXTENSION pg_dedup SCHEMA tools;
CREATE EXTENSION pg_dedup_papers SCHEMA "other ""tools""";
SELECT tools.dedup_corpus_build('city', $$SELECT unnest('{停水 物业,停电 物业,路灯 学校}'::text[])$$, '{"tokens": "words"}');
SELECT "other ""tools""".imatch('物业停水', 'city@1', 0.1, 1) IS NOT NULL AS found;
ALTER EXTENSION pg_dedup SET SCHEMA public;
\c
SELECT "other ""tools""".imatch('物业停水', 'city@1', 0.1, 1) IS NOT NULL AS found;
ALTER EXTENSION pg_dedup_papers SET SCHEMA tools;
SELECT tools.imatch('物业停水', 'city@1', 0.1, 1) IS NOT NULL AS found;
SELECT dedup_version_drop('corpus', 'city@1');
DROP EXTENSION pg_dedup_papers, pg_dedup;
DROP SCHEMA tools, "other ""tools""";
-- Another encoding is told by name: the script is read before it can run.
\set database :DBNAME
CREATE DATABASE regress_euc_cn ENCODING 'EUC_CN' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0;
\c regress_euc_cn
\set SHOW_CONTEXT never
CREATE EXTENSION pg_dedup;
\c :database
DROP DATABASE regress_euc_cn;
