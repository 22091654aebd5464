-- Pairs and groups of near rows of whole tables.

CREATE FUNCTION near_dup_pairs(query text, distance integer DEFAULT 3)
    RETURNS TABLE (a bigint, b bigint, "distance" integer)
    AS 'MODULE_PATHNAME', 'near_dup_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION near_dup_pairs(text, integer) IS
    'all pairs of rows within a Hamming distance; query returns (id bigint, fp bigint)';

CREATE FUNCTION near_dup_text_pairs(query text, threshold double precision DEFAULT 0.5, n integer DEFAULT 2,
        OUT a bigint, OUT b bigint, OUT similarity double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'near_dup_text_pairs_wrapper' LANGUAGE c VOLATILE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION near_dup_text_pairs(text, double precision, integer) IS
    'all pairs of a query of (id bigint, text) whose character n-grams have at least this Jaccard coefficient, each once, exactly; works within work_mem';

CREATE FUNCTION single_pass(fp bigint, distance integer) RETURNS bigint
    AS 'MODULE_PATHNAME', 'single_pass_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE WINDOW COST 1000;
COMMENT ON FUNCTION single_pass(bigint, integer) IS
    'window function: row number of the nearest earlier centre within distance, or of the row itself';

CREATE FUNCTION near_dup_component(fp bigint, distance integer, diameter integer DEFAULT NULL) RETURNS bigint
    AS 'MODULE_PATHNAME', 'near_dup_component_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE WINDOW COST 1000;
COMMENT ON FUNCTION near_dup_component(bigint, integer, integer) IS
    'window function: row number of the first row that a chain of near rows connects with this one; with a diameter, no component is wider';
