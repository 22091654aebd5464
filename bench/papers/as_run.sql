-- P2, P3 and P4 as their authors ran them (stop words left out, a user dictionary if there is one, their weights, hashes
-- and distances), and dedup(query) without options on the same collections. Precision and recall as the papers count:
-- texts with a partner, not pairs. Table words: the user dictionary. Input: what `dedup_papers --sets` wrote.
\set ON_ERROR_STOP on
SET client_min_messages = warning;
CREATE EXTENSION pg_dedup_papers CASCADE;
CREATE TABLE sets (id bigint GENERATED ALWAYS AS IDENTITY, paper text, part text, petitioner text, department text, title text,
    body text, cluster bigint);
\copy sets (paper, part, petitioner, department, title, body, cluster) FROM pstdin WITH (FORMAT csv, HEADER)
ANALYZE sets;
SELECT dedup_dictionary_build('own', array_agg(word)) FROM words HAVING count(*) > 0 \g /dev/null
CREATE TABLE scores (paper text, way text, part text, known bigint, found bigint, correct bigint, seconds float8);

-- Runs both statements on each collection of a paper, as table docs, with :words for the recipe of its words; the last
-- one gives pairs (a, b).
CREATE PROCEDURE measure(which text, way text, prepare text, find text) LANGUAGE plpgsql AS $$
DECLARE
    words constant jsonb := '{"tokens": "words", "stop": "zh"}'::jsonb || CASE WHEN EXISTS (SELECT FROM words) THEN '{"dictionary": "own@1"}'::jsonb ELSE '{}' END;
    this text;
    started timestamptz;
    seconds float8;
BEGIN
    FOR this IN SELECT DISTINCT part FROM sets WHERE paper = which LOOP
        DROP TABLE IF EXISTS docs, prints, found;
        CREATE TABLE docs AS SELECT * FROM sets WHERE paper = which AND part = this;
        ANALYZE docs;
        started := clock_timestamp();
        EXECUTE replace(prepare, ':words', quote_literal(words));
        ANALYZE prints;
        EXECUTE 'CREATE TABLE found AS ' || find;
        seconds := extract(epoch FROM clock_timestamp() - started);
        INSERT INTO scores
        WITH same AS (SELECT a, b, x.cluster = y.cluster AS same FROM found JOIN docs x ON x.id = a JOIN docs y ON y.id = b),
             texts AS (SELECT a AS id, same FROM same UNION ALL SELECT b, same FROM same)
        SELECT which, way, this, (SELECT sum(n) FROM (SELECT count(*) AS n FROM docs GROUP BY cluster HAVING count(*) > 1) s),
               count(DISTINCT id), count(DISTINCT id) FILTER (WHERE same), seconds FROM texts;
    END LOOP;
END $$;

CALL measure('P2', 'I-Match over shingles',
    $$SELECT dedup_corpus_build('shingles', 'SELECT body FROM docs', '{"tokens": "shingles", "n": 3}');
      CREATE TABLE prints AS SELECT id, imatch(body, corpus, 0.2, 0.8, 3) AS signature
        FROM docs, (SELECT max(corpus) AS corpus FROM dedup_corpora WHERE corpus LIKE 'shingles@%') c$$,
    'SELECT x.id AS a, y.id AS b FROM prints x JOIN prints y ON x.signature = y.signature AND x.id < y.id');
CALL measure('P2', 'weighted columns, ≤ 3',
    $$CREATE TABLE prints AS SELECT id, simhash(d, jsonb_build_object('petitioner', 2, 'department', 2, 'title', 2, 'body', :words::jsonb)) AS fp FROM docs d$$,
    $$SELECT a, b FROM near_dup_pairs('SELECT id, fp FROM prints', '{"distance": 3}')$$);
CALL measure('P3', 'tf·idf·(1+len), MinHash of keywords, S ≥ 0.25',
    $$SELECT dedup_corpus_build('papers', 'SELECT body FROM docs', :words::jsonb - 'stop');
      CREATE TABLE prints AS SELECT id, simhash(body, w) AS fp, minhash(array_remove(
              ARRAY(SELECT feature FROM simhash_features(body, w) WHERE length(feature) > 1 LIMIT 5) || department, ''), 100, 'paper') AS signature
        FROM docs, (SELECT jsonb_build_object('corpus', max(corpus), 'weight', 'tfidf_len', 'stop', 'zh') AS w FROM dedup_corpora WHERE corpus LIKE 'papers@%') c$$,
    $$SELECT p.a, p.b FROM near_dup_pairs('SELECT id, fp FROM prints', jsonb_build_object('distance', combined_similarity_radius())) p JOIN prints x ON x.id = p.a JOIN prints y ON y.id = p.b
       WHERE combined_similarity(x.fp <~> y.fp, minhash_similarity(x.signature, y.signature)) >= 0.25$$);
CALL measure('P4', 'SDBM of Java, ≤ 3',
    $$CREATE TABLE prints AS SELECT id, simhash(body, :words::jsonb || '{"hash": "sdbm_utf16"}') AS fp FROM docs$$,
    $$SELECT a, b FROM near_dup_pairs('SELECT id, fp FROM prints', '{"distance": 3}')$$);
CREATE PROCEDURE measure_one_call(which text) LANGUAGE sql AS $$
    CALL measure(which, 'one call', $c$CREATE TABLE prints AS SELECT id, keeper FROM dedup('SELECT id, body FROM docs')$c$,
        'SELECT x.id AS a, y.id AS b FROM prints x JOIN prints y ON x.keeper = y.keeper AND x.id < y.id') $$;
CALL measure_one_call('P2');
CALL measure_one_call('P3');
CALL measure_one_call('P4');

CREATE VIEW lines AS
SELECT paper, way, CASE WHEN paper = 'P4' THEN min(part) ELSE count(*) || ' topics' END AS part,
       format('%s / %s', round(sum(correct) / nullif(sum(found), 0), 3), round(sum(correct) / sum(known), 3)) AS cell, round(sum(seconds)::numeric, 1) AS seconds
  FROM scores GROUP BY paper, way, CASE WHEN paper = 'P4' THEN part END;
SELECT format(E'## P2, P3 and P4 as they were run, and one call\n\nPrecision / recall of texts on the same collections, all topics together; %s words of a user dictionary. One call: `dedup(query)` without options.\n\n| paper | its way | texts | the paper reports | its way here | s | one call | s |\n|---|---|---|---|---|---|---|---|',
    count(*)) FROM words;
SELECT format('| %s | %s | %s | %s | %s | %s | %s | %s |', p.paper, p.way, p.part,
        CASE WHEN p.way LIKE 'I-Match%' THEN 'good recall on one topic' WHEN p.paper = 'P2' THEN '≈ 0.95 / ≈ 0.90' WHEN p.paper = 'P3' THEN '≈ 0.94 / ≈ 0.92'
             WHEN p.part = 'clauses reordered' THEN '– / 0.861' ELSE '– / ≥ 0.70' END,
        p.cell, p.seconds, one.cell, one.seconds)
  FROM lines p JOIN lines one USING (paper, part) WHERE p.way <> 'one call' AND one.way = 'one call' ORDER BY p.paper, p.way, p.part;
SELECT '';
