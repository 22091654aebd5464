//! The index of n-grams, or of the keys of records, that `dedup_setup` makes, found by what it is of.

use super::generated::{columns_in, is_of_extension, is_ours};
use crate::pg::{node, nth, quote_literal};
use pgrx::{FromDatum, PgList, PgRelation, pg_sys};

/// What rows are found by.
#[derive(Clone, PartialEq)]
pub(crate) enum Searched {
    /// The n-grams of their texts, of so many characters.
    Grams(usize),
    /// The keys of records, as `record_keys` has them.
    Keys(String),
    /// The same, of whatever kinds the columns are.
    AnyKeys,
}

impl Searched {
    /// The call of SQL for texts, which are a column or an array.
    pub(crate) fn call(&self, tools: &str, texts: &str) -> String {
        match self {
            Searched::Grams(n) => format!("{tools}.ngrams({texts}, {n})"),
            Searched::AnyKeys => unreachable!("columns are of some kinds"),
            Searched::Keys(letters) => {
                format!("{tools}.record_keys({texts}, {}::pg_catalog.text)", quote_literal(letters))
            }
        }
    }

    /// Whether it is the one of a call.
    ///
    /// # Safety
    /// `call` is a call of a function.
    unsafe fn is_of(&self, call: &pg_sys::FuncExpr) -> bool {
        // SAFETY: the caller's promise, and what the tag and the function say.
        unsafe {
            let second = nth(call.args, 1).and_then(|second| node::<pg_sys::Const>(second));
            let Some(value) = second else { return false };
            match self {
                Searched::Grams(n) => {
                    is_ours(call.funcid, "ngrams") && value.constvalue.value() as i32 as usize == *n
                }
                Searched::AnyKeys => is_ours(call.funcid, "record_keys"),
                Searched::Keys(letters) => {
                    is_ours(call.funcid, "record_keys")
                        && String::from_datum(value.constvalue, value.constisnull).as_ref() == Some(letters)
                }
            }
        }
    }
}

/// An index that finds rows so, of these columns.
pub(crate) fn search_index(table: &PgRelation, columns: &[&str], by: &Searched) -> Option<pg_sys::Oid> {
    // SAFETY: the table is open; its indexes are opened and closed here; nodes are what their tags say.
    unsafe {
        let indexes = PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(table.as_ptr()));
        indexes.iter_oid().find(|&index| {
            let index = PgRelation::with_lock(index, pg_sys::AccessShareLock as i32);
            let form = &*(*index.as_ptr()).rd_index;
            let is_ours_and_whole = (*(*index.as_ptr()).rd_rel).relam == pg_sys::GIN_AM_OID
                && form.indisvalid
                && form.indisready
                && form.indnatts == 1
                && is_of_extension(pg_sys::OperatorFamilyRelationId, *(*index.as_ptr()).rd_opfamily)
                && pg_sys::RelationGetIndexPredicate(index.as_ptr()).is_null();
            let of = || {
                let expression = nth(pg_sys::RelationGetIndexExpressions(index.as_ptr()), 0)?;
                let call = node::<pg_sys::FuncExpr>(expression)?;
                if by.is_of(call) { columns_in(table, nth(call.args, 0)?) } else { None }
            };
            is_ours_and_whole && of().is_some_and(|found| found == columns)
        })
    }
}
