//! Random input: texts, JSON, damaged bytes.

use super::Rng;
use serde_json::{Map, Number, Value};

const SAMPLES: [&str; 12] = [
    "我们小区从上周一开始停水，到今天已经五天了，物业说是水管爆裂，但一直没有人来修。",
    "张三、李四于2024年1月3日下午3:15分在朝阳区建国路88号院12号楼反映：没有水！",
    "no water in Millbrook since Sunday, January 3rd 2024; Mr. O'Brien paid $1,234.50 (twice).",
    "<p class=\"x\">停水&amp;停电&#x4e2d;</p><script>if (a < b) {}</script><![CDATA[ a ]]><!-- c -->",
    "請問公租房何時搖號？乾隆皇帝的著作、頭髮與發展。",
    "👩‍👩‍👧‍👦🏳️‍🌈 e\u{301}\u{316}a\u{200d}\u{200b}\u{feff}",
    "ＡＢＣ１２３①②ⅣﷺÅﬁ㍿",
    "शुभ प्रभात مرحبا שלום สวัสดี ภาษาไทย",
    "1234567890 12.5% 99999999999999999999999999999999999999999元 三千五百万零二",
    "的了是在和的了是在和 the a is of the a is of",
    "\u{0}\u{1}\t\r\n\u{b}\u{85}\u{2028}\u{10ffff}\u{fffe}",
    "停水 5 frequency\n水管爆裂 18446744073709551615 n\n\n a b c d\n",
];

/// Characters in which a rule changes.
const TURNS: &[char] = &[
    ' ',
    '\n',
    '\0',
    '.',
    '。',
    '，',
    '!',
    '?',
    '<',
    '>',
    '&',
    '/',
    '-',
    '年',
    '月',
    '日',
    '号',
    '的',
    '一',
    '零',
    '0',
    '9',
    '．',
    '：',
    'é',
    '\u{301}',
    '\u{200d}',
    '\u{ad}',
    '\u{3000}',
    '\u{ac00}',
    '\u{1100}',
    '\u{d7a3}',
    '𠀀',
    '\u{10ffff}',
    'İ',
    'ß',
    'ſ',
];

fn character(rng: &mut Rng) -> char {
    match rng.below(8) {
        0..5 => TURNS[rng.below(TURNS.len() as u64) as usize],
        5 => char::from_u32(0x4e00 + rng.below(0x5200) as u32).unwrap_or('停'),
        6 => char::from_u32(rng.below(0x3000) as u32).unwrap_or('a'),
        _ => char::from_u32(rng.below(0x11_0000) as u32).unwrap_or('\u{fffd}'),
    }
}

/// A place between two characters.
fn place(text: &str, rng: &mut Rng) -> usize {
    let mut at = rng.below(text.len() as u64 + 1) as usize;
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `text` changed in some places.
pub fn changed(text: &str, rng: &mut Rng) -> String {
    let mut text = text.to_owned();
    for _ in 0..1 + rng.below(4) {
        let (a, b) = (place(&text, rng), place(&text, rng));
        let (a, b) = (a.min(b), a.max(b));
        match rng.below(6) {
            0 => text.replace_range(a..b, ""),
            1 => {
                let piece = text[a..b].to_owned();
                text.insert_str(b, &piece);
            }
            2 => text.insert_str(a, SAMPLES[rng.below(12) as usize]),
            3 => {
                let c = character(rng).to_string();
                text.insert_str(a, &c.repeat(1 + rng.below(30) as usize));
            }
            _ => text.insert(a, character(rng)),
        }
        if text.len() > 3000 {
            let end = place(&text[..1500], rng);
            text.truncate(end);
        }
    }
    text
}

/// A text of a hundred characters or so.
pub fn text(rng: &mut Rng) -> String {
    if rng.below(40) == 0 {
        return String::new();
    }
    let sample = SAMPLES[rng.below(12) as usize];
    changed(sample, rng)
}

/// Bytes that were `bytes`.
pub fn damaged(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + rng.below(4) {
        let len = bytes.len() as u64;
        match rng.below(6) {
            0 => bytes.truncate(rng.below(len + 1) as usize),
            1 => bytes.extend((0..rng.below(20)).map(|n| (n as u8).wrapping_mul(37))),
            2 => bytes.insert(rng.below(len + 1) as usize, rng.next() as u8),
            _ if len == 0 => bytes.push(0xff),
            3 => bytes[rng.below(len.min(40)) as usize] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5) as usize],
            _ => bytes[rng.below(len) as usize] = rng.next() as u8,
        }
    }
    bytes
}

fn number(rng: &mut Rng) -> Value {
    match rng.below(6) {
        0 => Value::from(rng.below(70)),
        1 => Value::from(-(rng.below(3) as i64)),
        2 => Value::from(rng.next() >> rng.below(64)),
        3 => Value::from(i64::MIN),
        _ => {
            let numbers = [0.0, -0.0, 0.5, 1.0, 1.5, 1e6, 1e300, -1e300, f64::MAX, f64::MIN_POSITIVE, 1e-300];
            Number::from_f64(numbers[rng.below(11) as usize]).map_or(Value::Null, Value::Number)
        }
    }
}

/// JSON of `keys` and `words`, most of it well-formed as options are.
pub fn json(keys: &[&str], words: &[&str], depth: u32, rng: &mut Rng) -> Value {
    let word = |rng: &mut Rng| match rng.below(8) {
        0 => text(rng),
        _ => words[rng.below(words.len() as u64) as usize].to_owned(),
    };
    match rng.below(if depth == 0 { 5 } else { 10 }) {
        0 => Value::Null,
        1 => Value::Bool(rng.below(2) == 0),
        2 => number(rng),
        3 | 4 => Value::String(word(rng)),
        5 | 6 => Value::Array((0..rng.below(4)).map(|_| json(keys, words, depth - 1, rng)).collect()),
        _ => object(keys, words, depth, rng),
    }
}

/// An object of some of `keys`.
pub fn object(keys: &[&str], words: &[&str], depth: u32, rng: &mut Rng) -> Value {
    let mut object = Map::new();
    for _ in 0..rng.below(5) {
        let key = keys[rng.below(keys.len() as u64) as usize].to_owned();
        object.insert(key, json(keys, words, depth.saturating_sub(1), rng));
    }
    Value::Object(object)
}
