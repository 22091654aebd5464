-- The pipeline over a whole table: dedup gives its result, dedup_into keeps it in a table.

CREATE FUNCTION dedup(source text, options jsonb DEFAULT NULL)
    RETURNS TABLE (id bigint, keeper bigint, stage text, distance integer, similarity double precision)
    AS 'MODULE_PATHNAME', 'dedup_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION dedup(text, jsonb) IS
    'exact stage, near stage, verification and choice of the kept row over a table or a query (id, content text, ...): one row per input row';
-- PostgreSQL resolves a polymorphic table only where the argument is written: so no default here.
CREATE FUNCTION dedup(source text, options jsonb, id_type anyelement)
    RETURNS TABLE (id anyelement, keeper anyelement, stage text, distance integer, similarity double precision)
    AS 'MODULE_PATHNAME', 'dedup_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION dedup(text, jsonb, anyelement) IS
    'dedup of ids of another type than bigint: id_type => NULL::uuid';

-- Neither defaults nor a polymorphic argument, which another role's function of the same name would match better.
CREATE FUNCTION _dedup(source text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', '_dedup_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION _dedup(text) IS 'dedup without options, its ids of the type that the list of columns says';

CREATE FUNCTION dedup_explain(source text, pairs text, options jsonb)
    RETURNS TABLE (a bigint, b bigint, "column" text, part text, in_a text, in_b text, value double precision)
    AS 'MODULE_PATHNAME', 'dedup_explain_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100;
COMMENT ON FUNCTION dedup_explain(text, text, jsonb) IS
    'why dedup takes rows of a source for the same or not, for each pair of ids that a query gives: distance, similarity and differing details, or what each column adds to the odds of any pair, in bits';
CREATE FUNCTION dedup_explain(source text, pairs text, options jsonb, id_type anyelement)
    RETURNS TABLE (a anyelement, b anyelement, "column" text, part text, in_a text, in_b text, value double precision)
    AS 'MODULE_PATHNAME', 'dedup_explain_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100;
COMMENT ON FUNCTION dedup_explain(text, text, jsonb, anyelement) IS
    'dedup_explain of pairs whose ids are of another type than bigint: id_type => NULL::uuid';

CREATE FUNCTION dedup_link(a text, b text, options jsonb DEFAULT NULL)
    RETURNS TABLE (a bigint, b bigint, score double precision, evidence text)
    AS 'MODULE_PATHNAME', 'dedup_link_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION dedup_link(text, text, jsonb) IS
    'the rows of two tables or queries that are one thing, each at most once, the surest first: by records or by text, never two rows of one source';
CREATE FUNCTION dedup_link(a text, b text, options jsonb, id_type anyelement)
    RETURNS TABLE (a anyelement, b anyelement, score double precision, evidence text)
    AS 'MODULE_PATHNAME', 'dedup_link_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100000;
COMMENT ON FUNCTION dedup_link(text, text, jsonb, anyelement) IS
    'dedup_link of ids of another type than bigint: id_type => NULL::uuid';

CREATE FUNCTION dedup_review(source text, n integer DEFAULT 20, options jsonb DEFAULT NULL)
    RETURNS TABLE (a bigint, b bigint, same boolean, kind text, score double precision, moves bigint, in_a text, in_b text, only_a text[], only_b text[])
    AS 'MODULE_PATHNAME', 'dedup_review_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 20;
COMMENT ON FUNCTION dedup_review(text, integer, jsonb) IS
    'the n pairs of rows whose answer is worth most: undecided, nearest to the limit on both sides, of each kind of difference, none settled by answers to others';
CREATE FUNCTION dedup_review(source text, n integer, options jsonb, id_type anyelement)
    RETURNS TABLE (a anyelement, b anyelement, same boolean, kind text, score double precision, moves bigint, in_a text, in_b text, only_a text[], only_b text[])
    AS 'MODULE_PATHNAME', 'dedup_review_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 20;
COMMENT ON FUNCTION dedup_review(text, integer, jsonb, anyelement) IS
    'dedup_review of ids of another type than bigint: id_type => NULL::uuid';

CREATE PROCEDURE dedup_into(result text, source text, options jsonb DEFAULT NULL)
    AS 'MODULE_PATHNAME', 'dedup_into_wrapper' LANGUAGE c;
COMMENT ON PROCEDURE dedup_into(text, text, jsonb) IS
    'keeps what dedup finds in a table: the first call makes it, later ones write what has changed';
