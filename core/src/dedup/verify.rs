//! Verification of candidates on their texts.

use super::sets::Sets;
use crate::details::{Comparer, Detail, Kinds, differing};
use crate::external::{Host, Result, Spill, on_threads};
use crate::interrupt;
use crate::memory::{Room, filled};
use crate::similarity::{Maker, jaccard};
use crate::text::Normal;

/// What makes two texts near-duplicates whose fingerprints are near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alike {
    /// The least Jaccard coefficient of character n-grams, 0 to 1; 0: any.
    pub similarity: f64,
    /// Characters of an n-gram.
    pub n: usize,
    /// Particulars in which they may not differ.
    pub particulars: Option<Kinds>,
    /// How the texts are read.
    pub normal: Normal,
}

impl Alike {
    /// Whether anything is looked at.
    pub fn looks(&self) -> bool {
        self.similarity > 0.0 || self.particulars.is_some()
    }

    /// Whether two texts are alike enough to be one.
    pub fn holds(&self, a: &str, b: &str) -> bool {
        let similar = self.similarity == 0.0 || self.jaccard(a, b) >= self.similarity;
        similar && self.differing(a, b).is_empty()
    }

    /// The Jaccard coefficient of the n-grams of two texts, 0 to 1.
    pub fn jaccard(&self, a: &str, b: &str) -> f64 {
        jaccard(&self.normal.form(a), &self.normal.form(b), self.n)
    }

    /// The particulars that count and in which two texts differ.
    pub fn differing(&self, a: &str, b: &str) -> Vec<Detail> {
        let Some(kinds) = self.particulars else { return Vec::new() };
        differing(&self.normal.plain(a), &self.normal.plain(b), kinds)
    }

    /// Whether there are any; for many pairs.
    pub fn differ(&self, comparer: &mut Comparer, a: &str, b: &str) -> bool {
        let Some(kinds) = self.particulars else { return false };
        !comparer.differing(&self.normal.plain(a), &self.normal.plain(b), kinds).is_empty()
    }
}

/// Pairs that are verified at a time.
const BATCH_PAIRS: usize = 1 << 14;
/// Bytes of their texts.
const BATCH_BYTES: usize = 4 << 20;
/// Texts whose work is worth a thread.
const WORTH_THREADS: usize = 128;

/// Where texts come from: a row's text by its number, `None` if there is none any more.
pub type Text<'t> = &'t mut dyn FnMut(u32) -> Option<String>;

/// Verifies candidates, many at a time, on several threads. The set of n-grams of a row is made once, when it is first
/// in a pair; a pair is compared by the sets, and most are ruled out by the sketches already.
#[derive(Debug)]
pub struct Verifier<P, F> {
    alike: Alike,
    threads: usize,
    sets: Sets<F>,
    /// Candidates, and whether their sketches let them pass.
    batch: Vec<(P, [u32; 2], bool)>,
    /// Texts whose sets are to be made.
    texts: Vec<(u32, String)>,
    bytes: usize,
    /// Of each thread.
    comparers: Vec<Comparer>,
    compared: u64,
    verified: u64,
}

impl<P: Sync, F: Spill> Verifier<P, F> {
    /// No candidates yet, of some `rows` rows. `memory`: bytes for sets, beyond which they go to `file`, and again for
    /// their sketches, which take a little per row in any case.
    pub fn new(alike: Alike, threads: usize, rows: usize, memory: usize, file: F) -> Verifier<P, F> {
        Verifier {
            alike,
            threads: threads.max(1),
            sets: Sets::new(rows, memory, file),
            batch: Vec::new(),
            texts: Vec::new(),
            bytes: 0,
            comparers: Vec::new(),
            compared: 0,
            verified: 0,
        }
    }

    /// Takes a candidate, a pair of rows; `text` is asked for the texts that are looked at. `accept` gets those
    /// that are verified, now or later, in the order in which they came.
    ///
    /// # Errors
    /// What the host fails with.
    pub fn add<H: Host>(
        &mut self,
        pair: P,
        rows: [u32; 2],
        text: Text<'_>,
        host: &mut H,
        accept: impl FnMut(P),
    ) -> Result<()> {
        let mut passed = self.alike.similarity == 0.0;
        if !passed {
            let may = self.sets.may_reach(self.alike.similarity, rows);
            if may == Some(false) {
                self.compared += 1;
                return Ok(());
            }
            passed = may.is_some();
            for row in rows {
                if self.sets.lacks(row)? {
                    let text = text(row).unwrap_or_default();
                    self.bytes += text.len();
                    self.texts.room(1)?;
                    self.texts.push((row, text));
                }
            }
        }
        self.batch.room(1)?;
        self.batch.push((pair, rows, passed));
        let full = self.batch.len() >= BATCH_PAIRS || self.bytes >= BATCH_BYTES;
        if full || !self.alike.looks() { self.finish(text, host, accept) } else { Ok(()) }
    }

    /// Verifies the candidates that wait.
    ///
    /// # Errors
    /// What the host fails with.
    pub fn finish<H: Host>(&mut self, text: Text<'_>, host: &mut H, mut accept: impl FnMut(P)) -> Result<()> {
        self.make_sets(host)?;
        let batch = std::mem::take(&mut self.batch);
        self.compared += batch.len() as u64;
        let (mut similar, mut texts, mut bytes) = (Vec::new(), Vec::new(), 0);
        for (pair, rows, passed) in batch {
            interrupt::check();
            if !(passed || self.may_be_similar(rows)) || !self.is_similar(rows)? {
                continue;
            }
            if self.alike.particulars.is_some() {
                let [a, b] = rows.map(&mut *text);
                let Some(both) = a.zip(b) else { continue };
                bytes += both.0.len() + both.1.len();
                texts.room(1)?;
                texts.push(both);
            }
            similar.room(1)?;
            similar.push(pair);
            if bytes >= BATCH_BYTES {
                self.judge(&mut similar, &mut texts, host, &mut accept)?;
                bytes = 0;
            }
        }
        self.judge(&mut similar, &mut texts, host, &mut accept)
    }

    /// Makes the sets that are awaited.
    fn make_sets<H: Host>(&mut self, host: &mut H) -> Result<()> {
        let threads = if self.texts.len() < WORTH_THREADS { 1 } else { self.threads };
        let mut makers: Vec<Maker> = (0..threads).map(|_| Maker::new(self.alike.n)).collect();
        let (words, normal) = (self.sets.words(), self.alike.normal);
        let make = |maker: &mut Maker, (_, text): &(u32, String)| {
            let set = maker.make(&normal.form(text));
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

    /// Whether the Jaccard coefficient of two rows, whose sets are made, reaches the threshold.
    fn is_similar(&mut self, rows: [u32; 2]) -> Result<bool> {
        let threshold = self.alike.similarity;
        if threshold == 0.0 {
            return Ok(true);
        }
        let [a, b] = rows.map(|row| self.sets.get(row));
        Ok(a?.zip(b?).is_some_and(|(a, b)| a.similar(&b, threshold).is_some()))
    }

    /// Whether two rows are alike that have both been in verified pairs.
    ///
    /// # Errors
    /// A file fails, or there is no memory.
    pub fn holds(&mut self, rows: [u32; 2], text: Text<'_>) -> Result<bool> {
        if !self.may_be_similar(rows) || !self.is_similar(rows)? {
            return Ok(false);
        }
        if self.alike.particulars.is_none() {
            return Ok(true);
        }
        let [a, b] = rows.map(text);
        let alike = self.alike;
        let comparer = &mut self.comparers(1)[0];
        Ok(a.zip(b).is_some_and(|(a, b)| !alike.differ(comparer, &a, &b)))
    }

    /// The Jaccard coefficient of two rows, if both were compared with others or each other.
    ///
    /// # Errors
    /// A file fails, or there is no memory.
    pub fn known(&mut self, rows: [u32; 2]) -> Result<Option<f64>> {
        let [a, b] = rows.map(|row| self.sets.get(row));
        Ok(a?.zip(b?).map(|(a, b)| a.similar(&b, f64::MIN_POSITIVE).unwrap_or(0.0)))
    }

    /// Those of some threads.
    fn comparers(&mut self, threads: usize) -> &mut [Comparer] {
        self.comparers.resize_with(threads.max(self.comparers.len()), Comparer::default);
        self.comparers.iter_mut().for_each(Comparer::keep_small);
        &mut self.comparers[..threads]
    }

    /// Accepts similar pairs whose texts do not differ in particulars.
    fn judge<H: Host>(
        &mut self,
        similar: &mut Vec<P>,
        texts: &mut Vec<(String, String)>,
        host: &mut H,
        accept: &mut impl FnMut(P),
    ) -> Result<()> {
        let verdicts = if self.alike.particulars.is_some() {
            // Few texts are compared before a thread has started.
            let threads = if texts.len() < WORTH_THREADS { 1 } else { self.threads };
            let alike = self.alike;
            let same = |comparer: &mut Comparer, (a, b): &(String, String)| !alike.differ(comparer, a, b);
            on_threads(texts, self.comparers(threads), host, same)?
        } else {
            filled(true, similar.len())?
        };
        texts.clear();
        for (pair, verified) in similar.drain(..).zip(verdicts) {
            if verified {
                self.verified += 1;
                accept(pair);
            }
        }
        Ok(())
    }

    /// How many candidates were compared, and how many of them verified.
    pub fn counts(&self) -> (u64, u64) {
        (self.compared, self.verified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Exact, Kind};
    use crate::external::{MemoryHost, MemorySpill};
    use crate::features::{Extractor, TextRecipe};
    use crate::similarity::similar_pairs;
    use proptest::prelude::*;
    use serde_json::json;

    /// One text written otherwise, part by part, for a recipe that reads HTML and simplifies.
    fn written(parts: &[(usize, usize)]) -> String {
        const WAYS: [[&str; 4]; 12] = [
            ["停水", "停水", "<b>停</b>水", "停\u{200B}水"],
            ["楼下", "樓下", "樓，下", "楼\n下"],
            ["物业", "物業", "&#x7269;業", "物业<!-- 电 -->"],
            ["A3", "a3", "Ａ３", "<i>a</i>3"],
            [" Große Straße ", "，GROSSE  STRASSE。", "<p>große STRASSE</p>", " groSSe-Straße "],
            [" ΟΔΌΣ ", "<p>οδός</p>", " οδόσ ", "(Οδός)"],
            [" café ", " CAFE\u{301} ", "&nbsp;caf&eacute;,", " Café "],
            ["第①", "第1", "第１", "<u>第</u>1"],
            ["，", "", " ", "<br>"],
            ["。", "……", "\n", "<script>停电 power</script>"],
            ["豈", "\u{F900}", "岂", "豈"],
            ["乾隆", "乾，隆", "<b>乾</b>隆", "乾隆"],
        ];
        parts.iter().map(|&(part, way)| WAYS[part % WAYS.len()][way % 4]).collect()
    }

    proptest! {
        /// Two texts of one normal form have one fingerprint and similarity 1, are equal by it and in one group, whatever
        /// else the recipe says.
        #[test]
        fn one_normal_form_is_one_text(
            parts in prop::collection::vec((0usize..12, 0usize..4, 0usize..4), 1..12),
            tokens in prop::sample::select(vec!["words", "chars", "words+chars", "shingles"]),
            stop in prop::sample::select(vec!["en", "zh"]),
            n in 1usize..6,
        ) {
            let recipe = json!({"tokens": tokens, "markup": "html", "simplify": true, "stop": stop});
            let recipe = TextRecipe::from_json(&recipe).unwrap();
            let normal = recipe.normal;
            let [a, b] = [
                written(&parts.iter().map(|&(part, way, _)| (part, way)).collect::<Vec<_>>()),
                written(&parts.iter().map(|&(part, _, way)| (part, way)).collect::<Vec<_>>()),
            ];
            prop_assume!(normal.of(&a) == normal.of(&b));
            prop_assert_eq!(Extractor::new().simhash(&a, &recipe), Extractor::new().simhash(&b, &recipe));
            prop_assert_eq!(normal.of(&normal.form(&a)), normal.of(&a));
            prop_assert_eq!(Kind::of(&a, &recipe), Kind::of(&b, &recipe));
            if normal.of(&a).is_empty() {
                return Ok(());
            }
            let alike = Alike { similarity: 1.0, n, particulars: None, normal };
            prop_assert_eq!(alike.jaccard(&a, &b), 1.0);
            prop_assert!(alike.holds(&a, &b) && Exact::Normal.same(&a, &b, normal));
            let mut found = 0;
            let mut verifier = Verifier::new(alike, 1, 2, 1 << 16, MemorySpill::default());
            let mut text = |row: u32| Some([&a, &b][row as usize].clone());
            verifier.add((), [0, 1], &mut text, &mut MemoryHost, |()| found += 1).unwrap();
            verifier.finish(&mut text, &mut MemoryHost, |()| found += 1).unwrap();
            let similar = similar_pairs([a.as_str(), &b].map(|it| normal.form(it)).iter().map(|it| &**it), n, 1.0);
            prop_assert_eq!((found, similar.len()), (1, 1));
        }

        /// What is accepted is what comparing pair by pair accepts, in the same order,
        /// whatever the threads, batches and memory.
        #[test]
        fn verifies_as_one_by_one(
            texts in prop::collection::vec("[停水电電路ab1]{0,6}", 2..40),
            simplify in any::<bool>(),
            repeated in 1usize..60,
            similarity in prop::sample::select(vec![0.0, 0.3, 0.5, 1.0]),
            numbers in any::<bool>(),
            threads in 1usize..4,
            memory in 0usize..200,
        ) {
            let kinds = Kinds { names: false, dates: false, numbers: true };
            let normal = Normal { markup: None, simplify };
            let alike = Alike { similarity, n: 2, particulars: numbers.then_some(kinds), normal };
            let pairs: Vec<(usize, usize)> = (0..repeated).flat_map(|i| (0..texts.len()).map(move |j| (i, j)))
                .map(|(i, j)| (i % texts.len(), j)).collect();
            let mut found = Vec::new();
            let mut verifier = Verifier::new(alike, threads, texts.len(), memory, MemorySpill::default());
            let mut text = |row: u32| Some(texts[row as usize].clone());
            for &(a, b) in &pairs {
                let rows = [a as u32, b as u32];
                verifier.add((a, b), rows, &mut text, &mut MemoryHost, |pair| found.push(pair)).unwrap();
            }
            verifier.finish(&mut text, &mut MemoryHost, |pair| found.push(pair)).unwrap();
            let holds = |&(a, b): &(usize, usize)| alike.holds(&texts[a], &texts[b]);
            let expected: Vec<_> = pairs.iter().copied().filter(holds).collect();
            prop_assert_eq!(verifier.counts(), (pairs.len() as u64, expected.len() as u64));
            prop_assert_eq!(found, expected);
        }
    }
}
