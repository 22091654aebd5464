//! Limits that are chosen anew by what people have decided.

use crate::dedup::{find, limits, name_of};
use crate::pg::{Progress, QueryHost, notice, quote_literal, raise_state, unwrap_or_raise};
use crate::table::{Settings, Source, Table, Written, read_options};
use dedup_core::dedup::{REVIEW, SETUP};
use dedup_core::evaluate;
use dedup_core::records::Model;
use serde_json::{Value, json};
use std::sync::Arc;

/// Asks for the limits that fit best what is decided about the rows of a table, and says what becomes of them. Returns the
/// model of records that fits it.
/// Raises 55000 if the table has no settings or no table of decisions.
pub(super) fn refit(table: &Table, asked: &mut Written) -> Option<Arc<Model>> {
    let name = &table.name;
    let settings = Settings::needed(table.oid);
    if settings.decisions().is_none() {
        raise_state(
            format!("table {name} has no table of decisions to choose limits by"),
            format!(
                "SELECT * FROM dedup_setup({}, '{{\"decisions\": true}}'); makes one.",
                quote_literal(name)
            ),
        )
    }
    let progress = Progress::new(SETUP.name);
    let source = Source::new(Some(name));
    let (_, mut found) =
        find(REVIEW, &source, read_options(REVIEW, None), Default::default(), &progress, |_| |_, _| ());
    let mut host = QueryHost::reporting(&progress);
    let refit = unwrap_or_raise(evaluate::refit(&mut found, limits(), &mut host));
    let (before, mut changes) = (settings.chosen(), Vec::new());
    let new = [
        ("similarity", refit.similarity.map(|it| json!(it))),
        ("distance", refit.distance.map(|it| json!(it))),
        ("details", refit.details.map(|it| json!(it))),
    ];
    for (option, value) in new.into_iter().filter_map(|(option, value)| Some((option, value?))) {
        changes.push(format!("{option} {} becomes {value}", before.get(option).cloned().unwrap_or_default()));
        asked.add(option, value);
    }
    if !refit.slots.is_empty() {
        let mut slots = settings.asked().get("slots").and_then(Value::as_object).cloned().unwrap_or_default();
        for name in refit.slots {
            changes.push(format!("slot \"{name}\" tells nothing any more"));
            slots.insert(name, false.into());
        }
        asked.add("slots", slots.into());
    }
    if let Some(model) =
        refit.model.as_ref().filter(|it| settings.records().is_some_and(|was| was.factors().ne(it.factors())))
    {
        let counts =
            model.factors().map(|(field, by)| format!("{} {by:.2}", name_of(field, &settings.columns)));
        let counts: Vec<String> = counts.collect();
        changes.push(match &counts[..] {
            [] => "weights are as learned".to_owned(),
            counts => format!("weights become {} times those learned", counts.join(", ")),
        });
    }
    let [same, apart] = refit.answers;
    let decided = format!("same {same}, not the same {apart}");
    let expected = refit.expected.map(|[now, then]| {
        format!(" F1 of the pairs near the limit: {now:.2} expected as it was, {then:.2} as it is.")
    });
    match &changes[..] {
        [] if refit.is_little => notice(
            format!("table {name} keeps its limits: too little is decided ({decided})"),
            "",
            format!("SELECT * FROM dedup_review({}); has the pairs to ask about.", quote_literal(name)),
        ),
        [] => notice(
            format!("table {name} keeps its limits: what is decided ({decided}) asks for no others"),
            "",
            "",
        ),
        changes => notice(
            format!("dedup_setup chose limits of {name} anew: {}", changes.join(", ")),
            format!("Decided: {decided}.{}", expected.unwrap_or_default()),
            "",
        ),
    }
    refit.model
}
