//! The settings of a table as they are now. A session keeps what it has read
//! until the table or its settings change.

use super::table::{Generated, all_become_text};
use crate::corpus::{Database, raise_recipe};
use crate::pg::catalog::schema;
use crate::pg::spi::{Argument, query_all, scalar};
use crate::pg::{Record, Values, raise};
use dedup_core::dedup::Written;
use dedup_core::features::{FieldsRecipe, RowRecipe};
use dedup_core::similarity::Kinds;
use pgrx::spi::{quote_identifier, quote_literal};
use pgrx::{PgSqlErrorCode, pg_sys};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Once;

/// The latest version of a table's settings.
pub(crate) struct Settings {
    table: pg_sys::Oid,
    /// The columns that the fingerprint is made of, by their present names.
    pub(crate) columns: Vec<String>,
    stored: Stored,
}

/// A row of `dedup_settings`.
#[derive(Deserialize)]
pub(super) struct Stored {
    of: String,
    /// What was asked for.
    pub options: Map<String, Value>,
    columns: Vec<String>,
    /// One for each column, as in `simhash(text[], jsonb)`.
    pub weights: Vec<Value>,
    pub fp: String,
    id: Option<String>,
    pub distance: u32,
    pub similarity: f64,
    pub n: u32,
    particulars: Option<Value>,
    keep: Option<Value>,
    /// There was no text to choose by what was not asked for.
    pub empty: bool,
}

struct Kept {
    table: u32,
    /// The table whose settings they are: it, or the one that it is a partition of.
    of: u32,
    fresh: Cell<bool>,
    settings: Rc<Settings>,
}

thread_local! {
    static KEPT: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
    /// Counts the messages that tables have changed.
    static CHANGES: Cell<u64> = const { Cell::new(0) };
}

/// Called while PostgreSQL handles messages: it must not look anything up, nor
/// free what a running call may use. Oid 0 stands for all tables.
unsafe extern "C-unwind" fn table_changed(_: pg_sys::Datum, table: pg_sys::Oid) {
    let table = table.to_u32();
    let _ = CHANGES.try_with(|changes| changes.set(changes.get() + 1));
    let _ = KEPT.try_with(|kept| {
        if let Ok(kept) = kept.try_borrow() {
            kept.iter().filter(|it| [0, it.table, it.of].contains(&table)).for_each(|it| it.fresh.set(false));
        }
    });
}

impl Settings {
    /// The settings of a table, if it has some; a partition has those of the table
    /// that it is a partition of.
    ///
    /// # Errors
    /// Raises 55000 if they no longer fit the table.
    pub(crate) fn of(table: pg_sys::Oid) -> Option<Rc<Settings>> {
        static REGISTERED: Once = Once::new();
        // SAFETY: the callback stays in memory as long as the process.
        REGISTERED.call_once(|| unsafe {
            pg_sys::CacheRegisterRelcacheCallback(Some(table_changed), pg_sys::Datum::null());
        });
        let kept = KEPT.with_borrow(|kept| {
            let fresh = kept.iter().find(|it| it.table == table.to_u32() && it.fresh.get());
            fresh.map(|it| Rc::clone(&it.settings))
        });
        if kept.is_some() {
            return kept;
        }
        let before = CHANGES.get();
        let stored = Stored::of(table)?;
        let Some(columns) = stored.columns_now(table) else { stored.refuse(table) };
        let settings = Rc::new(Settings { table, columns, stored });
        KEPT.with_borrow_mut(|kept| {
            kept.retain(|it| it.table != table.to_u32() && it.fresh.get());
            // What changed while it was read may have been read too early.
            let fresh = Cell::new(CHANGES.get() == before);
            let of = settings.stored.of.parse().unwrap_or(0);
            kept.push(Kept { table: table.to_u32(), of, fresh, settings: Rc::clone(&settings) });
        });
        Some(settings)
    }

    /// As [`Settings::of`], for a call that needs them.
    ///
    /// # Errors
    /// Raises 55000 if the table has none.
    pub(crate) fn needed(table: pg_sys::Oid) -> Rc<Settings> {
        Settings::of(table).unwrap_or_else(|| {
            let name = table_name(table);
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("table {name} has no settings"),
                format!("SELECT * FROM dedup_setup({}); makes some.", quote_literal(&name)),
            )
        })
    }

    /// The settings of the table that a row is of.
    ///
    /// # Errors
    /// As [`Settings::needed`], and 42809 for a row of no table.
    pub(crate) fn of_row(row: &Record) -> Rc<Settings> {
        let Some(table) = row.table() else {
            raise(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                "the row is not one of a table",
                "Give a row of a table with settings: FROM ticket t, dedup_find(t), or \
                 jsonb_populate_record(NULL::ticket, …).",
            )
        };
        Settings::needed(table)
    }

    /// Whether a row is one of this table.
    pub(crate) fn is_of(&self, row: &Record) -> bool {
        row.table() == Some(self.table)
    }

    /// The values of a row of the table as the fingerprint takes them, in the order of `columns`.
    pub(crate) fn values_of(&self, row: &Record) -> Vec<Option<String>> {
        let column = |name: &String| format!("($1).{}::pg_catalog.text", quote_identifier(name));
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        let read = |row: &Values<'_>| (0..columns.len()).map(|at| row.text(at)).collect();
        query_all(&format!("SELECT {}", columns.join(", ")), &[row.argument()], read)
            .pop()
            .unwrap_or_default()
    }

    /// As [`Settings::of`], or none if they no longer fit.
    pub(super) fn fitting(table: pg_sys::Oid) -> Option<Settings> {
        let stored = Stored::of(table)?;
        stored.columns_now(table).map(|columns| Settings { table, columns, stored })
    }

    pub(super) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// The options of `dedup_setup` that led here, columns by their present names.
    pub(super) fn asked(&self) -> Map<String, Value> {
        let renamed = |name: &str| {
            let at = self.stored.columns.iter().position(|column| column == name);
            at.map_or_else(|| name.to_owned(), |at| self.columns[at].clone())
        };
        let mut options = self.stored.options.clone();
        match options.get_mut("columns") {
            Some(Value::String(name)) => *name = renamed(name),
            Some(Value::Array(names)) => {
                for name in names {
                    *name = renamed(name.as_str().unwrap_or_default()).into();
                }
            }
            Some(Value::Object(weights)) => {
                *weights =
                    std::mem::take(weights).into_iter().map(|(name, it)| (renamed(&name), it)).collect();
            }
            _ => {}
        }
        options
    }

    /// The recipe of running text that was chosen or asked for.
    pub(super) fn default_recipe(&self) -> Value {
        let asked = self.stored.options.get("columns").and_then(Value::as_object);
        let is_default = |name: &str| asked.is_none_or(|asked| asked.get(name).is_none_or(Value::is_null));
        let mut columns = self.stored.columns.iter().zip(&self.stored.weights);
        columns.find(|(name, _)| is_default(name)).map_or(Value::Null, |(_, weight)| weight.clone())
    }

    pub(super) fn table(&self) -> pg_sys::Oid {
        self.table
    }

    /// The place of the column that a text alone is searched as: the first of running
    /// text, if possible one of the default recipe.
    ///
    /// # Errors
    /// Raises 55000 if no column is running text.
    pub(super) fn main_column(&self) -> usize {
        let default = self.default_recipe();
        let is_default = |weight: &Value| !weight.is_number() && *weight == default;
        let weights = &self.stored.weights;
        let found = weights.iter().position(is_default);
        found.or_else(|| self.is_running().iter().position(|it| *it)).unwrap_or_else(|| {
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("no column of table {} is running text that a text could repeat", self.table_name()),
                "Search by a row: dedup_find(jsonb_populate_record(NULL::ticket, …)).",
            )
        })
    }

    /// The column of the fingerprint.
    pub(crate) fn fp(&self) -> &str {
        &self.stored.fp
    }

    /// The column of the ids, if it is not the primary key.
    pub(crate) fn id(&self) -> Option<&str> {
        self.stored.id.as_deref()
    }

    /// Bits in which near-duplicates may differ.
    pub(crate) fn distance(&self) -> u32 {
        self.stored.distance
    }

    /// The least Jaccard coefficient of their texts; 0: texts are not compared.
    pub(crate) fn similarity(&self) -> f64 {
        self.stored.similarity
    }

    /// Characters of the n-grams that are compared.
    pub(crate) fn n(&self) -> usize {
        self.stored.n as usize
    }

    /// Kinds of particulars that near-duplicates must have in common.
    pub(super) fn particulars(&self) -> Option<&Value> {
        self.stored.particulars.as_ref()
    }

    /// As [`Settings::particulars`], if there are some.
    pub(crate) fn kinds(&self) -> Option<Kinds> {
        let names = self.particulars()?.as_array()?;
        let has = |kind: &str| names.iter().any(|name| name == kind);
        Some(Kinds { places: has("place"), dates: has("date"), numbers: has("number") })
    }

    /// The columns whose texts are compared: those of running text; if there is
    /// none, all that count.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let running = self.is_running();
        let all = !running.contains(&true);
        self.columns.iter().zip(running).filter(|(_, it)| all || *it).map(|(name, _)| name.as_str()).collect()
    }

    /// For each column whether it is running text.
    pub(super) fn is_running(&self) -> Vec<bool> {
        self.stored.weights.iter().map(|weight| !weight.is_number()).collect()
    }

    /// Completes options of `dedup` for a table by its settings, if it has some. Whoever gives a recipe or
    /// names the text asks for fingerprints of it, not for those that are stored.
    pub(crate) fn complete(table: Option<pg_sys::Oid>, written: &mut Written) {
        let Some(settings) = table.and_then(Settings::of) else { return };
        let it = &settings.stored;
        if written.has("weights") || written.has("text") || written.has("fp") {
            written.add("weights", settings.default_recipe());
        } else {
            written.add("fp", json!(it.fp));
        }
        written.add("distance", json!(it.distance));
        written.add("similarity", json!(it.similarity));
        written.add("n", json!(it.n));
        for (name, value) in [("particulars", &it.particulars), ("keep", &it.keep)] {
            value.iter().for_each(|value| written.add(name, (*value).clone()));
        }
    }

    /// The recipe of the fingerprint, its columns in the order of `columns`.
    pub(crate) fn recipe(&self) -> RowRecipe {
        let weights = Value::Array(self.stored.weights.clone());
        FieldsRecipe::resolved(&weights, &Database).unwrap_or_else(|error| raise_recipe(error)).0
    }

    /// The table's name with its schema, quoted.
    pub(crate) fn table_name(&self) -> String {
        table_name(self.table)
    }
}

impl Stored {
    /// The latest version, whatever the transaction's snapshot says: what is kept
    /// would not be told of one that is there already.
    fn of(table: pg_sys::Oid) -> Option<Stored> {
        let sql = format!(
            "SELECT pg_catalog.to_json(s)::pg_catalog.text FROM (\
                 SELECT s.*, s.tbl::pg_catalog.oid AS \"of\" FROM {}.dedup_settings AS s \
                 WHERE s.tbl::pg_catalog.oid OPERATOR(pg_catalog.=) $1 \
                    OR s.tbl OPERATOR(pg_catalog.=) pg_catalog.pg_partition_root($1::pg_catalog.regclass) \
                 ORDER BY s.tbl::pg_catalog.oid OPERATOR(pg_catalog.=) $1 DESC, s.version DESC LIMIT 1) AS s",
            schema()
        );
        // SAFETY: the snapshot is popped again; after an error the end of the
        // transaction does that.
        let row = unsafe {
            pg_sys::PushActiveSnapshot(pg_sys::GetCatalogSnapshot(pg_sys::InvalidOid));
            let row = scalar(&sql, &[Argument::of(table)]);
            pg_sys::PopActiveSnapshot();
            row?
        };
        Some(serde_json::from_str(&row).unwrap_or_else(|error| {
            raise(
                PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
                format!("the settings of table {} cannot be read: {error}", table_name(table)),
                "Run dedup_setup again.",
            )
        }))
    }

    /// The names that the columns have now: the fingerprint's own column is made
    /// of them, whatever they are called. `None` if it is not there, or is made
    /// by other weights.
    fn columns_now(&self, table: pg_sys::Oid) -> Option<Vec<String>> {
        let generated = Generated::of(table, &self.fp)?;
        let fits = generated.weights == self.weights
            && generated.columns.len() == self.columns.len()
            && all_become_text(table, &generated.columns);
        fits.then_some(generated.columns)
    }

    fn refuse(&self, table: pg_sys::Oid) -> ! {
        let (name, columns) = (table_name(table), self.columns.join(", "));
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "table {name} has changed since its settings were made: its column \"{}\" is no longer the fingerprint of {columns}",
                self.fp
            ),
            format!("SELECT * FROM dedup_setup({}); sets it up again.", quote_literal(&name)),
        )
    }
}

/// A table's name with its schema, quoted where SQL needs it.
pub(super) fn table_name(table: pg_sys::Oid) -> String {
    const SQL: &str = "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) \
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace \
        WHERE c.oid OPERATOR(pg_catalog.=) $1";
    scalar(SQL, &[Argument::of(table)]).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("there is no table with the OID {table}"),
            "Name a table: 'ticket'.",
        )
    })
}

/// The text of columns of the table that SQL calls `t`, as one expression: several
/// are joined by line feeds, NULLs left out; NULL if all are.
pub(super) fn joined(columns: &[&str]) -> String {
    let cast = |name: &&str| format!("t.{}::pg_catalog.text", quote_identifier(*name));
    let list: Vec<String> = columns.iter().map(cast).collect();
    match &list[..] {
        [one] => one.clone(),
        list => {
            let list = list.join(", ");
            format!(
                "CASE WHEN pg_catalog.num_nonnulls({list}) OPERATOR(pg_catalog.>) 0 \
                 THEN pg_catalog.concat_ws(E'\\n', {list}) END"
            )
        }
    }
}

/// As [`joined`], of values.
pub(crate) fn join_texts(values: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    values.into_iter().flatten().reduce(|joined, next| joined + "\n" + &next)
}
