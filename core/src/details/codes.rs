//! Closed shapes: what is written so that it can only be a name. Codes of letters and digits (models, orders, plates), e-mail
//! addresses, hosts and pages, addresses of machines, versions.

use super::letters::letter_of;
use super::tokens::Text;
use crate::interrupt::checked;
use crate::memory::{OrRaise, collect};

/// Characters of a code at least, and digits among them.
const LEAST: (usize, usize) = (5, 2);
/// Ends of hosts of two labels; a host of more needs none.
const DOMAINS: [&str; 12] = ["com", "org", "net", "cn", "gov", "edu", "info", "de", "uk", "eu", "fr", "jp"];

/// A closed shape. Those of one kind are compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Code,
    Mail,
    Page,
    Machine,
    Version,
}

fn shapes(text: &str) -> Vec<(Shape, &str)> {
    let is_sign = |c| matches!(c, '-' | '/' | '.' | '_' | '@' | '+' | ':' | '?' | '=' | '&' | '%' | '~');
    let belongs = |c: char| c.is_ascii_alphanumeric() || is_sign(c);
    let words =
        text.split(|c: char| !belongs(c)).map(|word| word.trim_matches(|c: char| !c.is_ascii_alphanumeric()));
    let mut all = Vec::new();
    for word in checked(words).filter(|word| word.len() > 2) {
        match shape(word) {
            Some(shape) => all.push((shape, word)),
            // What is joined by other signs than those within a code.
            None => {
                let parts = word.split(|c: char| !c.is_ascii_alphanumeric() && !"-/".contains(c));
                all.extend(parts.filter(|part| is_code(part)).map(|part| (Shape::Code, part)));
            }
        }
    }
    collect(all).or_raise()
}

fn shape(word: &str) -> Option<Shape> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((_, host)) = word.split_once('@') {
        return host.contains('.').then_some(Shape::Mail);
    }
    let number = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let parts: Vec<&str> = number.split('.').collect();
    if parts.len() > 1
        && parts[..parts.len() - 1].iter().all(|part| digits(part))
        && parts[parts.len() - 1].starts_with(|c: char| c.is_ascii_digit())
    {
        let of = |range: std::ops::RangeInclusive<u32>, part: &str| {
            part.parse().is_ok_and(|number| range.contains(&number))
        };
        let day = parts.len() == 3
            && of(1..=12, parts[1])
            && (of(1900..=2100, parts[0]) || of(1900..=2100, parts[2]));
        let machine = parts.len() == 4
            && parts.iter().all(|part| of(0..=255, part.split([':', '/']).next().unwrap_or_default()));
        return match parts.len() {
            _ if machine => Some(Shape::Machine),
            2 if number.len() == word.len() => None,
            _ if day => None,
            _ => Some(Shape::Version),
        };
    }
    let address = word.split_once("://").map_or(word, |(_, address)| address);
    let host = address.split(['/', ':', '?']).next().unwrap_or_default();
    let labels: Vec<&str> = host.split('.').collect();
    let small = |label: &&str| !label.is_empty() && !label.contains(|c: char| c.is_ascii_uppercase());
    let end = labels[labels.len() - 1];
    let known = labels.len() > 2
        || address.len() < word.len()
        || host.len() < address.len()
        || DOMAINS.contains(&end);
    let is_host = labels.len() > 1
        && labels.iter().all(small)
        && end.len() > 1
        && end.bytes().all(|byte| byte.is_ascii_lowercase());
    (is_host && known).then_some(Shape::Page)
}

fn is_code(word: &str) -> bool {
    let count = |of: fn(&u8) -> bool| word.bytes().filter(of).count();
    let (letters, digits) = (count(u8::is_ascii_alphabetic), count(u8::is_ascii_digit));
    letters > 0 && digits >= LEAST.1 && letters + digits >= LEAST.0
}

/// Letters and digits alone, in small letters; those that are taken for digits as these.
fn flat(text: &str) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        'o' => '0',
        'l' | 'i' => '1',
        c => c,
    };
    text.chars().filter(char::is_ascii_alphanumeric).map(plain).collect()
}

/// Closed shapes of one kind of two texts that have none in common, however they are cut: each the first of its text. The
/// addresses of who signs do not count, nor what has something of the tokens `free` of either text.
pub(super) fn differing<'t>(texts: [&'t Text; 2], free: &[Vec<usize>; 2]) -> Option<[&'t str; 2]> {
    let [all_a, all_b] = texts.map(|text| text.shown_until(usize::MAX));
    let [of_a, of_b] = [0, 1].map(|side| {
        let text = texts[side];
        let mut shapes = shapes(text.shown_until(letter_of(text).foot));
        shapes.retain(|(_, part)| !free[side].iter().any(|&at| text.is_in(at, part)));
        shapes
    });
    if of_a.is_empty() || of_b.is_empty() {
        return None;
    }
    let (all_a, all_b) = (flat(all_a), flat(all_b));
    let all = [Shape::Code, Shape::Mail, Shape::Page, Shape::Machine, Shape::Version];
    all.into_iter().find_map(|shape| {
        let of = |all: &[(Shape, &'t str)]| {
            all.iter().filter(|it| it.0 == shape).map(|it| it.1).collect::<Vec<_>>()
        };
        let (ours, theirs) = (of(&of_a), of(&of_b));
        let stands = |shapes: &[&str], other: &str| shapes.iter().any(|shape| other.contains(&flat(shape)));
        let (first, second) = (*ours.first()?, *theirs.first()?);
        (!stands(&ours, &all_b) && !stands(&theirs, &all_a)).then_some([first, second])
    })
}
