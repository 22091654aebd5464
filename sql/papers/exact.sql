-- Exact duplicates as the papers find them: Bloom filters and P1's trie of digits.

CREATE TYPE bloom;
CREATE FUNCTION bloom_in(cstring) RETURNS bloom
    AS 'MODULE_PATHNAME', 'bloom_in_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_in(cstring) IS 'I/O';
CREATE FUNCTION bloom_out(bloom) RETURNS cstring
    AS 'MODULE_PATHNAME', 'bloom_out_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_out(bloom) IS 'I/O';
CREATE FUNCTION bloom_recv(internal) RETURNS bloom
    AS 'MODULE_PATHNAME', 'bloom_recv_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_recv(internal) IS 'I/O';
CREATE FUNCTION bloom_send(bloom) RETURNS bytea
    AS 'MODULE_PATHNAME', 'bloom_send_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_send(bloom) IS 'I/O';
CREATE TYPE bloom (
    INPUT = bloom_in, OUTPUT = bloom_out, RECEIVE = bloom_recv, SEND = bloom_send, INTERNALLENGTH = VARIABLE, STORAGE = extended);
COMMENT ON TYPE bloom IS 'a Bloom filter: a set of texts that may take a new one for a seen one, never the reverse';

CREATE FUNCTION bloom_new(items bigint, error double precision DEFAULT 0.01) RETURNS bloom
    AS 'MODULE_PATHNAME', 'bloom_new_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_new(bigint, double precision) IS
    'an empty filter that errs at the rate given once so many texts are in it';
CREATE FUNCTION bloom_sized(bits bigint, hashes integer, hash text DEFAULT 'city64') RETURNS bloom
    AS 'MODULE_PATHNAME', 'bloom_sized_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_sized(bigint, integer, text) IS
    'an empty filter of so many bits and hash functions; hash is city64 or, as in the paper, bkdr+ap';
CREATE FUNCTION bloom_add(filter bloom, content text) RETURNS bloom
    AS 'MODULE_PATHNAME', 'bloom_add_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_add(bloom, text) IS 'the filter with a text more';
CREATE FUNCTION bloom_contains(filter bloom, content text) RETURNS boolean
    AS 'MODULE_PATHNAME', 'bloom_contains_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION bloom_contains(bloom, text) IS 'whether a text was added to the filter, or looks as if';
CREATE FUNCTION bloom_merge(a bloom, b bloom) RETURNS bloom
    AS 'MODULE_PATHNAME', 'bloom_merge_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION bloom_merge(bloom, bloom) IS 'implementation of | operator';
CREATE OPERATOR | (LEFTARG = bloom, RIGHTARG = bloom, FUNCTION = bloom_merge, COMMUTATOR = |);
COMMENT ON OPERATOR | (bloom, bloom) IS 'what either filter holds';
CREATE FUNCTION bloom_stats(filter bloom, OUT bits bigint, OUT hashes integer, OUT hash text, OUT added bigint,
        OUT bits_set bigint, OUT estimated_items double precision, OUT error double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'bloom_stats_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 ROWS 1;
COMMENT ON FUNCTION bloom_stats(bloom) IS 'size, load and present error rate of a filter';

CREATE FUNCTION bloom_agg_add(internal, text, bigint, double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'bloom_agg_add_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_add(internal, text, bigint, double precision) IS 'internal: transition of bloom_agg';
CREATE FUNCTION bloom_agg_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'bloom_agg_combine_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_combine(internal, internal) IS 'internal: combines partial states of bloom_agg';
CREATE FUNCTION bloom_agg_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'bloom_agg_serialize_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_serialize(internal) IS 'internal: sends a partial state of bloom_agg';
CREATE FUNCTION bloom_agg_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'bloom_agg_deserialize_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_deserialize(bytea, internal) IS 'internal: receives a partial state of bloom_agg';
CREATE FUNCTION bloom_agg_finish(internal) RETURNS bloom
    AS 'MODULE_PATHNAME', 'bloom_agg_finish_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION bloom_agg_finish(internal) IS 'internal: result of bloom_agg';
CREATE AGGREGATE bloom_agg(content text, items bigint, error double precision) (
    SFUNC = bloom_agg_add, STYPE = internal, SSPACE = 100000,
    FINALFUNC = bloom_agg_finish, COMBINEFUNC = bloom_agg_combine,
    SERIALFUNC = bloom_agg_serialize, DESERIALFUNC = bloom_agg_deserialize,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE bloom_agg(text, bigint, double precision) IS
    'filter of all texts, made for so many at an error rate; NULL without a row';

CREATE FUNCTION bloom_seen(content text, bits bigint DEFAULT NULL, hashes integer DEFAULT NULL,
        error double precision DEFAULT 0.001, hash text DEFAULT 'city64', rule text DEFAULT 'all',
        passes integer DEFAULT 1) RETURNS boolean
    AS 'MODULE_PATHNAME', 'bloom_seen_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE WINDOW COST 10;
COMMENT ON FUNCTION bloom_seen(text, bigint, integer, double precision, text, text, integer) IS
    'window function: whether the text came before, or looks as if, by a Bloom filter';
CREATE FUNCTION trie_seen(content text, recheck boolean DEFAULT true) RETURNS boolean
    AS 'MODULE_PATHNAME', 'trie_seen_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE WINDOW COST 10;
COMMENT ON FUNCTION trie_seen(text, boolean) IS
    'window function: whether the text came before, by a trie of digits; without recheck as the paper has it, with its errors';
CREATE FUNCTION exact_seen(content text) RETURNS boolean
    AS 'MODULE_PATHNAME', 'exact_seen_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE WINDOW COST 10;
COMMENT ON FUNCTION exact_seen(text) IS
    'window function: whether the text came before, by 128-bit hashes and equality';
