-- Fingerprints: of texts, rows, arrays, documents and text-search vectors, and why two of them differ.

DO $check$
DECLARE
    server pg_catalog.int4 := pg_catalog.current_setting('server_version_num');
    major pg_catalog.int4 := server OPERATOR(pg_catalog./) 10000;
    -- Of 15 to 18. From these on, only a superuser gives an operator an estimator that is not PostgreSQL's own.
    oldest pg_catalog.int4 := ('{16,12,8,2}'::pg_catalog.int4[])[major OPERATOR(pg_catalog.-) 14];
BEGIN
    IF pg_catalog.current_setting('server_encoding') OPERATOR(pg_catalog.<>) 'UTF8' THEN
        RAISE EXCEPTION 'pg_dedup needs a database with encoding UTF8, not %',
                pg_catalog.current_setting('server_encoding')
            USING ERRCODE = 'feature_not_supported',
                  HINT = 'CREATE DATABASE ... ENCODING ''UTF8'' TEMPLATE template0;';
    END IF;
    IF server OPERATOR(pg_catalog.%) 10000 OPERATOR(pg_catalog.<) oldest THEN
        RAISE WARNING 'PostgreSQL % is older than %.%: not for databases in which others may create objects',
                pg_catalog.current_setting('server_version'), major, oldest
            USING HINT = pg_catalog.format('There, any role can give an operator of its own the estimator of an extension. Update to %s.%s or later.', major, oldest);
    END IF;
END
$check$;

CREATE FUNCTION simhash(content text, recipe jsonb DEFAULT NULL) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_text_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION simhash(text, jsonb) IS
    'SimHash fingerprint of a text; recipe is a recipe such as {"tokens": "words", "weight": "tf"}';

CREATE FUNCTION simhash(fields text[], recipe jsonb) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_fields_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION simhash(text[], jsonb) IS
    'SimHash fingerprint of the fields of a row; recipe such as [2, null]: a number (the value counts as a whole), null (running text), or a recipe';

CREATE FUNCTION simhash("row" record, recipe jsonb) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_record_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION simhash(record, jsonb) IS
    'SimHash fingerprint of a row by column name; recipe such as {"title": 2, "body": "tf"}';

CREATE FUNCTION simhash(document jsonb, recipe jsonb) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_document_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION simhash(jsonb, jsonb) IS
    'SimHash fingerprint of a nested document by path; recipe such as {"title": 2, "from.city": 2, "body": "tf"}';

CREATE FUNCTION simhash(content tsvector, weights jsonb DEFAULT NULL) RETURNS bigint
    AS 'MODULE_PATHNAME', 'simhash_tsvector_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100;
COMMENT ON FUNCTION simhash(tsvector, jsonb) IS
    'SimHash fingerprint of a text-search vector; weights of the labels D, C, B and A as in ts_rank: [0.1, 0.2, 0.4, 1.0]';

CREATE FUNCTION simhash_features(content text, recipe jsonb DEFAULT NULL,
        OUT feature text, OUT weight double precision, OUT hash bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_features_text_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000 ROWS 200;
COMMENT ON FUNCTION simhash_features(text, jsonb) IS
    'the weighted features that the fingerprint of a text is made of, heaviest first';

CREATE FUNCTION simhash_features(fields text[], recipe jsonb,
        OUT feature text, OUT weight double precision, OUT hash bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_features_fields_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 200;
COMMENT ON FUNCTION simhash_features(text[], jsonb) IS
    'the weighted features that the fingerprint of an array of fields is made of, heaviest first';

CREATE FUNCTION simhash_features("row" record, recipe jsonb,
        OUT feature text, OUT weight double precision, OUT hash bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_features_record_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 200;
COMMENT ON FUNCTION simhash_features(record, jsonb) IS
    'the weighted features that the fingerprint of a row is made of, heaviest first';

CREATE FUNCTION simhash_features(document jsonb, recipe jsonb,
        OUT feature text, OUT weight double precision, OUT hash bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_features_document_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000 ROWS 200;
COMMENT ON FUNCTION simhash_features(jsonb, jsonb) IS
    'the weighted features that the fingerprint of a nested document is made of, heaviest first';

CREATE FUNCTION simhash_explain(a text, b text, recipe jsonb DEFAULT NULL,
        OUT "column" text, OUT feature text, OUT found_in text,
        OUT weight_a double precision, OUT weight_b double precision, OUT bits double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_text_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000 ROWS 300;
COMMENT ON FUNCTION simhash_explain(text, text, jsonb) IS
    'why two fingerprints differ: the features of two texts, where they are, what they weigh, and how many of the differing bits are their doing';
CREATE FUNCTION simhash_explain(a record, b record, recipe jsonb,
        OUT "column" text, OUT feature text, OUT found_in text,
        OUT weight_a double precision, OUT weight_b double precision, OUT bits double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_record_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000 ROWS 300;
COMMENT ON FUNCTION simhash_explain(record, record, jsonb) IS
    'why the fingerprints of two rows differ, feature by feature';
CREATE FUNCTION simhash_explain(a text[], b text[], recipe jsonb,
        OUT "column" text, OUT feature text, OUT found_in text,
        OUT weight_a double precision, OUT weight_b double precision, OUT bits double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_fields_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000 ROWS 300;
COMMENT ON FUNCTION simhash_explain(text[], text[], jsonb) IS
    'why the fingerprints of two arrays of fields differ, feature by feature; a column is the number of a field';

CREATE FUNCTION simhash_explain(a jsonb, b jsonb, recipe jsonb,
        OUT "column" text, OUT feature text, OUT found_in text,
        OUT weight_a double precision, OUT weight_b double precision, OUT bits double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_document_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000 ROWS 300;
COMMENT ON FUNCTION simhash_explain(jsonb, jsonb, jsonb) IS
    'why the fingerprints of two nested documents differ, feature by feature; a column is a path of the recipe';

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
    'trigger: fills a bigint column with the fingerprint of the row; arguments: the column, the recipe[, columns]';
