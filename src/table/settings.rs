//! The settings of a table as they are now. A session keeps what it has read
//! until the table or its settings change.

use super::generated::Generated;
use super::relation::{concatenated, root, table_name};
use super::rows::rows_of;
use super::stored::{ID, KEEP, Stored};
use crate::corpus::{Database, cached_from_text, raise_recipe};
use crate::pg::catalog::lock_columns;
use crate::pg::spi::query_all;
use crate::pg::{Record, Values, raise};
use dedup_core::dedup::{Method, Written};
use dedup_core::details::Kinds;
use dedup_core::features::{FieldsRecipe, RowRecipe, TextRecipe};
use pgrx::spi::{quote_identifier, quote_literal};
use pgrx::{PgSqlErrorCode, pg_sys};
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Once;

/// The latest version of a table's settings.
pub(crate) struct Settings {
    table: pg_sys::Oid,
    /// The columns that the fingerprint is made of, by their present names.
    pub(crate) columns: Vec<String>,
    /// The column of the fingerprint, by its present name.
    fp: String,
    /// Whether they fit the table; else names are those that were given.
    pub(crate) fit: bool,
    stored: Stored,
    /// The distance, and the statement for which it was chosen: that looks at the size of the table once.
    distance: Cell<(pg_sys::TimestampTz, u32)>,
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
    /// Raises 55000 if they no longer fit the table, XX001 if they are none that `dedup_setup` makes.
    pub(crate) fn of(table: pg_sys::Oid) -> Option<Rc<Settings>> {
        static REGISTERED: Once = Once::new();
        // SAFETY: the callback stays in memory as long as the process.
        REGISTERED.call_once(|| unsafe {
            pg_sys::CacheRegisterRelcacheCallback(Some(table_changed), pg_sys::Datum::null());
        });
        lock_columns(table);
        let kept = KEPT.with_borrow(|kept| {
            let fresh = kept.iter().find(|it| it.table == table.to_u32() && it.fresh.get());
            fresh.map(|it| Rc::clone(&it.settings))
        });
        if kept.is_some() {
            return kept;
        }
        let before = CHANGES.get();
        let settings = Settings::found(table)?;
        if !settings.fit {
            settings.refuse()
        }
        settings.check_members();
        let settings = Rc::new(settings);
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
                format!("SELECT * FROM dedup_setup({}); makes some.", quote_literal(table_name(root(table)))),
            )
        })
    }

    /// As [`Settings::of`], also if they no longer fit.
    pub(crate) fn found(table: pg_sys::Oid) -> Option<Settings> {
        let stored = Stored::of(table)?;
        let (fit, fp, columns) = match stored.fingerprint(table) {
            Some((fp, columns)) => (true, fp, columns),
            None if stored.same == Some(false) => return None,
            None => (false, stored.fp.clone(), stored.columns.clone()),
        };
        Some(Settings { table, columns, fp, fit, stored, distance: Cell::new((pg_sys::TimestampTz::MIN, 0)) })
    }

    fn refuse(&self) -> ! {
        let (name, columns) = (self.table_name(), self.columns.join(", "));
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "table {name} has changed since its settings were made: its column \"{}\" is no longer the fingerprint of {columns}",
                self.fp
            ),
            format!(
                "SELECT * FROM dedup_setup({}); sets it up again.",
                quote_literal(table_name(root(self.table)))
            ),
        )
    }

    /// Refuses a table of which a part has other fingerprints, such as a partition that was set up before.
    fn check_members(&self) {
        let whole = root(self.table);
        if let Some(member) = Generated::made_otherwise(whole, &self.fp) {
            let whole = table_name(whole);
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "column \"{}\" of table {} is not made as that of {whole}, from which it inherits",
                    self.fp,
                    table_name(member)
                ),
                format!(
                    "SELECT * FROM dedup_setup({}); makes the column anew in both.",
                    quote_literal(&whole)
                ),
            )
        }
    }

    /// Refuses a column that has been renamed or dropped since the settings named it: another one may have its name.
    fn check_name(&self, place: usize) {
        let Some(name) = self.stored.name(place) else { return };
        let now = self.stored.now(place, name);
        if now == Some(name) {
            return;
        }
        let key = if place == ID { "id" } else { "keep" };
        let setup = quote_literal(table_name(root(self.table)));
        let (what, hint) = match now {
            Some(now) => (
                format!("has been renamed to \"{now}\""),
                format!("SELECT * FROM dedup_setup({setup}); takes the new name."),
            ),
            None => (
                "is not there any more".to_owned(),
                format!(
                    "SELECT * FROM dedup_setup({setup}, '{{\"{key}\": …}}'); names another one, null the default."
                ),
            ),
        };
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "column \"{name}\" of table {}, which its settings name as {key}, {what}",
                self.table_name()
            ),
            hint,
        )
    }

    /// Refuses an option that names a column that is not there any more.
    pub(crate) fn check_column_of(&self, option: &str) {
        for (place, key) in [(ID, "id"), (KEEP, "keep")] {
            if key == option && self.stored.name(place).is_some_and(|it| self.stored.now(place, it).is_none())
            {
                self.check_name(place);
            }
        }
    }

    /// Whether all columns have the names that the settings say.
    pub(crate) fn is_as_named(&self) -> bool {
        let is_named =
            |place| self.stored.name(place).is_none_or(|it| self.stored.now(place, it) == Some(it));
        self.fp == self.stored.fp && is_named(ID) && is_named(KEEP)
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

    pub(crate) fn stored(&self) -> &Stored {
        &self.stored
    }

    /// The options of `dedup_setup` that led here, columns by their present names.
    pub(crate) fn asked(&self) -> Map<String, Value> {
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
        if let Some(Value::String(fp)) = options.get_mut("fp") {
            fp.clone_from(&self.fp);
        }
        if let Some(name) = options.get_mut("keep").and_then(|keep| keep.get_mut("column")) {
            self.stored.rename(KEEP, name);
        }
        if let Some(name) = options.get_mut("id") {
            self.stored.rename(ID, name);
        }
        options
    }

    /// The recipe of running text that was chosen or asked for.
    pub(crate) fn default_recipe(&self) -> Value {
        let asked = self.stored.options.get("columns").and_then(Value::as_object);
        let is_default = |name: &str| asked.is_none_or(|asked| asked.get(name).is_none_or(Value::is_null));
        let mut columns = self.stored.columns.iter().zip(&self.stored.weights);
        columns.find(|(name, _)| is_default(name)).map_or(Value::Null, |(_, weight)| weight.clone())
    }

    pub(crate) fn table(&self) -> pg_sys::Oid {
        self.table
    }

    fn main(&self) -> Option<usize> {
        let default = self.default_recipe();
        let is_default = |weight: &Value| !weight.is_number() && *weight == default;
        let found = self.stored.weights.iter().position(is_default);
        found.or_else(|| self.is_running().iter().position(|it| *it))
    }

    /// The recipe by which texts are read that are compared, as it is written: that of the column that a text alone is
    /// searched as. Null is the default one.
    pub(crate) fn text_weights(&self) -> Value {
        let mut weights = self.main().map_or(Value::Null, |at| self.stored.weights[at].clone());
        weights.as_object_mut().map(|recipe| recipe.remove("share"));
        if weights.is_object() { weights } else { Value::Null }
    }

    /// The same.
    pub(crate) fn text_recipe(&self) -> Rc<TextRecipe> {
        match self.text_weights() {
            Value::Null => Rc::default(),
            weights => cached_from_text(&weights.to_string()),
        }
    }

    /// The place of the column that a text alone is searched as: the first of running
    /// text, if possible one of the default recipe.
    ///
    /// # Errors
    /// Raises 55000 if no column is running text.
    pub(crate) fn main_column(&self) -> usize {
        self.main().unwrap_or_else(|| {
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("no column of table {} is running text that a text could repeat", self.table_name()),
                "Search by a row: dedup_find(jsonb_populate_record(NULL::ticket, …)).",
            )
        })
    }

    /// The column of the fingerprint.
    pub(crate) fn fp(&self) -> &str {
        &self.fp
    }

    /// The column of the ids, if it is not the primary key.
    ///
    /// # Errors
    /// Raises 55000 if it has been renamed or dropped.
    pub(crate) fn id(&self) -> Option<&str> {
        self.check_name(ID);
        self.stored.id.as_deref()
    }

    /// How near rows are found.
    pub(crate) fn method(&self) -> Method {
        self.stored.method
    }

    /// Bits in which near-duplicates may differ: what was asked for, or what was chosen for as many rows as the table has
    /// now. Two sessions that see different sizes both keep rows apart that are within the narrower of their distances.
    pub(crate) fn distance(&self) -> u32 {
        let Some(distances) = &self.stored.distances else { return self.stored.distance };
        // SAFETY: a copy of a number.
        let statement = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
        let (at, distance) = self.distance.get();
        if at == statement {
            return distance;
        }
        let whole = self.stored.of.parse().map_or(self.table, pg_sys::Oid::from_u32);
        let distance = distances.distance(rows_of(whole, self.table)).unwrap_or(self.stored.distance);
        self.distance.set((statement, distance));
        distance
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
    pub(crate) fn particulars(&self) -> Option<&Value> {
        self.stored.particulars.as_ref()
    }

    /// As [`Settings::particulars`], if there are some.
    pub(crate) fn kinds(&self) -> Option<Kinds> {
        let names = self.particulars()?.as_array()?;
        let has = |kind: &str| names.iter().any(|name| name == kind);
        Some(Kinds { names: has("name"), dates: has("date"), numbers: has("number") })
    }

    /// The columns whose texts are compared: those of running text; if there is
    /// none, all that count.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let running = self.is_running();
        let all = !running.contains(&true);
        self.columns.iter().zip(running).filter(|(_, it)| all || *it).map(|(name, _)| name.as_str()).collect()
    }

    /// For each column whether it is running text.
    pub(crate) fn is_running(&self) -> Vec<bool> {
        self.stored.weights.iter().map(|weight| !weight.is_number()).collect()
    }

    /// Whether `fp` is the fingerprint of a table's settings, and of several columns.
    pub(crate) fn count_more(table: Option<pg_sys::Oid>, fp: Option<&str>) -> bool {
        let settings = table.and_then(Settings::of);
        settings.is_some_and(|it| fp == Some(it.fp()) && it.columns.len() > 1)
    }

    /// Completes options of `dedup` for a table by its settings, if it has some. Who gives a recipe, columns or fingerprints
    /// that are not those of the settings has what was chosen for those chosen again; what was asked for stays.
    pub(crate) fn complete(table: Option<pg_sys::Oid>, written: &mut Written) {
        let Some(settings) = table.and_then(Settings::of).filter(|_| !written.by_records()) else { return };
        if !written.has("keep") {
            settings.check_name(KEEP);
        }
        let (it, texts) = (&settings.stored, settings.texts());
        let is_the_text = |text: &Value| *text == json!(texts) || texts.len() == 1 && *text == texts[0];
        let anew = written.differs("weights", &settings.default_recipe())
            || written.differs("fp", &json!(settings.fp))
            || written.get("text").is_some_and(|text| !is_the_text(text));
        let mut known = settings.asked();
        known.retain(|name, _| !["columns", "fp", "id"].contains(&name.as_str()));
        if !anew {
            known.extend(
                [
                    ("fp", json!(settings.fp)),
                    ("method", it.method.name().into()),
                    // Texts are read as the fingerprints were made.
                    ("weights", settings.text_weights()),
                    ("distance", json!(settings.distance())),
                    ("similarity", json!(it.similarity)),
                    ("n", json!(it.n)),
                    // None is a choice too, for columns that are compared as a whole.
                    ("particulars", it.particulars.clone().unwrap_or_else(|| json!([]))),
                ]
                .map(|(name, value)| (name.to_owned(), value)),
            );
        }
        written.over(&known);
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

/// The text of columns of the table that SQL calls `t`, as one expression.
pub(crate) fn joined(columns: &[&str]) -> String {
    match columns {
        [one] => cast(one),
        several => concatenated(&several.iter().map(cast).collect::<Vec<_>>()),
    }
}

/// What an index for similar texts is of: the column, or the array of several.
pub(crate) fn listed(columns: &[&str]) -> String {
    match columns {
        [one] => cast(one),
        several => format!("ARRAY[{}]", several.iter().map(cast).collect::<Vec<_>>().join(", ")),
    }
}

fn cast(name: &&str) -> String {
    format!("t.{}::pg_catalog.text", quote_identifier(*name))
}

/// As [`joined`], of values.
pub(crate) fn join_texts(values: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    values.into_iter().flatten().reduce(|joined, next| joined + "\n" + &next)
}
