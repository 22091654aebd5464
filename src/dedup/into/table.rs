//! The table of the result and those that belong to it: ordinary tables, owned by the caller.

use crate::pg::{
    Argument, Column, Values, execute, object_name, query_all, query_catalogue, quote_literal, quoted, raise,
    raise_denied, raise_duplicate_table, raise_mismatch, raise_state, scalar,
};
use crate::table::{hindrance, parts, table_name, table_named};
use pgrx::prelude::*;

pub(super) struct Table {
    /// The result and the tables that belong to it, with schema, quoted.
    pub name: String,
    pub merges: String,
    pub state: String,
    /// The ids that a trigger has written, and the names of the function and of its triggers.
    pub todo: String,
    pub follow: String,
    pub trigger: String,
    pub truncate: String,
    pub bare: String,
}

/// The columns of the result, as [`Table::make`] makes them.
const COLUMNS: &str = "id cluster keeper stage distance similarity arrival fp hash digest";
const MERGES: &str = "merge merged_at kept absorbed id";
const STATE: &str = "result source options asked search_path arrivals rows follow statistics decisions";
const TODO: &str = "id";

/// The query, options and search path of a result, as stored.
pub(super) struct State<'a> {
    pub source: &'a str,
    pub path: &'a str,
    /// Those of the options that somebody asked for.
    pub asked: &'a str,
    pub options: String,
}

pub(super) struct Saved {
    pub source: String,
    pub options: String,
    /// Those of them that somebody asked for.
    pub asked: serde_json::Map<String, serde_json::Value>,
    pub path: String,
    pub arrivals: i64,
    pub rows: i64,
    /// How the source is followed, if it is.
    pub follow: Option<String>,
    /// What the rows have in common, as digits.
    pub statistics: Option<String>,
    /// What told what was decided.
    pub decisions: Option<String>,
    pub ids: pg_sys::Oid,
}

const REBUILD: &str =
    "For another result give another name, or drop this one with its tables _merges and _state.";

struct Relation {
    kind: String,
    owner: String,
    own: bool,
    columns: String,
    id_type: Option<pg_sys::Oid>,
    /// A property that a result must not have.
    hindrance: Option<String>,
}

impl Table {
    /// Whether the three tables are there and belong to the caller. Raises an error if only some are, or another's.
    pub(super) fn is_there(&self) -> bool {
        const SQL: &str = "SELECT FROM pg_catalog.unnest($1) AS u(name) JOIN pg_catalog.pg_class c \
               ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(u.name)::pg_catalog.oid \
             WHERE c.relkind OPERATOR(pg_catalog.=) 'r' \
               AND pg_catalog.pg_get_userbyid(c.relowner) OPERATOR(pg_catalog.=) current_user";
        let names = [&self.name, &self.merges, &self.state].map(String::clone).to_vec();
        query_all(SQL, &[Argument::of(names)], |_| ()).len() == 3 || self.checked().is_some()
    }

    /// The result of that name, which may not exist.
    pub(super) fn called(result: &str) -> Table {
        let mut given = parts(result);
        let bare = given.pop().unwrap_or_default();
        if bare.len() > 63 || given.len() > 1 {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_NAME,
                format!("invalid name of a table: \"{result}\""),
                "Give a name of at most 63 bytes, with or without a schema.",
            )
        }
        let there = || Some(parts(&table_name(table_named(&quoted(&bare))?)).swap_remove(0));
        let current = || scalar("SELECT pg_catalog.current_schema()::pg_catalog.text", &[]);
        let found = given.pop().or_else(there).or_else(current);
        let Some(found) = found else {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_SCHEMA_NAME,
                format!("no schema has been selected to create \"{bare}\" in"),
                "Give the name with a schema.",
            )
        };
        let named = |name: &str| format!("{}.{}", quoted(&found), quoted(name));
        Table {
            name: named(&bare),
            merges: named(&object_name(&bare, "merges")),
            state: named(&object_name(&bare, "state")),
            todo: named(&object_name(&bare, "todo")),
            follow: named(&object_name(&bare, "follow")),
            trigger: quoted(&object_name(&format!("{found}_{bare}"), "follow")),
            truncate: quoted(&object_name(&format!("{found}_{bare}"), "truncate")),
            bare,
        }
    }

    /// Looks up the result and the tables that belong to it in the catalogue, at once: to plan this takes longer than to run it.
    fn relations(&self) -> [Option<Relation>; 4] {
        let sql = format!(
            "SELECT c.relkind::pg_catalog.text, \
                 pg_catalog.pg_get_userbyid(c.relowner)::pg_catalog.text, \
                 pg_catalog.pg_get_userbyid(c.relowner) OPERATOR(pg_catalog.=) current_user, \
                 (SELECT pg_catalog.string_agg(a.attname::pg_catalog.text, ' ' ORDER BY a.attnum) \
                    FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid \
                     AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped), \
                 (SELECT a.atttypid FROM pg_catalog.pg_attribute a \
                   WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attname OPERATOR(pg_catalog.=) 'id'), \
                 {} \
             FROM pg_catalog.unnest($1) WITH ORDINALITY AS u(name, n) LEFT JOIN pg_catalog.pg_class c \
               ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(u.name)::pg_catalog.oid ORDER BY u.n",
            hindrance(pg_sys::InvalidOid)
        );
        let read = |row: &Values<'_>| {
            Some(Relation {
                kind: row.text(0)?,
                owner: row.text(1)?,
                own: row.is(2),
                columns: row.text(3).unwrap_or_default(),
                id_type: row.oid(4),
                hindrance: row.text(5),
            })
        };
        let names = [&self.name, &self.merges, &self.state, &self.todo].map(String::clone).to_vec();
        let mut found = query_catalogue(sql, &[Argument::of(names)], read).into_iter();
        std::array::from_fn(|_| found.next().flatten())
    }

    /// The type of its ids, if the result exists. Raises an error if the tables of these names are not a result, belong to
    /// another role, or have triggers, rules or the like by which code of other roles would run as the caller.
    fn checked(&self) -> Option<pg_sys::Oid> {
        let [found, merges, state, todo] = &self.relations();
        let found = found.as_ref()?;
        let [Some(merges), Some(state)] = [merges, state] else { self.refuse_foreign() };
        let all = [(found, &self.name, COLUMNS), (merges, &self.merges, MERGES), (state, &self.state, STATE)];
        let all = all.into_iter().chain(todo.iter().map(|todo| (todo, &self.todo, TODO)));
        for (relation, _, columns) in all.clone() {
            let has_columns =
                relation.columns == columns || relation.columns.starts_with(&format!("{columns} "));
            if relation.kind != "r" || !has_columns {
                self.refuse_foreign()
            }
        }
        for (relation, name, _) in all {
            if !relation.own {
                raise_denied(
                    format!("must be owner of table {name}"),
                    format!("A result is kept up to date by its owner, which is {}.", relation.owner),
                )
            }
            if let Some(hindrance) = &relation.hindrance {
                raise_state(
                    format!("table {name} has {hindrance}"),
                    "Take that away, or give the result another name.",
                )
            }
        }
        Some(found.id_type.unwrap_or(pg_sys::InvalidOid))
    }

    /// What is saved with the result, which the caller has locked.
    pub(super) fn saved(&self) -> Saved {
        let ids = self.checked().unwrap_or(pg_sys::InvalidOid);
        let state = &self.state;
        let sql = format!(
            "SELECT s.source, s.options::pg_catalog.text, s.asked::pg_catalog.text, s.search_path, s.arrivals, s.rows, s.follow, s.statistics, s.decisions \
             FROM {state} AS s"
        );
        let saved = |row: &Values<'_>| {
            Some(Saved {
                source: row.text(0)?,
                options: row.text(1)?,
                asked: serde_json::from_str(&row.text(2)?).ok()?,
                path: row.text(3)?,
                arrivals: row.bigint(4)?,
                rows: row.bigint(5)?,
                follow: row.text(6),
                statistics: row.text(7),
                decisions: row.text(8),
                ids,
            })
        };
        query_all(&sql, &[], saved).pop().flatten().unwrap_or_else(|| self.refuse_foreign())
    }

    /// Raises an error if the result is of another source or of other options than those that are `given`, or if the source
    /// was read with another search path, where it may mean something else. That one is not followed, because others may
    /// have the right to write it.
    pub(super) fn check(&self, saved: &Saved, path: &str, is_source: impl Fn(&str) -> bool, given: &str) {
        let refuse = |what: String, hint: &str| -> ! { raise_state(what, format!("{hint} {REBUILD}")) };
        let bare = &self.bare;
        if saved.path != path {
            let what = format!("the source of table \"{bare}\" was first read with another search_path: ");
            refuse(what + &saved.path, "Call dedup_into with that one if you know it for yours.")
        }
        if !is_source(&saved.source) {
            refuse(
                format!("table \"{bare}\" is the result of another source: {}", saved.source),
                "Call dedup_into with that source.",
            )
        }
        let is_given = format!(
            "SELECT s.options::pg_catalog.text FROM {} AS s WHERE (s.options OPERATOR(pg_catalog.||) $1::pg_catalog.jsonb) \
                 OPERATOR(pg_catalog.=) s.options",
            self.state
        );
        if scalar(&is_given, &[Argument::of(given)]).is_none() {
            refuse(
                format!("table \"{bare}\" is the result of other options: {}", saved.options),
                "Call dedup_into with those or without any; follow may change.",
            )
        }
    }

    /// Raises an error if the ids of the query are of another type than those of the result.
    pub(super) fn check_ids(&self, saved: &Saved, id_type: pg_sys::Oid) {
        if saved.ids != id_type {
            let [ids, id_type] =
                [saved.ids, id_type].map(|typoid| Column::new("", typoid, pg_sys::InvalidOid).type_name());
            raise_mismatch(
                format!("the ids of table \"{}\" are {ids}, those of the query {id_type}", self.bare),
                REBUILD,
            )
        }
    }

    /// Changes the source and the options of a result without rows, and the type of its ids if that is another one.
    pub(super) fn adopt(&self, id_type: Option<&str>, wanted: &State<'_>) {
        let Table { name, merges, state, .. } = self;
        if let Some(id_type) = id_type {
            let column = |column| format!("ALTER {column} TYPE {id_type} USING NULL");
            execute(&format!("ALTER TABLE {name} {}, {}", column("id"), column("keeper")), &[]);
            execute(&format!("ALTER TABLE {merges} {}", column("id")), &[]);
        }
        let sql = format!(
            "UPDATE {state} SET source = $1, options = $2::pg_catalog.jsonb, asked = $3::pg_catalog.jsonb, search_path = $4"
        );
        execute(&sql, &[wanted.source, &wanted.options, wanted.asked, wanted.path].map(Argument::of));
    }

    pub(super) fn refuse_foreign(&self) -> ! {
        raise_duplicate_table(
            format!("relation \"{}\" already exists and is not a result of dedup_into", self.bare),
            "Give the result another name. A result consists of three tables: itself, _merges and _state.",
        )
    }

    pub(super) fn make(&self, id: &str, first: &State<'_>) {
        let [_, merges, state, _] = self.relations();
        for (beside, found) in [(&self.merges, merges), (&self.state, state)] {
            if found.is_some() {
                raise_duplicate_table(
                    format!("relation {beside} already exists, and the result {} does not", self.name),
                    "If it is left of an earlier result, drop it; else give the result another name.",
                )
            }
        }
        let Table { name, merges, state, .. } = self;
        // As defaults, source and options are in the catalogue, where dropping a corpus or a dictionary looks for uses.
        let [source, options] = [first.source, &first.options].map(quote_literal);
        for sql in [
            format!(
                "CREATE TABLE {name} (id {id}, cluster pg_catalog.int8 NOT NULL, keeper {id} NOT NULL, \
                 stage pg_catalog.text NOT NULL, distance pg_catalog.int4, similarity pg_catalog.float8, \
                 arrival pg_catalog.int8 NOT NULL, fp pg_catalog.int8, hash pg_catalog.int8, digest pg_catalog.int8)"
            ),
            format!(
                "CREATE TABLE {merges} (merge pg_catalog.int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
                 merged_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(), kept pg_catalog.int8 NOT NULL, \
                 absorbed pg_catalog.int8 NOT NULL, id {id} NOT NULL)"
            ),
            format!(
                "CREATE TABLE {state} (result pg_catalog.regclass PRIMARY KEY, \
                 source pg_catalog.text NOT NULL DEFAULT {source}, options pg_catalog.jsonb NOT NULL DEFAULT {options}, \
                 asked pg_catalog.jsonb NOT NULL, search_path pg_catalog.text NOT NULL, arrivals pg_catalog.int8 NOT NULL, \
                 rows pg_catalog.int8 NOT NULL, follow pg_catalog.text, statistics pg_catalog.text, decisions pg_catalog.text)"
            ),
            format!("COMMENT ON TABLE {name} IS 'result of dedup_into: clusters of near-duplicate rows'"),
            format!("COMMENT ON TABLE {merges} IS 'merges of the clusters of a result of dedup_into'"),
            format!("COMMENT ON TABLE {state} IS 'source and options of a result of dedup_into'"),
        ] {
            execute(&sql, &[]);
        }
        let values = "$1::pg_catalog.regclass, $2, $3::pg_catalog.jsonb, $4::pg_catalog.jsonb, $5, 0, 0, NULL, NULL, NULL";
        let arguments = [name, first.source, &first.options, first.asked, first.path].map(Argument::of);
        execute(&format!("INSERT INTO {state} VALUES ({values})"), &arguments);
    }

    /// Whether it has its key, and so was filled before.
    pub(super) fn has_key(&self) -> bool {
        const SQL: &str = "SELECT FROM pg_catalog.pg_index i WHERE i.indisprimary \
             AND i.indrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid";
        !query_catalogue(SQL, &[Argument::of(self.name.as_str())], |_| ()).is_empty()
    }

    /// Creates the key and the index of the result: building them is faster than filling them.
    pub(super) fn make_indexes(&self) {
        execute(&format!("ALTER TABLE {} ADD PRIMARY KEY (id)", self.name), &[]);
        execute(&format!("CREATE INDEX ON {} (cluster)", self.name), &[]);
    }

    /// The statement that locks out writers but not readers. Only roles with rights on the tables can hold a conflicting lock.
    pub(super) fn lock(&self) -> String {
        let Table { name, merges, state, .. } = self;
        format!(
            "LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE; LOCK TABLE {merges}, {state} IN ROW EXCLUSIVE MODE"
        )
    }
}
