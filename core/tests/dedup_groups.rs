//! Groups are those of the definition, whatever the options, memory and threads.

use dedup_core::dedup::{
    Comparable, DEDUP, EqualTexts, Group, Keep, Limits, Method, Options, Rows, Written, group, nearness,
};
use dedup_core::details::Learner;
use dedup_core::external::{MemoryHost, MemorySpill};
use dedup_core::fingerprint::{hamming, parts_of_written};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

/// Decisions that do not contradict each other, by the numbers of rows, some of which are not there; what follows from them:
/// for each row the least of its unit, and the pairs that are apart.
struct Model {
    unit: Vec<usize>,
    apart: Vec<[usize; 2]>,
    same: Vec<[usize; 2]>,
}

impl Model {
    fn new(of: &[(usize, usize, bool)], count: usize) -> Model {
        let mut model = Model { unit: (0..count).collect(), apart: Vec::new(), same: Vec::new() };
        for &(a, b, same) in of.iter().filter(|it| it.0.max(it.1) < count && it.0 != it.1) {
            if same && !model.are_apart(a, b) {
                model.same.push([a, b]);
                model.join(a, b);
            } else if !same && model.unit[a] != model.unit[b] {
                model.apart.push([a, b]);
            }
        }
        model
    }

    fn are_apart(&self, a: usize, b: usize) -> bool {
        let units = [self.unit[a], self.unit[b]];
        let is_it = |[x, y]: [usize; 2]| [[x, y], [y, x]].contains(&units);
        self.apart.iter().any(|it| is_it(it.map(|row| self.unit[row])))
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.unit[a], self.unit[b]);
        self.unit.iter_mut().filter(|unit| [a, b].contains(unit)).for_each(|unit| *unit = a.min(b));
    }

    fn is_decided(&self, row: usize) -> bool {
        self.same.iter().chain(&self.apart).any(|pair| pair.contains(&row))
    }

    /// Copies go together where they may; returns the first row of each that it stays together with.
    fn join_copies(&mut self, texts: &[String]) -> Vec<usize> {
        for text in (0..texts.len()).filter(|&row| texts.iter().position(|it| *it == texts[row]) == Some(row))
        {
            let copies: Vec<usize> = (text..texts.len()).filter(|&row| texts[row] == texts[text]).collect();
            let mut parts: Vec<usize> = Vec::new();
            let (decided, others): (Vec<usize>, Vec<usize>) =
                copies.into_iter().partition(|&row| self.is_decided(row));
            for row in decided {
                match parts.iter().find(|&&part| !self.are_apart(part, row)) {
                    Some(&part) => self.join(part, row),
                    None => parts.push(row),
                }
            }
            let with = *parts.first().unwrap_or(&text);
            others.into_iter().for_each(|row| self.join(with, row));
        }
        let is_one = |a: usize, b: usize| texts[a] == texts[b] && self.unit[a] == self.unit[b];
        (0..texts.len()).map(|row| (0..=row).find(|&other| is_one(other, row)).unwrap()).collect()
    }
}

/// The groups by comparing all with all, as the manual defines them: for each row another one of its group.
fn defined(options: &Options, rows: &Rows<MemorySpill>, texts: &[String], mut model: Model) -> Vec<usize> {
    let by_text = options.method == Method::Text;
    let rank = |a: usize, b: usize| match by_text {
        true => nearness(options.alike.likeness(&texts[a], &texts[b])),
        false => rows.distance(a, b).unwrap_or(u32::MAX),
    };
    let most = options.distance.filter(|_| !by_text).unwrap_or(u32::MAX);
    let same = |a: usize, b: usize| rank(a, b) <= most && options.alike.one(&texts[a], &texts[b]).is_some();
    let mut group = model.join_copies(texts);
    let firsts: Vec<usize> = (0..texts.len()).filter(|&row| group[row] == row).collect();
    if options.group == Group::Components {
        let pairs = firsts.iter().flat_map(|&b| firsts.iter().filter(move |&&a| a < b).map(move |&a| (a, b)));
        let mut pairs: Vec<_> = pairs.filter(|&(a, b)| same(a, b)).map(|(a, b)| (rank(a, b), a, b)).collect();
        pairs.sort_unstable();
        let of_units = (0..texts.len())
            .map(|row| group[(0..=row).find(|&other| model.unit[other] == model.unit[row]).unwrap()]);
        group = of_units.collect();
        for (_, a, b) in pairs {
            let (a, b) = (group[a], group[b]);
            let of = |one: usize| firsts.iter().copied().filter(|&row| group[row] == one).collect::<Vec<_>>();
            let (of_a, of_b) = (of(a), of(b));
            let near = |x: usize, y: usize, most| hamming(rows.fps[x], rows.fps[y]) <= most;
            let all_near = |most| of_a.iter().all(|&x| of_b.iter().all(|&y| near(x, y, most)));
            let fits = options.diameter.is_none_or(all_near);
            let may = !(0..texts.len())
                .any(|x| group[x] == a && (0..texts.len()).any(|y| group[y] == b && model.are_apart(x, y)));
            if a != b && fits && may {
                group.iter_mut().filter(|of| **of == b).for_each(|of| *of = a);
            }
        }
        return group;
    }
    let mut order: Vec<usize> = (0..texts.len()).collect();
    if options.group == Group::Star {
        order.sort_by_key(|&row| rows.order.precedence(row));
    }
    let mut kept: Vec<usize> = Vec::new();
    let mut seen = vec![false; texts.len()];
    let mut repeats: Vec<usize> = (0..texts.len()).collect();
    for text in order.into_iter().map(|row| group[row]) {
        if !std::mem::replace(&mut seen[text], true) {
            let placed = |other: usize| seen[group[other]] && group[other] != text;
            let mate = (0..texts.len()).find(|&it| placed(it) && model.unit[it] == model.unit[text]);
            if let Some(mate) = mate {
                repeats[text] = repeats[group[mate]];
                continue;
            }
            let may = |kept: usize| {
                !(0..texts.len())
                    .any(|it| placed(it) && repeats[group[it]] == kept && model.are_apart(it, text))
            };
            let near = kept.iter().enumerate().filter(|(_, other)| same(**other, text) && may(**other));
            match near.min_by_key(|(place, other)| (rank(**other, text), *place)) {
                Some((_, &nearest)) => repeats[text] = nearest,
                None => kept.push(text),
            }
        }
    }
    group.iter_mut().for_each(|of| *of = repeats[*of]);
    group
}

/// Sees to it that the groups of rows, with what is decided of them, are those of the definition.
fn are_as_defined(
    options: &Options,
    (mut rows, equal): (Rows<MemorySpill>, EqualTexts<MemorySpill>),
    texts: &[String],
    model: Model,
    limits: Limits,
) -> Result<(), TestCaseError> {
    for (pairs, same) in [(&model.same, true), (&model.apart, false)] {
        pairs.iter().for_each(|pair| rows.decisions.add(pair.map(|id| id.to_string()), same, true).unwrap());
    }
    (0..texts.len()).for_each(|row| rows.decisions.meet(row as u32, &row.to_string()).unwrap());
    rows.find_equal(equal, options, false, &mut MemoryHost).unwrap();
    let expected = defined(options, &rows, texts, model);
    let found = group(options, &mut rows, limits, &mut MemoryHost).unwrap().sets;
    let found: Vec<u32> = rows.first.iter().map(|&first| found.find(first)).collect();
    for a in 0..texts.len() {
        for b in 0..a {
            prop_assert_eq!(found[a] == found[b], expected[a] == expected[b], "{} {}", a, b);
        }
    }
    Ok(())
}

proptest! {
    /// Whatever the table and the options: the groups are those of the definition, in little memory and in plenty, on one
    /// thread and on two, with weights and without. P4's Single-Pass is star in the order of the source.
    #[test]
    fn groups_are_as_defined(
        texts in prop::collection::vec("[停水电路张李1 ]{1,6}", 1..40),
        prints in prop::collection::vec(0u64..128, 40),
        ranks in prop::collection::vec(0i64..6, 40),
        method in prop::sample::select(vec!["fingerprint", "text"]),
        (rule, diameter) in prop::sample::select(vec![
            ("star", None), ("single_pass", None), ("components", None), ("components", Some(3)), ("components", Some(5)),
        ]),
        (distance, similarity) in (0u32..6, prop::sample::select(vec![0.0, 0.3, 0.5, 1.0])),
        (details, common) in (any::<bool>(), any::<bool>()),
        (memory, threads) in prop::sample::select(vec![(0usize, 1usize), (1 << 20, 2)]),
        decisions in prop::collection::vec((0usize..44, 0usize..44, any::<bool>()), 0..24),
        few in prop::sample::select(vec![5usize, 10, 44]),
    ) {
        prop_assume!(method == "fingerprint" || similarity > 0.0 && diameter.is_none());
        let options = json!({"method": method, "group": rule, "diameter": diameter, "distance": distance, "n": 1,
            "similarity": similarity, "details": if details { json!(["number", "name"]) } else { json!(null) }});
        let mut options = Written::new(DEDUP, Some(options)).unwrap().read().unwrap();
        if common {
            let mut learner = Learner::default();
            texts.iter().for_each(|text| learner.add(text));
            options.alike.statistics = Some(Arc::new(learner.learn(1)));
        }
        let mut rows = Rows::new(MemorySpill::default(), Keep::Longest);
        let mut hashes = EqualTexts::new(1 << 20, MemorySpill::default());
        for (row, text) in texts.iter().enumerate() {
            let first = texts.iter().position(|other| other == text).unwrap();
            rows.add(b"id", text, Comparable::Near, prints[first]).unwrap();
            hashes.add(row as u32, text.as_bytes()).unwrap();
        }
        rows.order.ranks = ranks[..texts.len()].to_vec();
        let decisions: Vec<_> = decisions.into_iter().map(|(a, b, same)| (a % few, b % few, same)).collect();
        let model = Model::new(&decisions, texts.len() + 3);
        are_as_defined(&options, (rows, hashes), &texts, model, Limits { memory, sketches: 0, threads })?;
    }
}

proptest! {
    /// Hashes of any length are grouped by their distance alone, as written ones are read.
    #[test]
    fn hashes_are_grouped_as_defined(
        (parts, bits) in prop::sample::select(vec![(1usize, false), (1, true), (2, true), (4, true)]),
        hashes in prop::collection::vec(prop::collection::vec(0u64..32, 4), 2..40),
        rule in prop::sample::select(vec!["star", "single_pass", "components"]),
        distance in 0u32..9,
        (memory, threads) in prop::sample::select(vec![(0usize, 1usize), (1 << 20, 2)]),
        decisions in prop::collection::vec((0usize..10, 0usize..10, any::<bool>()), 0..12),
        none in prop::collection::vec(0usize..12, 0..3),
    ) {
        let options = json!({"method": "hash", "group": rule, "distance": distance});
        let options = Written::new(DEDUP, Some(options)).unwrap().read().unwrap();
        let mut rows = Rows::new(MemorySpill::default(), Keep::First);
        let mut equal = EqualTexts::new(1 << 20, MemorySpill::default());
        let shift = |part: &u64| part.rotate_right(3) | part << 20;
        let written = |hash: &Vec<u64>| match bits {
            true => hash[..parts].iter().map(|part| format!("{:064b}", shift(part))).collect(),
            false => shift(&hash[0]).cast_signed().to_string(),
        };
        let mut texts: Vec<String> = hashes.iter().map(written).collect();
        // One that is NULL is no copy and near nothing.
        for &row in &none {
            texts.get_mut(row).into_iter().for_each(|text| *text = format!("none {row}"));
        }
        for (row, text) in texts.iter().enumerate() {
            let hash = parts_of_written(text);
            prop_assert_eq!(hash.is_none(), none.contains(&row));
            let kind = if hash.is_some() { Comparable::Near } else { Comparable::Empty };
            rows.add(b"id", text, kind, hash.as_ref().map_or(0, |it| it[0])).unwrap();
            prop_assert!(rows.add_rest(hash.as_ref().map(|it| &it[1..])).unwrap());
            equal.add(row as u32, text.as_bytes()).unwrap();
        }
        let decisions: Vec<_> = decisions.into_iter().filter(|it| !none.contains(&it.0) && !none.contains(&it.1)).collect();
        let model = Model::new(&decisions, texts.len());
        are_as_defined(&options, (rows, equal), &texts, model, Limits { memory, sketches: 0, threads })?;
    }
}

/// Protects that hashes of two lengths are told, also behind rows without one.
#[test]
fn hashes_of_two_lengths_are_told() {
    let mut rows = Rows::new(MemorySpill::default(), Keep::First);
    let mut add = |kind, rest: Option<&[u64]>| {
        rows.add(b"", "", kind, 0).unwrap();
        rows.add_rest(rest).unwrap()
    };
    assert!(
        add(Comparable::Empty, None)
            && add(Comparable::Near, Some(&[1, 2, 3]))
            && add(Comparable::Empty, None)
    );
    assert!(!add(Comparable::Near, Some(&[1])) && !add(Comparable::Near, Some(&[])));
    assert_eq!(
        ["1", "-1", "x", "", "10"].map(|it| parts_of_written(it).map(|it| it[0])),
        [Some(1), Some(u64::MAX), None, None, Some(10)]
    );
    assert_eq!(parts_of_written(&"01".repeat(64)), Some(vec![u64::MAX / 3; 2]));
    assert_eq!((parts_of_written(&"2".repeat(64)), parts_of_written("0x10")), (None, None));
}

proptest! {
    /// Whatever the rows of two sides: equal ones are matched first, then the nearest, then by number, each row once, or those
    /// of the first side as often as there are rows of the second.
    #[test]
    fn sides_are_matched(
        texts in prop::collection::vec("[ab12 ]{1,4}", 2..24),
        sides in prop::collection::vec(any::<bool>(), 24),
        (many, similarity) in (any::<bool>(), prop::sample::select(vec![0.2, 0.5, 1.0])),
        (memory, threads) in prop::sample::select(vec![(0usize, 1usize), (1 << 20, 2)]),
    ) {
        let options = json!({"side": "s", "method": "text", "similarity": similarity, "n": 1, "details": []});
        let mut options = Written::new(DEDUP, Some(options)).unwrap().read().unwrap();
        options.many = many;
        let mut rows = Rows::new(MemorySpill::default(), Keep::First);
        let mut hashes = EqualTexts::new(1 << 20, MemorySpill::default());
        for (row, text) in texts.iter().enumerate() {
            rows.add(b"id", text, Comparable::Near, 0).unwrap();
            hashes.add(row as u32, text.as_bytes()).unwrap();
        }
        rows.sides = sides[..texts.len()].to_vec();
        rows.find_equal(hashes, &options, false, &mut MemoryHost).unwrap();
        let (a, b): (Vec<usize>, Vec<usize>) = (0..texts.len()).partition(|&row| !sides[row]);
        let mut pairs: Vec<_> = a.iter().flat_map(|&a| b.iter().map(move |&b| (a, b))).collect();
        let likeness = |a: usize, b: usize| options.alike.likeness(&texts[a], &texts[b]);
        pairs.retain(|&(a, b)| texts[a] == texts[b] || likeness(a, b) >= similarity);
        pairs.sort_by_key(|&(a, b)| (texts[a] != texts[b], nearness(likeness(a, b)), a, b));
        let mut expected: Vec<usize> = (0..texts.len()).collect();
        for (a, b) in pairs {
            if expected[b] == b && (many || !b_of(&expected, a)) {
                expected[b] = a;
            }
        }
        let found = group(&options, &mut rows, Limits { memory, sketches: 0, threads }, &mut MemoryHost).unwrap().sets;
        let found: Vec<u32> = rows.first.iter().map(|&first| found.find(first)).collect();
        for x in 0..texts.len() {
            for y in 0..x {
                prop_assert_eq!(found[x] == found[y], expected[x] == expected[y], "{} {}", x, y);
            }
        }
    }
}

/// Whether a row has been matched.
fn b_of(of: &[usize], a: usize) -> bool {
    of.iter().enumerate().any(|(b, &it)| it == a && b != a)
}

#[test]
fn the_most_similar_are_the_nearest() {
    assert_eq!((nearness(1.0), nearness(0.0)), (0, 1 << 24));
    assert!(nearness(0.5) < nearness(0.4999));
}
