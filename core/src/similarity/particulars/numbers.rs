//! Numbers and dates in which two texts differ, by value: 12, １２ and 十二 are the same.

use super::spans::Span;
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

/// A difference of numbers: whether it is one of dates, and the numbers (bytes of the texts in small letters).
pub struct Difference {
    /// Of years, months, days and hours.
    pub date: bool,
    /// In the first text, and in the second.
    pub numbers: (Range<usize>, Range<usize>),
}

/// The two numbers that stand in each other's place, if their values differ.
pub fn difference(span: &Span) -> Option<Difference> {
    let (x, y) = span.numbers()?;
    let (one, other) = (&span.a.low[x.clone()], &span.b.low[y.clone()]);
    let tail = &span.a.low[x.end..];
    let chinese = |number: &str| !number.contains(|c: char| c.is_ascii_digit());
    let counts = |tail: &str| UNITS.iter().any(|unit| tail.starts_with(unit));
    if chinese(one) && !counts(tail) || chinese(other) && !counts(&span.b.low[y.end..]) {
        return None;
    }
    let before = span.a.low[..x.start].chars().next_back();
    (value(one) != value(other)).then(|| Difference {
        date: is_date(before, tail) || beside_a_month(span, &x, tail),
        numbers: (x, y),
    })
}

/// Whether an English month stands before or behind the number.
fn beside_a_month(span: &Span, number: &Range<usize>, tail: &str) -> bool {
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
    let before = &span.a.low[..number.start];
    is_month(&word(tail.split_ascii_whitespace().next()))
        || is_month(&word(before.rsplit(' ').find(|part| !part.is_empty())))
}

/// The whole number that `range` of `text` is part of, or that ends or begins there.
pub fn around(text: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let digit = |c: &char| c.is_ascii_digit() || "零〇两一二三四五六七八九十百千万亿".contains(*c);
    let part = |c: &char| digit(c) || *c == '.';
    if !text[range.clone()].chars().all(|c| part(&c)) {
        return None;
    }
    let length = |c: char| c.len_utf8();
    let before: usize = text[..range.start].chars().rev().take_while(part).map(length).sum();
    let after: usize = text[range.end..].chars().take_while(part).map(length).sum();
    let whole = range.start - before..range.end + after;
    text[whole.clone()].chars().any(|c| digit(&c)).then_some(whole)
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
