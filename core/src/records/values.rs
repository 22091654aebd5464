//! The columns of records: what kind of values each has, how two of them are compared, and how common each value is.

use crate::hash::city64;
use crate::interrupt::{Meter, checked, sort_unstable_by};
use crate::memory::{Grow, OrRaise, Room, collect, filled};
use crate::similarity::Frequencies;
use crate::text::{char_ngrams, is_spaceless_char, normalize};
use crate::words::{Lists, Words};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What stands for a value that is missing.
pub(super) const NONE: u32 = u32::MAX;
/// Columns that are compared, at most.
pub const MOST_COLUMNS: usize = 32;
/// The greatest level of any column.
pub(super) const MOST: usize = 8;
/// Values that the kind of a column is told by.
const LOOKED_AT: usize = 5_000;
/// Similarities from which on names and texts are of the next level.
const STEPS: [f64; 6] = [0.2, 0.35, 0.5, 0.65, 0.8, 0.92];
/// What a single mistyped letter leaves, in names of which at least this much is equal.
const MISTYPED: (f64, f64) = (0.86, 0.6);
/// Relative differences of numbers up to which they are of the next level.
const APART: [f64; 3] = [0.25, 0.05, 0.01];
/// Letters of a value that are compared one by one, at most.
const SPELLED: usize = 64;
/// Words of the median value from which on a column is running text.
const TEXT: usize = 12;
/// Chance agreement from which on a column does not identify; how often what identifies differs within one thing.
const IDENTIFIES: f64 = 0.02;
const CAP: f64 = 0.1;
const CAP_OF_WORDS: f64 = 0.3;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Days, however they are written.
    Date,
    /// Quantities, or whole numbers of a small range such as years.
    Number { small: bool },
    /// Telephones, e-mail addresses, numbers of things.
    Code,
    /// Words that may be mistyped or shortened.
    Name,
    /// Running text.
    Text,
}

impl Kind {
    /// The level of full agreement; 1 is none.
    pub fn top(self) -> u8 {
        match self {
            Kind::Name | Kind::Text => MOST as u8,
            _ => 5,
        }
    }
}

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
    /// How many rows have a value, and of names and texts a feature.
    values: Frequencies,
    features: Frequencies,
}

/// The values of a column in some rows.
#[derive(Debug)]
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

impl Column {
    /// The values of a column of this kind, in the rows of an order.
    fn new(at: usize, kind: Kind, values: &Strings, order: &[u32]) -> Column {
        // The value of each row as it is compared, by its hash.
        let mut hashes: Vec<(u64, u32)> = Vec::new();
        for (&row, place) in checked(order).zip(0..) {
            let key = key(kind, values.get(row as usize));
            if !key.is_empty() {
                hashes.grow((city64(key.as_bytes()), place)).or_raise();
            }
        }
        sort_unstable_by(&mut hashes, Ord::cmp);
        let mut column = Column {
            at,
            kind,
            ids: filled(NONE, order.len()).or_raise(),
            keys: Strings::default(),
            hashes: Vec::new(),
            common: Vec::new(),
            features: Lists::default(),
            of_features: Vec::new(),
            weights: Vec::new(),
            lengths: Vec::new(),
            numbers: Vec::new(),
            dates: Vec::new(),
        };
        for same in checked(hashes.chunk_by(|a, b| a.0 == b.0)) {
            same.iter().for_each(|it| column.ids[it.1 as usize] = column.hashes.len() as u32);
            column.keys.add(&key(kind, values.get(order[same[0].1 as usize] as usize)));
            column.hashes.grow(same[0].0).or_raise();
        }
        column.prepare();
        column
    }

    /// The values of these rows in a column that tells something, and what is known of it.
    pub fn learned(at: usize, values: &Strings, order: &[u32]) -> Option<(Column, Known)> {
        let some: Vec<String> = collect(
            checked(order)
                .map(|&row| values.get(row as usize))
                .filter(|value| !value.is_empty())
                .take(LOOKED_AT)
                .map(str::to_lowercase),
        )
        .or_raise();
        let kind = kind_of(&some);
        let mut column = Column::new(at, kind, values, order);
        let mut counts = filled(0u32, column.hashes.len()).or_raise();
        checked(&column.ids).filter(|&&id| id != NONE).for_each(|&id| counts[id as usize] += 1);
        let present: usize = counts.iter().map(|&count| count as usize).sum();
        if present * 50 < order.len() || counts.len() < 2 {
            return None;
        }
        let all = present as f64;
        let same = counts.iter().map(|&count| f64::from(count) * (f64::from(count) - 1.0)).sum::<f64>()
            / (all * (all - 1.0)).max(1.0);
        let words = median(some.iter().map(|value| words(&normalize(value))));
        let cap = match kind {
            _ if same > IDENTIFIES => 1.0,
            Kind::Number { .. } | Kind::Text => 1.0,
            Kind::Name if words > 2 => CAP_OF_WORDS,
            _ => CAP,
        };
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
        let common = |&hash: &u64| {
            (f64::from(known.values.count(hash).max(2) - 1) / all / (known.same + 1e-12)) as f32
        };
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
                let same = [0, 1, 2].map(|part| d[part] == e[part]);
                let swapped = same[0] && d[1] == e[2] && d[2] == e[1];
                let nearly = same.iter().filter(|same| **same).count() == 2
                    || swapped
                    || self.distance([x, y]).is_some_and(|(distance, _)| distance <= 1);
                (1 + u8::from(same[0]) + 2 * u8::from(nearly)).min(4)
            }
            Kind::Code => {
                let (distance, length) = self.distance([x, y]).unwrap_or((usize::MAX, 1));
                let like = distance != usize::MAX && 1.0 - distance as f64 / length as f64 >= MISTYPED.1;
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
        if self.kind == Kind::Text || cosine >= STEPS[STEPS.len() - 1] {
            return cosine;
        }
        let Some((distance, length)) = self.distance(values) else { return cosine };
        let equal = 1.0 - distance as f64 / length as f64;
        let mistyped = if distance <= 1 && equal >= MISTYPED.1 { MISTYPED.0 } else { 0.0 };
        cosine.max(equal).max(mistyped)
    }

    /// Edits that make one value of the other, and the characters of the longer one; `None`: they are long.
    fn distance(&self, values: [usize; 2]) -> Option<(usize, usize)> {
        let mut letters = [['\0'; SPELLED]; 2];
        let mut counts = [0; 2];
        for ((letters, count), value) in letters.iter_mut().zip(&mut counts).zip(values) {
            for c in self.keys.get(value).chars() {
                *letters.get_mut(*count)? = c;
                *count += 1;
            }
        }
        let distance = edits(&letters[0][..counts[0]], &letters[1][..counts[1]]);
        Some((distance, counts[0].max(counts[1]).max(1)))
    }

    /// How common the value of a row is beside any two rows' agreement: 1 if as common, less if it is rare.
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

/// Insertions, deletions, replacements and swaps of neighbours that make one word of the other (Damerau and Levenshtein,
/// restricted).
fn edits(a: &[char], b: &[char]) -> usize {
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    let mut rows = [[0usize; SPELLED + 1]; 3];
    rows[0].iter_mut().enumerate().for_each(|(at, cell)| *cell = at);
    for (i, x) in a.iter().enumerate() {
        let [before, above, now] = [(i + 2) % 3, i % 3, (i + 1) % 3];
        rows[now][0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let mut least =
                (rows[above][j] + usize::from(x != y)).min(rows[above][j + 1] + 1).min(rows[now][j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                least = least.min(rows[before][j - 1] + 1);
            }
            rows[now][j + 1] = least;
        }
    }
    rows[a.len() % 3][b.len()]
}

/// Words of a value in normal form; two characters of a script without spaces are one.
fn words(normal: &str) -> usize {
    let of = |word: &str| if word.contains(is_spaceless_char) { word.chars().count().div_ceil(2) } else { 1 };
    normal.split(' ').filter(|word| !word.is_empty()).map(of).sum()
}

/// The words of a value in normal form, those of scripts without spaces as pairs of characters.
pub(super) fn each_word(normal: &str, see: &mut dyn FnMut(&str)) {
    for word in normal.split(' ').filter(|word| !word.is_empty()) {
        see(word);
        if word.contains(is_spaceless_char) {
            char_ngrams(word, 2, &mut *see);
        }
    }
}

fn features_of(key: &str, grams: bool, see: &mut dyn FnMut(u64)) {
    let mut meter = Meter::new();
    let mut bounded = String::new();
    for word in key.split(' ').filter(|word| !word.is_empty()) {
        meter.work(word.len());
        if word.contains(is_spaceless_char) {
            char_ngrams(word, 2, |part| see(city64(part.as_bytes())));
        } else {
            see(city64(word.as_bytes()));
        }
        if grams {
            bounded.clear();
            bounded.room(word.len() + 2).or_raise();
            bounded.push('_');
            bounded.push_str(word);
            bounded.push('_');
            char_ngrams(&bounded, 3, |part| see(!city64(part.as_bytes())));
        }
    }
}

fn median(values: impl Iterator<Item = usize>) -> usize {
    let mut values: Vec<usize> = collect(values).or_raise();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// The kind of a column with such values, in small letters.
fn kind_of(some: &[String]) -> Kind {
    let share = |is: &dyn Fn(&str) -> bool| {
        some.iter().filter(|value| is(value)).count() as f64 / some.len().max(1) as f64
    };
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let all_digits = |text: &str| !text.is_empty() && digits(text) == text.len();
    let length = median(some.iter().map(|value| value.chars().count()));
    let of_words = median(some.iter().map(|value| words(&normalize(value))));
    if share(&|value| date(value).is_some()) > 0.8 {
        return Kind::Date;
    }
    if share(&|value| number(value).is_some()) > 0.9 {
        let fixed = share(&|value| all_digits(value) && value.len() >= 4 && value.len() == length) > 0.8;
        let year =
            share(&|value| number(value).is_some_and(|number| (1700.0..2100.0).contains(&number))) > 0.8;
        if share(&|value| all_digits(value) && value.len() >= 7) > 0.5 || fixed && !year {
            return Kind::Code;
        }
        let numbers: Vec<f64> = some.iter().filter_map(|value| number(value)).collect();
        let whole = numbers.iter().filter(|number| number.fract() == 0.0).count() * 20 > numbers.len() * 19;
        let [least, most] = [f64::min, f64::max].map(|of| numbers.iter().copied().reduce(of).unwrap_or(0.0));
        return Kind::Number { small: whole && most - least < 400.0 };
    }
    let has_digit = |value: &str| digits(value) > 0;
    if share(&|value| digits(value) * 2 >= value.len()) > 0.7 && length >= 5
        || share(&|value| value.contains('@')) > 0.7
        || of_words <= 1 && share(&has_digit) > 0.7
    {
        Kind::Code
    } else if of_words > TEXT {
        Kind::Text
    } else {
        Kind::Name
    }
}

/// A value as it is compared; empty: there is none.
pub(super) fn key(kind: Kind, value: &str) -> String {
    match kind {
        Kind::Date => date(value).map_or(String::new(), |[year, month, day]| format!("{year}-{month}-{day}")),
        Kind::Number { .. } => number(value).map_or(String::new(), |number| number.to_string()),
        Kind::Code => normalize(value).replace(' ', ""),
        Kind::Name | Kind::Text => normalize(value),
    }
}

/// The number that a value is, as prices and shares are written.
fn number(value: &str) -> Option<f64> {
    if value.len() > 24 || !value.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let plain = value
        .trim()
        .trim_start_matches(['$', '€', '£', '¥', ' '])
        .trim_end_matches(['%', ' '])
        .replace(',', "");
    plain.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The year, month and day that a value is: 2024-03-05, 20240305, 05.03.2024, 5 Mar 2024, March 5 2024, 2024年3月5日.
fn date(value: &str) -> Option<[u16; 3]> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let value = value.trim();
    if value.len() == 8 && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return valid([&value[..4], &value[4..6], &value[6..]].map(|part| part.parse().unwrap_or(0)));
    }
    if value.len() > 32 {
        return None;
    }
    let low = value.to_lowercase();
    let month = |word: &str| MONTHS.iter().position(|month| word.starts_with(month)).map(|at| at as u16 + 1);
    let mut parts =
        low.split(|c: char| !c.is_alphanumeric() || "年月日".contains(c)).filter(|part| !part.is_empty());
    let [first, second, third] = [parts.next()?, parts.next()?, parts.next()?];
    // A time of day may follow.
    let third = third.split('t').next().unwrap_or_default();
    let of = |part: &str| part.parse::<u16>().ok();
    let date = match (of(first), of(second), of(third)) {
        (Some(year), Some(month), Some(day)) if year > 1000 => [year, month, day],
        (Some(day), Some(month), Some(year)) if year > 1000 && month <= 12 => [year, month, day],
        (Some(month), Some(day), Some(year)) if year > 1000 => [year, month, day],
        (Some(day), None, Some(year)) => [year, month(second)?, day],
        (None, Some(day), Some(year)) => [year, month(first)?, day],
        _ => return None,
    };
    valid(date)
}

fn valid(date: [u16; 3]) -> Option<[u16; 3]> {
    let is_date =
        (1000..=2999).contains(&date[0]) && (1..=12).contains(&date[1]) && (1..=31).contains(&date[2]);
    is_date.then_some(date)
}

/// What is known of model numbers and the like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KnownIdentifiers {
    /// Rows that have some.
    filled: usize,
    /// The chance that two rows have one in common.
    pub same: f64,
    counts: Frequencies,
}

/// Model numbers and the like, wherever they stand among words.
#[derive(Debug)]
pub(super) struct Identifiers {
    /// Those of each row, twice their number, and one more if they stand among words: what two columns of codes have in
    /// common these tell themselves.
    of: Lists,
    spelled: Strings,
    /// As [`Column::commonness`], of each.
    common: Vec<f32>,
}

impl Identifiers {
    /// Full agreement: one is in both. In between: one begins as one of the other does.
    pub const TOP: u8 = 3;

    /// Those in the columns of words and codes, and how many rows have each.
    fn new(columns: &[(usize, Kind)], values: &[Strings], order: &[u32]) -> (Identifiers, Vec<u32>) {
        let wordy = |it: &&(usize, Kind)| matches!(it.1, Kind::Name | Kind::Text | Kind::Code);
        let columns: Vec<_> = columns.iter().filter(wordy).collect();
        let mut ids = FxHashMap::<String, u32>::default();
        let mut all = Identifiers { of: Lists::default(), spelled: Strings::default(), common: Vec::new() };
        let (mut list, mut counts) = (Vec::new(), Vec::new());
        for &row in checked(order) {
            list.clear();
            for &&(at, kind) in &columns {
                for word in identifiers(values[at].get(row as usize)) {
                    if !ids.contains_key(&word) {
                        ids.room(1).or_raise();
                        all.spelled.add(&word);
                        counts.grow(0).or_raise();
                    }
                    let next = ids.len() as u32;
                    list.grow(*ids.entry(word).or_insert(next) << 1 | u32::from(kind != Kind::Code))
                        .or_raise();
                }
            }
            list.sort_unstable_by(|a, b| b.cmp(a));
            list.dedup_by_key(|id| *id >> 1);
            list.reverse();
            list.iter().for_each(|&id| counts[id as usize >> 1] += 1);
            all.of.add(&list);
        }
        (all, counts)
    }

    fn hashes(&self) -> impl Iterator<Item = u64> {
        checked(0..self.spelled.count()).map(|id| city64(self.spelled.get(id).as_bytes()))
    }

    /// Those in columns of words and codes, and what is known of them; `None`: few rows have some.
    pub fn learned(
        columns: &[(usize, Kind)],
        values: &[Strings],
        order: &[u32],
    ) -> Option<(Identifiers, KnownIdentifiers)> {
        let (mut all, counts) = Identifiers::new(columns, values, order);
        let filled = checked(0..order.len()).filter(|&row| all.is_among_words(row as u32)).count();
        let pairs = filled as f64 * (filled as f64 - 1.0);
        let same = counts.iter().map(|&count| f64::from(count) * (f64::from(count) - 1.0)).sum::<f64>();
        let same = (same / pairs.max(1.0)).max(1e-9);
        if filled * 5 <= order.len() {
            return None;
        }
        let counts = Frequencies::counted(all.hashes().zip(counts), filled);
        let known = KnownIdentifiers { filled, same, counts };
        all.weigh(&known);
        Some((all, known))
    }

    /// Those of other rows.
    pub fn read(
        known: &KnownIdentifiers,
        columns: &[(usize, Kind)],
        values: &[Strings],
        order: &[u32],
    ) -> Identifiers {
        let (mut all, _) = Identifiers::new(columns, values, order);
        all.weigh(known);
        all
    }

    fn weigh(&mut self, known: &KnownIdentifiers) {
        let all = known.filled.max(1) as f64;
        let common = |hash: u64| (f64::from(known.counts.count(hash).max(2) - 1) / all / known.same) as f32;
        self.common = collect(self.hashes().map(common)).or_raise();
    }

    fn is_among_words(&self, row: u32) -> bool {
        self.of.get(row as usize).iter().any(|id| id & 1 == 1)
    }

    fn shared<'i>(&'i self, [a, b]: [u32; 2]) -> impl Iterator<Item = u32> + 'i {
        let other = self.of.get(b as usize);
        let both = |id: u32| {
            let found = other.binary_search_by_key(&(id >> 1), |it| it >> 1).ok()?;
            ((id | other[found]) & 1 == 1).then_some(id >> 1)
        };
        self.of.get(a as usize).iter().filter_map(move |&id| both(id))
    }

    pub fn level(&self, rows: [u32; 2]) -> u8 {
        let [x, y] = rows.map(|row| self.of.get(row as usize));
        if x.is_empty() || y.is_empty() || !rows.iter().any(|&row| self.is_among_words(row)) {
            return 0;
        }
        if self.shared(rows).next().is_some() {
            return Self::TOP;
        }
        // KX100 may be KX100B.
        let begins = |x: &str, y: &str| x.starts_with(y) || y.starts_with(x);
        let mut pairs = x.iter().flat_map(|x| y.iter().map(move |y| (x, y))).take(SPELLED * SPELLED);
        let spelled = |id: u32| self.spelled.get(id as usize >> 1);
        1 + u8::from(pairs.any(|(&x, &y)| (x | y) & 1 == 1 && begins(spelled(x), spelled(y))))
    }

    /// As [`Column::commonness`], of the rarest that both have.
    pub fn commonness(&self, rows: [u32; 2]) -> f64 {
        self.shared(rows).map(|id| f64::from(self.common[id as usize])).reduce(f64::min).unwrap_or(1.0)
    }

    pub fn of(&self, row: u32) -> Vec<&str> {
        self.of.get(row as usize).iter().map(|&id| self.spelled.get(id as usize >> 1)).collect()
    }
}

/// Four characters with a digit at least, that are more than a quantity with its unit.
fn identifiers(value: &str) -> impl Iterator<Item = String> + '_ {
    const UNITS: [&str; 24] = [
        "gb", "mb", "in", "inch", "mm", "cm", "ft", "lb", "st", "nd", "rd", "th", "hz", "w", "v", "x", "p",
        "mp", "pk", "ml", "oz", "kg", "g", "l",
    ];
    let parts = value.split(|c: char| c.is_whitespace() || "/,;:()".contains(c));
    let flat = parts.map(|part| {
        part.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect::<String>()
    });
    flat.filter(|word| {
        let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let letters = !unit.is_empty() || word.bytes().any(|byte| byte.is_ascii_alphabetic());
        word.len() >= 4
            && word.bytes().any(|byte| byte.is_ascii_digit())
            && (letters && !UNITS.contains(&unit) || word.len() >= 5)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_values() {
        let kind =
            |values: &[&str]| kind_of(&values.iter().map(|value| value.to_lowercase()).collect::<Vec<_>>());
        assert_eq!(
            kind(&["2024-03-05", "5 Mar 2023", "March 7, 1999", "20240102", "2024年3月5日"]),
            Kind::Date
        );
        assert_eq!(kind(&["1999", "2004", "2010"]), Kind::Number { small: true });
        assert_eq!(kind(&["$12.50", "8,000", "3.5%"]), Kind::Number { small: false });
        assert_eq!(kind(&["4711081", "4711082"]), Kind::Code);
        assert_eq!(kind(&["0113 496 0123", "0113-496-0999"]), Kind::Code);
        assert_eq!(kind(&["a@b.org", "c@d.org"]), Kind::Code);
        assert_eq!(kind(&["Anna Bell", "Ben Carter"]), Kind::Name);
        assert_eq!(kind(&["张三", "李四"]), Kind::Name);
        assert_eq!(kind(&[&"word ".repeat(20), &"小区停水三天怎么办".repeat(4)]), Kind::Text);
        assert_eq!(date("05.03.2024"), Some([2024, 3, 5]));
        assert_eq!(date("3/25/2024"), Some([2024, 3, 25]));
        assert_eq!(date("2024-13-05"), None);
    }

    #[test]
    fn edits_are_counted() {
        let of = |a: &str, b: &str| edits(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        for (a, b, count) in [
            ("query", "qeury", 1),
            ("query", "qury", 1),
            ("query", "quarry", 2),
            ("", "ab", 2),
            ("张三丰", "张三", 1),
        ] {
            assert_eq!((of(a, b), of(b, a)), (count, count), "{a} {b}");
        }
    }
}
