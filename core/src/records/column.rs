//! The columns of records in some rows: how two values are compared, and how common each is.

use super::values::{
    EXPECTED, Kind, SLIP, SPELLED, chance, date, edits, features_of, key, kind_of, median, number, words,
};
use crate::hash::city64;
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Grow, OrRaise, Room, collect, filled};
use crate::similarity::Frequencies;
use crate::text::{is_spaceless_char, normalize};
use crate::words::{Lists, Words};
use serde::{Deserialize, Serialize};
use unicode_normalization::char::decompose_canonical;

/// What stands for a value that is missing.
pub(super) const NONE: u32 = u32::MAX;
/// Values that the kind of a column is told by.
const LOOKED_AT: usize = 5_000;
/// Similarities from which on names and texts are of the next level.
const STEPS: [f64; 6] = [0.2, 0.35, 0.5, 0.65, 0.8, 0.92];
/// What a single mistyped letter leaves, in names of which at least this much is equal.
const MISTYPED: (f64, f64) = (0.86, 0.6);
/// What a name of which words are shortened or mistyped leaves, at least, and less than which one with a word more.
const SHORTENED: f64 = STEPS[SLIP as usize - 2];
/// Words of a name that are compared one by one, at most; the share of what it weighs that another word makes, at least.
const MOST_WORDS: usize = 5;
const ANOTHER: f32 = 0.25;
/// Relative differences of numbers up to which they are of the next level.
const APART: [f64; 3] = [0.25, 0.05, 0.01];
/// Chance agreement from which on a column does not identify, and one of short names; how often what identifies differs within
/// one thing.
const IDENTIFIES: f64 = 0.02;
const NAMES: f64 = 0.05;
pub(super) const CAP: f64 = 0.1;
const CAP_OF_WORDS: f64 = 0.3;
const CAP_OF_DAYS: f64 = 0.03;

/// Texts one after the other.
#[derive(Debug, Default)]
pub(super) struct Strings {
    all: String,
    ends: Vec<usize>,
}

impl Strings {
    pub fn add(&mut self, text: &str) {
        self.all.room(text.len()).or_raise();
        self.all.push_str(text);
        self.ends.grow(self.all.len()).or_raise();
    }

    /// Empty beyond the last one.
    pub fn get(&self, at: usize) -> &str {
        let end = self.ends.get(at).copied().unwrap_or_default();
        &self.all[if at == 0 || end == 0 { 0 } else { self.ends[at - 1] }..end]
    }

    pub fn count(&self) -> usize {
        self.ends.len()
    }
}

/// What is known of a column that is compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Known {
    /// Its place among the columns of the table.
    pub at: usize,
    pub kind: Kind,
    /// Rows that have a value.
    pub filled: usize,
    /// The chance that two rows have one value.
    pub same: f64,
    /// How often two rows of one thing differ here, at most.
    pub cap: f64,
    /// Whether it identifies by words alone, as names and titles do and addresses do not.
    #[serde(default)]
    pub is_called: bool,
    /// The later columns, by their bits, whose names are others.
    #[serde(default)]
    pub apart: u32,
    /// How many rows have a value, and of names and texts a feature.
    values: Frequencies,
    features: Frequencies,
}

impl Known {
    /// Whether these are names of three words or more, most of which are of one row.
    pub fn is_wordy(&self) -> bool {
        self.kind == Kind::Name && self.cap == CAP_OF_WORDS
    }
}

/// The values of a column in some rows.
#[derive(Debug, Default)]
pub(super) struct Column {
    /// Its place among the columns of the table.
    pub at: usize,
    pub kind: Kind,
    /// The value of each row, or [`NONE`].
    pub ids: Vec<u32>,
    /// Each value as it is compared, by its hash.
    pub keys: Strings,
    hashes: Vec<u64>,
    /// How common each is beside any two rows' agreement: 1 if as common, less if it is rare.
    common: Vec<f32>,
    /// Of names and texts the features of each value by number, what each feature weighs, and the length of the value as a
    /// vector.
    features: Lists,
    of_features: Vec<u64>,
    weights: Vec<f32>,
    lengths: Vec<f32>,
    numbers: Vec<f64>,
    dates: Vec<[u16; 3]>,
}

/// The words of a short name, of scripts without spaces its characters, and how many there are; `None`: it is long.
fn parts(key: &str) -> Option<([&str; MOST_WORDS], usize)> {
    let (mut all, mut count) = ([""; MOST_WORDS], 0);
    let mut add = |part| {
        *all.get_mut(count)? = part;
        count += 1;
        Some(())
    };
    if key.contains(is_spaceless_char) {
        key.char_indices().try_for_each(|(at, c)| add(&key[at..at + c.len_utf8()]))?;
    } else {
        key.split(' ').filter(|word| !word.is_empty()).try_for_each(add)?;
    }
    Some((all, count))
}

/// Whether two names that differ do so in their numbers alone, and these are not the same written otherwise.
fn differ_in_numbers(names: [&str; 2]) -> bool {
    let [a, b] = names.map(|name| name.bytes().filter(|byte| !byte.is_ascii_digit()));
    a.eq(b) && !have_same_numbers(names)
}

/// Whether words are all numbers, and there is one.
fn are_numbers(words: &[&str]) -> bool {
    !words.is_empty() && words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether the numbers of two names are the same: 1 200 and 1200, 9 and 09, 10 20 and 20 10. Not 2 5 and 2 50, for 12/1 is not 12/10.
fn have_same_numbers(names: [&str; 2]) -> bool {
    let numbers = names.map(|name| -> Vec<&str> {
        name.split(|c: char| !c.is_ascii_digit()).filter(|it| !it.is_empty()).collect()
    });
    let [a, b] = numbers.each_ref().map(|it| it.concat());
    let [mut x, mut y] = numbers.map(|it| it.iter().map(|it| it.trim_start_matches('0')).collect::<Vec<_>>());
    let is_split = a == b && x.len() != y.len();
    x.sort_unstable();
    y.sort_unstable();
    is_split || x == y
}

/// Whether two words may be one: equal, shortened or mistyped; numbers are what they are.
fn are_one_word(a: &str, b: &str) -> bool {
    let is_number = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
    if a == b || is_number(a) || is_number(b) {
        return a == b;
    }
    // So many slips of the pen in words of that many letters.
    let is_slip = |(edits, letters)| edits <= if letters >= 8 { 2 } else { usize::from(letters >= 4) };
    // No slip takes more than one character of four bytes.
    let may_be = a.len().abs_diff(b.len()) <= 8;
    a.starts_with(b) || b.starts_with(a) || may_be && distance([a, b]).is_some_and(is_slip)
}

/// A letter without its accents or points, which many leave out; `None`: it is a point.
fn plain(c: char) -> Option<char> {
    let mut first = None;
    match c {
        'ø' => return Some('o'),
        'ł' => return Some('l'),
        'đ' => return Some('d'),
        'ı' => return Some('i'),
        // Of Hebrew and Arabic: vowels that are written in few texts.
        '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{670}' => return None,
        // Latin, Greek and Cyrillic.
        '\u{c0}'..='\u{45f}' | '\u{1e00}'..='\u{1fff}' => {
            decompose_canonical(c, |part| _ = first.get_or_insert(part))
        }
        _ => {}
    }
    first.or(Some(c))
}

/// Edits that make one text of the other, and the characters of the longer one; `None`: they are long.
fn distance(texts: [&str; 2]) -> Option<(usize, usize)> {
    if texts.iter().all(|text| text.is_ascii() && text.len() <= SPELLED) {
        let [a, b] = texts.map(str::as_bytes);
        return Some((edits(a, b), a.len().max(b.len()).max(1)));
    }
    let mut letters = [['\0'; SPELLED]; 2];
    let mut counts = [0; 2];
    for ((letters, count), text) in letters.iter_mut().zip(&mut counts).zip(texts) {
        for c in text.chars().filter_map(plain) {
            *letters.get_mut(*count)? = c;
            *count += 1;
        }
    }
    let distance = edits(&letters[0][..counts[0]], &letters[1][..counts[1]]);
    Some((distance, counts[0].max(counts[1]).max(1)))
}

/// Whether the later of two codes may be the next of a series: only the last two digits differ.
fn are_in_series(a: &str, b: &str) -> bool {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let is_end =
        |code: &str| code.len() - same <= 2 && code.bytes().skip(same).all(|byte| byte.is_ascii_digit());
    a.len() == b.len() && is_end(a) && is_end(b)
}

impl Column {
    /// The values of a column of this kind, in the rows of an order.
    fn new(at: usize, kind: Kind, values: &Strings, order: &[u32]) -> Column {
        // The value of each row as it is compared, by its hash.
        let (mut keys, mut hashes) = (Strings::default(), Vec::<(u64, u32)>::new());
        for (&row, place) in checked(order).zip(0..) {
            let key = key(kind, values.get(row as usize));
            if !key.is_empty() {
                hashes.grow((city64(key.as_bytes()), place)).or_raise();
            }
            keys.add(&key);
        }
        sort_unstable_by(&mut hashes, Ord::cmp);
        let ids = filled(NONE, order.len()).or_raise();
        let mut column = Column { at, kind, ids, ..Column::default() };
        for same in checked(hashes.chunk_by(|a, b| a.0 == b.0)) {
            same.iter().for_each(|it| column.ids[it.1 as usize] = column.hashes.len() as u32);
            column.keys.add(keys.get(same[0].1 as usize));
            column.hashes.grow(same[0].0).or_raise();
        }
        drop(keys);
        column.prepare();
        column
    }

    /// The values of these rows in a column that tells something, and what is known of it.
    pub fn learned(at: usize, values: &Strings, order: &[u32]) -> Option<(Column, Known)> {
        let some = checked(order).map(|&row| values.get(row as usize)).filter(|value| !value.is_empty());
        let some: Vec<String> = collect(some.take(LOOKED_AT).map(str::to_lowercase)).or_raise();
        let kind = kind_of(&some);
        let mut column = Column::new(at, kind, values, order);
        let counts = column.counts();
        let present: usize = counts.iter().map(|&count| count as usize).sum();
        if present * 50 < order.len() || counts.len() < 2 {
            return None;
        }
        let same = chance(&counts, present);
        let words = median(some.iter().map(|value| words(&normalize(value))));
        let cap = match kind {
            Kind::Name if same <= NAMES && words <= 2 => CAP,
            _ if same > IDENTIFIES => 1.0,
            Kind::Number { .. } | Kind::Text => 1.0,
            Kind::Name if words > 2 => CAP_OF_WORDS,
            Kind::Date => CAP_OF_DAYS,
            _ => CAP,
        };
        let with_digits = some.iter().filter(|value| value.bytes().any(|byte| byte.is_ascii_digit())).count();
        let mut of_features = filled(0u32, column.of_features.len()).or_raise();
        for (value, &count) in checked(&counts).enumerate() {
            column.features.get(value).iter().for_each(|&id| of_features[id as usize] += count);
        }
        let counted = |hashes: &[u64], counts: &[u32]| {
            Frequencies::counted(hashes.iter().copied().zip(counts.iter().copied()), present)
        };
        let known = Known {
            at,
            kind,
            filled: present,
            same,
            cap,
            is_called: kind == Kind::Name && same <= IDENTIFIES && with_digits * 2 < some.len(),
            apart: 0,
            values: counted(&column.hashes, &counts),
            features: counted(&column.of_features, &of_features),
        };
        column.weigh(&known);
        Some((column, known))
    }

    /// The values of rows in a column of which this is known.
    pub fn read(known: &Known, values: &Strings, order: &[u32]) -> Column {
        let mut column = Column::new(known.at, known.kind, values, order);
        column.weigh(known);
        column
    }

    fn prepare(&mut self) {
        let values = || checked(0..self.keys.count()).map(|value| self.keys.get(value));
        match self.kind {
            Kind::Number { .. } => {
                self.numbers = collect(values().map(|key| number(key).unwrap_or(0.0))).or_raise();
            }
            Kind::Date => self.dates = collect(values().map(|key| date(key).unwrap_or_default())).or_raise(),
            Kind::Code => {}
            Kind::Name | Kind::Text => {
                let mut words = Words::default();
                for key in values() {
                    features_of(key, self.kind == Kind::Name, &mut |hash| words.add(hash));
                    words.end();
                }
                // In the order of their hashes, so that sums over them do not depend on what other values there are.
                (self.features, self.of_features) = words.ranked(|hash, _| hash);
            }
        }
    }

    fn weigh(&mut self, known: &Known) {
        let all = known.filled as f64;
        // Of a pair that agrees before any is seen, as much as the model has: where all values differ a new one is not common.
        let same = known.same + 2.0 * EXPECTED / (all * (all - 1.0)).max(1.0);
        let common = |&hash: &u64| (f64::from(known.values.count(hash).max(2) - 1) / all / same) as f32;
        self.common = collect(self.hashes.iter().map(common)).or_raise();
        let weight = |&hash: &u64| (((all + 1.0) / f64::from(known.features.count(hash))).ln() + 0.1) as f32;
        self.weights = collect(self.of_features.iter().map(weight)).or_raise();
        let square = |value: usize| {
            let squares = self.features.get(value).iter().map(|&id| self.weights[id as usize].powi(2));
            squares.sum::<f32>().sqrt()
        };
        self.lengths = match self.kind {
            Kind::Name | Kind::Text => collect(checked(0..self.keys.count()).map(square)).or_raise(),
            _ => Vec::new(),
        };
    }

    /// Reads what comparing the values of these rows will read; what comes of it says nothing. For many rows at once the waits
    /// for memory overlap. `ids` is room to work in.
    pub fn touch(&self, rows: impl Iterator<Item = u32>, ids: &mut Vec<u32>) -> usize {
        ids.clear();
        ids.extend(rows.map(|row| self.ids[row as usize]).filter(|&id| id != NONE));
        let all = |read: &dyn Fn(usize) -> usize| ids.iter().fold(0, |all, &id| all ^ read(id as usize));
        let ends = all(&|id| self.keys.get(id).len() ^ self.features.get(id).len());
        let first = |id: usize| {
            let (letter, feature) = (self.keys.get(id).bytes().next(), self.features.get(id).first());
            usize::from(letter.unwrap_or_default()) ^ feature.map_or(0, |&it| it as usize)
        };
        ends ^ all(&first) ^ all(&|id| self.hashes[id] as usize)
    }

    /// How far the values of two rows agree, 1 (not at all) to [`Kind::top`] (equal); 0: one of them has none.
    pub fn level(&self, [a, b]: [u32; 2]) -> u8 {
        let [x, y] = [a, b].map(|row| self.ids[row as usize]);
        if x == NONE || y == NONE {
            return 0;
        }
        if x == y {
            return self.kind.top();
        }
        let [x, y] = [x as usize, y as usize];
        match self.kind {
            Kind::Number { small } => {
                let [x, y] = [self.numbers[x], self.numbers[y]];
                let (apart, most) = ((x - y).abs(), x.abs().max(y.abs()).max(1e-9));
                if small {
                    1 + 2 * u8::from(apart <= 1.0)
                } else {
                    1 + APART.iter().filter(|&&limit| apart / most <= limit).count() as u8
                }
            }
            Kind::Date => {
                let [d, e] = [self.dates[x], self.dates[y]];
                let same_year = d[0] == e[0];
                let swapped = same_year && d[1] == e[2] && d[2] == e[1];
                let nearly = swapped || self.distance([x, y]).is_some_and(|(distance, _)| distance <= 1);
                1 + u8::from(same_year) + 2 * u8::from(nearly)
            }
            Kind::Code => {
                let (distance, length) = self.distance([x, y]).unwrap_or((usize::MAX, 1));
                let is_next = are_in_series(self.keys.get(x), self.keys.get(y));
                let like =
                    distance != usize::MAX && !is_next && 1.0 - distance as f64 / length as f64 >= MISTYPED.1;
                1 + u8::from(like) + u8::from(like && distance <= 2) + u8::from(like && distance <= 1)
            }
            Kind::Name | Kind::Text => {
                let similarity = self.similarity([x, y]);
                1 + STEPS.iter().filter(|&&step| similarity >= step).count() as u8
            }
        }
    }

    fn similarity(&self, values: [usize; 2]) -> f64 {
        let [mut x, mut y] = values.map(|value| self.features.get(value));
        let mut both = 0.0;
        while let ([first, rest @ ..], [other, others @ ..]) = (x, y) {
            if first == other {
                both += self.weights[*first as usize].powi(2);
            }
            (x, y) = (if first <= other { rest } else { x }, if other <= first { others } else { y });
        }
        let [a, b] = values.map(|value| self.lengths[value].max(1e-9));
        let cosine = f64::from(both / (a * b));
        if self.kind == Kind::Text {
            return cosine;
        }
        // House 16 is not house 160, nor flat 1 flat 2, however common these numbers are.
        if differ_in_numbers(values.map(|value| self.keys.get(value))) {
            return 0.0;
        }
        let Some((distance, length)) = self.distance(values) else { return cosine };
        let equal = 1.0 - distance as f64 / length as f64;
        let mistyped = if distance <= 1 && equal >= MISTYPED.1 { MISTYPED.0 } else { 0.0 };
        self.by_words(values, cosine.max(equal).max(mistyped))
    }

    /// How similar two names are, of which that is known as a whole: of short ones not at all if each has a word that the other has
    /// not, and much if each word has its own, though shortened or mistyped.
    fn by_words(&self, values: [usize; 2], whole: f64) -> f64 {
        // In one order, so that two rows are judged alike whichever comes first.
        let mut keys = values.map(|value| self.keys.get(value));
        keys.sort_unstable();
        // Nothing can be said against it, and hardly anything for it.
        if whole < STEPS[0] && keys[0].bytes().next() != keys[1].bytes().next() {
            return whole;
        }
        let [Some((x, count)), Some((y, others))] = keys.map(parts) else { return whole };
        let (x, y) = (&x[..count], &y[..others]);
        let (mut own, mut open) = (Vec::new(), Vec::with_capacity(MOST_WORDS));
        open.extend_from_slice(y);
        for part in x {
            match open.iter().position(|other| are_one_word(part, other)) {
                Some(at) => _ = open.remove(at),
                None => own.push(*part),
            }
        }
        if own.is_empty() && open.is_empty() {
            return whole.max(SHORTENED);
        }
        if count.max(others) == 1 {
            return whole;
        }
        let is_spaceless = keys.iter().any(|key| key.contains(is_spaceless_char));
        // A character is no feature of its own: what it weighs would depend on the other rows.
        let weigh = |part: &&str| if is_spaceless { 1.0 } else { self.weight(part) };
        let weight = |parts: &[&str]| -> f32 { parts.iter().map(weigh).sum() };
        let share = |some: &[&str], all: &[&str]| weight(some) / weight(all).max(1e-9);
        if are_numbers(&own) && are_numbers(&open) && !have_same_numbers(keys) {
            return 0.0;
        }
        // KX 100 may be KX100.
        let [one, other] = [own.concat(), open.concat()];
        if !one.is_empty() && !other.is_empty() && (one.contains(&other) || other.contains(&one)) {
            return whole;
        }
        let [own, open] = [share(&own, x), share(&open, y)];
        // A name in Chinese characters is not shortened by one.
        let another = if is_spaceless { own.max(open) } else { own.min(open) };
        if another >= ANOTHER { 0.0 } else { whole.min(SHORTENED.next_down()) }
    }

    fn weight(&self, word: &str) -> f32 {
        let hash = city64(word.as_bytes());
        self.of_features.binary_search(&hash).map_or(1.0, |at| self.weights[at])
    }

    fn distance(&self, values: [usize; 2]) -> Option<(usize, usize)> {
        distance(values.map(|value| self.keys.get(value)))
    }

    /// Whether the values of two rows in this column and another one, the other way round, are the same, or else one of them and
    /// the other shortened or mistyped behind its first letter; `None`: neither.
    pub fn swapped(&self, other: &Column, [a, b]: [u32; 2]) -> Option<bool> {
        let [one, two] = [self, other].map(|column| [a, b].map(|row| column.ids[row as usize]));
        if [one, two].as_flattened().contains(&NONE) || one[0] == one[1] {
            return None;
        }
        let across = [(one[0], two[1]), (one[1], two[0])].map(|(x, y)| [x as usize, y as usize]);
        let is_near = |[x, y]: [usize; 2]| {
            let (x, y) = (self.keys.get(x), other.keys.get(y));
            x.bytes().next() == y.bytes().next() && are_one_word(x, y)
        };
        match across.map(|[x, y]| self.hashes[x] == other.hashes[y]) {
            [true, true] => Some(true),
            [true, false] => is_near(across[1]).then_some(false),
            [false, true] => is_near(across[0]).then_some(false),
            [false, false] => None,
        }
    }

    /// How many rows have each value.
    pub fn counts(&self) -> Vec<u32> {
        let mut counts = filled(0u32, self.hashes.len()).or_raise();
        checked(&self.ids).filter(|&&id| id != NONE).for_each(|&id| counts[id as usize] += 1);
        counts
    }

    /// Whether these are names of a single word, as given and family names are and full ones are not.
    pub fn is_single(&self) -> bool {
        let values = || checked(0..self.keys.count());
        let several = || values().filter(|&value| self.keys.get(value).contains(' ')).count();
        self.kind == Kind::Name && several() * 4 < self.keys.count()
    }

    /// The share of what stands in two columns that is at least as common in the other one; their values are so common.
    pub fn misplaced([one, two]: [&Column; 2], counts: [&[u32]; 2]) -> f64 {
        let mut others = two.hashes.iter().zip(counts[1]).peekable();
        let mut misplaced = 0.0;
        // Both are in order.
        for (hash, &count) in checked(one.hashes.iter().zip(counts[0])) {
            while others.next_if(|it| it.0 < hash).is_some() {}
            misplaced += others.next_if(|it| it.0 == hash).map_or(0.0, |it| f64::from(count.min(*it.1)));
        }
        let all = |counts: &[u32]| counts.iter().map(|&count| f64::from(count)).sum::<f64>();
        misplaced / (all(counts[0]) + all(counts[1])).max(1.0)
    }

    /// How many times as common the values that a row has in this column and another one are where they belong, as they stand or
    /// the other way round, by what is `known` of both columns.
    pub fn belong(&self, other: &Column, known: [&Known; 2], row: u32) -> f64 {
        let values = [self, other].map(|column| column.hashes[column.ids[row as usize] as usize]);
        let common = |at: usize, value: usize| f64::from(known[at].values.count(values[value]).max(2) - 1);
        let [so, otherwise] = [common(0, 0) * common(1, 1), common(0, 1) * common(1, 0)];
        (so / otherwise).max(otherwise / so)
    }

    /// As `common`, of the value of a row.
    pub fn commonness(&self, row: u32) -> f64 {
        f64::from(self.common[self.ids[row as usize] as usize])
    }

    /// Whether it says nearly always what another one says.
    pub fn repeats(&self, other: &Column) -> bool {
        let same = |(a, b): &(&u32, &u32)| {
            **a != NONE && **b != NONE && self.keys.get(**a as usize) == other.keys.get(**b as usize)
        };
        let both = checked(self.ids.iter().zip(&other.ids)).filter(same).count();
        let [one, two] = [self, other].map(|it| it.ids.iter().filter(|&&id| id != NONE).count());
        both * 20 >= one.min(two) * 19
            && std::mem::discriminant(&self.kind) == std::mem::discriminant(&other.kind)
    }
}
