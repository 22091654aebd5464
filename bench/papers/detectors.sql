-- Every detector as the SQL that a user writes, over the same labelled texts:
-- what it costs to prepare, what to find all pairs, and how good they are.
-- Variable: file, a CSV file that `dedup_papers --texts` wrote.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_dedup_papers CASCADE;
CREATE TABLE texts (id bigint PRIMARY KEY, petitioner text, department text, title text, body text NOT NULL,
    topic text, cluster bigint NOT NULL, moved boolean NOT NULL);
\copy texts FROM pstdin WITH (FORMAT csv, HEADER)
ANALYZE texts;
CREATE TABLE measured (line int GENERATED ALWAYS AS IDENTITY, source text, detector text, prepare float8, bytes float8, find float8,
    "precision" float8, recall float8, with_moved float8, pairs bigint);

-- Bytes of the tables that were made, with their indexes.
CREATE FUNCTION stored() RETURNS bigint LANGUAGE sql RETURN (
    SELECT sum(pg_total_relation_size(oid)) FROM pg_class
     WHERE relkind = 'r' AND relpersistence = 'p' AND relnamespace = current_schema()::regnamespace);

-- Runs what prepares, then the query of pairs (a, b), and scores them: pairs of
-- one cluster are right. Copies with another place swapped in (moved) are
-- different petitions; they count in with_moved only.
CREATE PROCEDURE measure(source text, detector text, prepare text, find text) LANGUAGE plpgsql AS $$
DECLARE
    started timestamptz;
    size bigint;
    prepared float8;
    grown float8;
    finding float8;
BEGIN
    DROP TABLE IF EXISTS found;
    IF prepare <> '' THEN
        size := stored();
        started := clock_timestamp();
        EXECUTE prepare;
        prepared := extract(epoch FROM clock_timestamp() - started);
        grown := stored() - size;
    END IF;
    started := clock_timestamp();
    EXECUTE 'CREATE TEMP TABLE found AS ' || find;
    finding := extract(epoch FROM clock_timestamp() - started);
    INSERT INTO measured (source, detector, prepare, bytes, find, "precision", recall, with_moved, pairs)
    SELECT source, detector, prepared, grown / (SELECT count(*) FROM texts), finding, e."precision", e.recall, m."precision", m.pairs_found
      FROM dedup_evaluate(
               'SELECT a, b FROM found JOIN texts x ON x.id = a JOIN texts y ON y.id = b WHERE NOT x.moved AND NOT y.moved',
               'SELECT x.id, y.id FROM texts x JOIN texts y ON x.cluster = y.cluster AND x.id < y.id WHERE NOT x.moved AND NOT y.moved') e,
           dedup_evaluate(
               'SELECT a, b FROM found',
               'SELECT x.id, y.id FROM texts x JOIN texts y ON x.cluster = y.cluster AND x.id < y.id') m;
END $$;

-- What is ours, first: one fingerprint, three ways to use it.
CALL measure('pg_dedup', 'default fingerprint, ≤ 3',
    'CREATE TABLE prints AS SELECT id, simhash(body) AS fp FROM texts',
    'SELECT a, b FROM near_dup_pairs(''SELECT id, fp FROM prints'', ''{"distance": 3}'')');
CALL measure('pg_dedup', 'default fingerprint, ≤ 12, jaccard ≥ 0.5', '',
    'SELECT p.a, p.b FROM near_dup_pairs(''SELECT id, fp FROM prints'', ''{"distance": 12}'') p JOIN texts x ON x.id = p.a JOIN texts y ON y.id = p.b
      WHERE ngram_jaccard(x.body, y.body) >= 0.5');
CALL measure('pg_dedup', 'the same by an index join',
    'CREATE INDEX ON prints USING banding (fp); ANALYZE prints',
    'SELECT x.id AS a, y.id AS b FROM prints x JOIN prints y ON near_dup(x.fp, y.fp, 12) AND x.id < y.id JOIN texts s ON s.id = x.id JOIN texts t ON t.id = y.id
      WHERE ngram_jaccard(s.body, t.body) >= 0.5');
CALL measure('pg_dedup', 'near_dup_pairs by text, 2-grams ≥ 0.5', '',
    'SELECT a, b FROM near_dup_pairs(''SELECT id, body FROM texts'', ''{"method": "text", "similarity": 0.5, "n": 2}'')');

-- P1: whole texts, then runs of two words within 4.
CALL measure('P1', 'equal texts', '',
    'SELECT x.id AS a, y.id AS b FROM texts x JOIN texts y ON x.body = y.body AND x.id < y.id');
CALL measure('P1', 'SimHash, runs of two words, ≤ 4',
    $$CREATE TABLE p1 AS SELECT id, simhash(body, '{"tokens": "shingles", "n": 2}') AS fp FROM texts$$,
    'SELECT a, b FROM near_dup_pairs(''SELECT id, fp FROM p1'', ''{"distance": 4}'')');

-- P2: words without weights; weighted columns; I-Match.
CALL measure('P2', 'SimHash, words, ≤ 3',
    $$CREATE TABLE p2_words AS SELECT id, simhash(body, '{"tokens": "words"}') AS fp FROM texts$$,
    'SELECT a, b FROM near_dup_pairs(''SELECT id, fp FROM p2_words'', ''{"distance": 3}'')');
CALL measure('P2', 'SimHash, weighted columns, ≤ 3',
    $$CREATE TABLE p2 AS SELECT id, simhash(t, '{"petitioner": 2, "department": 2, "title": 2, "body": {"tokens": "words"}}') AS fp FROM texts t$$,
    'SELECT a, b FROM near_dup_pairs(''SELECT id, fp FROM p2'', ''{"distance": 3}'')');
CREATE TABLE documents AS SELECT id, jsonb_build_object('from', jsonb_build_object('name', petitioner), 'to', jsonb_build_object('department', department),
    'title', title, 'body', body) AS doc FROM texts;
ANALYZE documents;
CALL measure('P2', 'the same of nested documents, by path',
    $$CREATE TABLE p2_documents AS SELECT id, simhash(doc, '{"from.name": 2, "to.department": 2, "title": 2, "body": {"tokens": "words"}}') AS fp FROM documents$$,
    'SELECT a, b FROM near_dup_pairs(''SELECT id, fp FROM p2_documents'', ''{"distance": 3}'')');
CALL measure('P2', 'I-Match',
    $$CREATE TABLE lexicon AS SELECT imatch_lexicon(body, 0.2, 0.8) AS words FROM texts;
      CREATE TABLE i AS SELECT id, imatch(body, words, 3) AS signature FROM texts, lexicon; CREATE INDEX ON i (signature); ANALYZE i$$,
    'SELECT x.id AS a, y.id AS b FROM i x JOIN i y ON x.signature = y.signature AND x.id < y.id');
CALL measure('Kołcz', 'I-Match, 10 random lexicons',
    'CREATE TABLE r AS SELECT id, imatch_random(body, words, at_least => 3) AS signatures FROM texts, lexicon; CREATE INDEX ON r USING gin (signatures); ANALYZE r',
    'SELECT x.id AS a, y.id AS b FROM r x JOIN r y ON x.signatures && y.signatures AND x.id < y.id');

-- P3: weights of a corpus; the combined similarity over keywords, here the five heaviest words.
CALL measure('P3', 'SimHash, tf · idf · (1 + len), ≤ 3',
    $$SELECT dedup_corpus_build('papers', 'SELECT body FROM texts', '{"tokens": "words"}');
      CREATE TABLE p3 AS SELECT id, simhash(body, '{"tokens": "words", "weight": "tfidf_len", "corpus": "papers@1"}') AS fp,
          ARRAY(SELECT feature FROM simhash_features(body, '{"tokens": "words", "weight": "tfidf_len", "corpus": "papers@1"}')
                 WHERE length(feature) > 1 LIMIT 5) || department AS keywords FROM texts;
      CREATE INDEX ON p3 USING banding (fp); ANALYZE p3$$,
    'SELECT a, b FROM near_dup_pairs(''SELECT id, fp FROM p3'', ''{"distance": 3}'')');
CALL measure('P3', 'combined similarity ≥ 0.25, μ = 0.9',
    'ALTER TABLE p3 ADD signature bigint[]; UPDATE p3 SET signature = minhash(keywords, 100); ANALYZE p3',
    'SELECT x.id AS a, y.id AS b FROM p3 x JOIN p3 y ON near_dup(x.fp, y.fp, combined_similarity_radius(0.25, 0.9)) AND x.id < y.id
      WHERE combined_similarity(x.fp <~> y.fp, minhash_similarity(x.signature, y.signature), 0.9) >= 0.25');
CALL measure('P3', 'MinHash, 32 bands of 4, jaccard ≥ 0.5',
    'CREATE TABLE m AS SELECT id, minhash(body) AS signature, minhash_bands(minhash(body), 32, 4) AS bands FROM texts; CREATE INDEX ON m USING gin (bands); ANALYZE m',
    'SELECT x.id AS a, y.id AS b FROM m x JOIN m y ON x.bands && y.bands AND x.id < y.id JOIN texts s ON s.id = x.id JOIN texts t ON t.id = y.id
      WHERE ngram_jaccard(s.body, t.body) >= 0.5');

-- P4 and the survey in it. Those that no index of PostgreSQL serves verify the pairs that share a band.
CALL measure('P4', 'Shingle, three words, sampled by 4, jaccard ≥ 0.5',
    'CREATE TABLE s AS SELECT id, shingle_hashes(body) AS hashes, shingle_hashes(body, 3, 4) AS sample FROM texts; CREATE INDEX ON s USING gin (sample); ANALYZE s',
    'SELECT x.id AS a, y.id AS b FROM s x JOIN s y ON x.sample && y.sample AND x.id < y.id WHERE set_jaccard(x.hashes, y.hashes) >= 0.5');
CALL measure('P4', 'the same, jaccard > 0.95', '',
    'SELECT x.id AS a, y.id AS b FROM s x JOIN s y ON x.sample && y.sample AND x.id < y.id WHERE set_jaccard(x.hashes, y.hashes) > 0.95');
CALL measure('Broder', 'super-shingles',
    'CREATE TABLE ss AS SELECT id, super_shingles(sample, 4) AS codes FROM s; CREATE INDEX ON ss USING gin (codes); ANALYZE ss',
    'SELECT x.id AS a, y.id AS b FROM ss x JOIN ss y ON x.codes && y.codes AND x.id < y.id');
CALL measure('survey', 'Boolean model', 'CREATE TABLE bt AS SELECT id, boolean_terms(body) AS terms FROM texts; ANALYZE bt',
    'SELECT x.id AS a, y.id AS b FROM bt x JOIN bt y ON x.terms = y.terms AND x.id < y.id');
CALL measure('survey', 'candidates for the lines below: a common band', '',
    'SELECT x.id AS a, y.id AS b FROM m x JOIN m y ON x.bands && y.bands AND x.id < y.id');
CREATE TABLE candidates AS SELECT a, b, x.body AS one, y.body AS other FROM found JOIN texts x ON x.id = a JOIN texts y ON y.id = b;
CALL measure('survey', 'VSM cosine of words ≥ 0.8', '',
    $$SELECT a, b FROM candidates WHERE simhash_cosine(one, other, '{"tokens": "words"}') >= 0.8$$);
CALL measure('survey', 'SCAM ≥ 0.8', '', 'SELECT a, b FROM candidates WHERE scam_similarity(one, other) >= 0.8');
CALL measure('survey', 'feature codes, jaccard ≥ 0.5', 'CREATE TABLE f AS SELECT id, feature_codes(body, 2) AS codes FROM texts; ALTER TABLE f ADD PRIMARY KEY (id)',
    'SELECT a, b FROM candidates JOIN f x ON x.id = a JOIN f y ON y.id = b WHERE set_jaccard(x.codes, y.codes) >= 0.5');
CALL measure('P5', 'SpotSigs ≥ 0.45', 'CREATE TABLE sp AS SELECT id, spotsigs(body) AS spots FROM texts; ALTER TABLE sp ADD PRIMARY KEY (id)',
    'SELECT a, b FROM candidates JOIN sp x ON x.id = a JOIN sp y ON y.id = b WHERE spotsigs_similarity(x.spots, y.spots) >= 0.45');
CALL measure('P5', 'sentence lengths ≥ 0.7', 'CREATE TABLE sl AS SELECT id, sentence_lengths(body) AS lengths FROM texts; ALTER TABLE sl ADD PRIMARY KEY (id)',
    'SELECT a, b FROM candidates JOIN sl x ON x.id = a JOIN sl y ON y.id = b WHERE sentence_length_similarity(x.lengths, y.lengths) >= 0.7');
CALL measure('P5', 'SL+ST ≥ 0.2', '', 'SELECT a, b FROM candidates WHERE sentence_similarity(one, other) >= 0.2');

SELECT format(E'## All of them in SQL\n\n%s texts in a table, %s pairs of which are duplicates; every detector as the statement that a user writes (`bench/papers/detectors.sql` has them). Precision and recall count pairs here. "With copies": precision among all texts, also those that are another''s copy with the place swapped, which are different petitions. Thresholds are those of the papers or the middle of the scale. Bytes: tables and indexes that preparing makes, a text.\n\n| from | detector | prepare | bytes a text | find all pairs | precision | recall | F1 | with copies | pairs |\n|---|---|---|---|---|---|---|---|---|---|',
    count(*), (SELECT sum(n * (n - 1) / 2) FROM (SELECT count(*) AS n FROM texts GROUP BY cluster) s)) FROM texts;
SELECT format('| %s | %s | %s | %s | %s s | %s | %s | %s | %s | %s |', source, detector,
    coalesce(round(prepare::numeric, 2) || ' s', '–'), coalesce(round(bytes)::text, '–'), round(find::numeric, 2),
    coalesce(round("precision"::numeric, 3)::text, '–'), coalesce(round(recall::numeric, 3)::text, '–'),
    coalesce(round((2 * "precision" * recall / nullif("precision" + recall, 0))::numeric, 3)::text, '–'),
    coalesce(round(with_moved::numeric, 3)::text, '–'), pairs)
  FROM measured ORDER BY line;
SELECT '';
