//! Records as a whole: what does not depend on the order of rows, columns that tell nothing, and that records are found.

use super::*;
use crate::random::SplitMix64;
use proptest::prelude::*;

type Row = Vec<Option<String>>;

fn learned(rows: &[Row]) -> Records {
    let mut all = Rows::new(rows.first().map_or(1, Vec::len), 0);
    rows.iter().for_each(|row| all.add(row.iter().map(Option::as_deref)));
    Records::learn(all.weigh())
}

fn keepers(rows: &[Row]) -> Vec<u32> {
    let order: Vec<u32> = (0..rows.len() as u32).collect();
    learned(rows).keepers(&order)
}

/// Shops; every second one a second time, with another spelling and what is missing.
fn shops(count: usize, seed: u64) -> Vec<Row> {
    let mut random = SplitMix64::new(seed);
    let mut rows = Vec::new();
    for at in 0..count {
        let mut word =
            |of: usize| format!("{}{}", ["ka", "lo", "mi", "tu", "re"][random.below(5)], random.below(of));
        let name = format!("{} {}", word(300), word(300)).replace(|c: char| c.is_ascii_digit(), "x")
            + &format!("{at}q");
        let (street, city) =
            (format!("{} street {}", word(200), random.below(90)), format!("city{}", random.below(5)));
        let phone = format!("555-{:04}", random.below(10_000));
        let full = |text: &str| Some(text.to_owned());
        rows.push(vec![full(&name), full(&street), full(&city), full(&phone)]);
        if at % 2 == 0 {
            let phone = (at % 4 == 0).then(|| phone.replace('-', " "));
            rows.push(vec![
                full(&format!("The {name} Inc.")),
                full(&street.replace("street", "st")),
                full(&city),
                phone,
            ]);
        }
    }
    rows
}

#[test]
fn records_are_found() {
    let rows = shops(300, 1);
    let keepers = keepers(&rows);
    let second = |row: usize| rows[row][0].as_ref().is_some_and(|name| name.starts_with("The"));
    let right =
        (0..rows.len()).filter(|&row| keepers[row] as usize == row - usize::from(second(row))).count();
    assert!(right * 100 >= rows.len() * 99, "{right} of {}", rows.len());
}

/// Of a shop and its second row, in order: another spelling, one a part of the other, the same, none.
#[test]
fn evidence_says_how_far_columns_agree() {
    let rows = shops(300, 1);
    let records = learned(&rows);
    let of = |a: u32, b: u32| records.evidence(a, b).told;
    // The fourth row has no telephone, the first pair has.
    let agreements = |a, b| of(a, b)[..4].iter().map(|told| told.1).collect::<Vec<_>>();
    use Agreement::{Full, Missing, None, Partial};
    assert_eq!(agreements(0, 1), [Partial, Partial, Full, Full]);
    assert_eq!(agreements(3, 4), [Partial, Partial, Full, Missing]);
    assert_eq!(agreements(0, 3)[3], None);
    assert_eq!(of(3, 4)[3].2, 0.0);
    // The last word of its name, beside those of street and city.
    let identifiers = records.identifiers(0);
    assert_eq!(identifiers.iter().filter(|word| word.ends_with("0q")).count(), 1, "{identifiers:?}");
}

/// A column that is the same everywhere, one that is nowhere, and one column alone.
#[test]
fn columns_that_tell_nothing() {
    let rows = shops(200, 2);
    let expected = keepers(&rows);
    let wider: Vec<Row> = rows.iter().map(|row| [&row[..], &[None, Some("all".into())]].concat()).collect();
    let differ = keepers(&wider).iter().zip(&expected).filter(|(a, b)| a != b).count();
    assert!(differ * 100 <= rows.len(), "{differ}");
    for column in [vec![None; 50], vec![Some("same words".to_owned()); 50], vec![Some("7".to_owned()); 50]] {
        let rows: Vec<Row> = column.into_iter().map(|value| vec![value]).collect();
        assert!(keepers(&rows).iter().all(|&keeper| keeper < 50));
    }
    assert!(keepers(&[]).is_empty());
    assert_eq!(keepers(&[vec![Some("one".into())]]), [0]);
}

#[test]
fn memory_and_time_are_bounded_for_rows_of_one_template() {
    let rows: Vec<Row> = (0..5_000)
        .map(|at| vec![Some(format!("a form of the same words, number {at}")), Some("all".into())])
        .collect();
    assert!(keepers(&rows).len() == rows.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 10))]

    /// In whatever order rows stand: the same weights, the same probabilities, and if they are ranked the same, the same
    /// row is kept for each.
    #[test]
    fn the_order_of_rows_changes_nothing(seed in any::<u64>(), count in 1usize..60) {
        let rows = shops(count, seed);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let mut random = SplitMix64::new(seed ^ 1);
        (1..order.len()).for_each(|at| order.swap(at, random.below(at + 1)));
        let other: Vec<Row> = order.iter().map(|&row| rows[row].clone()).collect();
        let (one, two) = (learned(&rows), learned(&other));
        prop_assert_eq!(&one.mixture.weights, &two.mixture.weights);
        let place = |row: usize| order.iter().position(|&at| at == row).unwrap_or(0) as u32;
        let ranked: Vec<u32> = (0..rows.len() as u32).collect();
        let same: Vec<u32> = (0..rows.len()).map(place).collect();
        let (kept, others) = (one.keepers(&ranked), two.keepers(&same));
        for row in 0..rows.len() {
            prop_assert_eq!(order[others[place(row) as usize] as usize] as u32, kept[row]);
            let probability = one.probability(row as u32, kept[row]);
            prop_assert_eq!(probability, two.probability(place(row), place(kept[row] as usize)));
            // What is shown as evidence adds up to what decides.
            let evidence = one.evidence(row as u32, kept[row]);
            let sum = evidence.prior + evidence.told.iter().map(|told| told.2).sum::<f64>();
            prop_assert!((super::probability(sum) - probability).abs() < 1e-9);
            // Each is verified against the row that is kept, which repeats nothing.
            prop_assert!(kept[row] as usize == row || probability >= SURE);
            prop_assert_eq!(kept[kept[row] as usize], kept[row]);
        }
    }

    /// Whatever values there are, all rows are answered, and probabilities are such.
    #[test]
    fn any_values_are_taken(rows in prop::collection::vec(prop::collection::vec(prop::option::of("[a-c1-3 .\\-]{0,12}|[\\PC]{0,6}"), 3), 0..40)) {
        let records = learned(&rows);
        let order: Vec<u32> = (0..rows.len() as u32).rev().collect();
        let kept = records.keepers(&order);
        for (row, &keeper) in kept.iter().enumerate() {
            prop_assert!((0.0..=1.0).contains(&records.probability(row as u32, keeper)));
        }
    }
}
