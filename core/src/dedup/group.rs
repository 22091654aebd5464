//! Groups of near rows: candidates are found and judged, and the pairs that are the same are linked by a rule.

use super::rows::across;
use super::star::stars;
use super::{Alike, Decided, Group, Judge, Kind, Method, Options, Order, Rows, Texts};
use crate::details::{Fillings, Statistics};
use crate::external::{Host, Result, Sorter, Spill};
use crate::groups::{Connect, DiameterSets, Pair, Pairs, Settings, UnionFind};
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Grow, OrRaise, Room, collect, filled};
use crate::records::{self, Records};
use crate::similarity::{Compare, Likeness, SimilarPair, SimilarPairs};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What grouping may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of working memory.
    pub memory: usize,
    /// Threads to compute on.
    pub threads: usize,
}

/// Groups of rows. Rows of equal content are represented by the first of them.
pub struct Groups<F> {
    /// The rows of each group.
    pub sets: UnionFind,
    /// Has the sets of n-grams of the rows that were compared.
    pub judge: Option<Judge<F>>,
    /// What was learned by records.
    pub records: Option<Records>,
}

/// Groups the rows as `options` say.
///
/// # Errors
/// A file fails, or there is no memory.
pub fn group<H: Host>(
    options: &Options,
    rows: &mut Rows<H::File>,
    limits: Limits,
    host: &mut H,
) -> Result<Groups<H::File>> {
    let texts = match options.group {
        Group::Star => rows.order.of_texts(&rows.first)?,
        // As P4 has it: as they come.
        Group::SinglePass => Order::default().of_texts(&rows.first)?,
        Group::Components => Vec::new(),
    };
    if options.group != Group::Components {
        rows.decided.order(&texts);
    }
    if options.method == Method::Records {
        let (sets, records) = by_records(options, rows, &texts, host)?;
        return Ok(Groups { sets, judge: None, records });
    }
    let Some(distance) = options.distance else {
        return Ok(Groups { sets: of_units(rows), judge: None, records: None });
    };
    // A pair farther apart than the diameter joins nothing.
    let distance = options.diameter.map_or(distance, |diameter| distance.min(diameter));
    let by_text = options.method == Method::Text;
    // All pairs are found before the first is linked. Otherwise what is connected already need not be found.
    let is_bounded = options.diameter.is_some() || rows.decided.divides() || options.sides;
    let in_order = if options.group == Group::Components { is_bounded } else { by_text };
    let mut alike = options.alike.clone();
    if by_text {
        // The search for candidates has compared it.
        alike.similarity = 0.0;
    }
    if in_order {
        // They cost too much to look at before it is known whether a pair can still change its groups.
        alike.details = None;
    }
    let apart = apart(options, rows, host)?;
    let mut judge = Judge::new(alike, limits.threads, rows.count(), limits.memory, host.file());
    judge.apart.clone_from(&apart);
    let candidates = if by_text {
        Candidates::by_text(options, rows, (apart, true), limits, host)?
    } else {
        let for_order = if in_order { limits.memory / 4 } else { 0 };
        let settings = Settings { distance, memory: limits.memory - for_order, threads: limits.threads };
        Candidates::by_fingerprint(rows, settings, host)?
    };
    let mut grouping = Grouping { options, rows, judge, candidates: 0 };
    let sets = match options.group {
        Group::Components if !in_order => grouping.connect(candidates, host)?.0,
        Group::Components => {
            let record = |pair: Pair| [pair.distance, pair.a as u32, pair.b as u32];
            let sorted = grouping.sort(candidates, record, limits.memory / 4, host)?;
            let fps = std::mem::take(&mut grouping.rows.fps);
            let sets = DiameterSets::new(&fps, options.diameter.unwrap_or(u64::BITS))?;
            let mut sets = Divided::new(sets, grouping.rows, options.many)?;
            grouping.link(sorted, |[_, a, b]| [a, b], &mut sets, host)?;
            let sets = sets.sets.into_sets();
            grouping.rows.fps = fps;
            sets
        }
        Group::Star | Group::SinglePass if by_text => {
            let mut place = filled(u32::MAX, grouping.rows.count())?;
            checked(texts.iter().zip(0..)).for_each(|(&text, at)| place[text as usize] = at);
            let record = |pair: Pair| {
                let [a, b] = [pair.a, pair.b].map(|row| place[row as usize]);
                [a.max(b), pair.distance, a.min(b)]
            };
            let sorted = grouping.sort(candidates, record, limits.memory / 2, host)?;
            let decided = std::mem::take(&mut grouping.rows.decided);
            let mut keepers = Keepers::over(collect(0..grouping.rows.count() as u32)?, &decided);
            let pair = |[b, _, a]: [u32; 3]| [texts[a as usize], texts[b as usize]];
            grouping.link(sorted, pair, &mut keepers, host)?;
            let sets = keepers.sets(&texts);
            grouping.rows.decided = decided;
            sets
        }
        Group::Star | Group::SinglePass => {
            let (mut sets, joined) = grouping.connect(candidates, host)?;
            grouping.divide(&mut sets, joined, &texts, distance, host)?
        }
    };
    Ok(Groups { sets, judge: Some(grouping.judge), records: None })
}

/// How texts stand to the templates of the table, if that counts.
fn apart<H: Host>(
    options: &Options,
    rows: &mut Rows<H::File>,
    host: &mut H,
) -> Result<Option<Arc<Fillings>>> {
    let alike = &options.alike;
    let Some(Statistics { templates, .. }) = alike.statistics.as_deref() else { return Ok(None) };
    host.stage("reading what stands in slots", "rows", Some(rows.count() as u64));
    let firsts = collect(rows.firsts())?;
    let texts = &mut rows.texts;
    let fillings = templates.fill(firsts.into_iter(), alike.has_slots(), &mut |row| {
        host.step();
        Ok(alike.plain(&texts.content(row)?).into_owned())
    })?;
    Ok(Some(Arc::new(fillings)))
}

/// What candidates are found by. Each pair is found at least once.
pub(super) enum Candidates<H: Host> {
    /// Fingerprints within a distance.
    Blocks(Pairs<H>),
    /// Sets of n-grams, as similar as the options say, of texts that are not apart.
    Grams(SimilarPairs<H>, ByGrams),
}

/// How sets of n-grams are compared.
pub(super) struct ByGrams {
    alike: Alike,
    apart: Option<Arc<Fillings>>,
    /// Whether texts that are apart are left out.
    leaves: bool,
}

impl Compare for ByGrams {
    fn may(&self, a: i64, b: i64) -> bool {
        !self.leaves || !self.apart.as_ref().is_some_and(|it| it.differ([a, b].map(|row| row as u32)))
    }

    fn similarity(&self, rows: [i64; 2], likeness: Likeness) -> f64 {
        let of_templates = || self.apart.as_ref().is_some_and(|it| it.have(rows.map(|row| row as u32)));
        self.alike.of(likeness, of_templates)
    }
}

impl<H: Host> Candidates<H> {
    pub(super) fn by_fingerprint(
        rows: &Rows<H::File>,
        settings: Settings,
        host: &mut H,
    ) -> Result<Candidates<H>> {
        let mut pairs = Pairs::new(settings);
        for row in rows.firsts().filter(|&row| rows.has_fp(row)) {
            pairs.add(row as i64, rows.fps[row], host)?;
        }
        Ok(Candidates::Blocks(pairs))
    }

    pub(super) fn by_text(
        options: &Options,
        rows: &mut Rows<H::File>,
        (apart, leaves): (Option<Arc<Fillings>>, bool),
        limits: Limits,
        host: &mut H,
    ) -> Result<Candidates<H>> {
        host.stage("reading texts", "rows", Some(rows.count() as u64));
        let alike = options.alike.clone();
        let pairs = SimilarPairs::new(alike.n, alike.similarity, limits.memory / 2);
        let mut pairs = pairs.weighed(alike.weights().cloned());
        for row in collect(rows.firsts())? {
            host.step();
            let content = rows.texts.content(row)?;
            pairs.add(row as i64, &options.alike.form(&content), host)?;
        }
        Ok(Candidates::Grams(pairs, ByGrams { alike, apart, leaves }))
    }

    /// Finds the pairs; those of rows that `known` has in one set may be left out.
    pub(super) fn each(
        self,
        known: Option<&UnionFind>,
        host: &mut H,
        take: &mut dyn Connect<H>,
    ) -> Result<()> {
        match (self, known) {
            (Candidates::Blocks(pairs), Some(known)) => pairs.connect(known, host, take),
            (Candidates::Blocks(pairs), None) => pairs.finish(host, |pair, host| take.take(pair, host)),
            (Candidates::Grams(pairs, by), _) => {
                pairs.finish(host, &by, |SimilarPair { a, b, similarity }, host| {
                    take.take(Pair { a, b, distance: nearness(similarity) }, host)
                })
            }
        }?;
        take.settle(host)
    }
}

/// A similarity as a distance, by which the most similar are the nearest.
pub fn nearness(similarity: f64) -> u32 {
    ((1.0 - similarity.clamp(0.0, 1.0)) * f64::from(1 << 24)).round() as u32
}

/// Judges candidates as they are found; `accept` gets those that are the same.
struct Judging<'g, F, W, A> {
    judge: &'g mut Judge<F>,
    texts: &'g mut Texts<F>,
    candidates: &'g mut u64,
    /// Whether a pair can still change something.
    wants: W,
    accept: A,
}

impl<H, W, A> Connect<H> for Judging<'_, H::File, W, A>
where
    H: Host,
    W: Fn(Pair) -> bool,
    A: FnMut(Pair) -> Result<()>,
{
    fn take(&mut self, pair: Pair, host: &mut H) -> Result<()> {
        *self.candidates += 1;
        host.step();
        if !(self.wants)(pair) {
            return Ok(());
        }
        self.judge.add(pair, &mut |row| self.texts.content(row as usize), host, &mut self.accept)
    }

    fn settle(&mut self, host: &mut H) -> Result<()> {
        self.judge.finish(&mut |row| self.texts.content(row as usize), host, &mut self.accept)
    }
}

/// Pairs in an order, three numbers each.
type Sorted<F> = Sorter<[u32; 3], F>;

struct Grouping<'g, F: Spill> {
    options: &'g Options,
    rows: &'g mut Rows<F>,
    judge: Judge<F>,
    /// Pairs that were found.
    candidates: u64,
}

impl<F: Spill> Grouping<'_, F> {
    /// The stage of the search for pairs ends.
    fn end<H: Host>(&self, host: &mut H) {
        let Judge { compared, verified, .. } = self.judge;
        let of = match (self.options.method, self.options.distance) {
            (Method::Fingerprint, Some(distance)) => format!("candidate pairs within {distance} bits"),
            _ => format!("pairs of similarity {}", self.options.alike.similarity),
        };
        host.end(&format!("{} {of}, {compared} compared, {verified} verified", self.candidates));
    }

    /// What pairs connect that are the same, and those of them that it takes.
    fn connect<H: Host<File = F>>(
        &mut self,
        candidates: Candidates<H>,
        host: &mut H,
    ) -> Result<(UnionFind, Vec<(u32, u32)>)> {
        host.stage("finding near fingerprints and verifying them", "candidate pairs", None);
        let (sets, mut joined) = (UnionFind::new(self.rows.count()), Vec::new());
        if self.options.group == Group::Components {
            self.rows.decided.followers().for_each(|[a, b]| _ = sets.union(a, b));
        }
        let mut judging = Judging {
            judge: &mut self.judge,
            texts: &mut self.rows.texts,
            candidates: &mut self.candidates,
            wants: |pair: Pair| sets.find(pair.a as u32) != sets.find(pair.b as u32),
            accept: |pair: Pair| {
                if sets.union(pair.a as u32, pair.b as u32) {
                    joined.grow((pair.a as u32, pair.b as u32))?;
                }
                Ok(())
            },
        };
        candidates.each(Some(&sets), host, &mut judging)?;
        self.end(host);
        Ok((sets, joined))
    }

    /// All pairs, as far as they are judged yet, in the order of their records.
    fn sort<H: Host<File = F>>(
        &mut self,
        candidates: Candidates<H>,
        record: impl Fn(Pair) -> [u32; 3],
        memory: usize,
        host: &mut H,
    ) -> Result<Sorted<F>> {
        host.stage("finding near fingerprints", "candidate pairs", None);
        let mut sorted = Sorter::new(memory, host.file());
        let sides = &self.rows.sides;
        let mut judging = Judging {
            judge: &mut self.judge,
            texts: &mut self.rows.texts,
            candidates: &mut self.candidates,
            wants: |pair: Pair| across(sides, [pair.a, pair.b].map(|row| row as u32)).is_some(),
            accept: |pair: Pair| {
                let rows = across(sides, [pair.a, pair.b].map(|row| row as u32));
                let [a, b] = rows.map_or([pair.a, pair.b], |rows| rows.map(i64::from));
                sorted.add(record(Pair { a, b, ..pair }))
            },
        };
        candidates.each(None, host, &mut judging)?;
        self.end(host);
        Ok(sorted)
    }

    /// Links pairs in order that do without differing details and can still change something.
    fn link<H: Host<File = F>>(
        &mut self,
        sorted: Sorted<F>,
        pair: impl Fn([u32; 3]) -> [u32; 2],
        links: &mut impl Links,
        host: &mut H,
    ) -> Result<()> {
        host.stage("grouping near pairs", "pairs", Some(sorted.count()));
        self.judge.alike.details = self.options.alike.details;
        let mut linking = Linking { links, waiting: Vec::new(), most: TOGETHER[0], counts: [0; 2], of: self };
        sorted.finish(|record| {
            host.step();
            linking.add(pair(record), host)
        })?;
        linking.link(host)?;
        let [compared, verified] = linking.counts;
        host.end(&format!("{compared} pairs compared, {verified} verified"));
        Ok(())
    }

    /// Divides what is connected into stars.
    fn divide<H: Host<File = F>>(
        &mut self,
        sets: &mut UnionFind,
        mut joined: Vec<(u32, u32)>,
        texts: &[u32],
        distance: u32,
        host: &mut H,
    ) -> Result<UnionFind> {
        host.stage("dividing groups", "pairs", None);
        joined.sort_unstable();
        let Rows { texts: contents, fps, decided, .. } = &mut *self.rows;
        stars(sets, &joined, texts, (fps, distance), decided, |a, b| {
            host.step();
            let pair = Pair { a: a.into(), b: b.into(), distance: 0 };
            self.judge.holds(pair, &mut |row| contents.content(row as usize), host)
        })
    }
}

/// Groups that pairs are linked into, in order.
trait Links {
    /// Whether a pair can change something.
    fn may_join(&mut self, pair: [u32; 2]) -> Result<bool>;

    /// Links a pair that can.
    fn join(&mut self, pair: [u32; 2]);
}

/// Sets of which some must not be joined, by the diameter, because that is decided, or for rows of one side.
struct Divided<'f> {
    sets: DiameterSets<'f>,
    /// Which sides rows of a set have, and those that only one row may have.
    has: Vec<u8>,
    once: u8,
    /// Of a set rows with which it must not be.
    apart: FxHashMap<u32, Vec<u32>>,
}

impl<'f> Divided<'f> {
    fn new<F>(mut sets: DiameterSets<'f>, rows: &Rows<F>, many: bool) -> Result<Divided<'f>> {
        let decided = &rows.decided;
        decided.followers().for_each(|[a, b]| sets.join(a, b));
        let mut apart = FxHashMap::default();
        for (text, others) in decided.divided() {
            apart.room(1)?;
            apart.insert(sets.find(text), others);
        }
        let mut has = filled(0, rows.first.len())?;
        for (&first, &side) in checked(rows.first.iter().zip(&rows.sides)) {
            has[sets.find(first) as usize] |= 1 << u8::from(side);
        }
        Ok(Divided { sets, has, once: if many { 1 } else { 3 }, apart })
    }
}

impl Links for Divided<'_> {
    fn may_join(&mut self, [a, b]: [u32; 2]) -> Result<bool> {
        let Divided { sets, has, once, apart } = self;
        let (x, y) = (sets.find(a), sets.find(b));
        if x == y || has[x as usize] & has[y as usize] & *once != 0 {
            return Ok(false);
        }
        let are_apart = match (apart.get(&x), apart.get(&y)) {
            (Some(few), Some(many)) if few.len() > many.len() => many.iter().any(|&it| sets.find(it) == x),
            (Some(few), Some(_)) => few.iter().any(|&it| sets.find(it) == y),
            _ => false,
        };
        Ok(!are_apart && sets.may_join(a, b)?)
    }

    fn join(&mut self, [a, b]: [u32; 2]) {
        let roots = [a, b].map(|row| self.sets.find(row));
        let both = roots.map(|root| self.apart.remove(&root));
        self.sets.join(a, b);
        self.has[self.sets.find(a) as usize] =
            roots.iter().fold(0, |all, &root| all | self.has[root as usize]);
        if let Some(all) = both.into_iter().flatten().reduce(|all, more| [all, more].concat()) {
            self.apart.insert(self.sets.find(a), all);
        }
    }
}

/// The row that is kept for each. Pairs come by the later of their rows: it repeats the first that is kept.
struct Keepers<'d> {
    of: Vec<u32>,
    decided: &'d Decided,
}

impl Keepers<'_> {
    fn over(mut of: Vec<u32>, decided: &Decided) -> Keepers<'_> {
        decided.followers().for_each(|[first, other]| of[other as usize] = first);
        Keepers { of, decided }
    }

    fn sets(&self, texts: &[u32]) -> UnionFind {
        let sets = UnionFind::new(self.of.len());
        checked(texts).for_each(|&text| {
            sets.union(self.of[text as usize], text);
        });
        sets
    }
}

impl Links for Keepers<'_> {
    fn may_join(&mut self, pair: [u32; 2]) -> Result<bool> {
        let is_kept = |row: &u32| self.of[*row as usize] == *row;
        Ok(pair.iter().all(is_kept) && self.decided.may_join(pair[1], pair[0], |row| self.of[row as usize]))
    }

    fn join(&mut self, [kept, row]: [u32; 2]) {
        self.of[row as usize] = kept;
    }
}

/// Groups of what is decided to be the same, and of equal rows.
fn of_units<F: Spill>(rows: &Rows<F>) -> UnionFind {
    let sets = UnionFind::new(rows.count());
    rows.decided.followers().for_each(|[first, other]| _ = sets.union(first, other));
    sets
}

/// The fewest and the most pairs that are compared together.
const TOGETHER: [usize; 2] = [64, 4096];

/// Pairs that are compared together, before it is known whether all of them matter.
struct Linking<'l, 'g, L, F: Spill> {
    links: &'l mut L,
    waiting: Vec<Pair>,
    /// How many are compared together. Among rows that are all near each other few of them matter, and then it is less.
    most: usize,
    /// Pairs that were compared, and those of them that are the same.
    counts: [usize; 2],
    of: &'l mut Grouping<'g, F>,
}

impl<L: Links, F: Spill> Linking<'_, '_, L, F> {
    fn add<H: Host>(&mut self, [a, b]: [u32; 2], host: &mut H) -> Result<()> {
        if self.links.may_join([a, b])? {
            self.waiting.grow(Pair { a: a.into(), b: b.into(), distance: 0 })?;
        }
        let most = if self.of.judge.alike.details.is_some() { self.most } else { 1 };
        if self.waiting.len() >= most { self.link(host) } else { Ok(()) }
    }

    fn link<H: Host>(&mut self, host: &mut H) -> Result<()> {
        let pairs = std::mem::take(&mut self.waiting);
        let Grouping { judge, rows, .. } = &mut *self.of;
        let verdicts = judge.same_details(&pairs, &mut |row| rows.texts.content(row as usize), host)?;
        self.counts[0] += pairs.len();
        self.counts[1] += verdicts.iter().filter(|same| **same).count();
        let mut wasted = 0;
        for (pair, same) in pairs.iter().zip(verdicts) {
            let pair = [pair.a as u32, pair.b as u32];
            if !self.links.may_join(pair)? {
                wasted += 1;
            } else if same {
                self.links.join(pair);
            }
        }
        let most = if 4 * wasted > pairs.len() { self.most / 2 } else { self.most * 2 };
        self.most = most.clamp(TOGETHER[0], TOGETHER[1]);
        Ok(())
    }
}

/// Groups the rows as records: each repeats the kept row that it is of one thing with most likely.
fn by_records<H: Host>(
    options: &Options,
    rows: &mut Rows<H::File>,
    texts: &[u32],
    host: &mut H,
) -> Result<(UnionFind, Option<Records>)> {
    let count = rows.count();
    host.stage("reading records", "rows", Some(count as u64));
    let mut words: Option<records::Rows> = None;
    for row in 0..count {
        host.step();
        // A copy has no columns of its own.
        if !rows.is_first(row) && !options.sides || rows.kinds[row] == Kind::Empty {
            words.iter_mut().for_each(records::Rows::add_empty);
            continue;
        }
        let content = rows.texts.content(row)?;
        let words = words.get_or_insert_with(|| records::Rows::new(records::columns(&content).count(), row));
        words.add(records::columns(&content));
    }
    let Some(mut words) = words else { return Ok((of_units(rows), None)) };
    words.of_sides(crate::memory::copy(&rows.sides)?);
    let known = options.alike.records().cloned();
    host.stage(
        if known.is_some() { "comparing records" } else { "learning weights and comparing records" },
        "rows",
        None,
    );
    let (records, pairs) = match known {
        None => Records::learn(words),
        Some(model) => {
            let records = Records::read(model, words);
            let pairs = records.pairs();
            (records, pairs)
        }
    };
    let least = options.alike.similarity;
    let decided = &rows.decided;
    let sets = match options.group {
        Group::Components if decided.divides() || options.sides => {
            let mut likely: Vec<(u32, [u32; 2])> = Vec::new();
            let see = |pair: [u32; 2], score: f64| {
                likely.grow((nearness(score), across(&rows.sides, pair).unwrap_or(pair))).or_raise();
            };
            records.likely(&pairs, least, see);
            sort_unstable_by(&mut likely, Ord::cmp);
            let fps = filled(0, count)?;
            let mut sets = Divided::new(DiameterSets::new(&fps, u64::BITS)?, rows, options.many)?;
            for &(_, pair) in checked(&likely) {
                let pair = pair.map(|row| rows.first[row as usize]);
                if sets.may_join(pair)? {
                    sets.join(pair);
                }
            }
            sets.sets.into_sets()
        }
        Group::Components => {
            let sets = of_units(rows);
            records.likely(&pairs, least, |[a, b], _| _ = sets.union(a, b));
            sets
        }
        Group::Star | Group::SinglePass => {
            let leading = texts.iter().copied().filter(|&text| !decided.follows(text));
            let may =
                |of: &[u32], [kept, row]: [u32; 2]| decided.may_join(row, kept, |text| of[text as usize]);
            let of = records.keepers(&pairs, &collect(leading)?, least, may);
            Keepers::over(of, decided).sets(texts)
        }
    };
    host.end(&format!("{} pairs compared", pairs.count()));
    Ok((sets, Some(records)))
}
