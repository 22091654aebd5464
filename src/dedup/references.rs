//! Foreign keys that point at rows of a table: what becomes of the rows that have them when those go, and when they come back.

use super::archive::{Archive, Call, chains, check_assigned, removed};
use crate::pg::{
    Argument, Values, as_exact_text, base_type, base_type_name, check_type, commas, equality, execute,
    exists, hold_schemas, inheritors, lock_columns, notice, query_all, query_catalogue, quote_identifier,
    quote_literal, raise_denied, raise_state, raise_with_detail, scalar, schema, user, with_latest_snapshot,
    with_settings,
};
use crate::table::{Table, TableColumn, literal, putting_back};
use pgrx::{PgSqlErrorCode, pg_sys};
use serde_json::json;

pub(super) struct Reference {
    child: Table,
    name: String,
    /// The tables of both ends as SQL reads and writes them, with ONLY where the key is not of what inherits.
    from: String,
    parent: String,
    /// The other end: the name above is not used once its schema has another one.
    _of: Table,
    /// What PostgreSQL does to rows that point at one that is deleted.
    on_delete: String,
    /// And if the key of that row changes, as the catalogue has it.
    on_update: String,
    pub(super) is_self: bool,
    columns: Vec<Pair>,
}

/// A column of a foreign key and the one that it points at.
struct Pair {
    child: String,
    parent: String,
    /// That `c` has what `t` has.
    equal: String,
    types: [pg_sys::Oid; 2],
}

/// Settings by which a value is written as text that every session reads as the same value.
pub(super) const EXACT: [(&str, &str); 6] = [
    ("DateStyle", "ISO, YMD"),
    ("IntervalStyle", "postgres"),
    ("extra_float_digits", "1"),
    ("lc_monetary", "C"),
    ("array_nulls", "on"),
    ("xmloption", "content"),
];

/// Whether these settings write values of a type alike in all sessions, whatever their time zone.
fn is_same_text(typoid: pg_sys::Oid) -> bool {
    // SAFETY: any oid is answered.
    let element = unsafe { pg_sys::get_element_type(base_type(typoid)) };
    let of = if element == pg_sys::InvalidOid { base_type(typoid) } else { element };
    !matches!(
        of,
        pg_sys::TIMESTAMPTZOID | pg_sys::TSTZRANGEOID | pg_sys::TSTZMULTIRANGEOID | pg_sys::BYTEAOID
    )
}

/// All that point at a table, its partitions and what inherits from it, in an order that a dump keeps.
pub(super) fn references(table: &Table) -> Vec<Reference> {
    const SQL: &str = "SELECT k.conname::pg_catalog.text, r.oid, p.oid, \
             r.relkind::pg_catalog.text, p.relkind::pg_catalog.text, \
             CASE WHEN k.confdeltype OPERATOR(pg_catalog.=) 'c' THEN ', ON DELETE CASCADE' \
                 WHEN k.confdeltype OPERATOR(pg_catalog.=) 'n' THEN ', ON DELETE SET NULL' \
                 WHEN k.confdeltype OPERATOR(pg_catalog.=) 'd' THEN ', ON DELETE SET DEFAULT' ELSE '' END, \
             c.attname::pg_catalog.text, c.atttypid, f.attname::pg_catalog.text, f.atttypid, pg_catalog.format('OPERATOR(%I.%s)', n.nspname, o.oprname), \
             k.confupdtype::pg_catalog.text \
         FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class r ON r.oid OPERATOR(pg_catalog.=) k.conrelid \
         JOIN pg_catalog.pg_class p ON p.oid OPERATOR(pg_catalog.=) k.confrelid \
         CROSS JOIN LATERAL ROWS FROM (pg_catalog.unnest(k.conkey), pg_catalog.unnest(k.confkey), pg_catalog.unnest(k.conpfeqop)) \
             WITH ORDINALITY AS u(child, parent, operator, n) \
         JOIN pg_catalog.pg_attribute c ON c.attrelid OPERATOR(pg_catalog.=) r.oid AND c.attnum OPERATOR(pg_catalog.=) u.child \
         JOIN pg_catalog.pg_attribute f ON f.attrelid OPERATOR(pg_catalog.=) p.oid AND f.attnum OPERATOR(pg_catalog.=) u.parent \
         JOIN pg_catalog.pg_operator o ON o.oid OPERATOR(pg_catalog.=) u.operator \
         JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) o.oprnamespace \
         WHERE k.contype OPERATOR(pg_catalog.=) 'f' AND k.confrelid OPERATOR(pg_catalog.=) ANY ($1) \
           AND NOT EXISTS (SELECT FROM pg_catalog.pg_constraint w WHERE w.oid OPERATOR(pg_catalog.=) k.conparentid \
               AND w.confrelid OPERATOR(pg_catalog.=) ANY ($1)) \
         ORDER BY r.relname, k.conname, k.oid, u.n";
    let tree = inheritors(table.oid, pg_sys::AccessShareLock);
    let read = |row: &Values<'_>| {
        let text = |at| row.text(at).unwrap_or_default();
        let oids = [1, 2, 7, 9].map(|at| row.oid(at).unwrap_or(pg_sys::InvalidOid));
        (oids, [0, 3, 4, 5, 6, 8, 10, 11].map(text))
    };
    let mut found: Vec<Reference> = Vec::new();
    for ([child, parent, from, to], [name, kind, parent_kind, on_delete, column, key, operator, on_update]) in
        query_catalogue(SQL, &[Argument::of(tree.clone())], read)
    {
        if found.last().is_none_or(|last| last.child.oid != child || last.name != name) {
            lock_columns(child);
            let only =
                |kind: &str, name: &str| if kind == "r" { format!("ONLY {name}") } else { name.to_owned() };
            let [child, _of] = [child, parent].map(Table::of);
            let (from, parent) = (only(&kind, &child.name), only(&parent_kind, &_of.name));
            let (is_self, columns) = (tree.contains(&child.oid), Vec::new());
            found.push(Reference { child, name, from, parent, _of, on_delete, on_update, is_self, columns });
        }
        [from, to].into_iter().for_each(|typoid| drop(equality(typoid)));
        let [child, parent] = [quote_identifier(column), quote_identifier(key)];
        let equal =
            format!("t.{parent}::{} {operator} c.{child}::{}", base_type_name(to), base_type_name(from));
        found.last_mut().into_iter().for_each(|it| {
            let [child, parent] = [&child, &parent].map(String::clone);
            it.columns.push(Pair { child, parent, equal: equal.clone(), types: [to, from] });
        });
    }
    found
}

/// Values of columns, of what SQL calls so, as a JSON object of texts. By arrays: a function has no more than 100 arguments.
pub(super) fn image<'c>(of: &str, columns: impl Iterator<Item = (&'c str, pg_sys::Oid)>) -> String {
    let text = |(name, typoid)| as_exact_text(&format!("{of}.{}", quote_identifier(name)), typoid);
    let (names, texts): (Vec<_>, Vec<_>) = columns.map(|it| (quote_literal(it.0), text(it))).unzip();
    format!(
        "pg_catalog.jsonb_object(ARRAY[{}]::pg_catalog.text[], ARRAY[{}]::pg_catalog.text[])",
        commas(names),
        commas(texts)
    )
}

/// Whether PostgreSQL sets something to NULL or a default, here or further on, when these columns change: it would not come back.
pub(super) fn sets(pointing: &[Reference], columns: &[&str], depth: u32) -> bool {
    let has = |it: &Reference| it.columns.iter().any(|pair| columns.contains(&pair.parent.as_str()));
    pointing.iter().filter(|it| has(it)).any(|it| match it.on_update.as_str() {
        "n" | "d" => true,
        "c" => depth == 0 || sets(&references(&it.child), &it.own(), depth - 1),
        _ => false,
    })
}

impl Reference {
    /// Its columns, as SQL writes them.
    pub(super) fn own(&self) -> Vec<&str> {
        self.columns.iter().map(|pair| pair.child.as_str()).collect()
    }

    fn matches(&self) -> String {
        self.columns.iter().map(|pair| pair.equal.as_str()).collect::<Vec<_>>().join(" AND ")
    }

    /// The rows `c` that point at rows `t`.
    fn both(&self) -> String {
        format!("{} AS c JOIN {} AS t ON {}", self.from, self.parent, self.matches())
    }

    /// Whether a column points or is of the key.
    fn is_brief(&self, column: &str) -> bool {
        self.own().contains(&&*quote_identifier(column)) || self.child.key.iter().any(|key| key == column)
    }

    /// Whether the key of the rows has no column that points.
    fn has_own_key(&self) -> bool {
        !self.child.key.iter().any(|key| self.own().contains(&&*quote_identifier(key)))
    }

    /// Columns of rows, of what SQL calls so, as the archive has them.
    fn image(&self, of: &str, columns: &[&str]) -> String {
        let typed = columns.iter().map(|name| (*name, self.child.column(name).typoid));
        image(of, typed.inspect(|(_, typoid)| check_type(*typoid, Some(user()))))
    }

    /// How many rows point at those that go, without going themselves. Raises 42501 if the caller does not see all of them.
    fn count(&self, call: &Call, ids: Argument) -> u64 {
        let Call { id, base, equals, .. } = call;
        let name = &self.child.name;
        if exists("SELECT WHERE pg_catalog.row_security_active($1)", &[Argument::of(self.child.oid)]) {
            raise_denied(
                format!("row-level security may hide rows of {name} that point at rows that would go"),
                "Whoever cleans a table sees all rows that point at it: its owner, or a role with BYPASSRLS.",
            )
        }
        let others = match self.is_self {
            true => format!(
                "WHERE NOT EXISTS (SELECT FROM pg_catalog.unnest($1) AS u(id) WHERE c.{id}::{base} {equals} u.id)"
            ),
            false => String::new(),
        };
        let sql = format!(
            "SELECT pg_catalog.count(*)::pg_catalog.text FROM {} \
             JOIN pg_catalog.unnest($1) AS d(id) ON t.{id}::{base} {equals} d.id {others}",
            self.both()
        );
        with_latest_snapshot(|| scalar(&sql, &[ids])).and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    /// Refuses an archive whose owner could not do what is written there: whoever undoes would do it in that role's stead.
    /// Raises 42501.
    fn check_rights(&self, archive: &Table) {
        const MAY: &str = "SELECT WHERE pg_catalog.has_table_privilege($1, $2, 'INSERT') \
             AND pg_catalog.has_table_privilege($1, $2, 'UPDATE')";
        if archive.owner() != user() && !exists(MAY, &[archive.owner(), self.child.oid].map(Argument::of)) {
            raise_denied(
                format!("the owner of archive {} may not write {}", archive.name, self.child.name),
                "GRANT INSERT, UPDATE, or give the archive to a role that may: ALTER TABLE … OWNER TO.",
            )
        }
    }

    /// Points rows at the kept ones, and takes those away that would break a unique key by it. Returns the query for what each
    /// of them was, which does it.
    fn repointed(&self, call: &Call, archive: &Archive, run: i64) -> String {
        let (Call { id, base, equals, .. }, name, kept) = (call, &self.child.name, &archive.table.name);
        let Reference { from, parent: to, .. } = self;
        hold_schemas(self.child.oid);
        self.check_rights(&archive.table);
        if self.child.key.is_empty() {
            raise_state(
                format!("table {name} has no primary key: its rows could not be pointed back"),
                "ALTER TABLE … ADD PRIMARY KEY, or UPDATE it yourself first.",
            )
        }
        self.columns.iter().for_each(|pair| check_assigned(pair.types, &pair.child, name));
        let [this, object] = [&name, &&self.name].map(quote_literal);
        let item = |removed: bool, columns: &[&str]| {
            format!(
                "pg_catalog.jsonb_build_object('child', {this}::pg_catalog.text, 'constraint', {object}::pg_catalog.text, \
                 'removed', {removed}, 'row', {})",
                self.image("c", columns)
            )
        };
        let stored = self.child.columns.iter().filter(|column| !column.is_generated);
        let whole: Vec<&str> = stored.map(|column| column.name.as_str()).collect();
        // Without a key of its own only all of it tells whether it is still the row that was pointed.
        let has_own_key = self.has_own_key();
        let is_brief = |name: &&str| !has_own_key || self.is_brief(name);
        let brief: Vec<&str> = whole.iter().copied().filter(is_brief).collect();
        let others = match self.is_self {
            true => format!(
                "AND NOT EXISTS (SELECT FROM {kept} AS b WHERE {} AND b.{id}::{base} {equals} c.{id}::{base})",
                removed("b", run)
            ),
            false => String::new(),
        };
        let found = format!(
            "SELECT c.tableoid AS part, c.ctid AS row, a.ctid AS place, {} AS item FROM {} \
             JOIN {kept} AS a ON {} AND t.{id}::{base} {equals} a.{id}::{base} {others}",
            item(false, &brief),
            self.both(),
            removed("a", run)
        );
        let here = "c.tableoid OPERATOR(pg_catalog.=) $1 AND c.ctid OPERATOR(pg_catalog.=) $2";
        let pairs = self.columns.iter();
        let set = commas(pairs.clone().map(|Pair { child, parent, .. }| format!("{child} = k.{parent}")));
        // Where the key does not reach the kept row it points as it did, and the call is refused.
        let reached: String = pairs.map(|it| format!(" AND k.{} IS NOT NULL", it.parent)).collect();
        let point = format!(
            "UPDATE {from} AS c SET {set} FROM {to} AS k JOIN {kept} AS a ON k.{id}::{base} {equals} a.dedup_keeper::{base} \
             WHERE {here} AND a.ctid OPERATOR(pg_catalog.=) $3{reached}"
        );
        // What points at a row that PostgreSQL deletes with it would not come back.
        let further = references(&self.child);
        let sets = sets(&further, &self.own(), 8);
        let cascades = further.iter().any(|it| !it.on_delete.is_empty());
        let point = if sets { "NULL".to_owned() } else { quote_literal(point) };
        let remove = match cascades || sets {
            true => "NULL".to_owned(),
            false => quote_literal(format!(
                "DELETE FROM {from} AS c WHERE {here} RETURNING {}",
                item(true, &whole)
            )),
        };
        const DEFERRED: &str = "SELECT pg_catalog.string_agg(pg_catalog.format('%I.%I', n.nspname, k.conname), ', ') \
             FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) k.connamespace \
             WHERE k.conrelid OPERATOR(pg_catalog.=) $1 AND k.condeferred AND k.contype OPERATOR(pg_catalog.<>) 'f'";
        let deferred =
            scalar(DEFERRED, &[Argument::of(self.child.oid)]).map_or("NULL".to_owned(), quote_literal);
        format!(
            "SELECT r.place, r.item FROM {}._dedup_repoint({}::pg_catalog.text, {point}::pg_catalog.text, \
             {remove}::pg_catalog.text, {deferred}::pg_catalog.text) AS r",
            schema(),
            quote_literal(found)
        )
    }

    /// Takes back what was done to the rows that are chosen, of which some kept ones may have gone `later`; whether it was all.
    fn back(&self, call: &Call, archive: &Archive, chosen: &str, later: bool) -> bool {
        let (Call { id, base, equals, .. }, Reference { from, parent: to, .. }) = (call, self);
        let (of, kept) = (&self.child.name, &archive.table.name);
        let [name, object] = [of, &self.name].map(quote_literal);
        hold_schemas(self.child.oid);
        let items = |removed: bool| {
            format!(
                "SELECT a.{id}::{base} AS row, a.dedup_keeper::{base} AS keeper, e.item OPERATOR(pg_catalog.->) 'row' AS item FROM {kept} AS a \
                 CROSS JOIN LATERAL pg_catalog.jsonb_array_elements(a.dedup_children) AS e(item) WHERE {chosen} \
                   AND e.item OPERATOR(pg_catalog.->>) 'child' OPERATOR(pg_catalog.=) {name} \
                   AND e.item OPERATOR(pg_catalog.->>) 'constraint' OPERATOR(pg_catalog.=) {object} \
                   AND e.item OPERATOR(pg_catalog.->) 'removed' OPERATOR(pg_catalog.=) '{removed}'::pg_catalog.jsonb"
            )
        };
        let known = |removed: bool| {
            let keys = format!(
                "SELECT DISTINCT o.key FROM ({}) AS i CROSS JOIN LATERAL pg_catalog.jsonb_object_keys(i.item) AS o(key)",
                items(removed)
            );
            let keys: Vec<String> = query_all(&keys, &[], |row| row.text(0)).into_iter().flatten().collect();
            let columns = self.child.columns.iter();
            let columns: Vec<_> = columns.filter(|it| !it.is_generated && keys.contains(&it.name)).collect();
            let are_all = columns.len() == keys.len();
            if !are_all {
                notice(format!("columns of {of} are gone or are called otherwise now"), "", KEPT);
            }
            (columns, are_all)
        };
        // A JSON string is read as the text of a value, but for JSON, which it is itself.
        let is_json = |column: &TableColumn| matches!(column.base_type(), pg_sys::JSONOID | pg_sys::JSONBOID);
        let typed = |columns: &[&TableColumn]| {
            let one = |column: &&TableColumn| {
                check_type(column.typoid, Some(user()));
                let base = if is_json(column) { pg_sys::TEXTOID } else { column.typoid };
                format!("{} {}", quote_identifier(&column.name), base_type_name(base))
            };
            commas(columns.iter().map(one))
        };
        let was = |name: &str| {
            let column = self.child.columns.iter().find(|it| quote_identifier(&it.name) == name);
            let json = column.filter(|it| is_json(it)).map(|it| format!("::{}", base_type_name(it.typoid)));
            format!("r.{name}{}", json.unwrap_or_default())
        };
        // A condition on rows `c` and `r`: that columns of the key are the same, but for some.
        let same = |but: &[&str]| {
            let key = self.child.key.iter().filter(|key| !but.contains(&&*quote_identifier(*key)));
            let same = key.map(|key| {
                let typoid = self.child.column(key).typoid;
                let (key, base) = (quote_identifier(key), base_type_name(typoid));
                format!(" AND c.{key}::{base} {} r.{key}::{base}", equality(typoid).unwrap_or_default())
            });
            same.collect::<String>()
        };
        // Says how many are not what they were; whether all are. Both are written by this session, in its time zone.
        let are_back = |removed: bool, columns: &[&TableColumn], why: &str| {
            let names: Vec<&str> = columns.iter().map(|it| it.name.as_str()).collect();
            let altered = format!(
                "SELECT FROM ({}) AS i CROSS JOIN LATERAL pg_catalog.jsonb_to_record(i.item) AS r({}) \
                 WHERE NOT EXISTS (SELECT FROM {from} AS c WHERE {} OPERATOR(pg_catalog.=) {}{})",
                items(removed),
                typed(columns),
                self.image("c", &names),
                self.image("r", &names),
                same(&[])
            );
            let rows = execute(&altered, &[]);
            if rows > 0 {
                notice(format!("{rows} rows of {of} are not {why}"), "", KEPT);
            }
            rows == 0
        };
        const TRIGGERS: &str = "what they were: triggers have changed them";
        let mut is_all = true;
        let [(columns, are_all), (removed, removed_are_all)] = [false, true].map(known);
        let (columns, others): (Vec<_>, Vec<_>) = columns.into_iter().partition(|it| self.is_brief(&it.name));
        is_all &= are_all && removed_are_all;
        if !(columns.is_empty() && removed.is_empty()) {
            self.check_rights(&archive.table);
        }
        if are_all && !columns.is_empty() {
            let set = commas(self.columns.iter().map(|it| format!("{} = {}", it.child, was(&it.child))));
            // The whole key finds a row alone: never by what all of them point at now.
            let has_own_key = self.has_own_key();
            let alone = if has_own_key { "IS TRUE" } else { "" };
            // By its text, for it may have another type now.
            let (same_texts, others): (Vec<&TableColumn>, Vec<&TableColumn>) =
                others.iter().partition(|it| is_same_text(it.typoid));
            let texts: Vec<&str> = same_texts.iter().map(|it| it.name.as_str()).collect();
            let left_out = columns.iter().chain(&others).map(|it| quote_literal(&it.name));
            let unchanged = format!(
                " AND {} OPERATOR(pg_catalog.=) (i.item OPERATOR(pg_catalog.-) ARRAY[{}]::pg_catalog.text[])",
                self.image("c", &texts),
                commas(left_out)
            );
            let unchanged = if has_own_key { String::new() } else { unchanged };
            // They point at what is kept for the kept row if that went later; without a key of their own they could be another's.
            let later = (later && has_own_key).then(|| chains(call, archive, chosen)).flatten();
            let (kept, keeper) = later.map_or((String::new(), "i.keeper"), |later| {
                (format!("JOIN ({later}) AS k ON k.row {equals} i.row"), "k.keeper")
            });
            let sql = format!(
                "UPDATE {from} AS c SET {set} FROM ({}) AS i CROSS JOIN LATERAL pg_catalog.jsonb_to_record(i.item) AS r({}) {kept} \
                 JOIN {to} AS t ON true WHERE t.{id}::{base} {equals} {keeper} AND ({}) {alone}{}{unchanged}",
                items(false),
                typed(&columns),
                self.matches(),
                same(&self.own())
            );
            let (done, all) =
                (putting_back(self.child.oid, || execute(&sql, &[])), execute(&items(false), &[]));
            let why = if done < all { "pointed back: they were changed since" } else { TRIGGERS };
            is_all &= are_back(false, &columns, why);
        }
        if !removed.is_empty() {
            let list: Vec<String> = removed.iter().map(|column| quote_identifier(&column.name)).collect();
            let values = commas(list.iter().map(|name| was(name)));
            let sql = format!(
                "INSERT INTO {of} ({}) OVERRIDING SYSTEM VALUE SELECT {values} FROM ({}) AS i \
                 CROSS JOIN LATERAL pg_catalog.jsonb_to_record(i.item) AS r({})",
                commas(list),
                items(true),
                typed(&removed)
            );
            let (done, all) =
                (putting_back(self.child.oid, || execute(&sql, &[])), execute(&items(true), &[]));
            if done < all {
                let rows = all - done;
                raise_state(
                    format!("{rows} rows of {of} are not put back: a trigger keeps them out"),
                    "Change or disable that trigger.",
                )
            }
            is_all &= removed_are_all && are_back(true, &removed, TRIGGERS);
        }
        is_all
    }
}

/// What points at rows that go, in words: one foreign key after the other.
fn told(references: &[Reference], call: &Call, ids: Argument) -> Vec<String> {
    let one = |it: &Reference| {
        let rows = it.count(call, ids);
        let told = || format!("{} of {}: {rows} rows{}", it.name, it.child.name, it.on_delete);
        (rows > 0).then(told)
    };
    references.iter().filter_map(one).collect()
}

pub(super) fn tell(references: &[Reference], call: &Call, ids: Argument, repoint: bool) {
    let told = told(references, call, ids);
    let what = match repoint {
        true => "would be pointed at the kept rows, or go to the archive where that breaks a unique key",
        false => "point at rows that would go: nothing would be deleted",
    };
    if !told.is_empty() {
        let hint = if repoint { "" } else { REPOINT };
        notice(format!("rows {what}"), format!("{}.", told.join("; ")), hint)
    }
}

const REPOINT: &str = "options => '{\"references\": \"repoint\"}' points them at the kept rows.";

const BEYOND: &str = "They could not be pointed at the kept rows: a trigger keeps them, or what their foreign key points at is NULL \
     or in another table there.";

/// Raises 23503 if rows point at those that go.
pub(super) fn refuse(references: &[Reference], call: &Call, ids: Argument, repoint: bool) {
    let told = told(references, call, ids);
    if !told.is_empty() {
        raise_with_detail(
            PgSqlErrorCode::ERRCODE_FOREIGN_KEY_VIOLATION,
            "foreign keys point at rows that would go",
            format!("{}.", told.join("; ")),
            if repoint { BEYOND } else { REPOINT },
        )
    }
}

/// Points all rows at the kept ones that point at rows of a run, which are in the archive.
/// Raises 0A000 for a key whose columns are of two types, one of them not PostgreSQL's own, 55000 without a primary key.
pub(super) fn repoint(references: &[Reference], call: &Call, archive: &Archive, run: i64) {
    let each: Vec<String> = references.iter().map(|it| it.repointed(call, archive, run)).collect();
    if each.is_empty() {
        return;
    }
    let sql = format!(
        "UPDATE {} AS a SET dedup_children = i.items FROM (SELECT r.place, pg_catalog.jsonb_agg(r.item) AS items \
             FROM ({}) AS r GROUP BY r.place) AS i WHERE a.ctid OPERATOR(pg_catalog.=) i.place",
        archive.table.name,
        each.join(" UNION ALL ")
    );
    with_settings(&EXACT, || execute(&sql, &[]));
}

/// Takes back what [`repoint`] has done to rows of the archive. Returns a condition on `a`: that something of its stays behind.
pub(super) fn back(references: &[Reference], call: &Call, archive: &Archive, chosen: &str) -> String {
    let batches = format!(
        "SELECT b.at::pg_catalog.text FROM (SELECT DISTINCT a.dedup_at AS at FROM {} AS a \
         WHERE {chosen} AND a.dedup_children IS NOT NULL) AS b ORDER BY b.at DESC",
        archive.table.name
    );
    let mut all: Vec<&Reference> = references.iter().collect();
    let later = !all.is_empty() && chains(call, archive, chosen).is_some();
    // What was done last is taken back first.
    with_settings(&EXACT, || {
        for at in query_all(&batches, &[], |row| row.text(0)).into_iter().flatten() {
            let of_batch = format!("{chosen} AND a.dedup_at OPERATOR(pg_catalog.=) {}", quote_literal(at));
            for it in references.iter().rev() {
                if !it.back(call, archive, &of_batch, later) {
                    all.retain(|one| !std::ptr::eq(*one, it));
                }
            }
        }
    });
    let sql = format!(
        "SELECT DISTINCT e.item OPERATOR(pg_catalog.->>) 'child', e.item OPERATOR(pg_catalog.->>) 'constraint' FROM {} AS a \
         CROSS JOIN LATERAL pg_catalog.jsonb_array_elements(a.dedup_children) AS e(item) WHERE {chosen}",
        archive.table.name
    );
    let mut stays = vec!["false".to_owned()];
    for (child, name) in
        query_all(&sql, &[], |row| (row.text(0).unwrap_or_default(), row.text(1).unwrap_or_default()))
    {
        let is_it = |it: &Reference| it.child.name == child && it.name == name;
        if all.iter().any(|it| is_it(it)) {
            continue;
        }
        if !references.iter().any(is_it) {
            notice(
                format!("foreign key {name} of {child} is not there any more: its rows stay as they are"),
                "",
                KEPT,
            );
        }
        let item = json!([{ "child": child, "constraint": name }]);
        stays.push(format!("a.dedup_children OPERATOR(pg_catalog.@>) {}::pg_catalog.jsonb", literal(&item)));
    }
    stays.join(" OR ")
}

const KEPT: &str = "What they were stays in dedup_children of the archive, where the stage is undone.";
