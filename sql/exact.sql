-- Exact duplicates in a stream of rows.

CREATE FUNCTION exact_seen(content text) RETURNS boolean
    AS 'MODULE_PATHNAME', 'exact_seen_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE WINDOW COST 10;
COMMENT ON FUNCTION exact_seen(text) IS
    'window function: whether the text came before, by 128-bit hashes and equality';
