-- Fingerprints: of texts, rows, arrays, documents and text-search vectors, and why two of them differ.

DO $check$
BEGIN
    IF pg_catalog.current_setting('server_encoding') OPERATOR(pg_catalog.<>) 'UTF8' THEN
        RAISE EXCEPTION 'pg_dedup needs a database with encoding UTF8, not %',
                pg_catalog.current_setting('server_encoding')
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'CREATE DATABASE ... ENCODING ''UTF8'' TEMPLATE template0;';
    END IF;
END
$check$;

CREATE FUNCTION simhash(content text, weights jsonb DEFAULT NULL) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_text_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION simhash(text, jsonb) IS
    'SimHash fingerprint of a text; weights is a recipe such as {"tokens": "words", "weight": "tf"}';

CREATE FUNCTION simhash(fields text[], weights jsonb) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_fields_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION simhash(text[], jsonb) IS
    'SimHash fingerprint of the fields of a row; weights such as [2, null]: a number (the value counts as a whole), null (running text), or a recipe';

CREATE FUNCTION simhash("row" record, weights jsonb) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_record_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION simhash(record, jsonb) IS
    'SimHash fingerprint of a row by column name; weights such as {"title": 2, "body": "tf"}';

CREATE FUNCTION simhash(document jsonb, weights jsonb) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_document_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION simhash(jsonb, jsonb) IS
    'SimHash fingerprint of a nested document by path; weights such as {"title": 2, "from.city": 2, "body": "tf"}';

CREATE FUNCTION simhash(content tsvector, weights jsonb DEFAULT NULL) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_tsvector_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION simhash(tsvector, jsonb) IS
    'SimHash fingerprint of a text-search vector; weights of the labels D, C, B and A as in ts_rank: [0.1, 0.2, 0.4, 1.0]';

CREATE FUNCTION simhash_features(content text, weights jsonb DEFAULT NULL,
        OUT feature text, OUT weight double precision, OUT hash bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_features_text_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000 ROWS 200;
COMMENT ON FUNCTION simhash_features(text, jsonb) IS
    'the weighted features that the fingerprint of a text is made of, heaviest first';

CREATE FUNCTION simhash_features(fields text[], weights jsonb,
        OUT feature text, OUT weight double precision, OUT hash bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_features_fields_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 200;
COMMENT ON FUNCTION simhash_features(text[], jsonb) IS
    'the weighted features that the fingerprint of an array of fields is made of, heaviest first';

CREATE FUNCTION simhash_features("row" record, weights jsonb,
        OUT feature text, OUT weight double precision, OUT hash bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_features_record_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 200;
COMMENT ON FUNCTION simhash_features(record, jsonb) IS
    'the weighted features that the fingerprint of a row is made of, heaviest first';

CREATE FUNCTION simhash_features(document jsonb, weights jsonb,
        OUT feature text, OUT weight double precision, OUT hash bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_features_document_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 200;
COMMENT ON FUNCTION simhash_features(jsonb, jsonb) IS
    'the weighted features that the fingerprint of a nested document is made of, heaviest first';

CREATE FUNCTION simhash_explain(a text, b text, weights jsonb DEFAULT NULL,
        OUT "column" text, OUT feature text, OUT found_in text,
        OUT weight_a double precision, OUT weight_b double precision, OUT bits double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_text_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000 ROWS 300;
COMMENT ON FUNCTION simhash_explain(text, text, jsonb) IS
    'why two fingerprints differ: the features of two texts, where they are, what they weigh, and how many of the differing bits are their doing';
CREATE FUNCTION simhash_explain(a record, b record, weights jsonb,
        OUT "column" text, OUT feature text, OUT found_in text,
        OUT weight_a double precision, OUT weight_b double precision, OUT bits double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_record_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000 ROWS 300;
COMMENT ON FUNCTION simhash_explain(record, record, jsonb) IS
    'why the fingerprints of two rows differ, feature by feature';
CREATE FUNCTION simhash_explain(a text[], b text[], weights jsonb,
        OUT "column" text, OUT feature text, OUT found_in text,
        OUT weight_a double precision, OUT weight_b double precision, OUT bits double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_fields_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000 ROWS 300;
COMMENT ON FUNCTION simhash_explain(text[], text[], jsonb) IS
    'why the fingerprints of two arrays of fields differ, feature by feature; a column is the number of a field';

CREATE FUNCTION simhash_explain(a jsonb, b jsonb, weights jsonb,
        OUT "column" text, OUT feature text, OUT found_in text,
        OUT weight_a double precision, OUT weight_b double precision, OUT bits double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_document_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000 ROWS 300;
COMMENT ON FUNCTION simhash_explain(jsonb, jsonb, jsonb) IS
    'why the fingerprints of two nested documents differ, feature by feature; a column is a path of the weights';

CREATE FUNCTION simhash_agg_add(internal, text, double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_agg_add_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_agg_add(internal, text, double precision) IS 'internal: transition of simhash_agg';
CREATE FUNCTION simhash_agg_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_agg_combine_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_agg_combine(internal, internal) IS 'internal: combines partial states of simhash_agg';
CREATE FUNCTION simhash_agg_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'simhash_agg_serialize_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_agg_serialize(internal) IS 'internal: sends a partial state of simhash_agg';
CREATE FUNCTION simhash_agg_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'simhash_agg_deserialize_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION simhash_agg_deserialize(bytea, internal) IS 'internal: receives a partial state of simhash_agg';
CREATE FUNCTION simhash_agg_finish(internal) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_agg_finish_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION simhash_agg_finish(internal) IS 'internal: result of simhash_agg';
CREATE AGGREGATE simhash_agg(feature text, weight double precision) (
    SFUNC = simhash_agg_add, STYPE = internal, SSPACE = 1200,
    FINALFUNC = simhash_agg_finish, COMBINEFUNC = simhash_agg_combine,
    SERIALFUNC = simhash_agg_serialize, DESERIALFUNC = simhash_agg_deserialize,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE simhash_agg(text, double precision) IS
    'SimHash fingerprint of weighted features that are rows; NULL without any';

CREATE FUNCTION simhash_trigger() RETURNS trigger
    AS 'MODULE_PATHNAME', 'simhash_trigger_wrapper' LANGUAGE c;
COMMENT ON FUNCTION simhash_trigger() IS
    'trigger: fills a bigint column with the fingerprint of the row; arguments: the column, the weights[, columns]';
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

CREATE FUNCTION hamming_balls_near(a hamming_ball, b hamming_ball) RETURNS boolean
    AS 'MODULE_PATHNAME', 'hamming_balls_near_wrapper' LANGUAGE c IMMUTABLE STRICT LEAKPROOF PARALLEL SAFE COST 1;
COMMENT ON FUNCTION hamming_balls_near(hamming_ball, hamming_ball) IS 'implementation of =~ operator';
CREATE OPERATOR =~ (LEFTARG = hamming_ball, RIGHTARG = hamming_ball, FUNCTION = hamming_balls_near, COMMUTATOR = =~,
    RESTRICT = hamming_sel, JOIN = hamming_joinsel);
COMMENT ON OPERATOR =~ (hamming_ball, hamming_ball) IS 'the center of each ball lies in the other';

CREATE FUNCTION banding_handler(internal) RETURNS index_am_handler
    AS 'MODULE_PATHNAME', 'banding_handler_wrapper' LANGUAGE c STRICT;
COMMENT ON FUNCTION banding_handler(internal) IS 'index access method handler of banding';
CREATE ACCESS METHOD banding TYPE INDEX HANDLER banding_handler;
COMMENT ON ACCESS METHOD banding IS 'exact search of 64-bit fingerprints by Hamming distance';

-- As the last column a fingerprint; before it, a scope like those below.
CREATE OPERATOR CLASS bigint_hamming_ops DEFAULT FOR TYPE bigint USING banding AS
    OPERATOR 1 <@ (bigint, hamming_ball),
    OPERATOR 2 =~ (bigint, bigint),
    OPERATOR 3 <~> (bigint, bigint) FOR ORDER BY pg_catalog.integer_ops,
    OPERATOR 4 = (bigint, bigint), OPERATOR 4 = (bigint, integer), OPERATOR 4 = (bigint, smallint),
    FUNCTION 1 (bigint, bigint) hashint8extended(bigint, bigint),
    FUNCTION 1 (integer, integer) hashint4extended(integer, bigint),
    FUNCTION 1 (smallint, smallint) hashint2extended(smallint, bigint);
COMMENT ON OPERATOR CLASS bigint_hamming_ops USING banding IS
    'fingerprints by Hamming distance, at any distance';

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
-- Similarity of two texts: what verifies the candidates that fingerprints give.

CREATE FUNCTION ngram_jaccard(a text, b text, n integer DEFAULT 2) RETURNS double precision
    AS 'MODULE_PATHNAME', 'ngram_jaccard_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION ngram_jaccard(text, text, integer) IS
    'Jaccard similarity, 0 to 1, of the sets of character n-grams of two texts in normal form; 0 if a text is empty';

CREATE FUNCTION ngram_containment(a text, b text, n integer DEFAULT 2) RETURNS double precision
    AS 'MODULE_PATHNAME', 'ngram_containment_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION ngram_containment(text, text, integer) IS
    'share, 0 to 1, of the character n-grams of a that b contains; 0 if a is empty';

CREATE FUNCTION simhash_cosine(a text, b text, weights jsonb DEFAULT NULL) RETURNS double precision
    AS 'MODULE_PATHNAME', 'simhash_cosine_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION simhash_cosine(text, text, jsonb) IS
    'cosine similarity, 0 to 1, of the weighted features of two texts; weights is a recipe as of simhash; 0 if a text is empty';

CREATE FUNCTION same_particulars(a text, b text, kinds text[] DEFAULT '{name,date,number}') RETURNS boolean
    AS 'MODULE_PATHNAME', 'same_particulars_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20000;
COMMENT ON FUNCTION same_particulars(text, text, text[]) IS
    'whether nearly equal texts say the same names, dates and numbers; kinds limits it, such as {name}';
CREATE FUNCTION near_dup_explain(a text, b text, OUT part text, OUT in_a text, OUT in_b text, OUT particular text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'near_dup_explain_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20000 ROWS 10;
COMMENT ON FUNCTION near_dup_explain(text, text) IS
    'what two texts share and where they differ, in order; particular: name, date or number if they differ in one';

-- Similar texts by a GIN index: every text that ngram_jaccard finds similar shares enough n-grams. A query is the number
-- that is enough, then the n-grams.

CREATE FUNCTION ngrams(content text, n integer DEFAULT 2) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'ngrams_text_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION ngrams(text, integer) IS 'the set of character n-grams of a text in normal form, as numbers; for an index with ngram_ops';
CREATE FUNCTION ngrams(contents text[], n integer DEFAULT 2) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'ngrams_texts_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION ngrams(text[], integer) IS 'ngrams of texts as one, NULLs left out; NULL if all are';
CREATE FUNCTION ngram_query(content text, n integer, similarity double precision) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'ngram_query_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION ngram_query(text, integer, double precision) IS
    'what texts of at least that ngram_jaccard have in common with a text: ngrams(content, n) @% ngram_query(new, n, 0.5)';
CREATE FUNCTION ngrams_enough(ngrams bigint[], query bigint[]) RETURNS boolean
    AS 'MODULE_PATHNAME', 'ngrams_enough_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION ngrams_enough(bigint[], bigint[]) IS 'implementation of @% operator';
CREATE OPERATOR @% (LEFTARG = bigint[], RIGHTARG = bigint[], FUNCTION = ngrams_enough,
    RESTRICT = contsel, JOIN = contjoinsel);
COMMENT ON OPERATOR @% (bigint[], bigint[]) IS 'n-grams are enough of those of a query';
CREATE FUNCTION ngrams_extract_query(bigint[], internal, smallint, internal, internal, internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'ngrams_extract_query_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ngrams_extract_query(bigint[], internal, smallint, internal, internal, internal, internal) IS 'internal: GIN support of ngram_ops';
CREATE FUNCTION ngrams_consistent(internal, smallint, bigint[], integer, internal, internal, internal) RETURNS "char"
    AS 'MODULE_PATHNAME', 'ngrams_consistent_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION ngrams_consistent(internal, smallint, bigint[], integer, internal, internal, internal) IS 'internal: GIN support of ngram_ops';
CREATE OPERATOR CLASS ngram_ops FOR TYPE bigint[] USING gin AS
    OPERATOR 1 @% (bigint[], bigint[]),
    FUNCTION 1 pg_catalog.btint8cmp(bigint, bigint),
    FUNCTION 2 pg_catalog.ginarrayextract(anyarray, internal, internal),
    FUNCTION 3 ngrams_extract_query(bigint[], internal, smallint, internal, internal, internal, internal),
    FUNCTION 6 ngrams_consistent(internal, smallint, bigint[], integer, internal, internal, internal),
    STORAGE bigint;
COMMENT ON OPERATOR FAMILY ngram_ops USING gin IS 'similar texts by their n-grams';
COMMENT ON OPERATOR CLASS ngram_ops USING gin IS 'similar texts by their n-grams';

-- MinHash (Broder 1997): an estimate of the similarity of sets, and keys for a GIN index.

CREATE FUNCTION minhash(content text, k integer DEFAULT 128, n integer DEFAULT 2) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'minhash_text_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION minhash(text, integer, integer) IS
    'MinHash signature, k values, of the character n-grams of a text in normal form; NULL if it is empty';

CREATE FUNCTION minhash_similarity(a bigint[], b bigint[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'minhash_similarity_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION minhash_similarity(bigint[], bigint[]) IS
    'estimated Jaccard similarity, 0 to 1: the share of equal values of two MinHash signatures of one length';

CREATE FUNCTION minhash_bands(signature bigint[], bands integer, rows integer) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'minhash_bands_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION minhash_bands(bigint[], integer, integer) IS
    'one key for each band of so many values of a MinHash signature; candidates share a key (GIN, &&)';
-- The trigger that keeps near-duplicates out.

CREATE FUNCTION near_dup_guard() RETURNS trigger
    AS 'MODULE_PATHNAME', 'near_dup_guard_wrapper' LANGUAGE c;
COMMENT ON FUNCTION near_dup_guard() IS
    'trigger: rejects, skips, flags or logs rows that are near-duplicates; arguments: the fingerprint column, then ''distance=3'', ''action=reject'', ...';
-- Corpora and dictionaries.
--
-- A version is a row of one of two tables, which triggers keep from being
-- changed. pg_dump writes the tables' rows along with all other data, in any
-- order, while generated columns are computed as their tables' rows are copied
-- in. So an object beside each row carries the version through a dump: a foreign
-- server, for pg_dump restores it before any data, and for the options of its
-- user mapping are all that a catalogue holds and does not show to everybody.
-- Nothing connects to it.
--
-- Every role computes with every version, by rights of the tables' owner. Words
-- and weights are shown to who may use the server (GRANT USAGE ON FOREIGN SERVER)
-- or read the table: to who built the version, and whom those name.

CREATE FOREIGN DATA WRAPPER _dedup_versions;
COMMENT ON FOREIGN DATA WRAPPER _dedup_versions IS 'of the servers that carry versions of corpora and dictionaries through a dump; connects to nothing';
GRANT USAGE ON FOREIGN DATA WRAPPER _dedup_versions TO pg_database_owner;

CREATE TABLE _dedup_dictionary (
    name text COLLATE "C" NOT NULL,
    version integer NOT NULL CHECK (version BETWEEN 1 AND 999999999),
    words text,
    word_count bigint NOT NULL,
    stop_words text,
    stop_count bigint NOT NULL,
    built timestamptz NOT NULL DEFAULT now(),
    dropped boolean NOT NULL DEFAULT false,
    PRIMARY KEY (name, version),
    CHECK (dropped = (words IS NULL) AND dropped = (stop_words IS NULL))
);
COMMENT ON TABLE _dedup_dictionary IS
    'versions of dictionaries, one per row, never changed; words in jieba''s form, stop words by lines; see dedup_dictionaries';

CREATE TABLE _dedup_corpus (
    name text COLLATE "C" NOT NULL,
    version integer NOT NULL CHECK (version BETWEEN 1 AND 999999999),
    recipe jsonb NOT NULL,
    documents bigint NOT NULL,
    tokens bigint NOT NULL,
    common bytea,
    single bytea,
    extends text,
    built timestamptz NOT NULL DEFAULT now(),
    dropped boolean NOT NULL DEFAULT false,
    PRIMARY KEY (name, version),
    CHECK (dropped = (common IS NULL) AND dropped = (single IS NULL))
);
ALTER TABLE _dedup_corpus ALTER common SET STORAGE EXTERNAL, ALTER single SET STORAGE EXTERNAL;
COMMENT ON TABLE _dedup_corpus IS
    'versions of corpora, one per row, never changed; document frequencies packed into bytes; see dedup_corpora';

SELECT pg_catalog.pg_extension_config_dump('_dedup_dictionary', '');
SELECT pg_catalog.pg_extension_config_dump('_dedup_corpus', '');
GRANT SELECT, INSERT, UPDATE ON _dedup_dictionary, _dedup_corpus TO pg_database_owner WITH GRANT OPTION;

-- Bodies of the form BEGIN ATOMIC, as views, name tables and operators by their identity:
-- no search_path matters later, and the extension may move to another schema.
-- When they are created, a function that somebody put into that schema before
-- and that fits better than PostgreSQL's must not be taken: hence pg_catalog,
-- and operators between types for which PostgreSQL has them exactly.
CREATE FUNCTION _dedup_carrier_name(kind text, name text, version integer) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN pg_catalog.concat('_dedup_', kind, '_', pg_catalog.left(pg_catalog.encode(
        pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.concat(name, '@', version), 'UTF8')), 'hex'), 32));
COMMENT ON FUNCTION _dedup_carrier_name(text, text, integer) IS 'name of the server that carries a version through a dump';

CREATE VIEW dedup_dictionaries AS
    SELECT pg_catalog.concat(name, '@', version) AS dictionary, word_count AS words, stop_count AS stop_words, built,
        _dedup_carrier_name('dictionary', name, version) AS server
    FROM _dedup_dictionary WHERE NOT dropped ORDER BY name, version;
COMMENT ON VIEW dedup_dictionaries IS 'dictionaries that recipes can name';
CREATE VIEW dedup_corpora AS
    SELECT pg_catalog.concat(name, '@', version) AS corpus, documents, tokens,
        pg_catalog.length(common) + pg_catalog.length(single) AS bytes, recipe, extends, built,
        _dedup_carrier_name('corpus', name, version) AS server
    FROM _dedup_corpus WHERE NOT dropped ORDER BY name, version;
COMMENT ON VIEW dedup_corpora IS 'corpora that recipes can name';
GRANT SELECT ON dedup_dictionaries, dedup_corpora TO PUBLIC;

CREATE FUNCTION _dedup_carrier(kind text, name text, version integer)
    RETURNS TABLE (server oid, mapping oid, content text) LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT s.oid, m.umid, (SELECT o.option_value FROM pg_catalog.pg_options_to_table(m.umoptions) o)
    FROM pg_foreign_server s JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
        LEFT JOIN pg_user_mappings m ON m.srvid = s.oid AND m.umuser = 0::oid
    WHERE w.fdwname = '_dedup_versions'::name AND s.srvname = _dedup_carrier_name(kind, name, version);
END;
COMMENT ON FUNCTION _dedup_carrier(text, text, integer) IS
    'the server that carries a version through a dump, and its content as JSON, as far as the caller may see it';

CREATE FUNCTION _dedup_corpus_carried(of_name text, of_version integer)
    RETURNS TABLE (name text, documents bigint, recipe jsonb, common bytea, single bytea) LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT r.name, r.documents, r.recipe, pg_catalog.decode(r.common, 'base64'), NULL::bytea
    FROM _dedup_carrier('corpus', of_name, of_version) c,
        pg_catalog.json_to_record(c.content::json)
            AS r(name text, version integer, documents bigint, recipe jsonb, common text)
    WHERE r.name = of_name AND r.version = of_version
        AND NOT EXISTS (SELECT FROM _dedup_corpus t WHERE t.name = of_name AND t.version = of_version)
    LIMIT 1;
END;
COMMENT ON FUNCTION _dedup_corpus_carried(text, integer) IS 'a corpus whose row has not been restored yet';

CREATE FUNCTION _dedup_dictionary_carried(of_name text, of_version integer)
    RETURNS TABLE (name text, words text, stop_words text) LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT r.name, r.words, r.stop_words
    FROM _dedup_carrier('dictionary', of_name, of_version) c,
        pg_catalog.json_to_record(c.content::json) AS r(name text, version integer, words text, stop_words text)
    WHERE r.name = of_name AND r.version = of_version
        AND NOT EXISTS (SELECT FROM _dedup_dictionary t WHERE t.name = of_name AND t.version = of_version)
    LIMIT 1;
END;
COMMENT ON FUNCTION _dedup_dictionary_carried(text, integer) IS 'a dictionary whose row has not been restored yet';

CREATE FUNCTION _dedup_corpus_check(name text, documents bigint, common bytea, single bytea) RETURNS void
    AS 'MODULE_PATHNAME', '_dedup_corpus_check_wrapper' LANGUAGE c VOLATILE;
COMMENT ON FUNCTION _dedup_corpus_check(text, bigint, bytea, bytea) IS 'refuses what is not the content of a corpus';
CREATE FUNCTION _dedup_dictionary_check(name text, words text) RETURNS void
    AS 'MODULE_PATHNAME', '_dedup_dictionary_check_wrapper' LANGUAGE c VOLATILE;
COMMENT ON FUNCTION _dedup_dictionary_check(text, text) IS 'refuses what is not the content of a dictionary';
CREATE FUNCTION _dedup_version_dropped(kind text, name text) RETURNS void
    AS 'MODULE_PATHNAME', '_dedup_version_dropped_wrapper' LANGUAGE c VOLATILE STRICT SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION _dedup_version_dropped(text, text) IS
    'refuses while a recipe in the catalogue names the version; else lets all sessions know that it is dropped';

CREATE FUNCTION _dedup_version_belongs(class oid, object oid) RETURNS void
    AS 'MODULE_PATHNAME', '_dedup_version_belongs_wrapper' LANGUAGE c VOLATILE STRICT;
COMMENT ON FUNCTION _dedup_version_belongs(oid, oid) IS 'lets what carries a version go with the extension, without CASCADE';
REVOKE EXECUTE ON FUNCTION _dedup_version_belongs(oid, oid) FROM PUBLIC;

CREATE FUNCTION _dedup_version_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    kind text := TG_ARGV[0];
    known record;
BEGIN
    IF TG_OP = 'INSERT' THEN
        EXECUTE format('SELECT t.* FROM %I.%I t WHERE t.name = $1 AND t.version = $2', TG_TABLE_SCHEMA, TG_TABLE_NAME)
            INTO known USING NEW.name, NEW.version;
        -- Restored again as it is: nothing to do.
        IF known *= NEW THEN
            RETURN NULL;
        ELSIF kind = 'corpus' THEN
            EXECUTE format('SELECT %I._dedup_corpus_check($1, $2, $3, $4)', TG_TABLE_SCHEMA)
                USING NEW.name, NEW.documents, NEW.common, NEW.single;
        ELSE
            EXECUTE format('SELECT %I._dedup_dictionary_check($1, $2)', TG_TABLE_SCHEMA) USING NEW.name, NEW.words;
        END IF;
        RETURN NEW;
    ELSIF TG_OP = 'UPDATE' THEN
        -- The one change there is: the version is dropped.
        known := OLD;
        known.dropped := true;
        IF kind = 'corpus' THEN
            known.common := NULL;
            known.single := NULL;
        ELSE
            known.words := NULL;
            known.stop_words := NULL;
        END IF;
        IF NEW *= known AND NOT OLD.dropped THEN
            EXECUTE format('SELECT %I._dedup_version_dropped($1, $2)', TG_TABLE_SCHEMA)
                USING kind, concat(OLD.name, '@', OLD.version);
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
        MESSAGE = format('a version of a %s cannot be changed or deleted', kind),
        HINT = format('Build the next version with dedup_%s_build; drop this one with dedup_%1$s_drop.', kind);
END $body$;
COMMENT ON FUNCTION _dedup_version_guard() IS 'keeps versions of corpora and dictionaries as they are';

-- With the rights of the extension's owner, for who may build need not own the
-- wrapper. It only makes and drops the servers that carry versions. They are the
-- database's, so that its owner's dump has their content.
CREATE FUNCTION _dedup_version_carry() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    kind text := TG_ARGV[0];
    content text;
    found record;
    server text;
BEGIN
    EXECUTE format('SELECT c.*, %I._dedup_carrier_name($1, $2, $3) AS name FROM (VALUES (0)) AS one LEFT JOIN %1$I._dedup_carrier($1, $2, $3) c ON true',
        TG_TABLE_SCHEMA) INTO found USING kind, NEW.name, NEW.version;
    server := found.name;
    IF NEW.dropped THEN
        IF found.server IS NOT NULL THEN
            EXECUTE format('DROP USER MAPPING IF EXISTS FOR PUBLIC SERVER %I', server);
            EXECUTE format('DROP SERVER %I CASCADE', server);
        END IF;
        RETURN NULL;
    ELSIF kind = 'corpus' THEN
        content := json_build_object('name', NEW.name, 'version', NEW.version, 'documents', NEW.documents,
            'recipe', NEW.recipe, 'common', replace(encode(NEW.common, 'base64'), chr(10), ''));
    ELSE
        content := json_build_object('name', NEW.name, 'version', NEW.version, 'words', NEW.words, 'stop_words', NEW.stop_words);
    END IF;
    IF found.content IS NULL THEN
        IF found.server IS NULL THEN
            EXECUTE format('CREATE SERVER %I FOREIGN DATA WRAPPER _dedup_versions', server);
            EXECUTE format('ALTER SERVER %I OWNER TO pg_database_owner', server);
            EXECUTE format('COMMENT ON SERVER %I IS %L', server,
                format('carries %s %s@%s through a dump; who may use it is shown its words and weights; see pg_dedup', kind, NEW.name, NEW.version));
        END IF;
        EXECUTE format('CREATE USER MAPPING FOR PUBLIC SERVER %I OPTIONS (content %L)', server, content);
    ELSIF found.content IS DISTINCT FROM content THEN
        RAISE EXCEPTION USING ERRCODE = 'data_corrupted',
            MESSAGE = format('%s "%s@%s" differs from what server %s carries', kind, NEW.name, NEW.version, server),
            HINT = 'Load the rows of the dump that made the server, or drop the server if nothing was computed with it.';
    END IF;
    EXECUTE format('SELECT %I._dedup_version_belongs(''pg_foreign_server''::regclass, c.server), %1$I._dedup_version_belongs(''pg_user_mapping''::regclass, c.mapping)
        FROM %1$I._dedup_carrier($1, $2, $3) c', TG_TABLE_SCHEMA) USING kind, NEW.name, NEW.version;
    RETURN NULL;
END $body$;
COMMENT ON FUNCTION _dedup_version_carry() IS 'makes and drops the servers that carry versions through a dump';
REVOKE EXECUTE ON FUNCTION _dedup_version_carry() FROM PUBLIC;

-- ALWAYS: what a subscriber receives is protected and carried as well.
CREATE TRIGGER _dedup_guard BEFORE INSERT OR UPDATE OR DELETE ON _dedup_corpus
    FOR EACH ROW EXECUTE FUNCTION _dedup_version_guard('corpus');
CREATE TRIGGER _dedup_truncate BEFORE TRUNCATE ON _dedup_corpus
    FOR EACH STATEMENT EXECUTE FUNCTION _dedup_version_guard('corpus');
CREATE TRIGGER _dedup_carry AFTER INSERT OR UPDATE ON _dedup_corpus
    FOR EACH ROW EXECUTE FUNCTION _dedup_version_carry('corpus');
ALTER TABLE _dedup_corpus ENABLE ALWAYS TRIGGER _dedup_guard, ENABLE ALWAYS TRIGGER _dedup_truncate, ENABLE ALWAYS TRIGGER _dedup_carry;
CREATE TRIGGER _dedup_guard BEFORE INSERT OR UPDATE OR DELETE ON _dedup_dictionary
    FOR EACH ROW EXECUTE FUNCTION _dedup_version_guard('dictionary');
CREATE TRIGGER _dedup_truncate BEFORE TRUNCATE ON _dedup_dictionary
    FOR EACH STATEMENT EXECUTE FUNCTION _dedup_version_guard('dictionary');
CREATE TRIGGER _dedup_carry AFTER INSERT OR UPDATE ON _dedup_dictionary
    FOR EACH ROW EXECUTE FUNCTION _dedup_version_carry('dictionary');
ALTER TABLE _dedup_dictionary ENABLE ALWAYS TRIGGER _dedup_guard, ENABLE ALWAYS TRIGGER _dedup_truncate, ENABLE ALWAYS TRIGGER _dedup_carry;

CREATE FUNCTION dedup_corpus_build(name text, query text, weights jsonb DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'dedup_corpus_build_wrapper' LANGUAGE c VOLATILE COST 100000;
COMMENT ON FUNCTION dedup_corpus_build(text, text, jsonb) IS
    'freezes the document frequencies of the texts of a query as the next version of a corpus; weights say what the tokens are';
CREATE FUNCTION dedup_corpus_extend(corpus text, query text) RETURNS text
    AS 'MODULE_PATHNAME', 'dedup_corpus_extend_wrapper' LANGUAGE c VOLATILE STRICT COST 100000;
COMMENT ON FUNCTION dedup_corpus_extend(text, text) IS
    'freezes a corpus and the texts of a query together as the next version, without reading the old texts again';
CREATE FUNCTION dedup_corpus_drop(corpus text) RETURNS void
    AS 'MODULE_PATHNAME', 'dedup_corpus_drop_wrapper' LANGUAGE c VOLATILE STRICT COST 10000;
COMMENT ON FUNCTION dedup_corpus_drop(text) IS
    'drops a version of a corpus; refused while a recipe in the catalogue names it';

CREATE FUNCTION dedup_dictionary_build(name text, words text[], stop_words text[] DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'dedup_dictionary_words_wrapper' LANGUAGE c VOLATILE COST 100000;
COMMENT ON FUNCTION dedup_dictionary_build(text, text[], text[]) IS
    'freezes own words (each "word [frequency] [tag]") and stop words as the next version of a dictionary';
CREATE FUNCTION dedup_dictionary_build(name text, content text, stop_words text[] DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'dedup_dictionary_file_wrapper' LANGUAGE c VOLATILE COST 100000;
COMMENT ON FUNCTION dedup_dictionary_build(text, text, text[]) IS
    'as with an array of words; content is that of a file in jieba''s form, a word on each line, and never run as SQL';
CREATE FUNCTION dedup_dictionary_drop(dictionary text) RETURNS void
    AS 'MODULE_PATHNAME', 'dedup_dictionary_drop_wrapper' LANGUAGE c VOLATILE STRICT COST 10000;
COMMENT ON FUNCTION dedup_dictionary_drop(text) IS
    'drops a version of a dictionary; refused while a recipe in the catalogue names it';
-- Measuring what was found and choosing settings.

CREATE FUNCTION dedup_evaluate(found text, truth text, found_are text DEFAULT 'pairs', truth_are text DEFAULT 'pairs',
        OUT "precision" double precision, OUT recall double precision, OUT f1 double precision,
        OUT pairs_found bigint, OUT pairs_true bigint, OUT correct bigint, OUT missed bigint, OUT wrong bigint)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dedup_evaluate_wrapper' LANGUAGE c STABLE STRICT PARALLEL UNSAFE COST 100000 ROWS 1;
COMMENT ON FUNCTION dedup_evaluate(text, text, text, text) IS
    'precision, recall, F1 and counts of the pairs of one query against the true pairs of another; rows are pairs of ids, or groups: (id, group), all pairs within a group; numbers are equal by value, other ids by their text';
CREATE FUNCTION dedup_evaluate_pairs(found text, truth text, found_are text DEFAULT 'pairs', truth_are text DEFAULT 'pairs',
        correct_too boolean DEFAULT false)
    RETURNS TABLE (a bigint, b bigint, verdict text)
    AS 'MODULE_PATHNAME', 'dedup_evaluate_pairs_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 100000 ROWS 100;
COMMENT ON FUNCTION dedup_evaluate_pairs(text, text, text, text, boolean) IS
    'the pairs missed and the pairs wrongly found, to be looked at; on demand those correctly found too';
CREATE FUNCTION dedup_evaluate_pairs(found text, truth text, found_are text, truth_are text, correct_too boolean, id_type anyelement)
    RETURNS TABLE (a anyelement, b anyelement, verdict text)
    AS 'MODULE_PATHNAME', 'dedup_evaluate_pairs_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 100000 ROWS 100;
COMMENT ON FUNCTION dedup_evaluate_pairs(text, text, text, text, boolean, anyelement) IS
    'dedup_evaluate_pairs of ids of another type than bigint: id_type => NULL::uuid';

CREATE FUNCTION near_dup_calibrate(source text, truth text DEFAULT NULL,
        OUT distance integer, OUT random_pairs double precision, OUT nearest double precision,
        OUT expected_false_pairs double precision, OUT probes bigint,
        OUT "precision" double precision, OUT recall double precision, OUT histogram text, OUT advice text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'near_dup_calibrate_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 100000 ROWS 21;
COMMENT ON FUNCTION near_dup_calibrate(text, text) IS
    'for each distance: share of random pairs and of rows'' nearest neighbours within it, false pairs to expect, buckets an index search visits; if truth gives true pairs also precision, counted (NULL at distances too wide to count in a large table), and recall; source is a table or a query that gives (id, fingerprint)';

CREATE FUNCTION dedup_suggest(source text, OUT method text, OUT weights jsonb, OUT distance integer, OUT n integer,
        OUT similarity double precision, OUT options jsonb, OUT reason text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dedup_suggest_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 100000 ROWS 1;
COMMENT ON FUNCTION dedup_suggest(text) IS
    'recipe, distance and verification for the texts of a table or of a query, (text) or (id, text), by their length and script and what unrelated ones have in common; options is for dedup';
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

CREATE FUNCTION dedup_series(source text, options jsonb DEFAULT NULL)
    RETURNS TABLE (series bigint, id bigint, template text, gaps text[])
    AS 'MODULE_PATHNAME', 'dedup_series_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 10000;
COMMENT ON FUNCTION dedup_series(text, jsonb) IS
    'rows of a table or a query (id, content) that say the same but for names, dates and numbers: one row for each row of a series, the largest series first; template is what its rows have in common, gaps what each says where that has a mark';
CREATE FUNCTION dedup_series(source text, options jsonb, id_type anyelement)
    RETURNS TABLE (series bigint, id anyelement, template text, gaps text[])
    AS 'MODULE_PATHNAME', 'dedup_series_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 10000;
COMMENT ON FUNCTION dedup_series(text, jsonb, anyelement) IS
    'dedup_series of ids of another type than bigint: id_type => NULL::uuid';

CREATE FUNCTION near_dup_explain(source text, pairs text, options jsonb)
    RETURNS TABLE (a bigint, b bigint, "column" text, part text, in_a text, in_b text, bits double precision)
    AS 'MODULE_PATHNAME', 'near_dup_explain_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100;
COMMENT ON FUNCTION near_dup_explain(text, text, jsonb) IS
    'why dedup by records takes rows of a source for one or not, for each pair of ids that a query gives: what each column adds to the odds of any pair, in bits, the total and what is needed';
CREATE FUNCTION near_dup_explain(source text, pairs text, options jsonb, id_type anyelement)
    RETURNS TABLE (a anyelement, b anyelement, "column" text, part text, in_a text, in_b text, bits double precision)
    AS 'MODULE_PATHNAME', 'near_dup_explain_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100;
COMMENT ON FUNCTION near_dup_explain(text, text, jsonb, anyelement) IS
    'near_dup_explain of pairs whose ids are of another type than bigint: id_type => NULL::uuid';

-- The steps of dedup_into: each does the work of one transaction.

CREATE FUNCTION _dedup_into_check() RETURNS void
    AS 'MODULE_PATHNAME', '_dedup_into_check_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION _dedup_into_check() IS 'step of dedup_into: refuses where nothing can be committed';
CREATE FUNCTION _dedup_into_make(result text, source text, options jsonb, OUT name text, OUT fresh boolean)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', '_dedup_into_make_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1;
COMMENT ON FUNCTION _dedup_into_make(text, text, jsonb) IS
    'step of dedup_into: makes the tables if they are not there; gives their full name and whether it did';
CREATE FUNCTION _dedup_into_start(result text, source text, options jsonb, OUT path text, OUT listing text, OUT at_once boolean)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', '_dedup_into_start_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1;
COMMENT ON FUNCTION _dedup_into_start(text, text, jsonb) IS
    'step of dedup_into: checks source and options; gives the search path of the source, the query that lists new rows, and whether it is to be read in this transaction';
CREATE FUNCTION _dedup_into_lock(result text) RETURNS boolean
    AS 'MODULE_PATHNAME', '_dedup_into_lock_wrapper' LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION _dedup_into_lock(text) IS
    'step of dedup_into: locks the result beyond the transaction; true if it has been locked since the last one';
CREATE FUNCTION _dedup_into_unlock(result text) RETURNS void
    AS 'MODULE_PATHNAME', '_dedup_into_unlock_wrapper' LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION _dedup_into_unlock(text) IS 'step of dedup_into: releases the lock';
CREATE FUNCTION _dedup_into_repair(result text, source text, options jsonb) RETURNS void
    AS 'MODULE_PATHNAME', '_dedup_into_repair_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION _dedup_into_repair(text, text, jsonb) IS
    'step of dedup_into: puts right what rows that were taken out leave';
CREATE FUNCTION _dedup_into_take(result text, source text, options jsonb, todo record) RETURNS bigint
    AS 'MODULE_PATHNAME', '_dedup_into_take_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION _dedup_into_take(text, text, jsonb, record) IS 'step of dedup_into: takes in a batch';
CREATE FUNCTION _dedup_into_finish(result text) RETURNS text
    AS 'MODULE_PATHNAME', '_dedup_into_finish_wrapper' LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION _dedup_into_finish(text) IS
    'step of dedup_into: makes the search index and says what was done';

-- A procedure that sets a search path for itself cannot commit: so everything
-- here is named with its schema, and each step sets the path for the source.
CREATE PROCEDURE dedup_into(result text, source text, options jsonb DEFAULT NULL) LANGUAGE plpgsql AS $procedure$
DECLARE
    tools pg_catalog.text;
    made pg_catalog.record;
    step pg_catalog.record;
    todo pg_catalog.record;
    undisturbed boolean;
    fresh boolean;
    after pg_catalog.text;
BEGIN
    -- Without sequential scans compiling would take longer than running.
    PERFORM pg_catalog.set_config('jit', 'off', true);
    SELECT pg_catalog.quote_ident(n.nspname) INTO tools
      FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
     WHERE e.extname OPERATOR(pg_catalog.=) 'pg_dedup';
    EXECUTE pg_catalog.format('SELECT %s._dedup_into_check()', tools);
    -- In a function this is where PostgreSQL refuses, before anything is done.
    COMMIT;
    BEGIN
        EXECUTE pg_catalog.format('SELECT * FROM %s._dedup_into_make($1, $2, $3)', tools)
           INTO made USING result, source, options;
    EXCEPTION WHEN unique_violation OR duplicate_table THEN
        -- Another session made it at the same time, and has committed.
        EXECUTE pg_catalog.format('SELECT * FROM %s._dedup_into_make($1, $2, $3)', tools)
           INTO made USING result, source, options;
    END;
    -- What this call makes is committed with the first batch: if that fails, nothing is left.
    fresh := made.fresh;
    IF NOT fresh THEN
        COMMIT;
        -- Locks are taken by statements of their own: what follows must see what
        -- others committed while this session waited.
        EXECUTE pg_catalog.format('SELECT %s._dedup_into_lock($1)', tools) INTO undisturbed USING made.name;
    END IF;
    EXECUTE pg_catalog.format('SELECT * FROM %s._dedup_into_start($1, $2, $3)', tools)
       INTO step USING made.name, source, options;
    IF NOT fresh AND NOT step.at_once THEN
        COMMIT;
        -- Others may write while the new rows are listed, unless that is to be done under the locks of this transaction.
        EXECUTE pg_catalog.format('SELECT %s._dedup_into_unlock($1)', tools) USING made.name;
        COMMIT;
    END IF;
    PERFORM pg_catalog.set_config('search_path', step.path, true), pg_catalog.set_config('jit', 'off', true);
    FOR todo IN EXECUTE step.listing LOOP
        IF NOT fresh THEN
            -- The list is complete from here on, and no longer reads the tables.
            COMMIT;
            EXECUTE pg_catalog.format('SELECT %s._dedup_into_lock($1)', tools) INTO undisturbed USING made.name;
            IF NOT undisturbed THEN
                EXECUTE pg_catalog.format('SELECT %s._dedup_into_repair($1, $2, $3)', tools)
                  USING made.name, source, options;
            END IF;
        END IF;
        EXECUTE pg_catalog.format('SELECT %s._dedup_into_take($1, $2, $3, $4)', tools)
          USING made.name, source, options, todo;
        COMMIT;
        fresh := false;
    END LOOP;
    COMMIT;
    EXECUTE pg_catalog.format('SELECT %s._dedup_into_lock($1)', tools) INTO undisturbed USING made.name;
    IF NOT undisturbed THEN
        EXECUTE pg_catalog.format('SELECT %s._dedup_into_repair($1, $2, $3)', tools) USING made.name, source, options;
    END IF;
    EXECUTE pg_catalog.format('SELECT %s._dedup_into_finish($1)', tools) INTO after USING made.name;
    IF after IS NOT NULL THEN
        EXECUTE after;
    END IF;
    COMMIT;
    EXECUTE pg_catalog.format('SELECT %s._dedup_into_unlock($1)', tools) USING made.name;
    COMMIT;
END
$procedure$;
COMMENT ON PROCEDURE dedup_into(text, text, jsonb) IS
    'dedup into a table, batch by batch: can be stopped and called again, and then takes in what is new';
-- Exact duplicates in a stream of rows.

CREATE FUNCTION exact_seen(content text) RETURNS boolean
    AS 'MODULE_PATHNAME', 'exact_seen_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE WINDOW COST 10;
COMMENT ON FUNCTION exact_seen(text) IS
    'window function: whether the text came before, by 128-bit hashes and equality';
-- A table's settings: given once, taken by everything that works on the table.
--
-- A version is a row that is never changed; the greatest number counts. Settings
-- are read when a statement runs, never while a dump is restored, so it does not
-- matter when their rows are loaded. Those of dropped tables are not dumped, for
-- a number that another table may have meanwhile is all that is left of their name,
-- nor those of temporary tables, whose names no restore knows.
--
-- dedup_setup writes them with the rights of this table's owner, once it knows
-- that its caller owns the table that they are of. The owner of a database loads
-- them out of a dump.

-- A regclass, but for what it makes of the name of a table that is not there: 0.
-- One table that could not be restored must not cost all the others their settings.
CREATE TYPE _dedup_table;
CREATE FUNCTION _dedup_table_in(cstring) RETURNS _dedup_table
    AS 'MODULE_PATHNAME', '_dedup_table_in_wrapper' LANGUAGE c STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _dedup_table_in(cstring) IS 'I/O';
CREATE FUNCTION _dedup_table_out(_dedup_table) RETURNS cstring AS 'regclassout' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _dedup_table_out(_dedup_table) IS 'I/O';
CREATE FUNCTION _dedup_table_recv(internal) RETURNS _dedup_table AS 'regclassrecv' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _dedup_table_recv(internal) IS 'I/O';
CREATE FUNCTION _dedup_table_send(_dedup_table) RETURNS bytea AS 'regclasssend' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _dedup_table_send(_dedup_table) IS 'I/O';
CREATE TYPE _dedup_table (
    INPUT = _dedup_table_in, OUTPUT = _dedup_table_out, RECEIVE = _dedup_table_recv, SEND = _dedup_table_send, LIKE = pg_catalog.regclass);
COMMENT ON TYPE _dedup_table IS 'the table that settings are of: as regclass, but 0 for a name that no table has';
CREATE CAST (_dedup_table AS oid) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (_dedup_table AS regclass) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE CAST (oid AS _dedup_table) WITHOUT FUNCTION AS ASSIGNMENT;

CREATE TABLE dedup_settings (
    tbl _dedup_table NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    options jsonb NOT NULL,
    columns text[] NOT NULL,
    weights jsonb NOT NULL,
    fp text NOT NULL,
    id text,
    method text NOT NULL DEFAULT 'fingerprint' CHECK (method IN ('fingerprint', 'text')),
    distance integer NOT NULL CHECK (distance BETWEEN 0 AND 64),
    distances jsonb,
    similarity double precision NOT NULL CHECK (similarity BETWEEN 0 AND 1),
    n integer NOT NULL CHECK (n BETWEEN 1 AND 8),
    particulars jsonb,
    keep jsonb,
    empty boolean NOT NULL DEFAULT false,
    built timestamptz NOT NULL DEFAULT now(),
    rowtype oid,
    places smallint[],
    PRIMARY KEY (tbl, version),
    CHECK (jsonb_typeof(options) = 'object' AND jsonb_typeof(weights) = 'array')
);
COMMENT ON TABLE dedup_settings IS
    'settings of tables, one version per row, never changed: what dedup_setup was asked for (options), what the fingerprint is made of, and what it is compared by; distances: the distance that was chosen, each with the most rows that it is for, as the table grows';
SELECT pg_catalog.pg_extension_config_dump('dedup_settings',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid = tbl AND c.relkind IN (''r'', ''p'') AND c.relpersistence <> ''t'')');
-- (Row-level security would keep pg_dump from reading what its role does not own.)
GRANT SELECT ON dedup_settings TO PUBLIC;
GRANT INSERT ON dedup_settings TO pg_database_owner;

-- With the rights of whoever writes: dedup_setup or a restore.
CREATE FUNCTION _dedup_settings_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
    subject record;
    known record;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = 'a version of settings cannot be changed',
            HINT = 'dedup_setup makes the next version; its option {"drop": true} takes settings away.';
    ELSIF NEW.tbl::oid = 0 THEN
        RETURN NULL;
    END IF;
    SELECT c.relowner, c.reltype, c.relkind INTO subject FROM pg_class c WHERE c.oid = NEW.tbl::oid;
    IF subject.relkind IS NULL OR subject.relkind NOT IN ('r', 'p') THEN
        RAISE EXCEPTION USING ERRCODE = 'wrong_object_type',
            MESSAGE = format('%s is not a table', NEW.tbl),
            HINT = 'dedup_setup gives a table settings.';
    ELSIF NOT (pg_has_role(subject.relowner, 'USAGE') OR pg_has_role((SELECT c.relowner FROM pg_class c WHERE c.oid = TG_RELID), 'USAGE')) THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('must be owner of table %s', NEW.tbl),
            HINT = format('Its settings are given and taken away by its owner, which is %s.', pg_get_userbyid(subject.relowner));
    END IF;
    EXECUTE format('SELECT s.* FROM %I.%I s WHERE s.tbl = $1 AND s.version = $2', TG_TABLE_SCHEMA, TG_TABLE_NAME)
        INTO known USING NEW.tbl::oid, NEW.version;
    IF known.tbl IS NOT NULL THEN
        NEW.rowtype := known.rowtype;
        NEW.places := known.places;
        -- Restored again as it is: nothing to do.
        RETURN CASE WHEN known *= NEW THEN NULL ELSE NEW END;
    END IF;
    -- The table is told from a later one of the same number by the number of its row type, and columns that are named
    -- are told from others by theirs. In another database they are other numbers.
    NEW.rowtype := subject.reltype;
    NEW.places := ARRAY(SELECT a.attnum FROM unnest(ARRAY[NEW.fp, NEW.id, NEW.keep ->> 'column'] || NEW.columns) WITH ORDINALITY AS u(name, n)
        LEFT JOIN pg_attribute a ON a.attrelid = NEW.tbl::oid AND a.attname = u.name AND a.attnum > 0 AND NOT a.attisdropped ORDER BY u.n);
    RETURN NEW;
END $body$;
COMMENT ON FUNCTION _dedup_settings_guard() IS 'keeps versions of settings as they are, and to tables of who writes them';
CREATE FUNCTION _dedup_settings_changed() RETURNS trigger
    AS 'MODULE_PATHNAME', '_dedup_settings_changed_wrapper' LANGUAGE c;
COMMENT ON FUNCTION _dedup_settings_changed() IS 'tells all sessions that the settings of a table have changed';
REVOKE EXECUTE ON FUNCTION _dedup_settings_changed() FROM PUBLIC;

-- ALWAYS: what a subscriber receives is protected and told as well.
CREATE TRIGGER _dedup_guard BEFORE INSERT OR UPDATE ON dedup_settings
    FOR EACH ROW EXECUTE FUNCTION _dedup_settings_guard();
CREATE TRIGGER _dedup_truncate BEFORE TRUNCATE ON dedup_settings
    FOR EACH STATEMENT EXECUTE FUNCTION _dedup_settings_guard();
CREATE TRIGGER _dedup_changed AFTER INSERT OR DELETE ON dedup_settings
    FOR EACH ROW EXECUTE FUNCTION _dedup_settings_changed();
ALTER TABLE dedup_settings ENABLE ALWAYS TRIGGER _dedup_guard, ENABLE ALWAYS TRIGGER _dedup_truncate,
    ENABLE ALWAYS TRIGGER _dedup_changed;

CREATE FUNCTION dedup_setup(tbl regclass, options jsonb DEFAULT NULL, dry_run boolean DEFAULT false) RETURNS SETOF text
    AS 'MODULE_PATHNAME', 'dedup_setup_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 4;
COMMENT ON FUNCTION dedup_setup(regclass, jsonb, boolean) IS
    'gives a table its settings, a column of fingerprints and an index, choosing what options do not name by the rows; returns the statements that it ran, or would run';

CREATE FUNCTION simhash_explain(a record, b record,
        OUT "column" text, OUT feature text, OUT found_in text,
        OUT weight_a double precision, OUT weight_b double precision, OUT bits double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_rows_wrapper' LANGUAGE c STABLE STRICT PARALLEL UNSAFE COST 5000 ROWS 300;
COMMENT ON FUNCTION simhash_explain(record, record) IS
    'why the fingerprints of two rows of a table with settings differ, feature by feature';

-- The table is a text: with regclass and record PostgreSQL could not choose where both arguments are literals.
-- It resolves a polymorphic result only where the argument is written: so no defaults there.
CREATE FUNCTION dedup_find(tbl text, content text, distance integer DEFAULT NULL)
    RETURNS TABLE (id bigint, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[])
    AS 'MODULE_PATHNAME', 'dedup_find_text_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(text, text, integer) IS
    'the rows of a table with settings that a text repeats, nearest first, and why: the heaviest words that both have, only the text, only the row';
CREATE FUNCTION dedup_find(tbl text, content text, distance integer, id_type anyelement)
    RETURNS TABLE (id anyelement, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[])
    AS 'MODULE_PATHNAME', 'dedup_find_text_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(text, text, integer, anyelement) IS
    'dedup_find of ids of another type than bigint: id_type => NULL::uuid';
CREATE FUNCTION dedup_find("row" record, distance integer DEFAULT NULL)
    RETURNS TABLE (id bigint, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[])
    AS 'MODULE_PATHNAME', 'dedup_find_row_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(record, integer) IS
    'the rows of a table with settings that a row of it, new or stored, repeats; itself left out by its key';
CREATE FUNCTION dedup_find("row" record, distance integer, id_type anyelement)
    RETURNS TABLE (id anyelement, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[])
    AS 'MODULE_PATHNAME', 'dedup_find_row_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(record, integer, anyelement) IS
    'dedup_find of ids of another type than bigint: id_type => NULL::uuid';
CREATE FUNCTION dedup_clean(tbl regclass, dry_run boolean DEFAULT true)
    RETURNS TABLE (id bigint, keeper bigint, stage text, distance integer, similarity double precision)
    AS 'MODULE_PATHNAME', 'dedup_clean_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION dedup_clean(regclass, boolean) IS
    'the rows of a table that are copies or near-duplicates of kept ones; with dry_run => false they are deleted';
CREATE FUNCTION dedup_clean(tbl regclass, dry_run boolean, id_type anyelement)
    RETURNS TABLE (id anyelement, keeper anyelement, stage text, distance integer, similarity double precision)
    AS 'MODULE_PATHNAME', 'dedup_clean_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION dedup_clean(regclass, boolean, anyelement) IS
    'dedup_clean of ids of another type than bigint: id_type => NULL::uuid';
-- The report: what dedup finds, for people who do not read SQL.

CREATE FUNCTION dedup_report(source text, options jsonb DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'dedup_report_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION dedup_report(text, jsonb) IS
    'what dedup finds in a table or a query, as one HTML page: counts, distances, what the limits leave out, and the groups to look through; options are those of dedup, title, language (en, zh) and labels (a column)';
