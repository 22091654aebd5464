//! Pairs of rows that are worth comparing: each row with those that share most by rare keys.
//!
//! Keys are words and whole values, whatever column they stand in, and the values of two short columns together.

use super::column::{Known, NONE};
use super::table::Table;
use super::values::{Kind, MOST_COLUMNS, each_word, key};
use crate::external::{Host, Result, on_threads};
use crate::hash::{city64, mix64};
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Grow, OrRaise, Room, collect, filled, with_capacity};
use crate::words::Lists;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Partners that a row asks for.
const PARTNERS: usize = 15;
/// Rows that have a key, at most, for it to be looked up.
const HOLDERS: usize = 200;
/// Columns of which two values together are a key, at most.
const TOGETHER: usize = 8;
/// Letters of a word in such a key.
const LETTERS: usize = 4;

/// Two rows, the one of the lesser number first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub rows: [u32; 2],
    /// A bit for each column without which they were found.
    pub free: u32,
}

/// Candidates, and rows, that a thread looks at between two looks for interrupts.
const AT_A_TIME: usize = 1 << 11;
/// Candidates whose values are read at once: they stay in the cache until they are compared.
const TOUCHED: usize = 1 << 6;

/// Ranges of keys that are sorted one after the other, by their first bits: all at once would take as much room again.
const RANGES: u64 = 16;
const RANGE: u32 = u64::BITS - RANGES.ilog2();

/// What `each` makes of candidates, in their order, on threads.
pub(super) fn on_candidates<H: Host, R: Send>(
    table: &Table,
    candidates: &[Candidate],
    threads: usize,
    host: &mut H,
    each: impl Fn(&Candidate) -> Option<R> + Sync,
) -> Result<Vec<R>> {
    let parts: Vec<&[Candidate]> = collect(candidates.chunks(AT_A_TIME))?;
    let mut states: Vec<Vec<u32>> = vec![Vec::new(); threads.min(parts.len()).max(1)];
    let of_part = |ids: &mut Vec<u32>, part: &&[Candidate]| {
        let mut made = Vec::new();
        for some in part.chunks(TOUCHED) {
            let rows = || some.iter().flat_map(|it| it.rows);
            std::hint::black_box(table.columns.iter().fold(0, |all, it| all ^ it.touch(rows(), ids)));
            some.iter().filter_map(&each).for_each(|it| made.grow(it).or_raise());
        }
        made
    };
    let parts = on_threads(&parts, &mut states, host, of_part)?;
    let mut all = with_capacity(parts.iter().map(Vec::len).sum())?;
    parts.into_iter().for_each(|part| all.extend(part));
    Ok(all)
}

/// Keys of records: what kind of value each column has, and which columns count together.
///
/// As text it has a letter for each column, a great one for those that count together: n names, t text, c codes, q
/// quantities, d days, - for what is no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys(Vec<Option<(Kind, bool)>>);

/// The kinds and their letters.
const LETTERS_OF: [(char, Kind); 5] = [
    ('n', Kind::Name),
    ('t', Kind::Text),
    ('c', Kind::Code),
    ('q', Kind::Number { small: false }),
    ('d', Kind::Date),
];

impl Keys {
    /// Those of columns of which this is known.
    pub(super) fn of(columns: &[Known]) -> Keys {
        let count = columns.iter().map(|it| it.at + 1).max().unwrap_or_default();
        let mut keys = vec![None; count];
        columns.iter().for_each(|it| keys[it.at] = Some((it.kind, false)));
        let mut short: Vec<&Known> = columns.iter().filter(|it| it.kind != Kind::Text).collect();
        short.sort_by_key(|it| std::cmp::Reverse(it.filled));
        short.iter().take(TOGETHER).for_each(|it| keys[it.at] = Some((it.kind, true)));
        Keys(keys)
    }

    /// Out of letters; `None`: one is none of these.
    pub fn parse(letters: &str) -> Option<Keys> {
        if letters.len() > MOST_COLUMNS {
            return None;
        }
        let kind = |letter: char| match letter {
            '-' => Some(None),
            letter => {
                let small = letter.to_ascii_lowercase();
                let (_, kind) = LETTERS_OF.iter().find(|it| it.0 == small)?;
                Some(Some((*kind, small != letter)))
            }
        };
        letters.chars().map(kind).collect::<Option<_>>().map(Keys)
    }

    /// As letters.
    pub fn letters(&self) -> String {
        let letter = |of: &Option<(Kind, bool)>| {
            let Some((kind, together)) = *of else { return '-' };
            let is_it = |it: &&(char, Kind)| std::mem::discriminant(&it.1) == std::mem::discriminant(&kind);
            let letter = LETTERS_OF.iter().find(is_it).map_or('-', |it| it.0);
            if together { letter.to_ascii_uppercase() } else { letter }
        };
        self.0.iter().map(letter).collect()
    }

    /// The keys of a row as numbers: that of all its values together, by which equal rows are found whatever they have, and
    /// then the others in ascending order.
    pub fn of_row<'t>(&self, values: impl Iterator<Item = Option<&'t str>>) -> Vec<i64> {
        let spelled = |(of, value): (&Option<(Kind, bool)>, Option<&str>)| {
            of.map(|(kind, _)| key(kind, value.unwrap_or("").trim())).filter(|key| !key.is_empty())
        };
        let values: Vec<Option<String>> = self.0.iter().zip(values).map(spelled).collect();
        let mut keys = Vec::new();
        self.each(&|column| values.get(column)?.as_deref(), &mut |key, _| {
            keys.grow(key.cast_signed()).or_raise()
        });
        keys.sort_unstable();
        keys.dedup();
        let whole = values.iter().fold(0u64, |whole, value| {
            mix64(whole ^ value.as_ref().map_or(0, |value| city64(value.as_bytes())))
        });
        keys.room(1).or_raise();
        keys.insert(0, whole.cast_signed());
        keys
    }

    /// Each key of a row, whose columns have these values as they are compared, with the columns that it is of.
    fn each<'t>(&self, value: &dyn Fn(usize) -> Option<&'t str>, see: &mut dyn FnMut(u64, u32)) {
        let mut parts = [None; TOGETHER];
        let mut count = 0;
        for (at, of) in self.0.iter().enumerate() {
            let Some((kind, together)) = *of else { continue };
            let value = value(at);
            let bit = 1u32.wrapping_shl(at as u32);
            match (kind, value) {
                (_, None) => {}
                (Kind::Name | Kind::Text, Some(key)) => {
                    each_word(key, &mut |word| see(city64(word.as_bytes()), bit));
                }
                (_, Some(key)) => see(city64(key.as_bytes()), bit),
            }
            if let Some(part) = parts.get_mut(count).filter(|_| together) {
                *part = value.map(|key| (part_of(kind, key), at, bit));
                count += 1;
            }
        }
        for (place, &part) in parts[..count].iter().enumerate() {
            for &other in &parts[..place] {
                if let (Some((a, x, bit)), Some((b, y, and))) = (part, other) {
                    see(mix64(mix64(a ^ (x as u64) << 8 ^ y as u64) ^ b), bit | and);
                }
            }
        }
    }
}

/// What of a value counts together with another one: of names the beginnings of the words, whatever their order.
fn part_of(kind: Kind, key: &str) -> u64 {
    if kind != Kind::Name {
        return city64(key.as_bytes());
    }
    let begins = key.split(' ').map(|word| {
        let end = word.char_indices().nth(LETTERS).map_or(word.len(), |(at, _)| at);
        mix64(city64(&word.as_bytes()[..end]))
    });
    begins.fold(1, u64::wrapping_add)
}

/// A key as the model keeps those that are common.
pub(super) fn short(key: u64) -> u32 {
    (mix64(key) >> 32) as u32
}

fn value(table: &Table, row: u32, at: usize) -> Option<&str> {
    let column = table.columns.iter().find(|column| column.at == at)?;
    let id = column.ids[row as usize];
    (id != NONE).then(|| column.keys.get(id as usize))
}

/// Whether one of two rows finds the other: by a key that is not common, or because they are equal.
pub(super) fn meet(table: &Table, keys: &Keys, common: &[u32], rows: [u32; 2]) -> bool {
    let [mut a, b] = rows.map(|row| {
        let mut all = Vec::new();
        keys.each(&|at| value(table, row, at), &mut |key, _| all.grow(key).or_raise());
        all.sort_unstable();
        all
    });
    a.retain(|key| b.binary_search(key).is_ok() && common.binary_search(&short(*key)).is_err());
    !a.is_empty() || (0..keys.0.len()).all(|at| value(table, rows[0], at) == value(table, rows[1], at))
}

/// Rows of two or more that share a key.
#[derive(Default)]
struct Holders {
    /// Of each key.
    rows: Lists,
    /// What each key weighs, and the columns that it is of.
    keys: Vec<(f32, u32)>,
    /// A row and a key of it, in order.
    of_rows: Vec<(u32, u32)>,
}

/// Room in which a thread adds up what the others share with a row.
struct Sums {
    shared: Vec<f32>,
    free: Vec<u32>,
    touched: Vec<u32>,
}

impl Holders {
    /// Those of the keys that no more than [`HOLDERS`] rows have, and the keys that more have; on threads.
    fn of<H: Host>(table: &Table, keys: &Keys, threads: usize, host: &mut H) -> Result<(Holders, Vec<u32>)> {
        let starts: Vec<u32> = collect((0..table.rows as u32).step_by(AT_A_TIME))?;
        let mut states = vec![(); threads.min(starts.len()).max(1)];
        let rows = |start: u32| start..(start + AT_A_TIME as u32).min(table.rows as u32);
        let each_key = |row: u32, see: &mut dyn FnMut(u64, u32)| keys.each(&|at| value(table, row, at), see);
        // Most keys are of one row alone: those that come a second time, or seem to, are seen by two bits.
        let bits = (table.rows * 64).next_power_of_two().clamp(1 << 16, 1 << 32);
        let mut seen = [Vec::new(), Vec::new()];
        for seen in &mut seen {
            *seen = with_capacity(bits / 64)?;
            seen.resize_with(bits / 64, AtomicU64::default);
        }
        let [once, twice] = &seen;
        let place = |key: u64| ((key as usize % bits) / 64, 1 << (key % 64));
        on_threads(&starts, &mut states, host, |(), &start| {
            for row in rows(start) {
                each_key(row, &mut |key, _| {
                    let (at, bit) = place(mix64(key));
                    if once[at].fetch_or(bit, Relaxed) & bit != 0 {
                        twice[at].fetch_or(bit, Relaxed);
                    }
                });
            }
        })?;
        // Key, row, columns; in order, each once.
        let parts = on_threads(&starts, &mut states, host, |(), &start| {
            let mut held: Vec<(u64, u32, u32)> = Vec::new();
            for row in rows(start) {
                each_key(row, &mut |key, columns| {
                    let (at, bit) = place(mix64(key));
                    if twice[at].load(Relaxed) & bit != 0 {
                        held.grow((key, row, columns)).or_raise();
                    }
                });
            }
            sort_unstable_by(&mut held, Ord::cmp);
            held.dedup_by(|next, first| {
                let same = (next.0, next.1) == (first.0, first.1);
                first.2 |= if same { next.2 } else { 0 };
                same
            });
            held.shrink_to_fit();
            held
        })?;
        drop(seen);
        let (mut all, mut common, mut list) = (Holders::default(), Vec::new(), Vec::new());
        let mut rest: Vec<_> = collect(parts.iter().map(|part| &part[..]))?;
        let mut held: Vec<(u64, u32, u32)> = Vec::new();
        for first in 0..RANGES {
            held.clear();
            for rest in &mut rest {
                let (range, others) = rest.split_at(rest.partition_point(|it| it.0 >> RANGE <= first));
                held.room(range.len())?;
                held.extend_from_slice(range);
                *rest = others;
            }
            sort_unstable_by(&mut held, Ord::cmp);
            for same in checked(held.chunk_by(|a, b| a.0 == b.0)).filter(|same| same.len() > 1) {
                if same.len() > HOLDERS {
                    common.grow(short(same[0].0))?;
                    continue;
                }
                list.clear();
                list.extend(same.iter().map(|it| it.1));
                all.rows.add(&list);
                all.of_rows.room(same.len())?;
                all.of_rows.extend(list.iter().map(|&row| (row, all.keys.len() as u32)));
                let columns = same.iter().fold(0, |all, it| all | it.2);
                all.keys.grow(((table.rows as f32 / same.len() as f32).ln(), columns))?;
            }
        }
        drop(rest);
        drop((parts, held));
        sort_unstable_by(&mut all.of_rows, Ord::cmp);
        common.sort_unstable();
        Ok((all, common))
    }

    /// Adds the rows that share most with one, of which these are the keys.
    fn partners(&self, table: &Table, of_row: &[(u32, u32)], sums: &mut Sums, found: &mut Vec<Candidate>) {
        let Sums { shared, free, touched } = sums;
        let row = of_row[0].0;
        for &(_, key) in of_row {
            let (weight, columns) = self.keys[key as usize];
            let holders = self.rows.get(key as usize);
            touched.room(holders.len()).or_raise();
            let others = holders.iter().filter(|&&other| other != row);
            for &other in others.filter(|&&other| table.may_be_one([row, other])) {
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
        let candidate = |&other: &u32| {
            let (rows, free) = ([row.min(other), row.max(other)], free[other as usize]);
            Candidate { rows, free }
        };
        found.extend(touched.iter().take(PARTNERS).map(candidate));
        touched.drain(..).for_each(|other| (shared[other as usize], free[other as usize]) = (0.0, 0));
    }
}

/// Candidates in order, each once, and the keys that more than [`HOLDERS`] rows have; on threads.
pub(super) fn candidates<H: Host>(
    table: &Table,
    keys: &Keys,
    threads: usize,
    host: &mut H,
) -> Result<(Vec<Candidate>, Vec<u32>)> {
    let (holders, common) = Holders::of(table, keys, threads, host)?;
    let mut parts: Vec<&[(u32, u32)]> = Vec::new();
    let mut rest = &holders.of_rows[..];
    while let Some(&(row, _)) = rest.get(AT_A_TIME) {
        // A row is of one part.
        let (part, others) = rest.split_at(rest.partition_point(|it| it.0 <= row));
        parts.grow(part)?;
        rest = others;
    }
    parts.grow(rest)?;
    let mut states = Vec::new();
    for _ in 0..threads.min(parts.len()).max(1) {
        let (shared, free) = (filled(0f32, table.rows)?, filled(0u32, table.rows)?);
        states.grow(Sums { shared, free, touched: Vec::new() })?;
    }
    let parts = on_threads(&parts, &mut states, host, |sums, part| {
        let mut found = Vec::new();
        let of_rows = part.chunk_by(|a, b| a.0 == b.0);
        of_rows.for_each(|of_row| holders.partners(table, of_row, sums, &mut found));
        found
    })?;
    drop((holders, states));
    let mut found = with_capacity(parts.iter().map(Vec::len).sum())?;
    parts.into_iter().for_each(|part| found.extend(part));
    sort_unstable_by(&mut found, Ord::cmp);
    found.dedup_by(|next, first| next.rows == first.rows);
    Ok((found, common))
}
