//! The near stage of `dedup`: makes fingerprints, finds near pairs, verifies them on the text, and
//! groups them.

use super::ahead::making;
use super::input::{Input, standing};
use crate::groups::check_length;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spill::TempFile;
use crate::settings::{threads, within_memory_limit, work_memory};
use crate::table::Options;
use dedup_core::dedup::{Alike, BYTES_PER_SET, Group, Kind, Ranked, Verifier, nearness, stars};
use dedup_core::details::Comparer;
use dedup_core::external::{Result, on_threads};
use dedup_core::groups::{Connect, Linkage, Linker, Pair, Pairs, Settings, SharedSets, UnionFind};
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room};
use dedup_core::similarity::{SimilarPair, SimilarPairs};

/// Bytes of texts whose particulars are compared at a time.
const BATCH_BYTES: usize = 4 << 20;

/// Fingerprints the first row of each content that has none yet; copies take the fingerprint of the first.
pub(super) fn fingerprint(options: &Options, input: &mut Input, first_equal: &[u32], progress: &Progress) {
    let rows = input.rows();
    if options.fp.is_none() {
        progress.stage("making fingerprints", "rows", Some(rows as u64));
        let mut made = 0u64;
        making(&|| &options.recipe, &mut QueryHost::reporting(progress), |making| {
            for (row, &first) in first_equal.iter().enumerate() {
                progress.step();
                if first as usize == row && input.kinds[row] == Kind::Plain {
                    let content = input.content(row);
                    making.add(row, content, &mut |row, fp| input.near(row, fp));
                }
            }
            making.finish(&mut |row, fp| input.near(row, fp));
        });
        for (row, &first) in checked(first_equal.iter().enumerate()) {
            made += u64::from(first as usize == row && input.kinds[row] == Kind::Near);
        }
        progress.end(&format!("{made} fingerprints"));
    }
    for (row, &first) in first_equal.iter().enumerate() {
        (input.fps[row], input.kinds[row]) = (input.fps[first as usize], input.kinds[first as usize]);
    }
}

/// Groups the rows by their texts alone: every pair that is similar enough is found, whatever the fingerprints.
pub(super) fn group_by_text(
    options: &Options,
    input: &mut Input,
    first_equal: &[u32],
    progress: &Progress,
) -> (UnionFind, Verifying) {
    progress.stage("reading texts", "rows", Some(input.rows() as u64));
    let mut host = QueryHost::reporting(progress);
    let Alike { similarity, n, normal, .. } = options.alike;
    let memory = work_memory() / 2;
    let mut pairs = SimilarPairs::new(n, similarity, memory);
    for (row, &first) in first_equal.iter().enumerate() {
        progress.step();
        if first as usize == row && input.kinds[row] != Kind::Empty {
            let content = input.content(row);
            check_length(&row.to_string(), content.len());
            unwrap_or_raise(pairs.add(row as i64, &normal.form(&content), &mut host));
        }
    }
    // The order in which stars are made is that of what is kept; P4's is that of the rows.
    let ranks = std::mem::take(&mut input.ranks);
    let ranked = unwrap_or_raise(Ranked::new(first_equal, |row| match options.group {
        Group::Star => standing(&ranks, row, &options.keep),
        Group::Components | Group::SinglePass => (0, row as i64),
    }));
    input.ranks = ranks;
    // The similarity is known already.
    let alike = Alike { similarity: 0.0, ..options.alike };
    let rows = input.rows();
    let verifier = |alike| Verifier::new(alike, threads(), rows, work_memory(), TempFile::new());
    let (mut judging, done) = (verifier(alike), verifier(options.alike));
    progress.stage("finding similar texts", "pairs", None);
    let mut comparing = QueryHost::reporting(progress);
    let mut found = 0u64;
    if options.group == Group::Components {
        let mut sets = UnionFind::new(input.rows());
        let mut text = |row: u32| Some(input.content(row as usize));
        unwrap_or_raise(pairs.finish(&mut host, |SimilarPair { a, b, .. }| {
            found += 1;
            progress.step();
            let rows = [a as u32, b as u32];
            if sets.find(rows[0]) != sets.find(rows[1]) {
                let pair = Pair { a, b, distance: 0 };
                judging.add(pair, rows, &mut text, &mut comparing, |pair: Pair| {
                    sets.union(pair.a as u32, pair.b as u32);
                })?;
            }
            Ok(true)
        }));
        let join = |pair: Pair| {
            sets.union(pair.a as u32, pair.b as u32);
        };
        unwrap_or_raise(judging.finish(&mut text, &mut comparing, join));
        progress.end(&format!("{found} pairs of similarity {similarity}"));
        return (sets, done);
    }
    let mut linker = Linker::new(Linkage::SinglePass, memory, &mut host);
    unwrap_or_raise(pairs.finish(&mut host, |SimilarPair { a, b, similarity }| {
        found += 1;
        progress.step();
        linker.add(ranked.pair(a as u32, b as u32, nearness(similarity))).map(|()| true)
    }));
    progress.end(&format!("{found} pairs of similarity {similarity}"));
    progress.stage("grouping", "pairs", None);
    // Borrowed while `input` reads contents.
    let fps = std::mem::take(&mut input.fps);
    let places = unwrap_or_raise(linker.finish(&fps, &mut host, |host, pairs| {
        without_differences(&alike, pairs, host, |place| {
            progress.step();
            input.content(ranked.text(place) as usize)
        })
    }));
    input.fps = fps;
    (ranked.rows(places), done)
}

/// Verifies candidates by their contents.
pub(super) type Verifying = Verifier<Pair, TempFile>;

/// Groups the rows; rows of equal content are represented by the first of them. Returns the sets of n-grams too.
pub(super) fn group(
    options: &Options,
    (distance, diameter): (u32, Option<u32>),
    input: &mut Input,
    first_equal: &[u32],
    progress: &Progress,
) -> (UnionFind, Verifying) {
    let linkage = match (options.group, diameter) {
        (Group::Components, None) | (Group::Star, _) => None,
        (Group::Components, Some(diameter)) => Some(Linkage::Diameter(diameter)),
        (Group::SinglePass, _) => Some(Linkage::SinglePass),
    };
    // A pair farther apart than the diameter joins nothing.
    let distance = diameter.map_or(distance, |diameter| distance.min(diameter));
    let mut host = QueryHost::reporting(progress);
    let for_links = if linkage.is_some() { work_memory() / 4 } else { 0 };
    let settings = Settings { distance, memory: work_memory() - for_links, threads: threads() };
    let mut pairs = Pairs::new(settings);
    for (row, &first) in first_equal.iter().enumerate() {
        if first as usize == row && input.kinds[row] == Kind::Near {
            unwrap_or_raise(pairs.add(row as i64, input.fps[row], &mut host));
        }
    }
    // Particulars cost too much to look at before it is known whether a pair can still change its groups.
    let particulars = options.alike.particulars.filter(|_| linkage.is_none());
    let alike = Alike { particulars, ..options.alike };
    if alike.similarity > 0.0 {
        within_memory_limit(input.rows() * BYTES_PER_SET);
    }
    let verifier = Verifier::new(alike, threads(), input.rows(), work_memory(), TempFile::new());
    match linkage {
        None => {
            let (mut sets, mut verifier, mut joined) =
                connected(distance, pairs, verifier, input, &mut host, progress);
            if options.group == Group::Star {
                progress.stage("dividing groups", "pairs", None);
                joined.sort_unstable();
                // Borrowed while `input` reads contents.
                let (fps, ranks) = (std::mem::take(&mut input.fps), std::mem::take(&mut input.ranks));
                let verify = |a: u32, b: u32| {
                    progress.step();
                    verifier.holds([a, b], &mut |row| Some(input.content(row as usize)))
                };
                let standing = |row| standing(&ranks, row, &options.keep);
                sets = unwrap_or_raise(stars(
                    &mut sets,
                    &joined,
                    first_equal,
                    (&fps, distance),
                    standing,
                    verify,
                ));
                (input.fps, input.ranks) = (fps, ranks);
            }
            (sets, verifier)
        }
        Some(linkage) => {
            linked(options, distance, pairs, verifier, (linkage, for_links), input, &mut host, progress)
        }
    }
}

/// Verifies pairs and connects the rows of those that are verified.
struct Connecting<'c, 'p, T> {
    sets: &'c SharedSets,
    verifier: Verifying,
    /// The pairs that have connected rows.
    joined: Vec<(u32, u32)>,
    candidates: u64,
    text: T,
    /// A host of its own, because that of the search is in use.
    host: QueryHost<'p>,
    progress: &'p Progress,
}

/// Connects the rows of a pair; remembers the pair if they were not connected.
fn join(sets: &SharedSets, joined: &mut Vec<(u32, u32)>, pair: Pair) {
    let (a, b) = (pair.a as u32, pair.b as u32);
    if sets.union(a, b) {
        joined.room(1).or_raise();
        joined.push((a.min(b), a.max(b)));
    }
}

impl<T: FnMut(u32) -> Option<String>> Connect for Connecting<'_, '_, T> {
    fn take(&mut self, pair: Pair) -> Result<bool> {
        self.candidates += 1;
        self.progress.step();
        let rows = [pair.a as u32, pair.b as u32];
        // Rows that are connected already need no verification.
        if self.sets.find(rows[0]) != self.sets.find(rows[1]) {
            let Connecting { sets, verifier, joined, text, host, .. } = self;
            verifier.add(pair, rows, text, host, |pair| join(sets, joined, pair))?;
        }
        Ok(true)
    }

    fn settle(&mut self) -> Result<()> {
        let Connecting { sets, verifier, joined, text, host, .. } = self;
        verifier.finish(text, host, |pair| join(sets, joined, pair))
    }
}

/// Groups as connected components, with the pairs that connect them: the order of pairs does not matter, so they are
/// verified as they are found.
fn connected<'p>(
    distance: u32,
    pairs: Pairs<QueryHost<'p>>,
    verifier: Verifying,
    input: &mut Input,
    host: &mut QueryHost<'p>,
    progress: &'p Progress,
) -> (UnionFind, Verifying, Vec<(u32, u32)>) {
    progress.stage("finding near fingerprints and verifying them", "candidate pairs", None);
    let sets = SharedSets::new(0, input.rows());
    let mut connecting = Connecting {
        sets: &sets,
        verifier,
        joined: Vec::new(),
        candidates: 0,
        text: |row: u32| Some(input.content(row as usize)),
        host: QueryHost::reporting(progress),
        progress,
    };
    unwrap_or_raise(pairs.connect(&sets, host, &mut connecting));
    unwrap_or_raise(connecting.settle());
    let Connecting { verifier, joined, candidates, .. } = connecting;
    let (compared, verified) = verifier.counts();
    progress.end(&format!(
        "{candidates} candidate pairs within {distance} bits, {compared} compared, {verified} verified"
    ));
    (sets.into(), verifier, joined)
}

/// Groups by a rule that depends on the order of pairs: all pairs are found first.
#[allow(clippy::too_many_arguments)]
fn linked<'p>(
    options: &Options,
    distance: u32,
    pairs: Pairs<QueryHost<'p>>,
    mut verifier: Verifying,
    (linkage, memory): (Linkage, usize),
    input: &mut Input,
    host: &mut QueryHost<'p>,
    progress: &'p Progress,
) -> (UnionFind, Verifying) {
    progress.stage("finding near fingerprints", "candidate pairs", None);
    let mut linker = Linker::new(linkage, memory, host);
    let mut comparing = QueryHost::reporting(progress);
    let mut candidates = 0u64;
    let mut text = |row: u32| Some(input.content(row as usize));
    let mut link = |result: &mut Result<()>, pair| {
        if result.is_ok() {
            *result = linker.add(pair);
        }
    };
    unwrap_or_raise(pairs.finish(host, |pair| {
        candidates += 1;
        progress.step();
        let (rows, mut linked) = ([pair.a as u32, pair.b as u32], Ok(()));
        verifier.add(pair, rows, &mut text, &mut comparing, |pair| link(&mut linked, pair))?;
        linked.map(|()| true)
    }));
    let mut linked = Ok(());
    unwrap_or_raise(verifier.finish(&mut text, &mut comparing, |pair| link(&mut linked, pair)));
    unwrap_or_raise(linked);
    let (compared, verified) = verifier.counts();
    progress.end(&format!(
        "{candidates} candidate pairs within {distance} bits, {compared} compared, {verified} similar"
    ));
    let (mut linked, mut same) = (0u64, 0u64);
    // The linker borrows the fingerprints while `input` reads contents.
    let fps = std::mem::take(&mut input.fps);
    let sets = unwrap_or_raise(linker.finish(&fps, host, |host, pairs| {
        linked += pairs.len() as u64;
        let verdicts = without_differences(&options.alike, pairs, host, |row| {
            progress.step();
            input.content(row as usize)
        })?;
        same += verdicts.iter().filter(|&&same| same).count() as u64;
        Ok(verdicts)
    }));
    input.fps = fps;
    progress.end(&format!("{linked} pairs compared, {same} verified"));
    (sets, verifier)
}

/// Whether the texts of pairs do without differing particulars.
fn without_differences(
    alike: &Alike,
    pairs: &[(u32, u32)],
    host: &mut QueryHost<'_>,
    mut content: impl FnMut(u32) -> String,
) -> Result<Vec<bool>> {
    if alike.particulars.is_none() {
        return Ok(vec![true; pairs.len()]);
    }
    let (mut verdicts, mut texts, mut bytes) = (Vec::new(), Vec::new(), 0);
    for (at, &(a, b)) in pairs.iter().enumerate() {
        let both = (content(a), content(b));
        bytes += both.0.len() + both.1.len();
        texts.push(both);
        if bytes >= BATCH_BYTES || at + 1 == pairs.len() {
            let workers = if texts.len() < 16 { 1 } else { threads().max(1) };
            let mut comparers: Vec<Comparer> = (0..workers).map(|_| Comparer::default()).collect();
            let same = |comparer: &mut Comparer, (a, b): &(String, String)| !alike.differ(comparer, a, b);
            verdicts.extend(on_threads(&texts, &mut comparers, host, same)?);
            texts.clear();
            bytes = 0;
        }
    }
    Ok(verdicts)
}
