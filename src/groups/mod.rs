//! Near-duplicates of a whole table: as pairs, and here as groups, the connected components of pairs, whoever has found them.

mod pairs;

use crate::pg::{DistinctIds, Output, Progress, ValueType, for_each_of_query};
use crate::table::{Source, two_ids};
use dedup_core::groups::EdgeComponents;
use dedup_core::memory::OrRaise;
use pgrx::prelude::*;

struct Graph {
    ids: DistinctIds,
    components: EdgeComponents,
}

#[pg_extern(sql = "")]
fn near_dup_groups(pairs: Option<&str>, fcinfo: pg_sys::FunctionCallInfo) {
    let mut output = Output::begin(fcinfo);
    let source = Source::argument("pairs", pairs);
    let progress = Progress::new("near_dup_groups");
    progress.stage("reading", "pairs", None);
    let mut graph = None;
    let (result, reading) = (output.type_of(0), &progress);
    for_each_of_query(&source.all(), &[], |columns| {
        let of = two_ids(columns)
            .each_ref()
            .map(|column| ValueType::of_result(column, result, "near_dup_groups(pairs"));
        let ids = ValueType::of_result(&columns[0], result, "near_dup_groups(pairs");
        let graph =
            graph.insert(Graph { ids: DistinctIds::new(ids, result), components: EdgeComponents::default() });
        move |row| {
            reading.step();
            let Graph { ids, components } = &mut *graph;
            let [a, b] = [0, 1].map(|column| {
                // SAFETY: the columns are of the types that the query said.
                row.get(column).map(|id| unsafe { ids.node(id, &of[column], components) })
            });
            if let (Some(a), Some(b)) = (a, b) {
                components.join(a, b);
            }
        }
    });
    let Some(Graph { mut ids, components }) = graph else { return };
    let count = components.count();
    progress.stage("grouping", "rows", Some(count as u64));
    let least = components.least(|a, b| ids.is_less(a, b)).or_raise();
    for (id, &component) in least.iter().enumerate() {
        progress.step();
        let row = [id as u32, component].map(|number| Some(ids.get(number)));
        // SAFETY: declared as two ids of the type that they are made of.
        unsafe { output.pass(row) };
    }
    progress.end(&format!("{count} rows"));
}
