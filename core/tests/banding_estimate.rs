//! What the planner is told: the cost of a search, and how many rows it finds.

use dedup_core::banding::{Sample, nearest_distance, random_selectivity, search_cost};
use dedup_core::fingerprint::hamming;
use dedup_core::random::SplitMix64;

/// Protects what the planner compares: cost grows with distance and never exceeds one tree.
#[test]
fn banding_search_cost_grows_with_distance_up_to_one_tree() {
    for (rows, leaves) in [(0.0, 1.0), (1e3, 2.0), (1e6, 1400.0), (1e7, 14_000.0), (1e9, 1.5e6)] {
        let mut last = 0.0;
        for d in 0..=64 {
            let cost = search_cost(d, rows, leaves);
            assert!(cost.leaf_pages >= last && cost.leaf_pages <= leaves, "{rows} {d} {cost:?}");
            last = cost.leaf_pages;
        }
        assert_eq!(search_cost(64, rows, leaves).entries, rows);
    }
    assert_eq!([1e4, 1e6, 1e9].map(|rows| nearest_distance(rows, 1.0, 0)), [17, 14, 9]);
    assert!((random_selectivity(64) - 1.0).abs() < 1e-9);
    assert!(search_cost(3, 1e7, 14_000.0).leaf_pages < 6.0);
}

fn random(count: usize, seed: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(seed);
    (0..count).map(|_| random.next()).collect()
}

fn sample(count: usize, rows: f64) -> Sample {
    Sample { others: random(count, 7), distinct: rows, ..Sample::default() }
}

/// Protects the planner from the flat tenth of a percent: random data, all distances.
#[test]
fn banding_estimates_follow_random_data() {
    let (table, sample) = (random(200_000, 99), sample(101, 200_000.0));
    let mut last = 0.0;
    for distance in 0..=64 {
        let query = table[17];
        let true_share = table.iter().filter(|v| hamming(**v, query) <= distance as u32).count() as f64 / 2e5;
        for estimate in [sample.around(query, distance), sample.between(&sample, distance)] {
            assert!(
                estimate >= true_share / 6.0 && estimate <= true_share * 6.0 + 2e-5,
                "{distance}: {estimate} for {true_share}"
            );
        }
        assert!(sample.around(query, distance) >= last * 0.9, "{distance}");
        last = sample.around(query, distance);
    }
}

#[test]
fn banding_estimates_know_common_values_nulls_and_edges() {
    let mut sample = sample(101, 10_000.0);
    sample.common = vec![(0, 0.3), (7, 0.1)];
    sample.nulls = 0.2;
    assert!((sample.around(0, 0) - 0.3).abs() < 0.01);
    assert!((sample.around(0, 3) - 0.4).abs() < 0.01);
    assert_eq!(sample.around(0, -1), 0.0);
    assert!((sample.around(0, 64) - 0.8).abs() < 1e-9);
    assert!((sample.around(0, i32::MAX) - 0.8).abs() < 1e-9);
    assert!((sample.between(&sample, 3) - 0.16).abs() < 0.01);
    assert!((sample.with_partner(&sample, 1e4, 3) - 0.8).abs() < 1e-9);
    assert_eq!(sample.with_partner(&sample, 1e4, -1), 0.0);
    let nothing = Sample { distinct: 1e6, ..Sample::default() };
    assert!(nothing.around(5, 3) > 0.0 && nothing.around(5, 3) < 1e-5);
    assert!(nothing.around(5, 40) > 0.9);
}
