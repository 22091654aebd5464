-- What each column of the table desk looks like, judged by its first rows.
CREATE TABLE column_kind AS
WITH beginning AS (SELECT * FROM desk LIMIT 20000), seen AS (
    SELECT field.name, count(*) AS filled, count(DISTINCT value) AS different, avg(char_length(value)) AS length,
        avg((value ~ '^\s*[-+]?[0-9][0-9.,]*\s*%?\s*$')::int) AS numbers,
        avg((value ~ '^\s*([0-9]{4}\s?[-/.年]\s?[0-9]{1,2}|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{2,4})')::int) AS dates,
        avg((value ~ '^[A-Za-z0-9_./:+-]+$')::int) AS codes
    FROM (SELECT to_jsonb(beginning) AS row FROM beginning) AS rows, jsonb_each_text(row) AS field (name, value)
    WHERE value IS NOT NULL GROUP BY field.name)
SELECT attnum AS position, attname::text AS name, round(length, 1) AS length, NULL AS role,
    coalesce(different = (SELECT count(*) FROM beginning), false) AS is_unique,
    CASE WHEN filled IS NULL THEN 'empty'
        WHEN dates > 0.95 THEN 'date'
        WHEN numbers > 0.95 THEN 'number'
        WHEN different = 1 AND filled > 1 THEN 'constant'
        WHEN codes = 1 AND different = filled AND filled > 1 THEN 'code'
        ELSE 'text' END AS kind
FROM pg_attribute LEFT JOIN seen ON seen.name = attname WHERE attrelid = 'desk'::regclass AND attnum > 0;
