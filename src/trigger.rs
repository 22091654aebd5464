//! `simhash_trigger`: keeps a fingerprint column up to date, in the manner of
//! `tsvector_update_trigger`.

use crate::fingerprint::{array_recipe, simhash_columns, simhash_row};
use crate::pg::{Row, cached_from_text, raise, with_new_row};
use pgrx::heap_tuple::PgHeapTuple;
use pgrx::prelude::*;
use pgrx::{AllocatedByRust, PgTriggerLevel, PgTriggerOperation, PgTriggerWhen};

const USAGE: &str = "Use simhash_trigger('fingerprint column', '{\"column\": weight, …}') or \
                     simhash_trigger('fingerprint column', '{weight, …}', 'column', …).";

/// Fills the column named by the first argument with the fingerprint of the
/// row that is inserted or updated. With two arguments the second is the JSON
/// of `simhash(record, jsonb)`; with more it is the array of
/// `simhash(text[], float8[])`, and the rest are the columns.
#[pg_trigger(sql = "")]
fn simhash_trigger<'a>(
    trigger: &'a PgTrigger<'a>,
) -> Result<Option<PgHeapTuple<'a, AllocatedByRust>>, Box<dyn std::error::Error>> {
    check_event(trigger);
    let arguments = trigger.extra_args()?;
    let [target, weights, columns @ ..] = arguments.as_slice() else {
        raise(
            PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
            format!("simhash_trigger takes at least two arguments, not {}", arguments.len()),
            USAGE,
        )
    };
    let fingerprint = with_new_row(trigger, |row| {
        check_target(row, target);
        if columns.is_empty() {
            simhash_row(row, &cached_from_text(weights))
        } else {
            simhash_columns(row, columns, &array_recipe(read_array(weights).into_iter(), columns.len()))
        }
    });
    let Some(new) = trigger.new() else { return Ok(None) };
    let mut new = new.into_owned();
    new.set_by_name(target, fingerprint.flatten())?;
    Ok(Some(new))
}

fn check_event(trigger: &PgTrigger) {
    let before = matches!(trigger.when(), Ok(PgTriggerWhen::Before));
    let of_row = matches!(trigger.level(), PgTriggerLevel::Row);
    let storing = matches!(trigger.op(), Ok(PgTriggerOperation::Insert | PgTriggerOperation::Update));
    if !(before && of_row && storing) {
        raise(
            PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
            "simhash_trigger must be fired before INSERT or UPDATE, for each row",
            "CREATE TRIGGER … BEFORE INSERT OR UPDATE ON … FOR EACH ROW EXECUTE FUNCTION simhash_trigger(…)",
        )
    }
}

fn check_target(row: &Row, target: &str) {
    match row.column(target) {
        Some((_, pg_sys::INT8OID)) => {}
        Some(_) => raise(
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            format!("column \"{target}\" is not of type bigint"),
            "A fingerprint is stored in a bigint column.",
        ),
        None => raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!("the row has no column \"{target}\""),
            format!("Its columns are: {}.", row.names()),
        ),
    }
}

/// The numbers of an array literal such as `{2,2,NULL}`.
fn read_array(literal: &str) -> Vec<Option<f64>> {
    let inner = literal.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let number = |item: &str| match item.trim() {
        null if null.eq_ignore_ascii_case("null") => Some(None),
        item => item.parse().ok().map(Some),
    };
    let numbers: Option<Vec<Option<f64>>> = inner.and_then(|items| items.split(',').map(number).collect());
    numbers.unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("malformed array of weights: \"{literal}\""),
            USAGE,
        )
    })
}
