-- Explaining, measuring and choosing. The functions are those of
-- src/explain.rs and src/evaluate.rs.

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
CREATE FUNCTION simhash_explain_summary(a text, b text, weights jsonb DEFAULT NULL,
        OUT "column" text, OUT shared bigint, OUT only_a bigint, OUT only_b bigint,
        OUT jaccard double precision, OUT bits double precision, OUT distance integer) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_summary_text_wrapper' LANGUAGE c IMMUTABLE PARALLEL SAFE COST 5000 ROWS 1;
COMMENT ON FUNCTION simhash_explain_summary(text, text, jsonb) IS
    'the comparison of two texts in a row: features shared and not, weighted Jaccard, distance';
CREATE FUNCTION simhash_explain_summary(a record, b record, weights jsonb,
        OUT "column" text, OUT shared bigint, OUT only_a bigint, OUT only_b bigint,
        OUT jaccard double precision, OUT bits double precision, OUT distance integer) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'simhash_explain_summary_record_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 5000 ROWS 5;
COMMENT ON FUNCTION simhash_explain_summary(record, record, jsonb) IS
    'the comparison of two rows: a line for each column with the bits that are its doing, and one for all';

CREATE FUNCTION same_particulars(a text, b text, kinds text[] DEFAULT '{place,date,number}') RETURNS boolean
    AS 'MODULE_PATHNAME', 'same_particulars_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20000;
COMMENT ON FUNCTION same_particulars(text, text, text[]) IS
    'whether nearly equal texts say the same places, dates and numbers; kinds limits it, such as {place}';
CREATE FUNCTION differing_particulars(a text, b text, OUT kind text, OUT in_a text, OUT in_b text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'differing_particulars_wrapper' LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20000 ROWS 2;
COMMENT ON FUNCTION differing_particulars(text, text) IS
    'the places, dates and numbers in which nearly equal texts differ';

CREATE FUNCTION near_dup_text_pairs(query text, threshold double precision DEFAULT 0.5, n integer DEFAULT 2,
        OUT a bigint, OUT b bigint, OUT similarity double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'near_dup_text_pairs_wrapper' LANGUAGE c VOLATILE COST 1000000 ROWS 1000;
COMMENT ON FUNCTION near_dup_text_pairs(text, double precision, integer) IS
    'all pairs of a query of (id bigint, text) whose character n-grams have at least this Jaccard coefficient, each once, exactly; works within work_mem';

CREATE FUNCTION dedup_evaluate(found text, truth text,
        OUT "precision" double precision, OUT recall double precision, OUT f1 double precision,
        OUT pairs_found bigint, OUT pairs_true bigint, OUT correct bigint, OUT missed bigint, OUT wrong bigint)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dedup_evaluate_wrapper' LANGUAGE c VOLATILE STRICT COST 100000 ROWS 1;
COMMENT ON FUNCTION dedup_evaluate(text, text) IS
    'precision, recall, F1 and counts of the pairs of one query (two columns of ids) against the true pairs of another; numbers are equal by value, other ids by their text';
CREATE FUNCTION dedup_evaluate_pairs(found text, truth text, right_too boolean DEFAULT false,
        OUT a text, OUT b text, OUT verdict text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dedup_evaluate_pairs_wrapper' LANGUAGE c VOLATILE STRICT COST 100000 ROWS 100;
COMMENT ON FUNCTION dedup_evaluate_pairs(text, text, boolean) IS
    'the pairs missed and the pairs wrongly found, to be looked at; on demand those rightly found too';

CREATE FUNCTION near_dup_calibrate(query text, truth text DEFAULT NULL,
        OUT radius integer, OUT random_pairs double precision, OUT nearest double precision,
        OUT expected_false_pairs double precision, OUT probes bigint,
        OUT "precision" double precision, OUT recall double precision, OUT histogram text, OUT advice text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'near_dup_calibrate_wrapper' LANGUAGE c VOLATILE COST 100000 ROWS 21;
COMMENT ON FUNCTION near_dup_calibrate(text, text) IS
    'for each radius: share of random pairs and of rows'' nearest neighbours within it, false pairs to expect, buckets an index search visits; if truth gives true pairs also precision, counted (NULL at radii too wide to count in a large table), and recall; query gives (id, fingerprint)';

CREATE FUNCTION dedup_suggest(query text, OUT method text, OUT weights jsonb, OUT distance integer, OUT n integer,
        OUT threshold double precision, OUT options jsonb, OUT reason text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dedup_suggest_wrapper' LANGUAGE c VOLATILE STRICT COST 100000 ROWS 1;
COMMENT ON FUNCTION dedup_suggest(text) IS
    'recipe, radius and verification for the texts of a query, (text) or (id, text), by their length and script and what unrelated ones have in common; options is for dedup';
