//! Following a table: a trigger writes the ids of rows that come, change or go to a table of its own, in the transaction of
//! whoever writes, so that a call need not read the source to know them.

use super::job::Job;
use crate::pg::{
    Argument, Values, execute, exists, hold_schemas, query_all, quote_literal, raise_state, scalar,
};
use crate::table::Source;

/// What the trigger has written.
pub(super) struct Todo {
    pub ids: Option<Argument>,
    /// Where they stand in the list.
    places: Option<Argument>,
    /// The table was not emptied, so that these are all that changed.
    pub is_all: bool,
}

/// What differs after rows may have changed unseen: the triggers, the files of both tables, since one that is rewritten or
/// emptied gets another, and columns and their labels. `None` if the triggers do not fire.
pub(super) fn mark(job: &Job<'_>) -> Option<String> {
    let sql = format!(
        "SELECT pg_catalog.concat_ws(' ', pg_catalog.pg_relation_filenode(t.tgrelid), \
             pg_catalog.pg_relation_filenode(d.oid), pg_catalog.string_agg( \
                 pg_catalog.concat_ws(' ', t.oid, t.xmin, p.oid, p.xmin), ' ' ORDER BY t.oid), \
             (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attnum, a.xmin, e.xmin), ' ' ORDER BY a.attnum, e.oid) \
                FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_enum e ON e.enumtypid OPERATOR(pg_catalog.=) a.atttypid \
               WHERE a.attrelid OPERATOR(pg_catalog.=) t.tgrelid AND a.attnum OPERATOR(pg_catalog.>) 0)) \
         FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) t.tgfoid \
         JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.tgrelid AND {PLAIN} \
         JOIN pg_catalog.pg_class d ON d.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($2)::pg_catalog.oid \
         WHERE t.tgrelid OPERATOR(pg_catalog.=) $1 AND t.tgenabled OPERATOR(pg_catalog.=) 'A' \
           AND p.oid OPERATOR(pg_catalog.=) pg_catalog.to_regproc($3)::pg_catalog.oid \
         GROUP BY t.tgrelid, d.oid HAVING pg_catalog.count(*) OPERATOR(pg_catalog.=) 2"
    );
    let table = job.source.oid()?;
    let [todo, follow] = [&job.table.todo, &job.table.follow].map(|name| Argument::of(name.as_str()));
    scalar(&sql, &[Argument::of(table), todo, follow])
}

/// Of a table `c` whose rows are all seen by its triggers, and by its owner.
const PLAIN: &str = "c.relkind OPERATOR(pg_catalog.=) 'r' AND c.relpersistence OPERATOR(pg_catalog.=) 'p' \
     AND NOT c.relispartition AND NOT c.relhassubclass AND NOT c.relrowsecurity \
     AND pg_catalog.pg_get_userbyid(c.relowner) OPERATOR(pg_catalog.=) current_user";

/// Begins to follow, or begins anew.
pub(super) fn begin(job: &Job<'_>) {
    let sql = format!("SELECT FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) $1 AND {PLAIN}");
    let is_plain = |table| exists(&sql, &[Argument::of(table)]);
    let Source::Table(source) = &job.source else { refuse() };
    hold_schemas(source.oid);
    if !job.source.oid().is_some_and(is_plain) || !job.source.has_unique_ids(job.options.id.as_deref()) {
        refuse()
    }
    end(job);
    let (table, base) = (job.table, &job.base);
    let (todo, follow, trigger, source) = (&table.todo, &table.follow, &table.trigger, &source.name);
    let id = job.id.replacen("q.", "", 1);
    let [old, new] = ["OLD", "NEW"].map(|row| format!("{row}.{id}"));
    // Its owner writes the list, whoever writes the table; without a list it does nothing.
    let function = format!(
        "BEGIN IF to_regclass({name}) IS NULL THEN NULL; \
         ELSIF TG_OP = 'INSERT' THEN INSERT INTO {todo} VALUES ({new}); \
         ELSIF TG_OP = 'DELETE' THEN INSERT INTO {todo} VALUES ({old}); \
         ELSIF TG_OP = 'UPDATE' THEN INSERT INTO {todo} SELECT {old} UNION SELECT {new}; \
         ELSE INSERT INTO {todo} VALUES (NULL); END IF; RETURN NULL; END",
        name = quote_literal(todo)
    );
    for sql in [
        format!("CREATE TABLE {todo} (id {base})"),
        format!("COMMENT ON TABLE {todo} IS 'ids of rows that a call of dedup_into is to look at'"),
        format!(
            "CREATE FUNCTION {follow}() RETURNS pg_catalog.trigger LANGUAGE plpgsql SECURITY DEFINER \
             SET search_path = pg_catalog, pg_temp AS {}",
            quote_literal(function)
        ),
        format!(
            "CREATE TRIGGER {trigger} AFTER INSERT OR UPDATE OR DELETE ON {source} FOR EACH ROW EXECUTE FUNCTION {follow}()"
        ),
        format!("CREATE TRIGGER {} AFTER TRUNCATE ON {source} EXECUTE FUNCTION {follow}()", table.truncate),
        format!(
            "ALTER TABLE {source} ENABLE ALWAYS TRIGGER {trigger}, ENABLE ALWAYS TRIGGER {}",
            table.truncate
        ),
    ] {
        execute(&sql, &[]);
    }
}

fn refuse() -> ! {
    raise_state(
        "the source cannot be followed",
        "follow is for a table of your own, by its name, with a primary key: an ordinary logged one without partitions, heirs and \
         row-level security. Without it a call compares all rows.",
    )
}

pub(super) fn end(job: &Job<'_>) {
    execute(&format!("DROP FUNCTION IF EXISTS {}() CASCADE", job.table.follow), &[]);
    execute(&format!("DROP TABLE IF EXISTS {}", job.table.todo), &[]);
}

pub(super) fn todo(job: &Job<'_>) -> Todo {
    let sql = format!(
        "SELECT pg_catalog.array_agg(t.id) FILTER (WHERE t.id IS NOT NULL), pg_catalog.array_agg(t.ctid), \
             pg_catalog.count(*) FILTER (WHERE t.id IS NULL) FROM {} AS t",
        job.table.todo
    );
    let read =
        |row: &Values<'_>| Todo { ids: row.array(0), places: row.array(1), is_all: row.bigint(2) == Some(0) };
    query_all(&sql, &[], read).pop().unwrap_or(Todo { ids: None, places: None, is_all: false })
}

impl Todo {
    /// Takes what was done from the list.
    pub(super) fn done(&self, job: &Job<'_>) {
        if let Some(places) = self.places {
            let sql =
                format!("DELETE FROM {} AS t WHERE t.ctid OPERATOR(pg_catalog.=) ANY ($1)", job.table.todo);
            execute(&sql, &[places]);
        }
    }
}
