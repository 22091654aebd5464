-- Pairs that anything has found, by keys for a join on equality, and their connected components.
CREATE EXTENSION pg_dedup;
-- Keys: at distance 3 four blocks, each with its number; more blocks make longer keys.
SELECT to_hex(near_dup_bands(x'1234ABCD00FF8001'::bigint)), to_hex(near_dup_bands(x'1234ABCD00FF8001'::bigint, 1)),
       to_hex(near_dup_bands(x'1234ABCD00FF8001'::bigint, 1, 3)), near_dup_bands(-1, 0);
SELECT d AS distance, b AS blocks, count(*) AS keys, count(DISTINCT key) AS "distinct"
FROM (VALUES (3, 4), (3, 5), (3, 6), (6, 8), (8, 10), (8, 12), (12, 14)) v(d, b), near_dup_bands(4711, d, b) key GROUP BY 1, 2 ORDER BY 1, 2;
SELECT count(*) AS "NULL has no keys" FROM near_dup_bands(NULL, 3, 5);
SELECT array(SELECT near_dup_bands(7, NULL, NULL)) = array(SELECT near_dup_bands(7)) AS "NULL is the default";
SELECT near_dup_bands(1, 64);
SELECT near_dup_bands(1, -1);
SELECT near_dup_bands(1, 3, 3);
SELECT near_dup_bands(1, 3, 65);
SELECT near_dup_bands(1, 20, 40);
SELECT near_dup_bands(1, 1, 32);

-- A join on equality finds the pairs of near_dup_pairs, no more and no less.
CREATE TABLE print AS
SELECT i AS id, hashint4extended(i / 4, 0) # (1::bigint << i % 64) # (CASE WHEN i % 3 = 0 THEN 1::bigint << i * 7 % 64 ELSE 0 END)
                # (CASE WHEN i % 5 = 0 THEN 7::bigint << i * 3 % 60 ELSE 0 END) AS fp
FROM generate_series(1, 3000) i;
INSERT INTO print SELECT -i, NULL FROM generate_series(1, 10) i;
CREATE FUNCTION differing(near integer, blocks integer, OUT pairs bigint, OUT wrong bigint) LANGUAGE sql AS $$
    WITH key AS MATERIALIZED (SELECT id, fp, k FROM print, near_dup_bands(fp, near, blocks) k),
         joined AS (SELECT DISTINCT x.id, y.id, x.fp <~> y.fp FROM key x JOIN key y USING (k) WHERE x.id < y.id AND near_dup(x.fp, y.fp, near)),
         found AS (SELECT a, b, distance FROM near_dup_pairs('SELECT id, fp FROM print', jsonb_build_object('distance', near)))
    SELECT (SELECT count(*) FROM found), (SELECT count(*) FROM ((TABLE joined EXCEPT TABLE found) UNION ALL (TABLE found EXCEPT TABLE joined)) w) $$;
SELECT d AS distance, b AS blocks, pairs > 0 AS some, wrong FROM (VALUES (0, NULL), (1, NULL), (3, NULL), (3, 5), (3, 6), (4, 6), (6, 8), (8, 11)) v(d, b), differing(d, b);

-- Components: every id, and the least one that a chain of pairs connects with it.
SELECT * FROM near_dup_groups('VALUES (5, 4), (4, 3), (9, 8), (1, 1)') ORDER BY 1;
SELECT * FROM near_dup_groups('SELECT 1, 2 WHERE false');
-- A NULL is no id: the other one is in it by itself, unless other pairs have it.
SELECT * FROM near_dup_groups('VALUES (1, NULL), (NULL, 2), (NULL, NULL), (3, NULL), (3, 4)') ORDER BY 1;
-- Further columns are not looked at; integers of several widths, negative ones too; a table.
SELECT * FROM near_dup_groups('SELECT * FROM near_dup_pairs(''VALUES (-2, 0::bigint), (7, 1), (9, -1)'')') ORDER BY 1;
SELECT * FROM near_dup_groups('VALUES (1::smallint, -9223372036854775808), (2::smallint, 1::bigint)') ORDER BY 1;
CREATE TABLE edge (a integer, b integer);
INSERT INTO edge VALUES (2, 1), (3, 2);
SELECT * FROM near_dup_groups('edge') ORDER BY 1;
-- Ids of other types keep it, are equal as their type says, and are ordered by it.
SELECT * FROM near_dup_groups('VALUES (''b''::text, ''a''), (''c'', ''b''), (''d'', NULL), ('''', ''z'')', NULL::text) ORDER BY 1;
SELECT * FROM near_dup_groups('VALUES (1.0, 2), (2.00, 10), (1, 1.000)', NULL::numeric) ORDER BY 1;
SELECT * FROM near_dup_groups('VALUES (''00000000-0000-0000-0000-000000000002''::uuid, ''00000000-0000-0000-0000-000000000001''::uuid)', id_type => NULL::uuid) ORDER BY 1;
SELECT * FROM near_dup_groups('VALUES (date ''2024-01-02'', date ''2024-01-01'')', NULL::date) ORDER BY 1;
SELECT * FROM near_dup_groups('VALUES (''NaN''::float8, ''-0''::float8), (0, 1)', NULL::float8) ORDER BY 1;
SELECT count(*), count(DISTINCT component), min(length(component)) FROM near_dup_groups(
    'SELECT repeat(md5((i % 100)::text), 200), repeat(md5((i % 10)::text), 200) FROM generate_series(1, 2000) i', NULL::text);
-- As dedup's components, of the same pairs.
SELECT count(*) AS rows, count(*) FILTER (WHERE d.keeper IS DISTINCT FROM coalesce(g.component, d.id)) AS otherwise
FROM dedup('SELECT id, ''text '' || id, fp FROM print WHERE fp IS NOT NULL',
           '{"fp": "fp", "distance": 3, "similarity": 0, "equal": "none", "group": "components", "n": 2, "details": []}') d
LEFT JOIN near_dup_groups('SELECT * FROM near_dup_pairs(''SELECT id, fp FROM print'')') g ON g.id = d.id;
-- Chains of a million pairs, there and back.
SELECT count(*), min(component), max(component) FROM near_dup_groups('SELECT i, i + 1 FROM generate_series(1, 1000000) i');
SELECT count(*), min(component), max(component) FROM near_dup_groups('SELECT i::text, (i - 1)::text FROM generate_series(200000, 1, -1) i', NULL::text);

-- What is refused.
SELECT near_dup_groups(NULL);
SELECT * FROM near_dup_groups('SELECT 1');
SELECT * FROM near_dup_groups('SELECT ''a''::text, ''b''::text');
SELECT * FROM near_dup_groups('SELECT 1, ''b''::text');
SELECT * FROM near_dup_groups('SELECT ''a''::text, 1', NULL::text);
SELECT * FROM near_dup_groups('SELECT B''1'', B''0''', NULL::bit);
SELECT * FROM near_dup_groups('SELECT ARRAY[1], ARRAY[2]', NULL::integer[]);
SELECT * FROM near_dup_groups('DELETE FROM edge RETURNING a, b');
SELECT count(*) AS "nothing was deleted" FROM edge;
SET pg_dedup.memory_limit = '1MB';
SELECT count(*) FROM near_dup_groups('SELECT i, i + 1 FROM generate_series(1, 100000) i');
RESET pg_dedup.memory_limit;
DROP TABLE edge, print;
DROP FUNCTION differing;
DROP EXTENSION pg_dedup;
