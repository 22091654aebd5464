//! The scope of a guard: columns whose values near-duplicates have in common.

use crate::banding::{EQUAL, IndexRelation, scope_columns};
use crate::pg::{Row, check_type, raise, trigger::Call};
use pgrx::{PgSqlErrorCode, PgTupleDesc, pg_sys};

/// The values of the new row, none of them NULL.
pub(super) struct Scope(Vec<Part>);

struct Part {
    column: String,
    value: pg_sys::Datum,
    collation: pg_sys::Oid,
    /// What the type cache has of equality and hash; it stays there.
    kind: *mut pg_sys::TypeCacheEntry,
}

impl Scope {
    /// The scope of the new row; `None` if a column is NULL, which equals nothing.
    pub(super) fn of(call: &Call, columns: &[String]) -> Option<Scope> {
        let part = |column: &String| {
            let (value, typoid, collation) = call.new_value(column);
            check_type(typoid, None);
            let wanted = pg_sys::TYPECACHE_EQ_OPR_FINFO | pg_sys::TYPECACHE_HASH_EXTENDED_PROC_FINFO;
            // SAFETY: a look-up; entries of the type cache are never freed.
            let (kind, has) = unsafe {
                let kind = pg_sys::lookup_type_cache(typoid, wanted as i32);
                (kind, [(*kind).eq_opr_finfo.fn_oid, (*kind).hash_extended_proc_finfo.fn_oid])
            };
            if has.contains(&pg_sys::InvalidOid) {
                raise(
                    PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION,
                    format!(
                        "column \"{column}\" cannot be a scope: its type has no equality that can be hashed"
                    ),
                    "",
                )
            }
            value.map(|value| Part { column: column.clone(), value, collation, kind })
        };
        // All of them are looked at, so that a wrong one is an error whatever the others hold.
        let parts: Vec<Option<Part>> = columns.iter().map(part).collect();
        parts.into_iter().collect::<Option<Vec<_>>>().map(Scope)
    }

    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|part| part.column.as_str())
    }

    pub(super) fn holds(&self, row: &Row) -> bool {
        self.0.iter().all(|part| {
            // SAFETY: the value is used while the row lives; a column has one type in all partitions.
            unsafe {
                row.value(&part.column).is_some_and(|(value, _)| {
                    let equal = &raw mut (*part.kind).eq_opr_finfo;
                    pg_sys::FunctionCall2Coll(equal, part.collation, value, part.value).value() as u8 != 0
                })
            }
        })
    }

    /// Bits that are the same for equal scopes, and far apart for others; 0 for none.
    pub(super) fn bits(&self) -> u64 {
        self.0.iter().fold(0, |all, part| {
            // SAFETY: the function is there, and takes a value and a seed.
            let hash = unsafe {
                let hash = &raw mut (*part.kind).hash_extended_proc_finfo;
                pg_sys::FunctionCall2Coll(hash, part.collation, part.value, pg_sys::Datum::from(1i64))
            };
            all.rotate_left(23).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ hash.value() as u64
        })
    }

    /// The conditions by which an index on these columns and a fingerprint is searched: `None` if it is on others, or tells
    /// values apart in another way.
    ///
    /// # Safety
    /// The index is of a table with these columns.
    pub(super) unsafe fn keys(
        &self,
        index: IndexRelation,
        columns: &PgTupleDesc,
    ) -> Option<Vec<pg_sys::ScanKeyData>> {
        // SAFETY: the caller's promise; arrays of an index have an element for each column.
        unsafe {
            let form = &*index.rd_index;
            let numbers = form.indkey.values.as_slice(form.indnkeyatts as usize);
            let count = scope_columns(index);
            if count != self.0.len() {
                return None;
            }
            let key = |at: usize| {
                let column = columns.get(usize::try_from(numbers[at]).ok()?.checked_sub(1)?)?;
                let part = self.0.iter().find(|part| column.name() == part.column)?;
                let (family, own) = (*index.rd_opfamily.add(at), *index.rd_opcintype.add(at));
                let equal = pg_sys::get_opfamily_member(family, own, own, EQUAL as i16);
                let same = equal == (*part.kind).eq_opr && *index.rd_indcollation.add(at) == part.collation;
                same.then(|| pg_sys::ScanKeyData {
                    sk_attno: at as i16 + 1,
                    sk_strategy: EQUAL,
                    sk_collation: part.collation,
                    sk_argument: part.value,
                    ..Default::default()
                })
            };
            let distinct = (0..count).all(|at| !numbers[..at].contains(&numbers[at]));
            (0..count).map(key).collect::<Option<Vec<_>>>().filter(|_| distinct)
        }
    }
}
