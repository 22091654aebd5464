-- Errors as users meet them.
CREATE EXTENSION pg_dedup;
SELECT simhash('a'::text, '{"token": "words"}');
SELECT simhash('a'::text, '{"tokens": "word"}');
SELECT simhash('a'::text, '{"tokens": "chars", "n": 0}');
SELECT simhash('a'::text, '{"weight": -2}');
SELECT simhash('a'::text, '{"weight": 1e400}');
SELECT simhash('a'::text, '{"terms": {"水": 2000000}}');
SELECT simhash('a'::text, '["words"]');
SELECT simhash('{a,b}'::text[], '[1,2,3]');
SELECT simhash('{a,b}'::text[], '[1,-1]');
SELECT simhash('{a,b}'::text[], '[1,1e400]');
SELECT simhash('{a,b}'::text[], '[1,{"tokens": "word"}]');
SELECT simhash('{a,b}'::text[], '{"1": 2}');
SELECT simhash('a', '[2,null]');
SELECT simhash(v, '{"titel": 1}') FROM (VALUES (1, 'x')) v(id, title);
SELECT simhash(v, '{"title": "tf-idf"}') FROM (VALUES (1, 'x')) v(id, title);
SELECT simhash(v, '{"title": {"tokens": "words", "m": 3}}') FROM (VALUES (1, 'x')) v(id, title);
SELECT simhash(v, '{}') FROM (VALUES (1, 'x')) v(id, title);
SELECT simhash('a:1'::tsvector, '[1,2]');
SELECT simhash('a:1'::tsvector, '[1,1,1,-1]');
SELECT simhash_agg('a', 'NaN');
-- The trigger: wrong arguments, wrong column, wrong event.
CREATE TABLE petition (id int, title text, body text, fp bigint);
CREATE FUNCTION attempt(arguments text, event text DEFAULT 'BEFORE INSERT', level text DEFAULT 'ROW') RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('CREATE TRIGGER fp %s ON petition FOR EACH %s EXECUTE FUNCTION simhash_trigger(%s)', event, level, arguments);
  INSERT INTO petition VALUES (1, 'a', 'b');
END $$;
\set SHOW_CONTEXT never
SELECT attempt($$'fp'$$);
SELECT attempt($$'fingerprint', '{"title": 2}'$$);
SELECT attempt($$'id', '{"title": 2}'$$);
SELECT attempt($$'fp', '{"titel": 2}'$$);
SELECT attempt($$'fp', '{"title": '$$);
SELECT attempt($$'fp', '[1,2]', 'title'$$);
SELECT attempt($$'fp', '[1,two]', 'title', 'body'$$);
SELECT attempt($$'fp', '{"title": 1, "body": 2}', 'title', 'body'$$);
SELECT attempt($$'fp', '[1,2]', 'title', 'boddy'$$);
SELECT attempt($$'fp', '[1,2]'$$);
SELECT attempt($$'fp', '{"title": 2}'$$, 'AFTER INSERT');
SELECT attempt($$'fp', '{"title": 2}'$$, level => 'STATEMENT');
SELECT simhash_trigger();
-- A generated column is computed after the trigger; a domain over bigint is a bigint.
ALTER TABLE petition ADD generated bigint GENERATED ALWAYS AS (id) STORED;
SELECT attempt($$'generated', '{"title": 2}'$$);
CREATE DOMAIN fingerprint AS bigint NOT NULL CHECK (value <> 0);
ALTER TABLE petition ADD of_domain fingerprint DEFAULT 1;
SELECT attempt($$'of_domain', '{"title": 2}'$$);
SELECT of_domain = simhash(petition, '{"title": 2}') AS filled FROM petition;
INSERT INTO petition VALUES (2, '…', '…');
DROP TABLE petition;
DROP DOMAIN fingerprint;
DROP FUNCTION attempt;
DROP EXTENSION pg_dedup;
