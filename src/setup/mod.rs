//! A table's settings: given once, taken by everything that works on the table. What is promised of them is in `docs/find.md`.

mod find;
mod hashes;
mod plan;
mod refit;
mod texts;

use crate::corpus::check_shown;
use crate::fingerprint::{bag_of_values, explain_by_column};
use crate::pg::{
    Argument, Json, Pointer, Record, as_owner, execute, exists, hold_schemas, raise_mismatch, raise_state,
    required, schema, trigger::data, with_latest_snapshot,
};
use crate::table::{
    ID, KEEP, Settings, Table, Written, hash_column, name_beside, read_options, refuse_option,
};
use dedup_core::dedup::{Method, SETUP};
use dedup_core::features::FieldsRecipe;
use dedup_core::records::Model;
use pgrx::prelude::*;
use plan::{Change, Plan};
use serde_json::Value;
use std::ffi::c_int;
use std::sync::Arc;

#[pg_extern(sql = "")]
fn dedup_setup(
    tbl: Option<pg_sys::Oid>,
    options: Option<Json>,
    dry_run: Option<bool>,
) -> SetOfIterator<'static, String> {
    let table = required(tbl, "the table", "Name a table: 'ticket'.");
    let dry_run = dry_run.unwrap_or(false);
    if !dry_run {
        Table::to_set_up(table);
        // Two calls for one table go one after the other; readers and writers go on.
        // SAFETY: any oid can be locked; the end of the transaction unlocks it.
        unsafe { pg_sys::LockRelationOid(table, pg_sys::ShareUpdateExclusiveLock as i32) };
        hold_schemas(table);
    }
    // The statement may have begun before the other call's end.
    let (mut statements, settings) = with_latest_snapshot(|| {
        let table = Table::to_set_up(table);
        let mut asked = read_options(SETUP, options);
        if let Some(alone) = ["drop", "refit"].into_iter().find(|it| asked.has(it) && asked.map().len() > 1) {
            refuse_option(alone, format!("{alone} must be the only option"))
        }
        let model = asked.take("refit").and_then(|_| refit::refit(&table, &mut asked));
        if asked.has("drop") {
            return (Vec::new(), Some(Change::drop(&table)));
        }
        let steps = plan(&table, asked, model).steps();
        if steps.0.is_empty() && steps.1.is_none() {
            notice!("table {} has these settings already: nothing to do", table.name);
        }
        steps
    });
    if !dry_run {
        for statement in &statements {
            execute(statement, &[]);
        }
        as_owner("dedup_settings", |schema| {
            let all = format!("{schema}.dedup_settings");
            forget_dropped_tables(&all);
            if let Some(Change { verb, how, .. }) = &settings {
                execute(&format!("{verb} {all} {how}"), &[Argument::of(table)]);
            }
        });
    }
    statements.extend(settings.map(|settings| settings.says));
    SetOfIterator::new(statements)
}

/// Adds what is asked for now to what was asked for before: a null takes something back.
fn plan(table: &Table, mut asked: Written, model: Option<Arc<Model>>) -> Plan<'_> {
    let before = Settings::found(table.oid);
    if let Some(before) = &before {
        let kept = [("id", ID), ("keep", KEEP)];
        let kept = kept.into_iter().filter(|(key, _)| !asked.has(key) && !asked.is_null(key));
        kept.for_each(|(_, place)| before.check_name(place, true));
    }
    if let Some(decisions) = asked.take("decisions") {
        let name = name_beside(table, decisions.as_str(), "decisions");
        // Two long names, cut off, may be one.
        let another = format!(
            "SELECT FROM {}.dedup_settings AS s LEFT JOIN pg_catalog.pg_class AS c \
                 ON c.oid OPERATOR(pg_catalog.=) s.tbl::pg_catalog.oid \
             WHERE s.tbl::pg_catalog.oid OPERATOR(pg_catalog.<>) $1 AND s.options OPERATOR(pg_catalog.->>) 'decisions' OPERATOR(pg_catalog.=) $2 \
               AND (c.oid IS NOT NULL OR pg_catalog.to_regclass($2) IS NOT NULL)",
            schema()
        );
        if decisions.is_boolean() && exists(&another, &[Argument::of(table.oid), Argument::of(&*name)]) {
            refuse_option(
                "decisions",
                format!("{name} has what is decided of another table: name one for this"),
            )
        }
        asked.add("decisions", name.into());
    }
    let by_hash = asked.is_by(Method::Hash)
        || match &before {
            Some(before) => before.method == Method::Hash && !asked.is_null("fp"),
            None => hash_column(table, &asked).is_some(),
        };
    if by_hash {
        return Plan::of_hashes(table, before, asked);
    }
    Plan::of_texts(table, before, asked, model)
}

/// Settings of tables that are no more; another session may be at it, and is not waited for.
fn forget_dropped_tables(settings: &str) {
    let delete = format!(
        "DELETE FROM {settings} WHERE ctid OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT s.ctid FROM {settings} AS s \
         WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class c \
             WHERE c.oid OPERATOR(pg_catalog.=) s.tbl::pg_catalog.oid) FOR UPDATE SKIP LOCKED))"
    );
    execute(&delete, &[]);
}

/// Reads the name of the table that settings are of.
#[pg_extern(sql = "")]
fn _dedup_table_in(name: &std::ffi::CStr) -> Pointer {
    // Not as SQL: a restore may be under way, and names are read with the rights of whoever restores.
    let name = name.to_string_lossy();
    // SAFETY: a function of one text that may answer NULL.
    let table =
        unsafe { pgrx::direct_function_call_as_datum(pg_sys::to_regclass, &[name.as_ref().into_datum()]) };
    Pointer(table.unwrap_or_else(|| {
        warning!("there is no table {name}: its settings are left out");
        pg_sys::InvalidOid.into()
    }))
}

/// Tells all sessions that the settings of a table have changed.
#[pg_extern(sql = "")]
fn _dedup_settings_changed(fcinfo: pg_sys::FunctionCallInfo) -> Pointer {
    // SAFETY: the call is running; the trigger is one for each row, of a table whose first column is a regclass.
    unsafe {
        let data = &*data(fcinfo, "_dedup_settings_changed", "It is the trigger of dedup_settings.");
        let first = std::num::NonZeroUsize::MIN;
        let table = pgrx::htup::heap_getattr_raw(data.tg_trigtuple, first, (*data.tg_relation).rd_att);
        let cache = pg_sys::SysCacheIdentifier::RELOID as c_int;
        if let Some(table) = table
            && pg_sys::SearchSysCacheExists(cache, table, 0.into(), 0.into(), 0.into())
        {
            pg_sys::CacheInvalidateRelcacheByRelid(pg_sys::Oid::from(table.value() as u32));
        }
    }
    Pointer(pg_sys::Datum::from(0usize))
}

/// `simhash_explain` of two rows of a table with settings.
#[pg_extern(sql = "")]
fn simhash_explain_rows(a: Record, b: Record, fcinfo: pg_sys::FunctionCallInfo) {
    let settings = Settings::of_row(&a);
    if b.table() != Some(settings.table) {
        raise_mismatch(
            "the rows are not of one table",
            "Give two rows of one table with settings, or a recipe: simhash_explain(a, b, '{\"title\": 2, \"body\": null}').",
        )
    }
    check_shown::<FieldsRecipe>(&Value::Array(settings.recipes.clone()));
    if settings.method == Method::Hash {
        raise_state(
            format!("table {} has hashes, which are made of nothing", settings.table_name()),
            "dedup_explain of pairs of its rows says how far they are apart.",
        )
    }
    let recipe = settings.recipe();
    let bag = |row: &Record| bag_of_values(&settings.values_of(row), &recipe);
    explain_by_column(&bag(&a), &bag(&b), &recipe, Some(&settings.columns), fcinfo);
}
