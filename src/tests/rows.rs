//! Fingerprints of rows by column name.

#[pgrx::pg_schema]
mod tests {
    use crate::tests::{assert_sql, run, value};
    use pgrx::prelude::*;

    /// The fingerprint of the only row of `p` under the weights.
    fn of_row(weights: &str) -> Option<i64> {
        value(&format!("SELECT simhash(p, '{weights}') FROM p"))
    }

    /// A column's weight is what it is in an array of fields, but for the
    /// names of whole values.
    #[pg_test]
    fn columns_are_values_or_running_text() {
        run("CREATE TABLE p (title text, body text); INSERT INTO p VALUES ('停水', '小区停水，物业不管')");
        let features = "SELECT string_agg(feature || ':' || weight, ' ' ORDER BY feature COLLATE \"C\") \
                        FROM p, simhash_features(p, '{\"title\": 2, \"body\": {\"tokens\": \"words\", \"factor\": 3}}')";
        assert_eq!(value::<String>(features).as_deref(), Some("title=停水:2 不管:3 停水:3 小区:3 物业:3"));
        assert_ne!(of_row(r#"{"title": 2, "body": "tf"}"#), of_row(r#"{"title": 2, "body": 1}"#));
        assert_eq!(of_row(r#"{"body": "tf"}"#), of_row(r#"{"body": null}"#));
        assert_eq!(
            of_row(r#"{"body": {"weight": 2.5}, "title": 5}"#),
            of_row(r#"{"body": {"weight": 1}, "title": 2}"#)
        );
        assert_eq!(of_row(r#"{"title": 0}"#), None);
    }

    #[pg_test]
    fn columns_that_are_not_named_do_not_matter() {
        run("CREATE TABLE p (id int, title text); INSERT INTO p VALUES (1, '停水')");
        let before = of_row(r#"{"title": 2}"#);
        run("UPDATE p SET id = 2");
        assert_eq!(of_row(r#"{"title": 2}"#), before);
        assert!(before.is_some());
    }

    /// The row's own header says how many columns it stores; later ones are
    /// NULL or have the default of `ALTER TABLE`.
    #[pg_test]
    fn dropped_and_added_columns() {
        run("CREATE TABLE p (a text, gone text, b text); INSERT INTO p VALUES ('停水', 'x', '物业')");
        let before = of_row(r#"{"a": 1, "b": 2}"#);
        run("ALTER TABLE p DROP gone");
        assert_eq!(of_row(r#"{"a": 1, "b": 2}"#), before);
        run("ALTER TABLE p ADD c text");
        assert_eq!(of_row(r#"{"a": 1, "b": 2, "c": 5}"#), before);
        run("ALTER TABLE p ADD d text DEFAULT '住建局'");
        let with_default = of_row(r#"{"a": 1, "b": 2, "c": 5, "d": 9}"#);
        assert_ne!(with_default, before);
        run("UPDATE p SET a = a");
        assert_eq!(of_row(r#"{"a": 1, "b": 2, "c": 5, "d": 9}"#), with_default);
        assert_eq!(of_row(r#"{"c": 1}"#), None);
        run("ALTER TABLE p RENAME a TO title");
        assert_ne!(of_row(r#"{"title": 1, "b": 2}"#), None);
    }

    #[pg_test]
    fn anonymous_rows_and_subqueries_have_columns_too() {
        assert_sql(
            "simhash(ROW('停水'::text), '{\"f1\": 1}') = \
             (SELECT hash FROM simhash_features(ROW('停水'::text), '{\"f1\": 1}'))",
        );
        assert_sql(
            "(SELECT simhash(s, '{\"title\": 1}') FROM (SELECT '停水' AS title) s) = \
             (SELECT simhash(v, '{\"title\": 1}') FROM (VALUES (1, '停水')) v(id, title))",
        );
        assert_sql("simhash(NULL::record, '{\"f1\": 1}') IS NULL");
    }

    /// The text types, toasted and compressed values, domains: equal texts
    /// are equal features whatever stores them.
    #[pg_test]
    fn text_types_are_one() {
        run("CREATE DOMAIN place AS varchar(40) CHECK (VALUE <> ''); CREATE DOMAIN town AS place; \
             CREATE TABLE p (a text, b varchar(40), c char(40), d place, e town, n name); \
             INSERT INTO p SELECT t, t, t, t, t, t FROM (VALUES ('岳麓区住建局')) v(t)");
        let one = |column: &str| {
            value::<i64>(&format!("SELECT simhash(s, '{{\"v\": 1}}') FROM (SELECT {column} AS v FROM p) s"))
        };
        for column in ["b", "c", "d", "e", "n"] {
            assert_eq!(one(column), one("a"), "{column}");
        }
        run("CREATE TABLE long (a text, b text); ALTER TABLE long ALTER b SET STORAGE EXTERNAL; \
             INSERT INTO long SELECT t, t FROM (SELECT string_agg('停水' || n, '，') FROM generate_series(1, 9000) n) s(t)");
        assert_sql(
            "(SELECT simhash(x, '{\"v\": \"tf\"}') = simhash(y, '{\"v\": \"tf\"}') \
              FROM (SELECT a AS v FROM long) x, (SELECT b AS v FROM long) y)",
        );
        assert_sql("(SELECT simhash(long, '{\"a\": \"tf\", \"b\": 2}') IS NOT NULL FROM long)");
    }

    #[pg_test]
    fn other_types_are_as_they_print() {
        run("CREATE TABLE p (i int, big bigint, n numeric, f float8, b bool, u uuid, j jsonb, a int[]); \
             INSERT INTO p VALUES (7, 7, 12.50, 0.1, true, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"x\": 1}', '{1,2}')");
        for (column, text) in [
            ("i", "7"),
            ("big", "7"),
            ("n", "12.50"),
            ("f", "0.1"),
            ("b", "t"),
            ("u", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            ("j", "{\"x\": 1}"),
            ("a", "{1,2}"),
        ] {
            let same = format!(
                "(SELECT simhash(x, '{{\"v\": 1}}') = simhash(y, '{{\"v\": 1}}') \
                 FROM (SELECT {column} AS v FROM p) x, (SELECT '{text}'::text AS v) y)"
            );
            assert_sql(&same);
        }
    }

    /// `simhash` is immutable, so no setting may show in a fingerprint.
    #[pg_test]
    fn settings_do_not_matter() {
        run("CREATE TABLE p (d date, t timestamp, z timestamptz, h time, y timetz, i interval, f float8, \
                             x bytea, ds date[], r tstzrange); \
             INSERT INTO p VALUES ('2021-03-04', '2021-03-04 05:06:07.5', '2021-03-04 05:06:07+00', '05:06', \
               '05:06+08', '1 year 2 days 03:04', 0.1::float8 + 0.2, '\\x00ff', '{2021-03-04,infinity}', \
               '[2021-03-04 00:00+00,2021-03-05 00:00+00)')");
        let columns = ["d", "t", "z", "h", "y", "i", "f", "x", "ds", "r"];
        let prints = || columns.map(|column| of_row(&format!("{{\"{column}\": 1}}")));
        let before = prints();
        assert!(before.iter().all(Option::is_some));
        for setting in [
            "datestyle = 'German, DMY'",
            "datestyle = 'SQL, MDY'",
            "datestyle = 'Postgres'",
            "timezone = 'Asia/Shanghai'",
            "timezone = 'America/St_Johns'",
            "intervalstyle = 'iso_8601'",
            "intervalstyle = 'postgres_verbose'",
            "extra_float_digits = -10",
            "bytea_output = 'escape'",
        ] {
            run(&format!("SET LOCAL {setting}"));
            assert_eq!(prints(), before, "{setting}");
        }
        // And what they are is left as it was.
        assert_sql("'2021-03-04'::date::text = '03-04-2021' AND '\\x00ff'::bytea::text = '\\000\\377'");
        assert_sql("'2021-03-04 00:00+00'::timestamptz::text LIKE '%03 20:30:00 2021 NST'");
    }

    #[pg_test]
    fn rows_inside_rows_and_rows_with_nulls() {
        run(
            "CREATE TYPE pair AS (x int, y text); CREATE TABLE p (a pair, b text); INSERT INTO p VALUES ((1, '停水'), NULL)",
        );
        assert!(of_row(r#"{"a": 1}"#).is_some());
        assert_eq!(of_row(r#"{"a": 1, "b": 3}"#), of_row(r#"{"a": 1}"#));
        assert_eq!(of_row(r#"{"b": 3}"#), None);
        assert_sql("(SELECT simhash(a, '{\"y\": 1}') = simhash(ROW(2, '停水')::pair, '{\"y\": 1}') FROM p)");
    }

    /// One parse a statement, but each row its own values.
    #[pg_test]
    fn rows_of_a_table_are_told_apart() {
        run(
            "CREATE TABLE q AS SELECT n AS id, '第' || n || '号来信' AS title FROM generate_series(1, 200) n",
        );
        assert_sql("(SELECT count(DISTINCT simhash(q, '{\"title\": 1}')) = 200 FROM q)");
        assert_sql("(SELECT count(DISTINCT simhash(q, '{\"title\": 1, \"id\": 1}')) = 200 FROM q)");
    }
}
