//! The search for texts or records like that of a new row, by an index of their n-grams or keys. PostgreSQL reads such an index into bitmaps
//! only, so the versions of rows that an entry leads to are gone through here.

use crate::pg::{version, work_memory};
use crate::similarity::{ENOUGH, query};
use crate::table::{Searched, search_index};
use dedup_core::dedup::Alike;
use dedup_core::interrupt;
use pgrx::{IntoDatum, PgRelation, pg_sys};

pub(super) struct TextSearch {
    /// What an index is of.
    pub(super) columns: Vec<String>,
    by: Searched,
    /// What the index is asked for.
    query: Vec<i64>,
}

impl TextSearch {
    pub(super) fn of(text: &str, columns: &[String], alike: &Alike) -> TextSearch {
        let (least, grams) = alike.query(text);
        let by = Searched::of(alike.statistics.as_deref(), alike.n);
        TextSearch { columns: columns.to_vec(), by, query: query(least, grams) }
    }

    /// What an index is of, in words.
    pub(super) fn what(&self) -> &'static str {
        match self.by {
            Searched::Grams(_) => "the n-grams",
            Searched::Keys(_) | Searched::AnyKeys => "the keys",
        }
    }

    /// The index to use, if there is one.
    ///
    /// # Safety
    /// The relation is open.
    pub(super) unsafe fn index_of(&self, relation: pg_sys::Relation) -> Option<pg_sys::Oid> {
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        // SAFETY: the caller's promise; it stays open.
        let relation = unsafe { PgRelation::from_pg(relation) };
        search_index(&relation, &columns, &self.by)
    }

    /// Puts every version of a row that may have such a text, dead ones included, into the slot, until `each` returns false.
    ///
    /// # Safety
    /// The relation is open, the index one of its n-grams, the slot one of it.
    pub(super) unsafe fn for_each_version(
        &self,
        relation: pg_sys::Relation,
        index: pg_sys::Oid,
        slot: *mut pg_sys::TupleTableSlot,
        mut each: impl FnMut() -> bool,
    ) {
        // SAFETY: the caller's promise; what is begun here is ended here.
        unsafe {
            let every_version = &raw mut pg_sys::SnapshotAnyData;
            let index = PgRelation::with_lock(index, pg_sys::AccessShareLock as i32);
            let mut key = pg_sys::ScanKeyData {
                sk_attno: 1,
                sk_strategy: ENOUGH,
                sk_argument: self.query.clone().into_datum().unwrap_or(pg_sys::Datum::from(0usize)),
                ..Default::default()
            };
            let bitmap = pg_sys::tbm_create(work_memory() as _, std::ptr::null_mut());
            let scan = version::index_beginscan_bitmap(index.as_ptr(), every_version, 1);
            pg_sys::index_rescan(scan, &mut key, 1, std::ptr::null_mut(), 0);
            pg_sys::index_getbitmap(scan, bitmap);
            pg_sys::index_endscan(scan);
            let fetch = version::since_19!(table_index_fetch_begin(relation); 0);
            let all: Vec<u16> = (1..=version::PLACES as u16).collect();
            version::for_each_page(bitmap, |page, places| {
                places.unwrap_or(&all).iter().all(|&place| {
                    interrupt::check();
                    let mut tid = pg_sys::ItemPointerData::default();
                    pgrx::itemptr::item_pointer_set_all(&mut tid, page, place);
                    let (mut again, mut dead) = (false, false);
                    let (it, again, dead) = (&raw mut tid, &raw mut again, &raw mut dead);
                    while pg_sys::table_index_fetch_tuple(fetch, it, every_version, slot, again, dead) {
                        if !each() {
                            return false;
                        }
                        if !*again {
                            break;
                        }
                    }
                    true
                })
            });
            pg_sys::table_index_fetch_end(fetch);
        }
    }
}
