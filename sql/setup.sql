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
    recipes jsonb NOT NULL,
    fp text NOT NULL,
    id text,
    method text NOT NULL DEFAULT 'fingerprint' CHECK (method IN ('fingerprint', 'text', 'records', 'hash')),
    distance integer NOT NULL DEFAULT 64 CHECK (distance BETWEEN 0 AND 256),
    distances jsonb,
    similarity double precision NOT NULL DEFAULT 0 CHECK (similarity BETWEEN 0 AND 1),
    n integer NOT NULL DEFAULT 2 CHECK (n BETWEEN 1 AND 64),
    details jsonb,
    keep jsonb,
    statistics text,
    empty boolean NOT NULL DEFAULT false,
    rows bigint,
    built timestamptz NOT NULL DEFAULT now(),
    rowtype oid,
    places smallint[],
    PRIMARY KEY (tbl, version),
    CHECK (jsonb_typeof(options) = 'object' AND jsonb_typeof(recipes) = 'array')
);
COMMENT ON TABLE dedup_settings IS
    'settings of tables, one version per row, never changed: what dedup_setup was asked for (options), what the fingerprint is made of, and what it is compared by; distances: the distance that was chosen, each with the most rows that it is for, as the table grows; statistics: what the rows have in common, words as numbers; rows: how many there were';
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

-- By identity, as versions of corpora are read: a guard reads settings in statements that do not name the extension's schema,
-- whose owner must not put another table in the place of this one.
CREATE FUNCTION _dedup_settings_stored(of_table oid) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT coalesce((SELECT pg_catalog.to_json(s)::text FROM (
        SELECT s.*, s.tbl::oid AS "of", c.reltype = s.rowtype AS same,
            ARRAY(SELECT (SELECT a.attname::text FROM pg_catalog.pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attnum = p.number AND NOT a.attisdropped)
                FROM pg_catalog.unnest(s.places) WITH ORDINALITY AS p(number, n) ORDER BY p.n) AS now
        FROM dedup_settings AS s JOIN pg_catalog.pg_class c ON c.oid = s.tbl::oid
        WHERE c.oid = of_table OR s.tbl::oid = pg_catalog.pg_partition_root(of_table::regclass)::oid
        ORDER BY c.oid = of_table DESC, s.version DESC LIMIT 1) AS s), '');
END;
COMMENT ON FUNCTION _dedup_settings_stored(oid) IS 'the latest version of the settings of a table, or of that which it is a partition of, as JSON';

CREATE FUNCTION dedup_setup(tbl regclass, options jsonb DEFAULT NULL, dry_run boolean DEFAULT false) RETURNS SETOF text
    AS 'MODULE_PATHNAME', 'dedup_setup_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 4;
COMMENT ON FUNCTION dedup_setup(regclass, jsonb, boolean) IS
    'gives a table its settings, a column of fingerprints and an index, choosing what options do not name by the rows; returns the statements that it ran, or would run';

-- Planned for few rows, it would read all of them again and again.
CREATE FUNCTION dedup_decide() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $body$
DECLARE
    others text := format('SELECT d.* FROM %I.%I AS d WHERE (d.a, d.b) IS DISTINCT FROM ($1, $2) AND (d.a, d.b) IS DISTINCT FROM ($3, $4)',
        TG_TABLE_SCHEMA, TG_TABLE_NAME);
    against record;
    ids text[];
    came_from jsonb;
    chain text;
    was record;
    linked boolean;
BEGIN
    -- A decision that another transaction makes meanwhile is waited for, and then seen.
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'decisions need the transaction isolation level READ COMMITTED',
            HINT = 'They must see what others have decided: SET default_transaction_isolation = ''read committed''.';
    END IF;
    PERFORM pg_advisory_xact_lock(1684366435::bigint << 32 | TG_RELID::bigint);
    IF NEW.a = NEW.b THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation',
            MESSAGE = format('a decision is of two rows, not of %s alone', NEW.a),
            HINT = 'Give two ids.';
    END IF;
    IF NEW.a > NEW.b THEN
        SELECT NEW.b, NEW.a INTO NEW.a, NEW.b;
    END IF;
    was := NEW;
    IF TG_OP = 'UPDATE' THEN
        was := OLD;
        IF NEW.same <> OLD.same AND NEW.decided_at = OLD.decided_at THEN
            NEW.decided_at := now();
            NEW.decided_by := current_user;
            NEW.note := NULLIF(NULLIF(NEW.note, 'dedup_clean'), 'dedup_undo');
        END IF;
    END IF;
    -- Nothing follows of two rows of which one is in no other decision: nearly always.
    EXECUTE format('WITH d AS NOT MATERIALIZED (%1$s) SELECT EXISTS (SELECT FROM d WHERE d.a = $1 UNION ALL SELECT FROM d WHERE d.b = $1)
        AND EXISTS (SELECT FROM d WHERE d.a = $2 UNION ALL SELECT FROM d WHERE d.b = $2)', others) INTO linked USING NEW.a, NEW.b, was.a, was.b;
    IF NOT linked THEN
        RETURN NEW;
    END IF;
    -- A pair that is not the same although its rows are connected by such that are, this decision among them. It begins with the
    -- row of which less is decided: mostly that is nothing, while the other may have thousands of copies.
    EXECUTE format('WITH RECURSIVE d AS NOT MATERIALIZED (%1$s), n(a, b) AS (
            SELECT (SELECT count(*) FROM (SELECT FROM d WHERE d.a = $1 UNION ALL SELECT FROM d WHERE d.b = $1 LIMIT 100) AS x), (SELECT count(*) FROM (SELECT FROM d WHERE d.a = $2 UNION ALL SELECT FROM d WHERE d.b = $2 LIMIT 100) AS x)),
        s(few, many) AS (SELECT CASE WHEN n.a < n.b THEN $1 ELSE $2 END, CASE WHEN n.a < n.b THEN $2 ELSE $1 END FROM n),
        o(id) AS (SELECT s.few FROM s UNION
            SELECT CASE WHEN d.a = o.id THEN d.b ELSE d.a END FROM o JOIN d ON d.same AND (d.a = o.id OR d.b = o.id)),
        f(id, a, b) AS (SELECT CASE WHEN d.a = o.id THEN d.b ELSE d.a END, d.a, d.b FROM o JOIN d ON NOT d.same AND (d.a = o.id OR d.b = o.id) WHERE $5),
        p(id) AS (SELECT s.many FROM s WHERE EXISTS (SELECT FROM f) UNION
            SELECT CASE WHEN d.a = p.id THEN d.b ELSE d.a END FROM p JOIN d ON d.same AND (d.a = p.id OR d.b = p.id))
        SELECT format(''%%s'', c.a) AS a, format(''%%s'', c.b) AS b FROM (
            SELECT f.a, f.b FROM f JOIN p ON p.id = f.id
            UNION ALL
            SELECT $1, $2 FROM o JOIN s ON o.id = s.many WHERE NOT $5) AS c LIMIT 1', others)
        INTO against USING NEW.a, NEW.b, was.a, was.b, NEW.same;
    IF against.a IS NULL THEN
        RETURN NEW;
    END IF;
    ids := ARRAY[against.a];
    came_from := '{}';
    -- Ids that are equal though written otherwise lead nowhere.
    WHILE came_from IS NOT NULL AND against.b <> ALL (ids) LOOP
        EXECUTE format('WITH d AS (%1$s), e AS (
                SELECT format(''%%s'', d.a) AS a, format(''%%s'', d.b) AS b FROM d WHERE d.same UNION ALL SELECT format(''%%s'', $1), format(''%%s'', $2) WHERE $5)
            SELECT $6 || array_agg(n.id), $7 || jsonb_object_agg(n.id, n.came_from) FROM (
                SELECT DISTINCT ON (s.id) s.* FROM (SELECT e.b, e.a FROM e UNION ALL SELECT e.a, e.b FROM e) AS s(id, came_from)
                WHERE s.came_from = ANY ($6) AND s.id <> ALL ($6) ORDER BY s.id, s.came_from) AS n', others)
            INTO ids, came_from USING NEW.a, NEW.b, was.a, was.b, NEW.same, ids, came_from;
    END LOOP;
    chain := format('%s not same %s.', against.a, against.b);
    WHILE came_from IS NOT NULL AND against.b <> against.a LOOP
        chain := format('%s same %s, %s', came_from ->> against.b, against.b, chain);
        against.b := came_from ->> against.b;
    END LOOP;
    RAISE EXCEPTION USING ERRCODE = 'check_violation',
        MESSAGE = format('that %s and %s are %s contradicts other decisions', NEW.a, NEW.b, CASE WHEN NEW.same THEN 'the same' ELSE 'not the same' END),
        DETAIL = chain,
        HINT = 'Change or delete one of them first.';
END $body$;
COMMENT ON FUNCTION dedup_decide() IS
    'trigger of a table of decisions: puts the lesser id first, and refuses what contradicts other decisions';

CREATE FUNCTION simhash_explain(a record, b record,
        OUT "column" text, OUT feature text, OUT found_in text,
        OUT weight_a double precision, OUT weight_b double precision, OUT bits double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_rows_wrapper' LANGUAGE c STABLE STRICT PARALLEL UNSAFE COST 5000 ROWS 300;
COMMENT ON FUNCTION simhash_explain(record, record) IS
    'why the fingerprints of two rows of a table with settings differ, feature by feature';

-- The table is a text: with regclass and record PostgreSQL could not choose where both arguments are literals.
-- It resolves a polymorphic result only where the argument is written: so no defaults there.
CREATE FUNCTION dedup_find(tbl text, content text, distance integer DEFAULT NULL, options jsonb DEFAULT NULL)
    RETURNS TABLE (id bigint, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[], decided boolean, repeats boolean)
    AS 'MODULE_PATHNAME', 'dedup_find_text_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(text, text, integer, jsonb) IS
    'the rows of a table with settings that a text repeats, nearest first, and why: the heaviest words that both have, only the text, only the row';
CREATE FUNCTION dedup_find(tbl text, content text, distance integer, id_type anyelement, options jsonb DEFAULT NULL)
    RETURNS TABLE (id anyelement, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[], decided boolean, repeats boolean)
    AS 'MODULE_PATHNAME', 'dedup_find_text_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(text, text, integer, anyelement, jsonb) IS
    'dedup_find of ids of another type than bigint: id_type => NULL::uuid';
CREATE FUNCTION dedup_find(tbl text, hash bit, distance integer DEFAULT NULL, options jsonb DEFAULT NULL)
    RETURNS TABLE (id bigint, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[], decided boolean, repeats boolean)
    AS 'MODULE_PATHNAME', 'dedup_find_hash_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(text, bit, integer, jsonb) IS
    'the rows of a table of hashes that a hash repeats, nearest first';
CREATE FUNCTION dedup_find(tbl text, hash bit, distance integer, id_type anyelement, options jsonb DEFAULT NULL)
    RETURNS TABLE (id anyelement, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[], decided boolean, repeats boolean)
    AS 'MODULE_PATHNAME', 'dedup_find_hash_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(text, bit, integer, anyelement, jsonb) IS
    'dedup_find of ids of another type than bigint: id_type => NULL::uuid';
CREATE FUNCTION dedup_find(tbl text, hash bigint, distance integer DEFAULT NULL, options jsonb DEFAULT NULL)
    RETURNS TABLE (id bigint, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[], decided boolean, repeats boolean)
    AS 'MODULE_PATHNAME', 'dedup_find_hash_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(text, bigint, integer, jsonb) IS
    'the rows of a table of hashes that a hash repeats, nearest first';
CREATE FUNCTION dedup_find(tbl text, hash bigint, distance integer, id_type anyelement, options jsonb DEFAULT NULL)
    RETURNS TABLE (id anyelement, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[], decided boolean, repeats boolean)
    AS 'MODULE_PATHNAME', 'dedup_find_hash_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(text, bigint, integer, anyelement, jsonb) IS
    'dedup_find of ids of another type than bigint: id_type => NULL::uuid';
CREATE FUNCTION dedup_find("row" record, distance integer DEFAULT NULL, options jsonb DEFAULT NULL)
    RETURNS TABLE (id bigint, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[], decided boolean, repeats boolean)
    AS 'MODULE_PATHNAME', 'dedup_find_row_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(record, integer, jsonb) IS
    'the rows of a table with settings that a row of it, new or stored, repeats; itself left out by its key';
CREATE FUNCTION dedup_find("row" record, distance integer, id_type anyelement, options jsonb DEFAULT NULL)
    RETURNS TABLE (id anyelement, "distance" integer, similarity double precision, shared text[], only_new text[], only_row text[], decided boolean, repeats boolean)
    AS 'MODULE_PATHNAME', 'dedup_find_row_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 10000 ROWS 10;
COMMENT ON FUNCTION dedup_find(record, integer, anyelement, jsonb) IS
    'dedup_find of ids of another type than bigint: id_type => NULL::uuid';
CREATE FUNCTION dedup_clean(tbl regclass, dry_run boolean DEFAULT true, options jsonb DEFAULT NULL)
    RETURNS TABLE (id bigint, keeper bigint, stage text, distance integer, similarity double precision)
    AS 'MODULE_PATHNAME', 'dedup_clean_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION dedup_clean(regclass, boolean, jsonb) IS
    'the rows of a table that are copies or near-duplicates of kept ones; with dry_run => false they go to an archive';
CREATE FUNCTION dedup_clean(tbl regclass, dry_run boolean, options jsonb, id_type anyelement)
    RETURNS TABLE (id anyelement, keeper anyelement, stage text, distance integer, similarity double precision)
    AS 'MODULE_PATHNAME', 'dedup_clean_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION dedup_clean(regclass, boolean, jsonb, anyelement) IS
    'dedup_clean of ids of another type than bigint: id_type => NULL::uuid';

CREATE PROCEDURE dedup_clean_batches(tbl regclass, options jsonb DEFAULT NULL)
    AS 'MODULE_PATHNAME', 'dedup_clean_batches_wrapper' LANGUAGE c;
COMMENT ON PROCEDURE dedup_clean_batches(regclass, jsonb) IS
    'as dedup_clean with dry_run => false, some groups at a time, each batch committed; all of it is one run';

CREATE FUNCTION dedup_undo(tbl regclass, run bigint, ids text[] DEFAULT NULL, archive text DEFAULT NULL) RETURNS bigint
    AS 'MODULE_PATHNAME', 'dedup_undo_wrapper' LANGUAGE c VOLATILE PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION dedup_undo(regclass, bigint, text[], text) IS
    'puts rows back that dedup_clean has moved to the archive: all of a run, or those of some ids; returns how many';

-- What a row of the archive takes with it: rows that pointed at it and now point at the kept one, or are gone because that
-- would break a unique key of theirs. Only a block with an exception finds that out for every kind of key.
CREATE FUNCTION _dedup_repoint(look text, point text, remove text, deferred text) RETURNS TABLE (place tid, item jsonb) LANGUAGE plpgsql AS $body$
DECLARE
    child record;
    broken text;
BEGIN
    FOR child IN EXECUTE look LOOP
        BEGIN
            IF point IS NULL THEN
                RAISE unique_violation USING DETAIL = 'A foreign key with ON UPDATE SET NULL or SET DEFAULT points at what would change.';
            END IF;
            EXECUTE point USING child.part, child.row, child.place;
            IF deferred IS NOT NULL THEN
                EXECUTE pg_catalog.concat('SET CONSTRAINTS ', deferred, ' IMMEDIATE');
                EXECUTE pg_catalog.concat('SET CONSTRAINTS ', deferred, ' DEFERRED');
            END IF;
            item := child.item;
        EXCEPTION WHEN unique_violation OR exclusion_violation THEN
            GET STACKED DIAGNOSTICS broken = PG_EXCEPTION_DETAIL;
            IF remove IS NULL THEN
                RAISE EXCEPTION USING ERRCODE = 'foreign_key_violation',
                    MESSAGE = pg_catalog.format('a row of %s cannot point at the kept row, and would take others with it', child.part::pg_catalog.regclass),
                    DETAIL = broken,
                    HINT = 'Rows point at it by a foreign key with ON DELETE CASCADE, ON UPDATE SET NULL or the like: remove or change it first.';
            END IF;
            EXECUTE remove INTO item USING child.part, child.row;
        END;
        place := child.place;
        IF item IS NOT NULL THEN
            RETURN NEXT;
        END IF;
    END LOOP;
END $body$;
COMMENT ON FUNCTION _dedup_repoint(text, text, text, text) IS 'points rows at the kept ones, each for itself; says what they were';
