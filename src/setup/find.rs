//! `dedup_find`: which rows of a table a new text or row repeats, and why.

use super::needed;
use super::plan::literal;
use crate::fingerprint::bag_of_values;
use crate::pg::catalog::{base_type_name, equality, schema};
use crate::pg::spi::{Argument, query_all};
use crate::pg::values::ValueType;
use crate::pg::{Column, Output, Record, raise};
use crate::table::{Settings, Table, join_texts, joined, listed};
use dedup_core::dedup::{Kind, Method};
use dedup_core::features::{Bag, RowRecipe, Shared, shared};
use dedup_core::text::Normal;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};
use serde_json::Value;

/// Features in each list of a row found.
const SHOWN: usize = 5;

/// The rows that a text repeats.
#[pg_extern(sql = "")]
fn dedup_find_text(
    tbl: Option<&str>,
    content: Option<&str>,
    distance: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let settings = Settings::needed(needed(tbl.map(|name| Table::named("tbl", name).oid)));
    let mut output = Output::begin(fcinfo);
    if let Some(content) = content {
        let mut values = vec![None; settings.columns.len()];
        values[settings.main_column()] = Some(content.to_owned());
        let new = New { values, text: Some(content.to_owned()), own: None };
        new.find(&settings, distance, &mut output, "dedup_find(tbl, content, distance");
    }
}

/// The rows that a row repeats.
#[pg_extern(sql = "")]
fn dedup_find_row(row: Option<Record>, distance: Option<i32>, fcinfo: pg_sys::FunctionCallInfo) {
    let Some(row) = row else {
        Output::begin(fcinfo);
        return;
    };
    let settings = Settings::of_row(&row);
    let mut output = Output::begin(fcinfo);
    let values = settings.values_of(&row);
    let text = compared(&settings, &values);
    let id = Table::of(settings.table()).id(None).to_owned();
    // SAFETY: the row is one of the table, which has the column.
    let own = unsafe { row.row().value(&id) }.and_then(|(value, typoid)| {
        // Of the base type: somebody else may have made an operator for a domain.
        let equals = format!("::{} {}", base_type_name(typoid), equality(typoid)?);
        // SAFETY: the value is of the column's type, and so of the one that it is a domain over.
        Some((equals, unsafe { Argument::of_type(value, pg_sys::getBaseType(typoid)) }))
    });
    New { values, text, own }.find(&settings, distance, &mut output, "dedup_find(row, distance");
}

/// The text of a row that is compared, out of the values of the columns that count.
fn compared(settings: &Settings, values: &[Option<String>]) -> Option<String> {
    let compared = settings.texts();
    let texts = settings.columns.iter().zip(values).filter(|(name, _)| compared.contains(&name.as_str()));
    join_texts(texts.map(|(_, value)| value.clone()))
}

/// How rows are found.
enum By {
    /// Fingerprints within a distance.
    Distance(i32),
    /// The texts.
    Text,
    /// Nothing that could be near: a text without features repeats only equal ones.
    Equality,
}

/// What is looked for.
struct New {
    /// The values of the columns that count.
    values: Vec<Option<String>>,
    /// What is compared.
    text: Option<String>,
    /// The key of the row itself, and the cast and the operator that find it.
    own: Option<(String, Argument)>,
}

impl New {
    fn find(&self, settings: &Settings, distance: Option<i32>, output: &mut Output, call: &str) {
        let by_text = distance.is_none() && settings.method() == Method::Text;
        let distance = distance.unwrap_or(settings.distance() as i32);
        if !(0..=64).contains(&distance) {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                "distance is not a whole number from 0 to 64",
                "NULL takes that of the table's settings.",
            )
        }
        let (recipe, bag) = (settings.text_recipe(), bag_of_values(&self.values, &settings.recipe()));
        let kind = |text: Option<&str>| text.map_or(Kind::Empty, |text| Kind::of(text, &recipe));
        let by = match (kind(self.text.as_deref()), bag.simhash()) {
            (Kind::Empty, _) => {
                notice!("there is nothing to compare: the text has no word that counts");
                return;
            }
            (Kind::Near, _) if by_text => By::Text,
            (Kind::Near, Some(_)) => By::Distance(distance),
            _ => By::Equality,
        };
        // What equals the text is none of those that are empty.
        let any = matches!(by, By::Equality);
        let sql = self.statement(settings, by, recipe.normal, output.type_of(0), call);
        debug1!("dedup_find runs: {sql}");
        let fp = bag.simhash().map(u64::cast_signed);
        let mut arguments = vec![Argument::of(fp), Argument::of(self.text.as_deref())];
        arguments.extend(self.own.as_ref().map(|(_, id)| *id));
        let why = Why::new(settings, &self.values);
        query_all(&sql, &arguments, |row| {
            let values: Vec<_> = (0..settings.columns.len()).map(|at| row.text(3 + at)).collect();
            if !any && kind(compared(settings, &values).as_deref()) != Kind::Near {
                return;
            }
            let Shared { both, only_a, only_b } = why.of(&values);
            let lists = [both, only_a, only_b].map(|list| list.into_datum());
            let [shared, only_new, only_row] = lists;
            // SAFETY: the statement's first three columns are those declared, the others text[].
            unsafe { output.pass([row.get(0), row.get(1), row.get(2), shared, only_new, only_row]) };
        });
    }

    /// The search: $1 is the fingerprint, $2 the text, $3 the row's own id.
    fn statement(
        &self,
        settings: &Settings,
        by: By,
        normal: Normal,
        result: pg_sys::Oid,
        call: &str,
    ) -> String {
        let tools = schema();
        let (fp, text) = (quote_identifier(settings.fp()), joined(&settings.texts()));
        let weights = literal(&settings.text_weights());
        let read = |text: &str, plain: bool| match normal == Normal::default() {
            true => text.to_owned(),
            false => format!("{tools}._dedup_read({text}, {weights}::pg_catalog.jsonb, {plain})"),
        };
        let similarity = match by {
            By::Equality => "1::pg_catalog.float8".to_owned(),
            _ => {
                let (row, new) = (read(&text, false), read("$2", false));
                format!("{tools}.ngram_jaccard({row}, {new}, {})", settings.n())
            }
        };
        let least = settings.similarity();
        let order = if matches!(by, By::Text) { "3 DESC, 2, 1" } else { "2, 3 DESC, 1" };
        let mut conditions = vec![match by {
            By::Distance(distance) => format!("{tools}.near_dup(t.{fp}, $1, {distance})"),
            By::Text => {
                let n = settings.n();
                format!(
                    "{tools}.ngrams({}, {n}) OPERATOR({tools}.@%) {tools}.ngram_query($2, {n}, {least}::pg_catalog.float8)",
                    listed(&settings.texts())
                )
            }
            // Without other columns what equals it has no fingerprint either, by which it is found.
            By::Equality if settings.columns.len() == settings.texts().len() => {
                format!("t.{fp} IS NULL AND {text} OPERATOR(pg_catalog.=) $2")
            }
            By::Equality => format!("{text} OPERATOR(pg_catalog.=) $2"),
        }];
        if least > 0.0 && !matches!(by, By::Equality) {
            conditions.push(format!("{similarity} OPERATOR(pg_catalog.>=) {least}::pg_catalog.float8"));
        }
        if let Some(Value::Array(kinds)) = settings.particulars() {
            let kinds: Vec<String> =
                kinds.iter().map(|kind| quote_literal(kind.as_str().unwrap_or_default())).collect();
            let kinds = kinds.join(", ");
            let (row, new) = (read(&text, true), read("$2", true));
            conditions
                .push(format!("{tools}.same_particulars({row}, {new}, ARRAY[{kinds}]::pg_catalog.text[])"));
        }
        let table = Table::of(settings.table());
        let id = table.id(None);
        if let Some((equals, _)) = &self.own {
            conditions.push(format!("NOT (t.{}{equals} $3)", quote_identifier(id)));
        }
        let values: String = settings
            .columns
            .iter()
            .map(|name| format!(", t.{}::pg_catalog.text", quote_identifier(name)))
            .collect();
        format!(
            "SELECT {}, t.{fp} OPERATOR({tools}.<~>) $1, {similarity}{values} FROM {} AS t WHERE {} ORDER BY {order}",
            id_as(&table, id, result, call),
            table.name,
            conditions.join(" AND "),
        )
    }
}

/// What a row has in common with the new one, in words where there are words.
struct Why {
    recipe: RowRecipe,
    new: Bag,
}

impl Why {
    fn new(settings: &Settings, values: &[Option<String>]) -> Why {
        let mut recipe = settings.recipe();
        for ((number, _), name) in recipe.columns.iter_mut().zip(&settings.columns) {
            number.clone_from(name);
        }
        let in_words = recipe.clone().in_words();
        let new = bag_of_values(values, &in_words);
        match new.features().is_empty() {
            true => Why { new: bag_of_values(values, &recipe), recipe },
            false => Why { new, recipe: in_words },
        }
    }

    fn of(&self, row: &[Option<String>]) -> Shared {
        shared(&self.new, &bag_of_values(row, &self.recipe), SHOWN)
    }
}

/// The id as the call returns it: smaller integers as bigint.
fn id_as(table: &Table, id: &str, result: pg_sys::Oid, call: &str) -> String {
    let typoid = table.column(id).typoid;
    check_id(&table.name, id, typoid, result, call);
    // SAFETY: any oid is answered.
    let is_the_same = unsafe { pg_sys::getBaseType(typoid) == pg_sys::getBaseType(result) };
    let id = quote_identifier(id);
    if result == pg_sys::INT8OID && !is_the_same {
        format!("t.{id}::pg_catalog.int8")
    } else {
        format!("t.{id}")
    }
}

/// Refuses to return ids as another type; `call` is how to call with theirs.
///
/// # Errors
/// Raises 42804.
pub(super) fn check_id(table: &str, id: &str, typoid: pg_sys::Oid, result: pg_sys::Oid, call: &str) {
    let column = Column::new(&format!("{table}.{id}"), typoid, pg_sys::InvalidOid);
    ValueType::of_result(&column, result, call);
}
