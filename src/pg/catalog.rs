//! Look-ups in the catalogue, and the state of the transaction.

use super::names::{Changes, Schemas};
use super::rows::{Column, Values, base_type, string, type_cache};
use super::spi::{Argument, for_each, oid, query_catalogue};
use super::{raise_no_object, raise_state, raise_unsupported};
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::spi::quote_identifier;
use pgrx::{PgList, pg_sys};
use std::cell::RefCell;
use std::ffi::{CStr, CString};

/// The extension's schema. By its number: it may belong to somebody who renames it and puts another one in its place.
fn own_schema() -> pg_sys::Oid {
    const SQL: &str = "SELECT e.extnamespace FROM pg_catalog.pg_extension e WHERE e.extname OPERATOR(pg_catalog.=) 'pg_dedup'";
    let found = query_catalogue(SQL, &[], |row| row.oid(0)).pop().flatten();
    found.unwrap_or_else(|| refuse_without_extension())
}

/// The extension's schema, quoted for SQL.
pub(crate) fn schema() -> String {
    // SAFETY: any oid is answered, by a string or null.
    quote_identifier(unsafe { string(pg_sys::get_namespace_name(own_schema())) })
}

/// The schemas of the extension and of a table.
fn both_schemas(table: pg_sys::Oid) -> [pg_sys::Oid; 2] {
    // SAFETY: any oid is answered.
    [own_schema(), unsafe { pg_sys::get_rel_namespace(table) }]
}

pub(crate) fn schemas_of(table: pg_sys::Oid) -> Schemas {
    Schemas::of(both_schemas(table).into_iter())
}

/// The schemas of types that PostgreSQL does not come with, and of the operators by which their values are equal.
pub(crate) fn schemas_of_types(types: impl Iterator<Item = pg_sys::Oid>) -> Schemas {
    const SQL: &str = "SELECT t.typnamespace FROM pg_catalog.pg_type t \
             WHERE t.oid OPERATOR(pg_catalog.=) ANY ($1) \
         UNION SELECT o.oprnamespace FROM pg_catalog.pg_operator o \
             WHERE o.oid OPERATOR(pg_catalog.=) ANY ($1)";
    let named = |typoid| [base_type(typoid), type_cache(typoid, pg_sys::TYPECACHE_EQ_OPR).eq_opr];
    let named: Vec<_> = types.flat_map(named).filter(|oid| !is_built_in(*oid)).collect();
    if named.is_empty() {
        return Schemas::of(std::iter::empty());
    }
    Schemas::of(query_catalogue(SQL, &[Argument::of(named)], |row| row.oid(0)).into_iter().flatten())
}

fn refuse_without_extension() -> ! {
    raise_no_object("extension pg_dedup is not installed in this database", "CREATE EXTENSION pg_dedup;")
}

/// Does `work`, which writes a table of the extension, with the rights of whoever owns that: for what a caller may have done
/// but not do. `work` is given the name of the extension's schema, quoted, and runs SQL that names nothing but what is in it.
/// That name is kept to the end of the transaction. Raises 55000 if the table has triggers that are not the extension's: who
/// was granted everything on all tables can make them, and they would run with these rights.
pub(crate) fn as_owner<R>(table: &str, work: impl FnOnce(&str) -> R) -> R {
    const OWNER: &str = "SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) $1";
    let number = own_table(table).unwrap_or_else(|| refuse_without_extension());
    let owner = oid(OWNER, &[Argument::of(number)]).unwrap_or_else(|| refuse_without_extension());
    // No trigger is made meanwhile.
    lock_relation(number, pg_sys::RowExclusiveLock);
    check_triggers(table, number);
    hold_schemas(number);
    let schema = schema();
    as_role(owner, || work(&schema))
}

/// Keeps the names of the schemas of the extension and of a table, which is locked, to the end of the transaction, by locks
/// of the rows that say them: no owner of a schema can give its name to another meanwhile.
pub(crate) fn hold_schemas(table: pg_sys::Oid) {
    const SQL: &str = "SELECT FROM pg_catalog.pg_namespace n WHERE n.oid OPERATOR(pg_catalog.=) ANY ($1) FOR KEY SHARE OF n";
    let schemas = Argument::of(both_schemas(table).to_vec());
    // Nobody else may lock rows of the catalogue.
    let superuser = pg_sys::Oid::from_u32(pg_sys::BOOTSTRAP_SUPERUSERID);
    as_role(superuser, || for_each(SQL, &[schemas], |_| ()));
    // What was waited for has to be seen.
    // SAFETY: inside a transaction.
    unsafe { pg_sys::AcceptInvalidationMessages() }
}

/// Does `work` with the rights of a role.
pub(crate) fn as_role<R>(role: pg_sys::Oid, work: impl FnOnce() -> R) -> R {
    // SAFETY: the user is set back; after an error the end of the (sub)transaction does that.
    unsafe {
        let (mut user, mut context) = (pg_sys::InvalidOid, 0);
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        let local = context | pg_sys::SECURITY_LOCAL_USERID_CHANGE as i32;
        pg_sys::SetUserIdAndSecContext(role, local);
        let result = work();
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// Refuses a table of the extension that has triggers of somebody else.
fn check_triggers(table: &str, oid: pg_sys::Oid) {
    const SQL: &str = "SELECT t.tgname::pg_catalog.text FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p \
             ON p.oid OPERATOR(pg_catalog.=) t.tgfoid \
         WHERE t.tgrelid OPERATOR(pg_catalog.=) $1 AND NOT t.tgisinternal \
           AND NOT (p.pronamespace OPERATOR(pg_catalog.=) $2 AND p.proname OPERATOR(pg_catalog.=) ANY \
             (ARRAY['_dedup_settings_guard', '_dedup_settings_changed', '_dedup_version_guard', '_dedup_version_carry']::pg_catalog.name[])) \
         ORDER BY 1";
    let found = query_catalogue(SQL, &[oid, own_schema()].map(Argument::of), |row| row.text(0));
    if let Some(trigger) = found.into_iter().flatten().next() {
        raise_state(
            format!(
                "table {table} has a trigger \"{trigger}\" that is not of pg_dedup and would run with the rights of its owner"
            ),
            format!(
                "The owner of {table} drops it, and says who may make one: REVOKE TRIGGER ON {table} FROM …;"
            ),
        )
    }
}

/// A function of the extension by its name and the types of its arguments. Called by this, it need not be granted to the
/// caller, and is not another one that has the name by the time of the call.
pub(crate) fn own_function(name: &str, types: &[pg_sys::Oid]) -> pg_sys::Oid {
    let name = CString::new(name).unwrap_or_default();
    function_in(own_schema(), &name, types).unwrap_or_else(|| refuse_without_extension())
}

/// A function of a schema by its name and the types of its arguments, whatever the search path.
pub(crate) fn function_in(schema: pg_sys::Oid, name: &CStr, types: &[pg_sys::Oid]) -> Option<pg_sys::Oid> {
    let (cache, column) = (pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP, pg_sys::Anum_pg_proc_oid);
    // SAFETY: the keys are those of the cache: a name, an array of argument types, and a schema.
    unsafe {
        let types = pg_sys::buildoidvector(types.as_ptr(), types.len() as i32);
        let name = pg_sys::Datum::from(name.as_ptr());
        known(pg_sys::GetSysCacheOid(cache as _, column as i16, name, types.into(), schema.into(), 0.into()))
    }
}

pub(crate) fn type_in(schema: pg_sys::Oid, name: &CStr) -> Option<pg_sys::Oid> {
    let (cache, column) = (pg_sys::SysCacheIdentifier::TYPENAMENSP, pg_sys::Anum_pg_type_oid);
    let name = pg_sys::Datum::from(name.as_ptr());
    // SAFETY: the keys are those of the cache, a name and a schema.
    known(unsafe {
        pg_sys::GetSysCacheOid(cache as _, column as i16, name, schema.into(), 0.into(), 0.into())
    })
}

pub(crate) fn own_table(name: &str) -> Option<pg_sys::Oid> {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: a string that ends.
    known(unsafe { pg_sys::get_relname_relid(name.as_ptr(), own_schema()) })
}

/// What PostgreSQL answers, unless that is the number of nothing.
fn known(oid: pg_sys::Oid) -> Option<pg_sys::Oid> {
    (oid != pg_sys::InvalidOid).then_some(oid)
}

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Whether another role than the caller, and no superuser, owns something: its code must not run as the caller. A
/// condition of SQL on `o`, a row of `pg_roles`.
pub(crate) const FOREIGN: &str = "NOT o.rolsuper AND o.rolname OPERATOR(pg_catalog.<>) current_user";

/// A type, the role that uses it, and the one in whose table its values are stored.
type Checked = (pg_sys::Oid, pg_sys::Oid, Option<pg_sys::Oid>);

/// Of what the answer depends on.
static CHANGES: Changes = {
    use pg_sys::SysCacheIdentifier::*;
    Changes::of(&[TYPEOID, ATTNUM, PROCOID, AUTHOID, CLAOID, AMPROCNUM, AMOPOPID])
};

thread_local! {
    /// What was found to be right after so many.
    static CHECKED: RefCell<(u64, Vec<Checked>)> = const { RefCell::new((0, Vec::new())) };
}

/// Whether PostgreSQL comes with something of the catalogue.
pub(crate) fn is_built_in(oid: pg_sys::Oid) -> bool {
    oid.to_u32() < pg_sys::FirstNormalObjectId
}

/// Sees to it that values of a type can be written, compared and hashed by functions of nobody but the caller and superusers:
/// its own ones, those of operator classes, and those of all types that it is made of. Casts do not count: only those of
/// PostgreSQL's own types are ever taken. `stored`: values are made of their text or stored in a table of this role, so that
/// checks of a domain run, of which it may be the owner too, and by ANALYZE what a range has for differences. Raises 0A000.
pub(crate) fn check_type(typoid: pg_sys::Oid, stored: Option<pg_sys::Oid>) {
    if is_built_in(typoid) {
        return;
    }
    let before = CHANGES.count();
    let key = (typoid, user(), stored);
    if CHECKED.with_borrow(|(at, checked)| *at == before && checked.contains(&key)) {
        return;
    }
    let sql = format!(
        "WITH RECURSIVE made AS (SELECT $1 AS oid UNION SELECT part.oid FROM made JOIN pg_catalog.pg_type t \
                 ON t.oid OPERATOR(pg_catalog.=) made.oid CROSS JOIN LATERAL (\
                     SELECT t.typbasetype AS oid UNION ALL SELECT t.typelem \
                     UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE r.rngtypid OPERATOR(pg_catalog.=) t.oid \
                     UNION ALL SELECT r.rngtypid FROM pg_catalog.pg_range r WHERE r.rngmultitypid OPERATOR(pg_catalog.=) t.oid \
                     UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) t.typrelid \
                         AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped) part \
             WHERE part.oid OPERATOR(pg_catalog.>=) {}), \
         type AS (SELECT t.*, r.* FROM made JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) made.oid \
             LEFT JOIN pg_catalog.pg_range r ON r.rngtypid OPERATOR(pg_catalog.=) t.oid), \
         class AS (SELECT c.opcfamily FROM pg_catalog.pg_opclass c JOIN type \
             ON c.opcintype OPERATOR(pg_catalog.=) type.oid OR c.oid OPERATOR(pg_catalog.=) type.rngsubopc), \
         function AS (SELECT u.oid FROM type CROSS JOIN LATERAL pg_catalog.unnest(ARRAY[type.typinput, type.typoutput, \
                 type.rngcanonical, CASE WHEN $2 IS NOT NULL THEN type.rngsubdiff END]::pg_catalog.oid[]) AS u(oid) \
             UNION SELECT s.amproc FROM class JOIN pg_catalog.pg_amproc s ON s.amprocfamily OPERATOR(pg_catalog.=) class.opcfamily \
             UNION SELECT o.oprcode FROM class JOIN pg_catalog.pg_amop s ON s.amopfamily OPERATOR(pg_catalog.=) class.opcfamily \
                 JOIN pg_catalog.pg_operator o ON o.oid OPERATOR(pg_catalog.=) s.amopopr) \
         SELECT pg_catalog.format('%s of role %s', owned.what, o.rolname) FROM (\
             SELECT 'function ' OPERATOR(pg_catalog.||) p.oid::pg_catalog.regprocedure::pg_catalog.text AS what, p.proowner AS owner \
               FROM function JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) function.oid \
             UNION ALL SELECT 'type ' OPERATOR(pg_catalog.||) pg_catalog.format_type(type.oid, NULL), type.typowner FROM type \
              WHERE CASE WHEN type.typtype OPERATOR(pg_catalog.=) 'd' THEN type.typowner OPERATOR(pg_catalog.<>) $2 \
                    WHEN type.typtype OPERATOR(pg_catalog.=) 'b' THEN type.typoutput::pg_catalog.oid OPERATOR(pg_catalog.<>) 'pg_catalog.array_out'::pg_catalog.regproc::pg_catalog.oid END) owned \
         JOIN pg_catalog.pg_roles o ON o.oid OPERATOR(pg_catalog.=) owned.owner WHERE {FOREIGN} ORDER BY 1 LIMIT 1",
        pg_sys::FirstNormalObjectId
    );
    let found = query_catalogue(sql, &[Argument::of(typoid), Argument::of(stored)], |row| row.text(0));
    if let Some(what) = found.into_iter().flatten().next() {
        let name = Column::new("", typoid, pg_sys::InvalidOid).type_name();
        raise_unsupported(
            format!("values of type {name} are not used: {what} would run as you"),
            "Only what is yours or a superuser's is run. Leave the column out, or give a query that has format('%s', column) in \
             its place.",
        )
    }
    CHECKED.with_borrow_mut(|(at, checked)| {
        if *at != before {
            (*at, *checked) = (before, Vec::new());
        }
        checked.push(key);
    });
}

/// An expression for the text of another, of this type: by the function that writes the type's values, because a cast may be
/// one that somebody else has made. NULL stays NULL, and a day is written alike in all sessions. Raises as [`check_type`].
pub(crate) fn as_text(value: &str, typoid: pg_sys::Oid) -> String {
    check_type(typoid, None);
    let base = base_type(typoid);
    if base == pg_sys::DATEOID {
        return format!("{}._iso({value})", schema());
    }
    if is_built_in(base) {
        return format!("{value}::pg_catalog.text");
    }
    format!(
        "CASE WHEN pg_catalog.num_nulls({value}) OPERATOR(pg_catalog.=) 0 THEN pg_catalog.format('%s', {value}) END"
    )
}

/// The same of which every session makes the same value: with the blanks that a character column is filled up with, and the
/// numbers of objects for their names.
pub(crate) fn as_exact_text(value: &str, typoid: pg_sys::Oid) -> String {
    let base = base_type(typoid);
    // SAFETY: any oid is answered.
    let element = unsafe { pg_sys::get_element_type(base) };
    // A vector of them is written as numbers anyway, and not as an array.
    let is_array = element != pg_sys::InvalidOid && base != pg_sys::OIDVECTOROID;
    let (of, array) = if is_array { (element, "[]") } else { (base, "") };
    // SAFETY: as above.
    let is_object = of != pg_sys::INT4OID && unsafe { pg_sys::IsBinaryCoercible(of, pg_sys::OIDOID) };
    match base {
        pg_sys::BPCHAROID => format!("pg_catalog.textin(pg_catalog.bpcharout({value}))"),
        _ if is_object => format!("{value}::pg_catalog.oid{array}::pg_catalog.text"),
        _ => as_text(value, typoid),
    }
}

/// Keeps the columns of a table as they are to the end of the transaction. Who looks at their types, by [`query_catalogue`],
/// and then reads them does this first: while the read waits for a lock, the owner could give them types whose casts run as
/// the reader.
pub(crate) fn lock_columns(table: pg_sys::Oid) {
    lock_relation(table, pg_sys::AccessShareLock)
}

pub(crate) fn lock_relation(table: pg_sys::Oid, mode: u32) {
    // SAFETY: any oid can be locked.
    unsafe { pg_sys::LockRelationOid(table, mode as i32) }
}

/// The equality operator of a type, as SQL writes it whatever the search path, if there is one.
/// Raises as [`check_type`], and for a type that shares its operator with others, as enums do, and has an implicit cast: PostgreSQL
/// would not know whether to compare its values or what the cast makes of them.
pub(crate) fn equality(typoid: pg_sys::Oid) -> Option<String> {
    check_type(typoid, None);
    let (base, operator) = (base_type(typoid), type_cache(typoid, pg_sys::TYPECACHE_EQ_OPR).eq_opr);
    const SQL: &str = "SELECT pg_catalog.format('OPERATOR(%I.%s)', n.nspname, o.oprname), \
             (SELECT pg_catalog.format_type(k.casttarget, NULL) FROM pg_catalog.pg_cast k JOIN pg_catalog.pg_type t \
                 ON t.oid OPERATOR(pg_catalog.=) o.oprleft AND t.typtype OPERATOR(pg_catalog.=) 'p' \
               WHERE k.castsource OPERATOR(pg_catalog.=) $2 AND k.castcontext OPERATOR(pg_catalog.=) 'i' \
               ORDER BY k.casttarget LIMIT 1) \
         FROM pg_catalog.pg_operator o JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) o.oprnamespace \
         WHERE o.oid OPERATOR(pg_catalog.=) $1";
    let read = |row: &Values<'_>| (row.text(0), row.text(1));
    let (written, cast) = query_catalogue(SQL, &[operator, base].map(Argument::of), read).pop()?;
    if let Some(target) = cast {
        let name = Column::new("", base, pg_sys::InvalidOid).type_name();
        raise_unsupported(
            format!("values of type {name} cannot be compared: it has an implicit cast to {target}"),
            "Make that cast one AS ASSIGNMENT, or give a query that has format('%s', column) in its place.",
        )
    }
    written
}

/// The type that a domain is over, any other type itself, as SQL writes it whatever the search path, without a length.
pub(crate) fn base_type_name(typoid: pg_sys::Oid) -> String {
    // With a modifier of -1: bpchar, for "character" alone means a length of one.
    let flags = pg_sys::FORMAT_TYPE_FORCE_QUALIFY | pg_sys::FORMAT_TYPE_TYPEMOD_GIVEN;
    // SAFETY: any oid is answered by a string.
    unsafe { string(pg_sys::format_type_extended(base_type(typoid), -1, flags as u16)) }
}

pub(crate) fn array_type(typoid: pg_sys::Oid) -> Option<pg_sys::Oid> {
    // SAFETY: any oid is answered.
    known(unsafe { pg_sys::get_array_type(typoid) })
}

/// `name_label`, cut to the length of an identifier as PostgreSQL cuts the names of indexes.
pub(crate) fn object_name(name: &str, label: &str) -> String {
    let (name, label) = (CString::new(name).unwrap_or_default(), CString::new(label).unwrap_or_default());
    // SAFETY: strings that end; the answer is one too.
    unsafe { string(pg_sys::makeObjectName(name.as_ptr(), std::ptr::null(), label.as_ptr())) }
}

pub(crate) fn may_read(table: pg_sys::Oid) -> bool {
    let select = pg_sys::ACL_SELECT as pg_sys::AclMode;
    // SAFETY: a look-up in the catalogue.
    unsafe { pg_sys::pg_class_aclcheck(table, user(), select) == pg_sys::AclResult::ACLCHECK_OK }
}

/// Whether row-level security may hide rows of the table from the user.
pub(crate) fn has_row_security(table: pg_sys::Oid) -> bool {
    // SAFETY: a look-up in the catalogue.
    let secured = unsafe { pg_sys::check_enable_rls(table, pg_sys::InvalidOid, true) };
    secured == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
}

/// The role whose rights count now.
pub(crate) fn user() -> pg_sys::Oid {
    // SAFETY: a plain read of a variable.
    unsafe { pg_sys::GetUserId() }
}

/// Whether each statement sees what others committed before it.
pub(crate) fn is_read_committed() -> bool {
    // SAFETY: a plain read of a variable.
    unsafe { pg_sys::XactIsoLevel <= pg_sys::XACT_READ_COMMITTED as i32 }
}

// pgrx has no bindings of these; they are guarded below as those that pgrx has.
unsafe extern "C-unwind" {
    fn find_all_inheritors(
        parent: pg_sys::Oid,
        mode: pg_sys::LOCKMODE,
        parents: *mut *mut pg_sys::List,
    ) -> *mut pg_sys::List;
    fn get_partition_ancestors(relation: pg_sys::Oid) -> *mut pg_sys::List;
}

/// A table and those that inherit from it, such as its partitions, each locked with `mode`.
pub(crate) fn inheritors(table: pg_sys::Oid, mode: u32) -> Vec<pg_sys::Oid> {
    // SAFETY: any oid is answered with a list of oids.
    unsafe {
        let found = pg_guard_ffi_boundary(|| find_all_inheritors(table, mode as i32, std::ptr::null_mut()));
        PgList::<pg_sys::Oid>::from_pg(found).iter_oid().collect()
    }
}

/// The tables of which a partition is one, the topmost last.
pub(crate) fn ancestors(partition: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    // SAFETY: as above.
    unsafe {
        let found = pg_guard_ffi_boundary(|| get_partition_ancestors(partition));
        PgList::<pg_sys::Oid>::from_pg(found).iter_oid().collect()
    }
}
