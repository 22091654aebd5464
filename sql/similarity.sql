-- Similarity of texts, exact: what verifies the candidates that fingerprints
-- give. Each function is one of src/similarity.rs.

CREATE FUNCTION jaccard(a text, b text, n integer DEFAULT 2) RETURNS double precision
    AS 'MODULE_PATHNAME', 'jaccard_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION jaccard(text, text, integer) IS
    'Jaccard similarity, 0 to 1, of the sets of character n-grams of two texts in normal form; 0 if a text is empty';

CREATE FUNCTION containment(a text, b text, n integer DEFAULT 2) RETURNS double precision
    AS 'MODULE_PATHNAME', 'containment_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION containment(text, text, integer) IS
    'share, 0 to 1, of the character n-grams of a that b contains; 0 if a is empty';

CREATE FUNCTION cosine(a text, b text, weights jsonb DEFAULT NULL) RETURNS double precision
    AS 'MODULE_PATHNAME', 'cosine_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION cosine(text, text, jsonb) IS
    'cosine similarity, 0 to 1, of the weighted features of two texts; weights is a recipe as of simhash; 0 if a text is empty';
