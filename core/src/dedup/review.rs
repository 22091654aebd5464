//! What people are asked: the pairs whose answer is worth most.
//!
//! The judge goes over the candidates once more, with a lower limit. Of each kind of doubt the pairs nearest to the limit are
//! kept, and some all over the scale; then the kinds take turns. Whatever is answered, no answer follows from others or
//! contradicts them.

use super::candidates::{Candidates, Judging, nearness};
use super::{Alike, Decided, Found, Group, Limits, Method, Stage};
use crate::details::{Detail, Kinds, Shown};
use crate::external::{Host, Result, Spill};
use crate::groups::{Pair, PairSearch, UnionFind};
use crate::interrupt::{check, checked};
use crate::memory::{Grow, OfKey, collect, filled};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A pair that somebody is asked about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// Its rows; the first one stays if they are the same.
    pub rows: [usize; 2],
    /// Whether they are taken for the same now.
    pub same: bool,
    /// What is in doubt, one of [`KINDS`].
    pub kind: &'static str,
    /// How similar they are; of records how likely they are of one thing.
    pub score: f64,
    /// Rows that can go elsewhere if the answer is the other one.
    pub moves: u64,
}

/// The kinds of doubt: near above the limit and below it, told apart by details or by what stands in a slot of a template,
/// and taken together because one has the other's text.
pub const KINDS: [&str; 7] = ["above", "below", "name", "slot", "date", "number", "contained"];

/// Parts of the scale on either side of the limit, and how wide one is.
const PARTS: usize = 8;
/// The order in which parts away from the limit are asked about: far ones early, for a limit may be far from the best one.
const ORDER: [usize; PARTS] = [0, 4, 2, 6, 1, 5, 3, 7];
/// How far a similarity stands from the limit: a tenth is two parts.
const OF_SIMILARITY: f64 = 20.0;
/// The same of bits.
const OF_BITS: f64 = 0.5;
/// Less than this is no difference in standing.
const STEP: f64 = 1e-5;
/// How much lower the limit is: a share of a similarity, and bits.
const LOWER: (f64, u32) = (0.6, 2);
/// Rows of a template whose values are shown.
const SHOWN: usize = 1000;
/// As far below the limit as records are looked at.
const FAR: f64 = 12.0;

/// Pairs of one kind, by the part of the scale: so many of each.
#[derive(Default)]
struct Pool {
    parts: [BTreeSet<(u64, [u32; 2])>; PARTS],
}

impl Pool {
    /// Of each part those of the least `rank` are kept.
    fn add(&mut self, rank: f64, pair: [u32; 2], most: usize) {
        let part = &mut self.parts[(rank as usize).min(PARTS - 1)];
        part.insert((rank.max(0.0).to_bits(), pair));
        if part.len() > most {
            part.pop_last();
        }
    }

    /// The nearest to the limit and one from elsewhere by turns, each with its part. After so many `answers` it goes on
    /// elsewhere: of four questions one or two are of this kind.
    fn by_turns(mut self, answers: usize) -> Vec<(usize, [u32; 2])> {
        let mut next = |part: usize| Some((part, self.parts[part].pop_first()?.1));
        let mut all = Vec::new();
        for turn in 0.. {
            let Some(nearest) = (0..PARTS).find_map(&mut next) else { break };
            all.push(nearest);
            all.extend(next(ORDER[(answers / 4 + turn) % PARTS]));
        }
        all
    }
}

/// What is settled by decisions and by the answers to what is asked.
struct Settled<'d> {
    sets: UnionFind,
    members: FxHashMap<u32, Vec<u32>>,
    decided: &'d Decided,
}

impl Settled<'_> {
    fn of(decided: &Decided, count: usize) -> Settled<'_> {
        Settled { sets: decided.sets(count), members: FxHashMap::default(), decided }
    }

    /// Whether nothing follows about two texts, whatever is answered.
    fn is_open(&self, [a, b]: [u32; 2]) -> bool {
        let (x, y) = (self.sets.find(a), self.sets.find(b));
        let all = self.members.get(&x).map_or(std::slice::from_ref(&a), Vec::as_slice);
        let mut apart = all.iter().flat_map(|&text| self.decided.apart(text));
        x != y && apart.all(|other| self.sets.find(other) != y)
    }

    fn ask(&mut self, pair: [u32; 2]) {
        let [mut all, more] =
            pair.map(|text| self.members.remove(&self.sets.find(text)).unwrap_or_else(|| vec![text]));
        all.extend(more);
        self.sets.union(pair[0], pair[1]);
        self.members.insert(self.sets.find(pair[0]), all);
    }
}

struct AsFound<'t> {
    sets: &'t UnionFind,
    kept: &'t [u32],
    first: &'t [u32],
    of_chains: bool,
}

impl AsFound<'_> {
    fn is_kept(&self, text: u32) -> bool {
        self.first[self.kept[self.sets.find(text) as usize] as usize] == text
    }

    fn are_one(&self, [a, b]: [u32; 2]) -> bool {
        self.sets.find(a) == self.sets.find(b)
    }

    /// Whether two texts are two, or one because of this very pair.
    fn hangs_on(&self, pair: [u32; 2]) -> bool {
        !self.are_one(pair) || self.of_chains || pair.iter().any(|&text| self.is_kept(text))
    }
}

struct Doubts {
    /// Of each part of a pool at most.
    most: usize,
    /// Where equal texts stand.
    equal: f64,
    /// Taken for the same, below the limit, and as similar as it takes but not the same.
    pools: [Pool; 3],
    /// How many pairs of the first two pools there are, by quarters of a part.
    counts: BTreeMap<i32, u64>,
}

impl Doubts {
    fn add(&mut self, found: &AsFound, pair: [u32; 2], stand: f64) {
        // What is just at the limit may be less by a step in which nearness is counted.
        let stand = if stand > -STEP { stand.max(0.0) } else { stand };
        let (one, kept) = (found.are_one(pair), pair.iter().all(|&text| found.is_kept(text)));
        let (pool, rank) = match (one, stand >= 0.0) {
            (true, true) => (0, stand),
            // Where both are kept a lower limit would make them one.
            (false, false) if kept || found.of_chains => (1, -stand),
            (false, true) => (2, self.equal - stand),
            _ => return,
        };
        if pool < 2 {
            *self.counts.entry((stand.clamp(-FAR, FAR) * 4.0).floor() as i32).or_default() += 1;
        }
        self.pools[pool].add(rank, pair, self.most);
    }
}

/// Of each slot of a template the nearest pair that differs in it alone for certain, and how near it is.
type OfSlots = BTreeMap<(u32, usize), (u32, [u32; 2])>;

/// What a review finds.
#[derive(Debug, Default)]
pub struct Review {
    /// In the order of their worth.
    pub questions: Vec<Question>,
    /// How many pairs hang on the limit, by where they stand to it.
    pub pool: Vec<(f64, f64)>,
}

impl<F: Spill> Found<F> {
    /// The `most` pairs whose answer is worth most.
    pub fn review<H: Host<File = F>>(&mut self, most: usize, limits: Limits, host: &mut H) -> Result<Review> {
        host.stage("looking for what is in doubt", "candidate pairs", None);
        let Found { rows, groups, options, kept } = self;
        let decided = std::mem::take(&mut rows.decided);
        let mut judge = groups.judge.take();
        let (least, by_text) = (options.alike.similarity, options.method == Method::Text);
        let farthest = options.distance.unwrap_or_default();
        let candidates = match &mut judge {
            Some(judge) => {
                let mut lower = options.clone();
                lower.alike.similarity *= LOWER.0;
                judge.alike.details = None;
                judge.alike.similarity = if by_text { 0.0 } else { lower.alike.similarity };
                let Limits { memory, threads, .. } = limits;
                Some(if by_text {
                    Candidates::by_text(&lower, rows, judge.apart.clone(), false, limits, host)?
                } else {
                    // Where texts decide no answer moves the distance.
                    let lower = if least > 0.0 { 0 } else { LOWER.1 };
                    let distance = farthest + lower;
                    Candidates::by_fingerprint(rows, None, PairSearch { distance, memory, threads }, host)?
                })
            }
            None => None,
        };
        let of_chains = options.group == Group::Components;
        let found = AsFound { sets: &groups.sets, kept, first: &rows.first, of_chains };
        let mut settled = Settled::of(&decided, rows.first.len());
        let mut doubts = Doubts {
            most: most.div_ceil(2).clamp(16, 1 << 12),
            equal: stand(least, Some(1.0), options.distance.map(|most| (0, most))),
            pools: Default::default(),
            counts: BTreeMap::new(),
        };
        let mut slots = OfSlots::new();
        if let Some(records) = &groups.records {
            let least_likely = 1.0 / (1.0 + (FAR - logit(least)).exp());
            for ([a, b], likely) in
                records.likely(&records.pairs(limits.threads, host)?, least_likely, limits.threads, host)?
            {
                // Across sides copies are compared themselves.
                let [a, b] = [a, b].map(|row| rows.first[row as usize]);
                let pair = [a.min(b), a.max(b)];
                if settled.is_open(pair) && found.hangs_on(pair) {
                    doubts.add(&found, pair, logit(likely) - logit(least));
                }
            }
        }
        if let (Some(judge), Some(candidates)) = (&mut judge, candidates) {
            let apart = judge.apart.clone();
            let wants = |Pair { a, b, distance }| {
                let pair = [a as u32, b as u32];
                if !settled.is_open(pair) || !found.hangs_on(pair) {
                    return false;
                }
                let Some(apart) = apart.as_ref().filter(|apart| apart.differ(pair)) else { return true };
                if let Some(slot) = apart.slot(pair) {
                    let near = (distance, pair);
                    slots.entry(slot).and_modify(|it| *it = near.min(*it)).or_insert(near);
                }
                false
            };
            let accept = |Pair { a, b, distance }, similarity: Option<f64>| {
                let stand = match by_text {
                    true => stand(least, Some(1.0 - f64::from(distance) / f64::from(nearness(0.0))), None),
                    false => stand(least, similarity, Some((distance, farthest))),
                };
                doubts.add(&found, [a as u32, b as u32], stand);
                Ok(())
            };
            let texts = &mut rows.texts;
            candidates.each(None, host, &mut Judging { judge, texts, found: 0, wants, accept })?;
        }
        groups.judge = judge;
        let review = self.choose(most, doubts, slots, &mut settled);
        self.rows.decided = decided;
        host.end("");
        review
    }

    /// Of all that is in doubt what is asked: the kinds take turns.
    fn choose(
        &mut self,
        most: usize,
        Doubts { pools, counts, .. }: Doubts,
        slots: OfSlots,
        settled: &mut Settled<'_>,
    ) -> Result<Review> {
        let kinds = self.options.alike.details;
        let mut queues: FxHashMap<&str, Vec<[u32; 2]>> = FxHashMap::default();
        // Of pairs below the limit, by the part of the scale: those that details tell apart, and the others.
        let mut passing = [[0u64; 2]; PARTS];
        let answers = self.answers()?;
        for (pool, pairs) in pools.into_iter().enumerate() {
            for (part, pair) in pairs.by_turns(answers.len()) {
                check();
                let details = self.details(pair)?;
                let tells = details.iter().find(|it| kinds.is_some_and(|kinds| kinds.has(it.kind)));
                if pool == 1 {
                    passing[part][usize::from(tells.is_none())] += 1;
                }
                let kind = match (pool, tells, details.first()) {
                    (0, None, None) => "above",
                    (0, None, Some(detail)) | (2, Some(detail), _) => detail.kind,
                    (1, None, _) => "below",
                    _ => continue,
                };
                queues.of_key(kind)?.grow(pair)?;
            }
        }
        // The templates of the most rows first, of each slot one pair; those of which enough is decided are asked about no more.
        let fillings = self.groups.judge.as_ref().and_then(|judge| judge.apart.clone());
        // Pairs that differ in several slots stand for one more.
        let slot_of = |pair: [u32; 2]| {
            let fillings = fillings.as_ref()?;
            fillings.slot(pair).or_else(|| Some((fillings.template(pair)?, usize::MAX)))
        };
        let rows = self.rows_of_templates()?;
        let size = |slot: (u32, usize)| rows.get(&slot.0).map(|rows| rows.len() as u64);
        let (mut asked, mut once) = (FxHashSet::default(), FxHashSet::default());
        for (rows, same) in answers {
            let pair = rows.map(|row| self.rows.first[row]);
            // That two values of a slot are one is asked once more before all of them are.
            if let Some(slot) = slot_of(pair)
                && (!same || !once.insert(slot))
            {
                asked.insert(slot);
            }
        }
        let mut large: Vec<_> = slots.into_iter().collect();
        large.sort_by_key(|(slot, _)| (Reverse(size(*slot)), *slot));
        let of_slots = queues.of_key("slot")?;
        of_slots.splice(..0, large.into_iter().map(|(_, (_, pair))| pair));
        if self.options.contained.is_some() {
            for row in collect(self.rows.firsts())? {
                let kept = self.keeper(row);
                let pair = [row, kept].map(|row| self.rows.first[row]);
                if self.stage(row) == Stage::Near
                    && !settled.decided.follows(pair[0])
                    && self.stand(pair)? < 0.0
                {
                    queues.of_key("contained")?.grow([pair[0].min(pair[1]), pair[0].max(pair[1])])?;
                }
            }
        }
        let mut queues = KINDS.map(|kind| queues.remove(kind).unwrap_or_default().into_iter());
        let mut review = Review::default();
        while review.questions.len() < most && queues.iter().any(|queue| queue.len() > 0) {
            for (queue, kind) in queues.iter_mut().zip(KINDS) {
                let is_slot = kind == "slot";
                for pair in queue.by_ref() {
                    check();
                    let repeats = || slot_of(pair).is_some_and(|it| asked.contains(&it));
                    if !settled.is_open(pair) || is_slot && (repeats() || self.stand(pair)? < 0.0) {
                        continue;
                    }
                    if is_slot {
                        asked.extend(slot_of(pair));
                    }
                    settled.ask(pair);
                    let of_template = slot_of(pair).filter(|_| is_slot).and_then(size);
                    let question = self.question(pair, kind, of_template)?;
                    review.questions.push(question);
                    break;
                }
            }
        }
        review.questions.truncate(most);
        self.count_moves(&mut review.questions)?;
        review.pool = counts
            .into_iter()
            .map(|(quarter, count)| {
                let stand = f64::from(quarter) / 4.0 + 0.125;
                // Of those below the limit some are told apart by details.
                let [no, yes] = passing[(stand.abs() as usize).min(PARTS - 1)];
                let share = if stand < 0.0 && no + yes > 0 { yes as f64 / (no + yes) as f64 } else { 1.0 };
                (stand, count as f64 * share)
            })
            .collect();
        Ok(review)
    }

    fn question(&mut self, pair: [u32; 2], kind: &'static str, moves: Option<u64>) -> Result<Question> {
        let mut rows = pair.map(|text| text as usize);
        let [a, b] = rows.map(|row| {
            let kept = self.keeper(row);
            (self.rows.first[kept] as usize != row, self.rows.order.precedence(kept))
        });
        let same = self.group_of(rows[0]) == self.group_of(rows[1]);
        if if same { b < a } else { b.1 < a.1 } {
            rows.swap(0, 1);
        }
        Ok(Question { rows, same, kind, score: self.similarity(rows)?, moves: moves.unwrap_or_default() })
    }

    /// The rows of each template, of equal texts the first.
    fn rows_of_templates(&self) -> Result<FxHashMap<u32, Vec<u32>>> {
        let mut rows: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let Some(fillings) = self.groups.judge.as_ref().and_then(|it| it.apart.as_ref()) else {
            return Ok(rows);
        };
        for row in self.rows.firsts().map(|row| row as u32) {
            if let Some(template) = fillings.template([row; 2]) {
                rows.of_key(template)?.grow(row)?;
            }
        }
        Ok(rows)
    }

    /// The `most` templates of the most rows.
    pub fn templates(&mut self, most: usize) -> Result<Vec<Shown>> {
        let mut all = collect(self.rows_of_templates()?)?;
        all.sort_unstable_by_key(|(template, rows)| (Reverse(rows.len()), *template));
        all.truncate(most);
        let fillings = self.groups.judge.as_ref().and_then(|it| it.apart.clone());
        let fillings = fillings.into_iter().cycle();
        let shown = fillings.zip(checked(all)).map(|(fillings, (template, of))| {
            let step = of.len().div_ceil(SHOWN);
            let texts = of.iter().step_by(step).map(|&row| {
                let content = self.rows.texts.content(row as usize)?;
                Ok(self.options.alike.plain(&content).into_owned())
            });
            Ok(Shown { rows: of.len() as u64, ..fillings.templates.show(template, texts)? })
        });
        shown.collect()
    }

    /// Counts the rows of the second text, and of its group if it is kept there.
    fn count_moves(&mut self, questions: &mut [Question]) -> Result<()> {
        let mut sizes = filled([0u64; 2], self.rows.count())?;
        for row in checked(0..self.rows.count()) {
            sizes[self.rows.first[row] as usize][0] += 1;
            let group = self.group_of(row);
            sizes[group][1] += 1;
        }
        for question in questions.iter_mut().filter(|it| it.moves == 0) {
            let [text, group] = [question.rows[1], self.group_of(question.rows[1])];
            let keeper = self.keeper(text);
            let leads = !question.same && self.rows.first[keeper] as usize == text;
            question.moves = if leads { sizes[group][1] } else { sizes[text][0] };
        }
        Ok(())
    }

    /// The pairs of rows of unlike texts that somebody has given an answer about: whether they are the same.
    pub fn answers(&self) -> Result<Vec<([usize; 2], bool)>> {
        let mut answers = collect(self.rows.decisions.answers()?)?;
        answers.retain(|(rows, _)| self.rows.first[rows[0]] != self.rows.first[rows[1]]);
        Ok(answers)
    }

    /// All details in which two texts differ, whether they count or not.
    pub fn details(&mut self, pair: [u32; 2]) -> Result<Vec<Detail>> {
        if matches!(self.options.method, Method::Records | Method::Hash) {
            return Ok(Vec::new());
        }
        let [a, b] = pair.map(|row| self.rows.texts.content(row as usize));
        let alike = Alike { details: Some(Kinds::ALL), ..self.options.alike.clone() };
        Ok(alike.differing(&a?, &b?))
    }

    /// Where two texts stand to the limit: how far above it they are.
    pub fn stand(&mut self, pair: [u32; 2]) -> Result<f64> {
        let rows = pair.map(|row| row as usize);
        let (similarity, least) = (self.similarity(rows)?, self.options.alike.similarity);
        if self.options.method == Method::Records {
            return Ok(logit(similarity) - logit(least));
        }
        let by_bits = matches!(self.options.method, Method::Fingerprint | Method::Hash);
        let most = self.options.distance.filter(|_| by_bits);
        let bits = self.rows.distance(rows[0], rows[1]).zip(most);
        Ok(stand(least, Some(similarity), bits))
    }

    /// The similarity, or the distance, of what stands so far from the limit.
    pub fn limit_at(&self, stand: f64) -> f64 {
        let least = self.options.alike.similarity;
        match self.options.method {
            Method::Records => 1.0 / (1.0 + (-stand - logit(least)).exp()),
            _ if least > 0.0 => least + stand / OF_SIMILARITY,
            _ => f64::from(self.options.distance.unwrap_or_default()) - stand / OF_BITS,
        }
    }
}

/// How far a pair stands above the limit, by what counts: the similarity, and bits if there are too many.
fn stand(least: f64, similarity: Option<f64>, bits: Option<(u32, u32)>) -> f64 {
    let bits = bits.map(|(bits, most)| (f64::from(most) - f64::from(bits)) * OF_BITS);
    let similarity = similarity.filter(|_| least > 0.0).map(|it| (it - least) * OF_SIMILARITY);
    match (similarity, bits) {
        (Some(similarity), Some(bits)) if bits < 0.0 => similarity.min(bits),
        (Some(similarity), _) => similarity,
        (None, bits) => bits.unwrap_or_default(),
    }
}

fn logit(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln().clamp(-50.0, 50.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_and_others_take_turns() {
        let asked = |answers: usize| {
            let mut pool = Pool::default();
            for (stand, row) in [(0.1, 1), (0.2, 2), (3.5, 3), (0.3, 4), (9.0, 5)] {
                pool.add(stand, [0, row], 4);
                pool.add(stand, [0, row], 4);
            }
            pool.by_turns(answers).into_iter().map(|it| it.1[1]).collect::<Vec<u32>>()
        };
        assert_eq!(asked(0), [1, 2, 4, 3, 5]);
        assert_eq!(asked(28), [1, 5, 2, 4, 3]);
    }
}
