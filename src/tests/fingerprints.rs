//! Fingerprints of texts and of arrays of fields.

#[pgrx::pg_schema]
mod tests {
    use crate::tests::{assert_sql, numbers, run, value};
    use pgrx::prelude::*;

    /// One feature is its own fingerprint, so `simhash` shows the hash.
    /// The numbers are those of Google's CityHash64 1.1.
    #[pg_test]
    fn features_are_hashed_by_cityhash_of_utf8() {
        for (word, hash) in [
            ("abc", 2_640_714_258_260_161_385_i64),
            ("hello", -5_436_999_610_281_751_320),
            ("数据", -7_555_523_796_863_189_993),
            ("投诉", 3_674_983_135_383_489_421),
            ("城市管理", -55_886_090_265_790_423),
        ] {
            let hashed = value(&format!(
                "SELECT hash FROM simhash_features('{word}', '{{\"tokens\": \"chars\", \"n\": 9}}')"
            ));
            assert_eq!(hashed, Some(hash), "{word}");
            let alone =
                value(&format!("SELECT simhash('{word}'::text, '{{\"tokens\": \"chars\", \"n\": 9}}')"));
            assert_eq!(alone, Some(hash), "{word}");
        }
    }

    /// The definition, from the features that SQL shows.
    #[pg_test]
    fn bits_are_the_signs_of_weighted_sums() {
        let text = "小区停水三天，物业不管，停水影响生活。Please help!";
        for recipe in [
            r#"{"tokens": "words"}"#,
            r#"{"tokens": "chars", "n": 2, "weight": "log"}"#,
            r#"{"tokens": "words", "terms": {"停水": 5}}"#,
            "{}",
        ] {
            let majority = value::<i64>(&format!(
                "SELECT coalesce(bit_or(1::bigint << bit), 0) FROM (
                     SELECT bit FROM generate_series(0, 63) bit, simhash_features('{text}', '{recipe}')
                      GROUP BY bit
                     HAVING round(sum(CASE WHEN hash >> bit & 1 = 1 THEN weight ELSE -weight END)::numeric, 5) > 0) ones"
            ));
            let stored = value::<i64>(&format!("SELECT simhash('{text}'::text, '{recipe}')"));
            assert_eq!(stored, majority, "{recipe}");
        }
    }

    #[pg_test]
    fn heavier_weights_win_and_ties_give_zero() {
        // Two features: the heavier one decides every bit on which they differ.
        assert_sql("simhash('{a,b}'::text[], '{3,2}') = simhash('{a}'::text[], '{1}')");
        assert_sql(
            "simhash('{a,b}'::text[], '{2,2}') = simhash('{a}'::text[], '{1}') & simhash('{NULL,b}'::text[], '{1,1}')",
        );
        assert_sql("simhash('{a,b}'::text[], '{1,0}') = simhash('{a,zzz}'::text[], '{1,0}')");
    }

    /// Only the proportion of weights counts.
    #[pg_test]
    fn scaling_all_weights_changes_nothing() {
        assert_sql(
            "bool_and(simhash(f, '{1,2,0.5}') = simhash(f, '{1000,2000,500}')) \
             FROM (VALUES (ARRAY['张三', '住建局', '停水']), (ARRAY['a', NULL, 'c'])) v(f)",
        );
    }

    #[pg_test]
    fn null_and_wordless_texts_have_no_fingerprint() {
        for nothing in ["NULL::text", "''", "' \n'", "'……！？'", "'😀'", "E'\\u200B'"] {
            assert_sql(&format!("simhash({nothing}) IS NULL"));
            assert_sql(&format!("simhash({nothing}::text, '{{\"tokens\": \"words\"}}') IS NULL"));
            assert_sql(&format!("(SELECT count(*) = 0 FROM simhash_features({nothing}::text))"));
        }
        assert_sql("simhash('x'::text, NULL) = simhash('x')");
        assert_sql("simhash(NULL::text[], '{1}') IS NULL AND simhash('{a}'::text[], NULL) IS NULL");
        assert_sql("simhash('{}'::text[], '{}') IS NULL");
        assert_sql("simhash(ARRAY[NULL, '，', ''], '{1,1,NULL}') IS NULL");
        assert_sql("near_dup(simhash(''), simhash('')) IS NULL");
        assert_sql("near_dup(NULL::text, 'a', 64) IS NULL AND near_dup('', '', 64) IS NULL");
        assert_sql("hamming(NULL, 1) IS NULL AND (1::bigint <~> NULL) IS NULL");
    }

    #[pg_test]
    fn null_fields_are_skipped_but_keep_their_place() {
        assert_sql("simhash(ARRAY['a', NULL, 'c'], '{1,1,1}') = simhash(ARRAY['a', '', 'c'], '{1,9,1}')");
        assert_sql("simhash(ARRAY['a', NULL], '{1,1}') <> simhash(ARRAY[NULL, 'a'], '{1,1}')");
    }

    /// A number makes the whole value one feature, NULL makes it running text.
    #[pg_test]
    fn fields_are_values_or_running_text() {
        assert_sql("simhash(ARRAY['停水 三天'], '{2}') = simhash(ARRAY['停水，三天'], '{7}')");
        assert_sql("simhash(ARRAY['停水三天'], '{2}') <> simhash(ARRAY['停水三天'], '{NULL}')");
        let whole = "simhash('{住建局}'::text[], '{1}')";
        let hash = "(SELECT hash FROM simhash_features(ROW('住建局'::text), '{\"f1\": 1}'))";
        assert_sql(&format!("{whole} <> {hash}"));
    }

    #[pg_test]
    fn width_case_punctuation_and_layout_do_not_matter() {
        assert_sql(
            "simhash('请问２０１９年Ａ市公租房何时摇号？') = simhash(E'请问 2019 年，a市公租房\\n何时摇号')",
        );
        assert_sql("near_dup('Ａ市停水了！', 'a市 停水了', 0)");
        assert_sql("NOT near_dup('A市停水了', 'B市修路了', 0)");
    }

    #[pg_test]
    fn recipes_differ_and_equal_recipes_agree() {
        let text = "'小区停水三天，物业不管，请尽快处理'";
        let fingerprints = numbers(&format!(
            "SELECT DISTINCT simhash({text}::text, recipe::jsonb) FROM (VALUES \
             ('{{\"tokens\": \"words\"}}'), ('{{\"tokens\": \"chars\", \"n\": 2}}'), \
             ('{{\"tokens\": \"chars\", \"n\": 3}}'), ('{{\"tokens\": \"shingles\", \"n\": 2}}'), \
             ('{{\"tokens\": \"words\", \"stop\": [\"停水\", \"物业\"]}}')) r(recipe)"
        ));
        assert_eq!(fingerprints.len(), 5);
        assert_sql(&format!(
            "simhash({text}::text, '{{\"n\": 3, \"tokens\": \"chars\"}}') = simhash({text}::text, '{{\"tokens\":\"chars\"}}')"
        ));
    }

    /// More recipes in one statement than a backend keeps.
    #[pg_test]
    fn many_recipes_do_not_get_mixed_up() {
        assert_sql(
            "(SELECT bool_and(simhash('a b c d e f g h i j k l m n'::text, json(n)) = fp) FROM ( \
               SELECT n, simhash('a b c d e f g h i j k l m n'::text, json(n)) AS fp \
               FROM generate_series(1, 12) n ORDER BY n DESC) s)"
                .replace("json(n)", "jsonb_build_object('tokens', 'chars', 'n', n)")
                .as_str(),
        );
    }

    #[pg_test]
    fn ten_megabytes_of_text() {
        run("CREATE TABLE big AS SELECT string_agg('第' || n || '次停水，小区居民反映物业不管。', '') AS t \
             FROM generate_series(1, 220000) n");
        assert_sql("(SELECT octet_length(t) > 10000000 FROM big)");
        assert_sql("(SELECT simhash(t) IS NOT NULL AND simhash(t) = simhash(t || '。') FROM big)");
        assert_sql("(SELECT simhash(repeat('x', 10000000)) IS NOT NULL)");
        assert_sql("(SELECT simhash(repeat('，', 4000000)) IS NULL)");
        assert_sql("(SELECT near_dup(simhash(t), simhash(t || '再补充一句'), 3) FROM big)");
        assert_sql("(SELECT simhash(ARRAY[t, t], '{1,NULL}') IS NOT NULL FROM big)");
        assert_sql(
            "(SELECT simhash(big, '{\"t\": {\"tokens\": \"chars\", \"n\": 2}}') IS NOT NULL FROM big)",
        );
    }

    #[pg_test]
    fn distances_are_counted_in_bits() {
        assert_sql("hamming(0, -1) = 64 AND hamming(5, 5) = 0 AND (21::bigint <~> 6::bigint) = 3");
        assert_sql("hamming(-9223372036854775808, 0) = 1");
        assert_sql("near_dup(0, 7) AND NOT near_dup(0, 15) AND near_dup(0, 15, 4)");
        assert_sql("NOT near_dup(1, 1, -1) AND near_dup(0, -1, 64) AND near_dup(0, -1, 2147483647)");
    }

    /// Block 1 is the top 16 bits; each key carries its block's number.
    #[pg_test]
    fn bands_are_the_four_blocks_from_the_top() {
        assert_eq!(
            value::<Vec<i32>>("SELECT array(SELECT near_dup_bands(x'1234ABCD00FF8001'::bigint))"),
            Some(vec![0x1234, 0x1_ABCD, 0x2_00FF, 0x3_8001])
        );
        assert_eq!(
            value::<Vec<i32>>("SELECT array(SELECT near_dup_bands(-1))"),
            Some(vec![0xFFFF, 0x1_FFFF, 0x2_FFFF, 0x3_FFFF])
        );
        // Three flipped bits leave one block of the four whole.
        assert_sql(
            "bool_and(EXISTS (SELECT near_dup_bands(fp) INTERSECT \
               SELECT near_dup_bands(fp # (1::bigint << a) # (1::bigint << b) # (1::bigint << c)))) \
             FROM (SELECT simhash('petition ' || n), n % 64, n * 7 % 64, n * 13 % 64 \
                   FROM generate_series(1, 300) n) s(fp, a, b, c)",
        );
    }
}
