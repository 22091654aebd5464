-- Distances of fingerprints, the type hamming_ball, the index access method and its operator class.

CREATE FUNCTION hamming(a bigint, b bigint) RETURNS integer
    AS 'MODULE_PATHNAME', 'hamming_wrapper'
    LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 1;
COMMENT ON FUNCTION hamming(bigint, bigint) IS
    'Hamming distance of two fingerprints: the number of bits, 0 to 64, in which they differ';

-- Of bit strings pgvector has <~>.
CREATE FUNCTION hamming(a bit, b bit) RETURNS integer
    AS 'MODULE_PATHNAME', 'hamming_bits_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION hamming(bit, bit) IS 'Hamming distance of two bit strings of one length: the number of bits in which they differ';
CREATE OPERATOR <-> (LEFTARG = bit, RIGHTARG = bit, FUNCTION = hamming, COMMUTATOR = <->);
COMMENT ON OPERATOR <-> (bit, bit) IS 'Hamming distance';

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

CREATE FUNCTION near_dup(a bit, b bit, distance integer) RETURNS boolean
    AS 'MODULE_PATHNAME', 'near_dup_bits_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1 SUPPORT near_dup_support;
COMMENT ON FUNCTION near_dup(bit, bit, integer) IS
    'whether two bit strings of one length differ in at most distance bits';

-- One expression, bound to the functions above whatever the search path, so
-- that the planner can look through it to an expression index on simhash().
CREATE FUNCTION near_dup(a text, b text, distance integer DEFAULT 3, recipe jsonb DEFAULT NULL) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE COST 2000
    RETURN near_dup(simhash(a, recipe), simhash(b, recipe), distance);
COMMENT ON FUNCTION near_dup(text, text, integer, jsonb) IS
    'whether the fingerprints of two texts differ in at most distance bits';

CREATE FUNCTION near_dup_bands(fp bigint, distance integer DEFAULT 3, blocks integer DEFAULT NULL) RETURNS SETOF bigint
    AS 'MODULE_PATHNAME', 'near_dup_bands_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1 ROWS 4;
COMMENT ON FUNCTION near_dup_bands(bigint, integer, integer) IS
    'keys of which fingerprints within the distance share at least one: every choice of blocks - distance of the blocks';

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

CREATE FUNCTION _hamming_in_ball(fp bigint, ball hamming_ball) RETURNS boolean
    AS 'MODULE_PATHNAME', 'hamming_in_ball_wrapper' LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _hamming_in_ball(bigint, hamming_ball) IS 'implementation of <@ operator';
CREATE OPERATOR <@ (LEFTARG = bigint, RIGHTARG = hamming_ball, FUNCTION = _hamming_in_ball,
    RESTRICT = hamming_sel, JOIN = hamming_joinsel);
COMMENT ON OPERATOR <@ (bigint, hamming_ball) IS 'fingerprint lies within the ball';

-- What the planner makes of near_dup of bit strings; nobody writes it.
CREATE FUNCTION _bit_ball(center bit, radius integer) RETURNS bytea
    AS 'MODULE_PATHNAME', 'bit_ball_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _bit_ball(bit, integer) IS 'internal: the bit strings within radius bits of center';
CREATE FUNCTION _bit_in_ball(fp bit, ball bytea) RETURNS boolean
    AS 'MODULE_PATHNAME', 'bit_in_ball_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _bit_in_ball(bit, bytea) IS 'implementation of <@ operator';
CREATE OPERATOR <@ (LEFTARG = bit, RIGHTARG = bytea, FUNCTION = _bit_in_ball,
    RESTRICT = hamming_sel, JOIN = hamming_joinsel);
COMMENT ON OPERATOR <@ (bit, bytea) IS 'internal: bit string lies within the ball';

CREATE FUNCTION _hamming_balls_near(a hamming_ball, b hamming_ball) RETURNS boolean
    AS 'MODULE_PATHNAME', 'hamming_balls_near_wrapper' LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _hamming_balls_near(hamming_ball, hamming_ball) IS 'implementation of =~ operator';
CREATE OPERATOR =~ (LEFTARG = hamming_ball, RIGHTARG = hamming_ball, FUNCTION = _hamming_balls_near, COMMUTATOR = =~,
    RESTRICT = hamming_sel, JOIN = hamming_joinsel);
COMMENT ON OPERATOR =~ (hamming_ball, hamming_ball) IS 'the center of each ball lies in the other';

CREATE FUNCTION banding_handler(internal) RETURNS index_am_handler
    AS 'MODULE_PATHNAME', 'banding_handler_wrapper' LANGUAGE c STRICT;
COMMENT ON FUNCTION banding_handler(internal) IS 'index access method handler of banding';
CREATE ACCESS METHOD banding TYPE INDEX HANDLER banding_handler;
COMMENT ON ACCESS METHOD banding IS 'exact search of fingerprints of 64, 128 or 256 bits by Hamming distance';

-- As the last column a fingerprint; before it, a scope like those below.
CREATE OPERATOR CLASS bigint_hamming_ops DEFAULT FOR TYPE bigint USING banding AS
    OPERATOR 1 <@ (bigint, hamming_ball),
    OPERATOR 3 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops,
    OPERATOR 4 = (bigint, bigint), OPERATOR 4 = (bigint, integer), OPERATOR 4 = (bigint, smallint),
    FUNCTION 1 (bigint, bigint) hashint8extended(bigint, bigint),
    FUNCTION 1 (integer, integer) hashint4extended(integer, bigint),
    FUNCTION 1 (smallint, smallint) hashint2extended(smallint, bigint);
COMMENT ON OPERATOR CLASS bigint_hamming_ops USING banding IS
    'fingerprints by Hamming distance, at any distance';

CREATE OPERATOR CLASS bit_hamming_ops DEFAULT FOR TYPE bit USING banding AS
    OPERATOR 1 <@ (bit, bytea),
    OPERATOR 3 <-> (bit, bit) FOR ORDER BY pg_catalog.integer_ops;
COMMENT ON OPERATOR FAMILY bit_hamming_ops USING banding IS 'bit strings by Hamming distance';
COMMENT ON OPERATOR CLASS bit_hamming_ops USING banding IS 'bit(64), bit(128) and bit(256) by Hamming distance';

-- For constraints: EXCLUDE USING banding (hamming_ball(fp, 6) WITH =~).
CREATE OPERATOR CLASS hamming_ball_ops DEFAULT FOR TYPE hamming_ball USING banding AS
    OPERATOR 2 =~ (hamming_ball, hamming_ball);
COMMENT ON OPERATOR FAMILY hamming_ball_ops USING banding IS 'fingerprints with the distance that they keep';
COMMENT ON OPERATOR CLASS hamming_ball_ops USING banding IS 'fingerprints, each with the distance that it keeps from others';

-- Scopes: the columns before the fingerprint, compared for equality, by the hashes of PostgreSQL's own hash operator classes.
CREATE OPERATOR FAMILY scope_ops USING banding;
COMMENT ON OPERATOR FAMILY scope_ops USING banding IS 'equality of scopes';
CREATE OPERATOR CLASS int4_scope_ops DEFAULT FOR TYPE integer USING banding FAMILY scope_ops AS
    OPERATOR 4 = (integer, integer), OPERATOR 4 = (integer, bigint), OPERATOR 4 = (integer, smallint),
    FUNCTION 1 (integer, integer) hashint4extended(integer, bigint),
    FUNCTION 1 (bigint, bigint) hashint8extended(bigint, bigint);
COMMENT ON OPERATOR CLASS int4_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS int2_scope_ops DEFAULT FOR TYPE smallint USING banding FAMILY scope_ops AS
    OPERATOR 4 = (smallint, smallint), OPERATOR 4 = (smallint, integer), OPERATOR 4 = (smallint, bigint),
    FUNCTION 1 (smallint, smallint) hashint2extended(smallint, bigint);
COMMENT ON OPERATOR CLASS int2_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS oid_scope_ops DEFAULT FOR TYPE oid USING banding FAMILY scope_ops AS
    OPERATOR 4 = (oid, oid), FUNCTION 1 hashoidextended(oid, bigint);
COMMENT ON OPERATOR CLASS oid_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS text_scope_ops DEFAULT FOR TYPE text USING banding FAMILY scope_ops AS
    OPERATOR 4 = (text, text), FUNCTION 1 hashtextextended(text, bigint);
COMMENT ON OPERATOR CLASS text_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS bpchar_scope_ops DEFAULT FOR TYPE bpchar USING banding FAMILY scope_ops AS
    OPERATOR 4 = (bpchar, bpchar), FUNCTION 1 hashbpcharextended(bpchar, bigint);
COMMENT ON OPERATOR CLASS bpchar_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS name_scope_ops DEFAULT FOR TYPE name USING banding FAMILY scope_ops AS
    OPERATOR 4 = (name, name), FUNCTION 1 hashnameextended(name, bigint);
COMMENT ON OPERATOR CLASS name_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS char_scope_ops DEFAULT FOR TYPE "char" USING banding FAMILY scope_ops AS
    OPERATOR 4 = ("char", "char"), FUNCTION 1 hashcharextended("char", bigint);
COMMENT ON OPERATOR CLASS char_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS uuid_scope_ops DEFAULT FOR TYPE uuid USING banding FAMILY scope_ops AS
    OPERATOR 4 = (uuid, uuid), FUNCTION 1 uuid_hash_extended(uuid, bigint);
COMMENT ON OPERATOR CLASS uuid_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS bytea_scope_ops DEFAULT FOR TYPE bytea USING banding FAMILY scope_ops AS
    OPERATOR 4 = (bytea, bytea), FUNCTION 1 hashvarlenaextended(internal, bigint);
COMMENT ON OPERATOR CLASS bytea_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS bool_scope_ops DEFAULT FOR TYPE boolean USING banding FAMILY scope_ops AS
    OPERATOR 4 = (boolean, boolean), FUNCTION 1 hashcharextended("char", bigint);
COMMENT ON OPERATOR CLASS bool_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS date_scope_ops DEFAULT FOR TYPE date USING banding FAMILY scope_ops AS
    OPERATOR 4 = (date, date), FUNCTION 1 hashint4extended(integer, bigint);
COMMENT ON OPERATOR CLASS date_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS timestamptz_scope_ops DEFAULT FOR TYPE timestamptz USING banding FAMILY scope_ops AS
    OPERATOR 4 = (timestamptz, timestamptz), FUNCTION 1 timestamp_hash_extended(timestamp, bigint);
COMMENT ON OPERATOR CLASS timestamptz_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS timestamp_scope_ops DEFAULT FOR TYPE timestamp USING banding FAMILY scope_ops AS
    OPERATOR 4 = (timestamp, timestamp), FUNCTION 1 timestamp_hash_extended(timestamp, bigint);
COMMENT ON OPERATOR CLASS timestamp_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS numeric_scope_ops DEFAULT FOR TYPE numeric USING banding FAMILY scope_ops AS
    OPERATOR 4 = (numeric, numeric), FUNCTION 1 hash_numeric_extended(numeric, bigint);
COMMENT ON OPERATOR CLASS numeric_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS inet_scope_ops DEFAULT FOR TYPE inet USING banding FAMILY scope_ops AS
    OPERATOR 4 = (inet, inet), FUNCTION 1 hashinetextended(inet, bigint);
COMMENT ON OPERATOR CLASS inet_scope_ops USING banding IS 'scope';
CREATE OPERATOR CLASS enum_scope_ops DEFAULT FOR TYPE anyenum USING banding FAMILY scope_ops AS
    OPERATOR 4 = (anyenum, anyenum), FUNCTION 1 hashenumextended(anyenum, bigint);
COMMENT ON OPERATOR CLASS enum_scope_ops USING banding IS 'scope';

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
