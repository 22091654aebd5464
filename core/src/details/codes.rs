//! Codes: what is written in letters and digits together, as models, orders, plates and versions are.

use super::tokens::Text;
use crate::interrupt::checked;
use crate::memory::{OrRaise, collect};
use std::ops::Range;

/// Characters of a code at least, and digits among them.
const LEAST: (usize, usize) = (5, 2);

/// The codes of a text: where they stand in `low`.
fn codes(low: &str) -> Vec<Range<usize>> {
    let bytes = low.as_bytes();
    let is_code = |range: &Range<usize>| {
        let count = |of: fn(&u8) -> bool| bytes[range.clone()].iter().filter(|byte| of(byte)).count();
        let (letters, digits) = (count(u8::is_ascii_lowercase), count(u8::is_ascii_digit));
        letters > 0 && digits >= LEAST.1 && letters + digits >= LEAST.0
    };
    let word = |byte: &u8| byte.is_ascii_alphanumeric();
    // Hyphens and slashes between two of its characters belong to a code.
    let inner = |at: usize| {
        let near = [at.wrapping_sub(1), at + 1].map(|at| bytes.get(at).is_some_and(word));
        word(&bytes[at]) || matches!(bytes[at], b'-' | b'/') && near == [true; 2]
    };
    let starts = (0..bytes.len()).filter(|&at| inner(at) && !at.checked_sub(1).is_some_and(inner));
    let all = starts.map(|start| start..(start..bytes.len()).find(|&at| !inner(at)).unwrap_or(bytes.len()));
    collect(checked(collect(all).or_raise()).filter(is_code)).or_raise()
}

/// Letters and digits alone.
fn flat(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Codes of two texts that have none in common, however they are cut: each the first of its text.
pub(super) fn differing(a: &Text, b: &Text) -> Option<[Range<usize>; 2]> {
    let (of_a, of_b) = (codes(&a.low), codes(&b.low));
    let (first, second) = (of_a.first()?.clone(), of_b.first()?.clone());
    let stands = |codes: &[Range<usize>], text: &Text, other: &Text| {
        let other = flat(&other.low);
        codes.iter().any(|code| other.contains(&flat(&text.low[code.clone()])))
    };
    (!stands(&of_a, a, b) && !stands(&of_b, b, a)).then_some([first, second])
}
