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
