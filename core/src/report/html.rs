//! HTML that texts of strangers are put into: what is not a literal of this program is escaped.

use crate::hash::murmur3_128;
use crate::memory::{OrRaise, Room};
use std::fmt::Display;

#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of this program as it is.
    pub fn raw(&mut self, markup: &'static str) -> &mut Html {
        self.push(markup);
        self
    }

    /// Markup of this program; each `{}` is a text, in an element or in an attribute with double quotes.
    pub fn put(&mut self, markup: &'static str, texts: &[&dyn Display]) -> &mut Html {
        let mut texts = texts.iter();
        for (at, markup) in markup.split("{}").enumerate() {
            if at > 0 {
                self.text(&texts.next().map(ToString::to_string).unwrap_or_default());
            }
            self.push(markup);
        }
        self
    }

    fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find(is_special) {
            let (plain, after) = rest.split_at(at);
            self.push(plain);
            let mut characters = after.chars();
            self.push(match characters.next() {
                Some('<') => "&lt;",
                Some('>') => "&gt;",
                Some('&') => "&amp;",
                Some('"') => "&quot;",
                Some('\'') => "&#39;",
                // A parser would make a line feed of it.
                Some('\r') => "&#13;",
                // What no document may have.
                _ => "\u{FFFD}",
            });
            rest = characters.as_str();
        }
        self.push(rest);
    }

    fn push(&mut self, markup: &str) {
        self.0.room(markup.len()).or_raise();
        self.0.push_str(markup);
    }

    pub fn append(&mut self, other: &Html) -> &mut Html {
        self.push(&other.0);
        self
    }

    /// Tells it from every other markup.
    pub fn hash(&self) -> String {
        let [first, second] = murmur3_128(self.0.as_bytes(), 0);
        format!("{first:016x}{second:016x}")
    }

    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    pub fn finish(self) -> String {
        self.0
    }
}

fn is_special(character: char) -> bool {
    matches!(character, '<' | '>' | '&' | '"' | '\'' | '\r')
        || character.is_control() && !matches!(character, '\n' | '\t')
}
