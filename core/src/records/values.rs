//! The values of records: what kind they are of, as they are compared, and of what they are made.

use crate::hash::city64;
use crate::memory::{OrRaise, Room, collect};
use crate::text::{char_ngrams, is_spaceless_char, normalize};
use crate::words::words_of;
use serde::{Deserialize, Serialize};

/// Columns that are compared, at most.
pub const MOST_COLUMNS: usize = 32;
/// Fields that there can be: the columns and the identifiers.
pub(super) const FIELDS: usize = MOST_COLUMNS + 1;
/// The greatest level of any column.
pub(super) const MOST: usize = 8;
/// The level of names from which on they differ by slips of the pen alone.
pub(super) const SLIP: u8 = 6;
/// Letters of a value that are compared one by one, at most.
pub(super) const SPELLED: usize = 64;
/// Words of the median value from which on a column is running text.
const TEXT: usize = 12;

/// What the values of a column are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    /// Days, however they are written.
    Date,
    /// Quantities, or whole numbers of a small range such as years.
    Number {
        small: bool,
    },
    /// Telephones, e-mail addresses, numbers of things.
    Code,
    /// Words that may be mistyped or shortened.
    #[default]
    Name,
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

/// Insertions, deletions, replacements and swaps of neighbours that make one word of the other (Damerau and Levenshtein,
/// restricted); the first has 64 letters at most. A column of the table is one number (Hyyrö 2003): a bit says whether a cell is
/// one more or one less than the cell above it.
pub(crate) fn edits<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let same = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    if a.is_empty() || b.is_empty() {
        return a.len().max(b.len());
    }
    let last = 1u64 << (a.len() - 1);
    let (mut more, mut less, mut diagonal, mut before) = (!0u64, 0u64, 0u64, 0u64);
    let mut edits = a.len();
    for y in b {
        let is = a.iter().zip(0..).fold(0u64, |is, (x, at)| is | u64::from(x == y) << at);
        let swapped = ((!diagonal & is) << 1) & before;
        diagonal = ((is & more).wrapping_add(more) ^ more) | is | less | swapped;
        let (right, left) = (less | !(diagonal | more), diagonal & more);
        edits = edits + usize::from(right & last != 0) - usize::from(left & last != 0);
        let (right, left) = (right << 1 | 1, left << 1);
        (more, less, before) = (left | !(diagonal | right), right & diagonal, is);
    }
    edits
}

/// Words of a value in normal form; two characters of a script without spaces are one.
pub(super) fn words(normal: &str) -> usize {
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

pub(super) fn features_of(key: &str, grams: bool, see: &mut dyn FnMut(u64)) {
    words_of(key, |part| see(city64(part.as_bytes())));
    let mut bounded = String::new();
    for word in key.split(' ').filter(|word| grams && !word.is_empty()) {
        bounded.clear();
        bounded.room(word.len() + 2).or_raise();
        bounded.extend(["_", word, "_"]);
        char_ngrams(&bounded, 3, |part| see(!city64(part.as_bytes())));
    }
}

pub(super) fn median(values: impl Iterator<Item = usize>) -> usize {
    let mut values: Vec<usize> = collect(values).or_raise();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// The kind of a column with such values, in small letters.
pub(super) fn kind_of(some: &[String]) -> Kind {
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
pub(super) fn number(value: &str) -> Option<f64> {
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

/// The year, month and day that a value is: 2024-03-05, 20240305, 05.03.2024, 5 Mar 2024, 05-MAR-24, March 5 2024, 2024年3月5日.
pub(super) fn date(value: &str) -> Option<[u16; 3]> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let value = value.trim();
    let date = if value.len() == 8 && value.bytes().all(|byte| byte.is_ascii_digit()) {
        [&value[..4], &value[4..6], &value[6..]].map(|part| part.parse().unwrap_or(0))
    } else if value.len() > 32 {
        return None;
    } else {
        let low = value.to_lowercase();
        let month =
            |word: &str| MONTHS.iter().position(|month| word.starts_with(month)).map(|at| at as u16 + 1);
        let mut parts =
            low.split(|c: char| !c.is_alphanumeric() || "年月日".contains(c)).filter(|part| !part.is_empty());
        let [first, second, third] = [parts.next()?, parts.next()?, parts.next()?];
        // A time of day may follow.
        let third = third.split('t').next().unwrap_or_default();
        let of = |part: &str| part.parse::<u16>().ok();
        match (of(first), of(second), of(third)) {
            (Some(year), Some(month), Some(day)) if year > 1000 => [year, month, day],
            (Some(day), Some(month), Some(year)) if year > 1000 && month <= 12 => [year, month, day],
            (Some(month), Some(day), Some(year)) if year > 1000 => [year, month, day],
            // Of two digits from 1969 to 2068, as POSIX has it.
            (Some(day), None, Some(year)) if third.len() == 2 => {
                [year + if year < 69 { 2000 } else { 1900 }, month(second)?, day]
            }
            (Some(day), None, Some(year)) => [year, month(second)?, day],
            (None, Some(day), Some(year)) => [year, month(first)?, day],
            _ => return None,
        }
    };
    let is_date =
        (1000..=2999).contains(&date[0]) && (1..=12).contains(&date[1]) && (1..=31).contains(&date[2]);
    is_date.then_some(date)
}

/// The share of pairs of one thing that agree in a column, before anything is seen.
pub(super) const EXPECTED: f64 = 0.7;

/// The chance that two of so many rows have one in common, of which so many have each.
pub(super) fn chance(counts: &[u32], rows: usize) -> f64 {
    let pairs = |count: f64| count * (count - 1.0);
    counts.iter().map(|&count| pairs(f64::from(count))).sum::<f64>() / pairs(rows as f64).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::{SPELLED, edits};
    use crate::random::SplitMix64;

    /// By its definition, cell by cell.
    fn by_definition(a: &[u8], b: &[u8]) -> usize {
        let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = if i == 0 || j == 0 {
                    i + j
                } else {
                    let replaced = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                    replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
                };
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    table[i][j] = table[i][j].min(table[i - 2][j - 2] + 1);
                }
            }
        }
        table[a.len()][b.len()]
    }

    /// What two names are judged by is the number of slips, whatever way it is reckoned.
    #[test]
    fn edits_are_those_of_the_definition() {
        let mut random = SplitMix64::new(1);
        for letters in [2, 3, 26] {
            for most in [4, 12, SPELLED] {
                for _ in 0..2_000 {
                    let mut word = || -> Vec<u8> {
                        let length = random.below(most + 1);
                        (0..length).map(|_| random.below(letters) as u8).collect()
                    };
                    let [a, mut b] = [word(), word()];
                    if a.len() > 1 && b.len() % 2 == 0 {
                        b.clone_from(&a);
                        b.swap(0, a.len() / 2);
                    }
                    assert_eq!(edits(&a, &b), by_definition(&a, &b), "{a:?} {b:?}");
                }
            }
        }
    }
}
