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

CREATE FUNCTION same_details(a text, b text, kinds text[] DEFAULT '{name,date,number}') RETURNS boolean
    AS 'MODULE_PATHNAME', 'same_details_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20000;
COMMENT ON FUNCTION same_details(text, text, text[]) IS
    'whether nearly equal texts say the same names, dates and numbers; kinds limits it, such as {name}';
CREATE FUNCTION dedup_explain(a text, b text, OUT part text, OUT in_a text, OUT in_b text, OUT detail text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dedup_explain_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20000 ROWS 10;
COMMENT ON FUNCTION dedup_explain(text, text) IS
    'what two texts share and where they differ, in order; detail: name, date or number if they differ in one';

-- Similar texts by a GIN index: every text that ngram_jaccard finds similar shares enough n-grams. A query is the number
-- that is enough, then the n-grams.

CREATE FUNCTION ngrams(content text, n integer DEFAULT 2) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'ngrams_text_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION ngrams(text, integer) IS 'the set of character n-grams of a text in normal form, as numbers; for an index with ngram_ops';
CREATE FUNCTION ngrams(contents text[], n integer DEFAULT 2) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'ngrams_texts_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION ngrams(text[], integer) IS 'ngrams of texts as one, NULLs left out; NULL if all are';
CREATE FUNCTION _iso(day date) RETURNS text
    AS 'MODULE_PATHNAME', '_iso_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _iso(date) IS 'a day as ISO 8601 has it, whatever DateStyle is';
CREATE FUNCTION record_keys(columns text[], kinds text) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'record_keys_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION record_keys(text[], text) IS
    'the words of a record and pairs of its values, as numbers, by which dedup_setup has records found; kinds: a letter for each column';
CREATE FUNCTION ngram_query(content text, n integer, similarity double precision) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'ngram_query_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION ngram_query(text, integer, double precision) IS
    'what texts of at least that ngram_jaccard have in common with a text: ngrams(content, n) @% ngram_query(new, n, 0.5)';
CREATE FUNCTION _ngrams_enough(ngrams bigint[], query bigint[]) RETURNS boolean
    AS 'MODULE_PATHNAME', 'ngrams_enough_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION _ngrams_enough(bigint[], bigint[]) IS 'implementation of @% operator';
CREATE OPERATOR @% (LEFTARG = bigint[], RIGHTARG = bigint[], FUNCTION = _ngrams_enough,
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
