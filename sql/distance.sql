-- Distances of fingerprints. Each function is one of src/distance.rs.

CREATE FUNCTION hamming(a bigint, b bigint) RETURNS integer
    AS 'MODULE_PATHNAME', 'hamming_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 1;
COMMENT ON FUNCTION hamming(bigint, bigint) IS
    'Hamming distance of two fingerprints: the number of bits, 0 to 64, in which they differ';

CREATE OPERATOR <~> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hamming, COMMUTATOR = <~>);
COMMENT ON OPERATOR <~> (bigint, bigint) IS 'Hamming distance';

CREATE FUNCTION near_dup_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'near_dup_support_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION near_dup_support(internal) IS 'internal: planner support of near_dup';
CREATE FUNCTION near_dup(a bigint, b bigint, distance integer DEFAULT 3) RETURNS boolean
    AS 'MODULE_PATHNAME', 'near_dup_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 1 SUPPORT near_dup_support;
COMMENT ON FUNCTION near_dup(bigint, bigint, integer) IS
    'whether two fingerprints differ in at most distance bits';

-- One expression, bound to the functions above whatever the search path, so
-- that the planner can look through it to an expression index on simhash().
CREATE FUNCTION near_dup(a text, b text, distance integer DEFAULT 3, weights jsonb DEFAULT NULL) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 2000
    RETURN near_dup(simhash(a, weights), simhash(b, weights), distance);
COMMENT ON FUNCTION near_dup(text, text, integer, jsonb) IS
    'whether the fingerprints of two texts differ in at most distance bits';

CREATE FUNCTION near_dup_bands(fp bigint) RETURNS SETOF integer
    AS 'MODULE_PATHNAME', 'near_dup_bands_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1 ROWS 4;
COMMENT ON FUNCTION near_dup_bands(bigint) IS
    'four keys of which fingerprints within Hamming distance 3 share at least one';
