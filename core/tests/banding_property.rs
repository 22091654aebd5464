//! Random histories against a model.

mod common;

use common::Rng;
use common::banding::*;
use dedup_core::banding::{Builder, Index, NearestScan, Options, Tid, Unscoped};
use dedup_core::external::MemoryHost;
use proptest::prelude::*;
use std::collections::BTreeSet;

#[derive(Debug, Clone)]
enum Op {
    /// So many rows of this fingerprint's neighbourhood.
    Insert(u64, u16),
    /// So many without a fingerprint.
    InsertNulls(u16),
    /// The rows whose tid leaves this rest.
    Delete(u8),
    Maintain,
    Search(u64, u32),
    Nearest(u64, usize),
}

/// Few centers, so that rows collide in buckets, blocks and whole fingerprints.
fn center() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0u64),
        Just(u64::MAX),
        Just(0xa5c3_0f0f_1234_8001),
        (0u32..64).prop_map(|b| 1 << b),
        any::<u64>(),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (center(), 1u16..120).prop_map(|(fp, n)| Op::Insert(fp, n)),
        1 => (1u16..300).prop_map(Op::InsertNulls),
        1 => (0u8..5).prop_map(Op::Delete),
        1 => Just(Op::Maintain),
        4 => (center(), 0u32..=64).prop_map(|(fp, d)| Op::Search(fp, d)),
        2 => (center(), 1usize..300).prop_map(|(fp, k)| Op::Nearest(fp, k)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    /// Protects every operation against every history: built, then changed in any order.
    #[test]
    fn banding_any_history_answers_like_a_map(
        seed in any::<u64>(),
        built in 0usize..1500,
        fillfactor in 10u8..=100,
        spill in any::<bool>(),
        ops in prop::collection::vec(op(), 1..40),
    ) {
        let mut rng = Rng::new(seed);
        let shape = SHAPES[(seed % 6) as usize];
        let options = Options { fillfactor, mu: (seed % 3) as f64, max_bucket: [0, 1, 500][(seed / 3 % 3) as usize] };
        let (pages, mut rows, mut nulls) = (MemoryPages::new(512), Rows::new(), BTreeSet::new());
        let mut host = MemoryHost;
        let memory = if spill { 0 } else { 1 << 20 };
        let mut builder = Builder::<_, Unscoped>::new(options, 512, memory, &mut host).unwrap();
        for (n, fp) in fingerprints(shape, built * if spill { 4 } else { 1 }, &mut rng).into_iter().enumerate() {
            builder.add(0, fp, tid(n)).unwrap();
            rows.insert(tid(n), fp);
            if n % 4 == 0 {
                builder.add(0, None, tid(100_000 - n)).unwrap();
                nulls.insert(tid(100_000 - n));
            }
        }
        let index = builder.finish(&mut &pages).unwrap().index;
        let mut next = 10_000u32;
        for op in ops {
            match op {
                Op::Insert(fp, n) => for _ in 0..n {
                    let (bits, t) = (rng.below(5), Tid::new(next / 7 * next, (next % 2047) as u16 + 1));
                    let fp = rng.flip(fp, bits);
                    next += 1;
                    index.insert(&pages, 0, fp, t).unwrap();
                    rows.insert(t, fp);
                },
                Op::InsertNulls(n) => for _ in 0..n {
                    let t = Tid::new(next / 7 * next, (next % 2047) as u16 + 1);
                    next += 1;
                    index.insert(&pages, 0, None, t).unwrap();
                    nulls.insert(t);
                },
                Op::Delete(rest) => {
                    let dead = |t: Tid| t.offset() % 5 == u16::from(rest);
                    let stats = index.bulk_delete(&pages, dead).unwrap();
                    rows.retain(|t, _| !dead(*t));
                    nulls.retain(|t| !dead(*t));
                    prop_assert_eq!(stats.remaining, (rows.len() + nulls.len()) as u64);
                }
                Op::Maintain => prop_assert_eq!(index.maintain(&pages).unwrap().remaining, (rows.len() + nulls.len()) as u64),
                Op::Search(fp, d) => {
                    let index = Index::open(&pages).unwrap();
                    prop_assert!(search(&pages, &index, fp, d, 1 + d as usize) == brute(&rows, fp, d));
                }
                Op::Nearest(fp, k) => {
                    let mut scan = NearestScan::new(&Index::open(&pages).unwrap(), fp, 64);
                    let mut hits = Vec::new();
                    while hits.len() < k && scan.next_batch(&pages, 17, &mut hits).unwrap() {}
                    hits.truncate(k);
                    let expected: Vec<u32> = brute(&rows, fp, 64).iter().take(k).map(|h| h.distance).collect();
                    prop_assert!(hits.iter().map(|h| h.distance).collect::<Vec<_>>() == expected);
                }
            }
        }
        let found = common::banding::nulls(&pages, &index, None, 10);
        prop_assert!(found.len() == nulls.len() && found.into_iter().collect::<BTreeSet<_>>() == nulls);
        for t in nulls.iter().step_by(20) {
            prop_assert_eq!(index.missing_from(&pages, 0, None, *t).unwrap(), None);
        }
        assert_sound(&pages, "at the end");
    }
}
