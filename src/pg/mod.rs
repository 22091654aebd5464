//! PostgreSQL's interfaces as safe Rust, of use to any extension: errors, queries, rows, arguments, memory, temporary files.

/// Makes a type that `FromDatum` reads an argument of functions; `$read` reads the value of variable length, detoasted, that
/// they are declared with.
macro_rules! argument {
    ($type:ty, $read:path $(, $($generics:tt)*)?) => {
        impl$(<$($generics)*>)? pgrx::FromDatum for $type {
            unsafe fn from_polymorphic_datum(
                datum: pgrx::pg_sys::Datum,
                is_null: bool,
                _: pgrx::pg_sys::Oid,
            ) -> Option<Self> {
                // SAFETY: the type is the declared one; the detoasted copy lives as long as the call.
                (!is_null).then(|| unsafe { $read(pgrx::pg_sys::pg_detoast_datum(datum.cast_mut_ptr())) })
            }
        }
        $crate::pg::argument!($type $(, $($generics)*)?);
    };
    ($type:ty $(, $($generics:tt)*)?) => {
        // SAFETY: the value is made by `FromDatum`, which reads the declared type.
        unsafe impl<'fcx $(, $($generics)*)?> pgrx::callconv::ArgAbi<'fcx> for $type {
            unsafe fn unbox_arg_unchecked(argument: pgrx::callconv::Arg<'_, 'fcx>) -> Self {
                // SAFETY: the caller vouches for the argument's type and presence.
                unsafe { argument.unbox_arg_using_from_datum().expect("an argument that is not null") }
            }
        }
    };
}
pub(crate) use argument;

pub(crate) mod aggregate;
mod catalog;
mod error;
mod host;
mod internal;
pub(crate) mod json;
pub(crate) mod memory;
mod names;
mod nodes;
mod output;
mod parse;
mod progress;
mod recent;
mod record;
mod result;
mod rows;
pub(crate) mod settings;
mod spi;
mod spill;
mod texts;
pub(crate) mod trigger;
mod values;
pub(crate) mod version;
mod versions;
mod window;
pub(crate) mod workers;

pub(crate) use catalog::{
    FOREIGN, ancestors, array_type, as_exact_text, as_owner, as_role, as_text, base_type_name, check_type,
    equality, function_in, has_row_security, hold_schemas, inheritors, is_built_in, is_read_committed,
    lock_columns, lock_relation, may_read, object_name, own_function, own_table, quoted, schema, schemas_of,
    schemas_of_types, type_in, user,
};
pub(crate) use error::{
    notice, raise, raise_cardinality, raise_corrupted, raise_definition, raise_denied,
    raise_duplicate_column, raise_duplicate_table, raise_elements, raise_generated, raise_internal,
    raise_invalid, raise_kind, raise_mismatch, raise_no_column, raise_no_object, raise_no_table, raise_null,
    raise_protocol, raise_representation, raise_state, raise_too_much, raise_unsupported, raise_with_detail,
    required,
};
pub(crate) use host::{QueryHost, unwrap_or_raise};
pub(crate) use internal::{Message, Pointer};
pub(crate) use json::Json;
pub(crate) use names::{Schemas, commas};
pub(crate) use nodes::{node, nth};
pub(crate) use pgrx::spi::{quote_identifier, quote_literal, quote_qualified_identifier};
pub(crate) use progress::Progress;
pub(crate) use recent::{Recent, recent};
pub(crate) use record::{Record, Row};
pub(crate) use result::Output;
pub(crate) use rows::{Column, Values, base_type, refuse_row_without_id, string, type_cache};
pub(crate) use settings::{
    building_threads, maintenance_memory, memory_limit, sketch_memory, threads, within_memory_limit,
    work_memory,
};
pub(crate) use spi::{
    Argument, check_query, describe, execute, exists, for_each, for_each_of_query, oid, query_all,
    query_catalogue, scalar, with_latest_snapshot, with_settings, with_snapshot,
};
pub(crate) use spill::TempFile;
pub(crate) use texts::Texts;
pub(crate) use values::{DistinctIds, Ids, UniqueIds, ValueType, whole};
pub(crate) use versions::{deleter, died_before};
pub(crate) use window::Window;
