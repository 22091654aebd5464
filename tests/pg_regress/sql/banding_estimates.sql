-- The planner's estimates without statistics, with NULLs, and with one common value.
CREATE EXTENSION pg_dedup;
CREATE TABLE skewed AS SELECT CASE WHEN n % 4 = 0 THEN NULL WHEN n % 2 = 0 THEN 5 ELSE hashint8extended(n, 0) END AS fp
FROM generate_series(1, 10000) n;
CREATE FUNCTION estimate(condition text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE plan json;
BEGIN
  EXECUTE 'EXPLAIN (FORMAT json) SELECT FROM skewed WHERE ' || condition INTO plan;
  RETURN plan->0->'Plan'->>'Plan Rows';
END $$;
SELECT estimate('near_dup(fp, 5, 3)') < 100 AS "unrelated, as long as nothing is known";
ANALYZE skewed;
SELECT estimate('near_dup(fp, 7, 3)') BETWEEN 2300 AND 2700 AS "the common value",
       estimate('fp <@ hamming_ball(1, 64)') BETWEEN 7300 AND 7700 AS "all but the NULLs",
       estimate('fp =~ 81985529216486895') < 10 AS "a rare value", estimate('near_dup(fp, 5, -1)') = 1 AS "none";
DROP TABLE skewed;
DROP FUNCTION estimate;
DROP EXTENSION pg_dedup;
