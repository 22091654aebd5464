-- The ways to keep a fingerprint: a generated column, an expression index and
-- a trigger agree, at insert and at update.
CREATE EXTENSION pg_dedup;
CREATE TABLE petition (
  id int PRIMARY KEY, petitioner text, title text, body text, by_trigger bigint, by_array bigint,
  by_column bigint GENERATED ALWAYS AS (simhash(ARRAY[petitioner, title, body], '[2,2,null]')) STORED,
  of_body bigint GENERATED ALWAYS AS (simhash(body)) STORED);
CREATE TRIGGER by_trigger BEFORE INSERT OR UPDATE ON petition
  FOR EACH ROW EXECUTE FUNCTION simhash_trigger('by_trigger', '{"body": null}');
CREATE TRIGGER by_array BEFORE INSERT OR UPDATE OF petitioner, title, body ON petition
  FOR EACH ROW EXECUTE FUNCTION simhash_trigger('by_array', '[2, 2, null]', 'petitioner', 'title', 'body');
CREATE INDEX by_index ON petition (simhash(ARRAY[petitioner, title, body], '[2,2,null]'));
CREATE INDEX by_text ON petition (simhash(body));
INSERT INTO petition (id, petitioner, title, body)
SELECT n, '来信人' || n % 7, '第' || n % 50 || '号', '小区停水' || n || '天，物业' || n % 3 || '不管' FROM generate_series(1, 200) n;
INSERT INTO petition (id, body) VALUES (201, ''), (202, NULL), (203, '停水');
CREATE VIEW agreement AS
SELECT count(*) AS rows, count(by_column) AS fingerprints, count(DISTINCT by_column) AS different,
  bool_and(by_column IS NOT DISTINCT FROM by_array) AS trigger_is_column,
  bool_and(by_column IS NOT DISTINCT FROM simhash(ARRAY[petitioner, title, body], '[2,2,null]')) AS column_is_function,
  bool_and(by_trigger IS NOT DISTINCT FROM simhash(p, '{"body": null}')) AS trigger_is_row
FROM petition p;
SELECT * FROM agreement;
UPDATE petition SET title = title || '（补充）', body = body || '。再次来信' WHERE id % 2 = 0;
SELECT * FROM agreement;
-- The column cannot be set by hand, the trigger overrules what is.
INSERT INTO petition (id, by_column) VALUES (300, 1);
INSERT INTO petition (id, body, by_array) VALUES (300, '停水', 1) RETURNING by_array = by_column AS overruled;
-- The index answers with the rows of the column.
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE simhash(ARRAY[petitioner, title, body], '[2,2,null]') = 42;
EXPLAIN (COSTS OFF) SELECT id FROM petition WHERE simhash(body) = 42;
SELECT count(*) FROM petition p JOIN petition q
  ON simhash(ARRAY[p.petitioner, p.title, p.body], '[2,2,null]') = q.by_column AND p.id = q.id;
SELECT id FROM petition WHERE simhash(body) = simhash('停水') ORDER BY id;
RESET enable_seqscan;
-- A rewrite of the table changes nothing.
CREATE TEMP TABLE before AS SELECT id, by_column FROM petition;
ALTER TABLE petition ALTER id TYPE bigint;
SELECT bool_and(p.by_column IS NOT DISTINCT FROM b.by_column) AS same FROM petition p JOIN before b USING (id);
-- A trigger of a generated column computes it, which PostgreSQL does only afterwards.
CREATE TABLE made (id int, body text, plain text GENERATED ALWAYS AS (lower(body)) STORED, by_name bigint, by_array bigint);
CREATE TRIGGER by_name BEFORE INSERT OR UPDATE ON made FOR EACH ROW EXECUTE FUNCTION simhash_trigger('by_name', '{"plain": null}');
CREATE TRIGGER by_array BEFORE INSERT OR UPDATE ON made FOR EACH ROW EXECUTE FUNCTION simhash_trigger('by_array', '[null]', 'plain');
INSERT INTO made (id, body) VALUES (1, 'No Water'), (2, NULL), (3, 'The Lamp');
UPDATE made SET body = 'No Light' WHERE id = 3;
SELECT id, by_name IS NULL AS none, by_name IS NOT DISTINCT FROM simhash(m, '{"plain": null}') AS name_is_row,
  by_array IS NOT DISTINCT FROM simhash(ARRAY[lower(body)], '[null]') AS array_is_text FROM made m ORDER BY id;
DROP VIEW agreement;
DROP TABLE petition, before, made;
DROP EXTENSION pg_dedup;
