//! The settings of a table as they are now. A session keeps what it has read until the table or its settings change.

use super::decisions::DecisionTable;
use super::generated::{Generated, Searched};
use super::options::Written;
use super::relation::{Table, root, rows_of, table_name};
use super::stored::{ID, KEEP, Stored, raise_damaged};
use super::texts::{content, running};
use crate::corpus::{Database, cached_from_text, raise_recipe};
use crate::pg::{
    Record, Values, lock_columns, notice, query_all, quote_identifier, quote_literal, raise_invalid,
    raise_kind, raise_representation, raise_state,
};
use dedup_core::dedup::{Alike, Method, Wrong};
use dedup_core::details::{Kinds, Statistics};
use dedup_core::features::{FieldsRecipe, RowRecipe, TextRecipe};
use dedup_core::records::Model;
use dedup_core::text::Normal;
use pgrx::pg_sys;
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::rc::Rc;
use std::sync::{Arc, Once};

/// The latest version of a table's settings.
pub(crate) struct Settings {
    pub(crate) table: pg_sys::Oid,
    /// The columns that the fingerprint is made of, by their present names.
    pub(crate) columns: Vec<String>,
    /// The column of the fingerprint, by its present name.
    pub(crate) fp: String,
    /// Whether they fit the table; else names are those that were given.
    pub(crate) fit: bool,
    stored: Stored,
    pub(crate) statistics: Option<Arc<Statistics>>,
    /// The distance, and the statement for which it was chosen: that looks at the size of the table once.
    distance: Cell<(pg_sys::TimestampTz, u32)>,
    /// Whether it was looked whether the table has grown since.
    looked: Cell<bool>,
}

impl Deref for Settings {
    type Target = Stored;

    fn deref(&self) -> &Stored {
        &self.stored
    }
}

struct Kept {
    table: u32,
    /// The table whose settings they are: it, or the one that it is a partition of.
    of: u32,
    fresh: Cell<bool>,
    settings: Option<Rc<Settings>>,
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
    /// The settings of a table, if it has some; a partition has those of the table that it is a partition of.
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
            fresh.map(|it| it.settings.clone())
        });
        if let Some(kept) = kept {
            return kept;
        }
        let before = CHANGES.get();
        let settings = Settings::found(table).map(Rc::new);
        if let Some(settings) = &settings {
            settings.check();
        }
        let of = root(table).to_u32();
        KEPT.with_borrow_mut(|kept| {
            kept.retain(|it| it.table != table.to_u32() && it.fresh.get());
            // What changed while it was read may have been read too early.
            let fresh = Cell::new(CHANGES.get() == before);
            kept.push(Kept { table: table.to_u32(), of, fresh, settings: settings.clone() });
        });
        settings
    }

    /// As [`Settings::of`], for a call that needs them. Raises 55000 if the table has none.
    pub(crate) fn needed(table: pg_sys::Oid) -> Rc<Settings> {
        let none = || refuse(table, format!("table {} has no settings", table_name(table)), "); makes some.");
        Settings::of(table).unwrap_or_else(none)
    }

    /// As [`Settings::of`], also if they no longer fit.
    pub(crate) fn found(table: pg_sys::Oid) -> Option<Settings> {
        let stored = Stored::of(table)?;
        let (fit, fp, columns) = match stored.fingerprint(table) {
            Some((fp, columns)) => (true, fp, columns),
            None if stored.same == Some(false) => return None,
            None => (false, stored.fp.clone(), stored.columns.clone()),
        };
        let statistics =
            stored.statistics.as_ref().map(|hex| {
                Arc::new(Statistics::read(hex).unwrap_or_else(|| {
                    raise_damaged(table, &json!(stored.version), "these are no statistics")
                }))
            });
        Some(Settings {
            table,
            columns,
            fp,
            fit,
            stored,
            statistics,
            distance: Cell::new((pg_sys::TimestampTz::MIN, 0)),
            looked: Cell::new(false),
        })
    }

    /// Refuses a table that they no longer fit, or of which a part has other fingerprints, such as a partition that was set up
    /// before.
    fn check(&self) {
        let name = self.table_name();
        if !self.fit {
            let is_lost = self.method == Method::Hash && Table::of(self.table).find(&self.fp).is_none();
            let again = "); sets it up again.";
            let (what, hint) = match self.method {
                _ if is_lost => {
                    ("is not there any more".into(), ", '{\"fp\": \"…\"}'); names the column of the hashes.")
                }
                Method::Hash => ("is not that of the hashes any more".into(), again),
                _ => (format!("is no longer the fingerprint of {}", self.columns.join(", ")), again),
            };
            let changed = "has changed since its settings were made: its column";
            refuse(self.table, format!("table {name} {changed} \"{}\" {what}", self.fp), hint)
        }
        let whole = root(self.table);
        if let Some(member) = Generated::made_otherwise(whole, &self.fp) {
            let (member, whole) = (table_name(member), table_name(whole));
            let what = format!("is not made as that of {whole}, from which it inherits");
            let what = format!("column \"{}\" of table {member} {what}", self.fp);
            refuse(self.table, what, "); makes the column anew in both.")
        }
    }

    /// Refuses a column that has been renamed or dropped since the settings named it: another one may have its name.
    /// Who names columns anew takes the new name.
    pub(crate) fn check_name(&self, place: usize, takes_new_name: bool) {
        let Some(name) = self.name(place) else { return };
        let key = if place == ID { "id" } else { "keep" };
        let (what, hint) = match self.now(place, name) {
            Some(now) if now == name || takes_new_name => return,
            Some(now) => (format!("has been renamed to \"{now}\""), "); takes the new name.".to_owned()),
            None => (
                "is not there any more".to_owned(),
                format!(", '{{\"{key}\": …}}'); names another one, null the default."),
            ),
        };
        let what = format!("which its settings name as {key}, {what}");
        refuse(self.table, format!("column \"{name}\" of table {}, {what}", self.table_name()), &hint)
    }

    /// Whether all columns have the names that the settings say.
    pub(crate) fn is_as_named(&self) -> bool {
        let is_named = |place| self.name(place).is_none_or(|it| self.now(place, it) == Some(it));
        self.fp == self.stored.fp && is_named(ID) && is_named(KEEP)
    }

    /// The settings of the table that a row is of. Raises as [`Settings::needed`], and 42809 for a row of no table.
    pub(crate) fn of_row(row: &Record) -> Rc<Settings> {
        let Some(table) = row.table() else {
            raise_kind(
                "the row is not one of a table",
                "Give a row of a table with settings: FROM ticket t, dedup_find(t), or \
                 jsonb_populate_record(NULL::ticket, …).",
            )
        };
        Settings::needed(table)
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

    /// The options of `dedup_setup` that led here, columns by their present names.
    pub(crate) fn asked(&self) -> Map<String, Value> {
        let columns = self.stored.columns.iter().zip(&self.columns).chain([(&self.stored.fp, &self.fp)]);
        let columns = columns.map(|(then, now)| (then.as_str(), now.as_str()));
        let other = |place| self.name(place).and_then(|then| Some((then, self.now(place, then)?)));
        let all: Vec<_> = columns.chain([ID, KEEP].into_iter().filter_map(other)).collect();
        let now = |name: &str| all.iter().find(|it| it.0 == name).map_or(name, |it| it.1).to_owned();
        let rename = |name: &mut Value| {
            if let Some(then) = name.as_str() {
                *name = now(then).into();
            }
        };
        let mut options = self.options.clone();
        match options.get_mut("columns") {
            Some(Value::Array(names)) => names.iter_mut().for_each(rename),
            Some(Value::Object(recipe)) => {
                *recipe = std::mem::take(recipe).into_iter().map(|(name, it)| (now(&name), it)).collect();
            }
            name => name.into_iter().for_each(rename),
        }
        ["fp", "id"].iter().filter_map(|name| options.get_mut(*name).map(rename)).for_each(drop);
        options.get_mut("keep").and_then(|keep| keep.get_mut("column")).into_iter().for_each(rename);
        options
    }

    /// The recipe of running text that was chosen or asked for.
    pub(crate) fn default_recipe(&self) -> Value {
        let asked = self.stored.options.get("columns").and_then(Value::as_object);
        let is_default = |name: &str| asked.is_none_or(|asked| asked.get(name).is_none_or(Value::is_null));
        let mut columns = self.stored.columns.iter().zip(&self.stored.recipes);
        columns.find(|(name, _)| is_default(name)).map_or(Value::Null, |(_, weight)| weight.clone())
    }

    fn main(&self) -> Option<usize> {
        let default = self.default_recipe();
        let found = self.recipes.iter().position(|weight| !weight.is_number() && *weight == default);
        found.or_else(|| self.recipes.iter().position(|weight| !weight.is_number()))
    }

    /// The recipe by which texts are read that are compared, as it is written: that of the column that a text alone is
    /// searched as. Null is the default one.
    pub(crate) fn written_recipe(&self) -> Value {
        let mut recipe = self.main().map_or(Value::Null, |at| self.stored.recipes[at].clone());
        recipe.as_object_mut().map(|recipe| recipe.remove("share"));
        if recipe.is_object() { recipe } else { Value::Null }
    }

    pub(crate) fn text_recipe(&self) -> Rc<TextRecipe> {
        match self.written_recipe() {
            Value::Null => Rc::default(),
            recipe => cached_from_text(&recipe.to_string()),
        }
    }

    /// The place of the column that a text alone is searched as: the first of running text, if possible one of the default
    /// recipe. Raises 55000 if no column is running text.
    pub(crate) fn main_column(&self) -> usize {
        let hash = (self.method == Method::Hash).then_some(0);
        self.main().or(hash).unwrap_or_else(|| {
            raise_state(
                format!("no column of table {} is running text that a text could repeat", self.table_name()),
                "Search by a row: dedup_find(jsonb_populate_record(NULL::ticket, …)).",
            )
        })
    }

    /// The column of the ids, if it is not the primary key. Raises 55000 if it has been renamed or dropped.
    pub(crate) fn id(&self) -> Option<&str> {
        self.check_name(ID, false);
        self.stored.id.as_deref()
    }

    /// Bits in which near-duplicates may differ: what was asked for, or what was chosen for as many rows as the table was counted
    /// to have. Two sessions that see different sizes both keep rows apart that are within the narrower of their distances.
    pub(crate) fn distance(&self) -> u32 {
        let Some(distances) = &self.stored.distances else { return self.stored.distance };
        // SAFETY: a copy of a number.
        let statement = unsafe { pg_sys::GetCurrentStatementStartTimestamp() };
        let (at, distance) = self.distance.get();
        if at == statement {
            return distance;
        }
        // Fewer rows make it no wider than it was chosen: what a call has left is judged as it was by it.
        let chosen = self.stored.distance;
        let distance = distances.distance(self.rows_now()).map_or(chosen, |it| it.min(chosen));
        self.distance.set((statement, distance));
        distance
    }

    fn rows_now(&self) -> u64 {
        let whole = self.stored.of.parse().map_or(self.table, pg_sys::Oid::from_u32);
        rows_of(whole, self.table)
    }

    /// Tells once a session that the table has become another one since what its rows have in common was learned.
    pub(crate) fn tell_age(&self) {
        let Some(then) = self.stored.rows.filter(|_| !self.looked.replace(true)) else { return };
        let now = self.rows_now();
        if has_doubled(then, now) {
            let name = self.table_name();
            let more = match self.method {
                Method::Fingerprint => {
                    r#"; with '{"recipe": null, "distance": null}' it chooses these anew too"#
                }
                _ => "",
            };
            notice(
                format!(
                    "table {name} has doubled since its settings were learned: some {now} rows, not {then}"
                ),
                "",
                format!("SELECT * FROM dedup_setup({}); learns anew{more}.", quote_literal(&name)),
            );
        }
    }

    pub(crate) fn alike(&self) -> Alike {
        let kinds = self.details.as_ref().and_then(Value::as_array).filter(|kinds| !kinds.is_empty());
        let kinds = kinds.and_then(|kinds| Kinds::parse(kinds.iter().filter_map(Value::as_str)).ok());
        let normal = self.text_recipe().normal;
        let (statistics, weighed) = (self.statistics.clone(), self.method == Method::Text);
        Alike { similarity: self.similarity, n: self.n as usize, details: kinds, normal, statistics, weighed }
    }

    /// What the table's rows have in common, for texts of these columns (none: those of the settings) that `normal` reads;
    /// `None` for others than it was learned from.
    pub(crate) fn statistics(&self, columns: &[String], normal: Normal) -> Option<Arc<Statistics>> {
        let same = columns.is_empty() || self.texts().iter().eq(columns);
        self.statistics.clone().filter(|_| same && normal == self.text_recipe().normal)
    }

    /// The model, of records.
    pub(crate) fn records(&self) -> Option<&Arc<Model>> {
        self.statistics.as_ref()?.records.as_ref()
    }

    /// What is compared of a row, out of the values of all columns.
    pub(crate) fn content(&self, values: &[Option<String>]) -> Option<String> {
        let compared = self.texts();
        let texts = self.columns.iter().zip(values).filter(|(name, _)| compared.contains(&name.as_str()));
        content(self.method, texts.map(|(_, value)| value.clone()))
    }

    /// What finds rows with what is compared like that of another one.
    pub(crate) fn searched(&self) -> Searched {
        Searched::of(self.statistics.as_deref(), self.n as usize)
    }

    /// The table in which people have decided of pairs of its rows. Raises as [`DecisionTable::of_settings`].
    pub(crate) fn decisions(&self) -> Option<&str> {
        let name = self.options.get("decisions")?.as_str()?;
        DecisionTable::of_settings(name, self.table);
        Some(name)
    }

    /// The same, to be written. Raises as [`DecisionTable::to_write`].
    pub(crate) fn decisions_to_write(&self) -> Option<Table> {
        let name = self.options.get("decisions")?.as_str()?;
        Some(DecisionTable::to_write(name, self.table))
    }

    pub(crate) fn texts(&self) -> Vec<&str> {
        running(&self.columns, &self.recipes)
    }

    /// Whether `fp` is the fingerprint of a table's settings, and of several columns.
    pub(crate) fn count_more(table: Option<pg_sys::Oid>, fp: Option<&str>) -> bool {
        let settings = table.and_then(Settings::of);
        settings.is_some_and(|it| fp == Some(it.fp.as_str()) && it.columns.len() > 1)
    }

    /// What near rows are found and compared by.
    pub(crate) fn chosen(&self) -> Map<String, Value> {
        let it = &self.stored;
        // None is a choice too, for columns that are compared as a whole.
        let details = it.details.clone().unwrap_or_else(|| json!([]));
        let all =
            json!({"distance": it.distance, "similarity": it.similarity, "n": it.n, "details": details});
        chosen_by(it.method, all)
    }

    /// Completes options for a table by its settings, if it has some. Who gives a recipe, columns or fingerprints
    /// that are not those of the settings has what was chosen for those chosen again; what was asked for stays.
    pub(crate) fn complete(table: Option<pg_sys::Oid>, written: &mut Written) -> Option<Rc<Settings>> {
        let settings = table.and_then(Settings::of)?;
        let by_texts = !matches!(settings.method, Method::Records | Method::Hash);
        if settings.method == Method::Hash {
            let (fp, columns) = (written.text("fp"), written.names("columns"));
            if fp.is_some_and(|fp| fp != settings.fp)
                || !columns.is_empty() && columns != [settings.fp.as_str()]
            {
                return None;
            }
            written.take("fp");
            if written.has("method") && !written.is_by(Method::Hash) {
                let name = settings.table_name();
                let what = format!("table {name} has hashes, which have no other method than \"hash\"");
                let Wrong { what, hint } = Wrong::of("method", what);
                raise_invalid(what, hint)
            }
            written.add("method", Method::Hash.name().into());
        }
        if let Some(decisions) = settings.decisions().filter(|_| written.takes("decisions")) {
            written.add("decisions", decisions.into());
        }
        // What is chosen for records, for hashes and for texts does not go together.
        let by_records = settings.method == Method::Records;
        let by_hash = settings.method == Method::Hash;
        let is_apart = written.is_by(Method::Hash) != by_hash || written.by_records() != by_records;
        if written.has("method") && is_apart || by_records && written.excludes(Method::Records) {
            return None;
        }
        if written.takes("keep") && !written.has("keep") {
            settings.check_name(KEEP, false);
        }
        let columns = written.names("columns");
        let anew = written.differs("recipe", &settings.default_recipe())
            || written.differs("fp", &json!(settings.fp))
            || !columns.is_empty() && columns != settings.texts();
        let mut known = settings.asked();
        known.retain(|name, _| !["columns", "fp", "id"].contains(&name.as_str()));
        if !anew {
            known.extend(settings.chosen());
        }
        if !anew && by_texts {
            // Texts are read as the fingerprints were made.
            let now = [
                ("fp", json!(settings.fp)),
                ("recipe", settings.written_recipe()),
                ("distance", json!(settings.distance())),
            ];
            known.extend(now.map(|(name, value)| (name.to_owned(), value)));
        }
        written.over(&known);
        Some(settings)
    }

    /// The recipe of the fingerprint, its columns in the order of `columns`.
    pub(crate) fn recipe(&self) -> RowRecipe {
        let recipe = Value::Array(self.stored.recipes.clone());
        FieldsRecipe::resolved(&recipe, &Database).unwrap_or_else(|error| raise_recipe(error)).0
    }

    pub(crate) fn table_name(&self) -> String {
        table_name(self.table)
    }
}

/// A method, and of other choices those that count with it.
pub(crate) fn chosen_by(method: Method, mut others: Value) -> Map<String, Value> {
    let mut chosen = others.as_object_mut().map(std::mem::take).unwrap_or_default();
    match method {
        Method::Records => chosen.retain(|name, _| name == "similarity"),
        Method::Hash => chosen.retain(|name, _| name == "distance"),
        _ => {}
    }
    chosen.insert("method".into(), method.name().into());
    chosen
}

/// Refuses what is no hash. Raises 22P02.
pub(crate) fn refuse_hash(written: &str) -> ! {
    let length = written.len();
    let is_bits = written.bytes().all(|it| matches!(it, b'0' | b'1'));
    raise_representation(
        match is_bits && length > 0 {
            true => format!("a bit string of {length} bits is no hash"),
            false => format!("\"{}\" is no hash", written.chars().take(40).collect::<String>()),
        },
        "A hash is a bigint or a bit string of 64, 128 or 256 bits: ('x' || hex)::bit(64).",
    )
}

/// Whether a table of so many rows has doubled; of one of a few pages the planner's estimate says little.
pub(crate) fn has_doubled(then: u64, now: u64) -> bool {
    now >= then.saturating_mul(2).max(then.saturating_add(3_000))
}

/// Refuses a table; `hint` goes on after the call of `dedup_setup` for it.
fn refuse(table: pg_sys::Oid, what: String, hint: &str) -> ! {
    let whole = quote_literal(table_name(root(table)));
    let hint = format!("SELECT * FROM dedup_setup({whole}{hint}");
    raise_state(what, hint)
}
