//! Versions of corpora and dictionaries in the extension's tables.

use crate::pg::catalog::{as_owner, schema};
use crate::pg::spi::{Argument, query_all};
use crate::pg::{Values, raise};
use dedup_core::features::{RecipeError, missing};
use pgrx::PgSqlErrorCode;

/// The parts of `petitions@1`.
pub(super) fn split_name(name: &str) -> Option<(&str, &str)> {
    let (base, version) = name.split_once('@')?;
    let plain =
        !version.is_empty() && !version.starts_with('0') && version.bytes().all(|b| b.is_ascii_digit());
    (plain && !base.is_empty() && version.len() < 10).then_some((base, version))
}

/// Reads columns of the version called `name`: of its row or, while a restore has not loaded the
/// row, of the function that carries the version through a dump. The error names the versions that
/// exist.
pub(super) fn stored_row<T>(
    kind: &str,
    columns: &str,
    name: &str,
    read: impl Fn(&Values<'_>) -> T,
) -> Result<T, RecipeError> {
    let schema = schema();
    let found = split_name(name).and_then(|(base, version)| {
        let arguments = [base, version].map(Argument::of);
        let of_table = format!(
            "SELECT {columns} FROM {schema}._dedup_{kind} WHERE name OPERATOR(pg_catalog.=) $1 \
             AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4 AND NOT dropped"
        );
        let carried =
            format!("SELECT {columns} FROM {schema}._dedup_{kind}_carried($1, $2::pg_catalog.int4)");
        as_owner(|| {
            query_all(&of_table, &arguments, &read)
                .pop()
                .or_else(|| query_all(&carried, &arguments, &read).pop())
        })
    });
    found.ok_or_else(|| {
        let query = format!(
            "SELECT pg_catalog.concat(name, '@', version) FROM {schema}._dedup_{kind} WHERE NOT dropped \
             ORDER BY name, version DESC LIMIT 20"
        );
        missing(kind, name, &as_owner(|| query_all(&query, &[], |row| row.text(0).unwrap_or_default())))
    })
}

/// Refuses whoever may compute with a version but is not to see its words and weights.
///
/// # Errors
/// Raises 42501 unless the user may use its server or read its table.
pub(super) fn check_shown(kind: &str, name: &str) {
    let Some((base, version)) = split_name(name) else { return };
    let schema = schema();
    let query = format!(
        "SELECT {schema}._dedup_carrier_name($1, $2, $3::pg_catalog.int4), (\
             pg_catalog.has_table_privilege($4::pg_catalog.regclass, 'SELECT') \
             OR EXISTS (SELECT FROM {schema}._dedup_carrier($1, $2, $3::pg_catalog.int4) AS c \
                 WHERE pg_catalog.has_server_privilege(c.server, 'USAGE')))::pg_catalog.text"
    );
    let table = format!("{schema}._dedup_{kind}");
    let arguments = [kind, base, version, &table].map(Argument::of);
    let found = query_all(&query, &arguments, |row| (row.text(0).unwrap_or_default(), row.text(1)));
    if let Some((server, may)) = found.into_iter().next()
        && may.as_deref() != Some("true")
    {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied to see words or weights of {kind} \"{name}\""),
            format!(
                "Who built it may GRANT USAGE ON FOREIGN SERVER {server} to the role that does. Fingerprints need no grant."
            ),
        )
    }
}
