-- A database that was carried to another server is used on: see between.
CREATE FUNCTION pg_temp.found(tbl text, q bigint, r int, by_index boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE found text;
BEGIN
    PERFORM set_config('enable_seqscan', (NOT by_index)::text, true), set_config('enable_indexscan', by_index::text, true),
        set_config('enable_bitmapscan', 'off', true);
    EXECUTE format('SELECT concat_ws('' '', count(*), sum(id), (SELECT string_agg((fp <~> $1)::text, '','') FROM (SELECT fp FROM %1$I ORDER BY fp <~> $1 LIMIT 20) n))
        FROM %1$I WHERE fp <@ hamming_ball($1, $2)', tbl) INTO found USING q, r;
    RETURN found;
END $$;
CREATE FUNCTION pg_temp.compare() RETURNS void LANGUAGE plpgsql AS $$
DECLARE wrong text;
BEGIN
    SELECT format('%s at %s within %s', tbl, q, r) INTO wrong
      FROM unnest('{petition,guarded,exclusive,shop}'::text[]) tbl, (SELECT fp FROM petition WHERE id % 10 = 1 UNION SELECT 5) p (q), unnest('{0,3,8,20}'::int[]) r
     WHERE pg_temp.found(tbl, q, r, true) IS DISTINCT FROM pg_temp.found(tbl, q, r, false);
    IF wrong IS NOT NULL THEN RAISE EXCEPTION 'index and sequential scan differ: %', wrong; END IF;
    PERFORM banding_check(index, true) FROM unnest('{petition_fp,petition_expression,guarded_fp_idx,exclusive_near,shop_scoped}'::regclass[]) index;
END $$;
CREATE FUNCTION pg_temp.refused(statement text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        EXECUTE statement;
    EXCEPTION WHEN exclusion_violation THEN RETURN;
    END;
    RAISE EXCEPTION 'not refused: %', statement;
END $$;

SELECT pg_temp.compare();
SELECT pg_temp.refused('INSERT INTO guarded VALUES (3, 1)'), pg_temp.refused('INSERT INTO exclusive VALUES (3, 1)');
INSERT INTO petition (id, title, body)
    SELECT max(id) + n, 'water ' || n, format('no water in street %s since %s', max(id) + n, md5(n::text)) FROM petition, generate_series(1, 200) n GROUP BY n;
INSERT INTO shop SELECT id, id % 7, fp FROM petition WHERE id NOT IN (SELECT id FROM shop);
DELETE FROM petition WHERE id % 5 = 0;
VACUUM petition;
SELECT pg_temp.compare();
REINDEX TABLE petition;
SELECT pg_temp.compare();
SET client_min_messages = error;
CALL dedup_into('result', 'SELECT id, body FROM petition');
DO $$ BEGIN
    IF EXISTS (SELECT id FROM petition EXCEPT SELECT id FROM result) OR NOT EXISTS (SELECT FROM petition WHERE own IS NOT NULL AND kept IS NOT NULL HAVING count(*) > 300) THEN
        RAISE EXCEPTION 'columns, triggers or results do not go on';
    END IF;
END $$;
REFRESH MATERIALIZED VIEW explained;
