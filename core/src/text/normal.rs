//! How a recipe reads a text. All that looks at texts under a recipe takes them so: fingerprints, the measures of similarity,
//! what is equal, what is shown as evidence. Two texts of one normal form have one fingerprint and similarity 1.

use super::markup::{Markup, strip_markup};
use super::normalize::{normalize, normalize_into};
use super::simplify::simplify;
use std::borrow::Cow;

/// What a recipe says of the normal form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Normal {
    /// What the text is marked up in.
    pub markup: Option<Markup>,
    /// Whether traditional characters become simplified ones.
    pub simplify: bool,
}

impl Normal {
    /// Writes the normal form of a text to `out`, which is emptied first.
    pub fn write(self, text: &str, out: &mut String) {
        normalize_into(&self.visible(text), out);
        if self.simplify {
            *out = simplify(out);
        }
    }

    /// What measures take: each makes the plain normal form of a text itself, and that of a normal form is this one again.
    pub fn form(self, text: &str) -> Cow<'_, str> {
        if self == Normal::default() {
            return Cow::Borrowed(text);
        }
        let mut form = String::new();
        self.write(text, &mut form);
        Cow::Owned(form)
    }

    /// The normal form of a text.
    pub fn of(self, text: &str) -> String {
        match self.form(text) {
            Cow::Borrowed(text) => normalize(text),
            Cow::Owned(form) => form,
        }
    }

    /// The text as somebody reads it who sees neither markup nor traditional characters, with its capitals and signs: what
    /// details are looked for in.
    pub fn plain(self, text: &str) -> Cow<'_, str> {
        let visible = self.visible(text);
        if self.simplify { Cow::Owned(simplify(&visible)) } else { visible }
    }

    pub(crate) fn visible(self, text: &str) -> Cow<'_, str> {
        let Some(markup) = self.markup.filter(|_| text.contains(['<', '&'])) else {
            return Cow::Borrowed(text);
        };
        let mut visible = String::new();
        strip_markup(text, markup, &mut visible);
        Cow::Owned(visible)
    }
}
