-- Pairs and groups of near rows of whole tables.

CREATE FUNCTION near_dup_pairs(source text, options jsonb DEFAULT NULL)
    RETURNS TABLE (a bigint, b bigint, "distance" integer, similarity double precision)
    AS 'MODULE_PATHNAME', 'near_dup_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION near_dup_pairs(text, jsonb) IS
    'all pairs of near rows of a table or a query, each once: (id, fp bigint or bit) within {"distance": 3}, or, by {"method": "text"}, (id, text) whose runs of n characters have a Jaccard coefficient of at least similarity; works within work_mem';
CREATE FUNCTION near_dup_pairs(source text, options jsonb, id_type anyelement)
    RETURNS TABLE (a anyelement, b anyelement, "distance" integer, similarity double precision)
    AS 'MODULE_PATHNAME', 'near_dup_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION near_dup_pairs(text, jsonb, anyelement) IS
    'near_dup_pairs of ids of another type than bigint: id_type => NULL::uuid';

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
