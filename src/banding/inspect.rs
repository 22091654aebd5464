//! `banding_stats` and `banding_check`: statistics of an index, and whether it is sound.
//!
//! Locking: the table and the index are opened with AccessShareLock, so reads and writes go on;
//! pages as the core's check says, one at a time, shared. Both work on a standby.

use super::heap::{Rows, info_of};
use super::pages::RelationPages;
use super::scope::parts;
use super::{IndexRelation, checked, is_banding_relation};
use crate::pg::{
    Output, has_row_security, is_read_committed, may_read, raise_denied, raise_kind, raise_unsupported,
    raise_with_detail, string, user, version,
};
use dedup_core::banding::{Finding, Index, Tid, Tree, check};
use dedup_core::interrupt;
use pgrx::prelude::*;
use pgrx::{JsonB, PgRelation};
use serde_json::{Value, json};

/// Findings that an error lists at most; there may be one per page.
const LISTED: usize = 10;

/// A banding index and its table, open for reading.
struct OpenIndex {
    table: PgRelation,
    /// Closed with this.
    _kept: PgRelation,
    index: IndexRelation,
}

impl OpenIndex {
    fn open(oid: pg_sys::Oid, right: Right) -> OpenIndex {
        let lock = pg_sys::AccessShareLock as i32;
        // SAFETY: opens raise errors of their own; what is no index has no access method, and is refused. The table comes
        // first, as everywhere in PostgreSQL.
        unsafe {
            let table = pg_sys::IndexGetRelation(oid, true);
            if table == pg_sys::InvalidOid {
                not_banding(oid)
            }
            if pg_sys::get_rel_relkind(oid) as u8 == pg_sys::RELKIND_PARTITIONED_INDEX {
                raise_kind(
                    "a partitioned index holds no entries itself",
                    "Give the index of each partition: … FROM pg_partition_tree('name of the index') WHERE isleaf.",
                )
            }
            match right {
                Right::Read if !may_read(table) => raise_denied(
                    "permission denied to look into the index",
                    "Its table must be readable: GRANT SELECT.",
                ),
                Right::Own if !version::owns_relation(oid, user()) => pg_sys::aclcheck_error(
                    pg_sys::AclResult::ACLCHECK_NOT_OWNER,
                    pg_sys::ObjectType::OBJECT_INDEX,
                    pg_sys::get_rel_name(oid),
                ),
                _ => {}
            }
            let (table, kept) = (PgRelation::with_lock(table, lock), PgRelation::with_lock(oid, lock));
            let index = IndexRelation::new(kept.as_ptr());
            // Before the lock, the index may have been dropped and its number given to another.
            if !is_banding_relation(index) || (*index.rd_index).indrelid != table.oid() {
                not_banding(oid)
            }
            let elsewhere = (*index.rd_rel).relpersistence == pg_sys::RELPERSISTENCE_TEMP as std::ffi::c_char
                && !pg_sys::isTempNamespace((*index.rd_rel).relnamespace);
            if elsewhere {
                raise_unsupported("cannot look into a temporary index of another session", "")
            }
            if !(*index.rd_index).indisvalid {
                raise_unsupported(
                    "cannot look into an index that is not valid",
                    "CREATE INDEX or REINDEX CONCURRENTLY is making it, or was broken off: then DROP INDEX.",
                )
            }
            OpenIndex { table, _kept: kept, index }
        }
    }
}

/// The privilege that the caller needs.
enum Right {
    Read,
    /// To act as its owner: to rebuild the index, for instance.
    Own,
}

fn not_banding(oid: pg_sys::Oid) -> ! {
    // SAFETY: a look-up in the catalogue; null if there is no such relation.
    let name = match unsafe { string(pg_sys::get_rel_name(oid)) } {
        none if none.is_empty() => format!("relation with OID {}", oid.to_u32()),
        name => format!("\"{name}\""),
    };
    raise_kind(
        format!("{name} is not a banding index"),
        "Give the name of an index made by CREATE INDEX … USING banding.",
    )
}

/// Checks a banding index; with `heapallindexed`, also that every row of the table that the current snapshot
/// sees is in all trees. Raises an error if anything is wrong.
///
/// Only for roles that may act as the owner: with `heapallindexed`, functions of the index run with the owner's rights, and
/// what they do may depend on the session that calls them; without, a walk through all pages holds up writers.
#[pg_extern(sql = "")]
fn banding_check(index: pg_sys::Oid, heapallindexed: bool) {
    let open = OpenIndex::open(index, Right::Own);
    // SAFETY: the index and the table are open.
    unsafe {
        // Taken before the index is read: what it sees was inserted before.
        let snapshot = pg_sys::RegisterSnapshot(pg_sys::GetTransactionSnapshot());
        // An index lacks versions of rows that were updated, unlike their new ones, before it was built: older snapshots see them.
        // A concurrent build waits for those of its own server, and of a standby it knows none.
        let description = &*(*open.index.rd_indextuple).t_data;
        let is_later = ((*open.index.rd_index).indcheckxmin || pg_sys::RecoveryInProgress())
            && !pg_sys::TransactionIdPrecedes(
                pg_sys::submodules::htup::HeapTupleHeaderGetXmin(description),
                (*snapshot).xmin,
            );
        if heapallindexed && is_later && !is_read_committed() {
            raise_with_detail(
                PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
                "the index cannot be checked by the snapshot of this transaction",
                "Rows of the table were updated or deleted between that and the making of the index.",
                "Begin a new transaction.",
            )
        }
        let pages = RelationPages::new(open.index);
        report(open.index, checked(open.index, check(&pages, false, |_, _, _| ())));
        if heapallindexed {
            let mut findings: Vec<Finding> = Vec::new();
            let index = checked(open.index, Index::open(&pages));
            scan_table(&open, snapshot, |scope, fingerprint, tid| {
                if let Some(tree) = checked(open.index, index.missing_from(&pages, scope, fingerprint, tid)) {
                    let key = fingerprint.map_or("NULL".to_owned(), |it| (it as i64).to_string());
                    let row = format!("row {tid} of the table, fingerprint {key}");
                    let what = format!("the entry of {row}, is missing");
                    findings.push(Finding { block: 0, tree: Some(tree), what });
                }
            });
            report(open.index, findings);
        }
        pg_sys::UnregisterSnapshot(snapshot);
    }
}

/// Raises an error that lists the findings, if there are any.
fn report(index: IndexRelation, findings: Vec<Finding>) {
    let Some((first, rest)) = findings.split_first() else { return };
    let name = index.name();
    let sentence = |finding: &Finding| match finding.tree {
        Some(tree) => format!("block {} ({tree}): {}", finding.block, finding.what),
        None => format!("block {}: {}", finding.block, finding.what),
    };
    let mut detail: Vec<String> = rest.iter().take(LISTED).map(sentence).collect();
    if rest.len() > LISTED {
        detail.push(format!("and {} more", rest.len() - LISTED));
    }
    raise_with_detail(
        PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
        format!("index \"{name}\" is corrupted at {}", sentence(first)),
        detail.join("\n"),
        format!("REINDEX INDEX {name}; then look for the cause: storage, memory, or a bug in pg_dedup."),
    )
}

/// Reads the table as an index build does (expressions, predicate, HOT chains) but through `snapshot`.
///
/// # Safety
/// Table and index are open, the snapshot is registered.
unsafe fn scan_table(
    open: &OpenIndex,
    snapshot: pg_sys::Snapshot,
    mut take: impl FnMut(u32, Option<u64>, Tid),
) {
    // SAFETY: the caller's promise; the scan may raise an error, hence the guard around the call through a pointer.
    unsafe {
        // Functions of the index run as the table's owner, whoever checks; they
        // find nothing of the caller's by name, and their settings end with the scan.
        let (mut user, mut context) = (pg_sys::InvalidOid, 0);
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        let owner = (*open.table.rd_rel).relowner;
        pg_sys::SetUserIdAndSecContext(owner, context | pg_sys::SECURITY_RESTRICTED_OPERATION as i32);
        let settings = pg_sys::NewGUCNestLevel();
        version::restrict_search_path();

        let scan =
            pg_sys::table_beginscan_strat(open.table.as_ptr(), snapshot, 0, std::ptr::null_mut(), true, true);
        let rows = Rows { heap: open.table.as_ptr(), index: open.index, info: info_of(open.index) };
        rows.each(scan, false, |scope, fingerprint, tid| {
            interrupt::check();
            take(scope, fingerprint, tid);
        });
        pg_sys::AtEOXact_GUC(false, settings);
        pg_sys::SetUserIdAndSecContext(user, context);
    }
}

#[pg_extern(sql = "")]
fn banding_stats(index: pg_sys::Oid, fcinfo: pg_sys::FunctionCallInfo) {
    let open = OpenIndex::open(index, Right::Read);
    let pages = RelationPages::new(open.index);
    let index = checked(open.index, Index::open(&pages));
    let mut stats = checked(open.index, index.stats(&pages));
    // A row has an entry for each part, NULL has one.
    let entries = stats.entries[Tree::main(0).number()];
    stats.rows -= entries - entries / parts(open.index) as u64;
    let (options, table) = (index.options(), open.table.oid());
    let page = f64::from(pg_sys::BLCKSZ);
    let total = |counts: &[u32]| counts.iter().map(|&n| i64::from(n)).sum::<i64>();
    let second_level = Tree::all().filter(|tree| !tree.is_main());
    let mut hottest: Vec<(u64, Value)> = Vec::new();
    for (block, buckets) in stats.largest.iter().enumerate() {
        let entry = |&(bucket, rows): &(u16, u64)| {
            (rows, json!({"block": block + 1, "bucket": format!("{bucket:#06x}"), "rows": rows}))
        };
        hottest.extend(buckets.iter().map(entry));
    }
    hottest.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
    let hottest: Value = hottest.into_iter().take(10).map(|(_, bucket)| bucket).collect();
    // They are bits of fingerprints, of which some may be hidden.
    let hottest = (!has_row_security(table)).then_some(JsonB(hottest));
    let levels = stats.levels.iter().copied().max().map_or(0, i32::from);
    let per_row = (stats.rows > 0).then(|| f64::from(stats.pages) * page / stats.rows as f64);
    let second_level: i64 = second_level.map(|tree| stats.entries[tree.number()] as i64).sum();
    let row = [
        (stats.rows as i64).into_datum(),
        i64::from(stats.pages).into_datum(),
        per_row.into_datum(),
        total(&stats.leaves).into_datum(),
        total(&stats.inner).into_datum(),
        i64::from(stats.unused).into_datum(),
        levels.into_datum(),
        stats.leaf_fill.into_datum(),
        i32::from(options.fillfactor).into_datum(),
        options.mu.into_datum(),
        stats.hot.iter().map(|&n| n as i32).sum::<i32>().into_datum(),
        second_level.into_datum(),
        hottest.into_datum(),
    ];
    // SAFETY: the columns are declared so.
    unsafe { Output::begin(fcinfo).add(row) };
}
