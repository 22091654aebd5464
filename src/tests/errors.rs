//! Errors: each says what is wrong, has a condition that programs can test,
//! and a hint.

#[pgrx::pg_schema]
mod tests {
    use crate::tests::{run, value};
    use pgrx::prelude::*;

    /// SQLSTATE, message and hint of the error that a statement must raise.
    fn error_of(statement: &str) -> [String; 3] {
        run(&format!(
            "DO $outer$ DECLARE state text; message text; hint text; BEGIN \
               PERFORM set_config('test.error', NULL, true); \
               EXECUTE $inner${statement}$inner$; \
             EXCEPTION WHEN OTHERS THEN \
               GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT; \
               PERFORM set_config('test.error', jsonb_build_array(state, message, hint)::text, true); \
             END $outer$"
        ));
        let raised = value::<pgrx::JsonB>("SELECT nullif(current_setting('test.error'), '')::jsonb");
        let raised = raised.unwrap_or_else(|| panic!("no error from {statement}"));
        [0, 1, 2].map(|part| raised.0[part].as_str().unwrap_or_default().to_owned())
    }

    #[track_caller]
    fn assert_error(statement: &str, state: &str, message: &str, hint: &str) {
        let raised = error_of(statement);
        assert_eq!(raised[0], state, "{statement}: {raised:?}");
        assert!(raised[1].contains(message), "{statement}: {raised:?}");
        assert!(!raised[2].is_empty() && raised[2].contains(hint), "{statement}: {raised:?}");
    }

    #[pg_test]
    fn recipes_are_read_strictly() {
        for (recipe, message, hint) in [
            (r#"{"token": "words"}"#, "unknown field `token`", "keys tokens, n, weight"),
            (r#"{"tokens": "word"}"#, "\"tokens\": unknown variant `word`", "keys tokens"),
            (r#"{"weight": "bm25"}"#, "expected one of `tf`, `log`, `one`", "keys tokens"),
            (r#"{"hash": "md5"}"#, "\"hash\": unknown hash `md5`", "keys tokens"),
            (r#"{"stop": "的"}"#, "\"stop\": there is no stop list", "a list of words"),
            (r#"{"n": 0}"#, "\"n\": 0 is out of range", "from 1 to 64"),
            (r#"{"n": 65}"#, "\"n\": 65 is out of range", "from 1 to 64"),
            (r#"{"n": 1.5}"#, "\"n\": invalid type", "keys tokens"),
            (
                r#"{"dictionary": "nobody@1"}"#,
                "there is no dictionary \"nobody@1\"",
                "dedup_dictionary_build",
            ),
            (r#"{"corpus": "nobody@1"}"#, "there is no corpus \"nobody@1\"", "dedup_corpus_build"),
            ("[]", "a recipe must be a JSON object, not an array", "for example"),
            ("\"tf\"", "not a string", "for example"),
            ("2", "not a number", "for example"),
            ("null", "not null", "for example"),
        ] {
            for function in ["simhash('a'::text", "simhash_features('a'::text", "near_dup('a', 'b', 3"] {
                let statement = format!("SELECT {function}, '{recipe}'::jsonb)");
                assert_error(&statement, "22023", message, hint);
            }
        }
        // What is not JSON never arrives here.
        assert_eq!(error_of("SELECT simhash('a'::text, '{tokens: words}')")[0], "22P02");
    }

    #[pg_test]
    fn weights_must_be_usable_numbers() {
        let hint = "from 0 to 1000000";
        for weight in ["-1", "-0.0001", "1000001", "1e300"] {
            assert_error(
                &format!("SELECT simhash('a'::text, '{{\"weight\": {weight}}}')"),
                "22023",
                "\"weight\"",
                hint,
            );
            assert_error(
                &format!("SELECT simhash('a'::text, '{{\"factor\": {weight}}}')"),
                "22023",
                "\"factor\"",
                hint,
            );
            let terms = format!("SELECT simhash('a'::text, '{{\"terms\": {{\"停水\": {weight}}}}}')");
            assert_error(&terms, "22023", "\"terms.停水\"", hint);
            assert_error(&format!("SELECT simhash(ROW(1), '{{\"f1\": {weight}}}')"), "22023", "\"f1\"", hint);
        }
        for weight in ["-1", "NaN", "Infinity", "-Infinity", "1000001"] {
            assert_error(
                &format!("SELECT simhash('{{a,b}}'::text[], '{{1,{weight}}}')"),
                "22023",
                "\"2\": weight",
                hint,
            );
            assert_error(&format!("SELECT simhash_agg('a', '{weight}')"), "22023", "out of range", hint);
            assert_error(
                &format!("SELECT simhash('a'::tsvector, '{{1,1,1,{weight}}}')"),
                "22023",
                "out of range",
                hint,
            );
        }
        // JSON knows neither NaN nor infinity, but numbers without end.
        assert_error(
            "SELECT simhash('a'::text, '{\"weight\": 1e400}')",
            "22023",
            "number out of range",
            "at most 1000000",
        );
        assert_error(
            "SELECT simhash(ROW(1), '{\"f1\": 1e400}')",
            "22023",
            "number out of range",
            "at most 1000000",
        );
        assert_eq!(error_of("SELECT simhash('a'::text, '{\"weight\": NaN}')")[0], "22P02");
        assert_error(
            "SELECT simhash('a'::text, '{\"weight\": \"NaN\"}')",
            "22023",
            "unknown variant `NaN`",
            "keys tokens",
        );
    }

    #[pg_test]
    fn arrays_must_be_equally_long() {
        for (fields, weights) in [("{a}", "{1,2}"), ("{a,b}", "{1}"), ("{}", "{1}"), ("{a}", "{}")] {
            let statement = format!("SELECT simhash('{fields}'::text[], '{weights}')");
            assert_error(&statement, "2202E", "as many weights as fields are needed", "one weight a field");
        }
    }

    #[pg_test]
    fn tsvector_weights_are_four() {
        for weights in ["{}", "{1}", "{1,1,1,1,1}", "{1,1,1,NULL}"] {
            let statement = format!("SELECT simhash('a'::tsvector, '{weights}')");
            assert_error(&statement, "2202E", "must be four numbers", "{D, C, B, A}");
        }
    }

    #[pg_test]
    fn columns_must_exist() {
        run("CREATE TABLE desk (id int, title text, gone text, body text); ALTER TABLE desk DROP gone; \
             INSERT INTO desk VALUES (1, 'a', 'b')");
        for column in ["boddy", "gone", "TITLE", "", "........pg.dropped.3........"] {
            for function in ["simhash", "simhash_features"] {
                let statement =
                    format!("SELECT {function}(d, '{{\"title\": 2, \"{column}\": 1}}') FROM desk d");
                let message = format!("the row has no column \"{column}\"");
                assert_error(&statement, "42703", &message, "id, title, body");
            }
        }
        for (recipe, message) in [
            ("{}", "name no column"),
            ("[1]", "must be a JSON object, not an array"),
            (r#"{"title": true}"#, "\"title\": a column's weight cannot be a boolean"),
            (r#"{"title": "tff"}"#, "\"title\": unknown variant `tff`"),
            (r#"{"body": {"tokens": "x"}}"#, "\"body.tokens\": unknown variant `x`"),
            (r#"{"body": {"tokenz": 1}}"#, "unknown field `tokenz`"),
        ] {
            assert_error(&format!("SELECT simhash(d, '{recipe}') FROM desk d"), "22023", message, "");
        }
    }

    /// A failed statement leaves nothing behind that the next one meets.
    #[pg_test]
    fn an_error_is_forgotten() {
        let before = value::<i64>("SELECT simhash('停水'::text, '{\"tokens\": \"words\"}')");
        for _ in 0..3 {
            error_of("SELECT simhash('停水'::text, '{\"tokens\": \"wordz\"}')");
            error_of("SELECT simhash_agg(n::text, 50 - n) FROM generate_series(1, 100) n");
            error_of("SELECT simhash(ROW(1, '2020-01-01'::date), '{\"f2\": 1, \"f9\": 1}')");
        }
        assert_eq!(value::<i64>("SELECT simhash('停水'::text, '{\"tokens\": \"words\"}')"), before);
    }
}
