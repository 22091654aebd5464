//! What is compared of a row: its columns of running text, as SQL writes them, and their values.

use crate::pg::quote_identifier;
use dedup_core::dedup::Method;
use dedup_core::records;
use serde_json::Value;

/// The texts of several expressions in one, joined by line feeds, NULLs left out; NULL if all are.
pub(super) fn concatenated(texts: &[String]) -> String {
    let list = texts.join(", ");
    format!(
        "CASE WHEN pg_catalog.num_nonnulls({list}) OPERATOR(pg_catalog.>) 0 \
         THEN pg_catalog.concat_ws(E'\\n', {list}) END"
    )
}

/// The columns of running text; if there is none, all that count.
pub(crate) fn running<'c>(columns: &'c [String], recipes: &[Value]) -> Vec<&'c str> {
    let all = recipes.iter().all(Value::is_number);
    let columns = columns.iter().zip(recipes).filter(|(_, weight)| all || !weight.is_number());
    columns.map(|(name, _)| name.as_str()).collect()
}

/// The text of columns of the table that SQL calls `t`, as one expression.
pub(crate) fn joined(columns: &[&str]) -> String {
    match columns {
        [one] => cast(one),
        several => concatenated(&several.iter().map(cast).collect::<Vec<_>>()),
    }
}

fn cast(name: &&str) -> String {
    format!("t.{}::pg_catalog.text", quote_identifier(*name))
}

/// What is compared of a row with these values.
pub(crate) fn content(method: Method, values: impl Iterator<Item = Option<String>>) -> Option<String> {
    if method == Method::Records { records::joined(values) } else { join_texts(values) }
}

/// As [`joined`], of values.
pub(crate) fn join_texts(values: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    values.into_iter().flatten().reduce(|joined, next| joined + "\n" + &next)
}
