//! `dedup_report`: what `dedup` finds in a source, as an HTML page.

use crate::dedup::{Found, find};
use crate::pg::host::unwrap_or_raise;
use crate::pg::progress::Progress;
use crate::pg::spi::{refuse_row_without_id, scalar};
use crate::pg::{Column, Json, Values, raise};
use crate::settings::{memory_limit, progress_interval, within_memory_limit};
use crate::table::{REPORT, Source, Written};
use dedup_core::dedup::{Alike, Kind, Method, Stage, Verdict};
use dedup_core::evaluate::Score;
use dedup_core::hash::murmur3_128;
use dedup_core::interrupt::{checked, sort_unstable_by};
use dedup_core::memory::{OrRaise, Room, filled};
use dedup_core::report::{
    Distances, Groups, Labelled, Language, Near, ROWS, Row, Shown, Summary, misses, nearest, page,
    random_pairs, score, true_pairs,
};
use dedup_core::text::Normal;
use pgrx::prelude::*;
use serde_json::Value;
use std::borrow::Cow;

/// Bytes of the groups of a page, at most: browsers show no more at ease.
const BYTES_OF_GROUPS: usize = 48 << 20;
/// The hash of no label.
const NONE: u64 = 0;

/// Returns the page.
#[pg_extern(sql = "")]
fn dedup_report(source: Option<&str>, options: Option<Json>) -> String {
    let of = Source::new(source);
    let mut written = REPORT.written(options.map(|json| json.0));
    let title = word(&mut written, "title");
    let language = word(&mut written, "language").map_or_else(Language::default, |code| {
        Language::parse(&code).unwrap_or_else(|| REPORT.refuse(format!("unknown language \"{code}\"")))
    });
    let column = word(&mut written, "labels");
    let progress = Progress::new(REPORT.name, progress_interval());
    let mut labels: Option<Vec<u64>> = column.as_ref().map(|_| Vec::new());
    let (written, found) = find(REPORT, &of, written, column.clone(), &progress, |columns| {
        let at = column.as_deref().map(|name| label_column(columns, name));
        let labels = &mut labels;
        move |row, bytes| {
            let id = row.written(0).unwrap_or_else(|| refuse_row_without_id());
            bytes.room(id.len()).or_raise();
            bytes.extend_from_slice(id.as_bytes());
            if let (Some(labels), Some(at)) = (&mut *labels, at) {
                labels.room(1).or_raise();
                labels.push(hash_of_label(row, at));
            }
        }
    });
    let table = source.filter(|_| of.oid().is_some()).map(|name| name.trim().to_owned());
    let mut report = Report { found, written, labels };
    report.page(language, title, table, &progress)
}

/// An option that is a text.
fn word(written: &mut Written, name: &str) -> Option<String> {
    match written.take(name) {
        None => None,
        Some(Value::String(word)) => Some(word),
        Some(_) => REPORT.refuse(format!("{name} is not a text")),
    }
}

fn label_column(columns: &[Column], name: &str) -> usize {
    columns.iter().position(|column| column.name == name).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!("the query has no column \"{name}\" that the option labels names"),
            "Add it to the query, after the id and the content.",
        )
    })
}

fn hash_of_label(row: &Values<'_>, at: usize) -> u64 {
    row.written(at).map_or(NONE, |label| murmur3_128(label.as_bytes(), 0)[0].max(NONE + 1))
}

struct Report {
    found: Found,
    /// The options by which it was found.
    written: Written,
    /// The hash of each row's label.
    labels: Option<Vec<u64>>,
}

impl Report {
    fn page(
        &mut self,
        language: Language,
        title: Option<String>,
        table: Option<String>,
        progress: &Progress,
    ) -> String {
        let rows = self.found.rows.count();
        progress.stage("writing the report", "rows", Some(rows as u64));
        let mut sizes = filled(0u32, rows).or_raise();
        let mut counts = [0u64; Stage::COUNT];
        let mut distances = [0; 65];
        for row in checked(0..rows) {
            let (keeper, stage) = (self.found.keeper(row), self.found.stage(row));
            sizes[keeper] += 1;
            counts[stage as usize] += 1;
            if stage == Stage::Near
                && let Some(distance) = self.found.rows.distance(row, keeper)
            {
                distances[distance as usize] += 1;
            }
            progress.step();
        }
        let method = self.method();
        let limit = self.found.options.distance.filter(|_| method == Some(Method::Fingerprint));
        let near = limit.map(|limit| self.near(limit, distances, &sizes));
        let labels = self.scored();
        let mut kept = Vec::new();
        for (row, _) in checked(sizes.iter().enumerate()).filter(|(_, size)| **size > 1) {
            kept.room(1).or_raise();
            kept.push(row as u32);
        }
        sort_unstable_by(&mut kept, |&a, &b| sizes[b as usize].cmp(&sizes[a as usize]).then(a.cmp(&b)));
        let [_, exact, alike_rows, empty] = counts;
        let summary = Summary {
            title,
            table,
            made: now(),
            options: self.written.json().to_string(),
            kinds: self.kinds(),
            alike: self.found.options.alike,
            method,
            contained: self.found.options.contained,
            rows: rows as u64,
            empty,
            groups: kept.len() as u64,
            sizes: numbers_of_sizes(&sizes, &kept),
            exact,
            alike_rows,
            near,
            labels,
        };
        let groups = self.groups(language, &sizes, &kept);
        // The data are copied into the page.
        within_memory_limit(2 * groups.bytes());
        let page = page(&summary, &groups);
        progress.end(&format!("{} groups, {} bytes", summary.groups, page.len()));
        page
    }

    /// How near rows were found, if they were looked for.
    fn method(&self) -> Option<Method> {
        let (method, distance) = (self.found.options.method, self.found.options.distance);
        (method == Method::Records || distance.is_some()).then_some(method)
    }

    /// The kinds of particulars that counted.
    fn kinds(&self) -> Vec<String> {
        if self.method().is_none_or(|method| method == Method::Records) {
            return Vec::new();
        }
        let all = self.written.complete();
        let names = all["particulars"].as_array().into_iter().flatten();
        names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    }

    /// What is said of distances, from the rows that stay.
    fn near(&mut self, limit: u32, found: Distances, sizes: &[u32]) -> Near {
        let (mut stay, mut prints) = (Vec::new(), Vec::new());
        for (row, &size) in checked(sizes.iter().enumerate()) {
            if size > 0 && self.found.rows.kinds[row] == Kind::Near {
                stay.room(1).or_raise();
                prints.room(1).or_raise();
                stay.push(row as u32);
                prints.push(self.found.rows.fps[row]);
            }
        }
        let pairs = nearest(&prints);
        let mut to_nearest = [0; 65];
        pairs.iter().for_each(|pair| to_nearest[pair.distance as usize] += 1);
        let alike = self.found.options.alike;
        let texts = &mut self.found.rows.texts;
        let (left_out, shown) =
            misses(&pairs, limit, &alike, |at| unwrap_or_raise(texts.content(stay[at] as usize)));
        let shown = shown.into_iter().map(|miss| {
            let rows = [miss.pair.row, miss.pair.nearest].map(|at| stay[at] as usize);
            let same_label = self.same_label(rows) == Some(true);
            Shown { rows: rows.map(|row| (self.id(row), self.text(row))), miss, same_label }
        });
        let misses = shown.collect();
        let (random, stay) = (random_pairs(&prints), stay.len() as u64);
        Near { limit, found, random, nearest: to_nearest, stay, left_out, misses }
    }

    /// A row's text as it is compared: without markup, where the recipe has that.
    fn text(&mut self, row: usize) -> String {
        let normal = self.found.options.alike.normal;
        let content = unwrap_or_raise(self.found.rows.texts.content(row));
        if let Cow::Owned(plain) = normal.plain(&content) { plain } else { content }
    }

    fn id(&mut self, row: usize) -> String {
        String::from_utf8(unwrap_or_raise(self.found.rows.texts.id(row))).unwrap_or_default()
    }

    /// Whether two rows that have labels have the same.
    fn same_label(&self, rows: [usize; 2]) -> Option<bool> {
        let labels = self.labels.as_ref()?;
        let [a, b] = rows.map(|row| labels[row]);
        (a != NONE && b != NONE).then_some(a == b)
    }

    fn scored(&mut self) -> Option<(Score, Distances)> {
        let labels = self.labels.take()?;
        let mut labelled = Vec::new();
        for (row, &label) in checked(labels.iter().enumerate()) {
            labelled.room(1).or_raise();
            let fp = (self.found.rows.kinds[row] == Kind::Near).then(|| self.found.rows.fps[row]);
            let label = (label != NONE).then_some(label);
            labelled.push(Labelled { group: self.found.keeper(row) as u32, label, fp });
        }
        self.labels = Some(labels);
        Some((score(&labelled), true_pairs(&labelled)))
    }

    /// The groups that the page shows, the largest first.
    fn groups(&mut self, language: Language, sizes: &[u32], kept: &[u32]) -> Groups {
        let most = memory_limit().map_or(BYTES_OF_GROUPS, |limit| BYTES_OF_GROUPS.min(limit / 8));
        // Of texts that are read already.
        let alike = Alike { normal: Normal::default(), ..self.found.options.alike };
        let mut groups = Groups::new(language, alike, most);
        if self.method() == Some(Method::Records) {
            groups = groups.by_records();
        }
        let kept = &kept[..kept.len().min(dedup_core::report::GROUPS)];
        // The place of a group in the list, at its kept row.
        let mut place = filled(u32::MAX, sizes.len()).or_raise();
        kept.iter().zip(0..).for_each(|(&row, at)| place[row as usize] = at);
        let mut members: Vec<Vec<u32>> = filled(Vec::new(), kept.len()).or_raise();
        for row in checked(0..sizes.len()) {
            let keeper = self.found.keeper(row);
            if let Some(group) = members.get_mut(place[keeper] as usize)
                && row != keeper
                && group.len() + 1 < ROWS
            {
                group.room(1).or_raise();
                group.push(row as u32);
            }
        }
        for (&keeper, others) in checked(kept.iter().zip(&members)) {
            if !groups.has_room() {
                break;
            }
            self.add(&mut groups, u64::from(sizes[keeper as usize]), keeper as usize, others);
        }
        groups
    }

    fn add(&mut self, groups: &mut Groups, size: u64, keeper: usize, others: &[u32]) {
        let kept = Row {
            id: self.id(keeper),
            text: self.text(keeper),
            stage: Stage::Kept,
            distance: None,
            similarity: None,
            other_label: false,
        };
        let mut rows = Vec::new();
        for &other in checked(others) {
            let row = other as usize;
            let text = self.text(row);
            let Verdict { stage, distance, similarity, .. } = unwrap_or_raise(self.found.verdict(row));
            let distance = distance.filter(|_| self.method() == Some(Method::Fingerprint));
            let other_label = self.same_label([row, keeper]) == Some(false);
            rows.room(1).or_raise();
            rows.push(Row { id: self.id(row), text, stage, distance, similarity, other_label });
        }
        groups.add(size, &kept, &rows);
    }
}

/// How many groups there are of each size, in the order of the sizes; `kept` is in the reverse of that.
fn numbers_of_sizes(sizes: &[u32], kept: &[u32]) -> Vec<(u64, u64)> {
    let mut numbers: Vec<(u64, u64)> = Vec::new();
    for &row in checked(kept.iter().rev()) {
        let size = u64::from(sizes[row as usize]);
        match numbers.last_mut() {
            Some((last, count)) if *last == size => *count += 1,
            _ => {
                numbers.room(1).or_raise();
                numbers.push((size, 1));
            }
        }
    }
    numbers
}

/// When the transaction began, in the session's time zone.
fn now() -> String {
    scalar("SELECT pg_catalog.to_char(pg_catalog.now(), 'YYYY-MM-DD HH24:MI TZ')", &[]).unwrap_or_default()
}
