//! What a generated column of fingerprints, or an index that is searched, is made of, and which columns can be.

use super::relation::{Table, becomes_text, way_to_text};
use crate::pg::{Argument, Json, base_type, node, nth, query_all, quote_literal, string};
use dedup_core::details::Statistics;
use pgrx::{FromDatum, PgList, PgRelation, pg_sys};
use serde_json::Value;

/// Whether all of these columns of a table can be read as text.
pub(super) fn all_become_text(table: pg_sys::Oid, names: &[String]) -> bool {
    let table = Table::of(table);
    names.iter().all(|name| table.find(name).is_some_and(|it| becomes_text(it.typoid)))
}

/// What a generated column is, if it is a fingerprint by `simhash(text, jsonb)` or `simhash(text[], jsonb)`.
#[derive(PartialEq)]
pub(crate) struct Generated {
    /// The columns that it is made of.
    pub(crate) columns: Vec<String>,
    /// Their recipes, one each.
    pub(crate) recipes: Vec<Value>,
}

impl Generated {
    pub(crate) fn of(table: pg_sys::Oid, column: &str) -> Option<Generated> {
        Generated::all(table).into_iter().find(|(name, _)| name == column).map(|(_, it)| it)
    }

    /// All such columns of a table, with their names.
    pub(crate) fn all(table: pg_sys::Oid) -> Vec<(String, Generated)> {
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
    pub(crate) fn made_otherwise(table: pg_sys::Oid, column: &str) -> Option<pg_sys::Oid> {
        // What is written alike is made alike, for the columns are of one name and type: so nearly all need not be opened.
        const SQL: &str = "WITH RECURSIVE tree AS (SELECT $1 AS oid UNION \
                SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON tree.oid OPERATOR(pg_catalog.=) i.inhparent), \
            made AS (SELECT tree.oid, pg_catalog.pg_get_expr(d.adbin, d.adrelid) AS expression FROM tree \
                JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) tree.oid \
                    AND a.attname OPERATOR(pg_catalog.=) $2::pg_catalog.name \
                LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid OPERATOR(pg_catalog.=) a.attrelid \
                    AND d.adnum OPERATOR(pg_catalog.=) a.attnum) \
            SELECT made.oid FROM made, made whole WHERE whole.oid OPERATOR(pg_catalog.=) $1 \
              AND (made.expression OPERATOR(pg_catalog.=) whole.expression) IS NOT TRUE ORDER BY made.oid";
        let different = query_all(SQL, &[Argument::of(table), Argument::of(column)], |row| row.oid(0));
        let whole = Generated::of(table, column);
        different.into_iter().flatten().find(|&member| Generated::of(member, column) != whole)
    }

    fn read(table: &PgRelation, column: i16) -> Option<Generated> {
        // SAFETY: the relation is open and has the column; nodes are what their tags say.
        unsafe {
            let made = pg_sys::build_column_default(table.as_ptr(), i32::from(column));
            let call =
                Some(made).filter(|made| !made.is_null()).and_then(|made| node::<pg_sys::FuncExpr>(made))?;
            if !is_ours(call.funcid, "simhash") {
                return None;
            }
            let content = nth(call.args, 0)?;
            let recipe = nth(call.args, 1).map_or(Some(Value::Null), |recipe| constant(recipe))?;
            let columns = columns_in(table, content)?;
            let recipes = match recipe {
                one if node::<pg_sys::ArrayExpr>(content).is_none() => vec![one],
                Value::Array(recipes) => recipes,
                _ => return None,
            };
            Some(Generated { columns, recipes })
        }
    }
}

/// The columns whose texts an expression is, or an array of such.
///
/// # Safety
/// `of` is an expression over the table's columns.
unsafe fn columns_in(table: &PgRelation, of: *mut pg_sys::Node) -> Option<Vec<String>> {
    // SAFETY: the caller's promise, and what the tag says.
    unsafe {
        let Some(array) = node::<pg_sys::ArrayExpr>(of) else { return Some(vec![column_in(table, of)?]) };
        PgList::<pg_sys::Node>::from_pg(array.elements)
            .iter_ptr()
            .map(|element| column_in(table, element))
            .collect()
    }
}

/// Whether something of the catalogue `class` is the extension's.
fn is_of_extension(class: pg_sys::Oid, object: pg_sys::Oid) -> bool {
    // SAFETY: look-ups in the catalogue.
    unsafe {
        let extension = pg_sys::getExtensionOfObject(class, object);
        extension == pg_sys::get_extension_oid(c"pg_dedup".as_ptr(), true)
    }
}

/// Whether a function is the extension's of this name.
fn is_ours(function: pg_sys::Oid, called: &str) -> bool {
    // SAFETY: a look-up in the catalogue; a name, if there is one, ends.
    let name = || unsafe { string(pg_sys::get_func_name(function)) };
    is_of_extension(pg_sys::ProcedureRelationId, function) && name() == called
}

/// The value of a constant of type jsonb.
///
/// # Safety
/// `of` is an expression.
unsafe fn constant(of: *mut pg_sys::Node) -> Option<Value> {
    // SAFETY: the caller's promise, and what the type says.
    unsafe {
        let constant = node::<pg_sys::Const>(of)?;
        if constant.consttype != pg_sys::JSONBOID {
            return None;
        }
        Some(Json::from_datum(constant.constvalue, constant.constisnull).map_or(Value::Null, |json| json.0))
    }
}

/// The column whose text an expression is: the column itself, or PostgreSQL's own cast of it.
///
/// # Safety
/// `of` is an expression over the table's columns.
unsafe fn column_in(table: &PgRelation, of: *mut pg_sys::Node) -> Option<String> {
    // SAFETY: the caller's promise; nodes are what their tags say, and a column that is read has a name.
    unsafe {
        let found = PgList::<pg_sys::Var>::from_pg(pg_sys::pull_var_clause(of, 0));
        let (variable, 1) = (found.get_ptr(0)?, found.len()) else { return None };
        let base = base_type((*variable).vartype);
        let (path, function) = way_to_text(base);
        use pg_sys::CoercionPathType::{COERCION_PATH_COERCEVIAIO, COERCION_PATH_FUNC};
        let cast = relabelled(of, None);
        let uncast = match (path, node::<pg_sys::FuncExpr>(cast), node::<pg_sys::CoerceViaIO>(cast)) {
            (_, Some(call), _) if base == pg_sys::DATEOID => {
                nth(call.args, 0).filter(|_| is_ours(call.funcid, "_iso"))?
            }
            (COERCION_PATH_FUNC, Some(call), _) => {
                nth(call.args, 0).filter(|_| call.funcid == function && nth(call.args, 1).is_none())?
            }
            (COERCION_PATH_COERCEVIAIO, _, Some(written)) => written.arg.cast(),
            _ => cast,
        };
        // A domain is its base type. Under another name a value may be another text: -1 as an oid.
        if relabelled(uncast, Some(base)) != variable.cast() {
            return None;
        }
        let name = string(pg_sys::get_attname(table.oid(), (*variable).varattno, true));
        Some(name).filter(|name| !name.is_empty())
    }
}

/// An expression without the relabellings around it, or only those as the type `to`.
///
/// # Safety
/// `of` is an expression.
unsafe fn relabelled(mut of: *mut pg_sys::Node, to: Option<pg_sys::Oid>) -> *mut pg_sys::Node {
    // SAFETY: the caller's promise.
    while let Some(relabel) = unsafe { node::<pg_sys::RelabelType>(of) }
        && to.is_none_or(|to| relabel.resulttype == to)
    {
        of = relabel.arg.cast();
    }
    of
}

/// What rows are found by.
#[derive(Clone, PartialEq)]
pub(crate) enum Searched {
    /// The n-grams of their texts, of so many characters.
    Grams(usize),
    /// The keys of records, as `record_keys` has them.
    Keys(String),
    /// The same, of whatever kinds the columns are.
    AnyKeys,
}

impl Searched {
    /// By the keys of the model in the statistics, if there is one, else by n-grams.
    pub(crate) fn of(statistics: Option<&Statistics>, n: usize) -> Searched {
        let model = statistics.and_then(|it| it.records.as_ref());
        model.map_or(Searched::Grams(n), |model| Searched::Keys(model.keys().letters()))
    }

    /// The call of SQL for columns of a table: the text of one, or the array of several.
    pub(crate) fn call(&self, tools: &str, table: &Table, columns: &[&str]) -> String {
        let texts: Vec<String> = columns.iter().map(|name| table.generated_text(name)).collect();
        let texts = if let [one] = &texts[..] { one.clone() } else { format!("ARRAY[{}]", texts.join(", ")) };
        match self {
            Searched::Grams(n) => format!("{tools}.ngrams({texts}, {n})"),
            Searched::AnyKeys => unreachable!("columns are of some kinds"),
            Searched::Keys(letters) => {
                format!("{tools}.record_keys({texts}, {}::pg_catalog.text)", quote_literal(letters))
            }
        }
    }

    /// Whether it is the one of a call.
    ///
    /// # Safety
    /// `call` is a call of a function.
    unsafe fn is_of(&self, call: &pg_sys::FuncExpr) -> bool {
        // SAFETY: the caller's promise, and what the tag and the function say.
        unsafe {
            let second = nth(call.args, 1).and_then(|second| node::<pg_sys::Const>(second));
            let Some(value) = second else { return false };
            match self {
                Searched::Grams(n) => {
                    is_ours(call.funcid, "ngrams") && value.constvalue.value() as i32 as usize == *n
                }
                Searched::AnyKeys => is_ours(call.funcid, "record_keys"),
                Searched::Keys(letters) => {
                    is_ours(call.funcid, "record_keys")
                        && String::from_datum(value.constvalue, value.constisnull).as_ref() == Some(letters)
                }
            }
        }
    }
}

/// An index that finds rows so, of these columns.
pub(crate) fn search_index(table: &PgRelation, columns: &[&str], by: &Searched) -> Option<pg_sys::Oid> {
    // SAFETY: the table is open; its indexes are opened and closed here; nodes are what their tags say.
    unsafe {
        let indexes = PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(table.as_ptr()));
        indexes.iter_oid().find(|&index| {
            let index = PgRelation::with_lock(index, pg_sys::AccessShareLock as i32);
            let form = &*(*index.as_ptr()).rd_index;
            let is_ours_and_whole = (*(*index.as_ptr()).rd_rel).relam == pg_sys::GIN_AM_OID
                && form.indisvalid
                && form.indisready
                && form.indnatts == 1
                && is_of_extension(pg_sys::OperatorFamilyRelationId, *(*index.as_ptr()).rd_opfamily)
                && pg_sys::RelationGetIndexPredicate(index.as_ptr()).is_null();
            let of = || {
                let expression = nth(pg_sys::RelationGetIndexExpressions(index.as_ptr()), 0)?;
                let call = node::<pg_sys::FuncExpr>(expression)?;
                if by.is_of(call) { columns_in(table, nth(call.args, 0)?) } else { None }
            };
            is_ours_and_whole && of().is_some_and(|found| found == columns)
        })
    }
}
