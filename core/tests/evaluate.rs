//! What is measured of texts and fingerprints, and what is suggested by it.

use dedup_core::details::Kinds;
use dedup_core::evaluate::{
    Background, Chance, Profile, RadiusRow, Score, Suggestion, TextSample, pairs_within, weighed,
    without_copies,
};
use dedup_core::external::MemoryHost;
use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::fingerprint::{Prints, hamming};
use dedup_core::groups::PairSearch;
use dedup_core::random::SplitMix64;
use dedup_core::similarity::{Overlap, numbers};
use dedup_core::text::Normal;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn prints(count: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(1);
    (0..count).map(|_| random.next()).collect()
}

/// On random fingerprints the expectation is that of the binomial.
#[test]
fn random_fingerprints_are_rarely_near() {
    let background = Background::measure(&prints(2000)[..]);
    let calibration = background.calibrate();
    let within_16 = &calibration.rows[16];
    let exact = 1.999e6 * 4.1e-5;
    assert!((within_16.false_pairs / exact - 1.0).abs() < 0.5, "{}", within_16.false_pairs);
    assert!(calibration.rows[3].false_pairs < 1e-3 && calibration.verified >= 13);
}

#[test]
fn near_duplicates_show_in_the_nearest_neighbours() {
    let mut all = prints(1000);
    all.extend(all.clone().iter().map(|print| print ^ 0b11));
    let background = Background::measure(&all[..]);
    assert!(background.nearest.iter().all(|pair| pair.row.abs_diff(pair.nearest) == 1000));
    let calibration = background.calibrate();
    assert_eq!((calibration.rows[1].nearest, calibration.rows[2].nearest), (0.0, 1.0));
    assert!(calibration.rows[8].false_pairs < 1.0, "{:?}", calibration.rows[8]);
}

/// Of many rows a search counts what comparing all counts of fewer.
/// Copies are not near by chance: large families of them make no distance narrower.
#[test]
fn families_of_copies_are_no_chance() {
    for (parts, family, usual) in [(1, 2, 10), (1, 50, 10), (1, 100, 10), (4, 50, 31), (4, 100, 31)] {
        let mut random = SplitMix64::new(1);
        let mut words: Vec<u64> = Vec::new();
        while words.len() < 2000 * parts {
            let first: Vec<u64> = (0..parts).map(|_| random.next()).collect();
            for _ in 0..family {
                let at = words.len();
                words.extend(&first);
                (0..random.below(5)).for_each(|_| words[at + random.below(parts)] ^= 1 << random.below(64));
            }
        }
        let chosen = Background::measure(Prints::of_parts(&words, parts)).of_hashes();
        assert_eq!((chosen.radius, chosen.nearest), (usual, 1.0), "{parts} {family}");
        assert!(chosen.false_pairs < 0.1, "{chosen:?}");
    }
}

#[test]
fn a_search_counts_all_pairs() {
    let prints: Vec<u64> = family(1, 40_001, 3);
    let search = PairSearch { distance: 9, memory: 1 << 20, threads: 1 };
    let (last, first) = prints.split_last().unwrap();
    let mut expected = pairs_within(first.into(), search, &mut MemoryHost, || ()).unwrap();
    assert_eq!((expected.len(), expected[64]), (65, 40_000 * 39_999 / 2));
    expected.truncate(10);
    for (most, count) in (0..).zip(&mut expected) {
        *count += first.iter().filter(|&&print| hamming(print, *last) <= most).count() as u64;
    }
    let mut found = 0;
    assert_eq!(pairs_within(prints[..].into(), search, &mut MemoryHost, || found += 1).unwrap(), expected);
    assert_eq!(found, expected[9]);
}

#[test]
fn too_few_rows_are_no_error() {
    for count in 0..3 {
        let calibration = Background::measure(&prints(count)[..]).calibrate();
        let is_number = |row: &RadiusRow| row.false_pairs.is_finite() && row.false_pairs.is_sign_positive();
        assert!(calibration.rows.iter().all(is_number));
    }
}

/// Fingerprints, `copies` in ten of them near another one.
fn family(seed: u64, count: usize, copies: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(seed);
    let mut all: Vec<u64> = Vec::new();
    for _ in 0..count {
        let other = all.get(random.below(all.len().max(1))).copied();
        all.push(match other.filter(|_| random.below(10) < copies as usize) {
            Some(other) => other ^ (random.next() & random.next() & random.next() & random.next()),
            None => random.next() & random.next() | random.next() & random.next(),
        });
    }
    all
}

#[test]
fn the_distance_never_widens_with_the_rows_and_is_what_is_chosen_for_them() {
    for (seed, (count, copies)) in
        [(0, 0), (1, 0), (2, 9), (7, 5), (100, 3), (500, 0), (1500, 2), (3000, 9)].into_iter().enumerate()
    {
        let mut background = Background::measure(&family(seed as u64, count, copies)[..]);
        let by_rows = background.by_rows();
        let written = serde_json::to_value(&by_rows).unwrap();
        let most_rows: BTreeMap<u32, Option<u64>> = serde_json::from_value(written).unwrap();
        assert!(most_rows.values().filter(|most| most.is_none()).count() == 1, "{by_rows:?}");
        let mut widest = 64;
        let edges = most_rows.values().flatten().flat_map(|&most| [most, most + 1]);
        let mut sizes: Vec<u64> = (0..=33).map(|power| 1 << power).chain(edges).collect();
        sizes.sort_unstable();
        for rows in sizes {
            background.rows = rows;
            let distance = by_rows.distance(rows);
            assert_eq!(distance, Some(background.calibrate().once), "{rows} of {count}");
            assert!(distance <= Some(widest), "{rows} of {count}");
            widest = distance.unwrap_or(0);
        }
    }
}

/// In a small table most that is near is a duplicate; it tells how the table will be when it has grown.
#[test]
fn few_rows_with_duplicates_say_nearly_what_many_say() {
    let many = Background::measure(&family(1, 5000, 2)[..]).by_rows();
    for (seed, count) in [(2, 3), (3, 10), (4, 30), (5, 100), (6, 500)] {
        let few = Background::measure(&family(seed, count, 5)[..]).by_rows();
        for rows in [1000, 10_000, 100_000, 1_000_000] {
            let [few, many] = [&few, &many].map(|it| it.distance(rows).unwrap_or(64));
            assert!(few.abs_diff(many) <= 3, "{count} say {few}, many {many} for {rows} rows");
        }
    }
}

/// Texts of `length` letters out of an alphabet of `letters`.
fn texts(count: usize, length: usize, letters: usize) -> Vec<String> {
    let mut random = SplitMix64::new(letters as u64);
    let letter =
        |random: &mut SplitMix64| char::from_u32('一' as u32 + random.below(letters) as u32).unwrap_or('一');
    (0..count).map(|_| (0..length).map(|_| letter(&mut random)).collect()).collect()
}

#[test]
fn a_rich_alphabet_leaves_the_threshold_alone() {
    assert_eq!(Chance::measure(&texts(3000, 30, 2000), 2).threshold(100_000, 0.333), 0.333);
}

#[test]
fn a_poor_one_raises_it_and_few_pairs_pass() {
    let all = texts(3000, 40, 12);
    let threshold = Chance::measure(&all, 2).threshold(3000, 0.2);
    assert!((0.25..0.5).contains(&threshold), "{threshold}");
    let sets: Vec<Vec<i64>> = all.iter().map(|text| numbers(text, 2)).collect();
    let pairs = (0..3000).flat_map(|b| (0..b).map(move |a| (a, b)));
    let passing =
        pairs.filter(|&(a, b)| Overlap::of_sorted(&sets[a], &sets[b]).jaccard() >= threshold).count();
    assert!(passing <= 45, "{passing} of 4,498,500 pass {threshold}");
}

/// What it is for: copies in a small table are not taken for chance.
#[test]
fn near_duplicates_do_not_raise_it() {
    let mut all = texts(500, 30, 2000);
    all.extend(all.clone());
    assert_eq!(Chance::measure(&all, 2).threshold(1000, 0.333), 0.333);
}

#[test]
fn few_texts_are_no_error() {
    for texts in [&[][..], &["停水"], &["停水", ""], &["停水", "停电"], &["停水", "停水", "停水"]]
    {
        assert!((0.333..=0.5).contains(&Chance::measure(texts, 2).threshold(3, 0.333)));
    }
}

proptest! {
    /// Counting by sizes is counting pair by pair.
    #[test]
    fn counts_every_pair(rows in prop::collection::vec((0u32..5, prop::option::of(0u64..4)), 0..40)) {
        let mut expected = Score { found: 0, truth: 0, correct: 0 };
        for (at, b) in rows.iter().enumerate() {
            for a in &rows[..at] {
                let (found, truth) = (a.0 == b.0, a.1.is_some() && a.1 == b.1);
                expected.found += u64::from(found);
                expected.truth += u64::from(truth);
                expected.correct += u64::from(found && truth);
            }
        }
        prop_assert_eq!(Score::of_rows(&rows), expected);
    }
}

#[test]
fn nothing_has_no_share() {
    let score = Score::of_rows(&[]);
    assert_eq!((score.precision(), score.recall(), score.f1()), (None, None, None));
    assert_eq!(Score { found: 2, truth: 2, correct: 0 }.f1(), Some(0.0));
}

fn suggestion(text: &str) -> Suggestion {
    let mut profile = Profile::default();
    (0..5).for_each(|_| profile.add(text));
    profile.add("");
    assert_eq!(profile.texts(), 5);
    let suggestion = profile.suggest(&[text; 5], 5);
    assert!(TextRecipe::from_json(&suggestion.recipe).is_ok());
    suggestion
}

#[test]
fn length_and_script_decide() {
    let short = suggestion("小区停水三天怎么办");
    assert!(short.short && short.recipe["tokens"] == "chars");
    let long = suggestion(&"小区停水三天怎么办".repeat(9));
    assert_eq!((long.short, long.n, long.threshold), (false, 3, 0.25));
    let short = suggestion("No water for three days");
    assert!(short.short && short.recipe["tokens"] == "words");
    let spaced = suggestion(&"No water for three days ".repeat(9));
    assert_eq!((spaced.short, spaced.n, spaced.threshold), (false, 5, 0.333));
    let page = suggestion(&"<p>小区停水三天怎么办</p>".repeat(9));
    assert!(page.recipe["markup"] == "html" && page.reason.contains("HTML"));
}

/// Protects letters by one form: fingerprints go by the words in which they differ, and those of other texts by all their words.
#[test]
fn words_that_most_texts_have_weigh_less() {
    let word = |at: u64| format!("{:08x}", SplitMix64::new(at).next() >> 32);
    let recipe = json!({"tokens": "words", "weight": "log"});
    let letters: Vec<String> = (0..400)
        .map(|row| {
            let kind = ["court", "park", "lane", "yard"][row as usize % 4];
            format!(
                "the lift of {} {kind} is broken again and nobody comes to mend it, says {}",
                word(row),
                word(row + 1000)
            )
        })
        .collect();
    let weighed_recipe = weighed(&recipe, &letters).unwrap_or_default();
    let terms = &weighed_recipe["terms"];
    assert_eq!((&terms["lift"], &terms["park"]), (&json!(0.01), &json!(0.05)));
    assert!(terms.get(word(7)).is_none() && weighed_recipe["weight"] == "log");
    let distance = |recipe: &Value| {
        let recipe = TextRecipe::from_json(recipe).unwrap();
        let mut extractor = Extractor::new();
        let prints: Vec<u64> = letters.iter().filter_map(|text| extractor.simhash(text, &recipe)).collect();
        Background { rows: 100_000, ..Background::measure(&prints[..]) }.calibrate().once
    };
    assert!(distance(&weighed_recipe) >= distance(&recipe) + 8);
    let prose: Vec<String> = (0..400)
        .map(|row| (0..20).map(|at| word(row * 20 + at)).collect::<Vec<_>>().join(" ") + " the lift of")
        .collect();
    assert_eq!(weighed(&recipe, &prose), None);
    assert_eq!(weighed(&recipe, &letters[..50]), None);
}

/// Protects letters that thousands sign: fingerprints by what few texts say would be by the names alone, and divide the copies.
#[test]
fn copies_of_one_letter_are_no_letters_of_one_form() {
    let word = |at: u64| {
        let letters = SplitMix64::new(at)
            .next()
            .to_string()
            .bytes()
            .take(7)
            .map(|byte| char::from(byte + 49))
            .collect::<String>();
        letters[..1].to_uppercase() + &letters[1..]
    };
    let letters = |matters: u64, estates: bool| -> Vec<String> {
        let letter = |row: u64| {
            let says =
                (0..40).map(|at| word(row % matters * 100 + at).to_lowercase()).collect::<Vec<_>>().join(" ");
            let estate = if estates {
                format!(" The lift of {} Court is broken.", word(row + 50_000))
            } else {
                String::new()
            };
            format!(
                "Dear Councillor,\n\nplease see to it that {says}.{estate}\n\nYours sincerely,\n{} {}",
                word(row + 10_000),
                word(row + 20_000)
            )
        };
        (0..400).map(letter).collect()
    };
    let unlike = |texts: &[String]| {
        without_copies(texts, 5, 0.5, Kinds { slots: true, ..Kinds::NAMES }, Normal::default())
            .map(|it| it.len())
    };
    assert_eq!([1, 4].map(|matters| unlike(&letters(matters, false))), [Some(1), Some(4)]);
    assert_eq!(unlike(&letters(1, true)), None, "each is about an estate of its own");
    assert_eq!(unlike(&letters(400, false)), None, "none are alike");
}

/// Protects tables of short texts of few words: all would be compared with each other, for minutes, or found alike. Not those of
/// many copies.
#[test]
fn short_texts_are_compared_where_that_ends() {
    let random = |of: u64| SplitMix64::new(of).next();
    let short_of = |text: &dyn Fn(u64) -> String, rows: u64| {
        let texts: Vec<String> = (0..1000).map(text).collect();
        let mut profile = Profile::default();
        texts.iter().for_each(|text| profile.add(text));
        let suggestion = profile.suggest(&texts, rows);
        assert_eq!(suggestion.short, suggestion.reason.contains("So the texts themselves"));
        suggestion.short
    };
    let short = |vocabulary: u64, different: u64, rows: u64| {
        let word = |at: u64| format!("{:06x}", random(random(at) % vocabulary) >> 40);
        let text =
            |row: u64| (0..10).map(|at| word(10 * (row % different) + at)).collect::<Vec<_>>().join(" ");
        short_of(&text, rows)
    };
    assert_eq!([10_000, 100_000].map(|rows| short(300, 1000, rows)), [true, false]);
    assert!(short(300, 20, 100_000));
    // Nearly all pairs are alike: to write them down would fill a disk.
    let flags = |row: u64| {
        (0..30).map(|at| if random(row) >> at & 1 == 0 { "Y" } else { "N" }).collect::<Vec<_>>().join(" ")
    };
    assert_eq!([10_000, 100_000].map(|rows| short_of(&flags, rows)), [true, false]);
}

/// Protects what frames ask for: the texts are compared where no distance reaches those at the limit, and their n-grams are not
/// so common that comparing them would take long.
#[test]
fn framed_texts_are_compared_where_that_ends() {
    let head = "Thank you for your message, which has reached the service desk of the town and will be answered within five days. \
                The number of your message is needed for whatever you ask us of it later on. You wrote: ";
    let framed = |vocabulary: u64, rows: u64| {
        let random = |of: u64| SplitMix64::new(of).next();
        let word = |at: u64| format!("{:08x}", random(random(at) % vocabulary) >> 32);
        let text = |row: u64| (0..40).map(|at| word(40 * row + at)).collect::<Vec<_>>().join(" ");
        let texts: Vec<String> = (0..300).map(|row| format!("{head}{}", text(row))).collect();
        let mut profile = Profile::default();
        texts.iter().for_each(|text| profile.add(text));
        let suggestion = profile.suggest(&texts, rows);
        assert!(!suggestion.short && suggestion.reason.starts_with("Many say the same"), "{suggestion:?}");
        [0, 64].map(|distance| suggestion.compares_texts(distance))
    };
    assert_eq!(framed(60_000, 300), [true, false]);
    assert_eq!(framed(60_000, 1_000_000), [false, false]);
    assert_eq!(framed(200, 3_000), [true, false]);
    assert_eq!(framed(200, 100_000), [false, false]);
}

#[test]
fn no_text_is_no_error() {
    assert!(Profile::default().suggest(&[""; 0], 0).reason.starts_with("0 texts"));
}

fn sample(texts: impl Iterator<Item = String>, most: (usize, usize)) -> TextSample {
    let mut sample = TextSample::new(most.0, most.1);
    texts.for_each(|text| sample.add(&text));
    sample
}

#[test]
fn few_are_all_drawn() {
    let texts = || (0..7).map(|n| n.to_string());
    assert_eq!(sample(texts(), (7, 7)).texts(), texts().collect::<Vec<_>>());
    assert!(sample([].into_iter(), (7, 7)).texts().is_empty());
}

/// Each part of a long table has its share.
#[test]
fn many_are_drawn_evenly() {
    let drawn = sample((0..100_000).map(|n| n.to_string()), (1000, usize::MAX));
    let (seen, bytes, texts) = (drawn.seen, drawn.bytes, drawn.texts());
    assert_eq!((seen, bytes), (100_000, texts.iter().map(String::len).sum()));
    let mut tenths = [0; 10];
    let drawn: Vec<usize> = texts.iter().map(|text| text.parse().unwrap()).collect();
    assert!(drawn.len() == 1000 && drawn.is_sorted());
    drawn.iter().for_each(|n| tenths[n / 10_000] += 1);
    // Five standard deviations.
    assert!(tenths.iter().all(|tenth| (53..147).contains(tenth)), "{tenths:?}");
}

/// Protects memory from long texts; one at least is kept.
#[test]
fn bytes_are_bounded() {
    let long = |n: usize| (0..n).map(|n| "x".repeat(1 + n % 50));
    let drawn = sample(long(10_000), (1000, 5000));
    assert!((4900..=5000).contains(&drawn.bytes), "{}", drawn.bytes);
    assert_eq!(sample(long(10_000), (1000, 0)).texts().len(), 1);
}
