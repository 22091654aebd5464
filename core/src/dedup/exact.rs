//! The exact stage: what makes two texts equal.

use crate::hash::murmur3_128;
use crate::text::Normal;
use serde::Deserialize;
use std::borrow::Cow;

/// What makes two texts equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exact {
    /// The same characters.
    Text,
    /// The same normal form.
    Normal,
    /// Nothing: the stage is left out.
    None,
}

impl Exact {
    /// The form of a text used for comparison, `normal` as the recipe has it; `None`: it equals nothing.
    pub fn form(self, text: &str, normal: Normal) -> Option<Cow<'_, str>> {
        match self {
            Exact::None => None,
            Exact::Text => Some(Cow::Borrowed(text)),
            Exact::Normal => {
                let normal = normal.of(text);
                // A text of symbols alone has nothing else by which it differs.
                Some(if normal.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(normal) })
            }
        }
    }

    /// Whether two texts are equal.
    pub fn same(self, a: &str, b: &str, normal: Normal) -> bool {
        self.form(a, normal).is_some_and(|form| self.form(b, normal).is_some_and(|other| form == other))
    }

    /// The hash under which a text is stored, to find equal ones; `None`: it equals nothing.
    pub fn hash(self, text: &str, normal: Normal) -> Option<u128> {
        let [low, high] = murmur3_128(self.form(text, normal)?.as_bytes(), 0);
        Some(u128::from(high) << 64 | u128::from(low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects that a symbol without letters is itself and not the empty text.
    #[test]
    fn equal_by_form() {
        let normal = Normal::default();
        assert!(Exact::Text.same("a b", "a b", normal) && !Exact::Text.same("a b", "A b", normal));
        assert!(Exact::Normal.same("a b", "A, B", normal) && !Exact::Normal.same("👍", "…", normal));
        assert!(!Exact::None.same("a", "a", normal) && Exact::None.hash("a", normal).is_none());
        assert_eq!(Exact::Normal.hash("a b", normal), Exact::Normal.hash("A, B", normal));
        assert_ne!(Exact::Text.hash("a b", normal), Exact::Text.hash("A, B", normal));
        let simplified = Normal { markup: None, simplify: true };
        assert!(Exact::Normal.same("樓下停水", "楼下停水", simplified));
        assert!(!Exact::Normal.same("樓下停水", "楼下停水", normal));
    }
}
