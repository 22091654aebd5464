-- Distances of fingerprints, the type hamming_ball, the index access method and its operator class.

CREATE FUNCTION hamming_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'hamming_support_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_support(internal) IS 'internal: planner support of hamming';
CREATE FUNCTION hamming(a bigint, b bigint) RETURNS integer
    AS 'MODULE_PATHNAME', 'hamming_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 1 SUPPORT hamming_support;
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

CREATE TYPE hamming_ball;
CREATE FUNCTION hamming_ball_in(cstring) RETURNS hamming_ball
    AS 'MODULE_PATHNAME', 'hamming_ball_in_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_in(cstring) IS 'I/O';
CREATE FUNCTION hamming_ball_out(hamming_ball) RETURNS cstring
    AS 'MODULE_PATHNAME', 'hamming_ball_out_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_out(hamming_ball) IS 'I/O';
CREATE FUNCTION hamming_ball_recv(internal) RETURNS hamming_ball
    AS 'MODULE_PATHNAME', 'hamming_ball_recv_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_recv(internal) IS 'I/O';
CREATE FUNCTION hamming_ball_send(hamming_ball) RETURNS bytea
    AS 'MODULE_PATHNAME', 'hamming_ball_send_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_ball_send(hamming_ball) IS 'I/O';
CREATE TYPE hamming_ball (
    INPUT = hamming_ball_in, OUTPUT = hamming_ball_out, RECEIVE = hamming_ball_recv, SEND = hamming_ball_send, INTERNALLENGTH = 16, ALIGNMENT = double);
COMMENT ON TYPE hamming_ball IS 'the fingerprints within a Hamming distance of one: (center,radius)';

CREATE FUNCTION hamming_ball(center bigint, radius integer) RETURNS hamming_ball
    AS 'MODULE_PATHNAME', 'hamming_ball_wrapper' LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 1;
COMMENT ON FUNCTION hamming_ball(bigint, integer) IS 'the fingerprints within radius bits of center; none if radius is negative';

CREATE FUNCTION hamming_sel(internal, oid, internal, integer) RETURNS double precision
    AS 'MODULE_PATHNAME', 'hamming_sel_wrapper' LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_sel(internal, oid, internal, integer) IS 'restriction selectivity of <@ and =~';
CREATE FUNCTION hamming_joinsel(internal, oid, internal, smallint, internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'hamming_joinsel_wrapper' LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hamming_joinsel(internal, oid, internal, smallint, internal) IS 'join selectivity of <@ and =~';

CREATE FUNCTION hamming_in_ball(fp bigint, ball hamming_ball) RETURNS boolean
    AS 'MODULE_PATHNAME', 'hamming_in_ball_wrapper' LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 1;
COMMENT ON FUNCTION hamming_in_ball(bigint, hamming_ball) IS 'implementation of <@ operator';
CREATE OPERATOR <@ (LEFTARG = bigint, RIGHTARG = hamming_ball, FUNCTION = hamming_in_ball,
    RESTRICT = hamming_sel, JOIN = hamming_joinsel);
COMMENT ON OPERATOR <@ (bigint, hamming_ball) IS 'fingerprint lies within the ball';

CREATE FUNCTION hamming_within_3(a bigint, b bigint) RETURNS boolean
    AS 'MODULE_PATHNAME', 'hamming_within_3_wrapper' LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 1;
COMMENT ON FUNCTION hamming_within_3(bigint, bigint) IS 'implementation of =~ operator';
CREATE OPERATOR =~ (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = hamming_within_3, COMMUTATOR = =~,
    RESTRICT = hamming_sel, JOIN = hamming_joinsel);
COMMENT ON OPERATOR =~ (bigint, bigint) IS 'fingerprints differ in at most three bits';

CREATE FUNCTION banding_handler(internal) RETURNS index_am_handler
    AS 'MODULE_PATHNAME', 'banding_handler_wrapper' LANGUAGE c STRICT;
COMMENT ON FUNCTION banding_handler(internal) IS 'index access method handler of banding';
CREATE ACCESS METHOD banding TYPE INDEX HANDLER banding_handler;
COMMENT ON ACCESS METHOD banding IS 'exact search of 64-bit fingerprints by Hamming distance';

CREATE OPERATOR CLASS bigint_hamming_ops DEFAULT FOR TYPE bigint USING banding AS
    OPERATOR 1 <@ (bigint, hamming_ball),
    OPERATOR 2 =~ (bigint, bigint),
    OPERATOR 3 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops;
COMMENT ON OPERATOR CLASS bigint_hamming_ops USING banding IS
    'fingerprints by Hamming distance, at any distance';

CREATE FUNCTION banding_stats(index regclass,
        OUT rows bigint, OUT pages bigint, OUT bytes_per_row double precision,
        OUT leaf_pages bigint, OUT inner_pages bigint, OUT unused_pages bigint,
        OUT levels integer, OUT leaf_fill double precision,
        OUT fillfactor integer, OUT mu double precision,
        OUT hot_buckets integer, OUT second_level_entries bigint, OUT hottest jsonb) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'banding_stats_wrapper' LANGUAGE c STRICT PARALLEL RESTRICTED COST 10000 ROWS 1;
COMMENT ON FUNCTION banding_stats(regclass) IS
    'figures of a banding index: rows, pages, fill, and the buckets that hold most';

CREATE FUNCTION banding_check(index regclass, heapallindexed boolean DEFAULT false) RETURNS void
    AS 'MODULE_PATHNAME', 'banding_check_wrapper' LANGUAGE c STRICT PARALLEL RESTRICTED COST 10000;
COMMENT ON FUNCTION banding_check(regclass, boolean) IS
    'raises an error if a banding index is damaged; with heapallindexed, also if a row of the table is missing from it';
