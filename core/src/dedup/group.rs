//! Groups of near rows: candidates are found and judged, and the pairs that are the same are linked by a rule.

use super::candidates::{Candidates, Judging, nearness};
use super::links::{Divided, Keepers, Linking, Links};
use super::rows::across;
use super::star::stars;
use super::{Comparable, Decided, Group, Judge, Limits, Method, Options, Order, Rows, Texts};
use crate::details::{Filler, Fillings, Statistics};
use crate::external::{Host, Result, Sorter};
use crate::groups::{Pair, PairSearch, UnionFind};
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Grow, collect, copy, filled};
use crate::records::{self, Records};
use std::sync::Arc;

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
pub fn group<H: Host>(
    options: &Options,
    rows: &mut Rows<H::File>,
    limits: Limits,
    host: &mut H,
) -> Result<Groups<H::File>> {
    let order = match options.group {
        Group::Star => rows.order.of_texts(&rows.first)?,
        // As P4 has it: as they come.
        Group::SinglePass => Order::default().of_texts(&rows.first)?,
        Group::Components => Vec::new(),
    };
    if options.group != Group::Components {
        rows.decided.order(&order);
    }
    match options.method {
        Method::Exact => Ok(Groups { sets: rows.decided.sets(rows.count()), judge: None, records: None }),
        Method::Records => by_records(options, rows, &order, (limits.threads, host)),
        Method::Fingerprint | Method::Text | Method::Hash => by_judge(options, rows, &order, limits, host),
    }
}

/// Groups the rows by candidates that are found by fingerprints or n-grams, and judged.
fn by_judge<H: Host>(
    options: &Options,
    rows: &mut Rows<H::File>,
    order: &[u32],
    limits: Limits,
    host: &mut H,
) -> Result<Groups<H::File>> {
    let is_chained = options.group == Group::Components;
    let by_text = options.method == Method::Text;
    // All pairs are found before the first is linked. Otherwise what is connected already need not be found.
    let is_bounded = options.diameter.is_some() || rows.decided.divides() || options.sides;
    // Stars are divided by 64 bits.
    let in_order = if is_chained { is_bounded } else { by_text || rows.parts() > 1 };
    let mut alike = options.alike.clone();
    if by_text {
        // The search for candidates has compared it.
        alike.similarity = 0.0;
    }
    if in_order {
        // They cost too much to look at before it is known whether a pair can still change its groups.
        alike.details = None;
    }
    let apart = apart(options, rows, limits.threads, host)?;
    let mut judge = Judge::new(alike, rows.count(), limits, host.file());
    judge.apart.clone_from(&apart);
    // A pair farther apart than the diameter joins nothing.
    let (most, diameter) = (options.distance.unwrap_or(u64::BITS), options.diameter.unwrap_or(u64::BITS));
    let distance = options.diameter.map_or(most, |diameter| most.min(diameter));
    let candidates = if by_text {
        Candidates::by_text(options, rows, apart, true, limits, host)?
    } else {
        let for_order = if in_order { limits.memory / 4 } else { 0 };
        let memory = limits.memory - for_order;
        let marks = apart.as_ref().map(|apart| apart.marks(rows.count())).transpose()?.flatten();
        Candidates::by_fingerprint(
            rows,
            marks,
            PairSearch { distance, memory, threads: limits.threads },
            host,
        )?
    };
    let Rows { texts, fps, first, sides, decided, .. } = rows;
    let mut grouping = Grouping { options, texts, sides, judge, host };
    let sets = if !in_order {
        let count = first.len();
        let sets = if is_chained { decided.sets(count) } else { UnionFind::new(count) };
        let joined = grouping.connect(candidates, &sets)?;
        if is_chained { sets } else { grouping.divide(sets, joined, order, (fps, distance), decided)? }
    } else if is_chained {
        let record = |pair: Pair| [pair.distance, pair.a as u32, pair.b as u32];
        let sorted = grouping.sort(candidates, record, limits.memory / 4)?;
        let mut sets = Divided::new((fps, diameter), decided, first, sides, options.many)?;
        grouping.link(sorted, |[_, a, b]| [a, b], &mut sets)?;
        sets.near.sets
    } else {
        let mut place = filled(u32::MAX, first.len())?;
        checked(order.iter().zip(0..)).for_each(|(&text, at)| place[text as usize] = at);
        let record = |pair: Pair| {
            let [a, b] = [pair.a, pair.b].map(|row| place[row as usize]);
            [a.max(b), pair.distance, a.min(b)]
        };
        let sorted = grouping.sort(candidates, record, limits.memory / 2)?;
        let mut keepers = Keepers::over(collect(0..first.len() as u32)?, decided);
        grouping.link(sorted, |[b, _, a]| [order[a as usize], order[b as usize]], &mut keepers)?;
        keepers.sets(order)
    };
    Ok(Groups { sets, judge: Some(grouping.judge), records: None })
}

/// How texts stand to the templates of the table, if that counts.
fn apart<H: Host>(
    options: &Options,
    rows: &mut Rows<H::File>,
    threads: usize,
    host: &mut H,
) -> Result<Option<Arc<Fillings>>> {
    let alike = &options.alike;
    let Some(Statistics { templates, .. }) = alike.statistics.as_deref() else { return Ok(None) };
    let mut fillings = Fillings::new(templates, alike.has_slots());
    if templates.count() == 0 {
        return Ok(Some(Arc::new(fillings)));
    }
    host.stage("reading what stands in slots", "rows", Some(rows.count() as u64));
    let mut fillers: Vec<Filler> = (0..threads.max(1)).map(|_| fillings.filler()).collect();
    let read = |filler: &mut Filler, text: &str| filler.read(&alike.plain(text));
    rows.each_first(&mut fillers, host, read, |row, _, filling| {
        filling.map_or(Ok(()), |it| fillings.add(row as u32, it))
    })?;
    Ok(Some(Arc::new(fillings)))
}

struct Grouping<'g, H: Host> {
    options: &'g Options,
    texts: &'g mut Texts<H::File>,
    sides: &'g [bool],
    judge: Judge<H::File>,
    host: &'g mut H,
}

/// Pairs in an order, three numbers each.
type Sorted<F> = Sorter<[u32; 3], F>;

impl<H: Host> Grouping<'_, H> {
    fn judge(
        &mut self,
        candidates: Candidates<H>,
        known: Option<&UnionFind>,
        wants: impl FnMut(Pair) -> bool,
        mut accept: impl FnMut(Pair) -> Result<()>,
    ) -> Result<()> {
        let (judge, texts) = (&mut self.judge, &mut *self.texts);
        let mut judging = Judging { judge, texts, found: 0, wants, accept: |pair, _| accept(pair) };
        candidates.each(known, self.host, &mut judging)?;
        let (found, Judge { compared, verified, .. }) = (judging.found, &self.judge);
        let of = match (self.options.method, self.options.distance) {
            (Method::Fingerprint | Method::Hash, Some(distance)) => {
                format!("candidate pairs within {distance} bits")
            }
            _ => format!("pairs of similarity {}", self.options.alike.similarity),
        };
        self.host.end(&format!("{found} {of}, {compared} compared, {verified} verified"));
        Ok(())
    }

    /// Joins the sets of pairs that are the same, and returns those that did.
    fn connect(&mut self, candidates: Candidates<H>, sets: &UnionFind) -> Result<Vec<(u32, u32)>> {
        self.host.stage("finding near fingerprints and verifying them", "candidate pairs", None);
        let mut joined = Vec::new();
        let wants = |pair: Pair| sets.find(pair.a as u32) != sets.find(pair.b as u32);
        self.judge(candidates, Some(sets), wants, |pair| {
            if sets.union(pair.a as u32, pair.b as u32) {
                joined.grow((pair.a as u32, pair.b as u32))?;
            }
            Ok(())
        })?;
        Ok(joined)
    }

    /// All pairs, as far as they are judged yet, in the order of their records.
    fn sort(
        &mut self,
        candidates: Candidates<H>,
        record: impl Fn(Pair) -> [u32; 3],
        memory: usize,
    ) -> Result<Sorted<H::File>> {
        let stage = match self.options.method {
            Method::Text => "finding similar texts",
            _ => "finding near fingerprints",
        };
        self.host.stage(stage, "candidate pairs", None);
        let mut sorted = Sorter::new(memory, self.host.file());
        let sides = self.sides;
        let of_sides = |pair: Pair| across(sides, [pair.a, pair.b].map(|row| row as u32));
        self.judge(
            candidates,
            None,
            |pair| of_sides(pair).is_some(),
            |pair| {
                let [a, b] = of_sides(pair).map_or([pair.a, pair.b], |rows| rows.map(i64::from));
                sorted.add(record(Pair { a, b, ..pair }))
            },
        )?;
        Ok(sorted)
    }

    /// Links pairs in order that do without differing details and can still change something.
    fn link(
        &mut self,
        sorted: Sorted<H::File>,
        pair: impl Fn([u32; 3]) -> [u32; 2],
        links: &mut impl Links,
    ) -> Result<()> {
        self.host.stage("grouping near pairs", "pairs", Some(sorted.count()));
        self.judge.alike.details = self.options.alike.details;
        let mut linking = Linking::new(links, &mut self.judge, self.texts);
        sorted.finish(|record| {
            self.host.step();
            linking.add(pair(record), self.host)
        })?;
        linking.finish(self.host)
    }

    /// Divides what is connected into stars.
    fn divide(
        &mut self,
        mut sets: UnionFind,
        mut joined: Vec<(u32, u32)>,
        order: &[u32],
        near: (&[u64], u32),
        decided: &Decided,
    ) -> Result<UnionFind> {
        self.host.stage("dividing groups", "pairs", None);
        joined.sort_unstable();
        stars(&mut sets, &joined, order, near, decided, |a, b| {
            self.host.step();
            self.judge.holds(Pair { a: a.into(), b: b.into(), distance: 0 }, self.texts, self.host)
        })
    }
}

/// Groups the rows as records: each repeats the kept row that it is of one thing with most likely.
fn by_records<H: Host>(
    options: &Options,
    rows: &mut Rows<H::File>,
    order: &[u32],
    (threads, host): (usize, &mut H),
) -> Result<Groups<H::File>> {
    let count = rows.count();
    host.stage("reading records", "rows", Some(count as u64));
    let mut words: Option<records::Rows> = None;
    for row in 0..count {
        host.step();
        // A copy has no columns of its own.
        if !rows.is_first(row) && !options.sides || rows.kinds[row] == Comparable::Empty {
            words.iter_mut().for_each(records::Rows::add_empty);
            continue;
        }
        let content = rows.texts.content(row)?;
        let words = words.get_or_insert_with(|| records::Rows::new(records::columns(&content).count(), row));
        words.add(records::columns(&content));
    }
    let Some(mut words) = words else {
        return Ok(Groups { sets: rows.decided.sets(rows.count()), judge: None, records: None });
    };
    words.of_sides(copy(&rows.sides)?);
    let (mut records, pairs) = if let Some(model) = options.alike.records() {
        host.stage("comparing records", "rows", None);
        let records = Records::read(Arc::clone(model), words);
        let pairs = records.pairs(threads, host)?;
        (records, pairs)
    } else {
        host.stage("learning weights and comparing records", "rows", None);
        Records::learn(words, threads, host)?
    };
    let least = options.alike.similarity;
    let decided = &rows.decided;
    let sets = match options.group {
        Group::Components if decided.divides() || options.sides => {
            let record = |(pair, score)| (nearness(score), across(&rows.sides, pair).unwrap_or(pair));
            let likely = records.likely(&pairs, least, threads, host)?.into_iter().map(record);
            let mut likely: Vec<(u32, [u32; 2])> = collect(likely)?;
            sort_unstable_by(&mut likely, Ord::cmp);
            let fps = filled(0, count)?;
            let mut sets = Divided::new((&fps, u64::BITS), decided, &rows.first, &rows.sides, options.many)?;
            for &(_, pair) in checked(&likely) {
                let pair = pair.map(|row| rows.first[row as usize]);
                if sets.may_join(pair)? {
                    sets.join(pair);
                }
            }
            sets.near.sets
        }
        Group::Components => {
            let sets = decided.sets(count);
            let likely = records.likely(&pairs, least, threads, host)?;
            likely.into_iter().for_each(|([a, b], _)| _ = sets.union(a, b));
            sets
        }
        Group::Star | Group::SinglePass => {
            let leading = order.iter().copied().filter(|&text| !decided.follows(text));
            let may =
                |of: &[u32], [kept, row]: [u32; 2]| decided.may_join(row, kept, |text| of[text as usize]);
            let (of, unsure) = records.keepers(&pairs, &collect(leading)?, least, (threads, host), may)?;
            records.unsure = unsure;
            Keepers::over(of, decided).sets(order)
        }
    };
    host.end(&format!("{} pairs compared", pairs.count()));
    Ok(Groups { sets, judge: None, records: Some(records) })
}
