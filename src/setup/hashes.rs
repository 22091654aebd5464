//! The plan of hashes.

use super::plan::{Plan, check_others, remember, table_rows};
use crate::banding::parts_of_column;
use crate::pg::{query_all, quote_identifier, quote_literal, raise_mismatch};
use crate::table::{
    Options, SAMPLE, Settings, Table, Written, chosen_by, column_kept_by, distance_of_hashes, refuse_option,
};
use dedup_core::dedup::{Method, SETUP};
use dedup_core::fingerprint::{Prints, parts_of_written};
use pgrx::pg_sys;
use serde_json::{Value, json};

impl<'t> Plan<'t> {
    /// The plan of a column of hashes, of which nothing else is compared.
    pub fn of_hashes(table: &'t Table, before: Option<Settings>, mut asked: Written) -> Plan<'t> {
        let mut known = before.as_ref().map(Settings::asked).unwrap_or_default();
        let before = before.filter(|before| before.method == Method::Hash);
        if before.is_none() {
            // Hashes have nothing of the rest, nor a length to be kept by.
            known.retain(|name, it| ["id", "decisions", "keep"].contains(&&**name) && *it != "longest");
        }
        if asked.has("fp") || asked.has("columns") {
            ["fp", "columns"].iter().for_each(|name| _ = known.remove(*name));
        }
        remember(&mut asked, known);
        if asked.has("method") && !asked.is_by(Method::Hash) {
            let name = quote_literal(&table.name);
            refuse_option(
                "method",
                format!(
                    "method must be \"hash\" for hashes; dedup_setup({name}, '{{\"drop\": true}}') takes these settings away"
                ),
            )
        }
        let named = asked.names("columns");
        let is_weighed = asked.get("columns").is_some_and(Value::is_object);
        let fp = asked.text("fp");
        if is_weighed || named.len() > 1 || fp.zip(named.first()).is_some_and(|(fp, named)| fp != named) {
            refuse_option("columns", "method \"hash\" compares one column, which fp names")
        }
        let fp = fp.map(str::to_owned).or_else(|| named.first().cloned());
        let Some(fp) = fp.or_else(|| before.as_ref().map(|it| it.fp.clone())) else {
            refuse_option("fp", "method \"hash\" requires fp: the column of the hashes")
        };
        let fp_column = table.column(&fp);
        // SAFETY: the table is there and has the column.
        let parts = unsafe {
            let name = std::ffi::CString::new(&*fp).unwrap_or_default();
            parts_of_column(table.oid, pg_sys::get_attnum(table.oid, name.as_ptr()))
        };
        let Some(parts) = parts.filter(|_| fp_column.is_fingerprint()) else {
            raise_mismatch(
                format!(
                    "column \"{fp}\" of table {} is {}, no column of hashes",
                    table.name,
                    fp_column.type_name()
                ),
                "Hashes are bigint or bit(64), bit(128) or bit(256): ALTER TABLE … ALTER COLUMN … TYPE bit(64) USING ('x' || …)::bit(64).",
            )
        };
        let mut options = asked.clone();
        options.take("fp");
        options.add("method", Method::Hash.name().into());
        options.add("columns", fp.as_str().into());
        Options::of(&options);
        check_others(table, &asked, &fp);
        if column_kept_by(&asked) == Some(&*fp) {
            refuse_option("keep", "keep must be by another column than the hashes")
        }
        let bits = 64 * parts as u32;
        if asked.whole("distance").is_some_and(|distance| distance > bits) {
            refuse_option("distance", format!("distance must be at most {bits}, the bits of the hashes"))
        }
        let kept = before.as_ref().filter(|before| {
            !before.empty && before.fp == fp && !asked.is_null("distance") && before.distance() <= bits
        });
        let distance = asked.whole("distance").or(kept.map(|before| before.distance()));
        let (mut plan, count) = (Plan::of(table, before, asked, fp), table_rows(table));
        (plan.method, plan.columns, plan.recipes) = (Method::Hash, vec![plan.fp.clone()], vec![json!(1)]);
        plan.empty = distance.is_none() && count < 2;
        let distance = distance.unwrap_or_else(|| plan.distance_of_hashes(parts, count));
        plan.chosen = chosen_by(Method::Hash, json!({"distance": distance}));
        plan
    }

    fn distance_of_hashes(&self, parts: usize, count: u64) -> u32 {
        let fp = quote_identifier(&self.fp);
        let sql = format!(
            "SELECT t.{fp}::pg_catalog.text FROM {} AS t WHERE t.{fp} IS NOT NULL LIMIT {SAMPLE}",
            self.table.name
        );
        let hashes = query_all(&sql, &[], |row| row.text(0).and_then(|hash| parts_of_written(&hash)));
        let words: Vec<u64> = hashes.into_iter().flatten().flatten().collect();
        distance_of_hashes(SETUP.name, Prints::of_parts(&words, parts), count)
    }
}
