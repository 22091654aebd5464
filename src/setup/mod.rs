//! A table's settings: given once, taken by everything that works on the table.
//! What is promised of them is in `docs/find.md`.

mod choose;
mod clean;
mod explain;
mod find;
mod index;
mod options;
mod plan;
mod rows;
mod settings;
mod stored;
mod table;

use crate::pg::spi::{execute, scalar, with_latest_snapshot};
use crate::pg::{Json, raise};
pub(crate) use clean::groups_of;
pub(crate) use index::ngram_index;
use pgrx::prelude::*;
use plan::Plan;
pub(crate) use settings::{Settings, join_texts};
use table::Table;

/// Gives a table its settings; the statements that did it.
#[pg_extern(sql = "")]
fn dedup_setup(
    tbl: Option<pg_sys::Oid>,
    options: Option<Json>,
    dry_run: Option<bool>,
) -> SetOfIterator<'static, String> {
    let table = needed(tbl);
    let dry_run = dry_run.unwrap_or(false);
    if !dry_run {
        Table::to_set_up(table);
        // Two calls for one table go one after the other; readers and writers go on.
        // SAFETY: any oid can be locked; the end of the transaction unlocks it.
        unsafe { pg_sys::LockRelationOid(table, pg_sys::ShareUpdateExclusiveLock as i32) };
    }
    // The statement may have begun before the other call's end.
    let statements = with_latest_snapshot(|| {
        let table = Table::to_set_up(table);
        let statements = Plan::make(&table, options.map(|json| json.0)).statements();
        if statements.is_empty() {
            notice!("table {} has these settings already: nothing to do", table.name);
        }
        statements
    });
    if !dry_run {
        forget_dropped_tables();
        for statement in &statements {
            execute(statement, &[]);
        }
    }
    SetOfIterator::new(statements)
}

/// Settings of tables that are no more.
fn forget_dropped_tables() {
    let from = format!(
        "FROM {}.dedup_settings AS s WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_class c \
         WHERE c.oid OPERATOR(pg_catalog.=) s.tbl::pg_catalog.oid)",
        crate::pg::catalog::schema()
    );
    if scalar(&format!("SELECT 't'::pg_catalog.text {from} LIMIT 1"), &[]).is_some() {
        execute(&format!("DELETE {from}"), &[]);
    }
}

/// The table that is named.
fn needed(tbl: Option<pg_sys::Oid>) -> pg_sys::Oid {
    tbl.unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            "the table must not be null",
            "Name a table: 'ticket'.",
        )
    })
}

/// Tells all sessions that the settings of a table have changed.
#[pg_extern(sql = "")]
fn _dedup_settings_changed(fcinfo: pg_sys::FunctionCallInfo) -> crate::pg::Pointer {
    // SAFETY: the trigger's data is what the tag of the context says; the trigger is
    // one for each row, of a table whose first column is a regclass.
    unsafe {
        let node = (*fcinfo).context;
        if node.is_null() || !pgrx::is_a(node, pg_sys::NodeTag::T_TriggerData) {
            raise(
                PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
                "function \"_dedup_settings_changed\" was not called by trigger manager",
                "It is the trigger of dedup_settings.",
            )
        }
        let data = &*node.cast::<pg_sys::TriggerData>();
        let first = std::num::NonZeroUsize::MIN;
        let table = pgrx::htup::heap_getattr_raw(data.tg_trigtuple, first, (*data.tg_relation).rd_att);
        let cache = pg_sys::SysCacheIdentifier::RELOID as i32;
        if let Some(table) = table
            && pg_sys::SearchSysCacheExists(cache, table, 0.into(), 0.into(), 0.into())
        {
            pg_sys::CacheInvalidateRelcacheByRelid(pg_sys::Oid::from(table.value() as u32));
        }
    }
    crate::pg::Pointer(pg_sys::Datum::from(0usize))
}
