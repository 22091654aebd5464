//! What makes two texts equal.

use crate::text::Normal;
use serde::Deserialize;
use std::borrow::Cow;

/// What makes two texts equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Equal {
    /// The same characters.
    Text,
    /// The same normal form.
    Normal,
    /// Nothing: the stage is left out.
    None,
}

impl Equal {
    /// The form of a text used for comparison, `normal` as the recipe has it; `None`: it equals nothing.
    pub fn form(self, text: &str, normal: Normal) -> Option<Cow<'_, str>> {
        match self {
            Equal::None => None,
            Equal::Text => Some(Cow::Borrowed(text)),
            Equal::Normal => {
                let normal = normal.of(text);
                // A text of symbols alone has nothing else by which it differs.
                Some(if normal.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(normal) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects that a symbol without letters is itself and not the empty text.
    #[test]
    fn equal_by_form() {
        let same =
            |by: Equal, a, b, normal| by.form(a, normal).is_some_and(|form| by.form(b, normal) == Some(form));
        let normal = Normal::default();
        assert!(same(Equal::Text, "a b", "a b", normal) && !same(Equal::Text, "a b", "A b", normal));
        assert!(same(Equal::Normal, "a b", "A, B", normal) && !same(Equal::Normal, "👍", "…", normal));
        assert!(!same(Equal::None, "a", "a", normal));
        let simplified = Normal { markup: None, simplify: true };
        assert!(same(Equal::Normal, "樓下停水", "楼下停水", simplified));
        assert!(!same(Equal::Normal, "樓下停水", "楼下停水", normal));
    }
}
