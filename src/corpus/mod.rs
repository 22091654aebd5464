//! Corpora and dictionaries: versions that are built once, named in recipes, and dropped when no recipe names them any more.

mod cache;
mod recipe_arg;

pub(crate) use cache::{Database, forget as forget_versions};
pub(crate) use recipe_arg::{Cached, RecipeArg, ShownRecipe, cached_from_text, check_shown, raise_recipe};

use crate::pg::{
    Argument, Column, as_owner, execute, exists, for_each, for_each_of_query, query_all, raise,
    raise_corrupted, raise_denied, raise_invalid, raise_mismatch, raise_no_object, raise_state, required,
    scalar, schema,
};
use cache::{forget_if_rolled_back, split_name, stored_row, tell_dropped};
use dedup_core::features::{CorpusBuilder, Extractor, TextRecipe};
use dedup_core::interrupt;
use dedup_core::text::Segmenter;
use pgrx::JsonB;
use pgrx::prelude::*;
use serde_json::Value;

#[pg_extern(sql = "")]
fn dedup_corpus_build(
    name: Option<&str>,
    query: Option<&str>,
    recipe: Option<RecipeArg<TextRecipe>>,
) -> String {
    const CALL: &str = "SELECT dedup_corpus_build('petitions', 'SELECT body FROM petition');";
    let (name, query) = (required(name, "name", CALL), required(query, "query", CALL));
    match split_name(name) {
        Some((base, _)) if recipe.is_none() => store_corpus(base, query, read_corpus(name), Some(name)),
        Some(_) => raise_invalid(
            format!("corpus \"{name}\" has its recipe already"),
            "Leave the recipe out to extend a version; give a name without @ to build from the texts alone.",
        ),
        None => {
            check_name(name);
            let recipe = recipe.map(|recipe| (*recipe.0).clone()).unwrap_or_default();
            let recipe = TextRecipe { corpus: None, max_df: None, ..recipe };
            store_corpus(name, query, CorpusBuilder::new(recipe), None)
        }
    }
}

/// The frequencies that a version holds, to be added to.
fn read_corpus(corpus: &str) -> CorpusBuilder {
    cache::check_shown("corpus", corpus);
    let row = stored_row("corpus", corpus, |row| {
        Some((row.bigint("documents")?, row.text("recipe")?, row.bytes("common")?, row.bytes("single")?))
    });
    let Some((documents, recipe, common, single)) = row.unwrap_or_else(|error| raise_recipe(error)) else {
        raise_not_loaded("corpus", corpus)
    };
    let json: Value = serde_json::from_str(&recipe).unwrap_or_default();
    let recipe = TextRecipe::resolved(&json, &Database).unwrap_or_else(|error| raise_recipe(error));
    let mut builder = CorpusBuilder::new(recipe);
    builder
        .extend(u64::try_from(documents).unwrap_or(0), &common, &single)
        .unwrap_or_else(|| raise_corrupted(format!("corpus \"{corpus}\" cannot be read"), ""));
    builder
}

fn raise_not_loaded(kind: &str, name: &str) -> ! {
    raise_state(
        format!("{kind} \"{name}\" has not been restored completely"),
        format!("Recipes can use it; to extend or drop it load the data of _dedup_{kind} out of the dump."),
    )
}

fn store_corpus(name: &str, query: &str, mut builder: CorpusBuilder, base: Option<&str>) -> String {
    let mut extractor = Extractor::new();
    let before = builder.documents;
    for_each_of_query(query, &[], |columns| {
        let content = content_column(columns);
        let (builder, extractor) = (&mut builder, &mut extractor);
        move |row| {
            if let Some(content) = row.text(content) {
                builder.add(extractor, &content);
            }
        }
    });
    if builder.documents == before {
        raise(
            PgSqlErrorCode::ERRCODE_NO_DATA_FOUND,
            "the query gives no text to build a corpus of",
            "NULL and texts without a word do not count.",
        )
    }
    let shape = builder.shape();
    let stored = builder.finish();
    insert(
        "corpus",
        name,
        "recipe, documents, tokens, common, single, extends",
        vec![
            Argument::of(JsonB(shape)),
            Argument::of(stored.documents as i64),
            Argument::of(stored.tokens as i64),
            Argument::of(stored.common),
            Argument::of(stored.single),
            Argument::of(base),
        ],
    )
}

/// The column of the texts of a query, whose rows are (text) or (id, text).
fn content_column(columns: &[Column]) -> usize {
    let content = columns.len() - 1;
    if !(content < 2 && columns[content].is_any_text()) {
        let types: Vec<String> = columns.iter().map(Column::type_name).collect();
        raise_mismatch(
            format!("the query returns ({}), not (text) or (id, text)", types.join(", ")),
            "Give one column of type text, or an id of any type and a text.",
        )
    }
    content
}

#[pg_extern(sql = "")]
fn dedup_dictionary_build(
    name: Option<&str>,
    words: Option<Array<'_, &str>>,
    stop_words: Option<Array<'_, &str>>,
) -> String {
    const CALL: &str = "SELECT dedup_dictionary_build('own', ARRAY['云上花园', '楚江新区']);";
    let (name, words) = (required(name, "name", CALL), required(words, "words", CALL));
    let words = words.iter().flatten();
    check_name(name);
    let (complete, count) = Segmenter::complete_words(words).unwrap_or_else(|error| {
        raise_invalid(
            format!("invalid dictionary: {error}"),
            "A word stands on a line of its own: word, or word frequency, or word frequency tag.",
        )
    });
    let stop = stop_words.iter().flat_map(|words| words.iter()).flatten().flat_map(str::lines);
    let stop: Vec<&str> = stop.map(str::trim).filter(|word| !word.is_empty()).collect();
    if count == 0 && stop.is_empty() {
        raise(
            PgSqlErrorCode::ERRCODE_NO_DATA_FOUND,
            "there is no word to build a dictionary of",
            "Give words, stop words or both.",
        )
    }
    insert(
        "dictionary",
        name,
        "words, word_count, stop_words, stop_count",
        vec![
            Argument::of(complete),
            Argument::of(count as i64),
            Argument::of(stop.join("\n")),
            Argument::of(stop.len() as i64),
        ],
    )
}

fn check_name(name: &str) {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 63 || !name.chars().all(fits) {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_NAME,
            format!("invalid name: \"{name}\""),
            "A name is made of at most 63 bytes of letters, digits, _, - and .; the version is added to it.",
        )
    }
}

/// Raises an error with a hint unless the user has this privilege on the table.
fn check_privilege(kind: &str, privilege: &str, doing: &str) {
    let table = format!("{}._dedup_{kind}", schema());
    let may = "SELECT WHERE pg_catalog.has_table_privilege($1::pg_catalog.regclass, $2)";
    if !exists(may, &[table.as_str(), privilege].map(Argument::of)) {
        raise_denied(
            format!("permission denied to {doing} a {kind}"),
            format!("GRANT {privilege} ON {table} to the role that does."),
        )
    }
}

/// Stores the next version of `name` and returns its full name.
fn insert(kind: &str, name: &str, columns: &str, values: Vec<Argument>) -> String {
    check_privilege(kind, "INSERT", "build");
    forget_if_rolled_back();
    let places: Vec<String> = (2..values.len() + 2).map(|n| format!("${n}")).collect();
    let mut arguments = vec![Argument::of(name)];
    arguments.extend(values);
    // Of two sessions that build the same name, the second waits for the row of the first and takes the next number. Only
    // roles that may build get this far.
    let (table, mut stored) = (format!("_dedup_{kind}"), None);
    while stored.is_none() {
        as_owner(&table, |schema| {
            let insert = format!(
                "INSERT INTO {schema}.{table} (name, version, {columns}) SELECT $1, 1 OPERATOR(pg_catalog.+) coalesce(\
                     (SELECT pg_catalog.max(version) FROM {schema}.{table} WHERE name OPERATOR(pg_catalog.=) $1), 0), {} \
                 ON CONFLICT (name, version) DO NOTHING RETURNING version::pg_catalog.text",
                places.join(", ")
            );
            for_each(&insert, &arguments, |row| stored = row.text(0));
        });
        interrupt::check();
    }
    let version = stored.unwrap_or_default();
    let builder = scalar("SELECT current_user::pg_catalog.text", &[]);
    let arguments = [kind, name, &version, &builder.unwrap_or_default()].map(Argument::of);
    as_owner(&table, |schema| {
        let grant = format!(
            "SELECT pg_catalog.format('GRANT USAGE ON FOREIGN SERVER %I TO %I WITH GRANT OPTION', \
                 {schema}._dedup_carrier_name($1, $2, $3::pg_catalog.int4), $4)"
        );
        if let Some(grant) = scalar(&grant, &arguments) {
            execute(&grant, &[]);
        }
    });
    format!("{name}@{version}")
}

#[pg_extern(sql = "")]
fn dedup_version_drop(kind: &str, name: &str) {
    let empty = match kind {
        "corpus" => "common = NULL, single = NULL",
        "dictionary" => "words = NULL, stop_words = NULL",
        _ => {
            raise_invalid(format!("unknown kind of version: \"{kind}\""), "Known are corpus and dictionary.")
        }
    };
    check_privilege(kind, "UPDATE", "drop");
    stored_row(kind, name, |_| ()).unwrap_or_else(|error| raise_no_object(error.message, error.hint));
    let Some((base, version)) = split_name(name) else { return };
    // The row stays, without its content, so that the number is not used again.
    let update = |schema: &str| {
        let update = format!(
            "UPDATE {schema}._dedup_{kind} SET dropped = true, {empty} \
             WHERE name OPERATOR(pg_catalog.=) $1 AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4"
        );
        execute(&update, &[base, version].map(Argument::of))
    };
    if as_owner(&format!("_dedup_{kind}"), update) != 1 {
        raise_not_loaded(kind, name)
    }
}

/// Finds the places in the catalogue where a recipe names the version, as a JSON string; not recipes that a program assembles.
const USES: &str = r#"
SELECT what FROM (
  SELECT pg_catalog.format('column %s.%I', adrelid::regclass, attname) AS what, pg_catalog.pg_get_expr(adbin, adrelid) AS code
    FROM pg_catalog.pg_attrdef JOIN pg_catalog.pg_attribute ON attrelid = adrelid AND attnum = adnum
  UNION ALL SELECT pg_catalog.format('index %s', indexrelid::regclass), pg_catalog.pg_get_indexdef(indexrelid)
    FROM pg_catalog.pg_index WHERE indexprs IS NOT NULL OR indpred IS NOT NULL
  UNION ALL SELECT pg_catalog.format('trigger %I on %s', tgname, tgrelid::regclass), pg_catalog.pg_get_triggerdef(oid)
    FROM pg_catalog.pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT pg_catalog.format('constraint %I', conname), pg_catalog.pg_get_constraintdef(oid)
    FROM pg_catalog.pg_constraint WHERE contype IN ('c', 'x')
  UNION ALL SELECT pg_catalog.format('view %s', oid::regclass), pg_catalog.pg_get_viewdef(oid)
    FROM pg_catalog.pg_class WHERE relkind IN ('v', 'm')
  UNION ALL SELECT pg_catalog.format('function %s', oid::regprocedure), pg_catalog.concat(prosrc, pg_catalog.pg_get_function_sqlbody(oid))
    FROM pg_catalog.pg_proc WHERE prokind IN ('f', 'p')
  UNION ALL SELECT pg_catalog.format('corpus %s@%s', name, version), recipe::pg_catalog.text FROM {schema}._dedup_corpus WHERE NOT dropped
) AS all_code WHERE pg_catalog.strpos(code, $1) > 0 ORDER BY what LIMIT 10"#;

/// Called by the trigger when a version is marked as dropped, by `dedup_version_drop` or by an UPDATE: raises an error while a
/// recipe names it, and else tells all sessions. A subscriber of logical replication follows its publisher without that check.
#[pg_extern(sql = "")]
fn _dedup_version_dropped(kind: &str, name: &str) {
    check_privilege(kind, "UPDATE", "drop");
    let role = "SELECT pg_catalog.current_setting('session_replication_role')";
    let replicates = scalar(role, &[]).as_deref() == Some("replica");
    let (uses, named) = (USES.replace("{schema}", &schema()), [Argument::of(format!("\"{name}\""))]);
    let find = || query_all(&uses, &named, |row| row.text(0).unwrap_or_default());
    let uses = if replicates { Vec::new() } else { find() };
    if !uses.is_empty() {
        raise(
            PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {kind} \"{name}\" because a recipe names it: {}", uses.join(", ")),
            "Change or drop those first; fingerprints made with it cannot be made again without it.",
        )
    }
    forget_if_rolled_back();
    tell_dropped();
}

/// Called by the trigger when a row is stored: what carries the version, an object of a catalogue, goes with the extension.
#[pg_extern(sql = "")]
fn _dedup_version_belongs(class: pg_sys::Oid, object: pg_sys::Oid) {
    let kind = pg_sys::DependencyType::DEPENDENCY_AUTO_EXTENSION;
    // SAFETY: plain rows of pg_depend; only the trigger, which made the object, may call this.
    unsafe {
        let extension = pg_sys::get_extension_oid(c"pg_dedup".as_ptr(), false);
        let address =
            |class, object| pg_sys::ObjectAddress { classId: class, objectId: object, objectSubId: 0 };
        let of = pg_sys::ExtensionRelationId;
        pg_sys::deleteDependencyRecordsForSpecific(class, object, kind as std::ffi::c_char, of, extension);
        pg_sys::recordDependencyOn(&address(class, object), &address(of, extension), kind);
    }
}

/// Called by the trigger when a row is stored: raises an error if it is not a corpus.
#[pg_extern(sql = "")]
fn _dedup_corpus_check(
    name: Option<&str>,
    documents: Option<i64>,
    common: Option<&[u8]>,
    single: Option<&[u8]>,
) {
    const HINT: &str = "Every corpus has one.";
    let (name, documents) = (required(name, "name", HINT), required(documents, "documents", HINT));
    check_name(name);
    let mut builder = CorpusBuilder::new(TextRecipe::default());
    let mut read = |documents| builder.extend(documents, common.unwrap_or(&[]), single.unwrap_or(&[]));
    if u64::try_from(documents).ok().and_then(&mut read).is_none() {
        raise_not_written("corpus", name)
    }
}

/// Called by the trigger when a row is stored: raises an error if it is not a dictionary.
#[pg_extern(sql = "")]
fn _dedup_dictionary_check(name: Option<&str>, words: Option<&str>) {
    let name = required(name, "name", "Every dictionary has one.");
    check_name(name);
    if !words.is_none_or(Segmenter::are_complete) {
        raise_not_written("dictionary", name)
    }
}

fn raise_not_written(kind: &str, name: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_CHECK_VIOLATION,
        format!("the row is not a version of {kind} \"{name}\" that pg_dedup wrote"),
        format!("Build it with dedup_{kind}_build."),
    )
}
