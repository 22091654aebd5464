//! The little template language the texts are written in.
//!
//! * `[a|b|c]` is one of several wordings (they may nest and may be empty),
//! * `{name}` is a slot (a place, a name, a date) or a shared pool of phrases,
//! * `{3-9}` is a number in a range, `{100-900*50}` one in steps of 50.
//!
//! Words that stand in a synonym group become choices by themselves.

use crate::context::{Context, Slot};
use crate::rng::Rng;
use crate::words;
use std::collections::HashMap;

/// One compiled piece of a template.
#[derive(Debug)]
pub enum Piece {
    /// Text as it stands.
    Text(&'static str),
    /// Something the context knows or draws.
    Slot(Slot),
    /// A number in `lo..=hi`, in steps.
    Number(u64, u64, u64),
    /// One of several wordings.
    Choice(Vec<Template>),
    /// A member of a synonym group.
    Synonym(usize),
    /// A phrase of a shared pool.
    Pool(usize),
}

/// A compiled template.
pub type Template = Vec<Piece>;

/// Shared pools by number; templates refer to them by name.
#[derive(Debug, Default)]
pub struct Pools {
    names: HashMap<&'static str, usize>,
    pools: Vec<Vec<Template>>,
}

impl Pools {
    /// Compiles named pools, which may refer to each other but not in a circle.
    pub fn new(sources: &[(&'static str, &[&'static str])]) -> Self {
        let names = sources.iter().enumerate().map(|(i, (name, _))| (*name, i)).collect();
        let mut all = Pools { names, pools: Vec::new() };
        let pools = sources.iter().map(|(_, texts)| all.compile_all(texts)).collect();
        all.pools = pools;
        all
    }

    /// Compiles several templates.
    pub fn compile_all(&self, texts: &[&'static str]) -> Vec<Template> {
        texts.iter().map(|t| self.compile(t)).collect()
    }

    /// Compiles one template; a mistake in it is a mistake in this program.
    pub fn compile(&self, text: &'static str) -> Template {
        let mut pos = 0;
        let template = self.sequence(text, &mut pos, false);
        assert!(pos == text.len(), "unbalanced template: {text}");
        template
    }

    /// The pool of that name.
    pub fn pool(&self, name: &str) -> &[Template] {
        &self.pools[*self.names.get(name).unwrap_or_else(|| panic!("no pool {name}"))]
    }

    fn sequence(&self, text: &'static str, pos: &mut usize, inside: bool) -> Template {
        let mut out = Template::new();
        let mut start = *pos;
        while let Some(c) = text[*pos..].chars().next() {
            if inside && (c == '|' || c == ']') {
                break;
            }
            match c {
                '[' => {
                    literal(&text[start..*pos], &mut out);
                    *pos += 1;
                    let mut options = vec![self.sequence(text, pos, true)];
                    while text[*pos..].starts_with('|') {
                        *pos += 1;
                        options.push(self.sequence(text, pos, true));
                    }
                    assert!(text[*pos..].starts_with(']'), "unclosed choice: {text}");
                    *pos += 1;
                    start = *pos;
                    out.push(Piece::Choice(options));
                }
                '{' => {
                    literal(&text[start..*pos], &mut out);
                    let end = text[*pos..].find('}').unwrap_or_else(|| panic!("unclosed slot: {text}"));
                    out.push(self.slot(&text[*pos + 1..*pos + end]));
                    *pos += end + 1;
                    start = *pos;
                }
                ']' | '}' | '|' => panic!("stray {c} in template: {text}"),
                _ => *pos += c.len_utf8(),
            }
        }
        literal(&text[start..*pos], &mut out);
        out
    }

    fn slot(&self, name: &str) -> Piece {
        if let Some(slot) = Slot::named(name) {
            return Piece::Slot(slot);
        }
        if let Some(pool) = self.names.get(name) {
            return Piece::Pool(*pool);
        }
        let range = || -> Option<Piece> {
            let (range, step) = name.split_once('*').unwrap_or((name, "1"));
            let (lo, hi) = range.split_once('-')?;
            Some(Piece::Number(lo.parse().ok()?, hi.parse().ok()?, step.parse().ok()?))
        };
        range().unwrap_or_else(|| panic!("no slot or pool {name}"))
    }

    /// Appends the text of `template` to `out`.
    pub fn render(&self, template: &Template, rng: &mut Rng, context: &Context, out: &mut String) {
        for piece in template {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Slot(slot) => context.fill(*slot, self, rng, out),
                Piece::Number(lo, hi, step) => {
                    push_number(lo + step * rng.below(((hi - lo) / step + 1) as usize) as u64, out);
                }
                Piece::Choice(options) => {
                    self.render(&options[rng.below(options.len())], rng, context, out);
                }
                Piece::Synonym(group) => out.push_str(rng.pick(words::GROUPS[*group])),
                Piece::Pool(pool) => {
                    let templates = &self.pools[*pool];
                    self.render(&templates[rng.below(templates.len())], rng, context, out);
                }
            }
        }
    }
}

/// Cuts literal text where words of a synonym group stand.
fn literal(text: &'static str, out: &mut Template) {
    let mut start = 0;
    let mut pos = 0;
    while let Some(c) = text[pos..].chars().next() {
        if let Some((word, group)) = words::at_start(&text[pos..]) {
            if start < pos {
                out.push(Piece::Text(&text[start..pos]));
            }
            out.push(Piece::Synonym(group));
            pos += word.len();
            start = pos;
        } else {
            pos += c.len_utf8();
        }
    }
    if start < pos {
        out.push(Piece::Text(&text[start..pos]));
    }
}

/// Appends a decimal number without going through the formatter.
pub fn push_number(n: u64, out: &mut String) {
    if n >= 10 {
        push_number(n / 10, out);
    }
    out.push((b'0' + (n % 10) as u8) as char);
}
