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

-- What every role computes with, by rights of the tables' owner: the library calls these, whom they are not granted, by their
-- identity. The owner of the extension's schema could give the name of a table to another one while a query waits for it.
CREATE FUNCTION _dedup_corpus_stored(of_name text, of_version integer) RETURNS _dedup_corpus
    LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
BEGIN ATOMIC
    SELECT f.* FROM (VALUES (0)) AS one LEFT JOIN (
        SELECT t.* FROM _dedup_corpus t WHERE t.name = of_name AND t.version = of_version AND NOT t.dropped
        UNION ALL SELECT c.name, of_version, c.recipe, c.documents, NULL::bigint, c.common, c.single, NULL::text,
            NULL::timestamptz, false FROM _dedup_corpus_carried(of_name, of_version) c) f ON true
    LIMIT 1;
END;
COMMENT ON FUNCTION _dedup_corpus_stored(text, integer) IS 'a corpus; NULLs if there is none';
CREATE FUNCTION _dedup_dictionary_stored(of_name text, of_version integer) RETURNS _dedup_dictionary
    LANGUAGE sql STABLE PARALLEL SAFE SECURITY DEFINER
BEGIN ATOMIC
    SELECT f.* FROM (VALUES (0)) AS one LEFT JOIN (
        SELECT t.* FROM _dedup_dictionary t WHERE t.name = of_name AND t.version = of_version AND NOT t.dropped
        UNION ALL SELECT c.name, of_version, c.words, NULL::bigint, c.stop_words, NULL::bigint, NULL::timestamptz, false
            FROM _dedup_dictionary_carried(of_name, of_version) c) f ON true
    LIMIT 1;
END;
COMMENT ON FUNCTION _dedup_dictionary_stored(text, integer) IS 'a dictionary; NULLs if there is none';
REVOKE EXECUTE ON FUNCTION _dedup_corpus_stored(text, integer), _dedup_dictionary_stored(text, integer) FROM PUBLIC;

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
        HINT = format('Build the next version with dedup_%s_build; drop this one with dedup_version_drop.', kind);
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
    tools name;
BEGIN
    -- The owner of the schema must not give its name to another before this is done. Somebody may have been granted this
    -- function with all others: it is of no use for a table of his own.
    SELECT n.nspname INTO STRICT tools FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = concat('_dedup_', kind)
        WHERE e.extname = 'pg_dedup' AND c.oid = TG_RELID FOR KEY SHARE OF n;
    -- Arguments are of the very types that the functions have, or one that somebody put beside them could fit better.
    EXECUTE format('SELECT c.*, %I._dedup_carrier_name($1, $2, $3) AS name FROM (VALUES (0)) AS one LEFT JOIN %1$I._dedup_carrier($1, $2, $3) c ON true',
        tools) INTO found USING kind, NEW.name, NEW.version;
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
    EXECUTE format('SELECT %I._dedup_version_belongs(''pg_foreign_server''::regclass::oid, c.server),
            %1$I._dedup_version_belongs(''pg_user_mapping''::regclass::oid, c.mapping)
        FROM %1$I._dedup_carrier($1, $2, $3) c', tools) USING kind, NEW.name, NEW.version;
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

CREATE FUNCTION dedup_corpus_build(name text, query text, recipe jsonb DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'dedup_corpus_build_wrapper' LANGUAGE c VOLATILE COST 100000;
COMMENT ON FUNCTION dedup_corpus_build(text, text, jsonb) IS
    'freezes the document frequencies of the texts of a query as the next version of a corpus; the recipe says what the tokens are; the name of a version, such as petitions@1, adds to that one''s without reading its texts again';

CREATE FUNCTION dedup_dictionary_build(name text, words text[], stop_words text[] DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'dedup_dictionary_build_wrapper' LANGUAGE c VOLATILE COST 100000;
COMMENT ON FUNCTION dedup_dictionary_build(text, text[], text[]) IS
    'freezes own words (each "word [frequency] [tag]", as on a line of a file of jieba) and stop words as the next version of a dictionary';
CREATE FUNCTION dedup_version_drop(kind text, name text) RETURNS void
    AS 'MODULE_PATHNAME', 'dedup_version_drop_wrapper' LANGUAGE c VOLATILE STRICT COST 10000;
COMMENT ON FUNCTION dedup_version_drop(text, text) IS
    'drops a version; kind is corpus or dictionary; refused while a recipe in the catalogue names it';
