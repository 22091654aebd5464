-- dedup_into: the procedure, and the functions of src/dedup/into/ of which
-- each does one transaction's work.

CREATE FUNCTION _dedup_into_check() RETURNS void
    AS 'MODULE_PATHNAME', '_dedup_into_check_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION _dedup_into_check() IS 'step of dedup_into: refuses where nothing can be committed';
CREATE FUNCTION _dedup_into_start(result text, query text, options jsonb, OUT "lock" text, OUT listing text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', '_dedup_into_start_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1;
COMMENT ON FUNCTION _dedup_into_start(text, text, jsonb) IS
    'step of dedup_into: makes or checks the tables; gives the statement that locks and the query that lists new rows';
CREATE FUNCTION _dedup_into_repair(result text, query text, options jsonb) RETURNS void
    AS 'MODULE_PATHNAME', '_dedup_into_repair_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION _dedup_into_repair(text, text, jsonb) IS
    'step of dedup_into: puts right what rows that were taken out leave';
CREATE FUNCTION _dedup_into_take(result text, query text, options jsonb, todo record) RETURNS bigint
    AS 'MODULE_PATHNAME', '_dedup_into_take_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION _dedup_into_take(text, text, jsonb, record) IS 'step of dedup_into: takes in a batch';
CREATE FUNCTION _dedup_into_finish(result text, query text, options jsonb) RETURNS text
    AS 'MODULE_PATHNAME', '_dedup_into_finish_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION _dedup_into_finish(text, text, jsonb) IS
    'step of dedup_into: makes the search index and says what was done';

-- The search path is the caller's, as the query needs it, and a procedure that
-- sets one cannot commit: so everything here is named with its schema.
CREATE PROCEDURE dedup_into(result text, query text, options jsonb DEFAULT '{}') LANGUAGE plpgsql AS $procedure$
DECLARE
    tools text;
    step record;
    todo record;
    after text;
BEGIN
    SELECT pg_catalog.quote_ident(n.nspname) INTO tools
      FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
     WHERE e.extname OPERATOR(pg_catalog.=) 'pg_dedup';
    EXECUTE pg_catalog.format('SELECT %s._dedup_into_check()', tools);
    -- In a function this is where PostgreSQL refuses, before anything is done.
    COMMIT;
    -- Of two sessions that begin one result one makes it.
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(result, 6));
    EXECUTE pg_catalog.format('SELECT * FROM %s._dedup_into_start($1, $2, $3)', tools)
       INTO step USING result, query, options;
    COMMIT;
    -- The lock is a statement of its own: what follows must see what others
    -- committed while this one waited for it.
    EXECUTE step."lock";
    EXECUTE pg_catalog.format('SELECT %s._dedup_into_repair($1, $2, $3)', tools) USING result, query, options;
    COMMIT;
    FOR todo IN EXECUTE step.listing LOOP
        -- The list is complete from here on, and no longer reads the tables.
        COMMIT;
        EXECUTE step."lock";
        EXECUTE pg_catalog.format('SELECT %s._dedup_into_take($1, $2, $3, $4)', tools)
          USING result, query, options, todo;
        COMMIT;
    END LOOP;
    EXECUTE step."lock";
    EXECUTE pg_catalog.format('SELECT %s._dedup_into_finish($1, $2, $3)', tools) INTO after
      USING result, query, options;
    IF after IS NOT NULL THEN
        EXECUTE after;
    END IF;
    COMMIT;
END
$procedure$;
COMMENT ON PROCEDURE dedup_into(text, text, jsonb) IS
    'dedup into a table, batch by batch: can be stopped and called again, and then takes in what is new';
