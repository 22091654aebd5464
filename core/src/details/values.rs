//! Phrases that come again in slots beside other things: of two that are nearly one, each then is a value of its own.
//!
//! A misspelt value, or a word inserted, stands in a copy, and the text that was copied is in the table too. Values come with
//! other things in the other slots.

use super::chinese_words::is_digit;
use super::templates::{ORDER, Templates, gap, key, pieces};
use super::tokens::{Ids, Text};
use crate::hash::city64;
use crate::interrupt::{checked, sort_and_dedup, sort_unstable_by};
use crate::memory::{Grow, OfKey, OrRaise, Room, collect};
use rustc_hash::{FxHashMap, FxHashSet};

/// Texts that are looked at.
const TEXTS: usize = 1 << 14;
/// Words of a slot that are looked at, and those of a phrase.
const WORDS: (usize, usize) = (12, 3);
/// Contexts of a phrase at least, and so many in which one value has it and another one that is no more frequent lacks it are its own.
const TIMES: usize = 3;
/// The share of its contexts that are there without it as well, or with a phrase of which it is a misspelling, and how many times
/// rarer it is than that.
const COPIED: (f64, f64) = (0.9, 0.5);
const RARER: usize = 2;
/// Where nothing stands beside lists of goods, and one in so many at least is of the same words, their order tells: copies of an
/// order have few of all words.
const SETS: usize = 10;
/// Phrases of those that are alike without a letter that are compared.
const NEAR: usize = 256;

/// A phrase, the words of all slots but its own, and its value without it.
type Place = (u64, u64, u64);

/// The phrases and gaps of texts, of which the table has more by this share, that come again.
pub(super) fn again(templates: &Templates, texts: &[String], share: f64) -> FxHashSet<u32> {
    let share = share * TEXTS as f64 / texts.len().max(TEXTS) as f64;
    // Phrases; what slots say; how often values come; how phrases are written.
    let mut seen: Vec<Place> = Vec::new();
    let mut whole: FxHashSet<u64> = FxHashSet::default();
    let mut often: FxHashMap<u64, usize> = FxHashMap::default();
    let mut written: FxHashMap<u64, (u64, String)> = FxHashMap::default();
    // Values: their slots, their words in any order, and in theirs; what the other slots say, and whether a word is a number.
    let mut orders: Vec<(u64, u64, u64, u64, bool)> = Vec::new();
    let mut ids = Ids::default();
    for plain in checked(texts).take(TEXTS) {
        ids.keep_small();
        let text = Text::new(plain, &mut ids);
        let Some(reading) = templates.read(plain, &text) else { continue };
        let key = |slot, words: &str| key(reading.template(), slot, words);
        let known = templates.known(reading.template());
        let values: Vec<(usize, Vec<&str>)> = templates
            .telling(&reading)
            .map(|(slot, place)| (known[slot].start, pieces(&text, place)))
            .collect();
        // Where one slot ends and the next one begins is not always seen.
        let bag = |words: &[&str]| {
            let words = words.iter().filter(|word| **word != ",");
            words.fold(0, |all: u64, word| all.wrapping_add(key(0, word)))
        };
        let all = values.iter().fold(0, |all: u64, value| all.wrapping_add(bag(&value.1)));
        whole.grow(all).or_raise();
        for (slot, words) in &values {
            let mut each: Vec<&str> = words.iter().filter(|word| **word != ",").copied().collect();
            let order = key(*slot, &each.join(" "));
            each.sort_unstable();
            each.dedup();
            if each.len() > 1 {
                // Other numbers of the same goods are no other order of them.
                let numbers = each.iter().any(|word| word.starts_with(is_digit));
                let items: Vec<String> =
                    words.split(|word| *word == ",").map(|item| item.join(" ")).collect();
                let set = if numbers { items.iter().map(|it| &**it).collect() } else { each };
                orders
                    .grow((key(*slot, ORDER), bag(&set), order, all.wrapping_sub(bag(words)), numbers))
                    .or_raise();
            }
        }
        for (slot, words) in values.iter().filter(|value| value.1.len() <= WORDS.0) {
            *often.of_key(key(*slot, &words.concat())).or_raise() += 1;
            for start in 0..=words.len() {
                for end in start..=words.len().min(start + WORDS.1) {
                    if words[start..end].contains(&",") {
                        break;
                    }
                    let phrase = if start == end { gap(words, start) } else { words[start..end].concat() };
                    let rest = key(*slot, &(words[..start].concat() + &words[end..].concat()));
                    seen.grow((key(*slot, &phrase), all.wrapping_sub(bag(&words[start..end])), rest))
                        .or_raise();
                    written.room(1).or_raise();
                    written.entry(key(*slot, &phrase)).or_insert((key(*slot, ""), phrase));
                }
            }
        }
    }
    sort_and_dedup(&mut seen);
    let is_copied = |same: usize, all: usize, least: f64| (same + 1) as f64 > least * share * all as f64;
    // What is left of phrases without a letter.
    let mut less: Vec<(u64, &[Place])> = Vec::new();
    let mut again: FxHashSet<u32> = FxHashSet::default();
    sort_unstable_by(&mut orders, Ord::cmp);
    for of in checked(orders.chunk_by(|a, b| a.0 == b.0)) {
        // Copies of a text with a list in another order say the same in the other slots, and are few of the texts.
        let of_one = |rest: u64| 2 * of.iter().filter(|it| it.3 == rest).count() > of.len();
        let is_form = 2 * of.len() > texts.len().min(TEXTS) && of.iter().take(TIMES).any(|it| of_one(it.3));
        let several = |same: &&[(u64, u64, u64, u64, bool)]| {
            let rests: FxHashSet<u64> = same.iter().map(|it| it.3).collect();
            let orders = same.chunk_by(|a, b| a.2 == b.2).count();
            let tells = is_form && (!same[0].4 || SETS * same.len() >= of.len());
            orders >= TIMES && (tells || rests.len() >= TIMES)
        };
        let in_orders: usize = of.chunk_by(|a, b| a.1 == b.1).filter(several).map(<[_]>::len).sum();
        if 2 * in_orders > of.len() {
            again.grow(of[0].0 as u32).or_raise();
        }
    }
    for of in checked(seen.chunk_by(|a, b| a.0 == b.0)).filter(|of| of.len() >= TIMES) {
        let (slot, phrase) = &written[&of[0].0];
        let beside = of.iter().filter(|it| whole.contains(&it.1)).map(|it| it.2);
        let mut beside: Vec<u64> = collect(beside).or_raise();
        sort_unstable_by(&mut beside, Ord::cmp);
        let copies = beside.chunk_by(|a, b| a == b);
        let is_rare =
            |it: &&[u64]| it.len() < TIMES || often.get(&it[0]).is_none_or(|all| *all >= RARER * it.len());
        let is_gap = phrase.contains('\0');
        if !is_gap && is_copied(copies.filter(is_rare).map(<[u64]>::len).sum(), of.len(), COPIED.0) {
            continue;
        }
        again.grow(of[0].0 as u32).or_raise();
        if is_gap {
            continue;
        }
        let without =
            phrase.char_indices().map(|(at, c)| [&phrase[..at], &phrase[at + c.len_utf8()..]].concat());
        for rest in without.chain([phrase.clone()]) {
            less.grow((city64(rest.as_bytes()) ^ slot, of)).or_raise();
        }
    }
    sort_unstable_by(&mut less, Ord::cmp);
    for near in checked(less.chunk_by(|a, b| a.0 == b.0)).map(|near| &near[..near.len().min(NEAR)]) {
        for ((_, x), (_, y)) in near.iter().flat_map(|x| near.iter().map(move |y| (x, y))) {
            let same = || y.iter().filter(|it| x.binary_search_by_key(&it.1, |it| it.1).is_ok()).count();
            if x.len() >= RARER * y.len() && is_copied(same(), y.len(), COPIED.1) {
                again.remove(&(y[0].0 as u32));
            }
        }
    }
    again
}
