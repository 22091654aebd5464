//! Rows as arguments: the columns of a record or of a trigger's new row, by name, as text.

use super::output::portable_text;
use super::rows::base_type;
use super::spi::Argument;
use super::{raise_mismatch, raise_no_column};
use pgrx::htup::{
    heap_getattr_raw, heap_tuple_header_get_datum_length, heap_tuple_header_get_type_id,
    heap_tuple_header_get_typmod,
};
use pgrx::{FromDatum, PgTupleDesc, pg_sys};
use std::ffi::CStr;
use std::num::NonZeroUsize;

pub(crate) struct Record {
    tuple: pg_sys::HeapTupleData,
    columns: PgTupleDesc<'static>,
}

/// A row whose columns can be read.
pub(crate) struct Row<'a> {
    tuple: *mut pg_sys::HeapTupleData,
    columns: &'a PgTupleDesc<'a>,
}

impl Record {
    pub(crate) fn row(&self) -> Row<'_> {
        Row { tuple: std::ptr::from_ref(&self.tuple).cast_mut(), columns: &self.columns }
    }

    /// The table whose rows are of the record's type, if there is one.
    pub(crate) fn table(&self) -> Option<pg_sys::Oid> {
        // SAFETY: the header is the record's own; any oid is answered.
        let table = unsafe { pg_sys::get_typ_typrelid(heap_tuple_header_get_type_id(self.tuple.t_data)) };
        (table != pg_sys::InvalidOid).then_some(table)
    }

    pub(crate) fn argument(&self) -> Argument {
        // SAFETY: a composite value begins with its header, which says its type.
        unsafe {
            let typoid = heap_tuple_header_get_type_id(self.tuple.t_data);
            Argument::of_type(pg_sys::Datum::from(self.tuple.t_data), typoid)
        }
    }
}

impl<'a> Row<'a> {
    /// A row of a table.
    ///
    /// # Safety
    /// The tuple has these columns and outlives the row.
    pub(crate) unsafe fn new(tuple: *mut pg_sys::HeapTupleData, columns: &'a PgTupleDesc<'a>) -> Row<'a> {
        Row { tuple, columns }
    }

    /// The name of a column by its number, from 1.
    pub(crate) fn name_of(&self, number: usize) -> Option<String> {
        self.columns.get(number.checked_sub(1)?).map(|column| column.name().to_owned())
    }

    /// The value of a column of type bigint or a domain over it, `None` if it is NULL or not there.
    pub(crate) fn bigint(&self, name: &str) -> Option<i64> {
        let (number, typoid) = self.column(name)?;
        if typoid != pg_sys::INT8OID && base_type(typoid) != pg_sys::INT8OID {
            raise_mismatch(format!("column \"{name}\" is not of type bigint"), "")
        }
        self.get(number).map(|datum| datum.value() as i64)
    }

    /// The value of a column of type bytea, `None` if it is NULL or not there.
    pub(crate) fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let (number, _) = self.column(name).filter(|&(_, found)| found == pg_sys::BYTEAOID)?;
        // SAFETY: the descriptor says the type.
        unsafe { Vec::from_datum(self.get(number)?, false) }
    }

    /// The value of a column and its type, `None` if it is NULL or not there.
    ///
    /// # Safety
    /// The value is used only as long as the row lives.
    pub(crate) unsafe fn value(&self, name: &str) -> Option<(pg_sys::Datum, pg_sys::Oid)> {
        let (number, typoid) = self.column(name)?;
        self.get(number).map(|value| (value, typoid))
    }

    /// The value of a column by its number.
    pub(super) fn get(&self, number: NonZeroUsize) -> Option<pg_sys::Datum> {
        // SAFETY: the tuple belongs to this descriptor and outlives `self`.
        unsafe { heap_getattr_raw(self.tuple, number, self.columns.as_ptr()) }
    }

    /// The number of the column called `name`, from 1, and its type.
    pub(crate) fn column(&self, name: &str) -> Option<(NonZeroUsize, pg_sys::Oid)> {
        self.columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.attisdropped)
            .find(|(_, column)| column.name() == name)
            .and_then(|(at, column)| Some((NonZeroUsize::new(at + 1)?, column.atttypid)))
    }

    pub(crate) fn names(&self) -> String {
        let columns = self.columns.iter().filter(|column| !column.attisdropped);
        columns.map(|column| column.name().to_owned()).collect::<Vec<_>>().join(", ")
    }

    /// The value of the column called `name` as text, `None` if it is NULL.
    ///
    /// Text is taken as it is; a date or time in ISO 8601 (time zone UTC) whatever the session's settings;
    /// any other type as its output function writes it under the default settings.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let Some((number, typoid)) = self.column(name) else {
            raise_no_column(
                format!("the row has no column \"{name}\""),
                format!("Its columns are: {}.", self.names()),
            )
        };
        let datum = self.get(number)?;
        match typoid {
            pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID => {
                // SAFETY: the descriptor says that the datum is one of the text types.
                unsafe { String::from_datum(datum, false) }
            }
            pg_sys::DATEOID
            | pg_sys::TIMESTAMPOID
            | pg_sys::TIMESTAMPTZOID
            | pg_sys::TIMEOID
            | pg_sys::TIMETZOID => {
                let mut buffer = [0; pg_sys::MAXDATELEN as usize + 1];
                let utc = 0;
                // SAFETY: the buffer has the size that this function asks for, and the descriptor says what type the datum is.
                let written = unsafe {
                    pg_sys::JsonEncodeDateTime(buffer.as_mut_ptr(), datum, typoid, &utc);
                    CStr::from_ptr(buffer.as_ptr())
                };
                Some(written.to_string_lossy().into_owned())
            }
            // SAFETY: the descriptor says what type the datum is.
            _ => Some(unsafe { portable_text(datum, typoid) }),
        }
    }
}

impl Record {
    unsafe fn read(varlena: *mut pg_sys::varlena) -> Record {
        // SAFETY: a composite value, with its own type in its header; the descriptor is released when the record is dropped.
        unsafe {
            let header: pg_sys::HeapTupleHeader = varlena.cast();
            let (typoid, typmod) =
                (heap_tuple_header_get_type_id(header), heap_tuple_header_get_typmod(header));
            let columns = PgTupleDesc::from_pg(pg_sys::lookup_rowtype_tupdesc(typoid, typmod));
            let t_len = heap_tuple_header_get_datum_length(header) as u32;
            Record { tuple: pg_sys::HeapTupleData { t_len, t_data: header, ..Default::default() }, columns }
        }
    }
}

argument!(Record, Record::read);
