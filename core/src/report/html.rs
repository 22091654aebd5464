//! HTML and JSON that texts of strangers are put into: what is not a literal of this program is escaped.

use crate::memory::{OrRaise, Room};

/// A page as it is written.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of this program.
    pub fn tag(&mut self, markup: &'static str) -> &mut Html {
        self.push(markup)
    }

    /// A text, in an element or in an attribute with double quotes.
    pub fn text(&mut self, text: &str) -> &mut Html {
        let mut rest = text;
        while let Some(at) = rest.find(special) {
            let (plain, after) = rest.split_at(at);
            self.push(plain);
            let mut characters = after.chars();
            let character = characters.next().unwrap_or_default();
            self.push(match character {
                '<' => "&lt;",
                '>' => "&gt;",
                '&' => "&amp;",
                '"' => "&quot;",
                '\'' => "&#39;",
                // A parser would make a line feed of it.
                '\r' => "&#13;",
                // What no document may have.
                _ => "\u{FFFD}",
            });
            rest = characters.as_str();
        }
        self.push(rest)
    }

    /// A number.
    pub fn number(&mut self, number: impl Into<f64>) -> &mut Html {
        let number: f64 = number.into();
        self.push(&((number * 100.0).round() / 100.0).to_string())
    }

    /// JSON, inside an element `script` of a type that is not run.
    pub fn json(&mut self, json: &str) -> &mut Html {
        debug_assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "not escaped");
        self.push(json)
    }

    /// Bytes so far.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// The page.
    pub fn finish(self) -> String {
        self.0
    }

    fn push(&mut self, markup: &str) -> &mut Html {
        self.0.room(markup.len()).or_raise();
        self.0.push_str(markup);
        self
    }

    /// Another page's markup.
    pub fn append(&mut self, other: &Html) -> &mut Html {
        self.push(&other.0)
    }
}

fn special(character: char) -> bool {
    matches!(character, '<' | '>' | '&' | '"' | '\'' | '\r')
        || character.is_control() && !matches!(character, '\n' | '\t')
}

/// Appends a JSON string that neither ends an element `script` nor a line of a script.
pub(super) fn json_string(text: &str, into: &mut String) {
    /// Bytes of an escaped character, at most; ordinary texts have few.
    const ESCAPED: usize = 6;
    into.room(text.len() + 2).or_raise();
    into.push('"');
    for character in text.chars() {
        into.room(ESCAPED + 1).or_raise();
        match character {
            '"' => into.push_str("\\\""),
            '\\' => into.push_str("\\\\"),
            '\n' => into.push_str("\\n"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => unicode(character, into),
            _ if character.is_control() => unicode(character, into),
            _ => into.push(character),
        }
    }
    into.push('"');
}

/// `\u` and four digits: all that are escaped so are below 65536.
fn unicode(character: char, into: &mut String) {
    into.push_str(&format!("\\u{:04x}", character as u32));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOSTILE: &str = r#"(</script>|<!--|<script>|]]>|&lt;|\\u003c|["'&<>/\\]|[\r\n\t]|\u{2028}|\u{2029}|\u{202E}|\u{7F}|\PC|停){0,12}"#;

    /// The text that a browser would show.
    fn read(html: &str) -> String {
        let entities =
            [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#13;", "\r"), ("&amp;", "&")];
        entities.iter().fold(html.to_owned(), |text, (entity, character)| text.replace(entity, character))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 8))]

        /// A text stays a text: no markup comes of it, and a reader sees the same characters.
        #[test]
        fn texts_stay_texts(text in HOSTILE) {
            let mut html = Html::default();
            html.text(&text);
            let html = html.finish();
            let escaped = !html.contains(['<', '>', '"', '\'', '\r']);
            prop_assert!(escaped);
            prop_assert_eq!(read(&html), text.replace('\u{7F}', "\u{FFFD}"));
        }

        /// JSON gives back the same characters, and none that ends an element, a comment or a line of a script.
        #[test]
        fn json_gives_back_the_text(text in HOSTILE) {
            let mut json = String::new();
            json_string(&text, &mut json);
            let escaped = !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\n', '\r']);
            prop_assert!(escaped);
            prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }

    #[test]
    fn numbers_are_short() {
        let mut html = Html::default();
        html.number(1.0 / 3.0).tag(" ").number(12u32).tag(" ").number(-0.5);
        assert_eq!(html.finish(), "0.33 12 -0.5");
    }
}
