//! Series: texts that say the same but for a name, a date or a number in the same places, as a question that is asked
//! about each match.
//!
//! The first text of a series stands for it. Every text joins the most similar first text whose [`Template`] it fits, or
//! becomes a first text itself: the texts of a series are never compared with each other, so that a series of a hundred
//! thousand costs no more than as many others. First texts are found by their rarest n-grams, as in the join of texts.
//!
//! Which text is the first one depends on the order in which they come: in the order of a hash of the texts
//! the series do not depend on the order of the rows.

use super::Maker;
use super::join::{Frequencies, rarest};
use super::overlap::{at_least, overlap_needed, shared};
use super::particulars::{Kinds, Template, particulars};
use crate::hash::{GOLDEN, mix64};
use crate::interrupt::{self, Meter, checked, sort_unstable_by};
use crate::memory::{self, Result, Room};
use rustc_hash::FxHashMap;
use std::ops::RangeInclusive;

/// N-grams by which a text is looked up: all of a short one, of a long one a sample, the same of equal ones.
const SAMPLE: usize = 128;
/// First texts that are aligned with a text before it becomes one itself.
const ALIGNED: usize = 8;
/// Places of n-grams in first texts that are looked at for a text, the rarest n-grams first: a bound for tables where much
/// is common to all.
const LOOKED_AT: usize = 1 << 14;
/// First texts that are looked at in a row instead of one such place: they are near in memory, and each is met once.
const IN_A_ROW: usize = 8;
/// Bytes for frequencies of n-grams.
const MEMORY: usize = 32 << 20;
/// No place.
const NONE: u32 = u32::MAX;

/// What makes a series.
#[derive(Debug, Clone, Copy)]
pub struct SeriesSettings {
    /// The least Jaccard coefficient of the character n-grams of a text and the first one, above 0, at most 1.
    pub similarity: f64,
    /// Characters of an n-gram.
    pub n: usize,
    /// Particulars of which one at least differs.
    pub kinds: Kinds,
}

/// A series: the rows of all first texts whose templates are alike.
#[derive(Debug)]
pub struct Series {
    /// What its rows have in common, with a mark for each gap; long passages are shortened.
    pub template: String,
    /// Its rows in ascending order, each with the number of its first text.
    pub rows: Vec<(u32, u32)>,
    /// The rows of its first texts, and their templates.
    pub firsts: Vec<(u32, Template)>,
}

/// A first text.
struct First {
    row: u32,
    /// Where its n-grams begin, and how many there are.
    from: usize,
    size: usize,
    sketch: Sketch,
    /// For which text it was met last.
    met: u32,
    /// Where its template is, if it has one.
    template: u32,
    /// The row of the last text that has joined.
    last: u32,
}

/// The places of an n-gram in first texts.
#[derive(Clone, Copy)]
struct List {
    latest: u32,
    length: u32,
}

/// The most similar of the first texts that were considered for a text.
struct Nearest<'a> {
    grams: &'a [u64],
    sketch: Sketch,
    /// The sizes of sets that can be similar.
    sizes: RangeInclusive<usize>,
    /// Similarities and numbers in order, the older one first if two are as similar.
    found: Vec<(f64, u32)>,
    /// The least similarity that counts: where much is common to all, most texts are similar, but few among the most similar.
    least: f64,
    /// The share of two sets' sizes that may be members of only one of them.
    differ: f64,
}

impl Nearest<'_> {
    fn new(threshold: f64, grams: &[u64]) -> Result<Nearest<'_>> {
        let smallest = at_least(threshold * grams.len() as f64);
        let mut largest = (grams.len() as f64 / threshold).min(f64::from(u32::MAX)) as usize + 2;
        while at_least(threshold * largest as f64) > grams.len() {
            largest -= 1;
        }
        let mut nearest = Nearest {
            grams,
            sketch: sketch(grams),
            sizes: smallest..=largest,
            found: memory::with_capacity(ALIGNED + 1)?,
            least: 0.0,
            differ: 0.0,
        };
        nearest.ask(threshold);
        Ok(nearest)
    }

    fn ask(&mut self, least: f64) {
        self.least = least;
        self.differ = (1.0 - least) / (1.0 + least);
    }

    #[inline]
    fn consider(&mut self, number: u32, first: &First, grams: &[u64]) {
        let both_sizes = self.grams.len() + first.size;
        let differ: u32 = self.sketch.iter().zip(&first.sketch).map(|(a, b)| (a ^ b).count_ones()).sum();
        if f64::from(differ) > self.differ * both_sizes as f64 + 1e-6 || !self.sizes.contains(&first.size) {
            return;
        }
        let needed = overlap_needed(self.least, self.grams.len(), first.size);
        let theirs = &grams[first.from..first.from + first.size];
        let Some(both) = shared(self.grams, theirs, needed) else { return };
        let one = (both as f64 / (both_sizes - both) as f64, number);
        let at = self.found.partition_point(|other| (other.0, one.1) > (one.0, other.1));
        self.found.insert(at, one);
        self.found.truncate(ALIGNED);
        if let Some(last) = self.found.get(ALIGNED - 1) {
            self.ask(last.0);
        }
    }

    fn finish(self) -> Result<Vec<u32>> {
        memory::collect(self.found.into_iter().map(|(_, number)| number))
    }
}

/// Counts n-grams, then takes texts into series.
pub struct SeriesFinder {
    settings: SeriesSettings,
    maker: Maker,
    frequencies: Frequencies,
    firsts: Vec<First>,
    grams: Vec<u64>,
    /// The places of each n-gram.
    latest: FxHashMap<u64, List>,
    /// First texts that have an n-gram, each with the place before.
    places: Vec<(u32, u32)>,
    templates: Vec<Template>,
    /// Rows, each with the first text that it has joined.
    joined: Vec<(u32, u32)>,
    taken: u32,
}

impl SeriesFinder {
    /// No texts yet.
    pub fn new(settings: SeriesSettings) -> SeriesFinder {
        SeriesFinder {
            settings,
            maker: Maker::new(settings.n),
            frequencies: Frequencies::new(MEMORY),
            firsts: Vec::new(),
            grams: Vec::new(),
            latest: FxHashMap::default(),
            places: Vec::new(),
            templates: Vec::new(),
            joined: Vec::new(),
            taken: 0,
        }
    }

    /// Counts the n-grams of a text; all are counted before one is taken.
    pub fn count(&mut self, text: &str) {
        self.sample(text).into_iter().for_each(|gram| self.frequencies.count(gram));
    }

    /// Takes the text of a row; `text_of` gives those of rows that were taken before.
    ///
    /// # Errors
    /// There is no memory.
    pub fn take(&mut self, row: u32, text: &str, text_of: &mut dyn FnMut(u32) -> String) -> Result<()> {
        let grams = self.sample(text);
        if grams.is_empty() {
            return Ok(());
        }
        self.taken += 1;
        let mut prefix = Vec::new();
        rarest(&grams, self.settings.similarity, &self.frequencies, &mut prefix);
        for number in self.nearest(&grams, &prefix)? {
            if self.joins(row, number, text, text_of)? {
                self.joined.room(1)?;
                self.joined.push((row, number));
                return Ok(());
            }
        }
        self.add(row, &grams, &prefix)
    }

    /// Whether a text joins a first text.
    fn joins(
        &mut self,
        row: u32,
        number: u32,
        text: &str,
        text_of: &mut dyn FnMut(u32) -> String,
    ) -> Result<bool> {
        let first = &mut self.firsts[number as usize];
        let of_first = text_of(first.row);
        if of_first == text {
            return Ok(true);
        }
        let kinds = self.settings.kinds;
        if first.template == NONE {
            let mut template = Template::default();
            if !template.take(&of_first, text, kinds) {
                return Ok(false);
            }
            first.template = self.templates.len() as u32;
            self.templates.room(1)?;
            self.templates.push(template);
        } else {
            let template = &mut self.templates[first.template as usize];
            if !template.take(&of_first, text, kinds) {
                return Ok(false);
            }
            // Not every pair of names is told apart, and the first text may say nothing there.
            if !template.differs() && !particulars(&text_of(first.last), text, kinds).is_empty() {
                template.tell_apart();
            }
        }
        first.last = row;
        Ok(true)
    }

    /// The first texts that are similar, the most similar before others: [`ALIGNED`] of them.
    fn nearest(&mut self, grams: &[u64], prefix: &[(u32, u64)]) -> Result<Vec<u32>> {
        let mut nearest = Nearest::new(self.settings.similarity, grams)?;
        let mut meter = Meter::new();
        let holders = |(_, gram): &(u32, u64)| self.latest.get(gram).map_or(0, |list| list.length as usize);
        let visits = prefix.iter().map(holders).sum::<usize>().min(LOOKED_AT);
        // Of a few letters all texts have the same n-grams: then they are many times in the lists.
        if self.firsts.len() <= IN_A_ROW * visits {
            for (first, number) in self.firsts.iter().zip(0..) {
                meter.work(1);
                nearest.consider(number, first, &self.grams);
            }
            return nearest.finish();
        }
        let mut left = LOOKED_AT;
        for (_, gram) in prefix {
            let mut place = self.latest.get(gram).map_or(NONE, |list| list.latest);
            while let Some(&(number, before)) = self.places.get(place as usize)
                && left > 0
            {
                left -= 1;
                meter.work(4);
                place = before;
                let first = &mut self.firsts[number as usize];
                if std::mem::replace(&mut first.met, self.taken) != self.taken {
                    nearest.consider(number, first, &self.grams);
                }
            }
        }
        nearest.finish()
    }

    fn add(&mut self, row: u32, grams: &[u64], prefix: &[(u32, u64)]) -> Result<()> {
        let number = self.firsts.len() as u32;
        self.grams.room(grams.len())?;
        self.firsts.room(1)?;
        self.places.room(prefix.len())?;
        self.latest.room(prefix.len())?;
        let first = First {
            row,
            from: self.grams.len(),
            size: grams.len(),
            sketch: sketch(grams),
            met: 0,
            template: NONE,
            last: row,
        };
        self.grams.extend_from_slice(grams);
        self.firsts.push(first);
        for &(_, gram) in prefix {
            let list = self.latest.entry(gram).or_insert(List { latest: NONE, length: 0 });
            self.places.push((number, list.latest));
            *list = List { latest: self.places.len() as u32 - 1, length: list.length + 1 };
        }
        Ok(())
    }

    /// The n-grams by which a text is looked up, in ascending order.
    fn sample(&mut self, text: &str) -> Vec<u64> {
        let mut grams = self.maker.make(text).wide();
        if grams.len() > SAMPLE {
            grams.select_nth_unstable_by_key(SAMPLE, |gram| mix64(*gram));
            grams.truncate(SAMPLE);
            grams.sort_unstable();
        }
        grams
    }

    /// The series whose texts differ in a particular, the largest first; `text_of` gives the texts of rows.
    ///
    /// # Errors
    /// There is no memory.
    pub fn finish(self, text_of: &mut dyn FnMut(u32) -> String) -> Result<Vec<Series>> {
        let SeriesFinder { firsts, templates, joined, .. } = self;
        // For each template its series, and its number there.
        let mut places = memory::filled((NONE, NONE), templates.len())?;
        let mut templates: Vec<Option<Template>> = memory::collect(templates.into_iter().map(Some))?;
        let mut series: Vec<Series> = Vec::new();
        let mut alike: FxHashMap<u128, u32> = FxHashMap::default();
        for first in &firsts {
            interrupt::check();
            let template = templates.get_mut(first.template as usize);
            let Some(template) = template.and_then(|template| template.take_if(|it| it.differs())) else {
                continue;
            };
            let text = text_of(first.row);
            alike.room(1)?;
            let number = *alike.entry(template.hash(&text)).or_insert(series.len() as u32);
            if number as usize == series.len() {
                series.room(1)?;
                series.push(Series { template: template.text(&text), rows: Vec::new(), firsts: Vec::new() });
            }
            let one = &mut series[number as usize];
            let part = one.firsts.len() as u32;
            places[first.template as usize] = (number, part);
            one.firsts.room(1)?;
            one.rows.room(1)?;
            one.firsts.push((first.row, template));
            one.rows.push((first.row, part));
        }
        for (row, number) in checked(joined) {
            let place = places.get(firsts[number as usize].template as usize);
            let (number, part) = place.copied().unwrap_or((NONE, NONE));
            if let Some(one) = series.get_mut(number as usize) {
                one.rows.room(1)?;
                one.rows.push((row, part));
            }
        }
        series.iter_mut().for_each(|one| sort_unstable_by(&mut one.rows, Ord::cmp));
        // Stable: those of a size stay in the order of their first texts.
        series.sort_by_key(|one| std::cmp::Reverse(one.rows.len()));
        Ok(series)
    }
}

/// Bits of which no more differ than there are members of only one of two sets. With four times as many bits as members most
/// pairs that are not similar are told by them, though their members are of a few letters.
type Sketch = [u64; 8];

fn sketch(grams: &[u64]) -> Sketch {
    let mut sketch = [0; 8];
    for gram in grams {
        let bit = gram.wrapping_mul(GOLDEN) >> 55;
        sketch[bit as usize / 64] ^= 1 << (bit % 64);
    }
    sketch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::murmur3_128;
    use crate::interrupt::testing::{checks, interrupted_after};
    use proptest::prelude::*;

    const CHINESE: SeriesSettings = SeriesSettings { similarity: 0.3, n: 2, kinds: Kinds::ALL };
    const ENGLISH: SeriesSettings = SeriesSettings { similarity: 0.3, n: 3, kinds: Kinds::ALL };

    fn series(texts: &[impl AsRef<str>], settings: SeriesSettings) -> Vec<Series> {
        let mut finder = SeriesFinder::new(settings);
        let text = |row: u32| texts[row as usize].as_ref();
        let mut rows: Vec<u32> = (0..texts.len() as u32).collect();
        rows.sort_by_key(|&row| (murmur3_128(text(row).as_bytes(), 0), row));
        rows.iter().for_each(|&row| finder.count(text(row)));
        for row in rows {
            finder.take(row, text(row), &mut |row| text(row).to_owned()).unwrap();
        }
        finder.finish(&mut |row| text(row).to_owned()).unwrap()
    }

    /// Template and texts of each series, whatever the order of the rows.
    fn shown(texts: &[impl AsRef<str>], settings: SeriesSettings) -> Vec<(String, Vec<String>)> {
        let text = |row: u32| texts[row as usize].as_ref();
        let of = |series: &Series| {
            let mut rows: Vec<String> = series.rows.iter().map(|&(row, _)| text(row).to_owned()).collect();
            rows.sort();
            (series.template.clone(), rows)
        };
        series(texts, settings).iter().map(of).collect()
    }

    #[test]
    fn chinese_and_english() {
        let mut texts: Vec<String> = Vec::new();
        for (a, b) in [("皇马", "巴萨"), ("曼城", "利物浦"), ("热火", "湖人"), ("勇士", "快船")]
        {
            texts.push(format!("如何评价{a}对阵{b}的比赛？"));
        }
        texts.extend((1..4).map(|day| format!("五月{day}日天气预报")));
        texts.extend(["居住证怎样办理", "居住证怎么办理？", "为什么天空是蓝色的"].map(str::to_owned));
        let found = shown(&texts, CHINESE);
        let found: Vec<_> = found.iter().map(|(template, rows)| (template.as_str(), rows.len())).collect();
        assert_eq!(found, [("如何评价 __ 对阵 __ 的比赛", 4), ("五月 __ 日天气预报", 3)]);

        // Whichever comes first: names that are not told apart as the first one's are by others.
        let texts = [
            "绿水队对阵",
            "黑土队对阵",
            "绿水队对阵北原",
            "黑土队对阵大河",
            "绿水队对阵小溪",
            "黑土队对阵西湖",
        ];
        let texts = texts.map(|teams| format!("如何评价{teams}队的比赛"));
        assert_eq!(shown(&texts, CHINESE)[0].1.len(), 6);

        let texts: Vec<String> = ["Ashford", "Wexcombe", "New Malden"]
            .iter()
            .map(|town| format!("What is the cheapest way to travel to {town} by train?"))
            .chain(["How do I reset my password", "How do I reset my password?"].map(str::to_owned))
            .collect();
        let found = shown(&texts, ENGLISH);
        let found: Vec<_> = found.iter().map(|(template, rows)| (template.as_str(), rows.len())).collect();
        assert_eq!(found, [("What is the cheapest way to travel to __ by train", 3)]);
    }

    /// Lines with long numbers in few letters, which share many n-grams by chance: their sets are hardly ever compared.
    #[test]
    fn sketches_tell_texts_of_few_letters_apart() {
        let mut finder = SeriesFinder::new(ENGLISH);
        let number = |at: u64| {
            let [high, low] = murmur3_128(&at.to_le_bytes(), 0);
            format!("{high:016x}{low:016x}")
        };
        let texts: Vec<String> =
            (0..300).map(|at| format!("record of {} and {}", number(at), number(at + 1000))).collect();
        let sets: Vec<Vec<u64>> = texts.iter().map(|text| finder.sample(text)).collect();
        let (mut pairs, mut told) = (0, 0);
        for (at, a) in sets.iter().enumerate() {
            for b in &sets[..at] {
                let (x, y) = (sketch(a), sketch(b));
                let differ: u32 = x.iter().zip(&y).map(|(x, y)| (x ^ y).count_ones()).sum();
                let both = a.iter().filter(|gram| b.contains(gram)).count();
                assert!(differ as usize <= a.len() + b.len() - 2 * both);
                pairs += 1;
                told += usize::from(f64::from(differ) > 0.7 / 1.3 * (a.len() + b.len()) as f64);
            }
        }
        assert!(told * 10 > pairs * 9, "{told} of {pairs}");
    }

    /// A large series costs a comparison for each of its texts.
    #[test]
    fn a_large_series_is_one() {
        let texts: Vec<String> = (0..3000).map(|at| format!("{at}号楼的电梯坏了什么时候能修好")).collect();
        let found = series(&texts, CHINESE);
        assert_eq!((found.len(), found[0].rows.len()), (1, 3000));
        assert!(found[0].rows.is_sorted());
    }

    /// Templates that differ only where a long one is not shown.
    #[test]
    fn series_are_told_apart_by_the_whole_template() {
        let lamp = "the street lamp in front of the old school house has been out for a week ";
        let text = |word: &str, at: usize| format!("{lamp}{lamp}{word} {lamp}{lamp} at {at}");
        let texts: Vec<String> =
            (0..24).map(|at| text(if at < 12 { "again" } else { "still" }, at)).collect();
        let mut finder = SeriesFinder::new(ENGLISH);
        texts.iter().for_each(|text| finder.count(text));
        let mut of = |row: u32| texts[row as usize].clone();
        for (row, text) in texts.iter().enumerate() {
            finder.take(row as u32, text, &mut of).unwrap();
        }
        let found = finder.finish(&mut of).unwrap();
        assert_eq!(found.iter().map(|one| one.rows.len()).collect::<Vec<_>>(), [12, 12]);
        assert_eq!(found[0].template, found[1].template);
    }

    proptest! {
        /// The first texts that are aligned are the most similar ones, and the older one of two that are as similar.
        #[test]
        fn nearest_equals_all_against_all(
            texts in prop::collection::vec("[甲乙丙]{2,14}", 2..60),
            similarity in 0.05f64..0.9,
            others in prop::sample::select(vec![0u64, 30]),
        ) {
            let mut finder = SeriesFinder::new(SeriesSettings { similarity, ..CHINESE });
            texts.iter().for_each(|text| finder.count(text));
            for (row, text) in texts.iter().enumerate() {
                let mut all: Vec<(f64, u32)> = finder.firsts.iter().zip(0..).filter(|(first, _)| !finder.grams[first.from..][..first.size].iter().any(|gram| *gram > u64::MAX - 10_000))
                    .map(|(first, number)| (crate::similarity::jaccard(&texts[first.row as usize], text, 2), number))
                    .collect();
                prop_assume!(all.iter().all(|(jaccard, _)| (jaccard - similarity).abs() > 1e-9));
                all.retain(|(jaccard, _)| *jaccard >= similarity);
                all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                all.truncate(ALIGNED);
                let grams = finder.sample(text);
                let mut prefix = Vec::new();
                rarest(&grams, similarity, &finder.frequencies, &mut prefix);
                finder.taken += 1;
                let found = finder.nearest(&grams, &prefix).unwrap();
                prop_assert_eq!(found, all.into_iter().map(|(_, number)| number).collect::<Vec<_>>());
                // Taken or not, most become first texts here; others have no n-gram of these, so that lists are short.
                finder.add(row as u32, &grams, &prefix).unwrap();
                for number in 0..others {
                    let own = [u64::MAX - 100 * row as u64 - number];
                    finder.add(row as u32, &own, &[]).unwrap();
                }
            }
        }

        /// Whatever the texts: their order changes nothing, nothing is in two series, the texts of each are similar to the
        /// first and fit the template, and two of them differ in a particular.
        #[test]
        fn order_does_not_matter(
            mut texts in prop::collection::vec("(如何评价|天气预报|)[一二三四]?(皇马|巴萨|曼城|[0-9])(的比赛|停水|)(很好|)", 1..40),
            turn in 0usize..40,
        ) {
            let found = series(&texts, CHINESE);
            let mut seen = vec![false; texts.len()];
            for one in &found {
                prop_assert!(one.rows.is_sorted() && one.rows.len() > one.firsts.len());
                for &(row, first) in &one.rows {
                    let (first, template) = &one.firsts[first as usize];
                    let (first, text) = (&texts[*first as usize], &texts[row as usize]);
                    prop_assert!(!std::mem::replace(&mut seen[row as usize], true));
                    prop_assert!(crate::similarity::jaccard(first, text, 2) >= 0.3);
                    prop_assert!(template.differs());
                    let gaps = template.gaps(first, text).len();
                    prop_assert_eq!(gaps, one.template.matches("__").count());
                }
            }
            let before = shown(&texts, CHINESE);
            let turn = turn % texts.len();
            texts.rotate_left(turn);
            texts[turn..].reverse();
            prop_assert_eq!(before, shown(&texts, CHINESE));
        }
    }

    #[test]
    fn can_be_interrupted() {
        let texts: Vec<String> =
            (0..500).map(|at| format!("第{at}路公交车几点发车").repeat(1 + at % 3)).collect();
        let run = || drop(series(&texts, CHINESE));
        let all = checks(run);
        assert!(all > 500, "{all}");
        for passed in [0, all / 10, all / 2] {
            assert!(interrupted_after(passed, run), "{passed}");
        }
    }
}
