//! A warning where much of a table would go on what is near and not equal.

use crate::pg::notice;
use dedup_core::dedup::{Alike, Method, Options};
use dedup_core::details::Kinds;

/// Near rows below which nothing is said.
const FEW: u64 = 20;
/// One row in so many is many.
const SHARE: u64 = 5;
/// Characters of a text that are shown.
const SHOWN: usize = 60;

/// Whether so many near rows are a reason for it.
pub(super) fn is_due(near: u64, rows: u64) -> bool {
    near >= FEW && near * SHARE >= rows
}

/// Emits a notice that so many of all rows are near, with the pair that is least alike: the row, and the one that is kept for
/// it.
pub(super) fn warn((near, rows): (u64, u64), similarity: f64, texts: &[String; 2], options: &Options) {
    let [row, kept] = texts.each_ref().map(|text| shown(text));
    let hint = match options.method {
        Method::Records => "dedup_explain(source, pairs, options) says what each column told. Rows of one series may be taken for one."
            .to_owned(),
        Method::Hash => "dedup_explain(source, pairs, options) says how far apart they are. A lesser distance tells more apart."
            .to_owned(),
        _ => format!(
            "dedup_explain says what two texts share and in what they differ. {} tells more apart.",
            tells(&options.alike)
        ),
    };
    notice(
        format!("dedup: {near} of {rows} rows are near another row, not equal to it"),
        format!("The least alike, at similarity {similarity:.3}: {row} would go, {kept} stays."),
        format!("Look at such pairs before you delete: {hint}"),
    );
}

/// The options that tell more apart than these.
fn tells(alike: &Alike) -> String {
    let kinds = alike.details.unwrap_or(Kinds { names: false, dates: false, numbers: false, slots: false });
    let known =
        [(kinds.names, "name"), (kinds.dates, "date"), (kinds.numbers, "number"), (kinds.slots, "slot")];
    let missing: Vec<_> = known.iter().filter(|(has, _)| !has).map(|(_, name)| *name).collect();
    match &missing[..] {
        [] => "A greater similarity".to_owned(),
        some => format!("A greater similarity, or {} among the details,", some.join(" or ")),
    }
}

/// The beginning of a text, on one line.
fn shown(text: &str) -> String {
    let mut line = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == SHOWN {
            line.push('…');
            break;
        }
        line.push(if c.is_control() { ' ' } else { c });
    }
    format!("\"{line}\"")
}
