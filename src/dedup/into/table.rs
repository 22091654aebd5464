//! The table of the result and the two tables that belong to it. They are ordinary tables, owned by
//! the caller.

use crate::pg::catalog::{FOREIGN, object_name, own_function, quoted, schema};
use crate::pg::marked::{is_as_marked, mark};
use crate::pg::spi::{Argument, execute, for_each, query_all, query_catalogue, scalar};
use crate::pg::{Column, Values, raise};
use pgrx::prelude::*;

pub(super) struct Table {
    /// The result and the tables that belong to it, with schema, quoted.
    pub name: String,
    pub merges: String,
    pub state: String,
    /// The extension's schema, quoted.
    pub tools: String,
    bare: String,
}

/// The columns of the result, as `create` makes them.
const COLUMNS: &str =
    "id cluster keeper stage distance similarity arrival same_as rank fp hash component members";
const MERGES: &str = "merge merged_at kept absorbed a b distance similarity";
const STATE: &str = "result source options arrivals search_path digest mark listed asked";

/// The query, options and search path of a result, as stored.
pub(super) struct State<'a> {
    pub source: &'a str,
    pub options: &'a str,
    pub path: &'a str,
    /// Those of the options that somebody asked for.
    pub asked: &'a str,
}

/// What is kept with a result.
pub(super) struct Kept {
    pub source: String,
    pub options: serde_json::Value,
    /// Those of them that somebody asked for.
    pub asked: serde_json::Map<String, serde_json::Value>,
    /// The search path of the source.
    pub path: String,
    /// How many rows have ever arrived.
    pub arrivals: i64,
    /// The type of its ids.
    pub ids: pg_sys::Oid,
}

const REBUILD: &str =
    "For another result give another name, or drop this one with its tables _merges and _state.";

struct Relation {
    kind: String,
    owner: String,
    /// Whether the caller owns it.
    own: bool,
    columns: String,
    id_type: Option<pg_sys::Oid>,
    /// A property that a result must not have.
    hindrance: Option<String>,
}

impl Table {
    /// The result of that name, which must exist and belong to the caller.
    pub(super) fn of_caller(result: &str) -> Table {
        let table = Table::called(result);
        if !table.is_there() {
            table.refuse_foreign()
        }
        table
    }

    /// Whether the three tables are there and belong to the caller. Raises an error if only some are, or another's.
    pub(super) fn is_there(&self) -> bool {
        const SQL: &str = "SELECT 'own'::pg_catalog.text FROM pg_catalog.unnest($1) AS u(name) JOIN pg_catalog.pg_class c \
               ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(u.name)::pg_catalog.oid \
             WHERE c.relkind OPERATOR(pg_catalog.=) 'r' \
               AND pg_catalog.pg_get_userbyid(c.relowner) OPERATOR(pg_catalog.=) current_user";
        let own = query_all(SQL, &[self.names()], |_| ());
        own.len() == 3 || self.checked().is_some()
    }

    fn names(&self) -> Argument {
        Argument::of([&self.name, &self.merges, &self.state].map(String::clone).to_vec())
    }

    /// The result of that name, which may not exist. What the statements that follow are expected to cost is so much that
    /// compiling them would take longer than running them.
    pub(super) fn called(result: &str) -> Table {
        execute("SELECT pg_catalog.set_config('jit', 'off', true)", &[]);
        const PARTS: &str = "SELECT p FROM pg_catalog.unnest(pg_catalog.parse_ident($1)) WITH ORDINALITY AS u(p, n) \
                             ORDER BY n";
        let mut parts = query_all(PARTS, &[Argument::of(result)], |row| row.text(0).unwrap_or_default());
        let bare = parts.pop().unwrap_or_default();
        if bare.len() > 63 || parts.len() > 1 {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_NAME,
                format!("invalid name of a table: \"{result}\""),
                "Give a name of at most 63 bytes, with or without a schema.",
            )
        }
        let found = parts.pop().or_else(|| {
            const WHERE: &str =
                "SELECT n.nspname::pg_catalog.text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
                 ON n.oid OPERATOR(pg_catalog.=) c.relnamespace \
                 WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid";
            scalar(WHERE, &[Argument::of(quoted(&bare))])
                .or_else(|| scalar("SELECT pg_catalog.current_schema()::pg_catalog.text", &[]))
        });
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
            tools: schema(),
            bare,
        }
    }

    /// Looks up the result and the tables that belong to it in the catalogue, at once: to plan this takes longer than to run it.
    fn relations(&self) -> [Option<Relation>; 3] {
        let sql = format!(
            "SELECT c.relkind::pg_catalog.text, \
                 pg_catalog.pg_get_userbyid(c.relowner)::pg_catalog.text, \
                 (pg_catalog.pg_get_userbyid(c.relowner) OPERATOR(pg_catalog.=) current_user)::pg_catalog.text, \
                 (SELECT pg_catalog.string_agg(a.attname::pg_catalog.text, ' ' ORDER BY a.attnum) \
                    FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid \
                     AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped), \
                 (SELECT a.atttypid FROM pg_catalog.pg_attribute a \
                   WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attname OPERATOR(pg_catalog.=) 'id'), \
                 CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_rewrite r WHERE r.ev_class OPERATOR(pg_catalog.=) c.oid) \
                     THEN 'rules' \
                 WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits i \
                         WHERE c.oid OPERATOR(pg_catalog.=) ANY (ARRAY[i.inhparent, i.inhrelid])) THEN 'inheritance' \
                 WHEN EXISTS (SELECT FROM pg_catalog.pg_attribute a \
                         JOIN pg_catalog.pg_type d ON d.oid OPERATOR(pg_catalog.=) a.atttypid \
                         WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attnum OPERATOR(pg_catalog.>) 0 \
                           AND d.typtype OPERATOR(pg_catalog.=) 'd') THEN 'a column of a domain' \
                 WHEN c.relrowsecurity AND c.relforcerowsecurity THEN 'row-level security that binds its owner' \
                 WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger t \
                         JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) t.tgfoid \
                         JOIN pg_catalog.pg_roles o ON o.oid OPERATOR(pg_catalog.=) p.proowner \
                         WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND NOT t.tgisinternal \
                           AND {FOREIGN}) THEN 'a trigger of another role' \
                 WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger t \
                         WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND t.tgfoid OPERATOR(pg_catalog.=) $2) \
                     THEN 'a guard, which may log into a table of another role' \
                 WHEN EXISTS (SELECT FROM (\
                         SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass::pg_catalog.oid AS class, k.oid AS object \
                           FROM pg_catalog.pg_constraint k WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid \
                         UNION ALL SELECT 'pg_catalog.pg_attrdef'::pg_catalog.regclass::pg_catalog.oid, f.oid \
                           FROM pg_catalog.pg_attrdef f WHERE f.adrelid OPERATOR(pg_catalog.=) c.oid \
                         UNION ALL SELECT c.tableoid, i.indexrelid \
                           FROM pg_catalog.pg_index i WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid \
                         UNION ALL SELECT c.tableoid, c.oid) e \
                         JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) e.class \
                           AND d.objid OPERATOR(pg_catalog.=) e.object \
                         JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) d.refobjid \
                           AND p.tableoid OPERATOR(pg_catalog.=) d.refclassid \
                         JOIN pg_catalog.pg_roles o ON o.oid OPERATOR(pg_catalog.=) p.proowner \
                         WHERE {FOREIGN}) \
                     THEN 'an expression with a function of another role' END \
             FROM pg_catalog.unnest($1) WITH ORDINALITY AS u(name, n) LEFT JOIN pg_catalog.pg_class c \
               ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(u.name)::pg_catalog.oid ORDER BY u.n"
        );
        let guard = own_function("near_dup_guard", &[]);
        let read = |row: &Values<'_>| {
            Some(Relation {
                kind: row.text(0)?,
                owner: row.text(1)?,
                own: row.text(2)? == "true",
                columns: row.text(3).unwrap_or_default(),
                id_type: row.get(4).map(|oid| pg_sys::Oid::from_u32(oid.value() as u32)),
                hindrance: row.text(5),
            })
        };
        let mut found = query_catalogue(&sql, &[self.names(), Argument::of(guard)], read).into_iter();
        std::array::from_fn(|_| found.next().flatten())
    }

    /// The type of its ids, if the result exists. Raises an error if the tables of these names are not a result,
    /// belong to another role, or have triggers, rules or the like by which code of other roles
    /// would run as the caller.
    fn checked(&self) -> Option<pg_sys::Oid> {
        let [found, merges, state] = &self.relations();
        let found = found.as_ref()?;
        let [Some(merges), Some(state)] = [merges, state] else { self.refuse_foreign() };
        for (relation, columns) in [(found, COLUMNS), (merges, MERGES), (state, STATE)] {
            let has_columns =
                relation.columns == columns || relation.columns.starts_with(&format!("{columns} "));
            if relation.kind != "r" || !has_columns {
                self.refuse_foreign()
            }
        }
        for (relation, name) in [(found, &self.name), (merges, &self.merges), (state, &self.state)] {
            if !relation.own {
                raise(
                    PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                    format!("must be owner of table {name}"),
                    format!("A result is kept up to date by its owner, which is {}.", relation.owner),
                )
            }
            if let Some(hindrance) = &relation.hindrance {
                raise(
                    PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("table {name} has {hindrance}"),
                    "Take that away, or give the result another name.",
                )
            }
        }
        Some(found.id_type.unwrap_or(pg_sys::InvalidOid))
    }

    /// What is kept with the result; it is there. From here on the tables cannot be replaced by others, and if `alone`
    /// not written.
    pub(super) fn kept(&self, alone: bool) -> Kept {
        let Table { name, merges, state, .. } = self;
        let shared = || format!("LOCK TABLE {name}, {merges}, {state} IN ACCESS SHARE MODE");
        execute(&if alone { self.lock() } else { shared() }, &[]);
        let ids = self.checked().unwrap_or(pg_sys::InvalidOid);
        let sql = format!(
            "SELECT s.source, s.options::pg_catalog.text, s.search_path, s.arrivals, s.asked::pg_catalog.text FROM {} AS s",
            self.state
        );
        let kept = |row: &Values<'_>| {
            Some(Kept {
                source: row.text(0)?,
                options: serde_json::from_str(&row.text(1)?).ok()?,
                path: row.text(2)?,
                arrivals: row.bigint(3)?,
                ids,
                asked: row.text(4).and_then(|asked| serde_json::from_str(&asked).ok()).unwrap_or_default(),
            })
        };
        query_all(&sql, &[], kept).pop().flatten().unwrap_or_else(|| self.refuse_foreign())
    }

    /// The result's object identifier.
    pub(super) fn oid(&self) -> pg_sys::Oid {
        const SQL: &str = "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid::pg_catalog.text";
        let oid = scalar(SQL, &[Argument::of(self.name.as_str())]);
        oid.and_then(|oid| oid.parse().ok())
            .map(pg_sys::Oid::from_u32)
            .unwrap_or_else(|| self.refuse_foreign())
    }

    /// Raises an error: the result is of another source.
    pub(super) fn refuse_source(&self, kept: &str) -> ! {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("table \"{}\" is the result of another source: {kept}", self.bare),
            format!(
                "Call dedup_into with that source; option where limits the rows that it looks at. {REBUILD}"
            ),
        )
    }

    /// Raises an error: the source was read with another search path, where it may mean something else. That one is not
    /// followed, because others may have the right to write it.
    pub(super) fn refuse_path(&self, kept: &str) -> ! {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("the source of table \"{}\" was first read with another search_path: {kept}", self.bare),
            format!("Call dedup_into with that one if you know it for yours. {REBUILD}"),
        )
    }

    /// Raises an error if the result is of other options or its ids of another type than those of the query.
    pub(super) fn check(&self, (ids, id_type): (pg_sys::Oid, pg_sys::Oid), given: &str) {
        let kept = format!(
            "SELECT s.options::pg_catalog.text, ((s.options OPERATOR(pg_catalog.||) $2::pg_catalog.jsonb) \
                    OPERATOR(pg_catalog.=) s.options)::pg_catalog.text \
             FROM {} AS s WHERE s.result::pg_catalog.oid OPERATOR(pg_catalog.=) $1::pg_catalog.regclass::pg_catalog.oid",
            self.state
        );
        let arguments = [&self.name, given].map(Argument::of);
        let read = |row: &Values<'_>| [0, 1].map(|column| row.text(column).unwrap_or_default());
        let Some([options, same]) = query_all(&kept, &arguments, read).pop() else { self.refuse_foreign() };
        if same != "true" {
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("table \"{}\" is the result of other options: {options}", self.bare),
                format!("Call dedup_into with those or without any; batch and where may change. {REBUILD}"),
            )
        }
        if ids != id_type {
            let [ids, id_type] =
                [ids, id_type].map(|typoid| Column::new("", typoid, pg_sys::InvalidOid).type_name());
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                format!("the ids of table \"{}\" are {ids}, those of the query {id_type}", self.bare),
                REBUILD,
            )
        }
    }

    /// Changes the source and the options of a result without rows, and the type of its ids if that is another one.
    pub(super) fn adopt(&self, id_type: Option<&str>, wanted: &State<'_>) {
        let Table { name, merges, state, .. } = self;
        if let Some(id_type) = id_type {
            for (table, a, b) in [(name, "id", "keeper"), (merges, "a", "b")] {
                let column = |column| format!("ALTER {column} TYPE {id_type} USING NULL");
                execute(&format!("ALTER TABLE {table} {}, {}", column(a), column(b)), &[]);
            }
        }
        let sql = format!(
            "UPDATE {state} SET source = $1, options = $2::pg_catalog.jsonb, search_path = $3, asked = $4::pg_catalog.jsonb, listed = NULL"
        );
        execute(&sql, &[wanted.source, wanted.options, wanted.path, wanted.asked].map(Argument::of));
    }

    pub(super) fn refuse_foreign(&self) -> ! {
        raise(
            PgSqlErrorCode::ERRCODE_DUPLICATE_TABLE,
            format!("relation \"{}\" already exists and is not a result of dedup_into", self.bare),
            "Give the result another name. A result consists of three tables: itself, _merges and _state.",
        )
    }

    pub(super) fn make(&self, id: &str, first: &State<'_>) {
        let [_, merges, state] = self.relations();
        for (beside, found) in [(&self.merges, merges), (&self.state, state)] {
            if found.is_some() {
                raise(
                    PgSqlErrorCode::ERRCODE_DUPLICATE_TABLE,
                    format!("relation {beside} already exists, and the result {} does not", self.name),
                    "If it is left of an earlier result, drop it; else give the result another name.",
                )
            }
        }
        let Table { name, merges, state, .. } = self;
        // As defaults, source and options are in the catalogue, where dropping a corpus or a
        // dictionary looks for uses.
        let [source, options] = [first.source, first.options].map(pgrx::spi::quote_literal);
        for sql in [
            format!(
                "CREATE TABLE {name} (id {id}, cluster pg_catalog.int8 NOT NULL, keeper {id} NOT NULL, \
                 stage pg_catalog.text NOT NULL, distance pg_catalog.int4, similarity pg_catalog.float8, \
                 arrival pg_catalog.int8 NOT NULL, same_as pg_catalog.int8, \
                 rank pg_catalog.int8 NOT NULL, fp pg_catalog.int8, hash pg_catalog.uuid, component pg_catalog.int8, \
                 members pg_catalog.int8)"
            ),
            format!(
                "CREATE TABLE {merges} (merge pg_catalog.int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
                 merged_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(), kept pg_catalog.int8 NOT NULL, \
                 absorbed pg_catalog.int8 NOT NULL, a {id} NOT NULL, b {id} NOT NULL, \
                 distance pg_catalog.int4 NOT NULL, similarity pg_catalog.float8)"
            ),
            format!(
                "CREATE TABLE {state} (result pg_catalog.regclass PRIMARY KEY, \
                 source pg_catalog.text NOT NULL DEFAULT {source}, options pg_catalog.jsonb NOT NULL DEFAULT {options}, \
                 arrivals pg_catalog.int8 NOT NULL, search_path pg_catalog.text NOT NULL, digest pg_catalog.int8, \
                 mark pg_catalog.text, listed pg_catalog.text, asked pg_catalog.jsonb)"
            ),
            format!("COMMENT ON TABLE {name} IS 'result of dedup_into: clusters of near-duplicate rows'"),
            format!(
                "COMMENT ON TABLE {merges} IS 'merges of the clusters of a result of dedup_into, in their order'"
            ),
            format!("COMMENT ON TABLE {state} IS 'source and options of a result of dedup_into'"),
        ] {
            execute(&sql, &[]);
        }
        let sql = format!(
            "INSERT INTO {state} VALUES ($1::pg_catalog.regclass, $2, $3::pg_catalog.jsonb, 0, $4, 0, NULL, NULL, $5::pg_catalog.jsonb)"
        );
        execute(&sql, &[name, first.source, first.options, first.path, first.asked].map(Argument::of));
    }

    /// Creates the keys and indexes of the result, if it has none: building them is faster than filling them.
    pub(super) fn make_indexes(&self) {
        const SQL: &str = "SELECT 'yes'::pg_catalog.text FROM pg_catalog.pg_index i WHERE i.indisprimary \
             AND i.indrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid";
        let name = &self.name;
        if scalar(SQL, &[Argument::of(name.as_str())]).is_some() {
            return;
        }
        for sql in [
            format!("ALTER TABLE {name} ADD PRIMARY KEY (id), ADD UNIQUE (arrival)"),
            format!("CREATE INDEX ON {name} (cluster)"),
            format!("CREATE INDEX ON {name} (component) WHERE component IS NOT NULL"),
            format!("CREATE INDEX ON {name} (hash) WHERE same_as IS NULL"),
        ] {
            execute(&sql, &[]);
        }
    }

    /// The statement that locks out writers but not readers. Only roles with rights on the tables
    /// can hold a conflicting lock.
    pub(super) fn lock(&self) -> String {
        let Table { name, merges, state, .. } = self;
        format!(
            "LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE; LOCK TABLE {merges}, {state} IN ROW EXCLUSIVE MODE"
        )
    }

    /// How many rows have ever arrived: the arrival number of the last one.
    pub(super) fn arrivals(&self) -> i64 {
        let sql = format!("SELECT s.arrivals FROM {} AS s", self.state);
        query_all(&sql, &[], |row| row.bigint(0)).pop().flatten().unwrap_or_else(|| self.refuse_foreign())
    }

    /// What tells rows of the result that others have removed or changed: the exclusive or of a hash of each row, of the
    /// columns that say where it belongs. `which`: a condition on the rows t, with arguments. `base`: the type of ids.
    pub(super) fn digest(&self, base: &str, which: &str, arguments: &[Argument]) -> i64 {
        let of = |id: &str| match base {
            "bigint" | "integer" | "smallint" => {
                format!("pg_catalog.hashint8extended(t.{id}::{base}::pg_catalog.int8")
            }
            "pg_catalog.text" | "character varying" => {
                format!("pg_catalog.hashtextextended(t.{id}::pg_catalog.text")
            }
            // By the function that writes the type's values: a cast may be one that somebody else has made.
            _ => format!("pg_catalog.hashtextextended(pg_catalog.format('%s', t.{id})"),
        };
        let sql = format!(
            "SELECT pg_catalog.bit_xor({}, {}, pg_catalog.hashint8extended(t.arrival, \
                 pg_catalog.hashint8extended(t.cluster, pg_catalog.hashint8extended(coalesce(t.same_as, 0), \
                 pg_catalog.hashtextextended(t.stage, 0))))))) FROM {} AS t WHERE {which}",
            of("id"),
            of("keeper"),
            self.name
        );
        let mut digest = None;
        for_each(&sql, arguments, |row| digest = row.bigint(0));
        digest.unwrap_or(0)
    }

    /// Whether all rows are as the last call left them. Writers are locked out.
    pub(super) fn is_as_left(&self, base: &str) -> bool {
        let sql = format!("SELECT s.digest, s.mark FROM {} AS s", self.state);
        let left = query_all(&sql, &[], |row| (row.bigint(0), row.text(1))).pop();
        let (digest, marked) = left.unwrap_or_else(|| self.refuse_foreign());
        if marked.is_some_and(|marked| is_as_marked(self.oid(), &marked)) {
            return true;
        }
        let same = digest == Some(self.digest(base, "true", &[]));
        if same {
            // VACUUM, for example, changes pages but no rows.
            self.leave(0, None);
        }
        same
    }

    /// Notes what all rows are now: how their digest has changed, and how many have ever arrived if more have.
    pub(super) fn leave(&self, changed: i64, arrived: Option<i64>) {
        let sql = format!(
            "UPDATE {} SET digest = digest OPERATOR(pg_catalog.#) $1, mark = $2, arrivals = coalesce($3, arrivals)",
            self.state
        );
        let mark = mark(self.oid());
        execute(&sql, &[Argument::of(changed), Argument::of(mark), Argument::of(arrived)]);
    }

    /// Whether there is an index to search fingerprints with.
    pub(super) fn has_search_index(&self) -> bool {
        const SQL: &str = "SELECT 'yes'::pg_catalog.text FROM pg_catalog.pg_index i \
             JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid \
             JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.relam \
             WHERE i.indrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid \
               AND i.indisvalid AND m.amname OPERATOR(pg_catalog.=) 'banding'";
        scalar(SQL, &[Argument::of(self.name.as_str())]).is_some()
    }

    /// Creates that index, after the first load because building it is faster than filling it.
    pub(super) fn make_search_index(&self) {
        if !self.has_search_index() {
            execute(&format!("CREATE INDEX ON {} USING banding (fp) WHERE same_as IS NULL", self.name), &[]);
        }
    }
}
