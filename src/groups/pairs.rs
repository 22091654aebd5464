//! `near_dup_pairs`: all pairs of rows of a source that are near, by their fingerprints or by their texts.

use crate::banding::{bits_of, raise_lengths};
use crate::pg::{
    Column, Ids, Json, Output, Progress, QueryHost, UniqueIds, ValueType, Values, for_each_of_query, threads,
    unwrap_or_raise, work_memory,
};
use crate::similarity::check_length;
use crate::table::{
    FINGERPRINTS, Options, Settings as OfTable, Source, Wanted, read_options, refuse_option, two_columns,
};
use dedup_core::dedup::{Method, PAIRS};
use dedup_core::external::Result;
use dedup_core::groups::{PairSearch, PartPairs};
use dedup_core::similarity::{Jaccard, SimilarPairs};
use dedup_core::text::Normal;
use pgrx::prelude::*;

const TEXTS: &str = "The query returns two columns: the row's id and its text. Cast the text to text.";

/// The distance that is not asked for.
const DISTANCE: u32 = 3;

enum Search<'p> {
    /// All of as many bits as the first one.
    Fingerprints(PairSearch, Option<(PartPairs<QueryHost<'p>>, i32)>),
    Texts(SimilarPairs<QueryHost<'p>>, Normal),
}

impl Search<'_> {
    /// By fingerprints within 3 bits or as many as are asked for, or by texts that share half of their pairs of characters.
    fn new(options: Option<Json>, source: &Source) -> Self {
        let written = read_options(PAIRS, options);
        let options = Options::of(&written);
        let (by_text, memory) = (options.method == Method::Text, work_memory());
        let (others, method) =
            if by_text { (&["distance"][..], "fingerprint") } else { (&["similarity", "n"][..], "text") };
        if let Some(name) = others.iter().find(|name| written.has(name)) {
            refuse_option(name, format!("{name} requires method \"{method}\""))
        }
        if !by_text {
            let distance = written.whole("distance").unwrap_or(DISTANCE);
            return Search::Fingerprints(PairSearch { distance, memory, threads: threads() }, None);
        }
        // The texts of a table with settings are read as its recipe has it.
        let settings = source.oid().and_then(OfTable::of);
        if let Some(hashes) = settings.as_ref().filter(|it| it.method == Method::Hash) {
            refuse_option("method", format!("table {} has hashes, which have no text", hashes.table_name()))
        }
        let normal = settings.map(|settings| settings.text_recipe().normal).unwrap_or_default();
        Search::Texts(SimilarPairs::new(options.alike.n, options.alike.similarity, memory, threads()), normal)
    }

    fn query(&self, source: &Source) -> String {
        match self {
            Search::Fingerprints(..) => source.fingerprints(),
            Search::Texts(..) => source.texts(&Wanted::default()),
        }
    }

    fn check(&self, columns: &[Column]) {
        let is_text = |content: &Column| {
            content.check_no_digits();
            content.is_any_text()
        };
        match self {
            Search::Fingerprints(..) => {
                let id = two_columns(columns, Column::is_fingerprint, "bigint or bit", FINGERPRINTS);
                let is_far = matches!(self, Search::Fingerprints(it, _) if it.distance > u64::BITS);
                if is_far && columns[1].base_type() == pg_sys::INT8OID {
                    refuse_option("distance", "distance must be at most 64: so many bits fingerprints have")
                }
                id
            }
            Search::Texts(..) => two_columns(columns, is_text, "text", TEXTS),
        };
    }
}

#[pg_extern(sql = "")]
fn near_dup_pairs(source: Option<&str>, options: Option<Json>, fcinfo: pg_sys::FunctionCallInfo) {
    let mut output = Output::begin(fcinfo);
    let source = Source::new(source);
    let mut search = Search::new(options, &source);
    let progress = Progress::new(PAIRS.name);
    let mut host = QueryHost::reporting(&progress);
    progress.stage("reading", "rows", None);
    let (mut ids, mut unique, proven) = (None, None, source.has_unique_ids(None));
    for_each_of_query(&search.query(&source), &[], |columns| {
        search.check(columns);
        let of = ValueType::of_result(&columns[0], output.type_of(0), "near_dup_pairs(source, options");
        unique = (!proven).then(|| UniqueIds::new(&columns[0]));
        let (ids, unique) = (ids.insert(Ids::new(of)), &mut unique);
        let is_bits = columns[1].base_type() == pg_sys::BITOID;
        let (search, host, progress) = (&mut search, &mut host, &progress);
        move |row: &Values<'_>| {
            progress.step();
            let id = row.id();
            let Some(content) = row.get(1) else { return };
            unique.iter_mut().for_each(|unique| unique.add(row));
            // SAFETY: the column is of the type that the query said.
            let number = unsafe { ids.add(id) };
            let added = match search {
                Search::Fingerprints(settings, pairs) => {
                    // SAFETY: the column is of that type.
                    let bits = is_bits.then(|| unsafe { bits_of(content) });
                    let one = [content.value() as u64];
                    let (length, parts) = bits.as_ref().map_or((64, &one[..]), |it| (it.0, &it.1));
                    let (pairs, of) =
                        pairs.get_or_insert_with(|| (PartPairs::new(parts.len(), *settings), length));
                    if length != *of {
                        raise_lengths(*of, length)
                    }
                    pairs.add(number, parts, host)
                }
                Search::Texts(pairs, normal) => {
                    let text = row.text(1).unwrap_or_default();
                    check_length(&row.written(0).unwrap_or_default(), text.len());
                    pairs.add(number, &normal.form(&text), host)
                }
            };
            unwrap_or_raise(added);
        }
    });
    let Some(mut ids) = ids else { return };
    if let Some(unique) = unique {
        unique.check();
    }
    progress.stage("finding pairs", "pairs", None);
    let mut count = 0u64;
    let mut add = |a, b, distance: Option<u32>, similarity: Option<f64>| -> Result<()> {
        count += 1;
        progress.step();
        let [a, b] = ids.pair(a, b);
        let distance = distance.map(|bits| bits as i32);
        // SAFETY: declared as two ids of the type that they are made of, integer, double precision.
        unsafe { output.add([Some(a), Some(b), distance.into_datum(), similarity.into_datum()]) };
        Ok(())
    };
    unwrap_or_raise(match search {
        Search::Fingerprints(_, None) => Ok(()),
        Search::Fingerprints(_, Some((pairs, _))) => {
            pairs.finish(&mut host, |pair, _| add(pair.a, pair.b, Some(pair.distance), None))
        }
        Search::Texts(pairs, _) => {
            pairs.finish(&mut host, &Jaccard, |pair, _| add(pair.a, pair.b, None, Some(pair.similarity)))
        }
    });
    progress.end(&format!("{count} pairs"));
}
