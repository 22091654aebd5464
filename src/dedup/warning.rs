//! A warning where much of a table would go on what is near and not equal.

use dedup_core::dedup::Alike;
use dedup_core::details::Kinds;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};

/// Near rows below which nothing is said.
const FEW: u64 = 20;
/// One row in so many is many.
const SHARE: u64 = 5;
/// Characters of a text that are shown.
const SHOWN: usize = 60;

/// A notice that many rows are near.
pub(super) struct Warning {
    pub function: &'static str,
    /// Rows that are near the kept row of their group.
    pub near: u64,
    /// All rows.
    pub rows: u64,
    /// That of the pair that is shown, which is the least alike.
    pub similarity: f64,
    /// The options by which more are told apart, if there are some.
    pub tells: Option<String>,
}

impl Warning {
    /// Whether so many near rows are a reason for it.
    pub(super) fn is_due(near: u64, rows: u64) -> bool {
        near >= FEW && near * SHARE >= rows
    }

    /// The options that tell more apart than these.
    pub(super) fn tells(alike: &Alike) -> String {
        let kinds = alike.details.unwrap_or(Kinds { names: false, dates: false, numbers: false });
        let known = [(kinds.names, "name"), (kinds.dates, "date"), (kinds.numbers, "number")];
        let missing: Vec<_> = known.iter().filter(|(has, _)| !has).map(|(_, name)| *name).collect();
        match &missing[..] {
            [] => "A greater similarity".to_owned(),
            some => format!("A greater similarity, or {} among the details,", some.join(" or ")),
        }
    }

    /// Emits a notice with the least alike row and the one that is kept for it.
    pub(super) fn emit(&self, texts: &[String; 2]) {
        let Warning { function, near, rows, similarity, tells } = self;
        let [row, kept] = texts.each_ref().map(|text| shown(text));
        let what = format!("{function}: {near} of {rows} rows are near another row, not equal to it");
        ErrorReport::new(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, what, "pg_dedup")
            .set_detail(format!("The least alike, at similarity {similarity:.3}: {row} would go, {kept} stays."))
            .set_hint(match tells {
                None => "Look at such pairs before you delete: dedup_explain(source, pairs, options) says what each column \
                         told. Rows of one series may be taken for one."
                    .to_owned(),
                Some(tells) => format!(
                    "Look at such pairs before you delete: dedup_explain says what two texts share and in what they \
                     differ. {tells} tells more apart."
                ),
            })
            .report(PgLogLevel::NOTICE);
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
