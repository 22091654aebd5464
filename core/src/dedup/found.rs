//! What is found in the rows of a source, stage by stage.

use super::making::making;
use super::{Comparable, EqualTexts, Group, Groups, Limits, Method, Options, Rows, group};
use crate::details::{Detail, Learner, Statistics};
use crate::external::{Host, Result, Spill};
use crate::features::TextRecipe;
use crate::interrupt::checked;
use crate::memory::filled;
use std::sync::Arc;

/// What is found about a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    /// The kept row of its group.
    pub keeper: usize,
    /// How it was caught.
    pub stage: Stage,
    /// Bits between it and the kept row, if they are known.
    pub distance: Option<u32>,
    /// How similar it is to the kept row.
    pub similarity: Option<f64>,
}

/// How a row was caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It is the kept row of its group.
    Kept,
    /// Its text equals the kept row's.
    Exact,
    /// It is near, by itself or by a chain of near rows.
    Near,
    /// Somebody has decided that it is the same.
    Decided,
    /// It has nothing to compare, and equals nothing.
    Empty,
}

impl Stage {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// As the column `stage` has it.
    pub fn name(self) -> &'static str {
        ["kept", "exact", "near", "decided", "empty"][self as usize]
    }
}

/// The rows of a source and the groups that they are in.
pub struct Found<F: Spill> {
    /// The rows.
    pub rows: Rows<F>,
    /// Their groups.
    pub groups: Groups<F>,
    /// By which they were found.
    pub options: Options,
    /// The kept row of each group, at the group's number.
    pub(super) kept: Vec<u32>,
}

/// What tells whether two texts are the same.
#[derive(Default)]
pub struct Evidence {
    /// The distance of the fingerprints, if both have one, and the most that it may be; not by text.
    pub distance: Option<(Option<u32>, u32)>,
    /// How similar their n-grams are, and the least that that may be, if it counts.
    pub similarity: Option<(f64, f64)>,
    /// The details that count and in which they differ.
    pub details: Vec<Detail>,
}

/// Finds equal rows by the `hashes` of their contents (P1), then near ones, and groups them (P4). `recipe` makes the
/// fingerprints that rows do not have; with `by_fp` rows of equal text whose fingerprints differ are not equal.
pub fn find<H: Host>(
    mut options: Options,
    recipe: &TextRecipe,
    mut rows: Rows<H::File>,
    hashes: EqualTexts<H::File>,
    by_fp: bool,
    limits: Limits,
    host: &mut H,
) -> Result<Found<H::File>> {
    host.stage("comparing exactly", "equal hashes", None);
    let copies = rows.find_equal(hashes, &options, by_fp, host)?;
    host.end(&format!("{copies} exact copies"));
    if matches!(options.method, Method::Fingerprint | Method::Text) {
        if options.fp.is_none() {
            fingerprint(recipe, &mut rows, limits.threads, host)?;
        }
        if options.alike.asks_statistics() && options.alike.statistics.is_none() {
            options.alike.statistics = Some(Arc::new(statistics(&options, &mut rows, limits.threads, host)?));
        }
    }
    let groups = group(&options, &mut rows, limits, host)?;
    if let Some(records) = &groups.records {
        options.alike.statistics = Some(Arc::new(Statistics::of_records(Arc::clone(&records.model))));
    }
    let mut found = Found { rows, groups, options, kept: Vec::new() };
    found.choose_keepers()?;
    if let Some(least) = found.options.contained {
        found.join_contained(least, host)?;
    }
    Ok(found)
}

/// Makes the fingerprint of each content that has none yet; copies take that of the first.
fn fingerprint<H: Host>(
    recipe: &TextRecipe,
    rows: &mut Rows<H::File>,
    threads: usize,
    host: &mut H,
) -> Result<()> {
    let count = rows.count();
    host.stage("making fingerprints", "rows", Some(count as u64));
    making(&|| recipe, threads, host, |making| {
        for row in 0..count {
            making.host().step();
            if rows.is_first(row) && rows.kinds[row] == Comparable::Plain {
                let content = rows.texts.content(row)?;
                making.add(row, content, &mut |row, fp| rows.set_fp(row, fp))?;
            }
        }
        making.finish(&mut |row, fp| rows.set_fp(row, fp))
    })?;
    let made = rows.share_fps();
    host.end(&format!("{made} fingerprints"));
    Ok(())
}

fn statistics<H: Host>(
    options: &Options,
    rows: &mut Rows<H::File>,
    threads: usize,
    host: &mut H,
) -> Result<Statistics> {
    host.stage("learning what the rows have in common", "rows", Some(rows.count() as u64));
    let mut learner = Learner::default();
    let normal = options.alike.normal;
    let hash = |(): &mut (), text: &str| Learner::hash(&normal.plain(text));
    rows.each_first(&mut vec![(); threads.max(1)], host, hash, |_, text, hash| {
        hash.into_iter().for_each(|hash| learner.add_known(hash, || normal.plain(text)));
        Ok(())
    })?;
    let mut statistics = learner.learn(options.alike.n);
    options.name_slots(&mut statistics);
    host.end(&format!("{} templates", statistics.templates.count()));
    Ok(statistics)
}

impl<F: Spill> Found<F> {
    /// The number of a row's group: one of its rows.
    pub fn group_of(&mut self, row: usize) -> usize {
        self.groups.sets.find(self.rows.first[row]) as usize
    }

    /// The kept row of a row's group.
    pub fn keeper(&mut self, row: usize) -> usize {
        let group = self.group_of(row);
        self.kept[group] as usize
    }

    /// Keeps the best row of each group.
    pub(super) fn choose_keepers(&mut self) -> Result<()> {
        self.kept = filled(u32::MAX, self.rows.count())?;
        for row in checked(0..self.rows.count()) {
            let group = self.group_of(row);
            let keeper = &mut self.kept[group];
            let precedence = |row| self.rows.order.precedence(row);
            if *keeper == u32::MAX || precedence(row) < precedence(*keeper as usize) {
                *keeper = row as u32;
            }
        }
        Ok(())
    }

    /// How a row was caught.
    pub fn stage(&mut self, row: usize) -> Stage {
        let keeper = self.keeper(row);
        let [text, kept] = [row, keeper].map(|row| self.rows.first[row]);
        let decided = &self.rows.decided;
        // The first of a unit was compared with the kept row, unless that is another one of it, or rows lead on.
        let by_decision = || {
            let follows = self.options.group == Group::Components || decided.follows(text);
            decided.has_company(text) && (follows || decided.are_one(text, kept))
        };
        if row == keeper {
            let is_empty = self.rows.kinds[row] == Comparable::Empty && !decided.has_company(text);
            if is_empty { Stage::Empty } else { Stage::Kept }
        } else if text == kept {
            Stage::Exact
        } else if by_decision() {
            Stage::Decided
        } else {
            Stage::Near
        }
    }

    /// All that is found about a row.
    pub fn finding(&mut self, row: usize) -> Result<Finding> {
        let (keeper, stage) = (self.keeper(row), self.stage(row));
        let (distance, similarity) = match stage {
            Stage::Kept | Stage::Empty => (None, None),
            Stage::Exact => (self.rows.distance(row, keeper).or(Some(0)), Some(1.0)),
            Stage::Near | Stage::Decided => {
                (self.rows.distance(row, keeper), Some(self.similarity([row, keeper])?))
            }
        };
        Ok(Finding { keeper, stage, distance, similarity })
    }

    /// The name of the slot in which two texts differ, and in nothing else that counts.
    pub fn slot(&mut self, pair: [u32; 2]) -> Result<Option<String>> {
        let [a, b] = pair.map(|row| self.rows.texts.content(row as usize));
        Ok(self.options.alike.slot(&a?, &b?))
    }

    /// What people have decided of two rows: whether they are the same.
    pub fn decision(&self, rows: [usize; 2]) -> Option<bool> {
        self.rows.decided.decision(rows.map(|row| row as u32))
    }

    /// What tells whether two rows of unlike texts are the same.
    pub fn evidence(&mut self, rows: [usize; 2]) -> Result<Evidence> {
        let [a, b] = rows.map(|row| self.rows.texts.content(row));
        let (a, b, Options { method, distance, alike, .. }) = (a?, b?, &self.options);
        let Some(most) = *distance else { return Ok(Evidence::default()) };
        let evidence = Evidence {
            distance: (matches!(method, Method::Fingerprint | Method::Hash))
                .then(|| (self.rows.distance(rows[0], rows[1]), most)),
            similarity: (alike.similarity > 0.0).then(|| (alike.likeness(&a, &b), alike.similarity)),
            details: alike.differing(&a, &b),
        };
        Ok(evidence)
    }

    /// What of each row is the frame of many, which is not compared; as somebody reads it.
    pub fn framing(&mut self, rows: [usize; 2]) -> Result<[Option<String>; 2]> {
        let [a, b] = rows.map(|row| self.rows.texts.content(row));
        Ok([a?, b?].map(|text| self.options.alike.framing(&text)))
    }

    /// The similarity of two rows, by their sets if they were made; of hashes the share of bits that are equal.
    pub fn similarity(&mut self, rows: [usize; 2]) -> Result<f64> {
        // A copy has the set of the first row of its content.
        let firsts = rows.map(|row| self.rows.first[row]);
        if firsts[0] == firsts[1] {
            return Ok(1.0);
        }
        if self.options.method == Method::Hash {
            let bits = u64::BITS as usize * self.rows.parts();
            return Ok(self
                .rows
                .distance(rows[0], rows[1])
                .map_or(0.0, |it| 1.0 - f64::from(it) / bits as f64));
        }
        if let Some(records) = &self.groups.records {
            return Ok(records.probability(firsts[0], firsts[1]));
        }
        if let Some(judge) = &mut self.groups.judge
            && let Some(known) = judge.known(firsts)?
        {
            return Ok(known);
        }
        let [a, b] = rows.map(|row| self.rows.texts.content(row));
        Ok(self.options.alike.likeness(&a?, &b?))
    }
}
