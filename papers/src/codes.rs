//! Feature codes (P4's survey of Chinese methods): the first and last characters of every clause, which an edit
//! inside the clause does not change.
//!
//! The codes of a text in order make one string to compare by equality; as a
//! set they are compared by Jaccard similarity, and candidates share codes.

use crate::sentences::clauses;
use dedup_core::text::normalize;

/// The code of every clause of a text, in order: its first and last `n`
/// characters in normal form (no punctuation, no spaces). A clause of at most
/// `2 n` characters is its own code. `n` is at least 1.
///
/// ```
/// use dedup_detectors::codes::codes;
/// assert_eq!(codes("小区停水三天，物业不管。", 1), ["小天", "物管"]);
/// assert_eq!(codes("小区停水，好！", 2), ["小区停水", "好"]);
/// ```
pub fn codes(content: &str, n: usize) -> Vec<String> {
    let mut all = Vec::new();
    clauses(content, |clause| {
        let normal = normalize(&content[clause]);
        let characters: Vec<char> = normal.chars().filter(|&c| c != ' ').collect();
        let n = n.max(1);
        match characters.len() {
            0 => {}
            length if length <= n.saturating_mul(2) => all.push(characters.into_iter().collect()),
            length => all.push(characters[..n].iter().chain(&characters[length - n..]).collect()),
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_inside_a_clause_do_not_matter() {
        let (a, b) = ("请尽快修复水管，谢谢！", "请马上把水管修复，多谢。");
        assert_eq!(codes(a, 1), ["请管", "谢谢"]);
        assert_eq!(codes(b, 1)[0], "请复");
        assert_eq!(codes("请尽快修复破了的水管，谢谢", 1), codes(a, 1));
        assert_eq!(codes("……！", 1), [""; 0]);
    }
}
