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
    RETURNS TABLE (a bigint, b bigint, "column" text, part text, in_a text, in_b text, bits double precision)
    AS 'MODULE_PATHNAME', 'dedup_explain_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100;
COMMENT ON FUNCTION dedup_explain(text, text, jsonb) IS
    'why dedup by records takes rows of a source for one or not, for each pair of ids that a query gives: what each column adds to the odds of any pair, in bits, the total and what is needed';
CREATE FUNCTION dedup_explain(source text, pairs text, options jsonb, id_type anyelement)
    RETURNS TABLE (a anyelement, b anyelement, "column" text, part text, in_a text, in_b text, bits double precision)
    AS 'MODULE_PATHNAME', 'dedup_explain_pairs_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000 ROWS 100;
COMMENT ON FUNCTION dedup_explain(text, text, jsonb, anyelement) IS
    'dedup_explain of pairs whose ids are of another type than bigint: id_type => NULL::uuid';

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
