//! Versions of corpora and dictionaries in the extension's tables.

use crate::pg::{read, schema, text};
use dedup_core::features::{RecipeError, missing};

/// The parts of `petitions@1`.
pub(super) fn split_name(name: &str) -> Option<(&str, &str)> {
    let (base, version) = name.split_once('@')?;
    let plain =
        !version.is_empty() && !version.starts_with('0') && version.bytes().all(|b| b.is_ascii_digit());
    (plain && !base.is_empty() && version.len() < 10).then_some((base, version))
}

/// The columns, as text or bytes, of the version called `name`: of its row, or
/// (while a restore has not loaded the row) of the function that carries the
/// version through a dump; or the error that names those there are.
pub(super) fn stored_row(kind: &str, columns: &str, name: &str) -> Result<Vec<Option<Vec<u8>>>, RecipeError> {
    let table = format!("{}._dedup_{kind}", schema());
    let found = split_name(name).and_then(|(base, version)| {
        let query = format!(
            "SELECT {columns} FROM {table} WHERE name OPERATOR(pg_catalog.=) $1 \
             AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4 AND NOT dropped"
        );
        read(&query, &[base, version]).pop().or_else(|| {
            let query =
                format!("SELECT {columns} FROM {}._dedup_{kind}_carried($1, $2::pg_catalog.int4)", schema());
            read(&query, &[base, version]).pop()
        })
    });
    found.ok_or_else(|| {
        let query = format!(
            "SELECT pg_catalog.concat(name, '@', version) FROM {table} WHERE NOT dropped ORDER BY name, version DESC"
        );
        let known: Vec<String> = read(&query, &[]).into_iter().flatten().flatten().map(text).collect();
        missing(kind, name, &known[..known.len().min(20)])
    })
}
