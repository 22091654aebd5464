//! Inserting: one row into the four trees, a longer one once for each of its parts.
//!
//! Locking and WAL: as `dedup_core::banding`'s insert says: four leaves locked, in order, and one record for each part; after every
//! record the index is consistent. Of a row that was updated elsewhere, older versions are looked for before a leaf is split.

use super::dead::LinePointers;
use super::pages::RelationPages;
use super::scope::for_each_entry;
use super::{IndexRelation, checked, open_index, tid_of};
use pgrx::{pg_guard, pg_sys};

#[pg_guard]
#[expect(clippy::too_many_arguments, reason = "PostgreSQL's signature")]
pub(super) unsafe extern "C-unwind" fn aminsert(
    index: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    heap_tid: pg_sys::ItemPointer,
    heap: pg_sys::Relation,
    _check_unique: pg_sys::IndexUniqueCheck::Type,
    unchanged: bool,
    _info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: PostgreSQL gives a value and a flag for each column, and an index that it keeps open and locked during the call.
    unsafe {
        let index = IndexRelation::new(index);
        let pages = RelationPages::new(index);
        let banding = open_index(index, &pages);
        let row = tid_of(*heap_tid);
        let mut dead = if unchanged { LinePointers::of(heap) } else { None };
        for_each_entry(index, values, is_null, |scope, fingerprint| {
            let dead = dead.as_mut().map(|dead| dead as _);
            checked(index, banding.insert_version(&pages, scope, fingerprint, row, dead));
        });
    }
    false
}
