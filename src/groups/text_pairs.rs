//! `near_dup_text_pairs`: all pairs of similar texts of a source, found exactly.

use super::PairRows;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spi::{for_each_of_query, refuse_row_without_id};
use crate::pg::values::{Ids, UniqueIds, ValueType};
use crate::pg::{Column, Output, raise};
use crate::settings::{progress_interval, work_memory};
use crate::table::{Settings, Source, Wanted, two_columns};
use dedup_core::similarity::SimilarPairs;
use pgrx::prelude::*;

const HINT: &str = "The query returns two columns: the row's id and its text. Cast the text to text.";

/// The longest text, in bytes: its n-grams are sorted in one pass.
const LONGEST: usize = 16 << 20;

/// The default similarity and length of n-grams.
const SIMILARITY: f64 = 0.5;
const N: i32 = 2;

/// Returns every pair of the rows (id, text) of `source` whose texts have a Jaccard coefficient of
/// at least `similarity`, each once, the lesser id first. Rows without a text are skipped; a row
/// without an id is an error, and so are two rows of one id.
#[pg_extern(sql = "")]
fn near_dup_text_pairs(
    source: Option<&str>,
    similarity: Option<f64>,
    n: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let output = Output::begin(fcinfo);
    let source = Source::new(source);
    let (similarity, n) = (similarity.unwrap_or(SIMILARITY), n.unwrap_or(N));
    if !(similarity > 0.0 && similarity <= 1.0) {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("similarity {similarity} is out of range"),
            "It is a Jaccard coefficient above 0, at most 1.",
        )
    }
    let n = usize::try_from(n).ok().filter(|n| (1..=64).contains(n)).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("n {n} is out of range"),
            "n is 1 to 64.",
        )
    });
    // The texts of a table with settings are read as its recipe has it.
    let normal = source.oid().and_then(Settings::of).map(|it| it.text_recipe().normal).unwrap_or_default();
    let mut pairs = SimilarPairs::new(n, similarity, work_memory());
    let progress = Progress::new("near_dup_text_pairs", progress_interval());
    let mut host = QueryHost::reporting(&progress);
    progress.stage("reading", "rows", None);
    let (mut ids, mut unique, proven) = (None, None, source.has_unique_ids(None));
    for_each_of_query(&source.texts(&Wanted::default()), |columns| {
        let fits = |content: &Column| {
            content.check_no_digits();
            content.is_text() || content.is_padded_text()
        };
        two_columns(columns, fits, "text", HINT);
        let of =
            ValueType::of_result(&columns[0], output.type_of(0), "near_dup_text_pairs(source, similarity, n");
        let (ids, pairs, host, progress) = (ids.insert(Ids::new(of)), &mut pairs, &mut host, &progress);
        unique = (!proven).then(|| UniqueIds::new(&columns[0]));
        let unique = &mut unique;
        move |row| {
            progress.step();
            let Some(content) = row.text(1) else { return };
            let id = row.get(0).unwrap_or_else(|| refuse_row_without_id());
            unique.iter_mut().for_each(|unique| unique.add(row));
            check_length(&row.written(0).unwrap_or_default(), content.len());
            // SAFETY: the column is of the type that the query said.
            let number = unsafe { ids.add(id) };
            unwrap_or_raise(pairs.add(number, &normal.form(&content), host));
        }
    });
    let Some(ids) = ids else { return };
    if let Some(unique) = unique {
        unique.check();
    }
    let mut rows = PairRows::new(ids, output, &progress);
    let found = pairs.finish(&mut host, |pair, _| {
        // SAFETY: declared as two ids of the type that they are made of, double precision.
        unsafe { rows.add(pair.a, pair.b, pair.similarity.into_datum()) };
        Ok(())
    });
    unwrap_or_raise(found);
    rows.end();
}

/// Refuses a text that is too long to be compared with all others.
pub(crate) fn check_length(id: &str, bytes: usize) {
    if bytes > LONGEST {
        raise(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("the text of row {id} has {bytes} bytes, more than {LONGEST}"),
            "Leave such rows out, or compare the beginning of their texts: left(content, 1000000).",
        )
    }
}
