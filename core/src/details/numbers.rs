//! Numbers and dates in which two texts differ, by value: 12, １２ and 十二 are the same.

use super::spans::Span;
use super::tokens::{Form, Text};
use super::{chinese, english, push, words};
use std::ops::Range;

const DATES: [&str; 10] = ["年", "月", "日", "号", "点", "时", "分", "周", "星期", "季度"];
/// Before a number with 号 after it these make an address: a road's third house.
const ADDRESSES: &str = "路街道巷弄里村区园院镇乡栋楼幢线第";
/// After 号 these make a thing with a number, and no day.
const THINGS: &str = "楼线院门店栋铺房室厅桥井机厂矿地站馆库坑口车位桩码文令单幢区馆柜台窗梯井";
/// Chinese numerals count as numbers before these only: 一 is part of many words.
const UNITS: [&str; 48] = [
    "小时", "分钟", "季度", "星期", "单元", "公里", "平方", "公斤", "元", "块", "角", "天", "年", "月", "日",
    "号", "点", "时", "分", "周", "岁", "个", "次", "户", "人", "名", "家", "辆", "台", "间", "套", "米",
    "里", "吨", "斤", "亩", "倍", "期", "层", "楼", "栋", "幢", "室", "度", "条", "位", "回", "遍",
];
const DIGITS: &str = "零一二三四五六七八九";

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The name of a thing: of a line, an order.
    Name,
    /// A year, month, day or hour.
    Date,
    /// Any other.
    Number,
}

impl Kind {
    /// As in [`super::Detail`].
    pub fn name(self) -> &'static str {
        match self {
            Kind::Name => "name",
            Kind::Date => "date",
            Kind::Number => "number",
        }
    }
}

/// Two stretches' numbers of a kind, from the first to the last that differs: bytes of the texts in small letters.
pub type Difference = (Kind, Range<usize>, Range<usize>);

/// Tokens of the longest stretch whose numbers are compared wherever they stand among other words.
const SHORT: usize = 8;

/// The numbers in which two stretches differ, whatever words that differ too stand between them.
///
/// They differ unless one text only has more of them. So another number in the place of one that both have leaves different
/// what was different, and so does another word for a word. What is written anew, at another length, is not compared.
pub fn differences(span: &Span) -> Vec<Difference> {
    let (a, b) = (span.a, span.b);
    let (x, y) = &span.tokens;
    let alone = span.x().chars().chain(span.y().chars()).all(|c| is_part(c) || c == ' ');
    let short = x.len().max(y.len()) <= SHORT && !span.crosses_a_break();
    let number = |text: &Text, at: usize| text.tokens[at].form == Form::Number;
    let word_by_word =
        || x.len() == y.len() && x.clone().zip(y.clone()).any(|(x, y)| number(a, x) && number(b, y));
    if !(alone || short || word_by_word()) {
        return Vec::new();
    }
    let (all_x, all_y) = (all(&a.low, &span.differ.0, alone), all(&b.low, &span.differ.1, alone));
    let same =
        |one: &Range<usize>, other: &Range<usize>| value(&a.low[one.clone()]) == value(&b.low[other.clone()]);
    let mut rest = all_y.iter();
    let more = all_x.iter().all(|one| rest.any(|other| same(one, other)));
    let mut rest = all_x.iter();
    if more || all_y.iter().all(|other| rest.any(|one| same(one, other))) {
        return Vec::new();
    }
    // One number, written with and without blanks.
    let joined = |text: &Text, all: &[Range<usize>]| -> String {
        all.iter().map(|it| &text.low[it.clone()]).collect()
    };
    if alone && joined(a, &all_x) == joined(b, &all_y) {
        return Vec::new();
    }
    let start = all_x.iter().zip(&all_y).take_while(|(one, other)| same(one, other)).count();
    let (x, y) = (&all_x[start..], &all_y[start..]);
    let end = x.iter().rev().zip(y.iter().rev()).take_while(|(one, other)| same(one, other)).count();
    let (x, y) = (&x[..x.len() - end], &y[..y.len() - end]);
    let mut kinds_x: Vec<Kind> = x.iter().map(|number| kind(a, b, number)).collect();
    let mut kinds_y: Vec<Kind> = y.iter().map(|number| kind(b, a, number)).collect();
    if !kinds_x.contains(&Kind::Name) || !kinds_y.contains(&Kind::Name) {
        let other = |kind: &mut Kind| *kind = if *kind == Kind::Name { Kind::Number } else { *kind };
        kinds_x.iter_mut().chain(&mut kinds_y).for_each(other);
    }
    let of = |kind: Kind, kinds: &[Kind], numbers: &[Range<usize>]| {
        let of_kind = |at: &usize| kinds[*at] == kind;
        let first = (0..kinds.len()).find(of_kind);
        let last = (0..kinds.len()).rfind(of_kind).unwrap_or(kinds.len() - 1);
        (first.is_some(), numbers[first.unwrap_or(0)].start..numbers[last].end)
    };
    let found = |kind| {
        let ((in_x, x), (in_y, y)) = (of(kind, &kinds_x, x), of(kind, &kinds_y, y));
        (in_x || in_y).then_some((kind, x, y))
    };
    [Kind::Name, Kind::Date, Kind::Number].into_iter().filter_map(found).collect()
}

/// The whole numbers that are in a stretch of bytes, or of which it is a part; `alone`: nothing else is.
fn all(low: &str, stretch: &Range<usize>, alone: bool) -> Vec<Range<usize>> {
    let length = |c: char| c.len_utf8();
    let part = |c: &char| is_part(*c);
    let before: usize = low[..stretch.start].chars().rev().take_while(part).map(length).sum();
    let behind: usize = low[stretch.end..].chars().take_while(part).map(length).sum();
    let (mut at, end, mut found) = (stretch.start - before, stretch.end + behind, Vec::new());
    while let Some(start) = low[at..end].find(is_part).map(|start| at + start) {
        at = low[start..end].find(|c| !is_part(c)).map_or(end, |length| start + length);
        let (number, tail) = (&low[start..at], &low[at..]);
        // Of the others 一 is part of many words: 一路.
        let counts = || {
            UNITS.iter().any(|unit| tail.starts_with(unit))
                || (alone || low[..start].ends_with('第')) && words::numbered_before(tail).is_some()
        };
        if number.contains(|c: char| c.is_ascii_digit()) || number.contains(is_digit) && counts() {
            push(&mut found, start..at);
        }
    }
    found
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || "零〇两一二三四五六七八九十百千万亿".contains(c)
}

/// Whether a character may be one of a number.
pub fn is_part(c: char) -> bool {
    is_digit(c) || c == '.'
}

fn kind(text: &Text, other: &Text, number: &Range<usize>) -> Kind {
    let (before, tail) = (&text.low[..number.start], &text.low[number.end..]);
    // Of an order of 5 March the day is no name, but 4711 is in "Order 4711 may".
    let of_a_date = matches!(value(&text.low[number.clone()]).0, 1..=31 | 1900..=2100);
    if of_a_date && beside_a_month(before, tail) {
        return Kind::Date;
    }
    let said = english::number(text, other, number).or_else(|| chinese::number(text, other, number));
    said.unwrap_or_else(|| {
        let is_date = is_date(before.chars().next_back(), tail) || beside_a_month(before, tail);
        if is_date { Kind::Date } else { Kind::Number }
    })
}

/// Whether an English month stands before or behind the number.
fn beside_a_month(before: &str, tail: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let is_month = |word: &str| word.len() >= 3 && MONTHS.iter().any(|month| month.starts_with(word));
    let word = |part: Option<&str>| {
        part.unwrap_or_default().trim_matches(|c: char| !c.is_ascii_lowercase()).to_owned()
    };
    is_month(&word(tail.split_ascii_whitespace().next()))
        || is_month(&word(before.rsplit(' ').find(|part| !part.is_empty())))
}

/// The value of a number: 500, 五百 and 5百 are the same; and its decimals.
pub fn value(number: &str) -> (u128, &str) {
    let (number, decimals) = number.split_once('.').unwrap_or((number, ""));
    (whole(number), decimals.trim_end_matches('0'))
}

fn whole(number: &str) -> u128 {
    let (mut total, mut section, mut last) = (0u128, 0u128, 0u128);
    for c in number.chars() {
        let digit = match c {
            '〇' => Some(0),
            '两' => Some(2),
            _ => c
                .to_digit(10)
                .map(u128::from)
                .or_else(|| DIGITS.chars().position(|d| d == c).map(|d| d as u128)),
        };
        let unit = match c {
            '十' => 10,
            '百' => 100,
            '千' => 1_000,
            '万' => 10_000,
            '亿' => 100_000_000,
            _ => 1,
        };
        if let Some(digit) = digit {
            last = last.wrapping_mul(10).wrapping_add(digit);
        } else if unit < 10_000 {
            section = section.wrapping_add(last.max(1).wrapping_mul(unit));
            last = 0;
        } else if unit == 10_000 {
            total = total.wrapping_add(section.wrapping_add(last).max(1).wrapping_mul(unit));
            (section, last) = (0, 0);
        } else {
            total = total.wrapping_add(section).wrapping_add(last).max(1).wrapping_mul(unit);
            (section, last) = (0, 0);
        }
    }
    total.wrapping_add(section).wrapping_add(last)
}

/// Whether a number is one of a date. 号 is a day after a month, and otherwise
/// unless it numbers a house, a metro line and the like.
fn is_date(before: Option<char>, tail: &str) -> bool {
    match tail.strip_prefix('号') {
        Some(next) => {
            before == Some('月')
                || !(before.is_some_and(|c| ADDRESSES.contains(c))
                    || next.starts_with(|c| THINGS.contains(c)))
        }
        None => DATES.iter().any(|date| tail.starts_with(date)) && !tail.starts_with("分之"),
    }
}
