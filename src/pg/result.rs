//! The rows that a function returns: a tuplestore, which spills beyond `work_mem` and counts against `temp_file_limit`.

use super::raise_unsupported;
use pgrx::{PgTupleDesc, pg_sys};

pub(crate) struct Output {
    store: *mut pg_sys::Tuplestorestate,
    desc: pg_sys::TupleDesc,
    /// Which columns' values are pointers.
    by_reference: Vec<bool>,
}

impl Output {
    /// Starts the result of the running call, whose SQL declaration returns a table.
    pub(crate) fn begin(fcinfo: pg_sys::FunctionCallInfo) -> Output {
        // SAFETY: `fcinfo` is that of the running call; the store and the
        // descriptor are made in the query's memory, where the executor wants them.
        unsafe {
            let info = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            if info.is_null()
                || (*info).type_ != pg_sys::NodeTag::T_ReturnSetInfo
                || (*info).allowedModes & pg_sys::SetFunctionReturnMode::SFRM_Materialize as i32 == 0
            {
                raise_unsupported("set-valued function called where no set can be", "Call it in FROM.")
            }
            let before = pg_sys::MemoryContextSwitchTo((*(*info).econtext).ecxt_per_query_memory);
            let mut desc = std::ptr::null_mut();
            pg_sys::get_call_result_type(fcinfo, std::ptr::null_mut(), &mut desc);
            let random =
                (*info).allowedModes & pg_sys::SetFunctionReturnMode::SFRM_Materialize_Random as i32 != 0;
            let store = pg_sys::tuplestore_begin_heap(random, false, pg_sys::work_mem);
            (*info).returnMode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
            (*info).setResult = store;
            (*info).setDesc = desc;
            pg_sys::MemoryContextSwitchTo(before);
            let columns = PgTupleDesc::from_pg_copy(desc);
            let by_reference = columns.iter().map(|column| !column.attbyval).collect();
            Output { store, desc, by_reference }
        }
    }

    /// The type of a column, counted from 0.
    pub(crate) fn type_of(&self, column: usize) -> pg_sys::Oid {
        // SAFETY: the descriptor lives as long as the query.
        let desc = unsafe { PgTupleDesc::from_pg_unchecked(self.desc) };
        desc.get(column).map_or(pg_sys::InvalidOid, |column| column.atttypid)
    }

    /// Adds a row of values that are somebody else's; `None` is NULL.
    ///
    /// # Safety
    /// The values are those of the declared columns' types.
    pub(crate) unsafe fn pass<const N: usize>(&mut self, row: [Option<pg_sys::Datum>; N]) {
        let mut nulls = row.map(|value| value.is_none());
        let mut values = row.map(|value| value.unwrap_or(pg_sys::Datum::null()));
        // SAFETY: the caller's promise; the store lives as long as the query, and copies values.
        unsafe {
            assert_eq!(self.by_reference.len(), N);
            pg_sys::tuplestore_putvalues(self.store, self.desc, values.as_mut_ptr(), nulls.as_mut_ptr());
        }
    }

    /// As [`Output::pass`], and frees the values, whose memory a result of millions of rows would hold.
    ///
    /// # Safety
    /// As there, and the values were made for this call.
    pub(crate) unsafe fn add<const N: usize>(&mut self, row: [Option<pg_sys::Datum>; N]) {
        // SAFETY: the caller's promise; the store has copies.
        unsafe {
            self.pass(row);
            for (by_reference, value) in self.by_reference.iter().zip(row) {
                if let (true, Some(value)) = (by_reference, value) {
                    pg_sys::pfree(value.cast_mut_ptr());
                }
            }
        }
    }
}
