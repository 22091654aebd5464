-- Corpora and dictionaries. The functions are those of src/corpus.rs.
--
-- The tables' names begin with an underscore so that pg_dump, which writes the
-- tables of a schema in the order of their names, restores them before the
-- tables whose generated columns need them.

CREATE TABLE _dedup_dictionary (
    name text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    words text,
    word_count bigint NOT NULL,
    stop_words text,
    stop_count bigint NOT NULL,
    source text,
    built timestamptz NOT NULL DEFAULT now(),
    dropped boolean NOT NULL DEFAULT false,
    PRIMARY KEY (name, version)
);
COMMENT ON TABLE _dedup_dictionary IS
    'versions of dictionaries, one a row, never changed; words in jieba''s form, stop words by lines; see dedup_dictionaries';

CREATE TABLE _dedup_corpus (
    name text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    recipe jsonb NOT NULL,
    documents bigint NOT NULL,
    tokens bigint NOT NULL,
    common bytea,
    single bytea,
    source text,
    built timestamptz NOT NULL DEFAULT now(),
    dropped boolean NOT NULL DEFAULT false,
    PRIMARY KEY (name, version)
);
ALTER TABLE _dedup_corpus ALTER common SET STORAGE EXTERNAL, ALTER single SET STORAGE EXTERNAL;
COMMENT ON TABLE _dedup_corpus IS
    'versions of corpora, one a row, never changed; document frequencies packed into bytes; see dedup_corpora';

SELECT pg_catalog.pg_extension_config_dump('_dedup_dictionary', '');
SELECT pg_catalog.pg_extension_config_dump('_dedup_corpus', '');
GRANT SELECT ON _dedup_dictionary, _dedup_corpus TO PUBLIC;

CREATE VIEW dedup_dictionaries AS
    SELECT concat(name, '@', version) AS dictionary, word_count AS words, stop_count AS stop_words, built, source
    FROM _dedup_dictionary WHERE NOT dropped ORDER BY name, version;
COMMENT ON VIEW dedup_dictionaries IS 'dictionaries that recipes can name';
CREATE VIEW dedup_corpora AS
    SELECT concat(name, '@', version) AS corpus, documents, tokens, length(common) + length(single) AS bytes,
        recipe, built, source
    FROM _dedup_corpus WHERE NOT dropped ORDER BY name, version;
COMMENT ON VIEW dedup_corpora IS 'corpora that recipes can name';
GRANT SELECT ON dedup_dictionaries, dedup_corpora TO PUBLIC;

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
CREATE FUNCTION dedup_dictionary_build(name text, source text, stop_words text[] DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'dedup_dictionary_source_wrapper' LANGUAGE c VOLATILE COST 100000;
COMMENT ON FUNCTION dedup_dictionary_build(text, text, text[]) IS
    'as with an array of words; source is a query of words or the content of a file in jieba''s form';
CREATE FUNCTION dedup_dictionary_drop(dictionary text) RETURNS void
    AS 'MODULE_PATHNAME', 'dedup_dictionary_drop_wrapper' LANGUAGE c VOLATILE STRICT COST 10000;
COMMENT ON FUNCTION dedup_dictionary_drop(text) IS
    'drops a version of a dictionary; refused while a recipe in the catalogue names it';
