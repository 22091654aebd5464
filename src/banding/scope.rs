//! The scope of a row: the columns of an index before the last one, which holds the fingerprint. In the index it is a hash
//! of their values, 32 bits; rows of another scope with the same hash are told apart by the executor, which checks every
//! row that is found again.

use super::IndexRelation;
use super::ball::{Ball, is_ball};
use super::bits::{parts_of, parts_of_column};
use crate::pg::{raise_definition, raise_state, raise_unsupported};
use dedup_core::banding::scope_of_part;
use pgrx::{FromDatum, pg_sys};

/// The support function: the hash of a value, with a seed, as hash operator classes have it.
const HASH: u16 = 1;
/// The seed; on disk.
const SEED: i64 = 0x5343_4f50;
/// What stands for the hash of NULL; on disk.
const NULL: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number of columns that make up the scope.
pub(crate) fn scope_columns(index: IndexRelation) -> usize {
    // SAFETY: an index has it.
    unsafe { ((*index.rd_index).indnkeyatts as usize).saturating_sub(1) }
}

/// Refuses an index whose columns are not scopes and, last, a fingerprint.
pub(super) fn check_columns(index: IndexRelation) {
    // SAFETY: the arrays have an element for each column.
    unsafe {
        let last = scope_columns(index);
        let (family, own) = (*index.rd_opfamily.add(last), *index.rd_opcintype.add(last));
        let has = |strategy: u16| {
            pg_sys::get_opfamily_member(family, own, own, strategy as i16) != pg_sys::InvalidOid
        };
        let usable = match own {
            pg_sys::INT8OID | pg_sys::BITOID => has(super::DISTANCE),
            other => has(super::NEAR) && is_ball(other),
        };
        if !usable {
            raise_definition(
                "the last column of a banding index must be a fingerprint",
                "It is of type bigint, bit or hamming_ball, with an operator class for fingerprints; columns before it are \
                 its scope: CREATE INDEX … USING banding (tenant_id, fp).",
            )
        }
        if parts_of_column(index.rd_id, last as i16 + 1).is_none() {
            raise_definition(
                "a banding index cannot hold bit strings of this length",
                "Its last column is of type bit(64), bit(128) or bit(256): USING banding ((hash::bit(256))).",
            )
        }
        for column in 0..last {
            if *index.rd_opcintype.add(column) == pg_sys::BOOLOID {
                raise_unsupported(
                    "a boolean cannot be the scope of a banding index",
                    "The planner of some versions writes flag = true as flag, which it looks up in no index of this \
                     kind. Take a number: CREATE INDEX … USING banding ((flag::integer), fp), and WHERE flag::integer = 1.",
                )
            }
            if pg_sys::index_getprocid(index.as_ptr(), column as i16 + 1, HASH) == pg_sys::InvalidOid {
                raise_definition(
                    format!("column {} of the index cannot be a scope", column + 1),
                    "Its operator class has no function 1, the hash of a value with a seed.",
                )
            }
        }
    }
}

/// Whether parallel workers may compute the hashes of scopes.
pub(super) fn is_parallel_safe(index: IndexRelation) -> bool {
    // SAFETY: look-ups in the catalogue.
    unsafe {
        (1..=scope_columns(index)).all(|column| {
            pg_sys::func_parallel(pg_sys::index_getprocid(index.as_ptr(), column as i16, HASH)) as u8
                == pg_sys::PROPARALLEL_SAFE
        })
    }
}

/// The type of an index's last column: `bigint`, `bit` or a ball's.
pub(crate) fn type_of(index: IndexRelation) -> pg_sys::Oid {
    // SAFETY: the array has an element for each column.
    unsafe { *index.rd_opcintype.add(scope_columns(index)) }
}

/// The parts of its fingerprints: more than one of `bit`.
pub(super) fn parts(index: IndexRelation) -> usize {
    match type_of(index) {
        pg_sys::BITOID => parts_of_column(index.rd_id, scope_columns(index) as i16 + 1).unwrap_or(1),
        _ => 1,
    }
}

/// As [`parts`], of an index that is searched or written. Raises 55000 if the column has lost the length that the index was made
/// for, which does not make it anew.
pub(super) fn parts_needed(index: IndexRelation) -> usize {
    if parts_of_column(index.rd_id, scope_columns(index) as i16 + 1).is_none() {
        raise_state(
            format!("index \"{}\" is of bit strings whose length its column no longer has", index.name()),
            "ALTER TABLE … ALTER COLUMN … TYPE bit(64), bit(128) or bit(256) makes it anew; else DROP INDEX.",
        )
    }
    parts(index)
}

/// Whether the entries of an index have scopes: of its columns, or of parts.
pub(super) fn is_scoped(index: IndexRelation) -> bool {
    scope_columns(index) > 0 || parts(index) > 1
}

/// Calls `take` for each entry of a row: with the hash of its scope, 0 in an index without one, and its fingerprint: of a
/// ball, the center, of `bit`, each part. NULL has one entry.
///
/// # Safety
/// There are a value and a flag for each of its columns.
pub(super) unsafe fn for_each_entry(
    index: IndexRelation,
    values: *const pg_sys::Datum,
    nulls: *const bool,
    mut take: impl FnMut(u32, Option<u64>),
) {
    // SAFETY: the caller's promise; a value of an index on balls is one.
    unsafe {
        let value = |at: usize| (!*nulls.add(at)).then(|| *values.add(at));
        let last = scope_columns(index);
        let scope = combine((0..last).map(|at| value(at).map(|value| hash(index, at, value))));
        match (type_of(index), value(last)) {
            (pg_sys::INT8OID, value) => take(scope, value.map(|value| value.value() as u64)),
            (pg_sys::BITOID, value) => {
                let parts = parts_needed(index);
                let Some(value) = value else { return take(scope_of_part(scope, 0, parts), None) };
                for (part, fingerprint) in parts_of(value, Some(parts)).into_iter().enumerate() {
                    take(scope_of_part(scope, part, parts), Some(fingerprint));
                }
            }
            (_, value) => {
                let ball = value.and_then(|value| Ball::from_datum(value, false));
                take(scope, ball.map(|ball| ball.center));
            }
        }
    }
}

/// The hash of a scope whose columns have these hashes, `None` for NULL.
pub(super) fn combine(hashes: impl Iterator<Item = Option<u64>>) -> u32 {
    let scope = hashes.fold(0u64, |all, one| all.rotate_left(23).wrapping_mul(NULL) ^ one.unwrap_or(NULL));
    (scope ^ scope >> 32) as u32
}

/// The hash of a value of a column, counted from 0.
///
/// # Safety
/// The value is of that column's type.
unsafe fn hash(index: IndexRelation, column: usize, value: pg_sys::Datum) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        let function = pg_sys::index_getprocinfo(index.as_ptr(), column as i16 + 1, HASH);
        let collation = *index.rd_indcollation.add(column);
        pg_sys::FunctionCall2Coll(function, collation, value, pg_sys::Datum::from(SEED)).value() as u64
    }
}

/// The hash of what a scan key wants a column to equal.
///
/// # Safety
/// The key is one of strategy [`EQUAL`](super::EQUAL) of a column of it, its argument not NULL.
pub(super) unsafe fn hash_of_key(index: IndexRelation, key: &pg_sys::ScanKeyData) -> u64 {
    // SAFETY: the caller's promise; a family with an operator for the type has its hash as well, or that is an error.
    unsafe {
        let column = key.sk_attno as usize - 1;
        let own = *index.rd_opcintype.add(column);
        if key.sk_subtype == pg_sys::InvalidOid || key.sk_subtype == own {
            return hash(index, column, key.sk_argument);
        }
        let family = *index.rd_opfamily.add(column);
        let function = pg_sys::get_opfamily_proc(family, key.sk_subtype, key.sk_subtype, HASH as i16);
        if function == pg_sys::InvalidOid {
            raise_definition(
                format!(
                    "the operator family of column {} has no hash for the type it is compared with",
                    column + 1
                ),
                "ALTER OPERATOR FAMILY … ADD FUNCTION 1 (type) …, or drop the operator from the family.",
            )
        }
        let collation = *index.rd_indcollation.add(column);
        pg_sys::OidFunctionCall2Coll(function, collation, key.sk_argument, pg_sys::Datum::from(SEED)).value()
            as u64
    }
}
