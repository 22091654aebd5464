//! The index of n-grams that `dedup_setup` makes, found by what it is of.

use super::generated::{columns_in, is_of_extension, is_ours};
use pgrx::{PgList, PgRelation, is_a, pg_sys};

/// An index that finds similar texts by their `n`-grams (`ngrams` with `ngram_ops`), of these columns.
pub(crate) fn ngram_index(table: &PgRelation, columns: &[&str], n: usize) -> Option<pg_sys::Oid> {
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
            let expressions = PgList::<pg_sys::Node>::from_pg(match is_ours_and_whole {
                true => pg_sys::RelationGetIndexExpressions(index.as_ptr()),
                false => std::ptr::null_mut(),
            });
            let of = || {
                let node = expressions.get_ptr(0).filter(|&node| is_a(node, pg_sys::NodeTag::T_FuncExpr))?;
                let call = &*node.cast::<pg_sys::FuncExpr>();
                let arguments = PgList::<pg_sys::Node>::from_pg(call.args);
                let length = arguments.get_ptr(1).filter(|&it| is_a(it, pg_sys::NodeTag::T_Const))?;
                let length = (*length.cast::<pg_sys::Const>()).constvalue.value() as i32;
                let is_right = is_ours(call.funcid, c"ngrams") && length as usize == n;
                if is_right { columns_in(table, arguments.get_ptr(0)?) } else { None }
            };
            of().is_some_and(|found| found == columns)
        })
    }
}
