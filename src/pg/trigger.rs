//! The call of a trigger: its event, its rows, its result.

use super::catalog::check_type;
use super::record::Row;
use super::rows::{base_type, string};
use super::{raise_generated, raise_mismatch, raise_no_column, raise_protocol, raise_unsupported};
use pgrx::{PgMemoryContexts, PgRelation, PgTupleDesc, pg_sys};
use std::ffi::CString;
use std::num::NonZeroUsize;

pub(crate) struct Call {
    data: *mut pg_sys::TriggerData,
    function: *mut pg_sys::FmgrInfo,
    /// The row is not stored yet.
    pub(crate) is_before: bool,
    /// Of a row that was stored, not of a new one.
    pub(crate) is_update: bool,
    pub(crate) columns: PgTupleDesc<'static>,
    /// The new row as it is read: with the generated columns that [`Call::compute`] was asked for.
    read: pg_sys::HeapTuple,
}

/// What computes generated columns, prepared once per statement.
struct Generated {
    /// By column, null until it is asked for.
    expressions: *mut *mut pg_sys::ExprState,
    state: *mut pg_sys::EState,
    context: *mut pg_sys::ExprContext,
    slot: *mut pg_sys::TupleTableSlot,
}

/// What a function is told that is called as a trigger. Raises 39P01 if it is not.
///
/// # Safety
/// `fcinfo` is that of the running call.
pub(crate) unsafe fn data(
    fcinfo: pg_sys::FunctionCallInfo,
    name: &str,
    hint: &str,
) -> *mut pg_sys::TriggerData {
    // SAFETY: the context of a trigger's call is a `TriggerData`, as its tag says.
    unsafe {
        let node = (*fcinfo).context;
        if node.is_null() || !pgrx::is_a(node, pg_sys::NodeTag::T_TriggerData) {
            raise_protocol(format!("function \"{name}\" was not called by trigger manager"), hint)
        }
        node.cast()
    }
}

impl Call {
    /// The call, or `None` if the trigger is not one for each row inserted or updated. Raises an error if the
    /// function `name` was not called as a trigger.
    ///
    /// # Safety
    /// `fcinfo` is that of the running call, and outlives the result.
    pub(crate) unsafe fn new(fcinfo: pg_sys::FunctionCallInfo, name: &str) -> Option<Call> {
        // SAFETY: the caller's promise.
        unsafe {
            let data = data(fcinfo, name, "Use it in CREATE TRIGGER … FOR EACH ROW EXECUTE FUNCTION.");
            let fired = (*data).tg_event;
            if fired & pg_sys::TRIGGER_EVENT_ROW == 0 {
                return None;
            }
            let is_before = match fired & pg_sys::TRIGGER_EVENT_TIMINGMASK {
                pg_sys::TRIGGER_EVENT_BEFORE => true,
                0 => false,
                _ => return None,
            };
            let is_update = match fired & pg_sys::TRIGGER_EVENT_OPMASK {
                pg_sys::TRIGGER_EVENT_INSERT => false,
                pg_sys::TRIGGER_EVENT_UPDATE => true,
                _ => return None,
            };
            let (function, read) = ((*fcinfo).flinfo, std::ptr::null_mut());
            let columns = PgTupleDesc::from_pg_copy((*(*data).tg_relation).rd_att);
            let mut call = Call { data, function, is_before, is_update, columns, read };
            call.read = call.new_tuple();
            Some(call)
        }
    }

    /// The arguments of CREATE TRIGGER.
    pub(crate) fn arguments(&self) -> Vec<String> {
        // SAFETY: a trigger has as many arguments as it says.
        unsafe {
            let trigger = &*(*self.data).tg_trigger;
            let argument = |at| string(*trigger.tgargs.add(at));
            (0..trigger.tgnargs as usize).map(argument).collect()
        }
    }

    pub(crate) fn trigger_name(&self) -> String {
        // SAFETY: a trigger has a name.
        unsafe { string((*(*self.data).tg_trigger).tgname) }
    }

    pub(crate) fn relation(&self) -> pg_sys::Relation {
        // SAFETY: a trigger is fired for a table, open during the call.
        unsafe { (*self.data).tg_relation }
    }

    pub(crate) fn table(&self) -> pg_sys::Oid {
        // SAFETY: as above.
        unsafe { (*self.relation()).rd_id }
    }

    pub(crate) fn table_name(&self) -> String {
        // SAFETY: as above; the relation is not closed here.
        unsafe { PgRelation::from_pg(self.relation()).name().to_owned() }
    }

    /// The table that the trigger was created on: that of the row or, on a
    /// partition, one that it is a partition of, not always the topmost one.
    pub(crate) fn table_of_trigger(&self) -> pg_sys::Oid {
        // SAFETY: as above; a row of pg_trigger begins with the fixed columns of its struct, and is read before its scan ends.
        unsafe {
            let (mut table, mut trigger) = ((*self.relation()).rd_id, (*(*self.data).tg_trigger).tgoid);
            if !(*(*self.data).tg_trigger).tgisclone {
                return table;
            }
            let lock = pg_sys::AccessShareLock as i32;
            let triggers = pg_sys::table_open(pg_sys::TriggerRelationId, lock);
            while trigger != pg_sys::InvalidOid {
                let mut key = pg_sys::ScanKeyData::default();
                let (column, strategy) = (pg_sys::Anum_pg_trigger_oid as i16, pg_sys::BTEqualStrategyNumber);
                let equals = pg_sys::Oid::from(pg_sys::F_OIDEQ);
                pg_sys::ScanKeyInit(&mut key, column, strategy as u16, equals, trigger.into());
                let index = pg_sys::Oid::from(pg_sys::TriggerOidIndexId);
                let scan =
                    pg_sys::systable_beginscan(triggers, index, true, std::ptr::null_mut(), 1, &mut key);
                let found = pg_sys::systable_getnext(scan);
                trigger = pg_sys::InvalidOid;
                if !found.is_null() {
                    let found = &*pg_sys::GETSTRUCT(found).cast::<pg_sys::FormData_pg_trigger>();
                    (table, trigger) = (found.tgrelid, found.tgparentid);
                }
                pg_sys::systable_endscan(scan);
            }
            pg_sys::table_close(triggers, lock);
            table
        }
    }

    pub(crate) fn new_tuple(&self) -> pg_sys::HeapTuple {
        // SAFETY: the trigger's data is filled according to its event.
        unsafe { if self.is_update { (*self.data).tg_newtuple } else { (*self.data).tg_trigtuple } }
    }

    pub(crate) fn old_tuple(&self) -> Option<pg_sys::HeapTuple> {
        // SAFETY: as above.
        self.is_update.then(|| unsafe { (*self.data).tg_trigtuple })
    }

    pub(crate) fn row(&self) -> Row<'_> {
        // SAFETY: the tuple is of the table whose columns these are.
        unsafe { Row::new(self.read, &self.columns) }
    }

    pub(crate) fn old_row(&self) -> Option<Row<'_>> {
        // SAFETY: as above.
        self.old_tuple().map(|tuple| unsafe { Row::new(tuple, &self.columns) })
    }

    /// Whether this transaction has stored the old row of the update.
    pub(crate) fn old_is_own(&self) -> bool {
        self.old_tuple().is_some_and(|tuple| {
            // SAFETY: the tuple is a stored one, with a header.
            unsafe {
                let inserted = (*(*tuple).t_data).t_choice.t_heap.t_xmin;
                pg_sys::TransactionIdIsCurrentTransactionId(inserted)
            }
        })
    }

    /// The values of a column of fingerprints, `bigint` or `bit`, of the new row and, of an update, of the old one, and its type.
    pub(crate) fn new_and_old_fingerprint(
        &self,
        column: &str,
    ) -> (Option<pg_sys::Datum>, Option<pg_sys::Datum>, pg_sys::Oid) {
        let (number, typoid) = self.known_column(column);
        if !matches!(base_type(typoid), pg_sys::INT8OID | pg_sys::BITOID) {
            raise_mismatch(
                format!("column \"{column}\" is not of type bigint or bit"),
                "A fingerprint is stored in a bigint column, a hash in one of type bigint, bit(64), bit(128) or bit(256).",
            )
        }
        (self.row().get(number), self.old_row().and_then(|row| row.get(number)), typoid)
    }

    /// The value of a column of the new row, NULL as `None`, with its type and collation.
    pub(crate) fn new_value(&self, name: &str) -> (Option<pg_sys::Datum>, pg_sys::Oid, pg_sys::Oid) {
        let (number, typoid) = self.known_column(name);
        let collation = self.columns.get(number.get() - 1).map_or(pg_sys::InvalidOid, |it| it.attcollation);
        (self.row().get(number), typoid, collation)
    }

    /// The number and the type of the column `name`.
    fn known_column(&self, name: &str) -> (NonZeroUsize, pg_sys::Oid) {
        self.row().column(name).unwrap_or_else(|| {
            raise_no_column(
                format!("table \"{}\" has no column \"{name}\"", self.table_name()),
                format!("Its columns are: {}.", self.row().names()),
            )
        })
    }

    fn is_generated(&self, column: NonZeroUsize) -> bool {
        self.columns.get(column.get() - 1).is_some_and(|it| it.attgenerated != 0)
    }

    /// The result that stores the row with this value in the bigint column.
    pub(crate) fn keep_with_bigint(&self, column: &str, value: Option<i64>) -> pg_sys::Datum {
        if base_type(self.known_column(column).1) != pg_sys::INT8OID {
            raise_mismatch(
                format!("column \"{column}\" is not of type bigint"),
                "A fingerprint is stored in a bigint column.",
            )
        }
        self.keep_with(column, value.map(|it| it.to_string()).as_deref())
    }

    /// Raises 0A000 if one of these columns is a virtual one, as 18 has them: stored rows do not hold it.
    pub(crate) fn refuse_virtual<'a>(&self, mut names: impl Iterator<Item = &'a str>) {
        let is_virtual = |name: &&str| {
            let column = self.row().column(name).and_then(|it| self.columns.get(it.0.get() - 1));
            column.is_some_and(|it| it.attgenerated as u8 == b'v')
        };
        if let Some(name) = names.find(is_virtual) {
            raise_unsupported(
                format!(
                    "trigger \"{}\" cannot compare rows by virtual generated column \"{name}\" of table \"{}\"",
                    self.trigger_name(),
                    self.table_name()
                ),
                "Declare the column STORED.",
            )
        }
    }

    /// Computes those of these columns that are generated, to be read: PostgreSQL does so only when it stores the row.
    pub(crate) fn compute<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        if !self.is_before {
            return;
        }
        let number = |name| self.row().column(name).map(|it| it.0).filter(|&it| self.is_generated(it));
        let numbers: Vec<NonZeroUsize> = names.filter_map(number).collect();
        if numbers.is_empty() {
            return;
        }
        // SAFETY: the columns are generated; the values live until the tuple is made of them.
        self.read = unsafe {
            let generated = |number| (number, self.generate(number));
            self.modified(&numbers.into_iter().map(generated).collect::<Vec<_>>())
        }
    }

    /// The new row with these values in some columns, `None` for NULL.
    ///
    /// # Safety
    /// The values are of the columns' types.
    unsafe fn modified(&self, columns: &[(NonZeroUsize, Option<pg_sys::Datum>)]) -> pg_sys::HeapTuple {
        let mut numbers: Vec<i32> = columns.iter().map(|(number, _)| number.get() as i32).collect();
        let mut nulls: Vec<bool> = columns.iter().map(|(_, value)| value.is_none()).collect();
        let mut values: Vec<_> =
            columns.iter().map(|(_, value)| value.unwrap_or(pg_sys::Datum::from(0usize))).collect();
        let (count, numbers) = (numbers.len() as i32, numbers.as_mut_ptr());
        // SAFETY: the caller's promise; the tuple is of the table whose columns these are.
        unsafe {
            let (row, columns) = (self.new_tuple(), (*self.relation()).rd_att);
            let (values, nulls) = (values.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::heap_modify_tuple_by_cols(row, columns, count, numbers, values, nulls)
        }
    }

    /// Computes a generated column of the new row.
    ///
    /// # Safety
    /// The column is generated.
    unsafe fn generate(&self, column: NonZeroUsize) -> Option<pg_sys::Datum> {
        // SAFETY: what is kept in `fn_extra` was put there below, in the same
        // memory context, for the same trigger of the same table.
        unsafe {
            let mut kept = (*self.function).fn_extra.cast::<Generated>();
            if kept.is_null() {
                kept = PgMemoryContexts::For((*self.function).fn_mcxt).switch_to(|_| {
                    let state = pg_sys::CreateExecutorState();
                    let columns = pg_sys::CreateTupleDescCopy((*self.relation()).rd_att);
                    let made = pg_sys::palloc(size_of::<Generated>()).cast::<Generated>();
                    made.write(Generated {
                        expressions: pg_sys::palloc0(self.columns.len() * size_of::<usize>()).cast(),
                        state,
                        context: pg_sys::CreateExprContext(state),
                        slot: pg_sys::MakeSingleTupleTableSlot(columns, &raw const pg_sys::TTSOpsHeapTuple),
                    });
                    made
                });
                (*self.function).fn_extra = kept.cast();
            }
            let Generated { expressions, state, context, slot } = *kept;
            let prepared = expressions.add(column.get() - 1);
            if (*prepared).is_null() {
                *prepared = PgMemoryContexts::For((*self.function).fn_mcxt).switch_to(|_| {
                    let node = pg_sys::build_column_default(self.relation(), column.get() as i32);
                    pg_sys::ExecPrepareExpr(node.cast(), state)
                });
            }
            let expression = *prepared;
            pg_sys::ExecStoreHeapTuple(self.new_tuple(), slot, false);
            (*context).ecxt_scantuple = slot;
            let evaluate = (*expression).evalfunc?;
            let mut is_null = false;
            // In the context of the call: what it gives is read as long as that runs.
            let value = evaluate(expression, context, &mut is_null);
            pg_sys::ExecClearTuple(slot);
            (!is_null).then_some(value)
        }
    }

    /// Whether the row, before it is updated, is about to leave its partition.
    pub(crate) fn leaves_partition(&self) -> bool {
        // SAFETY: the relation is open, the tuple is of its columns; what is made here is given back here.
        unsafe {
            let relation = self.relation();
            if !(self.is_before && self.is_update && (*(*relation).rd_rel).relispartition) {
                return false;
            }
            let state = pg_sys::CreateExecutorState();
            let target = pgrx::PgBox::<pg_sys::ResultRelInfo>::alloc_node(pg_sys::NodeTag::T_ResultRelInfo);
            pg_sys::InitResultRelInfo(target.as_ptr(), relation, 0, std::ptr::null_mut(), 0);
            let slot =
                pg_sys::MakeSingleTupleTableSlot((*relation).rd_att, &raw const pg_sys::TTSOpsHeapTuple);
            pg_sys::ExecStoreHeapTuple(self.new_tuple(), slot, false);
            let stays = pg_sys::ExecPartitionCheck(target.as_ptr(), slot, state, false);
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            pg_sys::FreeExecutorState(state);
            !stays
        }
    }

    /// The result that stores the row as it is; the result of an AFTER trigger is ignored.
    pub(crate) fn keep(&self) -> pg_sys::Datum {
        pg_sys::Datum::from(self.new_tuple())
    }

    pub(crate) fn leave_out(&self) -> pg_sys::Datum {
        pg_sys::Datum::from(0usize)
    }

    /// The column that a trigger is to set, and its type. Raises 42703 if there is none, 428C9 if it is generated.
    pub(crate) fn settable(&self, column: &str) -> (NonZeroUsize, pg_sys::Oid) {
        let (number, typoid) = self.known_column(column);
        if self.is_generated(number) {
            raise_generated(
                format!("trigger \"{}\" cannot set generated column \"{column}\"", self.trigger_name()),
                "PostgreSQL computes the column after the trigger. Use an ordinary column, or no trigger.",
            )
        }
        // What the table's owner has made PostgreSQL itself runs as whoever writes the table.
        // SAFETY: the relation is open.
        check_type(typoid, Some(unsafe { (*(*self.relation()).rd_rel).relowner }));
        (number, typoid)
    }

    /// The result that stores the row with `column` set to a value, given in its text form, or NULL.
    pub(crate) fn keep_with(&self, column: &str, value: Option<&str>) -> pg_sys::Datum {
        let (number, typoid) = self.settable(column);
        // SAFETY: the input function of the column's own type; the tuple is of the table whose columns these are.
        unsafe {
            let (mut input, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
            pg_sys::getTypeInputInfo(typoid, &mut input, &mut parameter);
            let modifier = self.columns.get(number.get() - 1).map_or(-1, |it| it.atttypmod);
            // NULL too goes through the input function, because that of a domain checks its constraints.
            let value = value.and_then(|value| CString::new(value).ok());
            let written = value.as_ref().map_or(std::ptr::null_mut(), |value| value.as_ptr().cast_mut());
            let datum = pg_sys::OidInputFunctionCall(input, written, parameter, modifier);
            pg_sys::Datum::from(self.modified(&[(number, value.is_some().then_some(datum))]))
        }
    }
}
