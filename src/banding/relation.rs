//! An open index.

use crate::pg::string;
use pgrx::pg_sys;
use std::ops::Deref;

/// An open index, of any access method.
#[derive(Clone, Copy)]
pub(crate) struct IndexRelation(pg_sys::Relation);

impl IndexRelation {
    /// # Safety
    /// The relation is an open index, and stays open and locked for as long as the value and what is made of it live.
    pub(crate) unsafe fn new(index: pg_sys::Relation) -> IndexRelation {
        IndexRelation(index)
    }

    pub(super) fn as_ptr(self) -> pg_sys::Relation {
        self.0
    }

    pub(super) fn name(self) -> String {
        // SAFETY: a name is a terminated string.
        unsafe { string((*self.rd_rel).relname.data.as_ptr()) }
    }
}

impl Deref for IndexRelation {
    type Target = pg_sys::RelationData;

    fn deref(&self) -> &pg_sys::RelationData {
        // SAFETY: it is open (see `new`).
        unsafe { &*self.0 }
    }
}
