-- A walk through pg_dedup on a petition desk. `scripts/demo` runs it on a
-- scratch server; by hand, from the top of a checkout and in an empty database:
--
--     cargo build --release -p petition_desk
--     psql -X -f examples/desk.sql
--
-- The variables below say what is what. `scripts/demo FILE.csv` sets them to
-- fit a file of one's own; without them the sample desk is loaded.

\set ON_ERROR_STOP on
\pset pager off
\pset null '(null)'

\if :{?widest}
\else
\set widest 11
\endif
\set similarity 0.5
\if :{?fields}
\else
\set fields 'ARRAY[petitioner, department, title, body]'
\set weights '[2,2,2,null]'
\set columns '''petitioner'', ''department'', ''title'', ''body'''
\set id id
\set text body
\set fp fp
\set fp_name fp
\set truth cluster
\set min_precision 0.75
\set min_recall 0.75
CREATE EXTENSION IF NOT EXISTS pg_dedup;
CREATE TABLE desk (id bigint PRIMARY KEY, petitioner text, department text, title text, body text,
    filed_at timestamp, cluster bigint, variant text);
\copy desk FROM PROGRAM '"${PETITION_DESK:-target/release/petition_desk}" --rows "${DESK_ROWS:-10000}" --seed 1' WITH (FORMAT csv, HEADER)
\endif

SELECT pg_catalog.count(*) AS rows_loaded FROM desk \gset
\set ECHO queries
\echo
\echo '== 1. What is on the desk'
\pset format wrapped
\pset columns 140
SELECT * FROM desk LIMIT 1 \gx
\pset format aligned

\echo
\echo '== 2. One fingerprint a row, its columns weighted'
\echo '   A column with a number counts as a whole, with that weight; null means running text, whose words and'
\echo '   pairs of characters count as often as they occur. A generated column keeps it up to date.'
\timing on
ALTER TABLE desk ADD COLUMN :fp bigint GENERATED ALWAYS AS (simhash(:fields, :'weights')) STORED;
\timing off
\set ECHO none
ANALYZE desk;
\set ECHO queries
SELECT :id, to_hex(:fp) AS fingerprint, translate(left(:text, 30), E'\r\n\t', '   ') AS text_begins FROM desk ORDER BY :id LIMIT 5;

\echo
\echo '== 3. What a fingerprint is made of'
\echo '   The features of one row, heaviest first. Each bit of the fingerprint is voted on by all of them with'
\echo '   their weights: 1 if the hashes that have the bit set weigh more than those that have not.'
SELECT feature.* FROM (SELECT * FROM desk WHERE :fp IS NOT NULL ORDER BY :id LIMIT 1) AS desk_row,
    simhash_features(:fields, :'weights') AS feature LIMIT 12;
\echo '   The aggregate over the features is the fingerprint of the row:'
SELECT to_hex(:fp) AS of_the_row,
    to_hex((SELECT simhash_agg(feature.feature, feature.weight) FROM simhash_features(:fields, :'weights') AS feature)) AS of_its_features
FROM (SELECT * FROM desk WHERE :fp IS NOT NULL ORDER BY :id LIMIT 1) AS desk_row;

\echo
\echo '== 4. All pairs within distance 3, by equality'
\echo '   Fingerprints that differ in at most 3 bits share one of four 16-bit blocks: near_dup_bands gives the four'
\echo '   keys, an ordinary join finds the candidates, near_dup decides. Exact, in any SQL engine.'
\timing on
CREATE TABLE band AS SELECT :id AS id, :fp AS fp, keys.key FROM desk, near_dup_bands(:fp) AS keys (key);
SELECT count(*) AS pairs_within_3
FROM (SELECT DISTINCT a.id, b.id FROM band a JOIN band b USING (key) WHERE a.id < b.id AND near_dup(a.fp, b.fp, 3)) AS pairs;
\timing off

\echo
\echo '== 5. All pairs within a wider distance'
\echo '   near_dup_pairs sorts the fingerprints by their blocks and compares inside equal runs: exact at any distance.'
\set ECHO none
CREATE TABLE numbered AS SELECT row_number() OVER (ORDER BY :id) AS n, :id AS id, :fp AS fp FROM desk;
\set ECHO queries
\timing on
CREATE TABLE near AS SELECT * FROM near_dup_pairs('SELECT n, fp FROM numbered', :widest);
\timing off
\set ECHO none
CREATE TABLE pair AS SELECT least(x.id, y.id) AS a, greatest(x.id, y.id) AS b, near.distance
FROM near JOIN numbered x ON x.n = near.a JOIN numbered y ON y.n = near.b;
\set ECHO none
ALTER TABLE pair ADD PRIMARY KEY (a, b);
ANALYZE pair;
\if :{?truth}
SELECT coalesce(sum(n * (n - 1) / 2), 0) AS true_pairs
FROM (SELECT count(*) AS n FROM desk WHERE :truth IS NOT NULL GROUP BY :truth) AS clusters \gset
ALTER TABLE pair ADD COLUMN is_true boolean;
UPDATE pair SET is_true = coalesce(x.:truth = y.:truth, false) FROM desk x, desk y WHERE x.:id = pair.a AND y.:id = pair.b;
\echo '   The desk knows which rows are duplicates: ' :true_pairs ' true pairs (column ' :truth '). How many are found?'
\set ECHO queries
SELECT radius, count(a) AS pairs_found, count(a) FILTER (WHERE is_true) AS true_ones,
    round(count(a) FILTER (WHERE is_true) / nullif(count(a), 0)::numeric, 3) AS precision,
    round(count(a) FILTER (WHERE is_true) / nullif(:true_pairs, 0)::numeric, 3) AS recall
FROM generate_series(3, :widest, 2) AS radius LEFT JOIN pair ON distance <= radius GROUP BY radius ORDER BY radius;
\else
\set ECHO queries
SELECT radius, count(a) AS pairs_found
FROM generate_series(3, :widest, 2) AS radius LEFT JOIN pair ON distance <= radius GROUP BY radius ORDER BY radius;
\endif

\echo
\echo '== 6. Candidates verified on the text itself'
\echo '   A wide radius finds nearly all and more; the share of pairs of characters that two texts have in common'
\echo '   (Jaccard) tells the true ones.'
\set ECHO none
ALTER TABLE pair ADD COLUMN similarity float8;
\set ECHO queries
\timing on
UPDATE pair SET similarity = ngram_jaccard(x.:text, y.:text) FROM desk x, desk y WHERE x.:id = pair.a AND y.:id = pair.b;
\timing off
\if :{?truth}
SELECT count(*) AS pairs_verified, count(*) FILTER (WHERE is_true) AS true_ones,
    round(count(*) FILTER (WHERE is_true) / nullif(count(*), 0)::numeric, 3) AS precision,
    round(count(*) FILTER (WHERE is_true) / nullif(:true_pairs, 0)::numeric, 3) AS recall
FROM pair WHERE similarity >= :similarity;
\else
SELECT count(*) AS candidates, count(*) FILTER (WHERE similarity >= :similarity) AS verified FROM pair;
\endif

\echo
\echo '== 7. Groups'
\echo '   Rows linked by verified pairs, directly or through others.'
\set ECHO none
CREATE TABLE member AS
SELECT id, id AS group_id FROM (SELECT a FROM pair WHERE similarity >= :similarity
    UNION SELECT b FROM pair WHERE similarity >= :similarity) AS linked (id);
ALTER TABLE member ADD PRIMARY KEY (id);
CREATE TABLE link AS SELECT a, b FROM pair WHERE similarity >= :similarity
    UNION ALL SELECT b, a FROM pair WHERE similarity >= :similarity;
-- Each row takes the smallest group among its neighbours', until none changes.
DO $$
BEGIN
    LOOP
        UPDATE member SET group_id = smallest FROM (
            SELECT link.a, min(other.group_id) AS smallest FROM link JOIN member other ON other.id = link.b GROUP BY link.a
        ) AS near WHERE member.id = near.a AND smallest < group_id;
        EXIT WHEN NOT FOUND;
    END LOOP;
END $$;
\set ECHO queries
SELECT count(DISTINCT group_id) AS groups, count(*) AS rows_in_groups, count(*) - count(DISTINCT group_id) AS rows_to_spare FROM member;
\if :{?truth}
WITH cluster AS (SELECT :truth AS number, count(*) AS size FROM desk GROUP BY :truth HAVING count(*) > 1),
found AS (SELECT min(d.:truth) AS number, count(*) AS size, min(d.:truth) = max(d.:truth) AS pure
    FROM member m JOIN desk d ON d.:id = m.id GROUP BY group_id)
SELECT (SELECT count(*) FROM cluster) AS true_groups, count(*) FILTER (WHERE pure AND found.size = cluster.size) AS found_whole,
    count(*) FILTER (WHERE pure AND found.size < cluster.size) AS found_in_part, count(*) FILTER (WHERE NOT pure) AS mixed_with_others
FROM found LEFT JOIN cluster USING (number);
\endif
\echo '   Two of them:'
SELECT group_id, d.:id, char_length(d.:text) AS length, translate(left(d.:text, 44), E'\r\n\t', '   ') AS text_begins
FROM member m JOIN desk d ON d.:id = m.id
WHERE group_id IN (SELECT group_id FROM member GROUP BY group_id HAVING count(*) BETWEEN 3 AND 6 ORDER BY count(*) DESC, group_id LIMIT 2)
ORDER BY group_id, d.:id;

\set ECHO none
SELECT coalesce((SELECT a FROM link GROUP BY a HAVING count(*) <= 8 ORDER BY count(*) DESC, a LIMIT 1),
    (SELECT min(:id) FROM desk)) AS shown \gset
\set ECHO queries
\echo
\echo '== 8. What is near one row?'
\echo '   The index answers exactly, at any distance.'
\timing on
CREATE INDEX desk_fp ON desk USING banding (:fp);
\timing off
EXPLAIN (COSTS OFF) SELECT :id FROM desk WHERE near_dup(:fp, 1, 10);
\timing on
SELECT d.:id, d.:fp <~> q.:fp AS distance, translate(left(d.:text, 44), E'\r\n\t', '   ') AS text_begins
FROM desk d, (SELECT :fp FROM desk WHERE :id = :'shown') AS q
WHERE near_dup(d.:fp, q.:fp, 10) ORDER BY distance, d.:id LIMIT 10;
\timing off
\echo '   The nearest rows, however far, come out of the index in order:'
\timing on
SELECT d.:id, d.:fp <~> (SELECT :fp FROM desk WHERE :id = :'shown') AS distance
FROM desk d ORDER BY d.:fp <~> (SELECT :fp FROM desk WHERE :id = :'shown') LIMIT 3;
\timing off
\echo '   Two texts can also be compared as they are:'
SELECT a.:id, b.:id, near_dup(a.:text, b.:text, 10), simhash(a.:text) <~> simhash(b.:text) AS distance
FROM link JOIN desk a ON a.:id = link.a JOIN desk b ON b.:id = link.b WHERE link.a = :'shown' ORDER BY 1, 2 LIMIT 3;

\echo
\echo '== 9. At insert: a trigger fills the fingerprint'
\echo '   The same row is filed again, with other punctuation and a sentence more.'
CREATE TABLE inbox (LIKE desk);
CREATE TRIGGER fingerprint BEFORE INSERT OR UPDATE ON inbox
    FOR EACH ROW EXECUTE FUNCTION simhash_trigger(:'fp_name', :'weights', :columns);
INSERT INTO inbox SELECT * FROM desk WHERE :id = :'shown';
UPDATE inbox SET :text = replace(replace(:text, '，', ', '), '。', '！') || '请尽快处理。';
SELECT to_hex(i.:fp) AS fingerprint, d.:id AS near_row, d.:fp <~> i.:fp AS distance
FROM inbox i JOIN desk d ON near_dup(d.:fp, i.:fp, 10) ORDER BY distance, d.:id LIMIT 5;

\echo
\echo '== 10. At insert: a guard that turns near-duplicates away'
\echo '   Whatever the concurrency, no two rows within the distance are ever both stored. Here the second is skipped.'
\set ECHO none
CREATE INDEX inbox_fp ON inbox USING banding (:fp);
\set guard_distance 'distance=' :widest
CREATE TRIGGER guard BEFORE INSERT ON inbox FOR EACH ROW EXECUTE FUNCTION near_dup_guard(:'fp_name', :'guard_distance', 'action=skip');
\set ECHO queries
INSERT INTO inbox SELECT * FROM desk WHERE :id = :'shown';
SELECT count(*) AS rows_in_inbox FROM inbox;

-- A change that spoils what is found on the sample desk is an error. The bounds
-- leave room for small desks, where a few pairs of look-alikes weigh much.
\set ECHO none
\if :{?min_recall}
SELECT :widest = 11 AS is_known \gset
\if :is_known
SELECT set_config('desk.report', format('precision %s (at least %s), recall %s (at least %s)',
        round(precision, 3), :'min_precision', round(recall, 3), :'min_recall'), false) AS report,
    set_config('desk.good', (precision >= :min_precision AND recall >= :min_recall)::text, false) AS good
FROM (SELECT count(*) FILTER (WHERE is_true) / nullif(count(*), 0)::numeric AS precision,
        count(*) FILTER (WHERE is_true) / nullif(:true_pairs, 0)::numeric AS recall
    FROM pair WHERE similarity >= :similarity) AS verified \gset
DO $$
BEGIN
    IF current_setting('desk.good') IS DISTINCT FROM 'true' THEN
        RAISE EXCEPTION 'the walk-through found too little: %', current_setting('desk.report');
    END IF;
END $$;
\echo
\echo 'Verified pairs:' :report
\endif
\endif
