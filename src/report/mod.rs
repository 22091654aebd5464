//! `dedup_report`: what `dedup` finds in a source, as an HTML page.

use crate::dedup::{Found, find, limits};
use crate::pg::{
    Column, Json, Progress, QueryHost, Values, memory_limit, raise_mismatch, raise_no_column,
    refuse_row_without_id, scalar, unwrap_or_raise, within_memory_limit,
};
use crate::table::{DecisionTable, Source, Written, name_beside, read_options};
use dedup_core::dedup::{Alike, Comparable, Finding, Method, Question, REPORT, Stage, whole};
use dedup_core::evaluate::{Background, Score};
use dedup_core::fingerprint::Prints;
use dedup_core::hash::murmur3_128;
use dedup_core::interrupt::{checked, sort_unstable_by};
use dedup_core::memory::{Grow, OrRaise, Room, collect, filled};
use dedup_core::report::{
    GROUPS, Language, Near, PICTURE, Page, Picture, ROWS, Reason, Row, Standing, Summary, TEMPLATES, misses,
};
use dedup_core::text::Normal;
use pgrx::prelude::*;
use serde_json::Value;
use std::borrow::Cow;

/// Bytes of the groups of a page, at most: browsers show no more at ease.
const BYTES_OF_GROUPS: usize = 48 << 20;
/// Characters of a column by which people know a row, at most.
const SHOWN: usize = 200;
/// Stands between a row's id, the columns that are shown and its picture: no text of PostgreSQL has it.
const BETWEEN: char = '\0';
/// The hash of no label.
const NONE: u64 = 0;

#[pg_extern(sql = "")]
fn dedup_report(source: Option<&str>, options: Option<Json>) -> String {
    let of = Source::new(source);
    let mut written = read_options(REPORT, options);
    let title = word(&mut written, "title");
    let language = Language::of(word(&mut written, "language").as_deref());
    let column = word(&mut written, "labels");
    let picture = word(&mut written, "picture");
    let show = match written.take("show") {
        Some(Value::String(one)) => vec![one],
        Some(names) => serde_json::from_value(names).unwrap_or_default(),
        None => Vec::new(),
    };
    let asked = written.take("review").as_ref().and_then(whole);
    let progress = Progress::new(REPORT.name);
    let mut labels: Option<Vec<u64>> = column.as_ref().map(|_| Vec::new());
    // What is compared of a table stays so. A query has labels and pictures beside what is compared.
    let (mut beside, mut others) = (Vec::new(), show.clone());
    let read = if matches!(of, Source::Table(_)) { &mut others } else { &mut beside };
    read.extend(column.iter().chain(&picture).cloned());
    let others = (beside, others);
    let (written, found) = find(REPORT, &of, written, others, &progress, |columns| {
        let at = column.as_deref().map(|name| position(columns, "labels", name));
        let shown: Vec<usize> = show.iter().map(|name| position(columns, "show", name)).collect();
        let picture = picture.as_deref().map(|name| position(columns, "picture", name));
        let picture = picture.map(|at| (at, is_bytes(&columns[at])));
        let labels = &mut labels;
        move |row, bytes| {
            let mut known = row.written(0).unwrap_or_else(|| refuse_row_without_id());
            for &at in &shown {
                known.push(BETWEEN);
                known.extend(row.written(at).unwrap_or_default().chars().take(SHOWN));
            }
            if let Some((at, is_bytes)) = picture {
                let picture = match is_bytes {
                    true => {
                        row.bytes(at, PICTURE).map(|it| language.picture_of(it.as_deref().map_err(|it| *it)))
                    }
                    false => row.written(at).map(|address| language.picture_at(&address)),
                };
                let Picture { address, why_not } = picture.unwrap_or_default();
                for part in [&address, &why_not] {
                    known.room(part.len() + 1).or_raise();
                    known.push(BETWEEN);
                    known.push_str(part);
                }
            }
            bytes.room(known.len()).or_raise();
            bytes.extend_from_slice(known.as_bytes());
            if let (Some(labels), Some(at)) = (&mut *labels, at) {
                labels.grow(hash_of_label(row, at)).or_raise();
            }
        }
    });
    let table = source.filter(|_| of.oid().is_some()).map(|name| name.trim().to_owned());
    let decisions = match (&of, found.options.decisions.as_deref()) {
        (Source::Table(table), given) => name_beside(table, given, "decisions"),
        (Source::Query(_), Some(given)) => DecisionTable::named(given).name().to_owned(),
        (Source::Query(_), None) => "decisions".to_owned(),
    };
    let mut report = Report { found, written, labels, show, asked, decisions };
    report.page(language, title, table, &progress)
}

fn word(written: &mut Written, name: &str) -> Option<String> {
    Some(written.take(name)?.as_str()?.to_owned())
}

fn position(columns: &[Column], option: &str, name: &str) -> usize {
    columns.iter().position(|column| column.name == name).unwrap_or_else(|| {
        raise_no_column(
            format!("the query has no column \"{name}\" that the option {option} names"),
            "Add it to the query, after the id and the content.",
        )
    })
}

/// Whether pictures are bytes, not addresses. Raises 42804 if they are neither.
fn is_bytes(pictures: &Column) -> bool {
    let is_bytes = pictures.base_type() == pg_sys::BYTEAOID;
    if !is_bytes && !pictures.is_any_text() {
        raise_mismatch(
            format!("column \"{}\" is {}, no column of pictures", pictures.name, pictures.type_name()),
            "Pictures are bytea, or addresses as text.",
        )
    }
    is_bytes
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
    /// Columns by which people know a row.
    show: Vec<String>,
    /// How many pairs are asked about.
    asked: Option<u64>,
    /// The table of decisions, as SQL names it, whether it is there or not.
    decisions: String,
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
        let mut distances = vec![0; 1 + u64::BITS as usize * self.found.rows.parts()];
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
        let mut kept = collect(checked(0..rows as u32).filter(|&row| sizes[row as usize] > 1)).or_raise();
        sort_unstable_by(&mut kept, |&a, &b| sizes[b as usize].cmp(&sizes[a as usize]).then(a.cmp(&b)));
        let [_, exact, near, decided, empty] = counts;
        let method = self.method();
        let limit = self.found.options.distance.filter(|_| self.by_bits());
        let summary = Summary {
            title,
            table,
            made: now(),
            options: self.written.json().to_string(),
            kinds: self.kinds(),
            method,
            contained: self.found.options.contained,
            rows: rows as u64,
            empty,
            groups: kept.len() as u64,
            largest: kept.first().map_or(0, |&row| sizes[row as usize].into()),
            exact,
            alike_rows: near + decided,
            near: limit.map(|limit| self.near(limit, distances, &sizes)),
            templates: unwrap_or_raise(self.found.templates(TEMPLATES)),
            labels: self.score(),
            decisions: self.decisions.clone(),
            has_decisions: self.found.options.decisions.is_some(),
        };
        // Of texts that are read already.
        let alike = Alike { normal: Normal::default(), ..self.found.options.alike.clone() };
        let language = if method == Some(Method::Hash) { language.of_hashes() } else { language };
        let mut page = Page::new(language, alike, method == Some(Method::Records), self.show.clone());
        self.add_groups(&mut page, &sizes, &kept);
        progress.end(&format!("{} groups, {} bytes", summary.groups, page.bytes()));
        if let Some(most) = self.asked {
            self.ask(&mut page, most as usize, progress);
        }
        // The groups are copied into the page.
        within_memory_limit(2 * page.bytes());
        page.finish(&summary)
    }

    /// Whether rows are near by the distance of fingerprints or hashes.
    fn by_bits(&self) -> bool {
        matches!(self.method(), Some(Method::Fingerprint | Method::Hash))
    }

    /// How near rows were found, if they were looked for.
    fn method(&self) -> Option<Method> {
        let (method, distance) = (self.found.options.method, self.found.options.distance);
        (method == Method::Records || distance.is_some()).then_some(method)
    }

    fn kinds(&self) -> Vec<String> {
        if self.method().is_none_or(|method| matches!(method, Method::Records | Method::Hash)) {
            return Vec::new();
        }
        let all = self.written.complete();
        let names = all["details"].as_array().into_iter().flatten();
        names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    }

    /// What is said of distances, from the rows that stay.
    fn near(&mut self, limit: u32, found: Vec<u64>, sizes: &[u32]) -> Near {
        let all = &mut self.found.rows;
        let stays = |row: &usize| sizes[*row] > 0 && all.kinds[*row] == Comparable::Near;
        let rows = collect(checked(0..sizes.len()).filter(stays)).or_raise();
        let words = collect(checked(&rows).flat_map(|&row| all.hash(row))).or_raise();
        let prints = Prints::of_parts(&words, all.parts());
        let bits = (self.found.options.method == Method::Hash).then(|| prints.bits());
        let stay = Background::measure(prints);
        let alike = self.found.options.alike.clone();
        let apart =
            misses(&stay.nearest, limit, &alike, bits, |at| unwrap_or_raise(all.texts.content(rows[at])));
        let pair = apart.into_iter().map(|miss| {
            let [first, second] = [miss.pair.row, miss.pair.nearest].map(|at| rows[at]);
            let second = Row {
                standing: Standing::Apart(match self.found.decision([first, second]) {
                    Some(false) => Reason::Decision,
                    _ => miss.reason,
                }),
                distance: Some(miss.pair.distance),
                similarity: Some(miss.similarity),
                same_label: self.same_label([first, second]),
                ..self.row(second)
            };
            [self.row(first), second]
        });
        let misses = pair.collect();
        Near { limit, found, stay, misses }
    }

    /// A row that stays.
    fn row(&mut self, row: usize) -> Row {
        let known = String::from_utf8(unwrap_or_raise(self.found.rows.texts.id(row))).unwrap_or_default();
        let mut known = known.split(BETWEEN);
        let mut next = || known.next().unwrap_or_default();
        let id = next().to_owned();
        let spaced = |value: &str| value.split_whitespace().collect::<Vec<_>>().join(" ");
        let shown = self.show.iter().map(|_| spaced(next())).collect();
        let picture = Picture { address: next().to_owned(), why_not: next().to_owned() };
        let (text, standing) = (self.text(row), Standing::Kept);
        Row { id, shown, picture, text, standing, distance: None, similarity: None, same_label: None }
    }

    /// A row's text as it is compared: without markup, where the recipe has that.
    fn text(&mut self, row: usize) -> String {
        let normal = self.found.options.alike.normal;
        let content = unwrap_or_raise(self.found.rows.texts.content(row));
        if let Cow::Owned(plain) = normal.plain(&content) { plain } else { content }
    }

    fn same_label(&self, rows: [usize; 2]) -> Option<bool> {
        let labels = self.labels.as_ref()?;
        let [a, b] = rows.map(|row| labels[row]);
        (a != NONE && b != NONE).then_some(a == b)
    }

    fn score(&mut self) -> Option<Score> {
        let labels = self.labels.as_ref()?;
        let found = &mut self.found;
        let label = |(row, &label)| (found.keeper(row) as u32, (label != NONE).then_some(label));
        Some(Score::of_rows(&collect(checked(labels.iter().enumerate()).map(label)).or_raise()))
    }

    /// The groups that the page shows, the largest first.
    fn add_groups(&mut self, page: &mut Page, sizes: &[u32], kept: &[u32]) {
        let most = most_bytes();
        let kept = &kept[..kept.len().min(GROUPS)];
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
                group.grow(row as u32).or_raise();
            }
        }
        for (&keeper, others) in checked(kept.iter().zip(&members)) {
            if page.bytes() >= most {
                break;
            }
            let mut rows = Vec::new();
            for &other in checked(others) {
                rows.grow(self.duplicate(other as usize, keeper as usize)).or_raise();
            }
            let kept = self.row(keeper as usize);
            page.add(u64::from(sizes[keeper as usize]), &kept, &rows);
        }
    }

    /// The pairs that somebody is asked about.
    fn ask(&mut self, page: &mut Page, most: usize, progress: &Progress) {
        let mut host = QueryHost::reporting(progress);
        let review = unwrap_or_raise(self.found.review(most, limits(), &mut host));
        let full = page.bytes() + most_bytes();
        let count = review.questions.len();
        page.begin_review(count);
        for Question { rows, same, kind, score, moves } in checked(review.questions) {
            if page.bytes() >= full {
                break;
            }
            let [first, second] = rows.map(|row| self.row(row));
            page.ask(&[first, Row { similarity: Some(score), ..second }], same, kind, moves);
        }
        progress.end(&format!("{count} pairs"));
    }

    fn duplicate(&mut self, row: usize, keeper: usize) -> Row {
        let same_label = self.same_label([row, keeper]);
        let Finding { stage, distance, similarity, .. } = unwrap_or_raise(self.found.finding(row));
        if stage == Stage::Exact {
            return Row { standing: Standing::Equal, same_label, ..self.row(row) };
        }
        let distance = distance.filter(|_| self.by_bits());
        let standing = if stage == Stage::Decided { Standing::Decided } else { Standing::Near };
        Row { standing, distance, similarity, same_label, ..self.row(row) }
    }
}

/// Bytes of the groups, and of the pairs that are asked about, at most.
fn most_bytes() -> usize {
    memory_limit().map_or(BYTES_OF_GROUPS, |limit| BYTES_OF_GROUPS.min(limit / 8))
}

/// When the transaction began, in the session's time zone.
fn now() -> String {
    scalar("SELECT pg_catalog.to_char(pg_catalog.now(), 'YYYY-MM-DD HH24:MI TZ')", &[]).unwrap_or_default()
}
