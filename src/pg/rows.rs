//! Rows of queries: their columns, and the values in them.

use super::{raise_mismatch, raise_null};
use dedup_core::memory::{self, OrRaise};
use pgrx::{PgTupleDesc, pg_sys};
use std::ffi::{CStr, c_char};

pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) typoid: pg_sys::Oid,
    /// `InvalidOid` if its type has none.
    pub(crate) collation: pg_sys::Oid,
    /// Whether a value is stored as `text` is.
    is_text: bool,
}

impl Column {
    pub(crate) fn new(name: &str, typoid: pg_sys::Oid, collation: pg_sys::Oid) -> Column {
        // SAFETY: any oid is answered.
        let is_text = unsafe { pg_sys::IsBinaryCoercible(typoid, pg_sys::TEXTOID) };
        Column { name: name.to_owned(), typoid, collation, is_text }
    }

    /// Its type as SQL names it, without a length: `bpchar`, because `character` alone means a length of one.
    pub(crate) fn type_name(&self) -> String {
        // SAFETY: any oid is answered by a string.
        unsafe { string(pg_sys::format_type_with_typemod(self.typoid, -1)) }
    }

    pub(crate) fn base_type(&self) -> pg_sys::Oid {
        base_type(self.typoid)
    }

    /// Whether a value is stored as `text` is, and means the same: varchar, citext, a domain over these.
    pub(crate) fn is_text(&self) -> bool {
        self.is_text
    }

    /// Whether a value is `text` padded with blanks: character, a domain over it.
    pub(crate) fn is_padded_text(&self) -> bool {
        self.base_type() == pg_sys::BPCHAROID
    }

    /// Whether a value is text, padded or not.
    pub(crate) fn is_any_text(&self) -> bool {
        self.is_text || self.is_padded_text()
    }

    /// Whether a value may be a fingerprint or a hash.
    pub(crate) fn is_fingerprint(&self) -> bool {
        matches!(self.base_type(), pg_sys::INT8OID | pg_sys::BITOID)
    }

    /// Whether a value is a number or bits, whose digits are no text: one digit more or less may be all that differs.
    pub(crate) fn is_digits(&self) -> bool {
        use pg_sys::{
            BITOID, BYTEAOID, FLOAT4OID, FLOAT8OID, INT2OID, INT4OID, INT8OID, NUMERICOID, VARBITOID,
        };
        let base = self.base_type();
        matches!(base, INT2OID | INT4OID | INT8OID | NUMERICOID | FLOAT4OID | FLOAT8OID)
            || matches!(base, BITOID | VARBITOID | BYTEAOID)
    }

    /// Refuses a column whose values cannot be ids: rows are read in their order. Raises 42804.
    pub(crate) fn check_id(&self) {
        if type_cache(self.typoid, pg_sys::TYPECACHE_LT_OPR).lt_opr == pg_sys::InvalidOid {
            raise_mismatch(
                format!("column \"{}\" of type {} cannot be an id", self.name, self.type_name()),
                "Ids are of a type whose values can be ordered, such as bigint, text or uuid.",
            )
        }
    }

    /// Raises 42804 if it is one whose digits would be compared.
    pub(crate) fn check_no_digits(&self) {
        if self.is_digits() {
            let Column { name, .. } = self;
            let (type_name, is_print) = (self.type_name(), self.base_type() == pg_sys::INT8OID);
            let (rest, hint) = match is_print {
                true => (
                    "give it as fp",
                    format!(
                        "Fingerprints are taken beside a text, {{\"fp\": \"{name}\"}}; alone they are compared by near_dup_pairs and an \
                         index USING banding."
                    ),
                ),
                false => (
                    "digits are not compared as a text",
                    "Numbers and bits count beside a column of a text type; fingerprints are bigint."
                        .to_owned(),
                ),
            };
            raise_mismatch(format!("column \"{name}\" is {type_name}: {rest}"), hint)
        }
    }

    /// Whether a value is neither a row nor an array, nor of a domain over these.
    pub(crate) fn is_scalar(&self) -> bool {
        // SAFETY: any oid is answered.
        unsafe {
            let base = self.base_type();
            !pg_sys::type_is_rowtype(base) && pg_sys::get_element_type(base) == pg_sys::InvalidOid
        }
    }
}

/// The type that a domain is over, any other type itself.
pub(crate) fn base_type(typoid: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: any oid is answered.
    unsafe { pg_sys::getBaseType(typoid) }
}

/// What the type cache has of a type, with what is `wanted` of it.
pub(crate) fn type_cache(typoid: pg_sys::Oid, wanted: u32) -> &'static pg_sys::TypeCacheEntry {
    // SAFETY: any oid is answered; an entry of the cache lives as long as the session.
    unsafe { &*pg_sys::lookup_type_cache(typoid, wanted as i32) }
}

/// A string of PostgreSQL's; an empty one for null.
///
/// # Safety
/// Null, or a string that ends.
pub(crate) unsafe fn string(of: *const c_char) -> String {
    // SAFETY: the caller's promise.
    if of.is_null() { String::new() } else { unsafe { CStr::from_ptr(of) }.to_string_lossy().into_owned() }
}

/// The columns of a row's descriptor.
///
/// # Safety
/// `desc` is one.
pub(super) unsafe fn columns(desc: pg_sys::TupleDesc) -> Vec<Column> {
    // SAFETY: the caller's promise; the copy is the wrapper's own.
    let desc = unsafe { PgTupleDesc::from_pg_copy(desc) };
    let column = |attribute: &pg_sys::FormData_pg_attribute| {
        Column::new(attribute.name(), attribute.atttypid, attribute.attcollation)
    };
    desc.iter().map(column).collect()
}

/// The values of a row of a query. Reading copies them, and leaves nothing behind in PostgreSQL's memory.
pub(crate) struct Values<'a> {
    /// As many columns as values and flags.
    pub(super) columns: &'a [Column],
    pub(super) values: &'a [pg_sys::Datum],
    pub(super) nulls: &'a [bool],
}

impl Values<'_> {
    /// A column's value, `None` for NULL.
    pub(crate) fn get(&self, column: usize) -> Option<pg_sys::Datum> {
        (!self.nulls[column]).then(|| self.values[column])
    }

    /// The value of the first column, the id.
    pub(crate) fn id(&self) -> pg_sys::Datum {
        self.get(0).unwrap_or_else(|| refuse_row_without_id())
    }

    /// The value of a column that is `bigint`.
    pub(crate) fn bigint(&self, column: usize) -> Option<i64> {
        self.get(column).map(|value| value.value() as i64)
    }

    pub(crate) fn oid(&self, column: usize) -> Option<pg_sys::Oid> {
        self.get(column).map(|value| pg_sys::Oid::from_u32(value.value() as u32))
    }

    /// Whether a column that is `boolean` is true.
    pub(crate) fn is(&self, column: usize) -> bool {
        self.get(column).is_some_and(|value| value.value() != 0)
    }

    /// The value of a column that is `bytea`, or how many bytes it has if these are more than `most`, which are not read.
    pub(crate) fn bytes(&self, column: usize, most: usize) -> Option<Result<Vec<u8>, usize>> {
        assert_eq!(self.columns[column].base_type(), pg_sys::BYTEAOID);
        let value = self.get(column)?;
        // SAFETY: a value of variable length, as has just been seen.
        Some(unsafe {
            match pg_sys::toast_raw_datum_size(value) - pg_sys::VARHDRSZ {
                length if length > most => Err(length),
                _ => Ok(copy_of_varlena(value)),
            }
        })
    }

    /// The value of a column that is text, padded or not.
    pub(crate) fn text(&self, column: usize) -> Option<String> {
        let it = &self.columns[column];
        assert!(it.is_any_text(), "column \"{}\" is not text", it.name);
        // SAFETY: so it is stored as text is.
        self.get(column).map(|value| text(unsafe { copy_of_varlena(value) }))
    }
}

/// Reports that a row of a user's query has no id.
pub(crate) fn refuse_row_without_id() -> ! {
    raise_null("the query returned a row without an id", "Leave such rows out: WHERE id IS NOT NULL.")
}

/// The bytes of a value of variable length.
///
/// # Safety
/// `value` is one: `text`, `bytea`, …
unsafe fn copy_of_varlena(value: pg_sys::Datum) -> Vec<u8> {
    // SAFETY: the caller's promise; only a copy that was made here is freed.
    unsafe {
        let stored: *mut pg_sys::varlena = value.cast_mut_ptr();
        let plain = pg_sys::pg_detoast_datum_packed(stored);
        let copy = memory::copy(pgrx::varlena_to_byte_slice(plain));
        if plain != stored {
            pg_sys::pfree(plain.cast());
        }
        copy.or_raise()
    }
}

/// Bytes in the database encoding as a string; invalid ones are replaced.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    // The standard library looks at other characters than ASCII one by one.
    match simdutf8::basic::from_utf8(&bytes) {
        // SAFETY: they are what it must be, as has just been seen.
        Ok(_) => unsafe { String::from_utf8_unchecked(bytes) },
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}
