//! Texts that stand in longer ones go over to them, as the definition has it.

mod common;

use common::interrupted_after;
use dedup_core::dedup::{Comparable, DEDUP, EqualTexts, Keep, Limits, Rows, Written, find};
use dedup_core::external::{MemoryHost, MemorySpill};
use dedup_core::features::TextRecipe;
use dedup_core::random::SplitMix64;
use proptest::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// The kept row of each of different texts; with no limit none is looked for in another.
fn kept<T: AsRef<str>>(texts: &[T], least: f64) -> Vec<usize> {
    let options = json!({"method": "exact", "contained": least});
    let options = Written::new(DEDUP, Some(options)).unwrap().read().unwrap();
    let mut rows = Rows::new(MemorySpill::default(), Keep::First);
    let mut hashes = EqualTexts::new(1 << 20, MemorySpill::default());
    for (row, text) in texts.iter().enumerate() {
        rows.add(b"", text.as_ref(), Comparable::Plain, 0).unwrap();
        hashes.add(row as u32, text.as_ref().as_bytes()).unwrap();
    }
    let limits = Limits { memory: 1 << 20, sketches: 0, threads: 1 };
    let recipe = TextRecipe::default();
    let mut found = find(options, &recipe, rows, hashes, false, limits, &mut MemoryHost).unwrap();
    (0..texts.len()).map(|row| found.keeper(row)).collect()
}

/// `count` texts of so many words, each out of as many.
fn texts(seed: u64, count: usize, length: usize, of: usize) -> Vec<String> {
    let mut random = SplitMix64::new(seed);
    let mut text = || (0..length).map(|_| format!("w{}", random.below(of))).collect::<Vec<_>>().join(" ");
    (0..count).map(|_| text()).collect()
}

/// Checks for interrupts that looking for texts in others makes.
fn checks(texts: &[String]) -> usize {
    let [with, without] =
        [0.7, 0.0].map(|least| interrupted_after(usize::MAX, || drop(kept(texts, least))).1);
    with - without
}

proptest! {
    /// Compared are all pairs of enough share of which the lighter text has enough rare words, but for those with a text
    /// that has more partners than two; each text goes over to the first, to the one with the greatest share.
    #[test]
    fn equals_the_definition(
        texts in prop::collection::btree_set(prop::collection::vec(0u8..60, 1..9), 2..60),
        seed: u64,
        least in 0.5f64..0.95,
    ) {
        let mut texts: Vec<Vec<u8>> = texts.into_iter().collect();
        let mut random = SplitMix64::new(seed);
        (1..texts.len()).for_each(|at| texts.swap(at, random.below(at + 1)));
        let lines: Vec<String> =
            texts.iter().map(|text| text.iter().map(|word| format!("w{word} ")).collect()).collect();
        let sets: Vec<BTreeSet<u8>> = texts.iter().map(|text| text.iter().copied().collect()).collect();
        let n = sets.len() as f64;
        let mut frequency: BTreeMap<u8, f64> = BTreeMap::new();
        sets.iter().flatten().for_each(|word| *frequency.entry(*word).or_default() += 1.0);
        let of = |word: &u8| (n / frequency[word]).ln();
        let weight = |set: &BTreeSet<u8>| set.iter().map(of).sum::<f64>();
        let mean = sets.iter().map(BTreeSet::len).sum::<usize>() as f64 / n;
        let share = |part: &BTreeSet<u8>, whole: &BTreeSet<u8>| {
            let longer = (whole.len() as f64 / mean).ln().max(0.0);
            let both = || part.intersection(whole).map(of);
            let evidence = both().map(|weight| (weight - longer).max(0.0)).sum::<f64>() - 3.0 * n.ln();
            (if evidence >= 0.0 { both().sum::<f64>() / weight(part) } else { 0.0 }, evidence)
        };
        let rare = (2.0 * n.sqrt()).max(8.0);
        let mut pairs: Vec<(usize, usize, f64)> = Vec::new();
        for a in 0..sets.len() {
            for b in 0..sets.len() {
                let (light, heavy) = (weight(&sets[a]), weight(&sets[b]));
                let equal = sets[a] == sets[b];
                // Sums of the same weights in another order are the same but for rounding.
                if !equal && (light - heavy).abs() < 1e-9 {
                    let close = [share(&sets[a], &sets[b]), share(&sets[b], &sets[a])];
                    prop_assume!(close.iter().all(|(share, _)| *share < least - 1e-9));
                } else if light < heavy || equal && a < b {
                    let (share, evidence) = share(&sets[a], &sets[b]);
                    prop_assume!((share - least).abs() > 1e-9 && evidence.abs() > 1e-9);
                    let looked_for: f64 = sets[a].iter().filter(|word| frequency[word] <= rare).map(of).sum();
                    let spare = looked_for - (1.0 - least) * light;
                    prop_assume!(share < least || spare.abs() > 1e-6);
                    if share > least && spare > 0.0 {
                        pairs.push((a.max(b), a.min(b), share));
                    }
                }
            }
        }
        let mut partners = vec![0; sets.len()];
        pairs.iter().for_each(|pair| [pair.0, pair.1].iter().for_each(|text| partners[*text] += 1));
        pairs.retain(|pair| partners[pair.0] <= 2 && partners[pair.1] <= 2);
        let close = |x: &(usize, usize, f64), y: &(usize, usize, f64)| x.0 == y.0 && (x.2 - y.2).abs() < 1e-9;
        prop_assume!(pairs.iter().all(|x| pairs.iter().all(|y| x.1 == y.1 || !close(x, y) || x.2 == y.2)));
        pairs.sort_by(|x, y| x.0.cmp(&y.0).then(y.2.total_cmp(&x.2)).then(x.1.cmp(&y.1)));
        let mut expected: Vec<usize> = (0..sets.len()).collect();
        for (later, earlier, _) in pairs {
            if expected[later] == later && expected[earlier] == earlier {
                expected.iter_mut().filter(|kept| **kept == later).for_each(|kept| *kept = earlier);
            }
        }
        prop_assert_eq!(kept(&lines, least), expected);
    }
}

/// Rows of a template, each of which stands in all others: little is compared, and nothing of it kept.
#[test]
fn rows_of_one_template_cost_little() {
    let rows = |templates: usize| -> Vec<String> {
        let bodies = texts(7, templates, 30, 3000);
        (0..20_000).map(|row| format!("{} case {row}", bodies[row % templates])).collect()
    };
    assert!(kept(&rows(72), 0.7).into_iter().eq(0..20_000));
    // 280 rows of each template would be 139 comparisons for each row.
    let (many, few) = (checks(&rows(5000)), checks(&rows(72)));
    assert!(few < 4 * many, "{few} {many}");
}

#[test]
fn can_be_interrupted() {
    let texts = texts(8, 3000, 20, 2000);
    let run = || drop(kept(&texts, 0.5));
    let all = interrupted_after(usize::MAX, run).1;
    assert!(checks(&texts) > 30);
    for passed in [0, all / 10, all / 2, all - 1] {
        assert!(interrupted_after(passed, run).0, "{passed}");
    }
}

#[test]
fn few_texts_are_no_error() {
    for texts in [&[][..], &["a b"], &["a b", "a b c"], &["…", "!"]] {
        assert!(kept(texts, 0.7).into_iter().eq(0..texts.len()));
    }
}
