//! A table as it is set up: its columns, what they can be cast to, and what a
//! generated column is made of.

use super::settings::{root, table_name};
use crate::pg::catalog::{check_type, is_built_in};
use crate::pg::spi::{Argument, query_all, scalar};
use crate::pg::{Json, raise};
use pgrx::datum::FromDatum;
use pgrx::{PgList, PgRelation, PgSqlErrorCode, is_a, pg_sys};
use serde_json::Value;
use std::ffi::CStr;

/// A table that is set up.
pub(super) struct Table {
    pub oid: pg_sys::Oid,
    /// With its schema, quoted where SQL needs it.
    pub name: String,
    pub columns: Vec<Column>,
    /// The columns of the primary key.
    key: Vec<String>,
}

pub(super) struct Column {
    pub name: String,
    typoid: pg_sys::Oid,
    pub type_name: String,
    generated: bool,
}

const HINT: &str = "Settings are of a table of your own: SELECT * FROM dedup_setup('ticket').";

impl Table {
    /// The table, if settings can be given to it by the caller.
    ///
    /// # Errors
    /// Raises 42809 if it is no table, 42501 if it is somebody else's.
    pub fn to_set_up(oid: pg_sys::Oid) -> Table {
        const SQL: &str = "SELECT c.relkind::pg_catalog.text, c.relispartition::pg_catalog.text, \
                pg_catalog.pg_has_role(c.relowner, 'USAGE')::pg_catalog.text, \
                pg_catalog.pg_get_userbyid(c.relowner)::pg_catalog.text \
            FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) $1";
        let name = table_name(oid);
        let found = query_all(SQL, &[Argument::of(oid)], |row| {
            [0, 1, 2, 3].map(|at| row.text(at).unwrap_or_default())
        });
        let Some([kind, is_partition, is_own, owner]) = found.into_iter().next() else {
            wrong_kind(&name, "a table", HINT)
        };
        match kind.as_str() {
            "r" | "p" if is_partition == "false" => {}
            "r" | "p" => {
                let hint = format!("Set up the table that it is a partition of, {}.", table_name(root(oid)));
                wrong_kind(&name, "a table of its own but a partition", &hint)
            }
            "v" | "m" => wrong_kind(
                &name,
                "a table but a view",
                "A view has no column for the fingerprint: set up the table that it reads, or give dedup a query.",
            ),
            "f" => wrong_kind(
                &name,
                "a table but a foreign table",
                "The fingerprint must be stored beside the row: set up the table on its own server, or give dedup a query.",
            ),
            _ => wrong_kind(&name, "a table", HINT),
        }
        if is_own != "true" {
            raise(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("must be owner of table {name}"),
                format!("A table is set up by its owner, which is {owner}."),
            )
        }
        Table::of(oid)
    }

    pub fn of(oid: pg_sys::Oid) -> Table {
        Table { oid, name: table_name(oid), columns: columns(oid), key: key_columns(oid) }
    }

    /// The column called `name`.
    ///
    /// # Errors
    /// Raises 42703 if there is none.
    pub fn column(&self, name: &str) -> &Column {
        self.columns.iter().find(|column| column.name == name).unwrap_or_else(|| {
            let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
            raise(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                format!("table {} has no column \"{name}\"", self.name),
                format!("Its columns are: {}.", names.join(", ")),
            )
        })
    }

    /// Refuses what can be the name of no column.
    ///
    /// # Errors
    /// Raises 42701 for that of a system column.
    pub fn check_new_name(&self, name: &str) {
        const SQL: &str = "SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_attribute a \
            WHERE a.attrelid OPERATOR(pg_catalog.=) $1 AND a.attnum OPERATOR(pg_catalog.<) 0 \
              AND a.attname OPERATOR(pg_catalog.=) $2::pg_catalog.name";
        if scalar(SQL, &[Argument::of(self.oid), Argument::of(name)]).is_some() {
            raise(
                PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN,
                format!("\"{name}\" is a system column, which every table has"),
                "Give the fingerprint another column: '{\"fp\": \"…\"}'.",
            )
        }
    }

    /// Refuses a primary key that is no id.
    ///
    /// # Errors
    /// Raises 42P16 if it is of several columns.
    pub fn check_key(&self) {
        if self.key.len() > 1 {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_TABLE_DEFINITION,
                format!(
                    "the primary key of table {} is of several columns: {}",
                    self.name,
                    self.key.join(", ")
                ),
                "Name the column of the ids: '{\"id\": \"…\"}'.",
            )
        }
    }

    /// The columns of running text if none is named: the only one of a text type
    /// that is not the key.
    ///
    /// # Errors
    /// Raises 42P16 if there is none, or more than one.
    pub fn text_column(&self) -> &Column {
        let is_key = |column: &Column| self.key.contains(&column.name);
        let texts: Vec<&Column> =
            self.columns.iter().filter(|column| column.is_text() && !is_key(column)).collect();
        match texts[..] {
            [one] => one,
            [] => {
                self.columns
                    .iter()
                    .find(|column| !is_key(column))
                    .into_iter()
                    .for_each(Column::check_no_digits);
                raise(
                    PgSqlErrorCode::ERRCODE_INVALID_TABLE_DEFINITION,
                    format!("table {} has no column of a text type", self.name),
                    "Name the columns that count: dedup_setup(…, '{\"columns\": [\"…\"]}').",
                )
            }
            ref several => {
                let names: Vec<String> =
                    several.iter().map(|column| Value::from(column.name.as_str()).to_string()).collect();
                raise(
                    PgSqlErrorCode::ERRCODE_INVALID_TABLE_DEFINITION,
                    format!(
                        "table {} has more than one column of a text type: {}",
                        self.name,
                        names.join(", ")
                    ),
                    format!(
                        "Name those that count: dedup_setup(…, '{{\"columns\": [{}]}}'), or with weights: '{{\"columns\": {{{}: 20, {}: null}}}}'.",
                        names.join(", "),
                        names[0],
                        names[1]
                    ),
                )
            }
        }
    }
}

fn wrong_kind(name: &str, what: &str, hint: &str) -> ! {
    raise(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, format!("{name} is not {what}"), hint)
}

impl Column {
    fn queried(&self) -> crate::pg::Column {
        crate::pg::Column::new(&self.name, self.typoid, pg_sys::InvalidOid)
    }

    /// As a column of a query.
    pub fn is_digits(&self) -> bool {
        self.queried().is_digits()
    }

    /// As a column of a query.
    pub fn check_no_digits(&self) {
        self.queried().check_no_digits()
    }

    pub fn is_text(&self) -> bool {
        // SAFETY: any oid is answered.
        unsafe {
            pg_sys::getBaseType(self.typoid) == pg_sys::BPCHAROID
                || pg_sys::IsBinaryCoercible(self.typoid, pg_sys::TEXTOID)
        }
    }

    /// The column's value as text, in a generation expression.
    ///
    /// # Errors
    /// Raises 428C9 for a generated column, 42P17 for one whose values are written
    /// as a setting of the session says.
    pub fn as_text(&self, table: &str) -> String {
        let name = pgrx::spi::quote_identifier(&self.name);
        if self.generated {
            raise(
                PgSqlErrorCode::ERRCODE_GENERATED_ALWAYS,
                format!("column \"{}\" of table {table} is generated", self.name),
                "PostgreSQL makes no generated column of another one. Name the columns that it is made of.",
            )
        }
        if self.typoid == pg_sys::TEXTOID {
            return name;
        }
        if !becomes_text(self.typoid) {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION,
                format!(
                    "column \"{}\" of table {table} is {}, whose text is not always the same",
                    self.name, self.type_name
                ),
                "It depends on settings of the session or on a cast of your own, so it is no part of a generated column. \
                 Keep the text in a column of its own, or fill the fingerprint by simhash_trigger.",
            )
        }
        name + "::pg_catalog.text"
    }
}

/// Whether values of a type become the same text whatever the session's settings, and by no code
/// of another role: a cast would run it as whoever searches the table.
fn becomes_text(typoid: pg_sys::Oid) -> bool {
    let is_immutable = |function: pg_sys::Oid| {
        // SAFETY: the catalogue names the function.
        unsafe { pg_sys::func_volatile(function) as u8 == pg_sys::PROVOLATILE_IMMUTABLE }
    };
    check_type(typoid, None);
    // SAFETY: any oid is answered; a type has an output function.
    unsafe {
        let base = pg_sys::getBaseType(typoid);
        match way_to_text(base) {
            (pg_sys::CoercionPathType::COERCION_PATH_RELABELTYPE, _) => true,
            (pg_sys::CoercionPathType::COERCION_PATH_FUNC, cast) => is_built_in(cast) && is_immutable(cast),
            (pg_sys::CoercionPathType::COERCION_PATH_COERCEVIAIO, _) => {
                let (mut output, mut is_varlena) = (pg_sys::InvalidOid, false);
                pg_sys::getTypeOutputInfo(base, &mut output, &mut is_varlena);
                is_immutable(output) && !follows_settings(base)
            }
            _ => false,
        }
    }
}

/// Whether values are written as `extra_float_digits` or `bytea_output` says, though PostgreSQL calls that immutable.
fn follows_settings(base: pg_sys::Oid) -> bool {
    matches!(
        base,
        pg_sys::FLOAT4OID
            | pg_sys::FLOAT8OID
            | pg_sys::BYTEAOID
            | pg_sys::POINTOID
            | pg_sys::LSEGOID
            | pg_sys::PATHOID
            | pg_sys::BOXOID
            | pg_sys::POLYGONOID
            | pg_sys::LINEOID
            | pg_sys::CIRCLEOID
    )
}

/// How PostgreSQL casts a type that is no domain to text, and by which function if it is by one.
fn way_to_text(base: pg_sys::Oid) -> (pg_sys::CoercionPathType::Type, pg_sys::Oid) {
    let mut function = pg_sys::InvalidOid;
    let explicit = pg_sys::CoercionContext::COERCION_EXPLICIT;
    // SAFETY: any pair of types is answered.
    let path = unsafe { pg_sys::find_coercion_pathway(pg_sys::TEXTOID, base, explicit, &mut function) };
    (path, function)
}

fn columns(table: pg_sys::Oid) -> Vec<Column> {
    const SQL: &str = "SELECT a.attname::pg_catalog.text, a.atttypid::pg_catalog.text, \
            pg_catalog.format_type(a.atttypid, a.atttypmod), \
            (a.attgenerated OPERATOR(pg_catalog.<>) '')::pg_catalog.text \
        FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) $1 \
          AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped ORDER BY a.attnum";
    query_all(SQL, &[Argument::of(table)], |row| {
        let cell = |at| row.text(at).unwrap_or_default();
        let typoid = cell(1).parse().map_or(pg_sys::InvalidOid, pg_sys::Oid::from_u32);
        Column { name: cell(0), typoid, type_name: cell(2), generated: cell(3) == "true" }
    })
}

/// The table of a name, as SQL writes it.
///
/// # Errors
/// Those of a cast to regclass: 42P01 if there is no such table.
pub(super) fn table_called(name: &str) -> pg_sys::Oid {
    const SQL: &str = "SELECT $1::pg_catalog.regclass::pg_catalog.oid::pg_catalog.text";
    scalar(SQL, &[Argument::of(name)])
        .and_then(|oid| oid.parse().ok())
        .map_or(pg_sys::InvalidOid, pg_sys::Oid::from_u32)
}

/// The columns of the primary key of a table.
fn key_columns(table: pg_sys::Oid) -> Vec<String> {
    const SQL: &str = "SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_index i, \
            pg_catalog.generate_series(0, i.indnkeyatts OPERATOR(pg_catalog.-) 1) n \
        JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) $1 \
        WHERE a.attnum OPERATOR(pg_catalog.=) i.indkey[n] \
          AND i.indrelid OPERATOR(pg_catalog.=) $1 AND i.indisprimary ORDER BY n";
    query_all(SQL, &[Argument::of(table)], |row| row.text(0)).into_iter().flatten().collect()
}

/// The primary key of a table, if it is one column.
pub(super) fn primary_key(table: pg_sys::Oid) -> Option<String> {
    match <[String; 1]>::try_from(key_columns(table)) {
        Ok([column]) => Some(column),
        Err(_) => None,
    }
}

/// Whether all of these columns of a table can be read as text.
pub(super) fn all_become_text(table: pg_sys::Oid, names: &[String]) -> bool {
    let columns = columns(table);
    let becomes = |name: &String| columns.iter().any(|it| it.name == *name && becomes_text(it.typoid));
    names.iter().all(becomes)
}

/// The type of a column of a table.
///
/// # Errors
/// Raises 42703 if there is none of that name.
pub(super) fn type_of(table: pg_sys::Oid, column: &str) -> pg_sys::Oid {
    columns(table).into_iter().find(|it| it.name == column).map(|it| it.typoid).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!(
                "table {} has no column \"{column}\" any more, which its settings name as id",
                table_name(table)
            ),
            "Run dedup_setup again with another id.",
        )
    })
}

/// What a generated column is, if it is a fingerprint by `simhash(text, jsonb)` or
/// `simhash(text[], jsonb)`.
#[derive(PartialEq)]
pub(super) struct Generated {
    /// The columns that it is made of.
    pub columns: Vec<String>,
    /// Their weights, one each.
    pub weights: Vec<Value>,
}

impl Generated {
    /// The column of that name, if it is one.
    pub fn of(table: pg_sys::Oid, column: &str) -> Option<Generated> {
        Generated::all(table).into_iter().find(|(name, _)| name == column).map(|(_, it)| it)
    }

    /// All such columns of a table, with their names.
    pub fn all(table: pg_sys::Oid) -> Vec<(String, Generated)> {
        // SAFETY: the table exists; it is closed again when it is dropped.
        let table = &unsafe { PgRelation::with_lock(table, pg_sys::AccessShareLock as i32) };
        let descriptor = table.tuple_desc();
        let columns = descriptor.iter().filter(|it| !it.attisdropped && it.attgenerated != 0);
        let read = |it: &pg_sys::FormData_pg_attribute| {
            Some((it.name().to_owned(), Generated::read(table, it.attnum)?))
        };
        columns.filter_map(read).collect()
    }

    /// A table that inherits from `table`, such as a partition, and has another expression for the column: PostgreSQL
    /// allows that from version 16 on.
    pub fn made_otherwise(table: pg_sys::Oid, column: &str) -> Option<pg_sys::Oid> {
        // What is written alike is made alike, for the columns are of one name and type: so nearly all need not be opened.
        const SQL: &str = "WITH RECURSIVE tree AS (SELECT $1 AS oid UNION \
                SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON tree.oid OPERATOR(pg_catalog.=) i.inhparent), \
            made AS (SELECT tree.oid, pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS expression FROM tree \
                JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) tree.oid \
                    AND a.attname OPERATOR(pg_catalog.=) $2::pg_catalog.name \
                LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid OPERATOR(pg_catalog.=) a.attrelid \
                    AND d.adnum OPERATOR(pg_catalog.=) a.attnum) \
            SELECT made.oid::pg_catalog.text FROM made, made whole WHERE whole.oid OPERATOR(pg_catalog.=) $1 \
              AND (made.expression OPERATOR(pg_catalog.=) whole.expression) IS NOT TRUE ORDER BY made.oid";
        let different = query_all(SQL, &[Argument::of(table), Argument::of(column)], |row| row.text(0));
        let whole = Generated::of(table, column);
        let different = different.into_iter().flatten().filter_map(|oid| oid.parse().ok());
        different.map(pg_sys::Oid::from_u32).find(|&member| Generated::of(member, column) != whole)
    }

    fn read(table: &PgRelation, column: i16) -> Option<Generated> {
        // SAFETY: the relation is open and has the column; nodes are what their tags
        // say.
        unsafe {
            let node = pg_sys::build_column_default(table.as_ptr(), i32::from(column));
            if node.is_null() || !is_a(node, pg_sys::NodeTag::T_FuncExpr) {
                return None;
            }
            let call = &*node.cast::<pg_sys::FuncExpr>();
            if !is_ours(call.funcid, c"simhash") {
                return None;
            }
            let arguments: Vec<_> = PgList::<pg_sys::Node>::from_pg(call.args).iter_ptr().collect();
            let content = *arguments.first()?;
            let weights = match arguments.get(1) {
                None => Value::Null,
                Some(&weights) => constant(weights)?,
            };
            let columns = columns_in(table, content)?;
            let weights = match weights {
                one if !is_a(content, pg_sys::NodeTag::T_ArrayExpr) => vec![one],
                Value::Array(weights) => weights,
                _ => return None,
            };
            Some(Generated { columns, weights })
        }
    }
}

/// The columns whose texts an expression is, or an array of such.
///
/// # Safety
/// `node` is an expression over the table's columns.
pub(super) unsafe fn columns_in(table: &PgRelation, node: *mut pg_sys::Node) -> Option<Vec<String>> {
    // SAFETY: the caller's promise, and what the tag says.
    unsafe {
        if !is_a(node, pg_sys::NodeTag::T_ArrayExpr) {
            return Some(vec![column_in(table, node)?]);
        }
        let elements = PgList::<pg_sys::Node>::from_pg((*node.cast::<pg_sys::ArrayExpr>()).elements);
        elements.iter_ptr().map(|element| column_in(table, element)).collect()
    }
}

/// Whether something of the catalogue `class` is the extension's.
///
/// # Safety
/// Inside a transaction.
pub(super) unsafe fn is_of_extension(class: pg_sys::Oid, object: pg_sys::Oid) -> bool {
    // SAFETY: look-ups in the catalogue.
    unsafe {
        let extension = pg_sys::getExtensionOfObject(class, object);
        extension == pg_sys::get_extension_oid(c"pg_dedup".as_ptr(), true)
    }
}

/// Whether a function is the extension's of this name.
///
/// # Safety
/// Inside a transaction.
pub(super) unsafe fn is_ours(function: pg_sys::Oid, called: &CStr) -> bool {
    // SAFETY: look-ups in the catalogue; a name, if there is one, ends.
    unsafe {
        let name = pg_sys::get_func_name(function);
        is_of_extension(pg_sys::ProcedureRelationId, function)
            && !name.is_null()
            && CStr::from_ptr(name) == called
    }
}

/// The value of a constant of type jsonb.
///
/// # Safety
/// `node` is an expression.
unsafe fn constant(node: *mut pg_sys::Node) -> Option<Value> {
    // SAFETY: the caller's promise, and what the tag and the type say.
    unsafe {
        if !is_a(node, pg_sys::NodeTag::T_Const) {
            return None;
        }
        let constant = &*node.cast::<pg_sys::Const>();
        if constant.consttype != pg_sys::JSONBOID {
            return None;
        }
        Some(Json::from_datum(constant.constvalue, constant.constisnull).map_or(Value::Null, |json| json.0))
    }
}

/// The column whose text an expression is: the column itself, or PostgreSQL's own cast of it.
///
/// # Safety
/// `node` is an expression over the table's columns.
unsafe fn column_in(table: &PgRelation, node: *mut pg_sys::Node) -> Option<String> {
    // SAFETY: the caller's promise; nodes are what their tags say, and a column that is read has a name.
    unsafe {
        let found = PgList::<pg_sys::Var>::from_pg(pg_sys::pull_var_clause(node, 0));
        let (variable, 1) = (found.get_ptr(0)?, found.len()) else { return None };
        let base = pg_sys::getBaseType((*variable).vartype);
        let (path, function) = way_to_text(base);
        let cast = relabelled(node, None);
        let uncast = match path {
            pg_sys::CoercionPathType::COERCION_PATH_FUNC if is_a(cast, pg_sys::NodeTag::T_FuncExpr) => {
                let call = &*cast.cast::<pg_sys::FuncExpr>();
                let arguments = PgList::<pg_sys::Node>::from_pg(call.args);
                arguments.get_ptr(0).filter(|_| call.funcid == function && arguments.len() == 1)?
            }
            pg_sys::CoercionPathType::COERCION_PATH_COERCEVIAIO
                if is_a(cast, pg_sys::NodeTag::T_CoerceViaIO) =>
            {
                (*cast.cast::<pg_sys::CoerceViaIO>()).arg.cast()
            }
            _ => cast,
        };
        // A domain is its base type. Under another name a value may be another text: -1 as an oid.
        if relabelled(uncast, Some(base)) != variable.cast() {
            return None;
        }
        let name = pg_sys::get_attname(table.oid(), (*variable).varattno, true);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

/// An expression without the relabellings around it, or only those as the type `to`.
///
/// # Safety
/// `node` is an expression.
unsafe fn relabelled(mut node: *mut pg_sys::Node, to: Option<pg_sys::Oid>) -> *mut pg_sys::Node {
    // SAFETY: the caller's promise, and what the tag says.
    unsafe {
        while is_a(node, pg_sys::NodeTag::T_RelabelType) {
            let relabel = &*node.cast::<pg_sys::RelabelType>();
            if to.is_some_and(|to| relabel.resulttype != to) {
                break;
            }
            node = relabel.arg.cast();
        }
    }
    node
}
