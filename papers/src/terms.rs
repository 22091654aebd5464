//! The words of a text, as the detectors take them.

use dedup_core::interrupt;
use dedup_core::text::{Segmenter, normalize};

/// Calls `each` with the words of a text's normal form, in order.
pub(super) fn words(content: &str, each: impl FnMut(&str)) {
    Segmenter::shared().words(&normalize(content), false, each);
}

/// The words of a text's normal form, in order.
pub(super) fn word_list(content: &str) -> Vec<String> {
    let mut list = Vec::new();
    words(content, |word| list.push(word.to_owned()));
    list
}

/// The different words of a text, in the order of their characters' codes:
/// the text as the Boolean model sees it, a set of terms that are there or
/// not (P2's survey). Equal sets are duplicates under that model.
///
/// ```
/// assert_eq!(dedup_detectors::terms("b A, b!"), ["a", "b"]);
/// ```
pub fn terms(content: &str) -> Vec<String> {
    let mut list = word_list(content);
    interrupt::sort_and_dedup(&mut list);
    list
}
