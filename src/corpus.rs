//! Corpora and dictionaries: versions that are built once, named in recipes,
//! and dropped when nothing names them any more.

use crate::pg::host::within_memory_limit;
use crate::pg::rows::Values;
use crate::pg::{
    RecipeArg, each_row, forget_if_rolled_back, raise, raise_recipe, read, schema, split_name, stored_row,
    tell_dropped, text,
};
use dedup_core::features::{CorpusBuilder, Extractor, TextRecipe};
use dedup_core::memory::{OrRaise, Room};
use dedup_core::text::Segmenter;
use pgrx::JsonB;
use pgrx::prelude::*;
use serde_json::Value;

/// Freezes the document frequencies of the texts of a query.
#[pg_extern(sql = "")]
fn dedup_corpus_build(name: &str, query: &str, weights: Option<RecipeArg<TextRecipe>>) -> String {
    check_name(name);
    let recipe = weights.map(|weights| (*weights.0).clone()).unwrap_or_default();
    store_corpus(name, query, CorpusBuilder::new(TextRecipe { corpus: None, max_df: None, ..recipe }), None)
}

/// Freezes a corpus together with more texts, as the next version.
#[pg_extern(sql = "")]
fn dedup_corpus_extend(corpus: &str, query: &str) -> String {
    let columns = "documents::text, recipe::text, common, single";
    let row = stored_row("corpus", columns, corpus).unwrap_or_else(|error| raise_recipe(error));
    let [Some(documents), Some(recipe), Some(common), Some(single)] = row.as_slice() else {
        raise_damaged(corpus)
    };
    let recipe = String::from_utf8_lossy(recipe);
    let json: Value = serde_json::from_str(&recipe).unwrap_or_default();
    let recipe =
        TextRecipe::resolved(&json, &crate::pg::Database).unwrap_or_else(|error| raise_recipe(error));
    let mut builder = CorpusBuilder::new(recipe);
    let documents = String::from_utf8_lossy(documents).parse().unwrap_or(0);
    builder.extend(documents, common, single).unwrap_or_else(|| raise_damaged(corpus));
    let (name, _) = split_name(corpus).unwrap_or_else(|| raise_damaged(corpus));
    store_corpus(name, query, builder, Some(corpus))
}

fn raise_damaged(name: &str) -> ! {
    raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, format!("corpus \"{name}\" cannot be read"), "")
}

fn store_corpus(name: &str, query: &str, mut builder: CorpusBuilder, base: Option<&str>) -> String {
    let mut extractor = Extractor::new();
    let before = builder.documents();
    // SAFETY: each_row casts the column.
    let text = |row: &Values<'_>| unsafe { row.text(0) };
    each_row(query, &[("content", "pg_catalog.text")], text, |content| {
        if let Some(content) = content {
            builder.add(&mut extractor, &content);
            within_memory_limit(builder.memory());
        }
    });
    if builder.documents() == before {
        raise(
            PgSqlErrorCode::ERRCODE_NO_DATA_FOUND,
            "the query gives no text to build a corpus of",
            "Its first column is read as text; NULL and texts without a word do not count.",
        )
    }
    let shape = builder.shape().to_json();
    let stored = builder.finish();
    insert(
        "corpus",
        name,
        "recipe, documents, tokens, common, single, source",
        vec![
            JsonB(shape).into(),
            (stored.documents as i64).into(),
            (stored.tokens as i64).into(),
            stored.common.into(),
            stored.single.into(),
            base.map_or_else(|| query.to_owned(), |base| format!("{base} and {query}")).into(),
        ],
    )
}

/// Freezes own words and stop words.
#[pg_extern(sql = "")]
fn dedup_dictionary_words(name: &str, words: Array<'_, &str>, stop_words: Option<Array<'_, &str>>) -> String {
    let words: Vec<&str> = words.iter().flatten().collect();
    store_dictionary(name, words, stop_words, None)
}

/// Freezes the words of a query, or of a file in jieba's form.
#[pg_extern(sql = "")]
fn dedup_dictionary_source(name: &str, source: &str, stop_words: Option<Array<'_, &str>>) -> String {
    let first = source.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or("");
    if !["select", "with", "table", "values"].contains(&first.to_ascii_lowercase().as_str()) {
        return store_dictionary(name, source.lines().collect(), stop_words, None);
    }
    let mut words = Vec::new();
    // SAFETY: each_row casts the column.
    let word = |row: &Values<'_>| unsafe { row.text(0) };
    each_row(source, &[("word", "pg_catalog.text")], word, |word| {
        words.room(1).or_raise();
        words.extend(word);
    });
    store_dictionary(name, words.iter().map(String::as_str).collect(), stop_words, Some(source))
}

fn store_dictionary(
    name: &str,
    words: Vec<&str>,
    stop_words: Option<Array<'_, &str>>,
    source: Option<&str>,
) -> String {
    check_name(name);
    let (complete, count) = Segmenter::complete_words(words).unwrap_or_else(|error| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid dictionary: {error}"),
            "A word stands on a line of its own: word, or word frequency, or word frequency tag.",
        )
    });
    let stop: Vec<&str> = stop_words.iter().flat_map(|words| words.iter()).flatten().collect();
    let stop = stop.iter().flat_map(|word| word.lines()).map(str::trim).filter(|word| !word.is_empty());
    let stop: Vec<&str> = stop.collect();
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
        "words, word_count, stop_words, stop_count, source",
        vec![
            complete.into(),
            (count as i64).into(),
            stop.join("\n").into(),
            (stop.len() as i64).into(),
            source.map(str::to_owned).into(),
        ],
    )
}

fn check_name(name: &str) {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 63 || !name.chars().all(fits) {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_NAME,
            format!("invalid name: \"{name}\""),
            "A name is made of letters, digits, _, - and .; the version is added to it.",
        )
    }
}

/// An error with a hint unless the user may do this to the table.
fn check_privilege(kind: &str, privilege: &str, doing: &str) {
    let table = format!("{}._dedup_{kind}", schema());
    let query = "SELECT pg_catalog.has_table_privilege($1::pg_catalog.regclass, $2)::pg_catalog.text";
    let may = read(query, &[&table, privilege]).into_iter().flatten().flatten().next().map(text);
    if may.as_deref() != Some("true") {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied to {doing} a {kind}"),
            format!("GRANT {privilege} ON {table} to the role that does."),
        )
    }
}

/// Stores the next version of `name` and gives its full name.
fn insert(kind: &str, name: &str, columns: &str, values: Vec<pgrx::datum::DatumWithOid<'_>>) -> String {
    check_privilege(kind, "INSERT", "build");
    forget_if_rolled_back();
    let table = format!("{}._dedup_{kind}", schema());
    let places: Vec<String> = (2..values.len() + 2).map(|n| format!("${n}")).collect();
    let lock = format!("pg_dedup {kind} {name}");
    let mut arguments: Vec<pgrx::datum::DatumWithOid<'_>> = vec![name.into()];
    arguments.extend(values);
    let stored = Spi::connect_mut(|client| {
        // Two sessions that build one name at a time get two versions.
        client.update(
            "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 0))",
            None,
            &[lock.as_str().into()],
        )?;
        let insert = format!(
            "INSERT INTO {table} (name, version, {columns}) SELECT $1, \
             1 + coalesce((SELECT max(version) FROM {table} WHERE name = $1), 0), {} RETURNING version",
            places.join(", ")
        );
        client.update(insert.as_str(), None, &arguments)?.first().get_one::<i32>()
    });
    match stored {
        Ok(Some(version)) => format!("{name}@{version}"),
        other => raise(
            PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            format!("the {kind} could not be stored: {:?}", other.err()),
            "",
        ),
    }
}

/// Drops a version of a corpus.
#[pg_extern(sql = "")]
fn dedup_corpus_drop(corpus: &str) {
    drop_version("corpus", corpus, "common = NULL, single = NULL");
}

/// Drops a version of a dictionary.
#[pg_extern(sql = "")]
fn dedup_dictionary_drop(dictionary: &str) {
    drop_version("dictionary", dictionary, "words = NULL, stop_words = NULL");
}

/// Where a recipe can be written in the catalogue, and where its name is found
/// in quotes as JSON has it. Recipes that a program puts together are not seen.
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

fn drop_version(kind: &str, name: &str, empty: &str) {
    check_privilege(kind, "UPDATE", "drop");
    stored_row(kind, "name", name)
        .unwrap_or_else(|error| raise(PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT, error.message, error.hint));
    let schema = schema();
    let uses: Vec<String> = read(&USES.replace("{schema}", &schema), &[&format!("\"{name}\"")])
        .into_iter()
        .flatten()
        .flatten()
        .map(text)
        .collect();
    if !uses.is_empty() {
        raise(
            PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {kind} \"{name}\" because a recipe names it: {}", uses.join(", ")),
            "Change or drop those first; fingerprints made with it cannot be made again without it.",
        )
    }
    forget_if_rolled_back();
    let Some((base, version)) = split_name(name) else { return };
    // The row stays without its content: the number must not come again.
    let update = format!(
        "UPDATE {schema}._dedup_{kind} SET dropped = true, {empty} WHERE name = $1 AND version = $2::int4"
    );
    let dropped = Spi::connect_mut(|client| {
        client.update(update.as_str(), None, &[base.into(), version.into()]).map(drop)
    });
    if let Err(error) = dropped {
        raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("the {kind} could not be dropped: {error}"), "")
    }
    tell_dropped();
}
