//! `simhash_agg`, and what must agree with it.

#[pgrx::pg_schema]
mod tests {
    use crate::tests::{assert_sql, numbers, run, value};
    use pgrx::prelude::*;

    const TEXT: &str = "小区停水三天，物业不管，停水影响生活，请尽快处理";

    #[pg_test]
    fn features_of_a_text_aggregate_to_its_fingerprint() {
        for recipe in [
            "{}",
            r#"{"tokens": "words"}"#,
            r#"{"tokens": "chars", "n": 4, "weight": "log"}"#,
            r#"{"tokens": "shingles", "n": 2, "weight": "one", "factor": 0.3}"#,
            r#"{"tokens": "words+chars", "terms": {"停水": 3.7}, "stop": ["物业"]}"#,
        ] {
            assert_sql(&format!(
                "(SELECT simhash_agg(feature, weight) FROM simhash_features('{TEXT}', '{recipe}')) = simhash('{TEXT}'::text, '{recipe}')"
            ));
        }
        run(&format!(
            "CREATE TABLE p (title text, filed date, body text); INSERT INTO p VALUES ('停水', '2021-03-04', '{TEXT}')"
        ));
        let weights = r#"{"title": 2, "filed": 0.7, "body": {"tokens": "words", "weight": "log"}}"#;
        assert_sql(&format!(
            "(SELECT simhash_agg(feature, weight) FROM p, simhash_features(p, '{weights}')) = (SELECT simhash(p, '{weights}') FROM p)"
        ));
    }

    /// The features come heaviest first, each once, with a positive weight.
    #[pg_test]
    fn features_are_listed_heaviest_first() {
        let query = format!("SELECT * FROM simhash_features('{TEXT}', '{{}}')");
        assert_sql(&format!(
            "(SELECT count(*) = count(DISTINCT feature) AND min(weight) > 0 FROM ({query}) f)"
        ));
        assert_sql(&format!(
            "(SELECT bool_and(weight <= before) FROM (SELECT weight, lag(weight, 1, weight) OVER () AS before FROM ({query}) f) g)"
        ));
        assert_sql(
            "(SELECT count(*) = 1 FROM simhash_features('停水 物业', '{\"tokens\": \"words\", \"stop\": [\"停水\"]}'))",
        );
    }

    #[pg_test]
    fn null_rows_are_skipped_and_no_row_is_null() {
        assert_sql("(SELECT simhash_agg(f, w) IS NULL FROM (SELECT 'a', 1.0 WHERE false) v(f, w))");
        assert_sql(
            "(SELECT simhash_agg(f, w) IS NULL FROM (VALUES ('a', NULL::float8), (NULL, 1), ('b', 0)) v(f, w))",
        );
        assert_sql(
            "(SELECT simhash_agg(f, w) = simhash('a'::text, '{\"tokens\": \"words\"}') \
             FROM (VALUES ('a', 1::float8), ('b', NULL), (NULL, 9), ('c', 0)) v(f, w))",
        );
    }

    #[pg_test]
    fn order_and_repetition() {
        assert_sql(
            "(SELECT simhash_agg(n::text, n / 7.0 ORDER BY n) = simhash_agg(n::text, n / 7.0 ORDER BY -n) \
             FROM generate_series(1, 1000) n)",
        );
        assert_sql("(SELECT simhash_agg('a', 1) = simhash_agg('a', 5) FROM generate_series(1, 5))");
        assert_sql(
            "(SELECT simhash_agg(f, 1) FILTER (WHERE f <> 'b') = simhash_agg(DISTINCT 'a', 1) \
             FROM (VALUES ('a'), ('b')) v(f))",
        );
    }

    #[pg_test]
    fn groups_have_their_own_sums() {
        run("CREATE TABLE f AS SELECT g, 'word ' || (n * g) AS feature, n % 5 + 0.5 AS weight \
             FROM generate_series(1, 50) g, generate_series(1, 40) n");
        let grouped = numbers("SELECT simhash_agg(feature, weight) FROM f GROUP BY g ORDER BY g");
        assert_eq!(grouped.len(), 50);
        for (group, fingerprint) in (1..).zip(&grouped) {
            let alone =
                value::<i64>(&format!("SELECT simhash_agg(feature, weight) FROM f WHERE g = {group}"));
            assert_eq!(alone, Some(*fingerprint), "group {group}");
        }
        run("SET LOCAL enable_hashagg = off");
        assert_eq!(numbers("SELECT simhash_agg(feature, weight) FROM f GROUP BY g ORDER BY g"), grouped);
    }

    /// A frame that grows asks the same state again and again; one that moves
    /// sums anew.
    #[pg_test]
    fn window_frames() {
        run(
            "CREATE TABLE f AS SELECT n, n::text AS feature, n % 3 + 1.0 AS weight FROM generate_series(1, 30) n",
        );
        for (frame, from) in [("UNBOUNDED PRECEDING", "1"), ("4 PRECEDING", "f.n - 4")] {
            assert_sql(&format!(
                "(SELECT bool_and(fp = (SELECT simhash_agg(g.feature, g.weight) FROM f g WHERE g.n BETWEEN {from} AND f.n)) \
                 FROM (SELECT n, simhash_agg(feature, weight) OVER (ORDER BY n ROWS {frame}) AS fp FROM f) f)"
            ));
        }
    }

    /// Workers send their sums as bytes; the leader adds them up.
    #[pg_test]
    fn several_workers_give_the_same() {
        run("CREATE TABLE f AS SELECT n % 7 AS g, md5(n::text) AS feature, 1 + n % 13 / 8.0 AS weight \
             FROM generate_series(1, 60000) n; ANALYZE f");
        run("SET LOCAL max_parallel_workers_per_gather = 0");
        let alone = numbers("SELECT simhash_agg(feature, weight) FROM f GROUP BY g ORDER BY g");
        let of_all = value::<i64>("SELECT simhash_agg(feature, weight) FROM f");
        run("SET LOCAL max_parallel_workers_per_gather = 3; SET LOCAL parallel_setup_cost = 0; \
             SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0");
        let plan =
            value::<pgrx::Json>("EXPLAIN (FORMAT JSON) SELECT simhash_agg(feature, weight) FROM f").unwrap();
        assert!(plan.0.to_string().contains("\"Partial\""), "{}", plan.0);
        // A query that returns one row to SPI runs alone: store the result.
        run("CREATE TABLE parallel AS SELECT g, simhash_agg(feature, weight) AS fp FROM f GROUP BY g");
        run("CREATE TABLE parallel_all AS SELECT simhash_agg(feature, weight) AS fp FROM f");
        assert_eq!(numbers("SELECT fp FROM parallel ORDER BY g"), alone);
        assert_eq!(value::<i64>("SELECT fp FROM parallel_all"), of_all);
        assert!(of_all.is_some() && alone.len() == 7);
    }

    /// A tsvector is its lexemes, each position weighed by its label as
    /// `ts_rank` does.
    #[pg_test]
    fn tsvector_equals_its_unnested_lexemes() {
        run("CREATE TABLE v AS SELECT setweight(to_tsvector('english', 'The quick brown foxes'), 'A') || \
             setweight(to_tsvector('english', 'jumped over the lazy dogs; dogs jumping'), 'C') || \
             to_tsvector('english', 'over and over, a quick brown dog') AS v");
        for weights in ["{0.1,0.2,0.4,1}", "{1,1,1,1}", "{0,0,0.5,2}"] {
            assert_sql(&format!(
                "(SELECT simhash(v, '{weights}') FROM v) = (SELECT simhash_agg(lexeme, ('{weights}'::real[])[ \
                   CASE label WHEN 'D' THEN 1 WHEN 'C' THEN 2 WHEN 'B' THEN 3 ELSE 4 END]) \
                 FROM v, unnest(v) u, unnest(u.weights) label)"
            ));
        }
        assert_sql(
            "(SELECT simhash(v) = simhash(v, '{0.1,0.2,0.4,1}') AND simhash(v) <> simhash(v, '{1,1,1,1}') FROM v)",
        );
        assert_sql("(SELECT simhash(v) = simhash(v, NULL) FROM v)");
    }

    /// Without positions a lexeme counts once, under D; an empty vector not
    /// at all.
    #[pg_test]
    fn tsvector_without_positions() {
        assert_sql("simhash(strip('fox:3A dog:1,2'::tsvector)) = simhash('fox:1 dog:2'::tsvector)");
        assert_sql("simhash(''::tsvector) IS NULL AND simhash(NULL::tsvector) IS NULL");
        assert_sql("simhash('a:1A'::tsvector, '{1,1,1,0}') IS NULL");
        assert_sql("simhash('停水:1'::tsvector) = simhash('停水'::text, '{\"tokens\": \"words\"}')");
        run(
            "CREATE TABLE v AS SELECT array_to_tsvector(array_agg('lexeme' || n)) AS v FROM generate_series(1, 20000) n",
        );
        assert_sql("(SELECT simhash(v) = (SELECT simhash_agg(u.lexeme, 1) FROM unnest(v) u) FROM v)");
    }
}
