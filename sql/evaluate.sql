-- Measuring what was found and choosing settings.

CREATE FUNCTION dedup_evaluate(found text, truth text, found_are text DEFAULT 'pairs', truth_are text DEFAULT 'pairs',
        OUT "precision" double precision, OUT recall double precision, OUT f1 double precision,
        OUT pairs_found bigint, OUT pairs_true bigint, OUT correct bigint, OUT missed bigint, OUT wrong bigint)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dedup_evaluate_wrapper' LANGUAGE c STABLE STRICT PARALLEL UNSAFE COST 100000 ROWS 1;
COMMENT ON FUNCTION dedup_evaluate(text, text, text, text) IS
    'precision, recall, F1 and counts of the pairs of one query against the true pairs of another; rows are pairs of ids, or groups: (id, group), all pairs within a group; numbers are equal by value, other ids by their text';

CREATE FUNCTION near_dup_calibrate(source text, truth text DEFAULT NULL,
        OUT distance integer, OUT random_pairs double precision, OUT nearest double precision,
        OUT expected_false_pairs double precision, OUT probes bigint,
        OUT "precision" double precision, OUT recall double precision, OUT histogram text, OUT advice text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'near_dup_calibrate_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 100000 ROWS 21;
COMMENT ON FUNCTION near_dup_calibrate(text, text) IS
    'for each distance: share of random pairs and of rows'' nearest neighbours within it, false pairs to expect, buckets an index search visits; if truth gives true pairs also precision, counted (NULL at distances too wide to count in a large table), and recall; source is a table or a query that gives (id, fingerprint)';

CREATE FUNCTION dedup_suggest(source text, OUT method text, OUT recipe jsonb, OUT distance integer, OUT n integer,
        OUT similarity double precision, OUT options jsonb, OUT reason text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'dedup_suggest_wrapper' LANGUAGE c STABLE PARALLEL UNSAFE COST 100000 ROWS 1;
COMMENT ON FUNCTION dedup_suggest(text) IS
    'recipe, distance and verification for the texts of a table or of a query, (text) or (id, text), by their length and script and what unrelated ones have in common; options is for dedup';
