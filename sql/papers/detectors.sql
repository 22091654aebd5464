-- The papers' detectors.

-- MinHash (Broder 1997): an estimate of the similarity of sets, and keys for a GIN index; and P3's combined similarity.

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

CREATE FUNCTION minhash(elements text[], k integer DEFAULT 128, family text DEFAULT 'mixed') RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'minhash_elements_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION minhash(text[], integer, text) IS
    'MinHash signature of a set of texts (keywords, tags, shingles), k values; NULL if it is empty; family mixed or paper ((x + i) mod 100)';

CREATE FUNCTION minhash(rows bigint[], factors bigint[], terms bigint[], modulus bigint) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'minhash_matrix_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION minhash(bigint[], bigint[], bigint[], bigint) IS
    'MinHash signature of the rows of a characteristic matrix under the functions (factor * row + term) mod modulus';

CREATE FUNCTION minhash_band_recall(similarity double precision, bands integer, rows integer) RETURNS double precision
    AS 'MODULE_PATHNAME', 'minhash_band_recall_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION minhash_band_recall(double precision, integer, integer) IS
    'probability 1-(1-s^r)^b that sets of Jaccard similarity s share one of b bands of r rows';

CREATE FUNCTION combined_similarity(hamming integer, jaccard double precision, mu double precision DEFAULT 0.9) RETURNS double precision
    AS 'MODULE_PATHNAME', 'combined_similarity_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION combined_similarity(integer, double precision, double precision) IS
    'P3: mu / (hamming + 1) + (1 - mu) * jaccard, 0 to 1; similar from 0.25 on';

CREATE FUNCTION combined_similarity_radius(threshold double precision DEFAULT 0.25, mu double precision DEFAULT 0.9) RETURNS integer
    AS 'MODULE_PATHNAME', 'combined_similarity_radius_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION combined_similarity_radius(double precision, double precision) IS
    'the largest Hamming distance at which combined_similarity can reach a threshold, for near_dup; -1 if none';

CREATE FUNCTION simhash_cosine(a text, b text, recipe jsonb DEFAULT NULL) RETURNS double precision
    AS 'MODULE_PATHNAME', 'simhash_cosine_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION simhash_cosine(text, text, jsonb) IS
    'cosine similarity, 0 to 1, of the weighted features of two texts; recipe is a recipe as of simhash; 0 if a text is empty';

CREATE FUNCTION length_weight(term text) RETURNS double precision
    AS 'MODULE_PATHNAME', 'length_weight_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5;
COMMENT ON FUNCTION length_weight(text) IS
    'P3: weight, 0 to 1, of a term by its number of characters; the normal distribution of term lengths with its peak at 1';

-- Shingles (Broder 1997) and sets. The similarity of two arrays as sets; NULL
-- elements do not count, and an empty set is similar to nothing.

CREATE FUNCTION set_jaccard(a text[], b text[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'set_jaccard_texts_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION set_jaccard(text[], text[]) IS
    'Jaccard similarity, 0 to 1, of two sets: what both have over what either has';

CREATE FUNCTION set_containment(a text[], b text[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'set_containment_texts_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION set_containment(text[], text[]) IS
    'share, 0 to 1, of the set a that the set b has; 0 if a is empty';

CREATE FUNCTION set_jaccard(a bigint[], b bigint[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'set_jaccard_hashes_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION set_jaccard(bigint[], bigint[]) IS
    'Jaccard similarity, 0 to 1, of two sets: what both have over what either has';

CREATE FUNCTION set_containment(a bigint[], b bigint[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'set_containment_hashes_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION set_containment(bigint[], bigint[]) IS
    'share, 0 to 1, of the set a that the set b has; 0 if a is empty';

CREATE FUNCTION shingles(content text, w integer DEFAULT 3) RETURNS text[]
    AS 'MODULE_PATHNAME', 'shingles_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingles(text, integer) IS
    'the different runs of w words of a text in normal form, in order';

CREATE FUNCTION shingle_hashes(content text, w integer DEFAULT 3, modulus integer DEFAULT 1) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'shingle_hashes_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION shingle_hashes(text, integer, integer) IS
    'hashes of the runs of w words, those that are 0 modulo modulus (DSC), each once';

CREATE FUNCTION super_shingles(content text, w integer DEFAULT 3, modulus integer DEFAULT 4, size integer DEFAULT 4) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'super_shingles_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION super_shingles(text, integer, integer, integer) IS
    'hashes of the runs of size neighbours among the sampled shingle hashes (DSC-SS); candidates share one (GIN, &&)';

CREATE FUNCTION super_shingles(sample bigint[], size integer DEFAULT 4) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'super_shingles_of_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION super_shingles(bigint[], integer) IS
    'super-shingles of stored shingle hashes';

-- I-Match (Chowdhury et al. 2002), randomised (Kolcz et al. 2004).

CREATE FUNCTION imatch(content text, lexicon text[], at_least integer DEFAULT 1) RETURNS bigint
    AS 'MODULE_PATHNAME', 'imatch_words_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION imatch(text, text[], integer) IS
    'I-Match signature: hash of the set of words of a text that are in the lexicon; NULL if they are fewer than at_least';

CREATE FUNCTION imatch(content text, corpus text, low double precision, high double precision, at_least integer DEFAULT 1) RETURNS bigint
    AS 'MODULE_PATHNAME', 'imatch_corpus_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION imatch(text, text, double precision, double precision, integer) IS
    'I-Match signature under the words or shingles whose idf / ln(documents) in a corpus is low to high';

CREATE FUNCTION imatch_random(content text, lexicon text[], copies integer DEFAULT 10, keep double precision DEFAULT 0.67, at_least integer DEFAULT 1) RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'imatch_random_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION imatch_random(text, text[], integer, double precision, integer) IS
    'I-Match signatures under the lexicon and copies of it that keep a share of its words; duplicates share one (GIN, &&)';

CREATE FUNCTION imatch_lexicon_add(internal, text, double precision, double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'imatch_lexicon_add_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION imatch_lexicon_add(internal, text, double precision, double precision) IS 'internal: transition of imatch_lexicon';
CREATE FUNCTION imatch_lexicon_finish(internal) RETURNS text[]
    AS 'MODULE_PATHNAME', 'imatch_lexicon_finish_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION imatch_lexicon_finish(internal) IS 'internal: result of imatch_lexicon';
CREATE AGGREGATE imatch_lexicon(content text, low double precision, high double precision) (
    SFUNC = imatch_lexicon_add, STYPE = internal, SSPACE = 1000000,
    FINALFUNC = imatch_lexicon_finish, PARALLEL = SAFE);
COMMENT ON AGGREGATE imatch_lexicon(text, double precision, double precision) IS
    'words of all texts whose ln(N / df) / ln(N) is low to high, sorted: a lexicon for imatch';

-- Words: the Boolean model, SCAM, SpotSigs, feature codes.

CREATE FUNCTION boolean_terms(content text) RETURNS text[]
    AS 'MODULE_PATHNAME', 'boolean_terms_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 1500;
COMMENT ON FUNCTION boolean_terms(text) IS
    'the different words of a text, sorted: its terms under the Boolean model (=, @>, && with GIN)';

CREATE FUNCTION scam_subset(a text, b text, epsilon double precision DEFAULT 2.5) RETURNS double precision
    AS 'MODULE_PATHNAME', 'scam_subset_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 4000;
COMMENT ON FUNCTION scam_subset(text, text, double precision) IS
    'SCAM: how far, 0 to 1, text a is a part of text b, by relative frequencies of words; not symmetric';

CREATE FUNCTION scam_similarity(a text, b text, epsilon double precision DEFAULT 2.5) RETURNS double precision
    AS 'MODULE_PATHNAME', 'scam_similarity_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 4000;
COMMENT ON FUNCTION scam_similarity(text, text, double precision) IS
    'SCAM: the larger of scam_subset(a, b) and scam_subset(b, a)';

CREATE FUNCTION spotsigs(content text, antecedents text[] DEFAULT NULL, stop_words text[] DEFAULT NULL,
        distance integer DEFAULT 1, chain integer DEFAULT 2) RETURNS text[]
    AS 'MODULE_PATHNAME', 'spotsigs_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 3000;
COMMENT ON FUNCTION spotsigs(text, text[], text[], integer, integer) IS
    'SpotSigs: antecedent:word:… for every antecedent and the words after it that are no stop words; NULL lists are built in';

CREATE FUNCTION spotsigs_similarity(a text[], b text[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'spotsigs_similarity_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION spotsigs_similarity(text[], text[]) IS
    'Jaccard similarity, 0 to 1, of two multisets: an element counts as often as it is there';

CREATE FUNCTION feature_codes(content text, n integer DEFAULT 1) RETURNS text[]
    AS 'MODULE_PATHNAME', 'feature_codes_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION feature_codes(text, integer) IS
    'the first and last n characters of every clause, in order';

-- Sentences (P5; Wang and Chang 2009). NULL stop words are the built-in list.

CREATE FUNCTION sentence_string(content text, stop_words text[] DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'sentence_string_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION sentence_string(text, text[]) IS
    'P5: one letter a sentence, its number of words: 0 to 9, a for 10 to z for 35; longer sentences are left out';

CREATE FUNCTION sentence_lengths(content text, stop_words text[] DEFAULT NULL) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'sentence_lengths_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 2000;
COMMENT ON FUNCTION sentence_lengths(text, text[]) IS
    'numbers of words of the sentences of a text (at most 35 words each)';

CREATE FUNCTION sentence_length_similarity(a integer[], b integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'sentence_length_similarity_wrapper'
    LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION sentence_length_similarity(integer[], integer[]) IS
    'similarity, 0 to 1, of two sequences of sentence lengths: the longest common subsequence over all';

CREATE FUNCTION sentence_similarity(a text, b text, stop_words text[] DEFAULT NULL) RETURNS double precision
    AS 'MODULE_PATHNAME', 'sentence_similarity_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000;
COMMENT ON FUNCTION sentence_similarity(text, text, text[]) IS
    'P5 (SL+ST): share, 0 to 1, of sentences that lie in blocks of at least two that both texts have';

CREATE FUNCTION sentence_blocks(a text, b text, stop_words text[] DEFAULT NULL,
        OUT a_from integer, OUT b_from integer, OUT sentences integer, OUT a_text text, OUT b_text text)
        RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'sentence_blocks_wrapper'
    LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000 ROWS 4;
COMMENT ON FUNCTION sentence_blocks(text, text, text[]) IS
    'P5 (SL+ST): the sentences in a row, two at least, that both texts have: number of the first in each text (from 1), how many, what they say';
