//! Versions of corpora and dictionaries in the extension's tables.

use crate::pg::{Argument, Record, Row, own_function, query_all, raise_denied, schema, with_snapshot};
use dedup_core::features::{RecipeError, missing};
use pgrx::{FromDatum, IntoDatum, pg_sys};

/// The parts of `petitions@1`.
pub(super) fn split_name(name: &str) -> Option<(&str, &str)> {
    let (base, version) = name.split_once('@')?;
    let plain =
        !version.is_empty() && !version.starts_with('0') && version.bytes().all(|b| b.is_ascii_digit());
    (plain && !base.is_empty() && version.len() < 10).then_some((base, version))
}

/// Reads the version called `name`: its row or, while a restore has not loaded the row, what carries it through a dump. The
/// error names the versions that exist.
pub(super) fn stored_row<T>(kind: &str, name: &str, read: impl Fn(&Row<'_>) -> T) -> Result<T, RecipeError> {
    let found = split_name(name).and_then(|(base, version)| {
        let function = own_function(&format!("_dedup_{kind}_stored"), &[pg_sys::TEXTOID, pg_sys::INT4OID]);
        let (base, version) = (base.into_datum()?, version.parse::<i32>().ok()?.into_datum()?);
        // SAFETY: the function is of a text and a number; its row is one of NULLs if there is no such version.
        let row = with_snapshot(|| unsafe {
            Record::from_datum(
                pg_sys::OidFunctionCall2Coll(function, pg_sys::InvalidOid, base, version),
                false,
            )
        })?;
        row.row().text("name").map(|_| read(&row.row()))
    });
    found.ok_or_else(|| {
        let catalogue = if kind == "corpus" { "dedup_corpora" } else { "dedup_dictionaries" };
        let query = format!(
            "SELECT v.{kind} FROM {}.{catalogue} AS v ORDER BY pg_catalog.split_part(v.{kind}, '@', 1) COLLATE pg_catalog.\"C\", \
                 pg_catalog.split_part(v.{kind}, '@', 2)::pg_catalog.int4 DESC LIMIT 20",
            schema()
        );
        missing(kind, name, &query_all(&query, &[], |row| row.text(0).unwrap_or_default()))
    })
}

/// Refuses whoever may compute with a version but is not to see its words and weights.
/// Raises 42501 unless the user may use its server or read its table.
pub(super) fn check_shown(kind: &str, name: &str) {
    let Some((base, version)) = split_name(name) else { return };
    let schema = schema();
    let query = format!(
        "SELECT {schema}._dedup_carrier_name($1, $2, $3::pg_catalog.int4), (\
             pg_catalog.has_table_privilege($4::pg_catalog.regclass, 'SELECT') \
             OR EXISTS (SELECT FROM {schema}._dedup_carrier($1, $2, $3::pg_catalog.int4) AS c \
                 WHERE pg_catalog.has_server_privilege(c.server, 'USAGE')))"
    );
    let table = format!("{schema}._dedup_{kind}");
    let arguments = [kind, base, version, &table].map(Argument::of);
    let found = query_all(&query, &arguments, |row| (row.text(0).unwrap_or_default(), row.is(1)));
    if let Some((server, false)) = found.into_iter().next() {
        raise_denied(
            format!("permission denied to see words or weights of {kind} \"{name}\""),
            format!(
                "Who built it may GRANT USAGE ON FOREIGN SERVER {server} to the role that does. Fingerprints need no grant."
            ),
        )
    }
}
