//! Indexes with scopes against a model: a search sees its scope's rows and no others.

mod common;

use common::Rng;
use common::banding::*;
use dedup_core::banding::{Builder, Hit, Index, NearestScan, Options, Position, RangeScan, Tid};
use dedup_core::external::MemoryHost;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// By tid: scope and fingerprint.
type Scoped = BTreeMap<Tid, (u32, Option<u64>)>;

/// Neighbouring numbers, both ends, and any.
fn scope() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0u32), Just(u32::MAX), Just(u32::MAX - 1), 70_000u32..70_004, any::<u32>()]
}

#[derive(Debug, Clone)]
enum Op {
    Insert(u32, u64, u16),
    InsertNulls(u32, u16),
    Delete(u8),
    Maintain,
    Search(Option<u32>, u32),
    Nearest(Option<u32>, usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (scope(), prop_oneof![Just(0u64), Just(u64::MAX), any::<u64>()], 1u16..120)
            .prop_map(|(scope, fp, n)| Op::Insert(scope, fp, n)),
        1 => (scope(), 1u16..200).prop_map(|(scope, n)| Op::InsertNulls(scope, n)),
        1 => (0u8..5).prop_map(Op::Delete),
        1 => Just(Op::Maintain),
        4 => (prop::option::weighted(0.9, scope()), 0u32..=64).prop_map(|(scope, d)| Op::Search(scope, d)),
        2 => (prop::option::weighted(0.9, scope()), 1usize..300).prop_map(|(scope, k)| Op::Nearest(scope, k)),
    ]
}

fn of_scope(rows: &Scoped, wanted: Option<u32>) -> Rows {
    let of = rows.iter().filter(|(_, (scope, _))| wanted.is_none_or(|wanted| wanted == *scope));
    of.filter_map(|(tid, (_, fp))| Some((*tid, (*fp)?))).collect()
}

fn answer(pages: &MemoryPages, index: &Index, scope: Option<u32>, query: u64, distance: u32) -> Vec<Hit> {
    let mut scan = RangeScan::new(index, query, distance).in_scope(scope);
    let mut hits = Vec::new();
    while scan.next_batch(pages, 1 + distance as usize, &mut hits).unwrap() {}
    hits.sort_unstable();
    hits
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    /// Protects every operation against every history, with few large scopes and with many small ones.
    #[test]
    fn banding_any_history_of_scopes_answers_like_a_map(
        seed in any::<u64>(),
        built in 0usize..3000,
        scopes in prop_oneof![Just(1u64), 2u64..6, Just(1000u64)],
        spill in any::<bool>(),
        ops in prop::collection::vec(op(), 1..30),
    ) {
        let mut rng = Rng::new(seed);
        let (pages, mut rows) = (MemoryPages::new(512), Scoped::new());
        let mut host = MemoryHost;
        let memory = if spill { 0 } else { 1 << 20 };
        let options = Options { mu: 0.0, ..Options::default() };
        let mut builder = Builder::<_, Position>::new(options, 512, memory, &mut host).unwrap();
        let numbers: Vec<u32> = (0..scopes).map(|n| if n < 3 { 70_000 + n as u32 } else { rng.next() as u32 }).collect();
        for (n, fp) in fingerprints(SHAPES[(seed % 6) as usize], built, &mut rng).into_iter().enumerate() {
            let scope = numbers[rng.below(scopes) as usize];
            let fp = (n % 5 > 0).then_some(fp);
            match fp {
                Some(fp) => builder.add(scope, fp, tid(n)).unwrap(),
                None => builder.add(scope, None, tid(n)).unwrap(),
            }
            rows.insert(tid(n), (scope, fp));
        }
        let index = builder.finish(&mut &pages).unwrap().index;
        prop_assert!(Index::open(&pages).unwrap() == index);
        let mut next = 10_000u32;
        let mut new_tid = || {
            next += 1;
            Tid::new(next / 7 * next, (next % 2047) as u16 + 1)
        };
        for op in ops {
            match op {
                Op::Insert(scope, fp, n) => for _ in 0..n {
                    let (bits, t) = (rng.below(5), new_tid());
                    let fp = rng.flip(fp, bits);
                    index.insert(&pages, scope, fp, t).unwrap();
                    rows.insert(t, (scope, Some(fp)));
                },
                Op::InsertNulls(scope, n) => for _ in 0..n {
                    let t = new_tid();
                    index.insert(&pages, scope, None, t).unwrap();
                    rows.insert(t, (scope, None));
                },
                Op::Delete(rest) => {
                    let dead = |t: Tid| t.offset() % 5 == u16::from(rest);
                    let stats = index.bulk_delete(&pages, dead).unwrap();
                    rows.retain(|t, _| !dead(*t));
                    prop_assert_eq!(stats.remaining, rows.len() as u64);
                }
                Op::Maintain => prop_assert_eq!(index.maintain(&pages).unwrap().remaining, rows.len() as u64),
                Op::Search(scope, d) => {
                    let wanted = of_scope(&rows, scope);
                    let query = wanted.values().nth(d as usize).copied().unwrap_or(0);
                    prop_assert!(answer(&pages, &index, scope, query, d) == brute(&wanted, query, d));
                }
                Op::Nearest(scope, k) => {
                    let wanted = of_scope(&rows, scope);
                    let query = wanted.values().nth(k).map_or(0, |fp| fp ^ 5);
                    let mut scan = NearestScan::new(&index, query, 64).in_scope(scope);
                    let mut hits = Vec::new();
                    while hits.len() < k && scan.next_batch(&pages, 17, &mut hits).unwrap() {}
                    hits.truncate(k);
                    let expected: Vec<u32> = brute(&wanted, query, 64).iter().take(k).map(|h| h.distance).collect();
                    prop_assert!(hits.iter().map(|h| h.distance).collect::<Vec<_>>() == expected);
                    prop_assert!(hits.iter().all(|hit| wanted.get(&hit.tid) == Some(&hit.fingerprint)));
                }
            }
        }
        for scope in [None, Some(70_000), Some(0), Some(u32::MAX)] {
            let mut found = nulls(&pages, &index, scope, 10);
            found.sort_unstable();
            let wanted = rows.iter().filter(|(_, row)| row.1.is_none() && scope.is_none_or(|scope| scope == row.0));
            prop_assert!(found == wanted.map(|(tid, _)| *tid).collect::<Vec<_>>());
        }
        for (tid, (scope, fp)) in rows.iter().step_by(7) {
            prop_assert_eq!(index.missing_from(&pages, *scope, *fp, *tid).unwrap(), None);
            prop_assert!(index.missing_from(&pages, scope ^ 1, *fp, *tid).unwrap().is_some());
        }
        assert_sound(&pages, "at the end");
    }
}

/// Protects the purpose of scopes: a search reads its scope's part, whatever the others hold.
#[test]
fn banding_a_search_reads_its_scopes_pages_only() {
    let mut rng = Rng::new(11);
    let (alone, shared) = (MemoryPages::new(8168), MemoryPages::new(8168));
    let (mut host, mut other) = (MemoryHost, MemoryHost);
    let build = |host| Builder::<_, Position>::new(Options::default(), 8168, 1 << 26, host).unwrap();
    let (mut one, mut many) = (build(&mut host), build(&mut other));
    let fps = fingerprints(Shape::NearDuplicates, 2000, &mut rng);
    for (n, fp) in fps.iter().enumerate() {
        one.add(7 << 24, *fp, tid(n)).unwrap();
        for scope in 0..100u32 {
            let fp = if scope == 7 { *fp } else { rng.next() };
            many.add(scope << 24, fp, tid(n * 100 + scope as usize)).unwrap();
        }
    }
    let (one, many) = (one.finish(&mut &alone).unwrap().index, many.finish(&mut &shared).unwrap().index);
    for (d, slack) in [(0, 2), (3, 10), (7, 12), (16, 12), (30, 12)] {
        let reads = |pages, index: &Index| {
            let mut scan = RangeScan::new(index, fps[17], d).in_scope(Some(7 << 24));
            let mut hits = Vec::new();
            while scan.next_batch(pages, 1000, &mut hits).unwrap() {}
            (scan.pages_read(), hits.len())
        };
        let ((few, found), (read, also)) = (reads(&alone, &one), reads(&shared, &many));
        assert!(found == also && found > 0, "{d}: {found} and {also}");
        // A tree of more levels, and the leaves that the scope shares with its neighbours.
        assert!(read <= few + slack, "{d}: {read} pages, alone {few}");
    }
}
