//! Writes rows as PostgreSQL's `COPY … WITH (FORMAT csv, HEADER)` reads them.

use crate::desk::Row;
use crate::template::push_number;
use std::io::{self, Write};

/// The header line.
pub const HEADER: &str = "id,petitioner,department,title,body,filed_at,cluster,variant\n";

/// Writes all rows after the header.
pub fn write(rows: impl Iterator<Item = Row>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(HEADER.as_bytes())?;
    let mut line = String::with_capacity(4096);
    for row in rows {
        line.clear();
        push_row(&row, &mut line);
        out.write_all(line.as_bytes())?;
    }
    out.flush()
}

/// Appends the line of a row.
pub fn push_row(row: &Row, line: &mut String) {
    push_number(row.id, line);
    for field in [&row.petitioner, row.department, &row.title, &row.body, &row.filed_at] {
        line.push(',');
        push_field(field, line);
    }
    line.push(',');
    push_number(row.cluster, line);
    line.push(',');
    line.push_str(row.variant.name());
    line.push('\n');
}

/// Appends a field, in quotes where it needs them.
fn push_field(field: &str, line: &mut String) {
    if !field.bytes().any(|b| matches!(b, b'"' | b',' | b'\n' | b'\r')) {
        line.push_str(field);
        return;
    }
    line.push('"');
    for (i, part) in field.split('"').enumerate() {
        if i > 0 {
            line.push_str("\"\"");
        }
        line.push_str(part);
    }
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::push_field;

    #[test]
    fn fields_are_quoted_only_where_needed() {
        let field = |text| {
            let mut line = String::new();
            push_field(text, &mut line);
            line
        };
        assert_eq!(field("电梯"), "电梯");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("他说\"不修\"\n"), "\"他说\"\"不修\"\"\n\"");
    }
}
