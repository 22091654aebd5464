use super::*;
use proptest::prelude::*;

fn text(n: u64) -> Vec<u8> {
    format!("市民来信 {n}").into_bytes()
}

/// Protects the promise of the shape: the error that was asked for is the one
/// that comes, over ten thousand texts that are new.
#[test]
fn the_error_is_the_one_asked_for() {
    for error in [0.1, 0.01, 0.001] {
        let mut bloom = Bloom::new(Shape::for_items(50_000, error).unwrap());
        (0..50_000).for_each(|n| {
            bloom.add(&text(n));
        });
        let wrong = (50_000..250_000).filter(|&n| bloom.contains(&text(n))).count() as f64 / 200_000.0;
        assert!(wrong < 1.25 * error && wrong > 0.75 * error, "{wrong} for {error}");
        assert!((bloom.current_error() / error - 1.0).abs() < 0.1);
        assert!((bloom.estimated_items() / 50_000.0 - 1.0).abs() < 0.02);
    }
}

/// Protects the two formulas against the computed table of the model.
#[test]
fn expected_errors_of_both_rules() {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(near(expected_error(50_000, 2, 5_000, Rule::All), 0.032_858_539_88));
    assert!(near(expected_error(50_000, 2, 5_000, Rule::Any), 0.329_679_953_96));
}

/// Protects P1's memory experiment: 500,000 texts of which a tenth are new,
/// 160,000 bits, two functions: 92 % kept under the rule that ran.
#[test]
fn the_papers_rule_keeps_what_the_model_says() {
    let kept = |rule| {
        let mut bloom = Bloom::new(Shape::new(160_000, 2, Hashing::City).unwrap());
        (0..50_000).filter(|&n| !bloom.add_under(&text(n), rule)).count() as f64 / 50_000.0
    };
    assert!((kept(Rule::All) - 0.92).abs() < 0.01, "{}", kept(Rule::All));
    // What is refused leaves no bits, so the filter fills more slowly than the formula says.
    assert!(kept(Rule::Any) < 0.7);
}

#[test]
fn shapes_out_of_range_are_refused() {
    assert!(Shape::new(0, 1, Hashing::City).is_err() && Shape::new(1, 0, Hashing::City).is_err());
    assert!(Shape::new(MAX_BITS + 1, 1, Hashing::City).is_err());
    for error in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(Shape::for_items(10, error).is_err());
    }
    assert!(Shape::for_items(u64::MAX, 0.01).is_err());
    assert_eq!(Shape::for_items(1000, 0.01).map(|s| (s.bits(), s.hashes())), Ok((9586, 7)));
}

/// Protects stored filters: every byte of the header is checked.
#[test]
fn damaged_bytes_are_refused() {
    let mut bloom = Bloom::new(Shape::new(100, 3, Hashing::BkdrAp).unwrap());
    bloom.add(b"a");
    let good = bloom.into_bytes();
    assert!(Bloom::open(&good[..]).is_ok());
    for (at, value) in [(0, 2), (1, 9), (2, 0), (2, 200), (5, 1), (8, 90), (8, 105), (36, 0xff)] {
        let mut bad = good.clone();
        bad[at] = value;
        assert!(Bloom::open(bad).is_err(), "byte {at}");
    }
    assert!(Bloom::open(&good[..20]).is_err() && Bloom::open([0u8; 0]).is_err());
}

proptest! {
    /// Nothing added is ever denied; merging is adding; storing changes nothing.
    #[test]
    fn merging_equals_adding(
        a in prop::collection::vec(".{0,6}", 0..40),
        b in prop::collection::vec(".{0,6}", 0..40),
        bits in 1u64..300,
        hashes in 1u32..6,
        paper: bool,
    ) {
        let hashing = if paper { Hashing::BkdrAp } else { Hashing::City };
        let shape = Shape::new(bits, hashes, hashing).unwrap();
        let filled = |texts: &[&String]| {
            let mut bloom = Bloom::new(shape);
            texts.iter().for_each(|text| { bloom.add(text.as_bytes()); });
            bloom
        };
        let mut merged = filled(&a.iter().collect::<Vec<_>>());
        merged.merge(&filled(&b.iter().collect::<Vec<_>>())).unwrap();
        let both = filled(&a.iter().chain(&b).collect::<Vec<_>>());
        prop_assert_eq!(&merged.bytes()[HEADER..], &both.bytes()[HEADER..]);
        prop_assert!(a.iter().chain(&b).all(|text| merged.contains(text.as_bytes())));
        prop_assert_eq!(Bloom::open(merged.bytes().to_vec()).unwrap(), merged);
    }
}

proptest! {
    /// Each share of the texts has the verdicts that a filter of its own gives; in one pass they are those of
    /// the filter itself.
    #[test]
    fn passes_are_filters_of_shares(
        texts in prop::collection::vec(prop::option::of("[a-c]{0,3}"), 0..60), passes in 1u64..6, bits in 8u64..4000,
        rule in prop::sample::select(vec![Rule::All, Rule::Any]),
    ) {
        let empty = || Bloom::new(Shape::new(bits, 2, Hashing::City).unwrap());
        let mut filters: Vec<Bloom> = (0..passes).map(|_| empty()).collect();
        let share = |text: &str| ((city64(text.as_bytes()) >> 20) % passes) as usize;
        let mut seen = |text: &String| filters[share(text)].add_under(text.as_bytes(), rule);
        let expected: Vec<bool> = texts.iter().map(|text| text.as_ref().is_some_and(&mut seen)).collect();
        let verdicts = seen_in_passes(empty(), rule, passes, texts.len(), |row, take| {
            texts[row].iter().for_each(|text| take(text.as_bytes()));
        });
        prop_assert_eq!(verdicts, expected);
    }
}
