//! The planner's view of near_dup, <@ and =~, and the similarity functions.

#[pgrx::pg_schema]
mod tests {
    use crate::tests::{assert_sql, numbers, run, value};
    use pgrx::prelude::*;

    /// Random rows and rows a few bits from them.
    fn table(rows: i32) {
        run(&format!(
            "CREATE TABLE planned AS SELECT n AS id, hashint8extended(n % ({rows} - {rows} / 10), 0) \
               # CASE WHEN n % 3 = 0 THEN 1::bigint << n % 64 ELSE 0 END AS fp FROM generate_series(1, {rows}) n; \
             CREATE INDEX ON planned USING banding (fp); ANALYZE planned; \
             SET LOCAL max_parallel_workers_per_gather = 0"
        ));
    }

    fn plan(query: &str) -> String {
        let plan = Spi::explain(query).unwrap_or_else(|error| panic!("{error}: {query}"));
        plan.0.to_string()
    }

    /// Whatever the plan, the answer is that of counting bits.
    #[pg_test]
    fn every_plan_gives_the_same_rows() {
        table(3000);
        for distance in [-7, -1, 0, 1, 3, 4, 8, 12, 20, 26, 32, 63, 64, 65, i32::MAX] {
            for query in ["0", "-1", "hashint8extended(30, 0)"] {
                let of = |condition: &str| {
                    numbers(&format!("SELECT id::bigint FROM planned WHERE {condition} ORDER BY id"))
                };
                let expected = of(&format!("hamming(fp, {query}) <= {distance}"));
                for off in ["", "seqscan", "seqscan, indexscan", "seqscan, bitmapscan"] {
                    for setting in off.split(", ").filter(|it| !it.is_empty()) {
                        run(&format!("SET LOCAL enable_{setting} = off"));
                    }
                    assert_eq!(
                        of(&format!("near_dup(fp, {query}, {distance})")),
                        expected,
                        "{distance} {off}"
                    );
                    assert_eq!(
                        of(&format!("near_dup({query}, fp, (SELECT {distance}))")),
                        expected,
                        "{distance} {off}"
                    );
                    assert_eq!(
                        of(&format!("fp <@ hamming_ball({query}, {distance})")),
                        expected,
                        "{distance} {off}"
                    );
                    run(
                        "SET LOCAL enable_seqscan = on; SET LOCAL enable_indexscan = on; SET LOCAL enable_bitmapscan = on",
                    );
                }
            }
        }
    }

    /// The index is used from either side and through a parameter, and not
    /// where it would be wrong.
    #[pg_test]
    fn conditions_reach_the_index() {
        table(20_000);
        for condition in [
            "near_dup(fp, 7, 3)",
            "near_dup(7, fp)",
            "fp =~ 7",
            "near_dup(fp, (SELECT max(id) FROM planned)::bigint, 3)",
        ] {
            let plan = plan(&format!("SELECT id FROM planned WHERE {condition}"));
            assert!(plan.contains("planned_fp_idx"), "{condition}: {plan}");
        }
        for condition in [
            "near_dup(fp, id, 3)",
            "near_dup(fp, 7, id)",
            "near_dup(fp, 7, 50)",
            "near_dup(fp, random()::bigint, 3)",
        ] {
            let plan = plan(&format!("SELECT id FROM planned WHERE {condition}"));
            assert!(!plan.contains("planned_fp_idx"), "{condition}: {plan}");
        }
    }

    /// Estimates without statistics, with NULLs, and with one common value.
    #[pg_test]
    fn estimates_are_not_flat() {
        run("CREATE TABLE skewed AS SELECT CASE WHEN n % 4 = 0 THEN NULL WHEN n % 2 = 0 THEN 5 \
             ELSE hashint8extended(n, 0) END AS fp FROM generate_series(1, 10000) n");
        let rows = |condition: &str| {
            let plan = Spi::explain(&format!("SELECT FROM skewed WHERE {condition}"))
                .unwrap_or_else(|it| panic!("{it}"));
            plan.0[0]["Plan"]["Plan Rows"].as_f64().unwrap_or(-1.0)
        };
        assert!(rows("near_dup(fp, 5, 3)") < 100.0);
        run("ANALYZE skewed");
        assert!((2300.0..2700.0).contains(&rows("near_dup(fp, 7, 3)")), "{}", rows("near_dup(fp, 7, 3)"));
        assert!((7300.0..7700.0).contains(&rows("fp <@ hamming_ball(1, 64)")));
        assert!(rows("fp =~ 81985529216486895") < 10.0);
        assert_eq!(rows("near_dup(fp, 5, -1)"), 1.0);
    }

    #[pg_test]
    fn similarities_agree_with_each_other() {
        assert_sql(
            "jaccard('停水', '停水') = 1 AND containment('停水', '小区停水') = 1 AND cosine('停水', '停水！') > 0.999",
        );
        assert_sql("jaccard('ab', 'cd') = 0 AND containment('ab', 'cd') = 0 AND cosine('ab', 'cd') = 0");
        assert_eq!(value::<f64>("SELECT jaccard(NULL, 'a')"), None);
        assert_eq!(value::<f64>("SELECT cosine('a', NULL)"), None);
    }
}
