-- Parallel workers load corpora and dictionaries for themselves; what they make is what one process makes.
CREATE EXTENSION pg_dedup;
CREATE TABLE petition (id int PRIMARY KEY, body text);
INSERT INTO petition SELECT n, '尊敬的领导：楚江新区' || CASE n % 3 WHEN 0 THEN '小区停水' WHEN 1 THEN '道路停电' ELSE '学校停课' END || n || repeat('，云上花园也是', n % 5) FROM generate_series(1, 6000) n;
ANALYZE petition;
SELECT dedup_dictionary_build('own', ARRAY['云上花园', '楚江新区'], ARRAY['的']);
SELECT dedup_corpus_build('petitions', 'SELECT body FROM petition', '{"tokens": "words", "dictionary": "own@1"}');
CREATE FUNCTION digest(workers int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE answer text;
BEGIN
    PERFORM set_config('max_parallel_workers_per_gather', workers::text, true);
    SELECT concat_ws(' ', count(fp), count(DISTINCT fp), bit_xor(hashint8extended(fp, id))) INTO answer
      FROM (SELECT id, simhash(body, '{"weight": "tfidf_len", "corpus": "petitions@1", "stop": "own@1"}') AS fp FROM petition) p;
    RETURN answer;
END $$;
-- What a plan says of its workers, when it is run.
CREATE FUNCTION workers(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE line text;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
        IF line ~ 'Workers|Parallel' THEN
            RETURN NEXT regexp_replace(line, ' *(-> *)?(.*?)( \(actual.*)?$', '\2');
        END IF;
    END LOOP;
END $$;
-- A new connection: nothing is loaded when the workers start.
\c
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 2;
SELECT * FROM workers($$SELECT count(simhash(body, '{"weight": "tfidf_len", "corpus": "petitions@1", "stop": "own@1"}')) FROM petition$$);
SELECT digest(2) = digest(0) AS equal, digest(2) ~ '^6000 [1-9]' AS filled;
SELECT * FROM workers($$SELECT count(*) FROM petition WHERE near_dup(simhash(body, '{"weight": "tfidf", "corpus": "petitions@1"}'), 4711, 30)$$);
DROP FUNCTION digest, workers;
DROP TABLE petition;
DROP EXTENSION pg_dedup;
