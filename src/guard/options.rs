//! The arguments of `near_dup_guard`, completed by the settings of its table.

use crate::pg::{Row, raise};
use crate::table::{Settings, join_texts};
use dedup_core::dedup::{Kind, Method};
use dedup_core::details::{Kinds, differing};
use dedup_core::features::TextRecipe;
use dedup_core::similarity::{containment, cosine, jaccard};
use pgrx::prelude::*;
use std::rc::Rc;

/// The hint of errors in the arguments.
const USAGE: &str = "near_dup_guard('fingerprint column', 'distance=3', 'action=reject'): distance is 0 to 64; action \
                     is reject, skip, flag or log; flag=column, log=table; scope=column,column; text=column, similarity=0.5, \
                     measure=jaccard (or containment, cosine), n=2; index=none. Without the column, the rest is as the \
                     settings of the table have it (dedup_setup).";

/// The similarity that the texts must have, and characters of an n-gram, if the arguments do not say.
const SIMILARITY: f64 = 0.5;
const N: usize = 2;

/// The parsed arguments.
pub(super) struct Options {
    /// The column of the fingerprint.
    pub(super) column: String,
    /// Rows within this distance are near-duplicates, unless they are found by their texts.
    pub(super) distance: u32,
    /// Whether near-duplicates are found by their texts, whatever the distance.
    pub(super) by_text: bool,
    /// The columns that near-duplicates have in common.
    pub(super) scope: Vec<String>,
    /// The action to take.
    pub(super) action: Action,
    /// A condition on their texts.
    pub(super) verify: Option<Verify>,
    /// Whether to search without an index.
    pub(super) without_index: bool,
}

/// The action for a near-duplicate.
pub(super) enum Action {
    /// The statement fails.
    Reject,
    /// The row is left out.
    Skip,
    /// This column is set to the key of the earlier row.
    Flag(String),
    /// The pair is written into this table.
    Log(String),
}

/// A similarity of texts that near-duplicates must have.
pub(super) struct Verify {
    measure: Measure,
    /// The columns of the text.
    pub(super) columns: Vec<String>,
    pub(super) similarity: f64,
    pub(super) n: usize,
    /// Kinds of particulars that the texts must have in common.
    kinds: Option<Kinds>,
    /// By which the texts are read.
    recipe: Rc<TextRecipe>,
}

#[derive(Clone, Copy, PartialEq)]
enum Measure {
    Jaccard,
    Containment,
    Cosine,
}

impl Verify {
    /// As the settings of a table have it.
    fn of(settings: &Settings) -> Verify {
        Verify {
            measure: Measure::Jaccard,
            columns: settings.texts().into_iter().map(str::to_owned).collect(),
            similarity: settings.similarity(),
            n: settings.n(),
            kinds: settings.kinds(),
            recipe: settings.text_recipe(),
        }
    }

    /// The text of a row.
    pub(super) fn text(&self, row: &Row) -> Option<String> {
        join_texts(self.columns.iter().map(|column| row.text(column)))
    }

    /// Whether a text can be near another.
    pub(super) fn has_words(&self, text: &str) -> bool {
        Kind::of(text, &self.recipe) == Kind::Near
    }

    /// The similarity of two texts, of which the new one has words, if they are similar enough; what is empty is similar to
    /// nothing.
    pub(super) fn of_texts(&self, new: Option<&str>, old: Option<&str>) -> Option<f64> {
        let normal = self.recipe.normal;
        let (new, old) = (new?, old.filter(|old| self.has_words(old))?);
        let (a, b) = (normal.form(new), normal.form(old));
        let similarity = match self.measure {
            _ if self.similarity == 0.0 => 1.0,
            Measure::Jaccard => jaccard(&a, &b, self.n),
            Measure::Containment => containment(&a, &b, self.n),
            Measure::Cosine => cosine(&a, &b, &TextRecipe::default()),
        };
        let same = |kinds| differing(&normal.plain(new), &normal.plain(old), kinds).is_empty();
        let holds = similarity >= self.similarity && self.kinds.is_none_or(same);
        holds.then_some(similarity)
    }
}

fn wrong(message: String) -> ! {
    raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message, USAGE)
}

impl Options {
    /// Reads the arguments of CREATE TRIGGER. If the first one is no column, what they do not say is
    /// as the `settings` of the table have it.
    pub(super) fn parse(arguments: &[String], settings: impl FnOnce() -> Rc<Settings>) -> Options {
        let action = Action::Reject;
        let (mut options, arguments) = match arguments.split_first() {
            Some((column, rest)) if !column.contains('=') => {
                let (column, distance) = (column.clone(), 3);
                (
                    Options {
                        column,
                        distance,
                        by_text: false,
                        action,
                        verify: None,
                        scope: Vec::new(),
                        without_index: false,
                    },
                    rest,
                )
            }
            _ => {
                let settings = settings();
                let (column, distance) = (settings.fp().to_owned(), settings.distance());
                let verify = Some(Verify::of(&settings));
                let by_text = settings.method() == Method::Text;
                let (scope, without_index) = (Vec::new(), false);
                (Options { column, distance, by_text, action, verify, scope, without_index }, arguments)
            }
        };
        let (mut action, mut flag, mut log) = (None, None, None);
        let (mut text, mut similarity, mut measure, mut n) = (None, None, None, None);
        for setting in arguments {
            let Some((key, value)) = setting.split_once('=') else {
                wrong(format!("argument \"{setting}\" of near_dup_guard is not of the form key=value"))
            };
            let (key, value) = (key.trim(), value.trim());
            let bad = || -> ! { wrong(format!("invalid value \"{value}\" of \"{key}\" of near_dup_guard")) };
            match key {
                "distance" => match value.parse() {
                    Ok(distance @ 0..=64) => (options.distance, options.by_text) = (distance, false),
                    _ => bad(),
                },
                "action" if ["reject", "skip", "flag", "log"].contains(&value) => action = Some(value),
                "flag" if !value.is_empty() => flag = Some(value.to_owned()),
                "log" if !value.is_empty() => log = Some(value.to_owned()),
                "text" if !value.is_empty() => text = Some(value.to_owned()),
                "similarity" => match value.parse() {
                    Ok(least) if (0.0..=1.0).contains(&least) => similarity = Some(least),
                    _ => bad(),
                },
                "measure" => match value {
                    "jaccard" => measure = Some(Measure::Jaccard),
                    "containment" => measure = Some(Measure::Containment),
                    "cosine" => measure = Some(Measure::Cosine),
                    _ => bad(),
                },
                "n" => match value.parse() {
                    Ok(characters @ 1..=64) => n = Some(characters),
                    _ => bad(),
                },
                "scope" => {
                    options.scope = value.split(',').map(|column| column.trim().to_owned()).collect();
                    let named = &options.scope;
                    if (0..named.len()).any(|at| named[at].is_empty() || named[..at].contains(&named[at])) {
                        bad()
                    }
                }
                "index" if ["none", "required"].contains(&value) => options.without_index = value == "none",
                "action" | "flag" | "log" | "text" | "index" => bad(),
                _ => wrong(format!("near_dup_guard has no option \"{key}\"")),
            }
        }
        if n.is_some() && measure == Some(Measure::Cosine) {
            wrong("n of near_dup_guard is not for measure=cosine".into())
        }
        // The index is of the texts and the measure of the settings.
        options.by_text &= text.is_none() && measure.is_none_or(|it| it == Measure::Jaccard) && n.is_none();
        options.by_text &= similarity != Some(0.0);
        options.verify = match (text, options.verify) {
            (None, Some(settings)) => Some(Verify {
                measure: measure.unwrap_or(settings.measure),
                similarity: similarity.unwrap_or(settings.similarity),
                n: n.unwrap_or(settings.n),
                ..settings
            }),
            (Some(column), settings) => Some(Verify {
                measure: measure.unwrap_or(Measure::Jaccard),
                columns: vec![column],
                similarity: similarity.or(settings.as_ref().map(|it| it.similarity)).unwrap_or(SIMILARITY),
                n: n.or(settings.as_ref().map(|it| it.n)).unwrap_or(N),
                kinds: settings.as_ref().and_then(|it| it.kinds),
                recipe: settings.map_or_else(Rc::default, |it| it.recipe),
            }),
            (None, None) if similarity.is_some() || measure.is_some() || n.is_some() => {
                wrong("similarity, measure and n of near_dup_guard need text=column".into())
            }
            (None, None) => None,
        };
        options.action = match (action, flag, log) {
            (None | Some("flag"), Some(column), None) => Action::Flag(column),
            (None | Some("log"), None, Some(table)) => Action::Log(table),
            (Some("skip"), None, None) => Action::Skip,
            (None | Some("reject"), None, None) => Action::Reject,
            (Some("flag"), None, _) => wrong("action=flag needs flag=column".into()),
            (Some("log"), _, None) => wrong("action=log needs log=table".into()),
            _ => wrong("the options of near_dup_guard name more than one action".into()),
        };
        options
    }
}
