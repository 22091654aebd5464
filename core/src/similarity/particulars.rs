//! Particulars that distinguish two nearly equal texts: a number, a date, the name of a place or an office in
//! the same position of both.
//!
//! A complaint copied with another street in it, or a form filled in many times, is a near-duplicate by every
//! measure of text, but another matter to a reader. The two normal forms are aligned; where one replaces
//! something of the other, and both sides are a particular, they differ in it. What only one of them contains
//! (an addition, a deletion) is no difference, and neither is one wrong character in a name.
//!
//! An alignment is not always symmetric, so the lesser text always comes first: the result does not depend on
//! the order of the arguments.

use crate::interrupt::{check, checked};
use crate::memory::{self, OrRaise};
use crate::text::normalize;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::hash::{Hash, Hasher};

/// Which particulars count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kinds {
    /// Names that a word for a place or office follows.
    pub places: bool,
    /// Numbers of years, months, days and hours.
    pub dates: bool,
    /// Other numbers.
    pub numbers: bool,
}

impl Kinds {
    /// All of them.
    pub const ALL: Kinds = Kinds { places: true, dates: true, numbers: true };
    /// Texts about one matter rarely differ in these.
    pub const PLACES: Kinds = Kinds { places: true, dates: false, numbers: false };

    /// The kinds of these names: `place`, `date`, `number`.
    ///
    /// # Errors
    /// The first name that is none of them.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Kinds, &'a str> {
        let mut kinds = Kinds { places: false, dates: false, numbers: false };
        for name in names {
            match name {
                "place" => kinds.places = true,
                "date" => kinds.dates = true,
                "number" => kinds.numbers = true,
                _ => return Err(name),
            }
        }
        Ok(kinds)
    }
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Particular {
    /// `place`, `date` or `number`.
    pub kind: &'static str,
    /// In the first text.
    pub a: String,
    /// In its place in the second text.
    pub b: String,
}

/// Words for places and offices, after which a name ends; longer ones first.
const PLACES: [&str; 46] = [
    "派出所",
    "幼儿园",
    "街道",
    "大道",
    "社区",
    "小区",
    "花园",
    "家园",
    "广场",
    "公司",
    "集团",
    "学校",
    "学院",
    "中学",
    "小学",
    "大学",
    "医院",
    "号线",
    "公寓",
    "酒店",
    "超市",
    "市场",
    "银行",
    "法院",
    "车站",
    "工地",
    "公园",
    "大厦",
    "项目",
    "市",
    "省",
    "区",
    "县",
    "镇",
    "乡",
    "村",
    "组",
    "路",
    "街",
    "巷",
    "桥",
    "栋",
    "楼",
    "号",
    "站",
    "寺",
];
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
/// Characters one of which in the place of another makes another name.
const ORDER: &str = "东西南北中上下左右前后一二三四五六七八九十甲乙丙丁";
/// Anything longer is another wording and not another name.
const LONGEST_NAME: usize = 8;

/// The particulars in which two texts differ, in the order of the lesser text.
pub fn particulars(a: &str, b: &str, kinds: Kinds) -> Vec<Particular> {
    let (a, b) = (characters(a), characters(b));
    if a <= b {
        return ordered(&a, &b, kinds);
    }
    let turned = |found: Particular| Particular { kind: found.kind, a: found.b, b: found.a };
    ordered(&b, &a, kinds).into_iter().map(turned).collect()
}

fn ordered(a: &[char], b: &[char], kinds: Kinds) -> Vec<Particular> {
    let mut found = Vec::new();
    for (from, to) in replacements(a, b) {
        check();
        let (x, y) = (&a[from.0..from.1], &b[to.0..to.1]);
        let tail: String =
            a[from.1..].iter().zip(&b[to.1..]).take(3).take_while(|(x, y)| x == y).map(|(x, _)| x).collect();
        let difference = match numbers(a, b, from, to) {
            Some(date) if date.kind == "date" => Some(date).filter(|_| kinds.dates),
            number => {
                number.filter(|_| kinds.numbers).or_else(|| place(x, y, &tail).filter(|_| kinds.places))
            }
        };
        // Several differences in one long number are one particular.
        let difference = difference.filter(|new| new.a != new.b && found.last() != Some(new));
        found.extend(difference);
    }
    found
}

fn characters(text: &str) -> Vec<char> {
    memory::collect(normalize(text).chars().filter(|&c| c != ' ')).or_raise()
}

type Range = (usize, usize);

/// Where the texts replace each other. A single
/// equal character between two replacements is a coincidence and belongs to both.
fn replacements(a: &[char], b: &[char]) -> Vec<(Range, Range)> {
    /// Memory of the alignment per character: two vectors of numbers, and its operations.
    const BYTES_PER_CHARACTER: usize = 128;
    memory::ensure(BYTES_PER_CHARACTER * (a.len() + b.len())).or_raise();
    let mut found: Vec<(Range, Range)> = Vec::new();
    let compared = |text: &[char]| memory::collect(checked(text).map(|&c| Compared(c))).or_raise();
    for operation in checked(capture_diff_slices(Algorithm::Myers, &compared(a), &compared(b))) {
        if let DiffOp::Equal { .. } = operation {
            continue;
        }
        let (from, to) = (operation.old_range(), operation.new_range());
        match found.last_mut() {
            Some((x, y)) if from.start <= x.1 + 1 && to.start <= y.1 + 1 && !names_end(a, *x, from.start) => {
                (x.1, y.1) = (from.end, to.end);
            }
            _ => found.push(((from.start, from.end), (to.start, to.end))),
        }
    }
    found.retain(|(x, y)| x.0 < x.1 && y.0 < y.1);
    found
}

/// A character whose comparison is a check for interrupts: the alignment of
/// long texts takes long and asks for nothing else.
#[derive(Eq)]
struct Compared(char);

impl PartialEq for Compared {
    fn eq(&self, other: &Compared) -> bool {
        check();
        self.0 == other.0
    }
}

impl Hash for Compared {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// Whether the character between a replacement and the next one ends a name.
fn names_end(text: &[char], replaced: Range, next: usize) -> bool {
    let tail: String = text[replaced.1..].iter().take(3).collect();
    replaced.1 < next && suffix(&tail).is_some()
}

/// The two numbers that a replacement changes, whole, if they are not equal.
fn numbers(a: &[char], b: &[char], from: Range, to: Range) -> Option<Particular> {
    let (one, from) = number(a, from)?;
    let (other, to) = number(b, to)?;
    let after = |text: &[char], range: Range| -> String { text[range.1..].iter().take(3).collect() };
    let (before, tail) = (from.0.checked_sub(1).map(|at| a[at]), after(a, from));
    // The name of a place that ends in a digit is for `place`.
    if before.is_some_and(|c| c.is_ascii_alphabetic()) && suffix(&tail).is_some() {
        return None;
    }
    let chinese = |number: &str| !number.contains(|c: char| c.is_ascii_digit());
    let counts = |tail: &str| UNITS.iter().any(|unit| tail.starts_with(unit));
    if chinese(&one) && !counts(&tail) || chinese(&other) && !counts(&after(b, to)) {
        return None;
    }
    let kind = if is_date(before, &tail) { "date" } else { "number" };
    (value(&one) != value(&other)).then_some(Particular { kind, a: one, b: other })
}

/// The whole number that a range is part of, and its own range.
fn number(text: &[char], range: Range) -> Option<(String, Range)> {
    let digit = |c: &&char| c.is_ascii_digit() || "零〇两一二三四五六七八九十百千万亿".contains(**c);
    let before = text[..range.0].iter().rev().take_while(digit).count();
    let after = text[range.1..].iter().take_while(digit).count();
    let whole = (range.0 - before, range.1 + after);
    let all = text[range.0..range.1].iter().all(|c| digit(&c));
    all.then(|| (text[whole.0..whole.1].iter().collect(), whole))
}

/// The value of a number: 500, 五百 and 5百 are the same.
fn value(number: &str) -> u128 {
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

fn suffix(text: &str) -> Option<&'static str> {
    PLACES.into_iter().find(|place| text.starts_with(place))
}

/// Two names before one word for a place.
fn place(x: &[char], y: &[char], tail: &str) -> Option<Particular> {
    let (x, y): (String, String) = (x.iter().collect(), y.iter().collect());
    let (name_x, name_y, place) = match suffix(tail) {
        Some(place) => (x.as_str(), y.as_str(), place),
        None => {
            let place = PLACES.into_iter().find(|place| x.ends_with(place) && y.ends_with(place))?;
            (x.strip_suffix(place)?, y.strip_suffix(place)?, place)
        }
    };
    differ(name_x, name_y).then(|| Particular {
        kind: "place",
        a: format!("{name_x}{place}"),
        b: format!("{name_y}{place}"),
    })
}

/// Whether two names are names of different things, and not spellings of one.
fn differ(x: &str, y: &str) -> bool {
    let length = |name: &str| name.chars().count();
    let (long_x, long_y) = (length(x), length(y));
    if long_x == 0 || long_y == 0 || long_x > LONGEST_NAME || long_y > LONGEST_NAME {
        return false;
    }
    let code = |name: &str| name.ends_with(|c: char| c.is_ascii_alphanumeric());
    if code(x) && code(y) {
        return x != y;
    }
    if long_x == 1 && long_y == 1 {
        return ORDER.contains(x) && ORDER.contains(y);
    }
    long_x >= 2 && long_y >= 2 && !x.chars().any(|c| y.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(a: &str, b: &str) -> Vec<(String, String, String)> {
        let all = particulars(a, b, Kinds::ALL).into_iter();
        all.map(|p| (p.kind.to_owned(), p.a, p.b)).collect()
    }

    fn one(kind: &str, a: &str, b: &str) -> Vec<(String, String, String)> {
        vec![(kind.to_owned(), a.to_owned(), b.to_owned())]
    }

    #[test]
    fn another_place_is_another_matter() {
        assert_eq!(
            found("我们是翠湖春天小区的居民", "我们是金桂嘉园小区的居民"),
            one("place", "翠湖春天小区", "金桂嘉园小区")
        );
        let two = found("住在K3区翠湖春天小区", "住在K5区金桂嘉园小区");
        assert_eq!(two, [one("place", "3区", "5区"), one("place", "翠湖春天小区", "金桂嘉园小区")].concat());
        assert_eq!(found("住在K3区的人", "住在K5区的人"), one("place", "3区", "5区"));
        assert_eq!(found("从B市到A市的地铁", "从C市到A市的地铁"), one("place", "b市", "c市"));
        assert_eq!(found("东门社区停水", "西门社区停水"), []);
        assert_eq!(found("东区停水", "西区停水"), one("place", "东区", "西区"));
    }

    #[test]
    fn another_number_or_date_too() {
        assert_eq!(found("2019年公租房何时摇号", "2020年公租房何时摇号"), one("date", "2019", "2020"));
        assert_eq!(found("罚款500元", "罚款1500元"), []);
        assert_eq!(found("罚款500元", "罚款800元"), one("number", "500", "800"));
        let places = particulars("5月3日停水", "6月3日停水", Kinds::PLACES);
        assert_eq!(places, []);
    }

    #[test]
    fn wordings_additions_and_misspellings_are_not() {
        for (a, b) in [
            ("尊敬的领导，小区停水", "小区停水，请尊敬的领导处理"),
            ("楚帆社区停水", "楚范社区停水"),
            ("书记您好，停水三天", "市长您好，停水三天"),
            ("小区停水", "Ａ小区停水！"),
            ("", "停水"),
        ] {
            assert_eq!(found(a, b), [], "{a} {b}");
        }
    }

    #[test]
    fn house_numbers_are_no_dates() {
        for (kind, a, b) in [
            ("number", "青山小区3号楼停水", "青山小区5号楼停水"),
            ("number", "地铁3号线停运", "地铁5号线停运"),
            ("number", "3号院没有路灯", "5号院没有路灯"),
            ("number", "解放路3号漏水", "解放路5号漏水"),
            ("date", "从3号开始停水", "从5号开始停水"),
            ("date", "5月3号楼道停电", "5月5号楼道停电"),
        ] {
            assert_eq!(found(a, b), one(kind, "3", "5"), "{a}");
        }
        let of = |kinds| particulars("5月3号停水", "5月6号停水", kinds).len();
        assert_eq!((of(Kinds::PLACES), of(Kinds { dates: false, ..Kinds::ALL }), of(Kinds::ALL)), (0, 0, 1));
        let of = |kinds| particulars("青山小区三号楼停水", "青山小区五号楼停水", kinds).len();
        assert_eq!((of(Kinds::PLACES), of(Kinds { numbers: true, places: false, dates: false })), (1, 1));
    }

    #[test]
    fn chinese_numerals_are_numbers() {
        assert_eq!(found("小区停水三天", "小区停水五天"), one("number", "三", "五"));
        assert_eq!(found("停水十二天了", "停水二十天了"), one("number", "十二", "二十"));
        assert_eq!(found("二〇一九年停水", "二〇二〇年停水"), one("date", "二〇一九", "二〇二〇"));
        assert_eq!(found("停水十二天了", "停水12天了"), []);
        assert_eq!(found("欠费三千五百元", "欠费3500元"), []);
        assert_eq!(found("一直停水", "三番停水"), []);
        for (number, expected) in [
            ("三亿五千万零二十", 350_000_020),
            ("十", 10),
            ("三万亿", 3_000_000_000_000),
            ("5百", 500),
            ("007", 7),
        ] {
            assert_eq!(value(number), expected, "{number}");
        }
    }

    #[test]
    fn kinds_have_names() {
        assert_eq!(Kinds::parse(["place"]), Ok(Kinds::PLACES));
        assert_eq!(Kinds::parse(["number", "date", "place", "date"]), Ok(Kinds::ALL));
        assert_eq!(Kinds::parse(["date", "dates"]), Err("dates"));
    }

    /// What the alignment from either side said differently.
    #[test]
    fn either_order_says_the_same() {
        assert_eq!(found("55区", "a5区").len(), found("a5区", "55区").len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn equal_texts_have_none_and_the_order_does_not_matter(
            a in "[东西路区号楼天月年0-9a三五十水]{0,12}", b in "[东西路区号楼天月年0-9a三五十水]{0,12}",
        ) {
            prop_assert_eq!(found(&a, &a), []);
            let turned = |(kind, a, b)| (kind, b, a);
            prop_assert_eq!(found(&a, &b), found(&b, &a).into_iter().map(turned).collect::<Vec<_>>());
        }
    }
}
