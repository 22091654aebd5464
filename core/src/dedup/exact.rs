//! The exact stage: what makes two texts equal.

use crate::hash::murmur3_128;
use crate::text::normalize;
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
    /// The form of a text used for comparison; `None`: it equals nothing.
    pub fn form(self, text: &str) -> Option<Cow<'_, str>> {
        match self {
            Exact::None => None,
            Exact::Text => Some(Cow::Borrowed(text)),
            Exact::Normal => {
                let normal = normalize(text);
                // A text without letters and digits has nothing else by which it differs.
                Some(if normal.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(normal) })
            }
        }
    }

    /// Whether two texts are equal.
    pub fn same(self, a: &str, b: &str) -> bool {
        self.form(a).is_some_and(|form| self.form(b).is_some_and(|other| form == other))
    }

    /// The hash under which a text is stored, to find equal ones; `None`: it equals nothing.
    pub fn hash(self, text: &str) -> Option<u128> {
        let [low, high] = murmur3_128(self.form(text)?.as_bytes(), 0);
        Some(u128::from(high) << 64 | u128::from(low))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects that a symbol without letters is itself and not the empty text.
    #[test]
    fn equal_by_form() {
        assert!(Exact::Text.same("a b", "a b") && !Exact::Text.same("a b", "A b"));
        assert!(Exact::Normal.same("a b", "A, B") && !Exact::Normal.same("👍", "…"));
        assert!(!Exact::None.same("a", "a") && Exact::None.hash("a").is_none());
        assert_eq!(Exact::Normal.hash("a b"), Exact::Normal.hash("A, B"));
        assert_ne!(Exact::Text.hash("a b"), Exact::Text.hash("A, B"));
    }
}
