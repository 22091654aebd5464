-- pg_dedup.memory_limit holds for whatever keeps rows, and is not anybody's to set.
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
SELECT hamming(1::bigint, 2::bigint) AS loads_the_library;
SELECT setting::bigint > 1024 AS has_a_default FROM pg_settings WHERE name = 'pg_dedup.memory_limit';
SET pg_dedup.memory_limit = '1MB';
CREATE TABLE held AS SELECT i AS id, hashint8extended(i, 7) AS fp, md5(i::text) AS content FROM generate_series(1, 40000) i;
SELECT count(*) FROM near_dup_calibrate('SELECT id, fp FROM held');
SELECT count(*) FROM near_dup_calibrate('SELECT id, fp FROM held WHERE id < 100', 'SELECT id, id + 1 FROM held');
SELECT count(s) FROM (SELECT bloom_seen(content, 10000000, 3) OVER () AS s FROM held) s;
SELECT count(s) FROM (SELECT bloom_seen(content, 8380000, 3, passes => 2) OVER () AS s FROM held) s;
SELECT length(bloom_new(10000000)::text);
SELECT bloom_agg(content, 10000000, 0.01) IS NULL FROM held;
SELECT dedup_corpus_build('held', 'SELECT content FROM held');
SELECT count(s) FROM (SELECT near_dup_component(fp, 3) OVER () AS s FROM held) s;
SELECT count(s) FROM (SELECT exact_seen(content) OVER () AS s FROM held) s;
SELECT count(s) FROM (SELECT trie_seen(content) OVER () AS s FROM held) s;
SELECT count(s) FROM (SELECT single_pass(fp, 3) OVER () AS s FROM held) s;
-- It holds for all that a session holds, not for each call.
SET pg_dedup.memory_limit = '12MB';
BEGIN;
DECLARE a CURSOR FOR SELECT exact_seen(content) OVER (ORDER BY id) FROM held;
DECLARE b CURSOR FOR SELECT exact_seen(content) OVER (ORDER BY id) FROM held;
DECLARE c CURSOR FOR SELECT trie_seen(content) OVER (ORDER BY id) FROM held;
DECLARE d CURSOR FOR SELECT exact_seen(content) OVER (ORDER BY id) FROM held;
MOVE 39000 FROM a;
CLOSE a;
MOVE 39000 FROM b;
MOVE 39000 FROM c;
MOVE 39000 FROM d;
ROLLBACK;
-- What is given back is not counted, nor what a transaction held that failed.
SELECT count(s) FROM (SELECT exact_seen(content) OVER () AS s FROM held) s;
SET pg_dedup.memory_limit = '1MB';
-- What is small is done.
SELECT count(*) FROM near_dup_calibrate('SELECT id, fp FROM held WHERE id < 100', 'SELECT id, id + 1 FROM held WHERE id < 100');
SELECT count(s) FROM (SELECT bloom_seen(content, 100000, 3) OVER () AS s FROM held WHERE id < 100) s;
RESET pg_dedup.memory_limit;
SELECT count(*) FROM near_dup_calibrate('SELECT id, fp FROM held WHERE id < 100', 'SELECT id, id + 1 FROM held');

CREATE ROLE regress_dedup_user;
SET ROLE regress_dedup_user;
SET pg_dedup.memory_limit = 0;
SET pg_dedup.threads = 1;
SET pg_dedup.progress = 0;
RESET ROLE;
DROP ROLE regress_dedup_user;

-- A misspelt setting is refused.
DO $$ BEGIN
    PERFORM set_config('pg_dedup.thread', '3', true);
    RAISE EXCEPTION 'a setting that there is not';
EXCEPTION WHEN invalid_name THEN NULL;
END $$;
DROP TABLE held;
DROP EXTENSION pg_dedup_papers, pg_dedup;
