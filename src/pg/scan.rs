//! Whether a query returns all rows of one table, and nothing but that.

use super::catalog::quoted;
use super::spi::{Argument, scalar};
use pgrx::{PgList, is_a, pg_sys};
use std::ffi::{CStr, c_char};

/// A query of all rows of an ordinary table whose first column is one of the table's. Which rows it returns, and with what
/// in that column, follows from the rows of the table alone.
#[derive(Clone, Copy)]
pub(crate) struct Scan {
    pub(crate) table: pg_sys::Oid,
    /// The number of the first column in the table.
    pub(crate) column: pg_sys::AttrNumber,
    /// Whether it says in which order.
    pub(crate) is_ordered: bool,
}

impl Scan {
    /// The table's name, and the column's.
    pub(crate) fn names(&self) -> (String, String) {
        // SAFETY: the table is locked since the query was planned, so that it and its column are there.
        unsafe {
            let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(self.table));
            let table = pg_sys::get_rel_name(self.table);
            let column = pg_sys::get_attname(self.table, self.column, false);
            let [schema, table, column] = [schema, table, column].map(|name| quoted(&named(name)));
            (format!("{schema}.{table}"), column)
        }
    }

    /// Whether rows can be looked up by the column.
    pub(crate) fn has_index(&self) -> bool {
        const SQL: &str = "SELECT 'yes'::pg_catalog.text FROM pg_catalog.pg_index i \
             JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid \
             JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.relam \
             WHERE i.indrelid OPERATOR(pg_catalog.=) $1 AND i.indisvalid AND i.indpred IS NULL \
               AND m.amname OPERATOR(pg_catalog.=) 'btree' AND i.indkey[0] OPERATOR(pg_catalog.=) $2";
        scalar(SQL, &[Argument::of(self.table), Argument::of(self.column)]).is_some()
    }

    /// What `SELECT * FROM (query) AS q` is, which was prepared and is open.
    ///
    /// # Safety
    /// The plan is one and the portal runs it.
    pub(super) unsafe fn of(plan: pg_sys::SPIPlanPtr, portal: pg_sys::Portal) -> Option<Scan> {
        // SAFETY: the caller's promise; nodes are of the types that their tags say.
        unsafe {
            let sources =
                PgList::<pg_sys::CachedPlanSource>::from_pg(pg_sys::SPI_plan_get_plan_sources(plan));
            let whole = sole(PgList::<pg_sys::Query>::from_pg((*sole(sources)?).query_list))?;
            let from = sole(PgList::<pg_sys::RangeTblEntry>::from_pg((*whole).rtable))?;
            if (*from).rtekind != pg_sys::RTEKind::RTE_SUBQUERY || (*from).subquery.is_null() {
                return None;
            }
            let planned = sole(PgList::<pg_sys::PlannedStmt>::from_pg((*portal).stmts))?;
            let scan = of_query((*from).subquery)?;
            is_plain((*planned).planTree).then_some(scan)
        }
    }
}

unsafe fn named(name: *const c_char) -> String {
    // SAFETY: a name that ends.
    unsafe { CStr::from_ptr(name).to_string_lossy().into_owned() }
}

/// The element of a list of one.
fn sole<T>(list: PgList<T>) -> Option<*mut T> {
    list.get_ptr(0).filter(|_| list.len() == 1)
}

/// As [`Scan::of`], told by what the query says.
unsafe fn of_query(query: *mut pg_sys::Query) -> Option<Scan> {
    // SAFETY: a query that was analysed and rewritten; nodes are of the types that their tags say.
    unsafe {
        let it = &*query;
        let more = it.hasAggs
            || it.hasWindowFuncs
            || it.hasTargetSRFs
            || it.hasSubLinks
            || it.hasDistinctOn
            || it.hasForUpdate
            || it.hasRowSecurity;
        let lists =
            [it.cteList, it.groupClause, it.groupingSets, it.windowClause, it.distinctClause, it.rowMarks];
        let nodes = [it.setOperations, it.havingQual, it.limitOffset, it.limitCount, it.utilityStmt];
        if it.commandType != pg_sys::CmdType::CMD_SELECT
            || more
            || !lists.iter().all(|list| list.is_null())
            || !nodes.iter().all(|node| node.is_null())
            || it.jointree.is_null()
            || !(*it.jointree).quals.is_null()
        {
            return None;
        }
        let from = sole(PgList::<pg_sys::Node>::from_pg((*it.jointree).fromlist))?;
        let table = sole(PgList::<pg_sys::RangeTblEntry>::from_pg(it.rtable))?;
        if !is_a(from, pg_sys::NodeTag::T_RangeTblRef)
            || (*table).rtekind != pg_sys::RTEKind::RTE_RELATION
            || (*table).relkind != pg_sys::RELKIND_RELATION as c_char
            || !(*table).tablesample.is_null()
            || !(*table).securityQuals.is_null()
        {
            return None;
        }
        let targets = it.targetList;
        let first = PgList::<pg_sys::TargetEntry>::from_pg(targets).get_ptr(0)?;
        let id = (*first).expr.cast::<pg_sys::Node>();
        // What a function does beside the rows would be done for fewer.
        if (*first).resjunk
            || !is_a(id, pg_sys::NodeTag::T_Var)
            || pg_sys::contain_volatile_functions(targets.cast())
        {
            return None;
        }
        let id = &*id.cast::<pg_sys::Var>();
        let own = id.varno as i64 == 1 && id.varlevelsup == 0 && id.varattno > 0;
        // A column that is computed when it is read can change without the row.
        let stored = own && pg_sys::get_attgenerated((*table).relid, id.varattno) == 0;
        let is_ordered = !it.sortClause.is_null();
        stored.then_some(Scan { table: (*table).relid, column: id.varattno, is_ordered })
    }
}

/// Whether a plan reads the table itself: other extensions put something else in its place, for a table whose rows are
/// elsewhere.
unsafe fn is_plain(mut plan: *mut pg_sys::Plan) -> bool {
    use pg_sys::NodeTag::*;
    // SAFETY: a plan; nodes are of the types that their tags say.
    unsafe {
        while !plan.is_null() {
            plan = match (*plan).type_ {
                T_SeqScan | T_IndexScan | T_IndexOnlyScan | T_BitmapHeapScan => return true,
                T_Sort | T_IncrementalSort | T_Result | T_Gather | T_GatherMerge => (*plan).lefttree,
                T_SubqueryScan => (*plan.cast::<pg_sys::SubqueryScan>()).subplan,
                _ => return false,
            };
        }
        false
    }
}
