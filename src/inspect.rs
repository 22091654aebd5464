//! `banding_stats` and `banding_check`.

use crate::banding::inspect;
use dedup_core::banding::Tree;
use pgrx::JsonB;
use pgrx::prelude::*;
use serde_json::{Value, json};

/// Figures of a banding index, one row.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
fn banding_stats(
    index: pg_sys::Oid,
) -> TableIterator<
    'static,
    (
        name!(rows, i64),
        name!(pages, i64),
        name!(bytes_per_row, Option<f64>),
        name!(leaf_pages, i64),
        name!(inner_pages, i64),
        name!(unused_pages, i64),
        name!(levels, i32),
        name!(leaf_fill, f64),
        name!(fillfactor, i32),
        name!(mu, f64),
        name!(hot_buckets, i32),
        name!(second_level_entries, i64),
        name!(hottest, Option<JsonB>),
    ),
> {
    let (stats, options, shows_buckets) = inspect::stats(index);
    let page = f64::from(pg_sys::BLCKSZ);
    let total = |counts: &[u32]| counts.iter().map(|&n| i64::from(n)).sum::<i64>();
    let second_level = Tree::all().filter(|tree| !tree.is_main());
    let mut hottest: Vec<(u64, Value)> = Vec::new();
    for (block, buckets) in stats.largest.iter().enumerate() {
        let entry = |&(bucket, rows): &(u16, u64)| {
            (rows, json!({"block": block + 1, "bucket": format!("{bucket:#06x}"), "rows": rows}))
        };
        hottest.extend(buckets.iter().map(entry));
    }
    hottest.sort_by_key(|(rows, _)| std::cmp::Reverse(*rows));
    let hottest: Value = hottest.into_iter().take(10).map(|(_, bucket)| bucket).collect();
    TableIterator::once((
        stats.rows as i64,
        i64::from(stats.pages),
        (stats.rows > 0).then(|| f64::from(stats.pages) * page / stats.rows as f64),
        total(&stats.leaves),
        total(&stats.inner),
        i64::from(stats.unused),
        stats.levels.iter().copied().max().map_or(0, i32::from),
        stats.leaf_fill,
        i32::from(options.fillfactor),
        options.mu,
        stats.hot.iter().map(|&n| n as i32).sum(),
        second_level.map(|tree| stats.entries[tree.number()] as i64).sum(),
        shows_buckets.then_some(JsonB(hottest)),
    ))
}

/// Checks a banding index and raises an error if it is damaged.
#[pg_extern(sql = "")]
fn banding_check(index: pg_sys::Oid, heapallindexed: bool) {
    inspect::verify(index, heapallindexed);
}
