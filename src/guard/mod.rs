//! `near_dup_guard`: a trigger that keeps near-duplicates out of a table, or marks or logs them.
//! `docs/prevent.md` says what it guarantees.

mod key;
mod lock_table;
mod options;
mod print;
mod publish;
mod scope;
mod search;
mod secret;
mod texts;
mod wait;

use crate::pg::{Pointer, Row, raise, raise_protocol, raise_with_detail, trigger::Call};
use crate::table::{is_put_back, refuse_option};
use dedup_core::dedup::Alike;
use key::{key_of, log_pair};
use options::{Action, Options};
use pgrx::prelude::*;
use print::Print;
use publish::publish;
use scope::Scope;
use search::{Conflict, Search};
use std::cell::OnceCell;
use texts::TextSearch;

#[pg_extern(sql = "")]
fn near_dup_guard(fcinfo: pg_sys::FunctionCallInfo) -> Pointer {
    // SAFETY: the call is running.
    let Some(mut call) = (unsafe { Call::new(fcinfo, "near_dup_guard") }) else {
        wrong_event("BEFORE or AFTER")
    };
    let options = Options::of(call.arguments(), call.table());
    let before = matches!(options.action, Action::Skip | Action::Flag(_));
    if before != call.is_before {
        wrong_event(if before { "BEFORE" } else { "AFTER" })
    }
    if let Action::Flag(column) = &options.action {
        call.settable(column);
    }
    let texts = options.verify.iter().flat_map(|verify| &verify.columns);
    let columns = [&options.column].into_iter().chain(&options.scope).chain(texts).map(String::as_str);
    call.refuse_virtual(columns.clone());
    call.compute(columns);
    Pointer(guard(&call, &options))
}

fn wrong_event(timing: &str) -> ! {
    raise_protocol(
        format!("near_dup_guard must be fired {timing} INSERT or UPDATE, for each row"),
        "CREATE TRIGGER … AFTER INSERT OR UPDATE ON … FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp'): AFTER \
         for action=reject and action=log, BEFORE for action=skip and action=flag.",
    )
}

fn guard(call: &Call, options: &Options) -> pg_sys::Datum {
    if is_put_back(|| call.table_of_trigger()) {
        return call.keep();
    }
    // Its rows are stored where no search of this server sees them.
    search::refuse_foreign(call, call.table());
    let (new, old, of) = call.new_and_old_fingerprint(&options.column);
    // SAFETY: the values are those of the rows, which outlive the call.
    let [new, old] = [new, old].map(|value| value.map(|value| unsafe { Print::of((value, of)) }));
    let text = |row: &Row| options.verify.as_ref().and_then(|verify| verify.text(row));
    let new_text = text(&call.row());
    let scope = Scope::of(call, &options.scope);
    if let Some(old_row) = call.old_row() {
        // An update that changes neither fingerprint nor compared text needs no search, unless this transaction has stored the
        // old row itself and its own search is still to come. A row that moves to another partition is checked again there; if
        // it were skipped only there, it would be deleted here and lost.
        let same_scope = || scope.as_ref().is_none_or(|scope| scope.holds(&old_row));
        let same = old == new && text(&old_row) == new_text && same_scope();
        let lost_if_skipped = || matches!(options.action, Action::Skip) && call.leaves_partition();
        if same && !call.old_is_own() && !lost_if_skipped() {
            return call.keep();
        }
    }
    let texts = options.verify.as_ref().filter(|_| options.by_text);
    let wanted =
        texts.zip(new_text.as_deref()).map(|(it, text)| TextSearch::of(text, &it.columns, &it.alike));
    let has_words =
        options.verify.as_ref().is_none_or(|it| new_text.as_deref().is_some_and(|text| it.has_words(text)));
    let fingerprint = new.or(texts.map(|_| Print::of_word(0))).filter(|_| has_words);
    let decided = OnceCell::new();
    let found = fingerprint.zip(scope.as_ref()).and_then(|(fingerprint, scope)| {
        let search = Search {
            texts: wanted.as_ref(),
            scope,
            call,
            options,
            fingerprint,
            verify: &|row| {
                let similarity = match &options.verify {
                    Some(verify) => verify.of_texts(new_text.as_deref(), text(row).as_deref())?,
                    None => 1.0,
                };
                let apart = options.decisions.as_ref().is_some_and(|it| it.are_apart(call, row, &decided));
                (!apart).then_some(similarity)
            },
        };
        find(&search)
    });
    match (&options.action, found) {
        (Action::Flag(column), None) if call.is_update => call.keep_with(column, None),
        (_, None) => call.keep(),
        (Action::Reject, Some(conflict)) => reject(call, options, &conflict),
        (Action::Log(table), Some(conflict)) => {
            log_pair(call, table, &key_of(call), &conflict.key, conflict.distance);
            call.keep()
        }
        (Action::Skip | Action::Flag(_), Some(conflict)) if conflict.undecided => undecided(call),
        (Action::Skip, Some(_)) => call.leave_out(),
        (Action::Flag(column), Some(conflict)) if conflict.key.has(column) => {
            refuse_option("flag", format!("flag \"{column}\" is a column of the key"))
        }
        (Action::Flag(column), Some(conflict)) => {
            // The key of a row that the user may not read is not shown: the new row is then marked with its own.
            let key = if conflict.key.visible { conflict.key } else { key_of(call) };
            call.keep_with(column, Some(&key.value()))
        }
    }
}

/// Finds an earlier near-duplicate of the row. Of two transactions that store near-duplicates at the same time, at least one
/// finds the other's: an AFTER trigger searches when its row is in the index, a BEFORE trigger publishes its row before that.
fn find(search: &Search) -> Option<Conflict> {
    if !search.call.is_before {
        return search.is_still_there().then(|| search.find()).flatten();
    }
    // Within a scope, distances stay what they are.
    let published = search.fingerprint.word() ^ search.scope.bits();
    let distance = if search.texts.is_some() { 64 } else { search.options.distance };
    if !publish(search.call.table_of_trigger(), &search.options.column, published, distance) {
        undecided(search.call)
    }
    search.find()
}

fn reject(call: &Call, options: &Options, conflict: &Conflict) -> ! {
    let alike = options.verify.as_ref().filter(|_| options.by_text).map(|it| &it.alike);
    let (what, how) = match (alike, conflict.distance) {
        (Some(alike), _) if alike.records().is_some() => (
            format!("that are of one thing with a probability of {} or more", alike.similarity),
            "is of one thing with".to_owned(),
        ),
        (Some(Alike { similarity, .. }), _) => {
            (format!("of similarity {similarity} or more"), "has a text like that of".to_owned())
        }
        (None, bits) => {
            let verified = if options.verify.is_some() { " whose texts are alike" } else { "" };
            let how = match bits {
                0 => "has the same fingerprint as".to_owned(),
                bits => format!("is within distance {bits} of"),
            };
            (format!("within distance {}{verified}", options.distance), how)
        }
    };
    let keys = key_of(call).shown().zip(conflict.key.shown());
    let detail = keys.map_or_else(
        || "The existing row is not shown: reading all rows of the table is not permitted.".to_owned(),
        |(new, old)| format!("Key {new} {how} existing key {old}."),
    );
    raise_with_detail(
        PgSqlErrorCode::ERRCODE_EXCLUSION_VIOLATION,
        format!("new row of table \"{}\" is a near-duplicate", call.table_name()),
        detail,
        format!(
            "Trigger \"{}\" allows no two rows {what}. It can also skip, flag or log them.",
            call.trigger_name()
        ),
    )
}

fn undecided(call: &Call) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
        format!(
            "cannot tell whether a row of table \"{}\" is a near-duplicate: the transaction that decides waits for \
             this one",
            call.table_name()
        ),
        "Retry the transaction.",
    )
}
