//! What options say, what of a text there is to compare, which row is kept, and what makes two texts near-duplicates.

use dedup_core::dedup::{
    Alike, Comparable, DEDUP, Equal, EqualTexts, GUARD, Group, Judge, KEYS, Keep, Key, Limits, Method, Rows,
    Written,
};
use dedup_core::details::{Kinds, Learner};
use dedup_core::external::{MemoryHost, MemorySpill};
use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::groups::Pair;
use dedup_core::similarity::{Overlap, jaccard, numbers};
use dedup_core::text::Normal;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

fn options(json: Value) -> Written {
    Written::new(DEDUP, Some(json)).unwrap()
}

/// Protects the documented defaults, and that null is the default.
#[test]
fn defaults_and_nulls() {
    let default = options(json!({})).read().unwrap();
    assert_eq!((default.distance, default.alike.similarity, default.alike.n), (Some(10), 0.5, 2));
    assert_eq!((default.equal, default.group, &default.keep), (Equal::Text, Group::Star, &Keep::First));
    let read = |json| options(json).read().unwrap();
    assert_eq!(read(json!({"diameter": 3})).group, Group::Components);
    assert_eq!(read(json!({"similarity": null, "keep": null, "diameter": null, "distance": null})), default);
    assert_eq!(read(json!({"method": "exact"})).distance, None);
    assert_eq!(read(json!({"distance": 1e1, "n": 2.0})), default);
    let arguments = ["distance=7", "columns=a, b", "details=name", "similarity=0.8"].map(str::to_owned);
    let guard = Written::of_arguments(GUARD, &arguments).unwrap().read().unwrap();
    assert_eq!((guard.distance, guard.alike.similarity, guard.columns.len()), (Some(7), 0.8, 2));
}

/// Protects that a symbol without letters is itself and not the empty text.
#[test]
fn equal_by_form() {
    let same =
        |by: Equal, a, b, normal| by.form(a, normal).is_some_and(|form| by.form(b, normal) == Some(form));
    let normal = Normal::default();
    assert!(same(Equal::Text, "a b", "a b", normal) && !same(Equal::Text, "a b", "A b", normal));
    assert!(same(Equal::Normal, "a b", "A, B", normal) && !same(Equal::Normal, "👍", "…", normal));
    assert!(!same(Equal::None, "a", "a", normal));
    let simplified = Normal { markup: None, simplify: true };
    assert!(same(Equal::Normal, "樓下停水", "楼下停水", simplified));
    assert!(!same(Equal::Normal, "樓下停水", "楼下停水", normal));
}

/// Protects that one option replaces one option, and that a distance is one of fingerprints.
#[test]
fn one_option_replaces_one() {
    let texts = json!({"method": "text", "recipe": {}, "distance": 24, "similarity": 0.5, "n": 2, "details": ["name"]});
    let over = |json| {
        let mut call = options(json);
        let taken = call.over(texts.as_object().unwrap());
        (call.read().unwrap(), taken.keys().cloned().collect::<Vec<_>>().join(" "), call.implied)
    };
    let (all, _, _) = over(json!({}));
    for (name, value) in texts.as_object().unwrap() {
        let same = over(json!({ name: value, "method": "text" }));
        assert_eq!(same.0, all, "{name}");
    }
    let (read, taken, implied) = over(json!({"similarity": 0.8, "details": null}));
    assert_eq!((read.method, read.distance, read.alike.similarity), (Method::Text, Some(24), 0.8));
    assert_eq!((taken.as_str(), implied), ("details distance method n recipe", None));
    let (read, _, implied) = over(json!({"distance": 3}));
    assert_eq!((read.method, read.alike.n, implied), (Method::Fingerprint, 2, Some("distance")));
    assert_eq!(over(json!({"distance": 3, "method": "text"})).0.method, Method::Text);
    assert_eq!(over(json!({"similarity": 0})).2, Some("similarity"));
    assert_eq!(over(json!({"details": []})).0.alike.details, None);
    let asks = |json| options(json).lets_texts_choose();
    assert!(asks(json!({})) && asks(json!({"n": 2})) && asks(json!({"distance": 3, "recipe": {}})));
    assert!(!asks(json!({"method": "records"})) && !asks(json!({"method": "exact"})) && !asks(texts.clone()));
}

/// Protects that the manual's table of options is what is read: names, values, defaults and who takes them.
#[test]
fn the_manual_has_all_options() {
    let manual = include_str!("../../docs/reference.md");
    let rows: Vec<&str> = manual.lines().skip_while(|line| *line != "## Options").collect();
    for key in &KEYS {
        let row = rows.iter().find(|row| row.starts_with(&format!("`{}` | ", key.name)));
        assert_eq!(row.copied().unwrap_or_default(), key.row(), "docs/reference.md");
    }
}

fn read<T: AsRef<str>>(texts: &[T]) -> Rows<MemorySpill> {
    let mut rows = Rows::new(MemorySpill::default(), Keep::First);
    texts.iter().for_each(|text| _ = rows.add(b"", text.as_ref(), Comparable::Plain, 0).unwrap());
    rows
}

fn kind(text: &str, recipe: serde_json::Value) -> Comparable {
    Comparable::of(text, &TextRecipe::from_json(&recipe).unwrap())
}

/// Protects what is empty, by the recipe, and that symbols are not: their copies may go, those of nothing may not.
#[test]
fn only_words_and_symbols_are_something() {
    for empty in
        ["", " \t\n\u{3000}", "!!!", "…", "？！。", "\u{200B}\u{FEFF}", "—— *** ——", "~+=$", "＋～", "\u{7}"]
    {
        assert_eq!(kind(empty, json!({})), Comparable::Empty, "{empty:?}");
    }
    for symbols in ["😀", "♥♥", " ★ …", "→", "€", "\u{E000}"] {
        assert_eq!(kind(symbols, json!({})), Comparable::Plain, "{symbols}");
    }
    for (text, recipe, expected) in [
        ("a", json!({}), Comparable::Near),
        ("… 7", json!({}), Comparable::Near),
        ("<p>…</p>", json!({}), Comparable::Near),
        ("<p>…</p>", json!({"markup": "html"}), Comparable::Empty),
        ("<p>&nbsp;<br>", json!({"markup": "html"}), Comparable::Empty),
        ("<p>♥</p>", json!({"markup": "html"}), Comparable::Plain),
        ("<p>water</p>", json!({"markup": "html"}), Comparable::Near),
        ("The, of AND the", json!({}), Comparable::Near),
        ("The, of AND the", json!({"stop": "en"}), Comparable::Empty),
        ("The ♥", json!({"stop": "en"}), Comparable::Near),
        ("The water", json!({"stop": "en"}), Comparable::Near),
        ("的的", json!({"stop": ["的"]}), Comparable::Empty),
        ("的水", json!({"stop": ["的"]}), Comparable::Near),
    ] {
        assert_eq!(kind(text, recipe.clone()), expected, "{text} {recipe}");
    }
}

/// Protects texts that begin with much that is nothing, of which only the beginning is looked at first.
#[test]
fn what_counts_may_stand_at_the_end() {
    for (before, recipe) in
        [("the ", json!({"stop": "en"})), ("<br a='x'> ", json!({"markup": "html"})), ("… ", json!({}))]
    {
        for times in [1, 8, 20, 300] {
            let nothing = before.repeat(times);
            assert_eq!(kind(&nothing, recipe.clone()), Comparable::Empty, "{before}{times}");
            assert_eq!(
                kind(&(nothing.clone() + "water"), recipe.clone()),
                Comparable::Near,
                "{before}{times}"
            );
            assert_ne!(kind(&(nothing + "♥"), recipe.clone()), Comparable::Empty, "{before}{times}");
        }
    }
}

/// As PostgreSQL orders floating-point numbers.
fn by_float(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

proptest! {
    /// Ranks order as the column does, in both directions, and NULL is last.
    #[test]
    fn ranks_order_as_the_column(a in any::<i64>(), b in any::<i64>(), x in any::<f64>(), y in any::<f64>()) {
        prop_assume!(a.max(b) < i64::MAX - 1 && a.min(b) > i64::MIN + 1);
        prop_assert_eq!(Key::Integer(a).rank(false).cmp(&Key::Integer(b).rank(false)), a.cmp(&b));
        prop_assert_eq!(Key::Integer(a).rank(true).cmp(&Key::Integer(b).rank(true)), b.cmp(&a));
        prop_assert_eq!(Key::Float(x).rank(false).cmp(&Key::Float(y).rank(false)), by_float(x, y));
        prop_assert_eq!(Key::Float(x).rank(true).cmp(&Key::Float(y).rank(true)), by_float(y, x));
        for descending in [false, true] {
            prop_assert!(Key::Integer(a).rank(descending) < Key::Null.rank(descending));
            prop_assert!(Key::Float(x).rank(descending) < Key::Null.rank(descending));
        }
    }

    /// The least standing is the row that going through the group would choose.
    #[test]
    fn the_least_standing_is_kept(lengths in prop::collection::vec(0usize..4, 1..12)) {
        let kept = |keep: Keep| {
            let standing = |(number, &length): (usize, &usize)| (keep.rank(number as i64, length), number);
            lengths.iter().enumerate().map(standing).min().map(|(_, number)| number)
        };
        let longest = lengths.iter().max().and_then(|most| lengths.iter().position(|length| length == most));
        prop_assert_eq!(kept(Keep::First), Some(0));
        prop_assert_eq!(kept(Keep::Last), Some(lengths.len() - 1));
        prop_assert_eq!(kept(Keep::Longest), longest);
    }
}

/// Protects the ends of the ranges and the signs of zero and NaN.
#[test]
fn special_values() {
    assert_eq!(Key::Float(-0.0).rank(false), Key::Float(0.0).rank(false));
    assert_eq!(Key::Float(-f64::NAN).rank(false), Key::Float(f64::NAN).rank(false));
    assert!(Key::Float(f64::INFINITY).rank(false) < Key::Float(f64::NAN).rank(false));
    assert!(Key::Integer(i64::MAX).rank(false) < Key::Null.rank(false));
    assert!(Key::Integer(i64::MIN).rank(true) < Key::Null.rank(true));
}

/// One text written otherwise, part by part, for a recipe that reads HTML and simplifies.
fn written(parts: &[(usize, usize)]) -> String {
    const WAYS: [[&str; 4]; 12] = [
        ["停水", "停水", "<b>停</b>水", "停\u{200B}水"],
        ["楼下", "樓下", "樓，下", "楼\n下"],
        ["物业", "物業", "&#x7269;業", "物业<!-- 电 -->"],
        ["A3", "a3", "Ａ３", "<i>a</i>3"],
        [" Große Straße ", "，GROSSE  STRASSE。", "<p>große STRASSE</p>", " groSSe-Straße "],
        [" ΟΔΌΣ ", "<p>οδός</p>", " οδόσ ", "(Οδός)"],
        [" café ", " CAFE\u{301} ", "&nbsp;caf&eacute;,", " Café "],
        ["第①", "第1", "第１", "<u>第</u>1"],
        ["，", "", " ", "<br>"],
        ["。", "……", "\n", "<script>停电 power</script>"],
        ["豈", "\u{F900}", "岂", "豈"],
        ["乾隆", "乾，隆", "<b>乾</b>隆", "乾隆"],
    ];
    parts.iter().map(|&(part, way)| WAYS[part % WAYS.len()][way % 4]).collect()
}

proptest! {
    /// Two texts of one normal form have one fingerprint and similarity 1, are equal by it and in one group, whatever
    /// else the recipe says.
    #[test]
    fn one_normal_form_is_one_text(
        parts in prop::collection::vec((0usize..12, 0usize..4, 0usize..4), 1..12),
        tokens in prop::sample::select(vec!["words", "chars", "words+chars", "shingles"]),
        stop in prop::sample::select(vec!["en", "zh"]),
        n in 1usize..6,
    ) {
        let recipe = json!({"tokens": tokens, "markup": "html", "simplify": true, "stop": stop});
        let recipe = TextRecipe::from_json(&recipe).unwrap();
        let normal = recipe.normal;
        let [a, b] = [
            written(&parts.iter().map(|&(part, way, _)| (part, way)).collect::<Vec<_>>()),
            written(&parts.iter().map(|&(part, _, way)| (part, way)).collect::<Vec<_>>()),
        ];
        prop_assume!(normal.of(&a) == normal.of(&b));
        prop_assert_eq!(Extractor::new().simhash(&a, &recipe), Extractor::new().simhash(&b, &recipe));
        prop_assert_eq!(normal.of(&normal.form(&a)), normal.of(&a));
        prop_assert_eq!(Comparable::of(&a, &recipe), Comparable::of(&b, &recipe));
        if normal.of(&a).is_empty() {
            return Ok(());
        }
        let alike = Alike { similarity: 1.0, n, details: None, normal, statistics: None, weighed: false };
        prop_assert_eq!(alike.likeness(&a, &b), 1.0);
        prop_assert!(alike.one(&a, &b).is_some() && Equal::Normal.form(&a, normal) == Equal::Normal.form(&b, normal));
        let mut judge = Judge::new(alike.clone(), 2, Limits { memory: 1 << 16, sketches: 0, threads: 1 }, MemorySpill::default());
        let mut rows = read(&[&a, &b]);
        judge.add(Pair { a: 0, b: 1, distance: 0 }, &mut rows.texts, &mut MemoryHost, |_, _| Ok(())).unwrap();
        judge.finish(&mut rows.texts, &mut MemoryHost, |_, _| Ok(())).unwrap();
        prop_assert_eq!((judge.verified, jaccard(&normal.form(&a), &normal.form(&b), n)), (1, 1.0));
    }

    /// Each text is given its first equal, within little memory and in plenty. Texts of one hash are told apart: here
    /// those that are said to be of other kinds.
    #[test]
    fn equals_a_map(
        texts in prop::collection::vec(("[a-c]{0,3}", 0u8..3), 0..300),
        memory in prop::sample::select(vec![1usize, 1 << 20]),
    ) {
        let mut set = EqualTexts::new(memory, MemorySpill::default());
        for (number, (text, _)) in (0..).zip(&texts) {
            set.add(number, text.as_bytes()).unwrap();
        }
        let mut found: Vec<u32> = (0..texts.len() as u32).collect();
        set.finish(
            |a, b| Ok(texts[a as usize] == texts[b as usize]),
            |first, copy| {
                found[copy as usize] = first;
                Ok(())
            },
        ).unwrap();
        let mut first = HashMap::new();
        for (number, text) in (0..).zip(&texts) {
            prop_assert_eq!(found[number as usize], *first.entry(text).or_insert(number));
        }
    }

    /// What an index of n-grams is asked for finds all that is alike.
    #[test]
    fn what_is_alike_is_found_by_its_ngrams(
        texts in prop::collection::vec("[停水电電路ab1]{1,9}", 2..30),
        similarity in prop::sample::select(vec![0.2, 0.5, 0.8, 1.0]),
        (n, weighed) in (1usize..4, any::<bool>()),
    ) {
        let mut learner = Learner::default();
        texts.iter().for_each(|text| learner.add(text));
        let statistics = weighed.then(|| Arc::new(learner.learn(n)));
        let alike = Alike { similarity, n, details: None, normal: Normal::default(), statistics, weighed };
        for (a, b) in texts.iter().flat_map(|a| texts.iter().map(move |b| (a, b))) {
            let (least, grams) = alike.query(a);
            let shared = Overlap::of_sets(grams, numbers(b, n)).shared;
            prop_assert!(alike.one(a, b).is_none() || shared >= least, "{} {}", a, b);
        }
    }

    /// What is accepted is what comparing pair by pair accepts, in the same order,
    /// whatever the threads, batches and memory.
    #[test]
    fn judges_as_one_by_one(
        texts in prop::collection::vec("[停水电電路ab1]{0,6}", 2..40),
        simplify in any::<bool>(),
        repeated in 1usize..60,
        similarity in prop::sample::select(vec![0.0, 0.3, 0.5, 1.0]),
        numbers in any::<bool>(),
        threads in 1usize..4,
        memory in 0usize..200,
    ) {
        let kinds = Kinds { names: false, dates: false, numbers: true, slots: false };
        let normal = Normal { markup: None, simplify };
        let alike = Alike { similarity, n: 2, details: numbers.then_some(kinds), normal, statistics: None, weighed: false };
        let pairs: Vec<Pair> = (0..repeated).flat_map(|a| (0..texts.len()).map(move |b| (a, b)))
            .map(|(a, b)| Pair { a: (a % texts.len()) as i64, b: b as i64, distance: 0 }).collect();
        let mut found = Vec::new();
        let mut judge = Judge::new(alike.clone(), texts.len(), Limits { memory, sketches: 0, threads }, MemorySpill::default());
        let mut rows = read(&texts);
        let mut accept = |pair: Pair, known: Option<f64>| {
            let [a, b] = [pair.a, pair.b].map(|row| &texts[row as usize]);
            assert_eq!(known, (similarity > 0.0).then(|| alike.likeness(a, b)));
            found.push(pair);
            Ok(())
        };
        for &pair in &pairs {
            judge.add(pair, &mut rows.texts, &mut MemoryHost, &mut accept).unwrap();
        }
        judge.finish(&mut rows.texts, &mut MemoryHost, &mut accept).unwrap();
        let holds = |pair: &Pair| alike.one(&texts[pair.a as usize], &texts[pair.b as usize]).is_some();
        let expected: Vec<_> = pairs.iter().copied().filter(holds).collect();
        prop_assert_eq!((judge.compared, judge.verified), (pairs.len() as u64, expected.len() as u64));
        prop_assert_eq!(found, expected);
    }
}
