//! The access method `banding`, one file for each callback or phase. The algorithms and the
//! arguments for their correctness are in `dedup_core::banding`.
//!
//! Locking and WAL: everything goes through `pages`, whose guards are the
//! only locks. Nothing is kept locked or pinned between two calls.

mod ball;
mod bits;
mod build;
mod build_workers;
mod cost;
mod dead;
mod expression;
mod handler;
mod heap;
mod insert;
mod inspect;
mod options;
mod pages;
mod planner;
mod relation;
mod scan;
mod scope;
mod selectivity;
mod vacuum;
mod validate;
mod wal;
mod whole;

pub(crate) use ball::Ball;
pub(crate) use bits::{ball_of_bits, bits_of, parts_of_column, raise_lengths};
pub(crate) use cost::is_banding_relation;
pub(crate) use relation::IndexRelation;
pub(crate) use scope::{scope_columns, type_of};

use dedup_core::banding::{Index, Result, Tid};
use pages::{RelationPages, raise_index_error};
use pgrx::pg_sys;

/// Strategies of an operator class: `fp <@ hamming_ball`, or a bit string in a ball of them.
pub(crate) const WITHIN: u16 = 1;
/// `ball =~ ball`: each has the other's center.
const NEAR: u16 = 2;
/// `ORDER BY fp <~> q`, of bit strings `<->`.
pub(crate) const DISTANCE: u16 = 3;
/// `column = value`, of the scope.
pub(crate) const EQUAL: u16 = 4;

/// The value of `result`, or its error as PostgreSQL's.
fn checked<T>(index: IndexRelation, result: Result<T>) -> T {
    result.unwrap_or_else(|error| raise_index_error(index, error))
}

/// What the metapage says, kept in the relation cache: roots never move while
/// the file lives, and a new file (REINDEX, TRUNCATE) invalidates the cache.
///
/// # Safety
/// The index is of this access method.
unsafe fn open_index(relation: IndexRelation, pages: &RelationPages) -> Index {
    // SAFETY: `rd_amcache` is this access method's to use: null, or what was
    // put there below, in memory that is freed with it. `Index` is plain data.
    unsafe {
        let cached = relation.rd_amcache.cast::<Index>();
        if !cached.is_null() {
            return *cached;
        }
        let index = checked(relation, Index::open(pages));
        let kept = pg_sys::MemoryContextAlloc(relation.rd_indexcxt, size_of::<Index>()).cast::<Index>();
        kept.write(index);
        (*relation.as_ptr()).rd_amcache = kept.cast();
        index
    }
}

/// Drops what `open_index` has cached: a table that is truncated in the transaction that made it
/// has its index built anew in the same file.
fn forget_index(relation: IndexRelation) {
    // SAFETY: as in `open_index`.
    unsafe {
        if !relation.rd_amcache.is_null() {
            pg_sys::pfree(relation.rd_amcache);
            (*relation.as_ptr()).rd_amcache = std::ptr::null_mut();
        }
    }
}

fn tid_of(pointer: pg_sys::ItemPointerData) -> Tid {
    let block = u32::from(pointer.ip_blkid.bi_hi) << 16 | u32::from(pointer.ip_blkid.bi_lo);
    Tid::new(block, pointer.ip_posid)
}

fn pointer_of(tid: Tid) -> pg_sys::ItemPointerData {
    let block = tid.block();
    pg_sys::ItemPointerData {
        ip_blkid: pg_sys::BlockIdData { bi_hi: (block >> 16) as u16, bi_lo: block as u16 },
        ip_posid: tid.offset(),
    }
}
