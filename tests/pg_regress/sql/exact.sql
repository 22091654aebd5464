-- exact_seen: which texts came before, as counting them says.
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
CREATE TABLE stream AS
SELECT i AS id, i % 3 AS part,
       CASE WHEN i % 11 = 0 THEN NULL WHEN i % 7 = 0 THEN '' ELSE repeat('停水', (hashint4(i) & 63)) || (hashint4(i) & 3) END AS content
FROM generate_series(1, 3000) i;
-- NULL for NULL; else whether an equal text stands before it in the order of the window, in its partition.
SELECT count(*) FILTER (WHERE seen IS DISTINCT FROM before) AS wrong, count(*) FILTER (WHERE seen) AS again,
       count(*) FILTER (WHERE NOT seen) AS new, count(*) FILTER (WHERE seen IS NULL) AS "null"
FROM (SELECT exact_seen(content) OVER (ORDER BY id) AS seen,
             CASE WHEN content IS NOT NULL THEN row_number() OVER (PARTITION BY content ORDER BY id) > 1 END AS before FROM stream) s;
SELECT count(*) FILTER (WHERE seen IS DISTINCT FROM before) AS wrong, count(*) FILTER (WHERE NOT seen) AS new
FROM (SELECT exact_seen(content) OVER (PARTITION BY part ORDER BY id DESC) AS seen,
             CASE WHEN content IS NOT NULL THEN row_number() OVER (PARTITION BY part, content ORDER BY id DESC) > 1 END AS before FROM stream) s;
-- The frame does not matter, nor does what is nearly equal count.
SELECT count(*) FILTER (WHERE a IS DISTINCT FROM b) AS differ
FROM (SELECT exact_seen(content) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING) AS a, exact_seen(content) OVER (ORDER BY id) AS b FROM stream) s;
SELECT content, exact_seen(content) OVER (ORDER BY id) FROM (VALUES (1, 'a'), (2, 'A'), (3, 'a '), (4, 'ａ'), (5, 'a')) v(id, content) ORDER BY id;
DROP TABLE stream;
DROP EXTENSION pg_dedup_papers, pg_dedup;
