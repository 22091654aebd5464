//! A table or a view by its name or number: its columns, its key, and the queries that read it.

use crate::pg::{
    Argument, Column, Schemas, as_text, base_type, check_type, commas, inheritors, is_built_in, lock_columns,
    oid, query_all, query_catalogue, quote_identifier, quoted, raise, raise_definition, raise_denied,
    raise_generated, raise_kind, raise_no_column, raise_no_table, scalar, schemas_of, schemas_of_types,
};
use dedup_core::records::MOST_COLUMNS;
use pgrx::pg_sys;
use pgrx::prelude::*;
use serde_json::json;
use std::ffi::{CStr, CString};
use std::ops::Deref;

/// A relation whose rows can be read.
#[derive(Default)]
pub(crate) struct Table {
    pub oid: pg_sys::Oid,
    /// With its schema, quoted where SQL needs it.
    pub name: String,
    pub columns: Vec<TableColumn>,
    /// The columns of the primary key, in its order.
    pub key: Vec<String>,
    kind: String,
    is_partition: bool,
    owner: String,
    owner_oid: pg_sys::Oid,
    has_policies: bool,
    is_own: bool,
    /// As long as there is text with its name and those of its types.
    _schemas: Vec<Schemas>,
}

pub(crate) struct TableColumn {
    column: Column,
    pub(crate) is_generated: bool,
    /// A fingerprint that a `banding` index searches.
    pub(super) is_searched: bool,
    /// Its values are made as rows come: a number, the time.
    is_counted: bool,
}

impl Deref for TableColumn {
    type Target = Column;

    fn deref(&self) -> &Column {
        &self.column
    }
}

const SETUP: &str = "Settings are of a table of your own: SELECT * FROM dedup_setup('ticket').";

impl Table {
    /// The table of a name, as SQL writes it.
    /// Raises 42P01 if there is none, 42809 for another relation whose rows are not read.
    pub(crate) fn named(argument: &str, name: &str) -> Table {
        let hint = format!("{argument} is the name of a table or a query.");
        let Some(found) = table_named(name) else {
            let exact = name.trim().split('.').map(quoted).collect::<Vec<_>>().join(".");
            raise_no_table(
                format!("relation \"{}\" does not exist", name.trim().replace('"', "")),
                match !name.contains('"') && table_named(&exact).is_some() {
                    true => format!("Quote a name with capitals: '{exact}'."),
                    false => hint,
                },
            )
        };
        let table = Table::of(found);
        if !["r", "p", "v", "m", "f"].contains(&table.kind.as_str()) {
            table.refuse_kind("a table", &hint)
        }
        table
    }

    /// The relation of that number. Its columns stay as they are to the end of the transaction. Raises 42P01 if there is none.
    pub(crate) fn of(oid: pg_sys::Oid) -> Table {
        const SQL: &str = "SELECT c.relkind::pg_catalog.text, c.relispartition, pg_catalog.pg_has_role(c.relowner, 'USAGE'), \
                pg_catalog.pg_get_userbyid(c.relowner)::pg_catalog.text, a.attname::pg_catalog.text, a.atttypid, \
                a.attgenerated OPERATOR(pg_catalog.<>) '', \
                EXISTS (SELECT FROM pg_catalog.pg_index i WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid \
                      AND i.indkey[i.indnkeyatts OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.=) a.attnum \
                      AND (SELECT m.amname OPERATOR(pg_catalog.=) 'banding' FROM pg_catalog.pg_class x JOIN pg_catalog.pg_am m \
                          ON m.oid OPERATOR(pg_catalog.=) x.relam WHERE x.oid OPERATOR(pg_catalog.=) i.indexrelid)), \
                (SELECT k.place FROM pg_catalog.pg_index i, pg_catalog.unnest(i.indkey) WITH ORDINALITY AS k(number, place) \
                  WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid AND i.indisprimary AND k.number OPERATOR(pg_catalog.=) a.attnum \
                    AND k.place OPERATOR(pg_catalog.<=) i.indnkeyatts), \
                c.relowner, c.relrowsecurity, \
                a.attidentity OPERATOR(pg_catalog.<>) '' OR EXISTS (SELECT FROM pg_catalog.pg_attrdef d \
                    WHERE d.adrelid OPERATOR(pg_catalog.=) c.oid AND d.adnum OPERATOR(pg_catalog.=) a.attnum AND d.adbin::pg_catalog.text \
                        OPERATOR(pg_catalog.~) '[{](SQLVALUEFUNCTION|NEXTVALUEEXPR|FUNCEXPR [^{]*:funcformat 0 )') \
            FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) c.oid \
                AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped \
            WHERE c.oid OPERATOR(pg_catalog.=) $1 ORDER BY a.attnum";
        // The settings of a partition are those of the whole. Whatever is waited for comes before the name: the owner of its
        // schema may rename that meanwhile.
        [root(oid), oid].into_iter().for_each(lock_columns);
        let _schemas = vec![schemas_of(oid)];
        let mut table = Table { oid, name: table_name(oid), _schemas, ..Table::default() };
        let mut key = Vec::new();
        query_catalogue(SQL, &[Argument::of(oid)], |row| {
            table.kind = row.text(0).unwrap_or_default();
            (table.is_partition, table.is_own, table.has_policies) = (row.is(1), row.is(2), row.is(10));
            table.owner = row.text(3).unwrap_or_default();
            table.owner_oid = row.oid(9).unwrap_or(pg_sys::InvalidOid);
            let Some((name, typoid)) = row.text(4).zip(row.oid(5)) else { return };
            key.extend(row.bigint(8).map(|place| (place, name.clone())));
            let column = Column::new(&name, typoid, pg_sys::InvalidOid);
            let [is_generated, is_searched, is_counted] = [6, 7, 11].map(|at| row.is(at));
            table.columns.push(TableColumn { column, is_generated, is_searched, is_counted });
        });
        table._schemas.push(schemas_of_types(table.columns.iter().map(|it| it.typoid)));
        key.sort_unstable();
        table.key = key.into_iter().map(|(_, name)| name).collect();
        table
    }

    /// Whether it is a table and nothing else, all of whose rows are seen or none.
    pub(crate) fn is_plain(&self) -> bool {
        self.kind == "r" && !self.has_policies
    }

    /// Whether all tables that inherit from it are its partitions.
    pub(crate) fn is_partitioned(&self) -> bool {
        self.kind == "p"
    }

    pub(crate) fn owner(&self) -> pg_sys::Oid {
        self.owner_oid
    }

    fn refuse_kind(&self, what: &str, hint: &str) -> ! {
        raise_kind(format!("{} is not {what}", self.name), hint)
    }

    /// The table, if settings can be given to it by the caller. Raises 42809 if it is no table, 42501 if it is somebody else's.
    pub(crate) fn to_set_up(oid: pg_sys::Oid) -> Table {
        let table = Table::of(oid);
        match table.kind.as_str() {
            "r" | "p" if !table.is_partition => {}
            "r" | "p" => {
                let hint = format!("Set up the table that it is a partition of, {}.", table_name(root(oid)));
                table.refuse_kind("a table of its own but a partition", &hint)
            }
            "v" | "m" => table.refuse_kind(
                "a table but a view",
                "A view has no column for the fingerprint: set up the table that it reads, or give dedup a query.",
            ),
            "f" => table.refuse_kind(
                "a table but a foreign table",
                "The fingerprint must be stored beside the row: set up the table on its own server, or give dedup a query.",
            ),
            _ => table.refuse_kind("a table", SETUP),
        }
        if !table.is_own {
            raise_denied(
                format!("must be owner of table {}", table.name),
                format!("A table is set up by its owner, which is {}.", table.owner),
            )
        }
        table
    }

    /// The column of that name. Raises 42703 if there is none.
    pub(crate) fn column(&self, name: &str) -> &TableColumn {
        self.find(name).unwrap_or_else(|| {
            let names = commas(self.columns.iter().map(|column| column.name.as_str()));
            raise_no_column(
                format!("{} has no column \"{name}\"", self.name),
                format!("Its columns are: {names}."),
            )
        })
    }

    /// The column of that name, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<&TableColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Whether no column can be made of that name: there is one, if only one of PostgreSQL's.
    pub(crate) fn has_column(&self, name: &str) -> bool {
        let text = CString::new(name).unwrap_or_default();
        // SAFETY: a string that ends.
        let is_system = unsafe { !pg_sys::SystemAttributeByName(text.as_ptr()).is_null() };
        is_system || self.find(name).is_some()
    }

    /// The primary key. Raises 42P16 if it is not one column.
    pub(crate) fn key_column(&self) -> &str {
        match &self.key[..] {
            [one] => one,
            _ => raise(
                PgSqlErrorCode::ERRCODE_INVALID_TABLE_DEFINITION,
                format!("{} has no primary key of one column", self.name),
                "Name the column of the ids, {\"id\": \"…\"}, or give a query.",
            ),
        }
    }

    /// The columns that may tell what a row is of: not those that say when it was written, or are made of others. None if there are
    /// more than can be compared.
    pub(crate) fn record_columns(&self, but: &[&str]) -> Vec<&TableColumn> {
        use pg_sys::{DATEOID, INT2OID, INT4OID, INT8OID, NUMERICOID};
        let is_it = |column: &&TableColumn| {
            let is_told = column.is_any_text()
                || matches!(column.base_type(), INT2OID | INT4OID | INT8OID | NUMERICOID | DATEOID);
            let is_named = but.contains(&column.name.as_str()) || self.key.contains(&column.name);
            let is_made = column.is_generated || column.is_searched || column.is_counted;
            is_told && !is_named && !is_made && becomes_text(column.typoid)
        };
        let columns: Vec<&TableColumn> = self.columns.iter().filter(is_it).collect();
        if columns.len() > MOST_COLUMNS { Vec::new() } else { columns }
    }

    /// The only column of a text type beside `id` and the key. Raises 42P16 if there is not exactly one.
    pub(crate) fn text_column(&self, id: Option<&str>) -> &str {
        let is_id = |column: &TableColumn| id == Some(&column.name) || self.key.contains(&column.name);
        let others = || self.columns.iter().filter(|column| !is_id(column));
        let texts = others().filter(|column| column.is_any_text());
        let texts: Vec<&str> = texts.map(|column| column.name.as_str()).collect();
        if let [one] = texts[..] {
            return one;
        }
        let (how_many, hint) = if texts.is_empty() {
            let first = others().next();
            first.iter().for_each(|column| column.check_no_digits());
            let id = id.or(self.key.first().map(String::as_str)).unwrap_or("id");
            let (id, text) = (quoted(id), quoted(first.map_or("content", |column| &column.name)));
            ("no", format!("or give a query that casts it: 'SELECT {id}, {text}::text FROM {}'", self.name))
        } else {
            ("more than one", "or give a query".to_owned())
        };
        let names: Vec<String> = texts.iter().map(|name| json!(name).to_string()).collect();
        let list = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let named = if names.is_empty() { "\"…\"".to_owned() } else { names.join(", ") };
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_TABLE_DEFINITION,
            format!("{} has {how_many} column of a text type{list}", self.name),
            format!("Name what is compared, {{\"columns\": [{named}]}}, {hint}."),
        )
    }

    /// A column as text in a generation expression. Raises 428C9 for a generated column, 42P17 for one whose values are written
    /// as a setting of the session says.
    pub(crate) fn generated_text(&self, name: &str) -> String {
        let TableColumn { column, is_generated, .. } = self.column(name);
        let quoted = quote_identifier(name);
        if *is_generated {
            raise_generated(
                format!("column \"{name}\" of table {} is generated", self.name),
                "PostgreSQL makes no generated column of another one. Name the columns that it is made of.",
            )
        }
        if column.typoid == pg_sys::TEXTOID {
            return quoted;
        }
        if !becomes_text(column.typoid) {
            raise_definition(
                format!(
                    "column \"{name}\" of table {} is {}, whose text is not always the same",
                    self.name,
                    column.type_name()
                ),
                "It depends on settings of the session or on a cast of your own, so it is no part of a generated column. \
                 Keep the text in a column of its own, or fill the fingerprint by simhash_trigger.",
            )
        }
        as_text(&quoted, column.typoid)
    }
}

/// The table that a partition belongs to in the end; any other one itself.
pub(crate) fn root(table: pg_sys::Oid) -> pg_sys::Oid {
    const SQL: &str = "SELECT pg_catalog.pg_partition_root($1::pg_catalog.regclass)::pg_catalog.oid";
    oid(SQL, &[Argument::of(table)]).unwrap_or(table)
}

/// The parts of a name as SQL writes it.
pub(crate) fn parts(name: &str) -> Vec<String> {
    const SQL: &str =
        "SELECT p FROM pg_catalog.unnest(pg_catalog.parse_ident($1)) WITH ORDINALITY AS u(p, n) ORDER BY n";
    query_all(SQL, &[Argument::of(name)], |row| row.text(0).unwrap_or_default())
}

/// The number of the relation of a name.
pub(crate) fn table_named(name: &str) -> Option<pg_sys::Oid> {
    oid("SELECT pg_catalog.to_regclass($1)::pg_catalog.oid", &[Argument::of(name)])
}

/// A table's name with its schema, quoted where SQL needs it.
pub(crate) fn table_name(table: pg_sys::Oid) -> String {
    const SQL: &str = "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) \
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace \
        WHERE c.oid OPERATOR(pg_catalog.=) $1";
    let name = query_catalogue(SQL, &[Argument::of(table)], |row| row.text(0)).pop().flatten();
    name.unwrap_or_else(|| {
        raise_no_table(format!("there is no table with the OID {table}"), "Name a table: 'ticket'.")
    })
}

/// Whether values of a type become the same text whatever the session's settings, and by no code
/// of another role: a cast would run it as whoever searches the table.
pub(super) fn becomes_text(typoid: pg_sys::Oid) -> bool {
    let is_immutable = |function: pg_sys::Oid| {
        // SAFETY: the catalogue names the function.
        unsafe { pg_sys::func_volatile(function) as u8 == pg_sys::PROVOLATILE_IMMUTABLE }
    };
    check_type(typoid, None);
    // SAFETY: any oid is answered; a type has an output function.
    unsafe {
        let base = base_type(typoid);
        if base == pg_sys::DATEOID {
            return true;
        }
        match way_to_text(base) {
            (pg_sys::CoercionPathType::COERCION_PATH_RELABELTYPE, _) => true,
            (pg_sys::CoercionPathType::COERCION_PATH_FUNC, cast) => is_built_in(cast) && is_immutable(cast),
            (pg_sys::CoercionPathType::COERCION_PATH_COERCEVIAIO, _) => {
                let (mut output, mut is_varlena) = (pg_sys::InvalidOid, false);
                pg_sys::getTypeOutputInfo(base, &mut output, &mut is_varlena);
                is_immutable(output) && !follows_settings(base)
            }
            _ => false,
        }
    }
}

/// A day as ISO 8601 has it, whatever the session's `DateStyle`.
#[pg_extern(sql = "")]
fn _iso(day: pgrx::datum::Date) -> String {
    let mut buffer = [0; pg_sys::MAXDATELEN as usize + 1];
    let day = day.into_datum().unwrap_or(pg_sys::Datum::from(0usize));
    // SAFETY: the buffer has the size that this function asks for, and the datum is a day.
    unsafe {
        pg_sys::JsonEncodeDateTime(buffer.as_mut_ptr(), day, pg_sys::DATEOID, std::ptr::null());
        CStr::from_ptr(buffer.as_ptr()).to_string_lossy().into_owned()
    }
}

/// Whether values are written as `extra_float_digits` or `bytea_output` says, though PostgreSQL calls that immutable.
fn follows_settings(base: pg_sys::Oid) -> bool {
    use pg_sys::{
        BOXOID, BYTEAOID, CIRCLEOID, FLOAT4OID, FLOAT8OID, LINEOID, LSEGOID, PATHOID, POINTOID, POLYGONOID,
    };
    let is_geometric =
        matches!(base, POINTOID | LSEGOID | PATHOID | BOXOID | POLYGONOID | LINEOID | CIRCLEOID);
    is_geometric || matches!(base, FLOAT4OID | FLOAT8OID | BYTEAOID)
}

/// How PostgreSQL casts a type that is no domain to text, and by which function if it is by one.
pub(crate) fn way_to_text(base: pg_sys::Oid) -> (pg_sys::CoercionPathType::Type, pg_sys::Oid) {
    let mut function = pg_sys::InvalidOid;
    let explicit = pg_sys::CoercionContext::COERCION_EXPLICIT;
    // SAFETY: any pair of types is answered.
    let path = unsafe { pg_sys::find_coercion_pathway(pg_sys::TEXTOID, base, explicit, &mut function) };
    (path, function)
}

/// Rows of the table that this one is a partition of, or of it and those that inherit from it, when they were last counted
/// (by `ANALYZE`, `VACUUM` or the build of an index): dead rows make a table no larger. One that never was is estimated by its
/// pages now, but a call that reads one partition must not wait for whoever alters another.
pub(super) fn rows_of(whole: pg_sys::Oid, table: pg_sys::Oid) -> u64 {
    let none = pg_sys::NoLock as pg_sys::LOCKMODE;
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    let rows = inheritors(whole, pg_sys::NoLock).into_iter().map(|part| {
        // SAFETY: any oid can be locked.
        if part == table || unsafe { pg_sys::ConditionalLockRelationOid(part, lock) } {
            estimated(part, if part == table { lock } else { none })
        } else {
            counted(part)
        }
    });
    rows.sum::<f64>() as u64
}

/// The rows of a table that is locked with `mode`, if with none already; it is unlocked. Counted or estimated.
fn estimated(table: pg_sys::Oid, mode: pg_sys::LOCKMODE) -> f64 {
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    let (mut pages, mut rows, mut visible);
    // SAFETY: a relation that is open is estimated and closed again; what is dropped meanwhile is left out.
    unsafe {
        let relation = pg_sys::try_relation_open(table, mode);
        if relation.is_null() {
            // With the lock, PostgreSQL has given it up itself.
            if mode == pg_sys::NoLock as pg_sys::LOCKMODE {
                pg_sys::UnlockRelationOid(table, lock);
            }
            return 0.0;
        }
        (pages, rows, visible) = (0, f64::from((*(*relation).rd_rel).reltuples), 0.0);
        if (*(*relation).rd_rel).relkind as u8 == pg_sys::RELKIND_PARTITIONED_TABLE {
            // It has no rows but those of its partitions.
            rows = 0.0;
        } else if rows < 0.0 {
            pg_sys::estimate_rel_size(relation, std::ptr::null_mut(), &mut pages, &mut rows, &mut visible);
        }
        pg_sys::relation_close(relation, lock);
    }
    rows.max(0.0)
}

/// The rows of a table when they were last counted.
fn counted(table: pg_sys::Oid) -> f64 {
    const SQL: &str = "SELECT c.reltuples::pg_catalog.text FROM pg_catalog.pg_class c \
        WHERE c.oid OPERATOR(pg_catalog.=) $1 AND c.relkind OPERATOR(pg_catalog.<>) 'p'";
    scalar(SQL, &[Argument::of(table)])
        .and_then(|rows| rows.parse().ok())
        .map_or(0.0, |rows: f64| rows.max(0.0))
}
