//! Pictures of rows: which of them a page shows, and what its policy allows for them.

use super::html::Html;
use super::words::{Language, fill, grouped};
use base64::prelude::{BASE64_STANDARD, Engine};

/// Bytes of a picture that is in the page itself, at most.
pub const PICTURE: usize = 64 << 10;
/// Characters of an address, at most; the sentence `picture_address` says so.
const ADDRESS: usize = 2000;

/// The picture of a row: its address, or why it is not shown. Neither, if the row has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// What a browser loads: `data:`, `http:`, `https:` or relative to the page.
    pub address: String,
    /// A sentence.
    pub why_not: String,
}

impl Picture {
    /// It is loaded once it is to be seen, by a request that does not tell of the page.
    pub(super) fn show(&self, html: &mut Html, id: &str) {
        if !self.address.is_empty() {
            let markup =
                r#"<img src="{}" alt="{}" loading="lazy" decoding="async" referrerpolicy="no-referrer">"#;
            html.put(markup, &[&self.address, &id]);
        } else if !self.why_not.is_empty() {
            html.put(r#"<p class="note">{}</p>"#, &[&self.why_not]);
        }
    }
}

impl Language {
    /// The picture at an address.
    pub fn picture_at(self, address: &str) -> Picture {
        let address = address.trim();
        if address.is_empty() || is_allowed(address) {
            return Picture { address: address.to_owned(), ..Picture::default() };
        }
        let beginning: String = address.chars().take(100).collect();
        Picture { why_not: fill(self.0.picture_address, &[&beginning]), ..Picture::default() }
    }

    /// The picture that these bytes are; `Err`: it has so many bytes, and they were not read.
    pub fn picture_of(self, bytes: Result<&[u8], usize>) -> Picture {
        let why_not = match bytes.map(|bytes| (kind(bytes), bytes)) {
            Ok((Some(kind), bytes)) => {
                let address = format!("data:image/{kind};base64,{}", BASE64_STANDARD.encode(bytes));
                return Picture { address, ..Picture::default() };
            }
            Ok(_) => self.0.picture_kind.to_owned(),
            Err(length) => {
                let [length, most] = [length, PICTURE].map(|it| grouped(it as u64));
                fill(self.0.picture_large, &[&length, &most])
            }
        };
        Picture { why_not, ..Picture::default() }
    }
}

/// Whether text is the address of a file by http, or relative to the page and on its host. It has no blanks, as running text does,
/// and a relative one has a slash or a point.
fn is_allowed(address: &str) -> bool {
    // To a browser \ is /, and what stands before the first colon is a scheme.
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let names_scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
    let is_path = path.contains(['/', '.']) && !path.contains('\\') && !path.starts_with("//");
    let is_by_http = begins(address, "https://") || begins(address, "http://");
    let breaks = |c: char| c.is_whitespace() || c.is_control();
    (is_by_http || is_path && !names_scheme)
        && !address.contains(breaks)
        && address.chars().count() <= ADDRESS
}

/// How an address begins, and what of a policy allows it.
const SOURCES: [(&str, &str); 4] =
    [("data:", " data:"), ("https:", " https:"), ("http:", " http:"), ("", " 'self'")];

/// What a page's policy allows for pictures.
#[derive(Debug, Default)]
pub(super) struct Sources([bool; SOURCES.len()]);

impl Sources {
    pub fn add<'p>(&mut self, pictures: impl IntoIterator<Item = &'p Picture>) {
        for address in pictures.into_iter().map(|it| &it.address).filter(|it| !it.is_empty()) {
            let at = SOURCES.iter().position(|it| begins(address, it.0));
            at.into_iter().for_each(|at| self.0[at] = true);
        }
    }

    /// The rest of the policy: nothing, where there is nothing to load.
    pub fn allow(&self, html: &mut Html) {
        let mut name = "; img-src";
        for ((_, source), _) in SOURCES.iter().zip(self.0).filter(|it| it.1) {
            html.raw(std::mem::take(&mut name)).raw(source);
        }
    }
}

fn begins(address: &str, with: &str) -> bool {
    address.get(..with.len()).is_some_and(|it| it.eq_ignore_ascii_case(with))
}

/// The kind of picture, by its first bytes. SVG is none of these: it is a document.
fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        _ => None,
    }
}
