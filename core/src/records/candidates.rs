//! Pairs of rows that are worth comparing: each row with those that share most by rare keys.
//!
//! Keys are words and whole values, whatever column they stand in, and the values of two short columns together.

use super::table::Table;
use super::values::{Kind, NONE, each_word};
use crate::hash::{city64, mix64};
use crate::interrupt::{Meter, checked, sort_unstable_by};
use crate::memory::{OrRaise, Room, filled};

/// Partners that a row asks for.
const PARTNERS: usize = 15;
/// Rows that have a key, at most, for it to be looked up.
const HOLDERS: usize = 200;
/// Pairs of columns whose values are keys together.
const TOGETHER: usize = 28;
/// Letters of a word in such a key.
const LETTERS: usize = 4;

/// Two rows, the one of the lesser number first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub rows: [u32; 2],
    /// A bit for each column without which they were found.
    pub free: u32,
}

/// The keys of a row, each with the columns that it is of.
fn each_key(table: &Table, together: &[[usize; 2]], row: u32, see: &mut dyn FnMut(u64, u32)) {
    let value = |column: usize| {
        let column = &table.columns[column];
        let id = column.ids[row as usize];
        (id != NONE).then(|| column.keys.get(id as usize))
    };
    for (at, column) in table.columns.iter().enumerate() {
        let Some(key) = value(at) else { continue };
        match column.kind {
            Kind::Name | Kind::Text => each_word(key, &mut |word| see(city64(word.as_bytes()), 1 << at)),
            _ => see(city64(key.as_bytes()), 1 << at),
        }
    }
    let part = |column: usize| {
        let key = value(column)?;
        if table.columns[column].kind != Kind::Name {
            return Some(city64(key.as_bytes()));
        }
        // Whatever the order of the words.
        let begins = key.split(' ').map(|word| {
            let end = word.char_indices().nth(LETTERS).map_or(word.len(), |(at, _)| at);
            mix64(city64(&word.as_bytes()[..end]))
        });
        Some(begins.fold(1, u64::wrapping_add))
    };
    for (&[x, y], number) in together.iter().zip(1..) {
        if let (Some(a), Some(b)) = (part(x), part(y)) {
            see(mix64(mix64(a ^ number) ^ b), 1 << x | 1 << y);
        }
    }
}

/// Candidates in order, each once.
pub(super) fn candidates(table: &Table) -> Vec<Candidate> {
    let rows = table.rows as u32;
    let short: Vec<usize> =
        (0..table.columns.len()).filter(|&at| table.columns[at].kind != Kind::Text).collect();
    let mut together: Vec<[usize; 2]> =
        short.iter().enumerate().flat_map(|(at, &x)| short[..at].iter().map(move |&y| [x, y])).collect();
    together.sort_by_key(|&[x, y]| std::cmp::Reverse(table.columns[x].filled.min(table.columns[y].filled)));
    together.truncate(TOGETHER);
    // Most keys are of one row alone: those that come a second time, or seem to, are seen by two bits.
    let bits = (table.rows * 64).next_power_of_two().clamp(1 << 16, 1 << 32);
    let mut seen = [0, 1].map(|_| filled(0u64, bits / 64).or_raise());
    let mut meter = Meter::new();
    let place = |key: u64| ((key as usize % bits) / 64, 1 << (key % 64));
    for row in 0..rows {
        let [once, twice] = &mut seen;
        each_key(table, &together, row, &mut |key, _| {
            meter.work(2);
            let (at, bit) = place(mix64(key));
            twice[at] |= once[at] & bit;
            once[at] |= bit;
        });
    }
    let [_, twice] = seen;
    // Key, row, columns.
    let mut held: Vec<(u64, u32, u32)> = Vec::new();
    for row in 0..rows {
        each_key(table, &together, row, &mut |key, columns| {
            meter.work(2);
            let (at, bit) = place(mix64(key));
            if twice[at] & bit != 0 {
                held.room(1).or_raise();
                held.push((key, row, columns));
            }
        });
    }
    drop(twice);
    sort_unstable_by(&mut held, Ord::cmp);
    held.dedup_by(|next, first| {
        let same = (next.0, next.1) == (first.0, first.1);
        first.2 |= if same { next.2 } else { 0 };
        same
    });
    // The rows of each key that two or more have, and what it weighs; of each row its keys.
    let (mut holders, mut keys, mut counts) =
        (Vec::<u32>::new(), Vec::<(usize, usize, f32, u32)>::new(), filled(0u32, table.rows + 1).or_raise());
    for same in checked(held.chunk_by(|a, b| a.0 == b.0)).filter(|same| (2..=HOLDERS).contains(&same.len())) {
        let start = holders.len();
        holders.room(same.len()).or_raise();
        holders.extend(same.iter().map(|it| it.1));
        same.iter().for_each(|it| counts[it.1 as usize + 1] += 1);
        keys.room(1).or_raise();
        let columns = same.iter().fold(0, |all, it| all | it.2);
        keys.push((start, holders.len(), (table.rows as f32 / same.len() as f32).ln(), columns));
    }
    drop(held);
    (1..counts.len()).for_each(|at| counts[at] += counts[at - 1]);
    let mut next = crate::memory::copy(&counts).or_raise();
    let mut of_row = filled(0u32, holders.len()).or_raise();
    for (key, number) in checked(&keys).zip(0..) {
        for &row in &holders[key.0..key.1] {
            of_row[next[row as usize] as usize] = number;
            next[row as usize] += 1;
        }
    }
    let mut found: Vec<Candidate> = Vec::new();
    let mut shared = filled(0f32, table.rows).or_raise();
    let mut free = filled(0u32, table.rows).or_raise();
    let mut touched: Vec<u32> = Vec::new();
    for row in 0..rows {
        for &key in &of_row[counts[row as usize] as usize..counts[row as usize + 1] as usize] {
            let (start, end, weight, columns) = keys[key as usize];
            meter.work(end - start);
            touched.room(end - start).or_raise();
            for &other in holders[start..end].iter().filter(|&&other| other != row) {
                if shared[other as usize] == 0.0 {
                    touched.push(other);
                }
                shared[other as usize] += weight.max(f32::MIN_POSITIVE);
                free[other as usize] |= !columns;
            }
        }
        if touched.len() > PARTNERS {
            let order = |x: &u32, y: &u32| shared[*y as usize].total_cmp(&shared[*x as usize]).then(x.cmp(y));
            touched.select_nth_unstable_by(PARTNERS - 1, order);
        }
        found.room(PARTNERS).or_raise();
        found.extend(
            touched.iter().take(PARTNERS).map(|&other| Candidate {
                rows: [row.min(other), row.max(other)],
                free: free[other as usize],
            }),
        );
        touched.drain(..).for_each(|other| (shared[other as usize], free[other as usize]) = (0.0, 0));
    }
    sort_unstable_by(&mut found, Ord::cmp);
    found.dedup_by(|next, first| next.rows == first.rows);
    found
}
