//! `near_dup_text_pairs`: all pairs of texts of a query that are alike, exactly.

use crate::pg::host::done;
use crate::pg::spi::for_each_of_query;
use crate::pg::spill::TempFile;
use crate::pg::{Output, raise};
use crate::settings::work_memory;
use dedup_core::evaluate::SimilarPairs;
use dedup_core::external::Host;
use pgrx::prelude::*;

/// Bytes of a text at most: its n-grams are sorted at one go.
const LONGEST: usize = 16 << 20;

/// The threshold and the length of n-grams if none is given.
const THRESHOLD: f64 = 0.5;
const N: i32 = 2;

/// Puts every pair of the rows (id, text) of `query` whose texts have a Jaccard
/// coefficient of at least `threshold` into the result, each once, the lesser id
/// first. Rows without a text are skipped; a row without an id is an error.
#[pg_extern(sql = "")]
fn near_dup_text_pairs(
    query: Option<&str>,
    threshold: Option<f64>,
    n: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let Some(query) = query else {
        raise(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, "the query must not be null", "")
    };
    let (threshold, n) = (threshold.unwrap_or(THRESHOLD), n.unwrap_or(N));
    if !(threshold > 0.0 && threshold <= 1.0) {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("threshold {threshold} is out of range"),
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
    let mut pairs = SimilarPairs::new(n, threshold, work_memory());
    let query = query.trim().trim_end_matches(';');
    let typed =
        format!("SELECT id::pg_catalog.int8, content::pg_catalog.text FROM ({query}\n) AS q(id, content)");
    for_each_of_query(&typed, |_| {
        let pairs = &mut pairs;
        move |row| {
            let Some(content) = row.text(1) else { return };
            let id = row.bigint(0).unwrap_or_else(|| raise_no_id());
            if content.len() > LONGEST {
                raise_too_long(id, content.len())
            }
            done(pairs.add(id, &content, &mut Files));
        }
    });
    let mut output = Output::begin(fcinfo);
    let found = pairs.finish(&mut Files, |pair| {
        let (a, b) = (pair.a.into_datum(), pair.b.into_datum());
        // SAFETY: declared as bigint, bigint, double precision.
        unsafe { output.add([a, b, pair.similarity.into_datum()]) };
        Ok(true)
    });
    done(found);
}

/// Temporary files of the running query.
struct Files;

impl Host for Files {
    type File = TempFile;

    fn file(&mut self) -> TempFile {
        TempFile::new()
    }
}

fn raise_no_id() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
        "the query returned a text without an id",
        "Leave such rows out: WHERE id IS NOT NULL.",
    )
}

fn raise_too_long(id: i64, bytes: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        format!("the text of row {id} has {bytes} bytes, more than {LONGEST}"),
        "Leave such rows out, or compare the beginning of their texts: left(content, 1000000).",
    )
}
