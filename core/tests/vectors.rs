//! Agreement with published and computed test vectors. They are not part of
//! the product: without the folder `../shared` beside the checkout
//! (or where `DEDUP_SHARED` says) these tests say so and are skipped, and what
//! is left are the values of `vectors_inside.rs`.

use dedup_core::fingerprint::{SimHash, Weight, hamming};
use dedup_core::hash::{PaperHash, city64, murmur3_128};
use dedup_core::similarity::Overlap;
use dedup_core::text::Segmenter;
use dedup_detectors::exact::{Rule, expected_error};
use dedup_detectors::{combined, minhash};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;

fn vectors(file: &str) -> Option<Value> {
    let text = shared(&format!("vectors/{file}"))?;
    Some(serde_json::from_str(&text).expect("a vector file is JSON"))
}

fn shared(file: &str) -> Option<String> {
    let shared = std::env::var_os("DEDUP_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")), PathBuf::from);
    let path = shared.join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        // Not `eprintln!`, which the test harness hides when a test passes. One
        // write, a line of its own: scripts/test counts those that begin so.
        let line = format!("\nskipped: no {}\n", path.display());
        let _ = std::io::stderr().write_all(line.as_bytes());
        return None;
    };
    Some(text)
}

fn rows<'a>(json: &'a Value, key: &str) -> &'a [Value] {
    json[key].as_array().expect("an array of rows")
}

fn number(json: &Value) -> u64 {
    json.as_str().and_then(|digits| digits.parse().ok()).expect("a decimal string")
}

/// The pseudo-random buffer that the official rows are cut from.
fn city_buffer() -> Vec<u8> {
    const K0: u64 = 0xc3a5_c85c_97cb_3127;
    let (mut a, mut b) = (9u64, 777u64);
    (0..1usize << 20)
        .map(|i| {
            a = a.wrapping_add(b);
            b = b.wrapping_add(a);
            a = (a ^ (a >> 41)).wrapping_mul(K0);
            b = (b ^ (b >> 41)).wrapping_mul(K0).wrapping_add(i as u64);
            (b >> 37) as u8
        })
        .collect()
}

#[test]
fn city64_equals_the_official_rows() {
    let Some(json) = vectors("cityhash_v1.1_official.json") else { return };
    let buffer = city_buffer();
    let mut compared = 0;
    for row in rows(&json, "rows") {
        let (offset, length) =
            (row["offset"].as_u64().unwrap() as usize, row["len"].as_u64().unwrap() as usize);
        let expected = u64::from_str_radix(row["city64"].as_str().unwrap(), 16).unwrap();
        assert_eq!(city64(&buffer[offset..offset + length]), expected, "row of {length} bytes");
        compared += 1;
    }
    assert_eq!(compared, 300, "299 rows and the whole buffer");
}

/// Chinese is hashed as UTF-8.
#[test]
fn city64_of_strings_is_of_their_utf8_bytes() {
    let Some(json) = vectors("cityhash_v1.1_strings.json") else { return };
    let all = rows(&json, "rows");
    assert!(all.iter().any(|row| !row["text"].as_str().unwrap().is_ascii()));
    for row in all {
        let text = row["text"].as_str().unwrap();
        assert_eq!(city64(text.as_bytes()), number(&row["city64_dec"]), "{text}");
    }
}

#[test]
fn simhash_equals_the_weighted_cases() {
    let Some(json) = vectors("simhash_weighted_core.json") else { return };
    for case in rows(&json, "cases") {
        let mut sums = SimHash::new();
        for (hash, weight) in rows(case, "hashes").iter().zip(rows(case, "weights")) {
            sums.add(number(hash), Weight::new(weight.as_f64().unwrap()).unwrap());
        }
        assert_eq!(sums.finish(), Some(number(&case["expect"])), "{case}");
    }
}

#[test]
fn segmentation_equals_the_expected_cuts_without_hmm() {
    let Some(json) = vectors("jieba_expected.json") else { return };
    let (mut equal, mut different) = (0, Vec::new());
    for row in rows(&json, "rows") {
        let text = row["text"].as_str().unwrap();
        let expected: Vec<&str> =
            rows(&row["python_jieba"], "cut_nohmm").iter().map(|word| word.as_str().unwrap()).collect();
        if Segmenter::shared().raw_cut(text, false) == expected {
            equal += 1;
        } else {
            different.push((
                text.to_owned(),
                Segmenter::shared().raw_cut(text, false).join("|"),
                expected.join("|"),
            ));
        }
    }
    assert!(different.is_empty(), "{equal} equal, different: {different:#?}");
}

/// Every sample text at hand is cut as jieba-rs itself cuts it, as it stands and in its normal form.
#[test]
fn sample_texts_are_cut_as_by_jieba_rs() {
    let jieba = jieba_rs::Jieba::new();
    for file in ["petitions.csv", "short_pairs.csv", "petition_pairs.csv"] {
        let Some(text) = shared(&format!("data/{file}")) else { continue };
        for line in text.lines().flat_map(|line| [line.to_owned(), dedup_core::text::normalize(line)]) {
            for hmm in [false, true] {
                let expected: Vec<&str> = jieba.cut(&line, hmm).into_iter().map(|token| token.word).collect();
                assert_eq!(Segmenter::shared().raw_cut(&line, hmm), expected, "{file}: {line}");
            }
        }
    }
}

#[test]
fn hamming_counts_the_pairs_that_brute_force_found() {
    let Some(json) = vectors("hamming_bruteforce_1000.json") else { return };
    let codes: Vec<u64> = rows(&json, "codes").iter().map(number).collect();
    let within = json["pairs_within_radius"].as_object().expect("counts by radius");
    assert!(codes.len() == 1000 && within.len() == 17);
    for (radius, count) in within {
        let radius: u32 = radius.parse().unwrap();
        let pairs =
            codes.iter().enumerate().flat_map(|(at, &a)| codes[..at].iter().map(move |&b| hamming(a, b)));
        assert_eq!(pairs.filter(|&distance| distance <= radius).count() as u64, count.as_u64().unwrap());
    }
}

/// P3's MinHash example: its characteristic matrix, signatures and what two
/// functions estimate.
#[test]
fn minhash_equals_the_worked_example() {
    let Some(json) = vectors("minhash_p3.json") else { return };
    let universe: Vec<&str> = rows(&json, "universe").iter().filter_map(Value::as_str).collect();
    let row = |element: &Value| universe.iter().position(|name| element == name).expect("an element") as u64;
    let names = ["s1", "s2", "s3", "s4"];
    let sets = names.map(|name| rows(&json["sets"], name).iter().map(row).collect::<Vec<u64>>());
    let signatures: Vec<Vec<u64>> = sets
        .iter()
        .map(|set| minhash::matrix_signature(set, &[(1, 1), (2, 1)], 5).expect("a set with elements"))
        .collect();
    for (at, signature) in signatures.iter().enumerate() {
        let expected = ["h1", "h2"].map(|h| json["signature"][h][at].as_u64().unwrap());
        assert_eq!(signature[..], expected, "{}", names[at]);
    }
    for (pair, expected) in json["estimated_from_2_hashes"].as_object().expect("pairs") {
        let pair: Vec<usize> =
            pair.split(',').map(|name| names.iter().position(|&n| n == name).unwrap()).collect();
        let estimate = minhash::similarity(&signatures[pair[0]], &signatures[pair[1]]);
        assert_eq!(estimate, expected.as_f64(), "{pair:?}");
        let overlap = Overlap::of_sets(sets[pair[0]].clone(), sets[pair[1]].clone());
        let names = format!("{},{}", names[pair[0]], names[pair[1]]);
        assert!((overlap.jaccard() - json["jaccard"][&names].as_f64().unwrap()).abs() < 1e-12, "{names}");
    }
}

/// P3's combined similarity over its table, and the radius it needs.
#[test]
fn combined_similarity_equals_the_table() {
    let Some(json) = vectors("p3_formulas.json") else { return };
    for row in rows(&json["combined_similarity"], "rows") {
        let number = |key: &str| row[key].as_f64().unwrap();
        let s = combined::similarity(number("H") as u32, number("J"), number("mu")).unwrap();
        assert!((s - number("S")).abs() < 1e-11, "{row}: {s}");
    }
    for (mu, radius) in json["required_radius"]["tau0.25"].as_object().expect("radii") {
        let found = combined::radius(combined::THRESHOLD, mu.parse().unwrap());
        assert_eq!(found.map(i64::from), radius.as_i64(), "{mu}");
    }
}

#[test]
fn string_hashes_equal_the_computed_ones() {
    let Some(json) = vectors("string_hashes.json") else { return };
    let all = rows(&json, "rows");
    assert!(all.iter().any(|row| !row["text"].as_str().unwrap().is_ascii()));
    for row in all {
        let text = row["text"].as_str().unwrap();
        for hash in PaperHash::ALL {
            let name = hash.name().to_uppercase();
            let expected = &row["partow32"][&name];
            assert_eq!(u64::from(hash.hash32(text.as_bytes())), expected.as_u64().unwrap(), "{name} {text}");
            if let Some(wide) = row["wide64_u8"].get(&name) {
                assert_eq!(hash.hash64(text.as_bytes()), number(wide), "{name} {text}");
                assert_eq!(hash.hash64_utf16(text), number(&row["wide64_u16"][&name]), "{name} {text}");
            }
        }
        let halves = rows(row, "murmur3_x64_128_seed0");
        for (half, expected) in murmur3_128(text.as_bytes(), 0).into_iter().zip(halves) {
            assert_eq!(format!("{half:016x}"), expected.as_str().unwrap(), "{text}");
        }
    }
}

#[test]
fn bloom_errors_equal_the_model() {
    let Some(json) = vectors("bloom_model.json") else { return };
    for row in rows(&json, "rows") {
        let of = |key: &str| row[key].as_u64().unwrap();
        for (rule, key) in [(Rule::All, "fpr_all"), (Rule::Any, "fpr_any")] {
            let error = expected_error(of("m"), of("k") as u32, of("n"), rule);
            assert!((error - row[key].as_f64().unwrap()).abs() < 1e-9, "{row}: {error}");
        }
    }
}
