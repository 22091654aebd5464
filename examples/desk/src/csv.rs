//! Writes rows as PostgreSQL's `COPY … WITH (FORMAT csv, HEADER)` reads them.

use crate::desk::Row;
use ::csv::{ErrorKind, WriterBuilder};
use std::io::{self, Write};

/// The columns.
pub const HEADER: [&str; 8] =
    ["id", "petitioner", "department", "title", "body", "filed_at", "cluster", "variant"];

/// Writes all rows after the header.
///
/// # Errors
///
/// Those of `out`.
pub fn write(rows: impl Iterator<Item = Row>, out: impl Write) -> io::Result<()> {
    let mut out = WriterBuilder::new().buffer_capacity(1 << 18).from_writer(out);
    let failed = |error: ::csv::Error| match error.into_kind() {
        ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    };
    out.write_record(HEADER).map_err(failed)?;
    for row in rows {
        out.write_record([
            &row.id.to_string(),
            &row.petitioner,
            row.department,
            &row.title,
            &row.body,
            &row.filed_at,
            &row.cluster.to_string(),
            row.variant.name(),
        ])
        .map_err(failed)?;
    }
    out.flush()
}
