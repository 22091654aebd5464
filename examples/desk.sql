-- A walk through pg_dedup on a petition desk: letters to an office, some of which repeat others. `scripts/demo` runs it on a
-- scratch server; by hand, from the top of a checkout and in an empty database:
--
--     cargo build --release -p petition_desk
--     psql -X -f examples/desk.sql
--
-- The variables say what is what. `scripts/demo FILE.csv` sets them to fit a file of one's own; without them the sample desk
-- is loaded.

\set ON_ERROR_STOP on
\pset pager off
\pset null '(null)'
\pset footer off

\if :{?settings}
\else
\set settings '{"columns": "body"}'
\set id id
\set text body
\set fp fp
\set truth cluster
\set min_precision 0.9
\set min_recall 0.9
CREATE EXTENSION IF NOT EXISTS pg_dedup;
CREATE TABLE desk (id bigint PRIMARY KEY, petitioner text, department text, title text, body text,
    filed_at timestamp, cluster bigint, variant text);
\copy desk FROM PROGRAM '"${PETITION_DESK:-target/release/petition_desk}" --rows "${DESK_ROWS:-10000}" --seed 1' WITH (FORMAT csv, HEADER)
\endif
-- Ids that are not integers need their type as the last argument.
SELECT id_type, CASE WHEN id_type = 'bigint' THEN '' ELSE ', NULL, NULL::' || id_type END AS of_ids
FROM (SELECT format_type(atttypid, NULL) AS id_type FROM pg_attribute WHERE attrelid = 'desk'::regclass AND quote_ident(attname) = :'id') AS ids \gset
\set ECHO queries

\echo
\echo '== 1. What is on the desk'
\pset format wrapped
\pset columns 140
SELECT * FROM desk LIMIT 1 \gx
\pset format aligned

\echo
\echo '== 2. Set the table up'
\echo '   Recipe, distance and comparison are chosen by the texts; a column of fingerprints and an index are made.'
\timing on
SELECT dedup_setup('desk', :'settings');
\timing off

\echo
\echo '== 3. One call: which rows repeat which?'
\timing on
CREATE TABLE repeats AS SELECT * FROM dedup('desk':of_ids);
\timing off
SELECT stage, count(*) AS rows FROM repeats GROUP BY stage ORDER BY rows DESC;
\if :{?truth}
\echo '   The desk knows the truth (column ' :truth '). Pairs of rows in one group, against the true ones:'
SELECT round(precision::numeric, 3) AS precision, round(recall::numeric, 3) AS recall, pairs_true, correct, missed, wrong
FROM dedup_evaluate('SELECT id, keeper FROM repeats', 'SELECT ' || :'id' || ', ' || :'truth' || ' FROM desk', 'groups', 'groups');
\echo '   Groups beside the truth:'
WITH cluster AS (SELECT :truth AS number, count(*) AS size FROM desk GROUP BY 1 HAVING count(*) > 1),
found AS (SELECT min(d.:truth) AS number, count(*) AS size, min(d.:truth) = max(d.:truth) AS pure
    FROM repeats r JOIN desk d ON d.:id = r.id GROUP BY r.keeper HAVING count(*) > 1)
SELECT (SELECT count(*) FROM cluster) AS true_groups, count(*) FILTER (WHERE pure AND found.size = cluster.size) AS found_whole,
    count(*) FILTER (WHERE pure AND found.size < cluster.size) AS found_in_part, count(*) FILTER (WHERE NOT pure) AS mixed_with_others
FROM found LEFT JOIN cluster USING (number);
\endif
\echo '   Two groups:'
SELECT r.keeper, r.id, r.distance, round(r.similarity::numeric, 2) AS similarity, translate(left(d.:text, 44), E'\r\n\t', '   ') AS text_begins
FROM repeats r JOIN desk d ON d.:id = r.id
WHERE r.keeper IN (SELECT keeper FROM repeats GROUP BY keeper HAVING count(*) BETWEEN 2 AND 6 ORDER BY count(*) DESC, keeper LIMIT 2)
ORDER BY r.keeper, r.id;

\set ECHO none
SELECT coalesce((SELECT keeper FROM repeats GROUP BY keeper HAVING count(*) BETWEEN 2 AND 6 ORDER BY count(*) DESC, keeper LIMIT 1),
    (SELECT min(id) FROM repeats)) AS shown \gset
SELECT left(:text, -10) AS new_text FROM desk WHERE :id = :'shown' \gset
\set ECHO queries

\echo
\echo '== 4. A new text comes in: what does it repeat, and why?'
\echo '   It is the text of row' :shown 'without its last characters.'
\timing on
SELECT f.id, f.distance, round(f.similarity::numeric, 2) AS similarity, f.shared, f.only_new
FROM dedup_find('desk', :'new_text':of_ids) f LIMIT 5;
\timing off
\echo '   What differs between two rows:'
SELECT e.part, left(e.in_a, 50) AS in_a, left(e.in_b, 50) AS in_b, e.detail
FROM repeats r JOIN desk a ON a.:id = r.keeper JOIN desk b ON b.:id = r.id, dedup_explain(a.:text, b.:text) e
WHERE r.id = (SELECT min(id) FROM repeats WHERE keeper = :'shown' AND stage = 'near') LIMIT 8;
\echo '   In SQL of your own, any distance, by the index; and the nearest rows, however far:'
EXPLAIN (COSTS OFF) SELECT * FROM desk WHERE near_dup(:fp, 1, 10);
SELECT d.:id, d.:fp <~> (SELECT :fp FROM desk WHERE :id = :'shown') AS distance
FROM desk d ORDER BY d.:fp <~> (SELECT :fp FROM desk WHERE :id = :'shown') LIMIT 3;

\echo
\echo '== 5. Keep near-duplicates out'
\echo '   Column, distance and comparison are those of the settings. Whatever the number of sessions, two near-duplicates never both pass.'
CREATE TRIGGER desk_guard AFTER INSERT OR UPDATE ON desk FOR EACH ROW EXECUTE FUNCTION near_dup_guard();
\set ECHO none
SELECT CASE WHEN :'id_type' = 'bigint' THEN (max(:id::text::numeric) + 1)::text ELSE 'new' END AS new_id
FROM desk WHERE :'id_type' = 'bigint' OR :id = (SELECT :id FROM desk LIMIT 1) \gset
\set ECHO queries
\set ON_ERROR_STOP off
INSERT INTO desk (:id, :text) OVERRIDING SYSTEM VALUE VALUES (:'new_id', :'new_text');
\set ON_ERROR_STOP on

\echo
\echo '== 6. Behind it: what a fingerprint is made of'
\set ECHO none
SELECT jsonb_path_query_first(recipes, '$[*] ? (@.type() == "object")') AS recipe
FROM dedup_settings WHERE tbl = 'desk'::regclass ORDER BY version DESC LIMIT 1 \gset
\set ECHO queries
\echo '   Each bit is voted on by all features with their weights: 1 if the hashes that have it set weigh more than the others.'
SELECT feature.* FROM (SELECT :text AS content FROM desk WHERE :fp IS NOT NULL ORDER BY :id LIMIT 1) AS one,
    simhash_features(content, :'recipe') AS feature LIMIT 8;
\if :{?truth}
\echo '   How much the fingerprint alone finds at each distance, without comparing texts:'
\set ECHO none
CREATE TABLE true_pair AS SELECT a.:id AS a, b.:id AS b FROM desk a JOIN desk b ON a.:truth = b.:truth AND a.:id < b.:id;
\set ECHO queries
SELECT distance, round(precision::numeric, 3) AS precision, round(recall::numeric, 3) AS recall
FROM near_dup_calibrate('desk', 'SELECT a, b FROM true_pair') WHERE distance IN (3, 5, 7, 9, 11);
\endif

-- A change that spoils what is found on the sample desk is an error. The bounds leave room for small desks.
\set ECHO none
\if :{?min_recall}
SELECT precision >= :min_precision AND recall >= :min_recall AS is_good
FROM dedup_evaluate('SELECT id, keeper FROM repeats', 'SELECT id, cluster FROM desk', 'groups', 'groups') \gset
\if :is_good
\else
DO $$ BEGIN RAISE EXCEPTION 'the walk-through found too little'; END $$;
\endif
\endif
