//! Tables that stand beside another one and are written and obeyed for it: whose they are, and what must not be behind them.

use super::relation::{Table, parts, table_name, table_named};
use crate::pg::{
    Argument, FOREIGN, object_name, own_function, query_catalogue, quote_qualified_identifier, raise_denied,
    raise_kind, raise_state,
};
use pgrx::pg_sys;
use std::cell::Cell;

thread_local!(static PUT_BACK: Cell<pg_sys::Oid> = const { Cell::new(pg_sys::InvalidOid) });

/// Does `work`, which brings rows back that a table had: its guards let pass what is written meanwhile.
pub(crate) fn putting_back<R>(table: pg_sys::Oid, work: impl FnOnce() -> R) -> R {
    struct Restore(pg_sys::Oid);
    impl Drop for Restore {
        fn drop(&mut self) {
            PUT_BACK.set(self.0)
        }
    }
    let _before = Restore(PUT_BACK.replace(table));
    work()
}

/// Whether such work is under way in a table, which is asked for only if it is in any.
pub(crate) fn is_put_back(table: impl FnOnce() -> pg_sys::Oid) -> bool {
    let put_back = PUT_BACK.get();
    put_back != pg_sys::InvalidOid && put_back == table()
}

/// Refuses what is not a table all of whose rows are seen or none. Raises 42809.
pub(crate) fn check_plain(table: &Table, what: &str) {
    if !table.is_plain() {
        raise_kind(
            format!("{what} {} is not a plain table", table.name),
            "It has no partitions and no row-level security: whoever uses it must see all of it.",
        )
    }
}

/// Refuses a table that is neither of the other one's owner nor of a superuser. Raises 42501.
pub(crate) fn check_owner(table: &Table, of: &Table, what: &str) {
    // SAFETY: any oid is answered.
    if table.owner() != of.owner() && !unsafe { pg_sys::superuser_arg(table.owner()) } {
        raise_denied(
            format!(
                "{what} {} belongs neither to the owner of table {} nor to a superuser",
                table.name, of.name
            ),
            "What somebody else writes must not delete rows or bring some: ALTER TABLE … OWNER TO, or name another table.",
        )
    }
}

/// Refuses a table that the caller must not write, for code of other roles would run. `trigger`: the function of the one that
/// it has by us, if any. Raises 55000.
pub(crate) fn check_written(table: &Table, trigger: pg_sys::Oid) {
    let sql = format!(
        "SELECT {} FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) $1",
        hindrance(trigger)
    );
    let found = query_catalogue(sql, &[Argument::of(table.oid)], |row| row.text(0));
    if let Some(hindrance) = found.into_iter().flatten().next() {
        raise_state(format!("table {} has {hindrance}", table.name), "Take that away, or name another table.")
    }
}

/// What a table must not have that is written for a caller. An expression of SQL on `c`, a row of `pg_class`; NULL: nothing.
///
/// In a table of another role even functions of PostgreSQL are that role's code, for some run what they are told to: only
/// what `dedup_setup` itself makes is taken.
pub(crate) fn hindrance(trigger: pg_sys::Oid) -> String {
    let [guard, decide] = ["near_dup_guard", "dedup_decide"].map(|name| own_function(name, &[]).to_u32());
    let trigger = trigger.to_u32();
    let of_another = format!(
        "EXISTS (SELECT FROM pg_catalog.pg_roles o WHERE o.oid OPERATOR(pg_catalog.=) c.relowner AND {FOREIGN})"
    );
    format!(
        "CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_rewrite r WHERE r.ev_class OPERATOR(pg_catalog.=) c.oid) \
                 THEN 'rules' \
             WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits i \
                     WHERE c.oid OPERATOR(pg_catalog.=) ANY (ARRAY[i.inhparent, i.inhrelid])) THEN 'inheritance' \
             WHEN EXISTS (SELECT FROM pg_catalog.pg_attribute a \
                     JOIN pg_catalog.pg_type d ON d.oid OPERATOR(pg_catalog.=) a.atttypid \
                     WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attnum OPERATOR(pg_catalog.>) 0 \
                       AND d.typtype OPERATOR(pg_catalog.=) 'd') THEN 'a column of a domain' \
             WHEN c.relrowsecurity AND c.relforcerowsecurity THEN 'row-level security that binds its owner' \
             WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger t \
                     WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND t.tgfoid OPERATOR(pg_catalog.=) {guard}::pg_catalog.oid) \
                 THEN 'a guard, which may log into a table of another role' \
             WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger t \
                     JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) t.tgfoid \
                     JOIN pg_catalog.pg_roles o ON o.oid OPERATOR(pg_catalog.=) p.proowner \
                     WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND NOT t.tgisinternal \
                       AND (t.tgqual IS NOT NULL OR p.oid OPERATOR(pg_catalog.<>) {trigger}::pg_catalog.oid \
                         AND ({FOREIGN} OR p.oid OPERATOR(pg_catalog.=) {decide}::pg_catalog.oid OR {of_another}))) \
                 THEN 'a trigger of another role, or with a condition' \
             WHEN EXISTS (SELECT FROM (\
                     SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass::pg_catalog.oid AS class, k.oid AS object \
                       FROM pg_catalog.pg_constraint k WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid \
                     UNION ALL SELECT 'pg_catalog.pg_attrdef'::pg_catalog.regclass::pg_catalog.oid, f.oid \
                       FROM pg_catalog.pg_attrdef f WHERE f.adrelid OPERATOR(pg_catalog.=) c.oid \
                     UNION ALL SELECT c.tableoid, i.indexrelid \
                       FROM pg_catalog.pg_index i WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid \
                     UNION ALL SELECT c.tableoid, c.oid) e \
                     JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) e.class \
                       AND d.objid OPERATOR(pg_catalog.=) e.object \
                       AND (d.objsubid OPERATOR(pg_catalog.=) 0 OR d.deptype OPERATOR(pg_catalog.=) 'a') \
                     JOIN (SELECT p.tableoid, p.oid, p.proowner AS owner FROM pg_catalog.pg_proc p \
                       UNION ALL SELECT t.tableoid, t.oid, t.typowner FROM pg_catalog.pg_type t \
                       UNION ALL SELECT q.tableoid, q.oid, p.proowner FROM pg_catalog.pg_operator q \
                           JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) q.oprcode) used \
                       ON used.oid OPERATOR(pg_catalog.=) d.refobjid AND used.tableoid OPERATOR(pg_catalog.=) d.refclassid \
                     JOIN pg_catalog.pg_roles o ON o.oid OPERATOR(pg_catalog.=) used.owner \
                     WHERE {FOREIGN}) \
                 THEN 'an expression with a function, operator or type of another role' \
             WHEN {of_another} AND (EXISTS (SELECT FROM pg_catalog.pg_constraint k \
                     WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid AND k.contype OPERATOR(pg_catalog.=) ANY ('{{c,f}}')) \
                 OR EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid \
                     AND pg_catalog.num_nulls(i.indexprs, i.indpred) OPERATOR(pg_catalog.<) 2) \
                 OR EXISTS (SELECT FROM pg_catalog.pg_attrdef f WHERE f.adrelid OPERATOR(pg_catalog.=) c.oid \
                     AND pg_catalog.pg_get_expr(f.adbin, f.adrelid) OPERATOR(pg_catalog.<>) ALL ('{{CURRENT_USER,now()}}'))) \
                 THEN 'a check, a foreign key, a default or an index of expressions of another role' END"
    )
}

/// The whole name of a table beside another: `given`, or that of its own. What is not there is beside it, if no schema is named.
pub(crate) fn name_beside(table: &Table, given: Option<&str>, label: &str) -> String {
    if let Some(there) = given.and_then(table_named) {
        return table_name(there);
    }
    let own = parts(&table.name);
    let Some(given) = given else {
        return quote_qualified_identifier(&own[0], &object_name(&own[1], label));
    };
    match &parts(given)[..] {
        [name] => quote_qualified_identifier(&own[0], name),
        _ => given.to_owned(),
    }
}
