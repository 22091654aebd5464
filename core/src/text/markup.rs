//! The visible text of HTML and XML documents.

use crate::interrupt::Meter;
use crate::memory::{self, OrRaise, Room};
use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Readable, Reader, StringReader, Token, Tokenizer};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;

/// A markup language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Markup {
    /// Tag soup included: read as a browser's tokenizer reads it.
    Html,
    /// Well-formed or not; knows `CDATA` and no special elements.
    Xml,
}

/// Elements whose content is not text for a reader.
const UNSEEN: [&[u8]; 6] = [b"script", b"style", b"template", b"noscript", b"iframe", b"svg"];
/// Elements that stand inside a word or sentence; every other tag ends a word.
const INLINE: [&[u8]; 20] = [
    b"a", b"abbr", b"b", b"bdi", b"bdo", b"big", b"cite", b"code", b"em", b"font", b"i", b"ins", b"mark",
    b"s", b"small", b"span", b"strong", b"sub", b"sup", b"u",
];

/// Writes the text of the document `source` to `out`, which is emptied first. Comments, tags and what
/// `UNSEEN` elements hold are left out; character references are resolved. Malformed documents are accepted.
pub fn strip_markup(source: &str, markup: Markup, out: &mut String) {
    out.clear();
    // No token is longer than its source, and what it becomes is shorter.
    out.room(source.len()).or_raise();
    memory::ensure(2 * source.len()).or_raise();
    match markup {
        Markup::Html => tokens(source, markup, out),
        Markup::Xml => {
            let mut rest = source;
            while let Some((before, inside)) = rest.split_once("<![CDATA[") {
                tokens(before, markup, out);
                let (text, after) = inside.split_once("]]>").unwrap_or((inside, ""));
                out.push_str(text);
                rest = after;
            }
            tokens(rest, markup, out);
        }
    }
}

fn tokens(source: &str, markup: Markup, out: &mut String) {
    let html = markup == Markup::Html;
    let mut emitter = DefaultEmitter::default();
    // Without it `<script>` would hold tags instead of code.
    emitter.naively_switch_states(html);
    let mut unseen: Option<Vec<u8>> = None;
    let source = Checked(source.to_reader(), Meter::new());
    for Ok(token) in Tokenizer::new_with_emitter(source, emitter) {
        match token {
            Token::StartTag(tag) => {
                if html && unseen.is_none() && !tag.self_closing && UNSEEN.contains(&&tag.name[..]) {
                    unseen = Some(tag.name.to_vec());
                }
                end_word(&tag.name, html, out);
            }
            Token::EndTag(tag) => {
                if unseen.as_deref() == Some(&tag.name[..]) {
                    unseen = None;
                }
                end_word(&tag.name, html, out);
            }
            Token::String(text) if unseen.is_none() => out.push_str(&String::from_utf8_lossy(&text)),
            _ => {}
        }
    }
}

/// A document that is read with a check every so often: a token can be all of it.
struct Checked<'a>(StringReader<'a>, Meter);

impl Reader for Checked<'_> {
    type Error = Infallible;

    fn read_byte(&mut self) -> Result<Option<u8>, Infallible> {
        self.1.work(1);
        self.0.read_byte()
    }

    fn try_read_string(&mut self, text: &[u8], case_sensitive: bool) -> Result<bool, Infallible> {
        self.1.work(1);
        self.0.try_read_string(text, case_sensitive)
    }

    fn read_until<'b>(
        &'b mut self,
        needle: &[u8],
        buffer: &'b mut [u8; 4],
    ) -> Result<Option<&'b [u8]>, Infallible> {
        self.1.work(1);
        self.0.read_until(needle, buffer)
    }
}

fn end_word(tag: &[u8], html: bool, out: &mut String) {
    let inline = html && INLINE.contains(&tag);
    if !inline && !out.ends_with('\n') {
        out.push('\n');
    }
}
