//! Fingerprints by their definition, and the features that a recipe makes.

use dedup_core::features::{
    Bag, Corpus, CorpusBuilder, Document, Explanation, Extractor, Feature, FieldsRecipe, Nowhere, RowRecipe,
    Scheme, StoredCorpus, TextRecipe, Tokens, explain, shared, stop_words,
};
use dedup_core::fingerprint::{Bands, SimHash, Weight, hamming};
use dedup_core::text::normalize;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The definition, in floating point over exactly representable weights.
fn reference(features: &[(u64, f64)]) -> Option<u64> {
    if features.iter().all(|&(_, weight)| weight == 0.0) {
        return None;
    }
    let sum = |bit: u32| -> f64 {
        features.iter().map(|&(hash, weight)| if hash >> bit & 1 == 1 { weight } else { -weight }).sum()
    };
    Some((0..64).filter(|&bit| sum(bit) > 0.0).fold(0, |print, bit| print | 1 << bit))
}

fn simhash(features: &[(u64, f64)]) -> Option<u64> {
    let mut sums = SimHash::new();
    features.iter().for_each(|&(hash, weight)| sums.add(hash, Weight::new(weight).unwrap()));
    sums.finish()
}

fn any_bag() -> impl Strategy<Value = Vec<(u64, f64)>> {
    prop::collection::vec((any::<u64>(), (0u32..40).prop_map(|quarter| f64::from(quarter) / 4.0)), 0..40)
}

#[test]
fn heavy_bags_do_not_overflow() {
    let mut sums = SimHash::new();
    sums.set_unit(Weight::new(Weight::MAX).unwrap());
    for _ in 0..9_000_000 {
        sums.count(0b01);
    }
    for _ in 0..5 {
        sums.add(0b10, Weight::new(Weight::MAX).unwrap());
    }
    assert_eq!(sums.finish(), Some(0b01));
    assert_eq!(sums.sums()[0], 8_999_995.0 * Weight::MAX);
}

/// Protects that a list has words as a text has them, each once.
#[test]
fn stop_words_are_normal_and_stand_once() {
    let mut seen = HashSet::new();
    for word in stop_words() {
        assert!(normalize(word) == word && seen.insert(word), "{word}");
    }
    let of = |stop: &str| TextRecipe::from_json(&json!({ "stop": stop })).unwrap().stop;
    assert_eq!(of("zh").len() + of("en").len(), seen.len());
    assert!(of("zh").iter().all(|word| !word.is_ascii()) && of("en").iter().all(|word| word.is_ascii()));
}

fn keys(bands: &Bands, fp: u64) -> Vec<u64> {
    (0..bands.count()).map(|number| bands.key(fp, number)).collect()
}

proptest! {
    /// Protects completeness: whatever the bits that differ, one key is shared; and keys of two numbers never are
    /// equal, so a join on the key alone compares like with like.
    #[test]
    fn near_fingerprints_share_a_key(
        fp: u64,
        distance in 0..13i32,
        more in 1..4i32,
        flips in prop::collection::vec(0..64u32, 13),
    ) {
        let Ok(bands) = Bands::new(distance, Some(distance + more)) else { return Ok(()) };
        let near = flips.iter().take(distance as usize).fold(fp, |fp, bit| fp ^ 1 << bit);
        prop_assert!(hamming(fp, near) <= distance as u32);
        let (ours, theirs) = (keys(&bands, fp), keys(&bands, near));
        prop_assert!(ours.iter().zip(&theirs).any(|(a, b)| a == b));
        prop_assert!(ours.iter().enumerate().all(|(i, a)| theirs.iter().enumerate().all(|(j, b)| i == j || a != b)));
    }

    /// A key is shared exactly if its blocks are equal: no bit is left out, none counted that is not its own.
    #[test]
    fn one_bit_changes_the_keys_that_hold_it(fp: u64, bit in 0..64u32, distance in 0..9i32, more in 1..4i32) {
        let blocks = distance + more;
        let Ok(bands) = Bands::new(distance, Some(blocks)) else { return Ok(()) };
        let changed = |bit: u32| -> Vec<bool> {
            keys(&bands, fp).into_iter().zip(keys(&bands, fp ^ 1 << bit)).map(|(a, b)| a != b).collect()
        };
        // Block i ends, from the lowest bit, where 64 / blocks times i are above it.
        let begin = (0..=blocks).map(|i| 64 - 64 * i as u32 / blocks as u32).find(|&begin| begin <= bit).unwrap();
        let held = changed(bit);
        prop_assert_eq!(&held, &changed(begin));
        prop_assert!(begin == 0 || distance == 0 || held != changed(begin - 1));
        let held = held.iter().filter(|held| **held).count();
        prop_assert_eq!(held * blocks as usize, bands.count() * more as usize);
    }
}

#[test]
fn weights_that_make_no_sense_are_refused() {
    for bad in [-1.0, -1e-9, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1_000_000.1] {
        assert!(Weight::new(bad).is_err(), "{bad}");
    }
    assert!(Weight::new(0.0).unwrap().is_zero());
    assert!(!Weight::new(1e-300).unwrap().is_zero());
    assert_eq!(Weight::new(2.5).unwrap().value(), 2.5);
}

#[test]
fn nothing_has_no_fingerprint() {
    assert_eq!(SimHash::new().finish(), None);
    assert_eq!(simhash(&[(7, 0.0)]), None);
    assert_eq!(simhash(&[(7, 0.0), (9, 1.0)]), Some(9));
    assert!(SimHash::from_bytes(&[0; 17]).is_none());
}

fn compare(a: &str, b: &str) -> Explanation {
    let recipe = TextRecipe::default();
    explain(&Extractor::new().bag(a, &recipe), &Extractor::new().bag(b, &recipe))
}

fn builder() -> CorpusBuilder {
    CorpusBuilder::new(TextRecipe::from_json(&json!({"tokens": "chars", "n": [1, 2]})).unwrap())
}

fn stored(texts: &[String]) -> StoredCorpus {
    let mut builder = builder();
    texts.iter().for_each(|text| builder.add(&mut Extractor::new(), text));
    builder.finish()
}

fn fields(json: Value) -> RowRecipe {
    FieldsRecipe::resolved(&json, &Nowhere).unwrap().0
}

/// Whatever the lengths of two columns, each has its share of what decides the bits: of the sum of squares.
#[test]
fn shares_are_of_the_whole() {
    let recipe = fields(json!([{"share": 0.3, "tokens": "words"}, {"share": 0.7, "tokens": "words"}]));
    for body in ["停水", "停水 停电 路灯 公交 噪音 垃圾 物业 学区 工资 医院"] {
        let bag = recipe.bag(&mut Extractor::new(), [Some("小区 绿化"), Some(body)]);
        let squares = |column: usize| -> f64 {
            let of = |f: &Feature| {
                f.columns.iter().filter(|it| it.0 == column).map(|it| it.1.value().powi(2)).sum::<f64>()
            };
            bag.features().iter().map(of).sum()
        };
        assert!((squares(0) / (squares(0) + squares(1)) - 0.3).abs() < 1e-4);
    }
    for wrong in [
        json!([{"share": 0.3}, null]),
        json!([2, {"share": 0.3}]),
        json!([{"share": 0}]),
        json!([{"share": "1"}]),
    ] {
        assert!(FieldsRecipe::resolved(&wrong, &Nowhere).is_err(), "{wrong}");
    }
}

/// A negative number is not its opposite; a dash before a word is nothing.
#[test]
fn the_sign_of_a_number_counts() {
    let recipe = fields(json!([1.0]));
    let feature = |value| recipe.bag(&mut Extractor::new(), [Some(value)]).features()[0].text.clone();
    assert_eq!(["-5", "5", " -1.5 ", "- x"].map(feature), ["1=-5", "1=5", "1=-1 5", "1=x"]);
}

#[test]
fn an_empty_recipe_is_the_default() {
    assert_eq!(TextRecipe::from_json(&json!({})), Ok(TextRecipe::default()));
}

#[test]
fn every_key_is_read() {
    let json = json!({"tokens": "shingles", "n": 2, "weight": "log", "factor": 2.5,
        "terms": {"停 水": 3}, "stop": ["的", "ＯＫ"], "hmm": true, "hash": "city64"});
    let recipe = TextRecipe::from_json(&json).unwrap();
    assert_eq!((recipe.tokens, &recipe.n[..], recipe.scheme), (Tokens::Shingles, &[2][..], Scheme::Log));
    assert_eq!(recipe.factor.value(), 2.5);
    assert_eq!(recipe.terms["停水"].value(), 3.0);
    assert!(recipe.stop.contains("ok") && recipe.hmm);
}

#[test]
fn a_number_for_weight_is_a_factor_on_term_frequency() {
    let recipe = TextRecipe::from_json(&json!({"tokens": "chars", "weight": 4})).unwrap();
    assert_eq!((recipe.scheme, recipe.factor.value(), recipe.n), (Scheme::Tf, 4.0, vec![3]));
}

/// Each message must say where the fault lies and what is known there. The regression test `fingerprint_recipes` has more.
#[test]
fn faults_are_named() {
    for (json, part) in [
        (json!({"weight": true}), "\"weight\": must be the name of a scheme or a number, not a boolean"),
        (json!({"factor": 1e300}), "\"factor\": weight 1"),
        (json!({"terms": {"a": "b"}}), "\"terms.a\": invalid type: string \"b\", expected a number"),
        (
            json!({"terms": {"The": 0, "the": 1}}),
            "\"terms\": two keys are \"the\" when normalized, with different weights",
        ),
        (json!({"terms": {"a": -1}}), "\"terms.a\": weight -1 is out of range"),
        (json!({"terms": []}), "\"terms\": invalid type: an array, expected an object"),
        (json!({"stop": [1]}), "\"stop\": a word must be a string, not a number"),
        (json!({"stop": {}}), "\"stop\": must be a list, a name or true, not an object"),
        (json!({"n": -1}), "\"n\": invalid value: number \"-1\""),
        (json!({"n": [1, 99]}), "\"n\": 99 is out of range"),
        (json!({"max_df": 2}), "\"max_df\": 2 is out of range"),
        (json!({"dictionary": "own@7"}), "\"dictionary\": there is no dictionary \"own@7\""),
        (json!({"markup": "rtf"}), "\"markup\": unknown variant \"rtf\", expected \"html\" or \"xml\""),
    ] {
        let error = TextRecipe::from_json(&json).unwrap_err();
        assert!(error.to_string().contains(part), "{json}: {error}");
        assert!(!error.hint.is_empty());
    }
}

proptest! {
    #[test]
    fn equals_its_definition(bag in any_bag()) {
        prop_assert_eq!(simhash(&bag), reference(&bag));
    }

    /// The bit planes count what `add` adds, at any unit and past a flush.
    #[test]
    fn counting_equals_adding(hashes in prop::collection::vec(any::<u64>(), 0..3000), quarters in 1u32..20) {
        let unit = Weight::new(f64::from(quarters) / 4.0).unwrap();
        let (mut counted, mut added) = (SimHash::new(), SimHash::new());
        counted.set_unit(unit);
        hashes.iter().for_each(|&hash| { counted.count(hash); added.add(hash, unit); });
        prop_assert_eq!(counted.sums(), added.sums());
        prop_assert_eq!(counted.finish(), added.finish());
    }

    /// Partial aggregates add up, in any order and over the wire.
    #[test]
    fn merging_equals_adding(a in any_bag(), b in any_bag()) {
        let (mut left, mut right) = (SimHash::new(), SimHash::new());
        a.iter().for_each(|&(hash, weight)| left.add(hash, Weight::new(weight).unwrap()));
        b.iter().for_each(|&(hash, weight)| right.add(hash, Weight::new(weight).unwrap()));
        let sent = SimHash::from_bytes(&left.to_bytes()).unwrap();
        right.merge(&sent);
        prop_assert_eq!(right.finish(), simhash(&[a, b].concat()));
    }

    /// The parts of all features are the distance, and what both texts have alike has no part.
    #[test]
    fn parts_add_up(a in "[水停电小区业主天]{1,30}", b in "[水停电小区业主天]{1,30}") {
        let compared = compare(&a, &b);
        let total: f64 = compared.features.iter().map(|f| f.whole.bits).sum();
        prop_assert!((total - f64::from(compared.distance.unwrap())).abs() < 1e-6);
        let alike = compared.features.iter().filter(|f| f.whole.weight_a == f.whole.weight_b);
        prop_assert!(alike.clone().all(|f| f.whole.bits == 0.0));
    }

    /// Against sets: what is listed is in just those bags, and nothing left out is heavier.
    #[test]
    fn as_sets_say(a in "[abc ]{0,30}", b in "[abc ]{0,30}", most in 0usize..6) {
        let recipe = TextRecipe::from_json(&json!({"tokens": "words+chars"})).unwrap();
        let (a, b) = (Extractor::new().bag(&a, &recipe), Extractor::new().bag(&b, &recipe));
        let names = |bag: &Bag| bag.features().iter().map(|f| f.text.clone()).collect::<BTreeSet<_>>();
        let weight = |bag: &Bag, text: &str| {
            bag.features().iter().find(|f| f.text == text).map_or(0.0, |f| f.weight.value())
        };
        let (in_a, in_b) = (names(&a), names(&b));
        let found = shared(&a, &b, most);
        let both = |text: &str| weight(&a, text).min(weight(&b, text));
        for (list, all, weight) in [
            (&found.both, in_a.intersection(&in_b).cloned().collect::<BTreeSet<_>>(), &both as &dyn Fn(&str) -> f64),
            (&found.only_a, in_a.difference(&in_b).cloned().collect(), &|text| weight(&a, text)),
            (&found.only_b, in_b.difference(&in_a).cloned().collect(), &|text| weight(&b, text)),
        ] {
            prop_assert_eq!(list.len(), all.len().min(most));
            prop_assert!(list.iter().all(|text| all.contains(text)));
            prop_assert!(list.windows(2).all(|pair| weight(&pair[0]) >= weight(&pair[1])));
            let least = list.last().map_or(0.0, |text| weight(text));
            prop_assert!(all.iter().all(|text| list.contains(text) || most == 0 || weight(text) <= least));
        }
    }

    /// A text of Chinese and ASCII, whose words and runs of characters are counted as it is read, has the features of its
    /// normal form, and so has one that only looks like that.
    #[test]
    fn what_is_read_is_the_normal_form(
        text in "([水区停电abcXYZ012，。！ '’　ＡＢ１、\u{200B}\r\n-]|[é々①ｶ\u{301}\u{3400}])\
                 {0,3}[水区停电abcXYZ012，。！ '’　ＡＢ１、\u{200B}\r\n-]{0,40}[a-z é\u{301}]{0,2}",
        n in 1usize..4,
    ) {
        let mut extractor = Extractor::new();
        for recipe in [json!({"tokens": "words"}), json!({"tokens": "words+chars", "n": n})] {
            let recipe = TextRecipe::from_json(&recipe).unwrap();
            prop_assert_eq!(extractor.simhash(&text, &recipe), extractor.bag(&text, &recipe).simhash());
        }
    }

    /// Frequencies are what counting by hand gives, and a corpus extended is the corpus of all documents.
    #[test]
    fn counts_documents(texts in prop::collection::vec("[水停电。]{0,6}", 1..30), cut in 0usize..30) {
        let mut by_hand: HashMap<String, u32> = HashMap::new();
        let mut documents = 0;
        for text in &texts {
            let chars: Vec<char> = text.chars().filter(|&c| c != '。').collect();
            let mut tokens: HashSet<String> = chars.iter().map(char::to_string).collect();
            tokens.extend(chars.windows(2).map(|pair| pair.iter().collect()));
            documents += u64::from(!tokens.is_empty());
            tokens.into_iter().for_each(|token| *by_hand.entry(token).or_default() += 1);
        }
        let whole = stored(&texts);
        prop_assert_eq!((whole.documents, whole.tokens), (documents, by_hand.len() as u64));
        let corpus = Corpus::new("c@1", builder().shape(), documents, &whole.common).unwrap();
        for (token, frequency) in &by_hand {
            prop_assert_eq!(corpus.frequency(token), *frequency);
        }
        let cut = cut.min(texts.len());
        let first = stored(&texts[..cut]);
        let mut extended = builder();
        extended.extend(first.documents, &first.common, &first.single).unwrap();
        texts[cut..].iter().for_each(|text| extended.add(&mut Extractor::new(), text));
        prop_assert_eq!(extended.finish(), whole);
    }
}

fn read(json: &Value, document: &mut Document<'_>) {
    match json {
        Value::Object(members) => {
            document.begin();
            for (key, value) in members {
                document.key(key);
                read(value, document);
            }
            document.end();
        }
        Value::Array(elements) => elements.iter().for_each(|element| read(element, document)),
        Value::String(text) => document.leaf(text),
        Value::Number(number) => document.leaf(&number.to_string()),
        Value::Bool(truth) => document.leaf(if *truth { "t" } else { "f" }),
        Value::Null => {}
    }
}

/// What the module says, by the whole list of leaves: every prefix of a path is looked up, the longest first.
fn leaves(json: &Value, path: Option<String>, all: &mut Vec<(String, String)>) {
    match json {
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            let path = path.as_ref().map_or(key.clone(), |path| format!("{path}.{key}"));
            leaves(value, Some(path), all);
        }),
        Value::Array(elements) => elements.iter().for_each(|it| leaves(it, path.clone(), all)),
        Value::Null => {}
        Value::String(text) => all.push((path.unwrap_or_default(), text.clone())),
        other => all.push((path.unwrap_or_default(), other.to_string())),
    }
}

fn covering(path: &str, columns: &BTreeMap<String, Value>) -> Option<usize> {
    let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    let prefixes: Vec<&str> = [""].into_iter().chain(ends.map(|end| &path[..end])).collect();
    prefixes.iter().rev().find_map(|prefix| columns.keys().position(|name| name == prefix))
}

/// The features, each with its hash, and what it weighs in each column.
type Weights = BTreeMap<(String, u64), BTreeMap<usize, f64>>;

fn add(weights: &mut Weights, bag: &Bag, column: impl Fn(usize) -> usize) {
    for Feature { text, hash, columns, weight } in bag.features() {
        assert_eq!(columns.iter().map(|(_, weight)| weight.value()).sum::<f64>(), weight.value());
        let of = weights.entry((text.clone(), *hash)).or_default();
        columns.iter().for_each(|(at, weight)| *of.entry(column(*at)).or_default() += weight.value());
    }
}

/// Nothing is called again for a level, and a long path is not searched for where no name is as long.
#[test]
fn depth_does_not_matter() {
    let recipe = RowRecipe::resolved(&json!({"a.a": 2}), &Nowhere).unwrap();
    let depth = 200_000;
    let print = recipe.simhash_document(&mut Extractor::new(), |document| {
        (0..depth).for_each(|_| {
            document.begin();
            document.key("a");
        });
        document.leaf("x");
        (0..=depth).for_each(|_| document.end());
        document.key("a");
        document.leaf("y");
    });
    assert!(print.is_some());
}

fn any_document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        "[水停区ab，. ]{0,6}".prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        Just(Value::Null)
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[ab]|a\\.b|b\\.|", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
        ]
    })
}

proptest! {
    /// Each leaf counts once, under the longest path that stands for it; sums and bag are one fingerprint.
    #[test]
    fn every_leaf_is_where_its_path_says(
        document in any_document(),
        paths in prop::collection::btree_map("|[ab](\\.[ab]){0,2}", prop::sample::select(vec![
            json!(2), json!(0), json!("log"), json!({"tokens": "words", "factor": 3}),
        ]), 1..4),
    ) {
        let recipe = RowRecipe::resolved(&json!(paths), &Nowhere).unwrap();
        let mut all = Vec::new();
        leaves(&document, None, &mut all);
        let mut extractor = Extractor::new();
        let (mut found, mut expected) = (Weights::new(), Weights::new());
        for (path, value) in &all {
            if let Some(column) = covering(path, &paths) {
                let leaf = json!({ path: paths.values().nth(column) });
                let leaf = RowRecipe::resolved(&leaf, &Nowhere).unwrap().bag(&mut extractor, [Some(value.as_str())]);
                add(&mut expected, &leaf, |_| column);
            }
        }
        let bag = recipe.bag_document(&mut extractor, |it| read(&document, it));
        add(&mut found, &bag, |column| column);
        prop_assert_eq!(found, expected);
        prop_assert_eq!(recipe.simhash_document(&mut extractor, |it| read(&document, it)), bag.simhash());
    }
}
