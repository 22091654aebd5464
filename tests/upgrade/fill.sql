-- A database that uses this version: everything of which something is stored. Run by tests/tap/036_upgrade.pl.
SELECT dedup_dictionary_build('own', ARRAY['millbrook 9 nz', 'waterworks 5 n'], ARRAY['the', 'of']);
SELECT dedup_dictionary_build('gone', ARRAY['gone']);
SELECT dedup_version_drop('dictionary', 'gone@1');
SELECT dedup_corpus_build('petitions', 'SELECT ''water off for '' || n || '' days in street '' || n % 9 FROM generate_series(1, 100) n',
    '{"tokens": "words", "dictionary": "own@1"}');

CREATE TABLE petition (
    id int PRIMARY KEY, title text, body text, kept bigint,
    fp bigint GENERATED ALWAYS AS (simhash(body)) STORED,
    own bigint GENERATED ALWAYS AS (simhash(body, '{"weight": "tfidf", "corpus": "petitions@1"}')) STORED,
    CHECK (simhash(body, '{"dictionary": "own@1"}') IS NOT NULL));
CREATE TRIGGER kept BEFORE INSERT OR UPDATE ON petition FOR EACH ROW EXECUTE FUNCTION simhash_trigger('kept', '{"title": 2, "body": "tf"}');
CREATE INDEX petition_fp ON petition USING banding (fp);
CREATE INDEX petition_expression ON petition USING banding (simhash(title));
CREATE INDEX petition_own ON petition (simhash(body, '{"stop": "own@1"}'));
CREATE INDEX petition_bands ON petition USING gin ((minhash(boolean_terms(body), 16)));
INSERT INTO petition (id, title, body)
    SELECT n, 'water ' || n / 3, format('no water in millbrook street %s for %s days, the waterworks say %s', n / 3, n % 3, md5((n / 3)::text))
    FROM generate_series(1, 300) n;

CREATE TABLE guarded (id int PRIMARY KEY, fp bigint);
CREATE INDEX ON guarded USING banding (fp);
CREATE TRIGGER guard AFTER INSERT OR UPDATE ON guarded FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp', 'distance=3');
INSERT INTO guarded VALUES (1, 0), (2, -1);

CREATE TABLE exclusive (id int PRIMARY KEY, fp bigint, CONSTRAINT exclusive_near EXCLUDE USING banding (hamming_ball(fp, 3) WITH =~));
INSERT INTO exclusive VALUES (1, 0), (2, -1);

CREATE TABLE shop (id int PRIMARY KEY, tenant int, fp bigint);
CREATE INDEX shop_scoped ON shop USING banding (tenant, fp);
INSERT INTO shop SELECT id, id % 7, fp FROM petition;

CREATE TABLE ball (id int PRIMARY KEY, near hamming_ball, seen bloom);
INSERT INTO ball SELECT id, hamming_ball(fp, 3), bloom_add(bloom_new(10), body) FROM petition WHERE id < 20;
CREATE TABLE split (id int, body text) PARTITION BY LIST (simhash(body));
CREATE TABLE split_rest PARTITION OF split DEFAULT;
INSERT INTO split SELECT id, body FROM petition WHERE id < 20;
CREATE VIEW near AS SELECT p.id, q.id AS other FROM petition p JOIN petition q ON near_dup(p.fp, q.fp) AND p.id < q.id;
CREATE MATERIALIZED VIEW explained AS SELECT p.id, (simhash_features(p.body)).* FROM petition p WHERE id < 5;
CREATE FUNCTION fingerprint(body text) RETURNS bigint LANGUAGE sql IMMUTABLE RETURN simhash(body, '{"dictionary": "own@1"}');

CALL dedup_into('result', 'SELECT id, body FROM petition');

CREATE TABLE ticket (id int PRIMARY KEY, subject text, body text);
INSERT INTO ticket SELECT id, title, body FROM petition WHERE id <= 60;
SELECT dedup_setup('ticket', '{"columns": {"subject": 2, "body": null}, "distance": 10, "similarity": 0.5}');
