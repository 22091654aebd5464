//! The rows of a source: a few numbers of each in memory, beside [`Texts`] in a file.

use super::judge::{BATCH_BYTES, WORTH_THREADS};
use super::{Alike, Comparable, Decided, Decisions, EqualTexts, Keep, Options, Precedence, Texts};
use crate::external::{Host, Result, Spill, beside_threads};
use crate::fingerprint::hamming;
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Grow, collect, filled};
use std::borrow::Cow;

/// The order in which rows are kept.
#[derive(Debug, Default)]
pub struct Order {
    /// Which row of a group is kept.
    pub keep: Keep,
    /// The rank of each row, if `keep` does not know it by its number.
    pub ranks: Vec<i64>,
}

impl Order {
    /// Where a row stands: the least of a group is kept.
    pub fn precedence(&self, row: usize) -> Precedence {
        let number = row as i64;
        let rank = if self.keep.is_by_number() { self.keep.rank(number, 0) } else { None };
        (rank.or(self.ranks.get(row).copied()).unwrap_or(0), number)
    }

    /// The different texts of rows, each by the first row that has it: the one with the best row comes first. `first`: of each
    /// row the first one of equal text.
    pub fn of_texts(&self, first: &[u32]) -> Result<Vec<u32>> {
        let rows = first.iter().enumerate().map(|(row, &first)| (self.precedence(row), first));
        let mut rows: Vec<(Precedence, u32)> = collect(rows)?;
        sort_unstable_by(&mut rows, Ord::cmp);
        let mut placed = filled(false, first.len())?;
        let mut texts = Vec::new();
        for &(_, first) in checked(&rows) {
            if !std::mem::replace(&mut placed[first as usize], true) {
                texts.grow(first)?;
            }
        }
        Ok(texts)
    }
}

/// The rows of a pair, that of the first side first; `None`: they are of one side.
pub(super) fn across(sides: &[bool], [a, b]: [u32; 2]) -> Option<[u32; 2]> {
    match [a, b].map(|row| sides.get(row as usize)) {
        [None, _] | [Some(false), Some(true)] => Some([a, b]),
        [Some(true), Some(false)] => Some([b, a]),
        _ => None,
    }
}

/// All rows read so far.
#[derive(Debug, Default)]
pub struct Rows<F> {
    /// Their ids and contents.
    pub texts: Texts<F>,
    /// The names of the columns that are compared one by one.
    pub columns: Vec<String>,
    /// How each can be compared.
    pub kinds: Vec<Comparable>,
    /// The fingerprint of each, 0 if it has none; of a longer hash the first 64 bits. Only those of rows that are near others
    /// are compared by distance.
    pub fps: Vec<u64>,
    /// The other bits of longer hashes: so many parts of each row.
    rest: Vec<u64>,
    width: usize,
    /// The first row of equal content, once that is known.
    pub first: Vec<u32>,
    /// The side of each, if a group has at most one of each side: whether it is the second.
    pub sides: Vec<bool>,
    /// The order in which they are kept.
    pub order: Order,
    /// What people have decided of them.
    pub decisions: Decisions,
    /// The same of their texts, once equal ones are known.
    pub decided: Decided,
}

impl<F: Spill> Rows<F> {
    /// No rows yet.
    pub fn new(file: F, keep: Keep) -> Rows<F> {
        Rows {
            texts: Texts::new(file),
            columns: Vec::new(),
            kinds: Vec::new(),
            fps: Vec::new(),
            rest: Vec::new(),
            width: 0,
            first: Vec::new(),
            sides: Vec::new(),
            order: Order { keep, ranks: Vec::new() },
            decisions: Decisions::default(),
            decided: Decided::default(),
        }
    }

    /// How many rows there are.
    pub fn count(&self) -> usize {
        self.kinds.len()
    }

    /// Adds a row and returns its number.
    pub fn add(&mut self, id: &[u8], content: &str, kind: Comparable, fp: u64) -> Result<u32> {
        let number = self.count();
        self.texts.add(id, content)?;
        self.kinds.grow(kind)?;
        self.fps.grow(fp)?;
        self.first.grow(number as u32)?;
        Ok(number as u32)
    }

    /// Takes the other bits of the hash of the row that was added last, if it has one; `false` if other hashes have another
    /// length.
    pub fn add_rest(&mut self, rest: Option<&[u64]>) -> Result<bool> {
        let before = self.count() - 1;
        if let Some(rest) = rest.filter(|rest| rest.len() != self.width) {
            if self.kinds[..before].contains(&Comparable::Near) {
                return Ok(false);
            }
            self.width = rest.len();
            self.rest = filled(0, before * self.width)?;
        }
        match rest {
            Some(rest) => rest.iter().try_for_each(|part| self.rest.grow(*part))?,
            None => (0..self.width).try_for_each(|_| self.rest.grow(0))?,
        }
        Ok(true)
    }

    /// Parts of 64 bits of a hash.
    pub fn parts(&self) -> usize {
        1 + self.width
    }

    fn rest(&self, row: usize) -> &[u64] {
        &self.rest[row * self.width..][..self.width]
    }

    /// The whole hash of a row.
    pub fn hash(&self, row: usize) -> Vec<u64> {
        [&self.fps[row..=row], self.rest(row)].concat()
    }

    /// Takes a row's fingerprint.
    pub fn set_fp(&mut self, row: usize, fp: u64) {
        (self.fps[row], self.kinds[row]) = (fp, Comparable::Near);
    }

    /// Whether a row is the first of its content.
    pub fn is_first(&self, row: usize) -> bool {
        self.first[row] as usize == row
    }

    /// Whether a row has a fingerprint by which it is near others.
    pub fn has_fp(&self, row: usize) -> bool {
        self.kinds[row] == Comparable::Near
    }

    /// Has threads, one for each of `states`, make something of each different content, which `take` gets with it in their order.
    pub(super) fn each_first<H: Host<File = F>, S: Send, R: Send>(
        &mut self,
        states: &mut [S],
        host: &mut H,
        each: impl Fn(&mut S, &str) -> R + Sync,
        mut take: impl FnMut(usize, &str, R) -> Result<()>,
    ) -> Result<()> {
        let mut firsts = collect(self.firsts())?.into_iter();
        let (mut texts, mut next) = (Vec::<(usize, String)>::new(), Vec::new());
        loop {
            let read = &mut || {
                let mut bytes = 0;
                while bytes < BATCH_BYTES
                    && let Some(row) = firsts.next()
                {
                    let text = self.texts.content(row)?;
                    bytes += text.len();
                    next.grow((row, text))?;
                }
                Ok(())
            };
            let each = |state: &mut S, (_, text): &(usize, String)| each(state, text);
            let threads = if texts.len() < WORTH_THREADS { 1 } else { states.len() };
            let made = beside_threads(&texts, &mut states[..threads], host, each, read)?;
            for ((row, text), made) in texts.drain(..).zip(made) {
                host.step();
                take(row, &text, made)?;
            }
            std::mem::swap(&mut texts, &mut next);
            if texts.is_empty() {
                return Ok(());
            }
        }
    }

    /// The rows that are the first of their content and have something to compare.
    pub fn firsts(&self) -> impl Iterator<Item = usize> + '_ {
        checked(0..self.count()).filter(|&row| self.is_first(row) && self.kinds[row] != Comparable::Empty)
    }

    /// The distance of two rows, if both have a fingerprint.
    pub fn distance(&self, a: usize, b: usize) -> Option<u32> {
        let both = [a, b].iter().all(|&row| self.kinds[row] == Comparable::Near);
        let rest = || self.rest(a).iter().zip(self.rest(b)).map(|(&a, &b)| hamming(a, b)).sum::<u32>();
        both.then(|| hamming(self.fps[a], self.fps[b]) + rest())
    }

    /// Finds the first row of equal content for each, by the hashes of their contents. With `by_fp` rows whose
    /// fingerprints differ are not equal. Returns how many are copies.
    pub fn find_equal<H: Host>(
        &mut self,
        hashes: EqualTexts<F>,
        options: &Options,
        by_fp: bool,
        host: &mut H,
    ) -> Result<u64> {
        let Rows { texts, kinds, fps, first: firsts, .. } = self;
        let is_empty = |row: u32| kinds[row as usize] == Comparable::Empty;
        let mut form = |row: u32| {
            let content = texts.content(row as usize)?;
            Result::Ok(options.form(&content).map(Cow::into_owned).unwrap_or(content))
        };
        // A text with many copies is read once.
        let mut last: Option<(u32, String)> = None;
        let mut copies = 0;
        let equal = |first: u32, other: u32| {
            host.step();
            if is_empty(first) || is_empty(other) {
                return Ok(is_empty(first) && is_empty(other));
            }
            if by_fp && fps[first as usize] != fps[other as usize] {
                return Ok(false);
            }
            if last.as_ref().is_none_or(|last| last.0 != first) {
                last = Some((first, form(first)?));
            }
            let theirs = form(other)?;
            Ok(last.as_ref().is_some_and(|(_, text)| *text == theirs))
        };
        hashes.finish(equal, |first, copy| {
            if !is_empty(copy) {
                copies += 1;
                firsts[copy as usize] = first;
            }
            Ok(())
        })?;
        if !self.sides.is_empty() {
            copies = self.pair_copies(options.many)?;
        }
        self.decided = Decided::of(&self.decisions, &mut self.first)?;
        Ok(copies)
    }

    /// Of copies the first of one side is with the first of the other, the second with the second, or, if one may have `many`,
    /// with the first too. Returns how many are copies of another row then.
    pub(super) fn pair_copies(&mut self, many: bool) -> Result<u64> {
        let rows = self.first.iter().zip(&self.sides).zip(0..);
        let mut rows: Vec<(u32, bool, u32)> = collect(rows.map(|((&first, &side), row)| (first, side, row)))?;
        sort_unstable_by(&mut rows, Ord::cmp);
        let mut copies = 0;
        for same in checked(rows.chunk_by(|a, b| a.0 == b.0)) {
            let (a, b) = same.split_at(same.partition_point(|it| !it.1));
            same.iter().for_each(|it| self.first[it.2 as usize] = it.2);
            for (place, of_b) in b.iter().enumerate() {
                if let Some(of_a) = a.get(if many { 0 } else { place }) {
                    copies += 1;
                    self.first[of_b.2 as usize] = of_a.2;
                }
            }
        }
        Ok(copies)
    }

    /// Gives copies the fingerprint of the first of them; returns how many texts have one.
    pub fn share_fps(&mut self) -> u64 {
        let mut made = 0;
        for row in checked(0..self.count()) {
            let first = self.first[row] as usize;
            made += u64::from(first == row && self.kinds[row] == Comparable::Near);
            (self.fps[row], self.kinds[row]) = (self.fps[first], self.kinds[first]);
        }
        made
    }

    /// Bytes that comparing all of them takes beside the memory that is given for it.
    pub fn bytes_to_compare(&self, alike: &Alike) -> usize {
        if alike.similarity > 0.0 { self.count() * super::sets::BYTES_PER_ROW } else { 0 }
    }
}
