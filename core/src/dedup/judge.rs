//! The judge: whether two texts that are candidates are near-duplicates.

use super::sets::Sets;
use super::{Limits, Texts};
use crate::details::{Comparer, Detail, Fillings, Kinds, Statistics};
use crate::external::{Host, Result, Spill, beside_threads, on_threads};
use crate::groups::Pair;
use crate::interrupt;
use crate::memory::{Grow, OrRaise, collect, filled};
use crate::records::Model;
use crate::similarity::{Frequencies, Grams, Likeness, Maker, least_shared, numbers};
use crate::text::Normal;
use std::borrow::Cow;
use std::sync::Arc;

/// What makes two candidates near-duplicates.
#[derive(Debug, Clone, PartialEq)]
pub struct Alike {
    /// The least similarity by character n-grams, 0 to 1; 0: any.
    pub similarity: f64,
    /// Characters of an n-gram.
    pub n: usize,
    /// Details in which they may not differ.
    pub details: Option<Kinds>,
    /// How the texts are read.
    pub normal: Normal,
    /// What the rows of the table have in common; without it there are no slots in which they differ, and all n-grams weigh
    /// the same.
    pub statistics: Option<Arc<Statistics>>,
    /// Whether it is enough that the rare n-grams are alike.
    pub weighed: bool,
}

/// By judgement: below this cosine two texts have in common what most texts of the table have ...
const CONTENT: f64 = 0.35;
/// ... unless their coefficient is as great as this: then what differs is rare because somebody has changed it.
const EDITED: f64 = 0.8;

/// Passages of a frame that a text has, hardly more: the n-grams that come to be where one is cut out are in no index.
const CUTS: usize = 4;

impl Alike {
    /// Whether anything is looked at.
    pub fn looks(&self) -> bool {
        self.similarity > 0.0 || self.details.is_some()
    }

    /// Whether it matters what the rows of the table have in common.
    pub fn asks_statistics(&self) -> bool {
        self.weighed || self.has_slots()
    }

    /// Whether values of slots tell apart.
    pub fn has_slots(&self) -> bool {
        self.details.is_some_and(|kinds| kinds.slots)
    }

    /// The model by which records are judged, if they are.
    pub fn records(&self) -> Option<&Arc<Model>> {
        self.statistics.as_ref()?.records.as_ref()
    }

    /// Judges one pair, with the verdict that [`Judge`] has of many: the similarity of a new text and an old one if they
    /// are alike enough to be one.
    pub fn one(&self, new: &str, old: &str) -> Option<f64> {
        let similarity = self.likeness(new, old);
        (similarity >= self.similarity && !self.differ(&mut self.comparer(), new, old)).then_some(similarity)
    }

    /// How similar two texts are, 0 to 1; of records the probability that they are of one thing.
    pub fn likeness(&self, a: &str, b: &str) -> f64 {
        if let Some(model) = self.records() {
            return model.of_contents(a, &[b])[0];
        }
        let mut maker = Maker::new(self.n);
        let mut set = |text| maker.make(&self.form(text));
        let of_templates = || {
            let mut comparer = self.comparer();
            [a, b].iter().all(|text| comparer.is_of_template(&self.plain(text)))
        };
        self.of_sets(&set(a), &set(b), f64::MIN_POSITIVE, of_templates)
    }

    /// The similarity of a new text and each of several old ones that is alike enough to be one, as [`Alike::one`] has it.
    pub fn many(&self, new: &str, old: &[&str]) -> Vec<Option<f64>> {
        let Some(model) = self.records() else {
            return old.iter().map(|old| self.one(new, old)).collect();
        };
        let likely = model.of_contents(new, old).into_iter();
        likely.map(|likely| Some(likely).filter(|likely| *likely >= self.similarity)).collect()
    }

    /// How similar two texts are by their sets; 0 if it is less than `least`.
    fn of_sets(&self, a: &Grams, b: &Grams, least: f64, of_templates: impl FnOnce() -> bool) -> f64 {
        // Most candidates share too little; what few n-grams weigh makes a pair more alike only if that is asked for.
        let least = if self.weighed { f64::MIN_POSITIVE } else { least };
        let Some(jaccard) = a.similar(b, least).or(self.weighed.then_some(0.0)) else { return 0.0 };
        let weights = self.weights().filter(|_| self.weighed || jaccard < EDITED);
        self.of(Likeness { jaccard, cosine: weights.map(|it| it.cosine(a, b)) }, of_templates)
    }

    /// How similar two texts are, of which it matters whether both are of templates.
    pub(super) fn of(&self, likeness: Likeness, of_templates: impl FnOnce() -> bool) -> f64 {
        match likeness {
            Likeness { jaccard, cosine: Some(cosine) }
                if cosine < CONTENT && jaccard < EDITED && !of_templates() =>
            {
                cosine.min(jaccard)
            }
            Likeness { jaccard, cosine: Some(cosine) } if self.weighed => jaccard.max(cosine),
            Likeness { jaccard, .. } => jaccard,
        }
    }

    /// What of a text is compared, as measures take it: without the frame that many texts of the table have.
    pub fn form<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.cut(text) {
            Some(own) => Cow::Owned(Normal { markup: None, ..self.normal }.form(&own).into_owned()),
            None => self.normal.form(text),
        }
    }

    /// The same as somebody reads it.
    pub fn plain<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.cut(text).map_or_else(|| self.normal.plain(text), Cow::Owned)
    }

    fn cut(&self, text: &str) -> Option<String> {
        self.statistics.as_ref().and_then(|it| it.frame.cut(&self.normal.plain(text)))
    }

    /// What is not compared of a text, as somebody reads it: the frame.
    pub(super) fn framing(&self, text: &str) -> Option<String> {
        let (frame, text) = (&self.statistics.as_ref()?.frame, self.normal.plain(text));
        let passages: Vec<&str> = frame.passages(&text).into_iter().map(|at| &text[at]).collect();
        (!passages.is_empty()).then(|| passages.join(" … "))
    }

    /// What n-grams weigh, if that is known.
    pub(super) fn weights(&self) -> Option<&Arc<Frequencies>> {
        self.statistics.as_ref().map(|it| &it.frequencies).filter(|it| it.are_of(self.n))
    }

    /// What finds all that is alike in an index of n-grams, or of the keys of records: how many a text has at least, of those
    /// that follow.
    pub fn query(&self, text: &str) -> (usize, Vec<i64>) {
        if let Some(model) = self.records() {
            return (1, model.query(text));
        }
        let grams = numbers(&self.form(text), self.n);
        let framed = self.statistics.as_ref().is_some_and(|it| !it.frame.is_none());
        let but = if framed { CUTS * self.n.saturating_sub(1) } else { 0 };
        let Some(weights) = self.weights().filter(|_| self.weighed) else {
            return (least_shared(self.similarity, grams.len()).saturating_sub(but).max(1), grams);
        };
        let mut grams = collect(grams.into_iter().map(i64::cast_unsigned)).or_raise();
        interrupt::sort_unstable_by(&mut grams, |a, b| {
            weights.weight(*b).total_cmp(&weights.weight(*a)).then(a.cmp(b))
        });
        let by_cosine = weights.prefix(grams.iter().copied(), self.similarity, but);
        // As many as a text of this coefficient cannot be without one of.
        let by_jaccard = grams.len() + 1 + but - least_shared(self.similarity, grams.len()).min(grams.len());
        grams.truncate(by_cosine.max(by_jaccard));
        (1, grams.into_iter().map(u64::cast_signed).collect())
    }

    /// The details that count and in which two texts differ.
    pub fn differing(&self, a: &str, b: &str) -> Vec<Detail> {
        let differing = |kinds| self.comparer().differing(&self.plain(a), &self.plain(b), kinds);
        self.details.map(differing).unwrap_or_default()
    }

    /// The name of the slot in which two texts differ, and in nothing else that counts.
    pub(super) fn slot(&self, a: &str, b: &str) -> Option<String> {
        let name = self.comparer().slot(&self.plain(a), &self.plain(b))?;
        let mut freed = self.clone();
        let statistics = Arc::make_mut(freed.statistics.as_mut()?);
        // Beside those that are named already.
        let named = [&statistics.named[..], &[(name.clone(), false)]].concat();
        statistics.name_slots(&named, self.normal);
        freed.differing(a, b).is_empty().then_some(name)
    }

    fn comparer(&self) -> Comparer {
        Comparer::new(self.statistics.as_ref().map(|it| Arc::clone(&it.templates)))
    }

    /// Whether there are any; a comparer is of many pairs.
    fn differ(&self, comparer: &mut Comparer, a: &str, b: &str) -> bool {
        self.details.is_some_and(|kinds| comparer.differ(&self.plain(a), &self.plain(b), kinds))
    }
}

/// Pairs that are judged at a time.
const BATCH_PAIRS: usize = 1 << 14;
pub(super) const BATCH_BYTES: usize = 4 << 20;
/// Texts whose work is worth a thread.
pub(super) const WORTH_THREADS: usize = 128;

/// Judges candidates, many at a time, on several threads. The set of n-grams of a row is made once, when it is first in a
/// pair; a pair is compared by the sets, and most are ruled out by the sketches already.
#[derive(Debug)]
pub struct Judge<F> {
    pub(super) alike: Alike,
    threads: usize,
    /// Rows that differ in a slot for certain.
    pub(super) apart: Option<Arc<Fillings>>,
    sets: Sets<F>,
    /// Candidates, and whether their sketches let them pass.
    batch: Vec<(Pair, bool)>,
    /// Texts whose sets are to be made.
    texts: Vec<(u32, String)>,
    bytes: usize,
    /// Similar pairs whose details are still to be compared.
    similar: Similar,
    /// Of each thread.
    comparers: Vec<Comparer>,
    /// How many candidates were compared.
    pub compared: u64,
    /// How many of them are the same.
    pub verified: u64,
}

/// Pairs with their similarity, if it counts, and the texts of each, if they are wanted.
#[derive(Debug, Default)]
struct Similar {
    pairs: Vec<(Pair, Option<f64>)>,
    texts: Vec<(String, String)>,
    bytes: usize,
}

impl Similar {
    fn read<F: Spill>(&mut self, pair: Pair, contents: &mut Texts<F>) -> Result<()> {
        let [a, b] = rows(pair).map(|row| contents.content(row as usize));
        let both = (a?, b?);
        self.bytes += both.0.len() + both.1.len();
        Ok(self.texts.grow(both)?)
    }
}

fn rows(pair: Pair) -> [u32; 2] {
    [pair.a as u32, pair.b as u32]
}

impl<F: Spill> Judge<F> {
    /// No candidates yet, of some `rows` rows. Sets take the memory, beyond which they go to `file`, and their sketches as much
    /// again or their own limit, and a little per row in any case.
    pub fn new(alike: Alike, rows: usize, limits: Limits, file: F) -> Judge<F> {
        Judge {
            alike,
            threads: limits.threads.max(1),
            apart: None,
            sets: Sets::new(rows, limits, file),
            batch: Vec::new(),
            texts: Vec::new(),
            bytes: 0,
            similar: Similar::default(),
            comparers: Vec::new(),
            compared: 0,
            verified: 0,
        }
    }

    /// Takes a candidate. `accept` gets the pairs that are the same, with their similarity if it counts, now or later, in the
    /// order in which they came.
    pub fn add<H: Host>(
        &mut self,
        pair: Pair,
        texts: &mut Texts<F>,
        host: &mut H,
        mut accept: impl FnMut(Pair, Option<f64>) -> Result<()>,
    ) -> Result<()> {
        if self.are_apart(pair) {
            self.compared += 1;
            return Ok(());
        }
        if !self.alike.looks() {
            self.compared += 1;
            self.verified += 1;
            return accept(pair, None);
        }
        let mut passed = self.alike.similarity == 0.0;
        if !passed {
            let may = self.sets.may_reach(self.alike.similarity, rows(pair));
            if may == Some(false) {
                self.compared += 1;
                return Ok(());
            }
            passed = may.is_some();
            for row in rows(pair) {
                if self.sets.lacks(row)? {
                    let text = texts.content(row as usize)?;
                    self.bytes += text.len();
                    self.texts.grow((row, text))?;
                }
            }
        }
        self.batch.grow((pair, passed))?;
        let is_full = self.batch.len() >= BATCH_PAIRS || self.bytes >= BATCH_BYTES;
        if is_full { self.work(texts, host, &mut accept) } else { Ok(()) }
    }

    /// Judges the candidates that wait.
    pub fn finish<H: Host>(
        &mut self,
        texts: &mut Texts<F>,
        host: &mut H,
        mut accept: impl FnMut(Pair, Option<f64>) -> Result<()>,
    ) -> Result<()> {
        self.work(texts, host, &mut accept)?;
        while !self.similar.pairs.is_empty() {
            self.step(&mut std::iter::empty(), texts, host, &mut accept)?;
        }
        Ok(())
    }

    /// Works on the candidates that wait, but for the details of the last.
    fn work<H: Host>(
        &mut self,
        texts: &mut Texts<F>,
        host: &mut H,
        accept: &mut dyn FnMut(Pair, Option<f64>) -> Result<()>,
    ) -> Result<()> {
        self.make_sets(host)?;
        let mut batch = std::mem::take(&mut self.batch).into_iter().peekable();
        while batch.peek().is_some() {
            self.step(&mut batch, texts, host, accept)?;
        }
        Ok(())
    }

    /// Compares the details of the similar pairs on threads, and finds more of them meanwhile.
    fn step<H: Host>(
        &mut self,
        batch: &mut dyn Iterator<Item = (Pair, bool)>,
        texts: &mut Texts<F>,
        host: &mut H,
        accept: &mut dyn FnMut(Pair, Option<f64>) -> Result<()>,
    ) -> Result<()> {
        let before = std::mem::take(&mut self.similar);
        let mut comparers = std::mem::take(&mut self.comparers);
        let (alike, threads) = (self.alike.clone(), self.threads);
        let same = same_details(&alike, &mut comparers, threads, &before.texts, host, &mut || {
            self.find_similar(batch, texts)
        });
        self.comparers = comparers;
        let same = same?;
        // Where details do not count there are no texts, and nothing to wait for.
        let found =
            if self.alike.details.is_none() { std::mem::take(&mut self.similar) } else { Similar::default() };
        let verdicts = same.into_iter().chain(std::iter::repeat(true));
        for ((pair, similarity), same) in before.pairs.into_iter().chain(found.pairs).zip(verdicts) {
            if same {
                self.verified += 1;
                accept(pair, similarity)?;
            }
        }
        Ok(())
    }

    /// Takes candidates until the texts of those that are similar are many.
    fn find_similar(
        &mut self,
        batch: &mut dyn Iterator<Item = (Pair, bool)>,
        texts: &mut Texts<F>,
    ) -> Result<()> {
        while self.similar.bytes < BATCH_BYTES {
            let Some((pair, passed)) = batch.next() else { break };
            interrupt::check();
            self.compared += 1;
            if passed || self.may_be_similar(rows(pair)) {
                let similarity = self.counting(rows(pair))?;
                if similarity.is_none_or(|it| it >= self.alike.similarity) {
                    self.similar.pairs.grow((pair, similarity))?;
                    if self.alike.details.is_some() {
                        self.similar.read(pair, texts)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn make_sets<H: Host>(&mut self, host: &mut H) -> Result<()> {
        let threads = if self.texts.len() < WORTH_THREADS { 1 } else { self.threads };
        let mut makers: Vec<Maker> = (0..threads).map(|_| Maker::new(self.alike.n)).collect();
        let (words, alike) = (self.sets.words(), &self.alike);
        let make = |maker: &mut Maker, (_, text): &(u32, String)| {
            let set = maker.make(&alike.form(text));
            let sketch = set.sketch(words);
            (set, sketch)
        };
        let made = on_threads(&self.texts, &mut makers, host, make)?;
        for ((row, _), (set, sketch)) in self.texts.drain(..).zip(made) {
            self.sets.add(row, &set, &sketch)?;
        }
        self.bytes = 0;
        Ok(())
    }

    /// Whether the sketches of two rows, whose sets are made, let them pass.
    fn may_be_similar(&self, rows: [u32; 2]) -> bool {
        let threshold = self.alike.similarity;
        threshold == 0.0 || self.sets.may_reach(threshold, rows) == Some(true)
    }

    /// How similar two rows are, whose sets are made, if that counts; 0 if it is certainly too little.
    fn counting(&mut self, rows: [u32; 2]) -> Result<Option<f64>> {
        let least = self.alike.similarity;
        if least == 0.0 {
            return Ok(None);
        }
        Ok(Some(self.at_least(least, rows)?.unwrap_or(0.0)))
    }

    /// Whether the texts of pairs do without differing details.
    pub(super) fn same_details<H: Host>(
        &mut self,
        pairs: &[Pair],
        contents: &mut Texts<F>,
        host: &mut H,
    ) -> Result<Vec<bool>> {
        if self.alike.details.is_none() {
            return Ok(filled(true, pairs.len())?);
        }
        let mut verdicts = Vec::new();
        let mut some = Similar::default();
        for (&pair, left) in pairs.iter().zip((0..pairs.len()).rev()) {
            some.read(pair, contents)?;
            if some.bytes >= BATCH_BYTES || left == 0 {
                let Similar { texts, .. } = std::mem::take(&mut some);
                let (alike, comparers) = (&self.alike, &mut self.comparers);
                verdicts.extend(same_details(alike, comparers, self.threads, &texts, host, &mut || Ok(()))?);
            }
        }
        Ok(verdicts)
    }

    /// Whether two rows differ in a slot for certain.
    fn are_apart(&self, pair: Pair) -> bool {
        self.apart.as_ref().is_some_and(|apart| apart.differ(rows(pair)))
    }

    /// Whether two rows are the same that have both been in pairs that are.
    pub fn holds<H: Host>(&mut self, pair: Pair, texts: &mut Texts<F>, host: &mut H) -> Result<bool> {
        let is_similar = !self.are_apart(pair)
            && self.may_be_similar(rows(pair))
            && self.counting(rows(pair))?.is_none_or(|it| it >= self.alike.similarity);
        Ok(is_similar && self.same_details(&[pair], texts, host)? == [true])
    }

    /// How similar two rows are, if both were compared with others or each other.
    pub fn known(&mut self, rows: [u32; 2]) -> Result<Option<f64>> {
        self.at_least(f64::MIN_POSITIVE, rows)
    }

    fn at_least(&mut self, least: f64, rows: [u32; 2]) -> Result<Option<f64>> {
        let [a, b] = rows.map(|row| self.sets.get(row));
        let of_templates = || self.apart.as_ref().is_some_and(|it| it.have(rows));
        Ok(a?.zip(b?).map(|(a, b)| self.alike.of_sets(&a, &b, least, of_templates)))
    }
}

/// Whether two texts do without differing details, each pair on one of the threads, while the caller's does something else.
fn same_details<H: Host>(
    alike: &Alike,
    comparers: &mut Vec<Comparer>,
    threads: usize,
    texts: &[(String, String)],
    host: &mut H,
    meanwhile: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<bool>> {
    // Few texts are compared before a thread has started.
    let threads = if texts.len() < WORTH_THREADS { 1 } else { threads };
    comparers.resize_with(threads.max(comparers.len()), || alike.comparer());
    comparers.iter_mut().for_each(Comparer::keep_small);
    let same = |comparer: &mut Comparer, (a, b): &(String, String)| !alike.differ(comparer, a, b);
    beside_threads(texts, &mut comparers[..threads], host, same, meanwhile)
}
