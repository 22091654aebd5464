-- Pairs and groups of near rows of whole tables.

CREATE FUNCTION near_dup_pairs(source text, distance integer DEFAULT 3)
    RETURNS TABLE (a bigint, b bigint, "distance" integer)
    AS 'MODULE_PATHNAME', 'near_dup_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION near_dup_pairs(text, integer) IS
    'all pairs of rows within a Hamming distance, of a table or of a query that returns (id, fp bigint)';
CREATE FUNCTION near_dup_pairs(source text, distance integer, id_type anyelement)
    RETURNS TABLE (a anyelement, b anyelement, "distance" integer)
    AS 'MODULE_PATHNAME', 'near_dup_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION near_dup_pairs(text, integer, anyelement) IS
    'near_dup_pairs of ids of another type than bigint: id_type => NULL::uuid';

CREATE FUNCTION near_dup_text_pairs(source text, similarity double precision DEFAULT 0.5, n integer DEFAULT 2)
    RETURNS TABLE (a bigint, b bigint, similarity double precision)
    AS 'MODULE_PATHNAME', 'near_dup_text_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION near_dup_text_pairs(text, double precision, integer) IS
    'all pairs of texts, of a table or of a query that returns (id, text), whose character n-grams have at least this Jaccard coefficient, each once, exactly; works within work_mem';
CREATE FUNCTION near_dup_text_pairs(source text, similarity double precision, n integer, id_type anyelement)
    RETURNS TABLE (a anyelement, b anyelement, similarity double precision)
    AS 'MODULE_PATHNAME', 'near_dup_text_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION near_dup_text_pairs(text, double precision, integer, anyelement) IS
    'near_dup_text_pairs of ids of another type than bigint: id_type => NULL::uuid';

CREATE FUNCTION near_dup_groups(pairs text)
    RETURNS TABLE (id bigint, component bigint)
    AS 'MODULE_PATHNAME', 'near_dup_groups_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION near_dup_groups(text) IS
    'connected components of pairs of ids, the first two columns of a query or a table: each id, and the least id that a chain of pairs connects with it';
CREATE FUNCTION near_dup_groups(pairs text, id_type anyelement)
    RETURNS TABLE (id anyelement, component anyelement)
    AS 'MODULE_PATHNAME', 'near_dup_groups_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION near_dup_groups(text, anyelement) IS
    'near_dup_groups of ids of another type than bigint: id_type => NULL::uuid';
