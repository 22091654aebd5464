//! Numbers and dates in which two texts differ, by value: 12, １２ and 十二 are the same.

use super::chinese_words::{is_digit, is_part};
use super::spans::{DATE, NAME, NUMBER, Side, Span};
use super::tokens::{Form, Text};
use super::{align, chinese, chinese_words as words, english};
use crate::memory::{Grow, OrRaise};
use std::ops::Range;

const DATES: [&str; 10] = ["年", "月", "日", "号", "点", "时", "分", "周", "星期", "季度"];
/// Before a number with 号 after it these make an address: a road's third house.
const ADDRESSES: &str = "路街道巷弄里村区园院镇乡栋楼幢线第";
/// After 号 these make a thing with a number, and no day.
const THINGS: &str = "楼线院门店栋铺房室厅桥井机厂矿地站馆库坑口车位桩码文令单幢区馆柜台窗梯井";
/// Chinese numerals count as numbers before these only: 一 is part of many words.
const UNITS: &str = "小时 分钟 季度 星期 单元 公里 平方 公斤 元 块 角 天 年 月 日 号 点 时 分 周 岁 个 次 户 人 名 家 辆 台 间 套 米 里 吨 \
    斤 亩 倍 期 层 楼 栋 幢 室 度 条 位 回 遍";
const DIGITS: &str = "零一二三四五六七八九";

/// Two stretches' numbers of a kind, from the first to the last that differs: bytes of the texts in small letters.
pub type Difference = (&'static str, Range<usize>, Range<usize>);

/// Tokens of the longest stretch whose numbers are compared wherever they stand among other words.
const SHORT: usize = 8;

/// The numbers in which two stretches differ, whatever words that differ too stand between them.
///
/// They differ unless one text only has more of them, so that no other number or word beside them hides a difference. What is
/// written anew, at another length, is not compared.
pub fn differences<'t>(span: &Span<'t>) -> Vec<Difference> {
    let [a, b] = &span.sides;
    let alone = span.both(|side| side.says().chars().all(|c| is_part(c) || c == ' '));
    let short = span.both(|side| side.tokens.len() <= SHORT) && !span.crosses_a_break();
    let number = |side: &Side, at: usize| side.text.tokens[at].form == Form::Number;
    let word_by_word = || {
        let mut pairs = a.tokens.clone().zip(b.tokens.clone());
        a.tokens.len() == b.tokens.len() && pairs.any(|(x, y)| number(a, x) && number(b, y))
    };
    if !(alone || short || word_by_word()) {
        return Vec::new();
    }
    let [x, y] = span.sides.each_ref().map(|side| all(&side.text.low, &side.differ, alone));
    let of = |text: &'t Text, all: &[Range<usize>]| -> Vec<Value<'t>> {
        all.iter().map(|at| value(&text.low[at.clone()])).collect()
    };
    let (values_x, values_y) = (of(a.text, &x), of(b.text, &y));
    let has = |more: &[Value<'_>], few: &[Value<'_>]| {
        let mut rest = more.iter();
        few.iter().all(|one| rest.any(|other| one == other))
    };
    // One number, written with and without blanks; one date, in another order.
    let joined = |side: &Side, all: &[Range<usize>]| -> String {
        all.iter().map(|at| &side.text.low[at.clone()]).collect()
    };
    if has(&values_x, &values_y)
        || has(&values_y, &values_x)
        || alone && joined(a, &x) == joined(b, &y)
        || dates(a, &x).is_some_and(|date| Some(date) == dates(b, &y))
    {
        return Vec::new();
    }
    let (front, back) = align::same_ends(&values_x, &values_y);
    let (x, y) = (&x[front..x.len() - back], &y[front..y.len() - back]);
    let mut kinds_x: Vec<_> = x.iter().map(|number| kind(a.text, b.text, number)).collect();
    let mut kinds_y: Vec<_> = y.iter().map(|number| kind(b.text, a.text, number)).collect();
    if !kinds_x.contains(&NAME) || !kinds_y.contains(&NAME) {
        kinds_x.iter_mut().chain(&mut kinds_y).filter(|kind| **kind == NAME).for_each(|kind| *kind = NUMBER);
    }
    let of = |kind: &str, kinds: &[&str], numbers: &[Range<usize>]| {
        let first = kinds.iter().position(|it| *it == kind);
        let last = kinds.iter().rposition(|it| *it == kind).unwrap_or(kinds.len() - 1);
        (first.is_some(), numbers[first.unwrap_or(0)].start..numbers[last].end)
    };
    let found = |kind| {
        let ((in_x, x), (in_y, y)) = (of(kind, &kinds_x, x), of(kind, &kinds_y, y));
        (in_x || in_y).then_some((kind, x, y))
    };
    [NAME, DATE, NUMBER].into_iter().filter_map(found).collect()
}

/// The dates that a stretch consists of: year, month or day of each number in it, and of each name of a month, in this
/// order. `None` if it has another number.
fn dates(side: &Side, numbers: &[Range<usize>]) -> Option<Vec<(char, u128)>> {
    let part = |at: &Range<usize>| Some((part_of_date(side.text, at)?, value(&side.text.low[at.clone()]).0));
    let mut all = numbers.iter().map(part).collect::<Option<Vec<_>>>()?;
    all.extend(side.words.iter().filter_map(|word| Some(('月', month(word)?))));
    all.sort_unstable();
    Some(all)
}

/// Whether a number (bytes of `low`) is a year, a month or a day of a date: 5日, 5 March, 2024-03-05.
fn part_of_date(text: &Text, number: &Range<usize>) -> Option<char> {
    let (before, tail) = (&text.low[..number.start], &text.low[number.end..]);
    let next = tail.chars().next().map(|c| if c == '号' { '日' } else { c });
    let (at, value) = (text.at(number.start), value(&text.low[number.clone()]).0);
    let is_year = (1900..=2100).contains(&value);
    if next.is_some_and(|c| "年月日".contains(c)) && is_date(before.chars().next_back(), tail) {
        return next;
    }
    if (is_year || (1..=31).contains(&value)) && beside_a_month(before, tail) {
        return Some(if is_year { '年' } else { '日' });
    }
    let from = (at.saturating_sub(2)..=at).find(|&from| text.is_iso_date(from))?;
    ['年', '月', '日'].get(at - from).copied()
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
        // Of numerals 一 is part of many words, as 一路: they count before a unit alone.
        let counts = || {
            UNITS.split(' ').any(|unit| tail.starts_with(unit))
                || (alone || low[..start].ends_with('第')) && words::numbered_before(tail).is_some()
        };
        if number.contains(|c: char| c.is_ascii_digit()) || number.contains(is_digit) && counts() {
            found.grow(start..at).or_raise();
        }
    }
    found
}

fn kind(text: &Text, other: &Text, number: &Range<usize>) -> &'static str {
    // Of an order of 5 March the day is no name, but 4711 is in "Order 4711 may".
    let (before, tail) = (&text.low[..number.start], &text.low[number.end..]);
    let chinese = tail.starts_with(['年', '月', '日', '号']);
    if !chinese && part_of_date(text, number).is_some() {
        return DATE;
    }
    let said = english::number(text, other, number).or_else(|| chinese::number(text, other, number));
    let is_date = || is_date(before.chars().next_back(), tail) || beside_a_month(before, tail);
    said.unwrap_or_else(|| if is_date() { DATE } else { NUMBER })
}

/// The month that an English word names, or shortens.
fn month(word: &str) -> Option<u128> {
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
    let at = MONTHS.iter().position(|month| word.len() >= 3 && month.starts_with(word))?;
    Some(at as u128 + 1)
}

/// Whether an English month stands before or behind the number.
fn beside_a_month(before: &str, tail: &str) -> bool {
    let is_month = |word: &str| month(word.trim_matches(|c: char| !c.is_ascii_lowercase())).is_some();
    tail.split_ascii_whitespace().next().is_some_and(is_month)
        || before.rsplit(' ').find(|part| !part.is_empty()).is_some_and(is_month)
}

/// A whole number and its decimals.
type Value<'n> = (u128, &'n str);

/// The value of a number: 500, 五百 and 5百 are the same; and its decimals.
pub fn value(number: &str) -> Value<'_> {
    let (number, decimals) = number.split_once('.').unwrap_or((number, ""));
    (whole(number), decimals.trim_end_matches('0'))
}

fn whole(number: &str) -> u128 {
    let (mut total, mut section, mut last) = (0u128, 0u128, 0u128);
    for c in number.chars() {
        let unit = "十百千".chars().position(|unit| unit == c);
        let all = section.wrapping_add(last);
        match (c, unit) {
            (_, Some(zeros)) => {
                section = section.wrapping_add(last.max(1).wrapping_mul(10u128.pow(zeros as u32 + 1)));
                last = 0;
            }
            // It multiplies what stands after the last of them.
            ('万', _) => {
                (total, section, last) = (total.wrapping_add(all.max(1).wrapping_mul(10_000)), 0, 0)
            }
            // It multiplies all before it.
            ('亿', _) => {
                (total, section, last) = (total.wrapping_add(all).max(1).wrapping_mul(100_000_000), 0, 0);
            }
            _ => {
                let digit = match c {
                    '〇' => Some(0),
                    '两' => Some(2),
                    _ => DIGITS.chars().position(|digit| digit == c),
                };
                let digit = c.to_digit(10).map_or(digit.unwrap_or(0), |digit| digit as usize);
                last = last.wrapping_mul(10).wrapping_add(digit as u128);
            }
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
