//! What agreement tells, learned without labels: how often columns agree in pairs of one thing (m) and of two (u; Fellegi and
//! Sunter 1969), by expectation maximisation (Dempster, Laird and Rubin 1977) over the candidates.
//!
//! Chance is counted over all pairs that are not of one thing, and given the column that tells most about it (a tree: a house's
//! telephone comes with its street). What identifies differs in few pairs of one thing. Pairs that differ in the same
//! columns again and again are relatives, not faults.

use super::candidates::{Candidate, on_candidates};
use super::column::CAP;
use super::model::{Field, Fitted, Levels, WIDTH, Weights, probability};
use super::table::{Columns, Table};
use super::values::{EXPECTED, FIELDS, Kind, SLIP};
use crate::external::{self, Host};
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Grow, OfKey, OrRaise, Room, collect, filled};
use crate::random::SplitMix64;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Pairs that weights are learned from, at most, and random ones that chance is counted on.
const LEARNED_FROM: usize = 1 << 18;
const RANDOM: usize = 200_000;
/// Pairs that the first guess of m counts as.
const PRIOR: f64 = 20.0;
/// The share of a pair's information that agrees, from which on it begins as one thing, how sharply, and how much of all
/// it must have.
const BEGIN: (f64, f64, f64) = (0.75, 20.0, 0.3);
/// A share beside the greatest one of either row from which on the pair is near, and what it then counts as chance; across
/// sides nothing, for there a second best one must be another thing.
const NEAR: (f64, f64) = (0.9, 0.2);
/// Relatives: a pattern of differences is kept up to so many times what faults make, or that many times this share of all,
/// unless that is so many times more.
const RELATIVES: (f64, f64, f64) = (1.2, 0.05, 100.0);
/// What is kept of a pattern, below which nearly all pairs that have it are relatives.
const FEW: f64 = 0.2;
/// Pairs of one thing that there are at most for each that differs in nothing that identifies.
const FAULTY: f64 = 2.5;
/// Pairs that a column's own chance counts as beside what its parent tells.
const SMOOTH: f64 = 5.0;
/// Pairs that have one date, code or name, below which those that have not are of a series.
const SERIES: f64 = 0.5;
/// Pairs of which each name has a word of its own, from which on near names are versions of one.
const VERSIONS: f64 = 0.1;
/// As [`SERIES`], of years and other small numbers, which seldom tell things apart by themselves.
const YEARS: f64 = 0.8;
/// Pairs of one thing for each row from which on days tell apart that those differ in.
const DAYS: f64 = 0.4;
/// Pairs that would agree in them by chance, below which that shows nothing.
const EXPECTED_DAYS: f64 = 5.0;
/// Patterns of differences that are told, at most.
const APART: usize = 3;
/// Rounds, how many of them before m is learned, and before further copies may be chance; that is counted in every fourth.
const ROUNDS: (usize, usize, usize) = (24, 8, 12);

/// How far each column of pairs agrees, and without which columns they were found.
#[derive(Debug, Default)]
struct Pairs {
    free: Vec<u32>,
    levels: Vec<u8>,
    /// How common the values are in which they agree.
    common: Vec<f32>,
}

/// m before anything is seen: most pairs of one thing agree. Short values differ by a slip, wordy ones however far.
fn expected(top: usize, cap: f64) -> Levels {
    let near = |level: usize| if cap <= CAP { 2f64.powi(level as i32) } else { 1.0 };
    let all: f64 = (2..top).map(near).sum();
    let mut levels = [0.0; WIDTH];
    levels[1] = 0.06;
    (2..top).for_each(|level| levels[level] = 0.24 * near(level) / all);
    levels[top] = EXPECTED;
    normalized(levels)
}

fn normalized(mut levels: Levels) -> Levels {
    let sum: f64 = levels.iter().sum();
    levels.iter_mut().for_each(|level| *level /= sum);
    levels
}

/// How much pairs weigh that have each two levels in two columns, of those that have both.
fn joint([x, y]: [&[u8]; 2], weights: &[f64]) -> [Levels; WIDTH] {
    let mut joint = [[0.0; WIDTH]; WIDTH];
    for ((x, y), weight) in checked(x.iter().zip(y).zip(weights)) {
        // What lacks one is counted too, and taken off again: that costs less than to ask.
        joint[usize::from(*x)][usize::from(*y)] += weight;
    }
    joint[0] = [0.0; WIDTH];
    joint.iter_mut().for_each(|levels| levels[0] = 0.0);
    joint
}

/// Logarithms of m / u that do not fall: levels that would are taken as one.
fn rising(m: &Levels, u: &Levels, top: usize) -> Levels {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::with_capacity(WIDTH);
    for level in 1..=top {
        blocks.push((m[level], u[level], 1));
        while let [.., (a, b, count), (c, d, more)] = blocks[..]
            && c * b <= a * d
        {
            blocks.truncate(blocks.len() - 2);
            blocks.push((a + c, b + d, count + more));
        }
    }
    let mut tells = [0.0; WIDTH];
    let mut level = 1;
    for (m, u, count) in blocks {
        tells[level..level + count].fill(((m + 1e-12) / (u + 1e-12)).ln());
        level += count;
    }
    tells
}

/// What agreement in the columns of a table tells, by pairs that are worth comparing.
pub(super) fn learn<H: Host>(
    table: &Table,
    columns: &Columns,
    candidates: &[Candidate],
    threads: usize,
    host: &mut H,
) -> external::Result<Weights> {
    let tops = columns.tops();
    let kinds = columns.known.iter().map(|it| (Some(it.kind), it.is_called)).chain([(None, false)]);
    let field = |(&(top, cap), (kind, is_called)): (&(u8, f64), (Option<Kind>, bool))| Field {
        is_called,
        top: usize::from(top),
        cap,
        kind,
        in_series: false,
        m: expected(usize::from(top), cap),
        u: expected(usize::from(top), cap),
        tells: [0.0; WIDTH],
        against: 0.0,
        parent: None,
        tie: 0.0,
    };
    let fields: Vec<Field> = tops.iter().zip(kinds).map(field).collect();
    let count = fields.len();
    let all = table.pairs();
    let mut model = Weights {
        order: (0..count).collect(),
        prior: (0.05 * table.rows as f64 / all).clamp(1e-12, 0.5).ln(),
        kept: FxHashMap::default(),
        apart: Vec::new(),
        ties: vec![0.0; count * count],
        fitted: Fitted::default(),
        fields,
    };
    if count > 0 {
        Learning::new(table, columns, candidates, all, (threads, host))?.run(&mut model);
    }
    Ok(model)
}

impl Field {
    /// m of which no more than the cap speaks against.
    fn capped(&self, mut m: Levels) -> Levels {
        let first = expected(self.top, self.cap);
        let speaks = |level: usize, m: &Levels| m[level] > 0.0 && first[level].min(m[level]) < self.u[level];
        let against: f64 = (1..WIDTH).filter(|&level| speaks(level, &m)).map(|level| m[level]).sum();
        if against > self.cap && against < 1.0 {
            for level in 1..WIDTH {
                m[level] *=
                    if speaks(level, &m) { self.cap / against } else { (1.0 - self.cap) / (1.0 - against) };
            }
        }
        m
    }
}

impl Weights {
    /// What follows from m and u.
    fn weigh(&mut self) {
        for field in &mut self.fields {
            field.tells = rising(&field.m, &field.u, field.top);
            let speaks = (1..=field.top).filter(|&level| field.tells[level] < 0.0);
            field.against = speaks.map(|level| field.m[level]).sum();
        }
    }

    /// That a pair with such levels is of one thing, its values as common as any.
    fn probability(&self, levels: &[u8]) -> f64 {
        let mut told = [0.0; FIELDS];
        let told = &mut told[..levels.len()];
        self.told(levels, |_| 1.0, told);
        self.kept(levels) * probability(self.prior + told.iter().sum::<f64>())
    }
}

struct Learning {
    pairs: Pairs,
    /// The bit of each column among those of [`Candidate::free`].
    bits: Vec<u32>,
    /// Pairs that are no candidates, by their levels, and how many of them there are.
    others: Vec<(Vec<u8>, f64)>,
    /// Candidates that each of the pairs stands for.
    each: f64,
    all: f64,
    is_one_table: bool,
    /// Of each column, whether most rows have it.
    full: Vec<bool>,
    begin: Vec<f64>,
    /// What each pair counts as evidence of chance, while it is not known which pairs are of one thing and then.
    chance: [Vec<f64>; 2],
}

impl Learning {
    fn new<H: Host>(
        table: &Table,
        columns: &Columns,
        candidates: &[Candidate],
        all: f64,
        (threads, host): (usize, &mut H),
    ) -> external::Result<Learning> {
        let tops: Vec<u8> = columns.tops().iter().map(|it| it.0).collect();
        let information: Vec<f64> = columns.information().collect();
        let whole: f64 = information.iter().sum();
        // The share of what either tells that agrees, of all candidates; the greatest of each row.
        let share = |candidate: &Candidate| {
            let mut levels = [0u8; FIELDS];
            let levels = &mut levels[..tops.len()];
            table.levels(columns, candidate.rows, levels);
            let known = || levels.iter().zip(&information).zip(&tops).filter(|((level, _), _)| **level > 0);
            let filled: f64 = known().map(|((_, information), _)| information).sum();
            let agrees: f64 = known()
                .map(|((&level, information), &top)| f64::from(level - 1) / f64::from(top - 1) * information)
                .sum();
            ((agrees / filled.max(1e-9)) as f32, (filled / whole.max(1e-9)) as f32)
        };
        let shares = on_candidates(table, candidates, threads, host, |candidate| Some(share(candidate)))?;
        let mut best = filled(0f32, table.rows).or_raise();
        let mut sure = filled(0u32, table.rows).or_raise();
        let step = candidates.len().div_ceil(LEARNED_FROM).max(1);
        for (candidate, &(share, _)) in checked(candidates.iter().zip(&shares)) {
            for row in candidate.rows {
                best[row as usize] = best[row as usize].max(share);
                sure[row as usize] += u32::from(f64::from(share) >= BEGIN.0);
            }
        }
        let (mut pairs, mut levels) = (Pairs::default(), filled(0u8, tops.len()).or_raise());
        let mut swapped = Vec::new();
        for candidate in checked(candidates).step_by(step) {
            swapped.grow(table.levels(columns, candidate.rows, &mut levels).is_mistake()).or_raise();
            pairs.add(table, *candidate, &levels);
        }
        let is_one_table = table.sides.is_empty();
        let (mut begin, mut chance) = (Vec::new(), [Vec::new(), Vec::new()]);
        let some = checked(candidates.iter().zip(&shares)).step_by(step);
        for ((candidate, &(share, filled)), &is_swapped) in some.zip(&swapped) {
            let best = candidate.rows.map(|row| best[row as usize]);
            let near = best.iter().any(|best| share >= best - 0.02);
            let first = probability((f64::from(share) - BEGIN.0) * BEGIN.1);
            begin.grow(if near && f64::from(filled) >= BEGIN.2 { first } else { 0.0 }).or_raise();
            // Near ones of a row's nearest are little evidence of chance; the further copies of a row that has many are none
            // until it is known that they are of two things.
            let crowded = is_one_table && candidate.rows.iter().any(|&row| sure[row as usize] >= 2);
            let near = best.iter().any(|&best| f64::from(share) >= NEAR.0 * f64::from(best));
            let of_near = if is_one_table { NEAR.1 } else { 0.0 };
            // Counted as chance, names in the wrong columns would speak against all that have them so.
            let counts = if is_swapped {
                0.0
            } else if near {
                of_near
            } else {
                1.0
            };
            chance[0].grow(if crowded { 0.0 } else { counts }).or_raise();
            chance[1].grow(counts).or_raise();
        }
        let others = Learning::others(table, columns, candidates, all);
        let bits = columns.known.iter().map(|it| 1 << it.at).collect();
        let full = columns.known.iter().map(|it| it.filled * 2 >= table.rows).collect();
        Ok(Learning { pairs, bits, full, others, each: step as f64, all, is_one_table, begin, chance })
    }

    /// Random pairs that are no candidates, by their levels.
    fn others(table: &Table, columns: &Columns, candidates: &[Candidate], all: f64) -> Vec<(Vec<u8>, f64)> {
        let mut counts: FxHashMap<Vec<u8>, u32> = FxHashMap::default();
        let (mut random, mut drawn) = (SplitMix64::new(0x5EED), 0u32);
        let mut levels = filled(0u8, columns.tops().len()).or_raise();
        for _ in checked(0..RANDOM.min((all * 4.0) as usize)) {
            let (a, b) = (random.below(table.rows) as u32, random.below(table.rows) as u32);
            let rows = [a.min(b), a.max(b)];
            if a == b
                || !table.may_be_one(rows)
                || candidates.binary_search_by(|it| it.rows.cmp(&rows)).is_ok()
            {
                continue;
            }
            table.levels(columns, rows, &mut levels);
            drawn += 1;
            if let Some(count) = counts.get_mut(&levels) {
                *count += 1;
            } else {
                counts.room(1).or_raise();
                counts.insert(crate::memory::copy(&levels).or_raise(), 1);
            }
        }
        let each = (all - candidates.len() as f64).max(1.0) / f64::from(drawn.max(1));
        let mut others: Vec<(Vec<u8>, f64)> =
            collect(counts.into_iter().map(|(levels, count)| (levels, f64::from(count) * each))).or_raise();
        sort_unstable_by(&mut others, |x, y| x.0.cmp(&y.0));
        others
    }

    fn run(self, model: &mut Weights) {
        let width = model.fields.len();
        let mut posteriors = crate::memory::copy(&self.begin).or_raise();
        // The same before patterns take away: in one table what these leave to a person is no chance, or it would be taken for that
        // more and more.
        let mut by_levels = crate::memory::copy(&self.begin).or_raise();
        let mut told = [0.0; FIELDS];
        let mut patterns = filled(0u64, posteriors.len()).or_raise();
        for round in 0..ROUNDS.0 {
            if round % 4 == 0 {
                let counted = if self.is_one_table { &by_levels } else { &posteriors };
                self.count_chance(model, counted, &self.chance[usize::from(round >= ROUNDS.2)]);
            }
            model.weigh();
            for (at, posterior) in checked(posteriors.iter_mut().enumerate()) {
                let levels = &self.pairs.levels[at * width..(at + 1) * width];
                let common = |field: usize| f64::from(self.pairs.common[at * width + field]);
                model.told(levels, common, &mut told[..width]);
                *posterior = probability(model.prior + told[..width].iter().sum::<f64>());
                patterns[at] = model.pattern(levels);
            }
            self.keep_relatives(model, &patterns, &posteriors);
            by_levels.copy_from_slice(&posteriors);
            let kept = |pattern: &u64| model.kept.get(pattern).copied().unwrap_or(1.0);
            for (posterior, pattern) in checked(posteriors.iter_mut().zip(&patterns)) {
                *posterior *= kept(pattern);
            }
            if round >= ROUNDS.1 {
                let are_relatives = collect(patterns.iter().map(|pattern| kept(pattern) < FEW)).or_raise();
                self.learn_m(model, &posteriors, &are_relatives);
            }
            // Of a thing with many rows few pairs are candidates.
            let others =
                self.others.iter().map(|it| (model.probability(&it.0), it.1)).filter(|it| it.0 >= 0.5);
            let others: f64 = others.map(|it| it.0 * it.1).sum();
            let one = posteriors.iter().sum::<f64>() * self.each + others;
            let share = (one.max(0.5) / self.all).min(0.5);
            model.prior = (share / (1.0 - share)).ln();
        }
        model.weigh();
        self.count_apart(model, &posteriors);
    }

    /// What pairs differ in that agree otherwise.
    fn count_apart(&self, model: &mut Weights, posteriors: &[f64]) {
        let mut counts: FxHashMap<u64, usize> = FxHashMap::default();
        let all = self.pairs.levels.chunks_exact(model.fields.len()).zip(posteriors);
        for (levels, posterior) in checked(all) {
            let days = model.days(levels);
            if *posterior >= 0.5 && days == 0 {
                continue;
            }
            let pattern = model.pattern(levels) | days;
            let known = model.fields.iter().zip(levels).zip(0..).filter(|it| it.0.0.cap < 1.0 && *it.0.1 > 0);
            let rest = || known.clone().filter(|it| pattern >> it.1 & 1 == 0);
            if pattern != 0
                && rest().count() >= 2
                && rest().all(|((field, &level), _)| usize::from(level) == field.top)
            {
                *counts.of_key(pattern).or_raise() += 1;
            }
        }
        model.apart = counts.into_iter().map(|it| (it.0, it.1 * self.each as usize)).collect();
        model.apart.sort_unstable_by_key(|it| (std::cmp::Reverse(it.1), it.0));
        model.apart.truncate(APART);
    }

    /// u and its tree, over all pairs that are not of one thing.
    fn count_chance(&self, model: &mut Weights, posteriors: &[f64], chance: &[f64]) {
        let width = model.fields.len();
        let counted = posteriors.iter().zip(chance);
        let weights = counted.map(|(posterior, counts)| (1.0 - posterior).powi(2) * counts * self.each);
        let candidates = self.pairs.levels.chunks_exact(width).zip(weights);
        let candidates = candidates.map(|(levels, weight)| (levels, weight, true));
        let two = |levels: &[u8]| (1.0 - model.probability(levels)).powi(2);
        let others = self.others.iter().map(|(levels, count)| (&levels[..], count * two(levels), false));
        let all: Vec<(&[u8], f64, bool)> = collect(candidates.chain(others)).or_raise();
        for (at, field) in model.fields.iter_mut().enumerate() {
            let mut u = expected(field.top, field.cap);
            for &(levels, weight, _) in checked(&all).filter(|it| it.0[at] > 0) {
                u[usize::from(levels[at])] += weight;
            }
            field.u = normalized(u);
        }
        // Column by column, and the candidates first: each two columns are counted by themselves.
        let column = |at: usize| collect(checked(&all).map(|it| it.0[at])).or_raise();
        let columns: Vec<Vec<u8>> = (0..width).map(column).collect();
        let weights = collect(all.iter().map(|it| it.1)).or_raise();
        let candidates = all.partition_point(|it| it.2);
        let mut gains = vec![0.0; width * width];
        let mut chances: FxHashMap<(usize, usize), Box<[Levels; WIDTH]>> = FxHashMap::default();
        for c in 0..width {
            for d in 0..c {
                let count = |range: Range<usize>| {
                    joint([c, d].map(|at| &columns[at][range.clone()]), &weights[range.clone()])
                };
                let hard = count(0..candidates);
                let mut joint = count(candidates..all.len());
                joint
                    .as_flattened_mut()
                    .iter_mut()
                    .zip(hard.as_flattened())
                    .for_each(|(all, own)| *all += own);
                let (of_c, of_d) = (&model.fields[c], &model.fields[d]);
                let transposed: [Levels; WIDTH] =
                    std::array::from_fn(|y| std::array::from_fn(|x| joint[x][y]));
                let given = |joint: &[Levels; WIDTH], u: &Levels| {
                    let row = |levels: &Levels| {
                        let sum: f64 = levels.iter().sum();
                        std::array::from_fn(|at| (levels[at] + SMOOTH * u[at]) / (sum + SMOOTH))
                    };
                    Box::new(joint.each_ref().map(row))
                };
                let (down, up) = (given(&joint, &of_d.u), given(&transposed, &of_c.u));
                let mut gain = 0.0;
                for x in 1..=of_c.top {
                    for y in (1..=of_d.top).filter(|&y| hard[x][y] > 0.0 && of_d.u[y] > 0.0) {
                        gain += hard[x][y] * (down[x][y] / of_d.u[y]).ln();
                    }
                }
                let tie = (down[of_c.top][of_d.top] - of_d.u[of_d.top])
                    .max(up[of_d.top][of_c.top] - of_c.u[of_c.top])
                    .max(0.0);
                for (x, y) in [(c, d), (d, c)] {
                    gains[x * width + y] = gain;
                    model.ties[x * width + y] = tie;
                }
                // By the parent and the child.
                chances.insert((c, d), down);
                chances.insert((d, c), up);
            }
        }
        // A greatest spanning tree.
        let total = |at: usize| gains[at * width..(at + 1) * width].iter().sum::<f64>();
        let root = (0..width).reduce(|best, at| if total(at) > total(best) { at } else { best }).unwrap_or(0);
        model.order = vec![root];
        model.fields[root].parent = None;
        while model.order.len() < width {
            let open = (0..width).filter(|at| !model.order.contains(at));
            let pairs = open.flat_map(|child| model.order.iter().map(move |&parent| (parent, child)));
            let gain = |&(parent, child): &(usize, usize)| gains[parent * width + child];
            let Some((parent, child)) =
                pairs.reduce(|best, next| if gain(&next) > gain(&best) { next } else { best })
            else {
                break;
            };
            model.order.push(child);
            let chance = chances.remove(&(parent, child)).filter(|_| gain(&(parent, child)) > 0.0);
            let tops = [parent, child].map(|at| model.fields[at].top);
            let field = &mut model.fields[child];
            field.tie =
                chance.as_ref().map_or(0.0, |chance| (chance[tops[0]][tops[1]] - field.u[tops[1]]).max(0.0));
            field.parent = chance.map(|chance| (parent, chance));
        }
    }

    /// m, of each column by the pairs that were found without it and have no pattern of relatives.
    fn learn_m(&self, model: &mut Weights, posteriors: &[f64], are_relatives: &[bool]) {
        let width = model.fields.len();
        let are_many = posteriors.iter().sum::<f64>() * self.each >= DAYS * (2.0 * self.all).sqrt();
        // Of several names versions are told by the one that two things share least: not the journal, but the title.
        let is_name = |field: &Field| field.kind == Some(Kind::Name) && field.cap < 1.0;
        let names = model.fields.iter().zip(&self.full).filter(|it| *it.1 && is_name(it.0));
        let least_shared = names.map(|it| it.0.u[it.0.top]).fold(1.0, f64::min);
        for (at, field) in model.fields.iter_mut().enumerate() {
            let first = expected(field.top, field.cap).map(|share| share * PRIOR);
            let mut m = first;
            let bit = self.bits.get(at).copied().unwrap_or_default();
            let all = posteriors.iter().zip(are_relatives).enumerate().filter(|it| !*it.1.1);
            for (number, (posterior, _)) in checked(all) {
                let level = usize::from(self.pairs.levels[number * width + at]);
                if level > 0 && (bit == 0 || self.pairs.free[number] & bit != 0) {
                    m[level] += posterior;
                }
            }
            let seen: f64 = m.iter().sum::<f64>() - PRIOR;
            let (same, by_chance) = (m[field.top] - first[field.top], seen * field.u[field.top]);
            let m = normalized(m);
            // Of few values, less often one than by chance: the days of courses, where most rows are of such.
            if field.kind == Some(Kind::Date) && field.cap >= 1.0 {
                field.in_series = are_many && 2.0 * same < by_chance && by_chance >= EXPECTED_DAYS;
                field.m = field.capped(m);
                continue;
            }
            field.in_series |= match field.kind {
                Some(Kind::Date | Kind::Code) => m[field.top] < SERIES,
                // Two catalogues have titles of their own.
                _ if !self.is_one_table => false,
                Some(Kind::Name) => {
                    let is_least_shared = is_name(field) && field.u[field.top] <= least_shared;
                    m[usize::from(SLIP)..].iter().sum::<f64>() < SERIES && m[1] >= VERSIONS && is_least_shared
                }
                Some(Kind::Number { small: true }) => m[field.top] < YEARS,
                _ => false,
            };
            field.m = field.capped(m);
        }
    }

    /// What remains of patterns of differences that are too many for faults.
    fn keep_relatives(&self, model: &mut Weights, patterns: &[u64], posteriors: &[f64]) {
        let width = model.fields.len();
        let mut counts: FxHashMap<u64, f64> = FxHashMap::default();
        for (pattern, posterior) in checked(patterns.iter().zip(posteriors)) {
            *counts.of_key(*pattern).or_raise() += posterior;
        }
        let mut counts: Vec<(u64, f64)> = collect(counts).or_raise();
        sort_unstable_by(&mut counts, |x, y| x.0.cmp(&y.0));
        // How often a pair of one thing differs so: what comes together counts once.
        let fault = |pattern: u64| {
            let on = |at: &usize| pattern >> at & 1 == 1;
            (0..width).filter(on).fold(1.0, |share, at| {
                let own = model.fields[at].against.max(1e-3);
                let tie = (0..at).filter(on).map(|other| model.ties[other * width + at]).fold(0.0, f64::max);
                share * (own + (1.0 - own) * tie)
            })
        };
        let faults: Vec<f64> = counts.iter().map(|it| fault(it.0)).collect();
        let mut total: f64 = counts.iter().map(|it| it.1).sum();
        // Some records have no fault: in a table without duplicates there are none, and all patterns are relatives.
        let clean = counts.first().filter(|it| it.0 == 0).map_or(0.0, |it| it.1);
        let mut kept = vec![1.0; counts.len()];
        for _ in 0..20 {
            for ((kept, (pattern, count)), fault) in kept.iter_mut().zip(&counts).zip(&faults) {
                let by_faults = fault * total;
                let of_all = RELATIVES.1 * total.min(FAULTY * clean);
                let most = RELATIVES.0 * by_faults.max(of_all.min(RELATIVES.2 * by_faults)).max(1e-9);
                *kept = if *pattern == 0 { 1.0 } else { (most / count.max(1e-9)).min(1.0) };
            }
            total = kept.iter().zip(&counts).map(|(kept, it)| kept * it.1).sum();
        }
        model.kept = counts.iter().map(|it| it.0).zip(kept).filter(|it| it.1 < 1.0).collect();
    }
}

impl Pairs {
    fn add(&mut self, table: &Table, candidate: Candidate, levels: &[u8]) {
        self.free.grow(candidate.free).or_raise();
        self.levels.room(levels.len()).or_raise();
        self.levels.extend_from_slice(levels);
        self.common.room(levels.len()).or_raise();
        self.common
            .extend((0..levels.len()).map(|field| table.commonness(candidate.rows, levels, field) as f32));
    }
}
