//! What tells two nearly equal texts apart: a number, a date, the name of a
//! place or an office that stands in the same position of both.
//!
//! One complaint copied with another street in it, or one form filled in many
//! times, is a near-duplicate to every measure of text, and a different matter
//! to a reader. The two normal forms are aligned; where one says something else
//! in the place of the other, and that is a particular on both sides, they
//! differ in it. What only one of them says (an addition, a cut) is not a
//! difference, and neither is one wrong character in a name.

use crate::text::normalize;
use similar::{Algorithm, DiffOp, capture_diff_slices};

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
    /// What few texts about one matter differ in.
    pub const PLACES: Kinds = Kinds { places: true, dates: false, numbers: false };
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Particular {
    /// `place`, `date` or `number`.
    pub kind: &'static str,
    /// What the first text says.
    pub a: String,
    /// What the second says there.
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
/// Characters one of which in the place of another makes another name.
const ORDER: &str = "东西南北中上下左右前后一二三四五六七八九十甲乙丙丁";
/// A longer stretch is another wording and not another name.
const LONGEST_NAME: usize = 8;

/// The particulars in which two texts differ, in the order of the first.
pub fn particulars(a: &str, b: &str, kinds: Kinds) -> Vec<Particular> {
    let (a, b) = (characters(a), characters(b));
    let mut found = Vec::new();
    for (from, to) in replacements(&a, &b) {
        let (x, y) = (&a[from.0..from.1], &b[to.0..to.1]);
        let tail: String = a[from.1..].iter().take(3).collect();
        let difference = numbers(&a, &b, from, to, &tail)
            .filter(|found| if found.kind == "date" { kinds.dates } else { kinds.numbers })
            .or_else(|| place(x, y, &tail).filter(|_| kinds.places));
        found.extend(difference.filter(|found| found.a != found.b));
    }
    found.dedup();
    found
}

fn characters(text: &str) -> Vec<char> {
    normalize(text).chars().filter(|&c| c != ' ').collect()
}

type Range = (usize, usize);

/// Where one text has something else in the place of the other. A single
/// equal character between two replacements is a coincidence and part of both.
fn replacements(a: &[char], b: &[char]) -> Vec<(Range, Range)> {
    let mut found: Vec<(Range, Range)> = Vec::new();
    for operation in capture_diff_slices(Algorithm::Myers, a, b) {
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

/// Whether the character between a replacement and the next one ends a name.
fn names_end(text: &[char], replaced: Range, next: usize) -> bool {
    let tail: String = text[replaced.1..].iter().take(3).collect();
    replaced.1 < next && suffix(&tail).is_some()
}

/// The two numbers that a replacement changes, whole.
fn numbers(a: &[char], b: &[char], from: Range, to: Range, tail: &str) -> Option<Particular> {
    let all = |text: &[char], range: Range| text[range.0..range.1].iter().all(char::is_ascii_digit);
    if !(all(a, from) && all(b, to)) {
        return None;
    }
    let whole = |text: &[char], range: Range| -> String {
        let before = text[..range.0].iter().rev().take_while(|c| c.is_ascii_digit()).count();
        let after = text[range.1..].iter().take_while(|c| c.is_ascii_digit()).count();
        text[range.0 - before..range.1 + after].iter().collect()
    };
    // The name of a place that ends in a digit is for `place`.
    let before = a[..from.0].iter().rev().find(|c| !c.is_ascii_digit());
    let unit = tail.trim_start_matches(|c: char| c.is_ascii_digit());
    let names = before.is_some_and(char::is_ascii_alphabetic) && suffix(unit).is_some();
    let kind = if DATES.iter().any(|date| unit.starts_with(date)) { "date" } else { "number" };
    (!names).then(|| Particular { kind, a: whole(a, from), b: whole(b, to) })
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

    proptest! {
        #[test]
        fn equal_texts_have_none_and_the_order_does_not_matter(a in "[东西路区0-9水a]{0,20}", b in "[东西路区0-9水a]{0,20}") {
            prop_assert_eq!(found(&a, &a), []);
            let _ = found(&a, &b);
        }
    }
}
