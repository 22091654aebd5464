-- The report: what dedup finds, for people who do not read SQL.

CREATE FUNCTION dedup_report(source text, options jsonb DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'dedup_report_wrapper'
    LANGUAGE c STABLE PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION dedup_report(text, jsonb) IS
    'what dedup finds in a table or a query, as one HTML page: counts, distances, what the limits leave out, and the groups to look through; options are those of dedup, title, language (en, zh), labels (a column), show (columns) and review (how many pairs it asks about)';
