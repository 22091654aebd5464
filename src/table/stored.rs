//! A row of `dedup_settings`, as it is read.

use super::generated::{Generated, all_become_text};
use super::relation::{Table, root, table_name};
use crate::pg::{own_function, quote_literal, raise_corrupted};
use dedup_core::dedup::{Method, SETUP, Written};
use dedup_core::evaluate::ByRows;
use pgrx::{FromDatum, pg_sys};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
pub(crate) struct Stored {
    pub(crate) of: String,
    pub(crate) version: i32,
    /// What was asked for.
    pub(crate) options: Map<String, Value>,
    pub(crate) columns: Vec<String>,
    /// One for each column, as in `simhash(text[], jsonb)`.
    pub(crate) recipes: Vec<Value>,
    pub(crate) fp: String,
    pub(crate) id: Option<String>,
    pub(crate) method: Method,
    pub(crate) distance: u32,
    /// What was chosen, by the rows of the table.
    pub(crate) distances: Option<ByRows>,
    pub(crate) similarity: f64,
    pub(crate) n: u32,
    pub(crate) details: Option<Value>,
    pub(crate) keep: Option<Value>,
    /// What the rows have in common, as digits.
    pub(crate) statistics: Option<String>,
    /// There was no text to choose by what was not asked for.
    pub(crate) empty: bool,
    /// How many rows there were, if it matters what they have in common.
    pub(crate) rows: Option<u64>,
    /// They are those of this table, not of a dropped one whose number it got. A restore that keeps triggers from
    /// running leaves the marks of another database.
    pub(crate) same: Option<bool>,
    /// The present names of the columns that they name, by place.
    now: Vec<Option<String>>,
}

/// The places of the columns of the fingerprint, of the ids and of `keep`.
const FP: usize = 0;
pub(crate) const ID: usize = 1;
pub(crate) const KEEP: usize = 2;
/// Those that the fingerprint is made of are the others.
const COLUMNS: usize = 3;

impl Stored {
    /// The latest version, whatever the transaction's snapshot says: what is kept
    /// would not be told of one that is there already.
    pub(crate) fn of(table: pg_sys::Oid) -> Option<Stored> {
        let function = own_function("_dedup_settings_stored", &[pg_sys::OIDOID]);
        // SAFETY: the function is of an oid, and answers with a text. The snapshot is popped again; after an error the end of
        // the transaction does that.
        let row = unsafe {
            pg_sys::PushActiveSnapshot(pg_sys::GetCatalogSnapshot(pg_sys::InvalidOid));
            let row = pg_sys::OidFunctionCall1Coll(function, pg_sys::InvalidOid, table.into());
            let row = String::from_datum(row, false).filter(|row| !row.is_empty());
            pg_sys::PopActiveSnapshot();
            row?
        };
        let read = serde_json::from_str::<Stored>(&row).map_err(|error| error.to_string());
        let read = read.and_then(|stored| {
            let mut asked = stored.options.clone();
            asked.extend(
                [("keep", &stored.keep), ("details", &stored.details)]
                    .map(|(name, value)| (name.into(), json!(value))),
            );
            Written::new(SETUP, Some(Value::Object(asked))).map_err(|wrong| wrong.what)?;
            let most = if stored.method == Method::Hash { 256 } else { 64 };
            if stored.distance > most {
                return Err(format!("distance is above {most}"));
            }
            if stored.distances.as_ref().and_then(|it| it.distance(0)) > Some(64) {
                return Err("one of distances is above 64".into());
            }
            Ok(stored)
        });
        Some(read.unwrap_or_else(|error| {
            let version =
                serde_json::from_str::<Value>(&row).map_or(Value::Null, |row| row["version"].clone());
            raise_damaged(table, &version, &error)
        }))
    }

    /// The column of the fingerprint and those that it is made of, by the names that they have now: whatever it is
    /// called, it is made by the recipes of the settings. `None` if it is not there.
    pub(crate) fn fingerprint(&self, table: pg_sys::Oid) -> Option<(String, Vec<String>)> {
        if self.method == Method::Hash {
            let name = self.now(FP, &self.fp)?;
            let table = Table::of(table);
            return table.find(name)?.is_fingerprint().then(|| (name.to_owned(), vec![name.to_owned()]));
        }
        let of = pg_sys::Oid::from_u32(self.of.parse().ok()?);
        // Unknown if their names were no longer theirs when the settings were restored.
        let columns: Option<Vec<String>> = match (self.same, self.now.get(COLUMNS..)) {
            (Some(true), Some(now)) => now.iter().cloned().collect(),
            _ => None,
        };
        let mut found = Generated::all(of);
        found.retain(|(_, it)| {
            it.recipes == self.recipes
                && columns
                    .as_ref()
                    .map_or(it.columns.len() == self.columns.len(), |columns| *columns == it.columns)
        });
        let name = self.now(FP, &self.fp);
        let made_of = columns.as_ref().unwrap_or(&self.columns);
        let found = found
            .iter()
            .find(|(column, _)| name == Some(column.as_str()))
            .or_else(|| found.iter().find(|(_, it)| it.columns == *made_of));
        let (fp, generated) = found?;
        let fits = Generated::of(table, fp).as_ref() == Some(generated)
            && all_become_text(table, &generated.columns);
        fits.then(|| (fp.clone(), generated.columns.clone()))
    }

    /// The name that a column was given.
    pub(crate) fn name(&self, place: usize) -> Option<&str> {
        match place {
            FP => Some(&self.fp),
            ID => self.id.as_deref(),
            _ => self.keep.as_ref()?.get("column")?.as_str(),
        }
    }

    /// The name that a column has now, if it is there; `name` is the one that it was given.
    pub(crate) fn now<'a>(&'a self, place: usize, name: &'a str) -> Option<&'a str> {
        match self.same {
            Some(true) => self.now.get(place)?.as_deref(),
            _ => Some(name),
        }
    }
}

/// Refuses what is none of the settings that `dedup_setup` makes.
pub(super) fn raise_damaged(table: pg_sys::Oid, version: &Value, error: &str) -> ! {
    let root = table_name(root(table));
    raise_corrupted(
        format!("version {version} of the settings of table {root} is none that dedup_setup makes: {error}"),
        format!(
            "SELECT * FROM dedup_setup({}, '{{\"drop\": true}}'); takes them away.",
            quote_literal(&root)
        ),
    )
}
