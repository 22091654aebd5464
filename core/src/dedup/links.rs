//! Groups that pairs are linked into, one after the other, by a rule that says which may join.

use super::decisions::Apart;
use super::{Decided, Judge, Texts};
use crate::external::{Host, Result, Spill};
use crate::groups::{DiameterSets, Pair, UnionFind};
use crate::interrupt::checked;
use crate::memory::{Grow, OfKey, filled};

/// Groups that pairs are linked into, in order.
pub(super) trait Links {
    /// Whether a pair can change something.
    fn may_join(&mut self, pair: [u32; 2]) -> Result<bool>;

    /// Links a pair that can.
    fn join(&mut self, pair: [u32; 2]);
}

/// Sets of which some must not be joined, by the diameter, because that is decided, or for rows of one side.
pub(super) struct Divided<'f> {
    pub near: DiameterSets<'f>,
    /// Which sides rows of a set have, and those that only one row may have.
    has: Vec<u8>,
    once: u8,
    apart: Apart,
}

impl<'f> Divided<'f> {
    /// Of rows whose `first` rows of equal content these are; with `many` several of the second side may be one.
    pub fn new(
        (fps, diameter): (&'f [u64], u32),
        decided: &Decided,
        first: &[u32],
        sides: &[bool],
        many: bool,
    ) -> Result<Divided<'f>> {
        let mut near = DiameterSets::new(fps, diameter)?;
        decided.followers().for_each(|[a, b]| near.join(a, b));
        let mut apart = Apart::default();
        for (text, others) in decided.divided() {
            *apart.0.of_key(near.sets.find(text))? = others;
        }
        let mut has = filled(0, first.len())?;
        for (&first, &side) in checked(first.iter().zip(sides)) {
            has[near.sets.find(first) as usize] |= 1 << u8::from(side);
        }
        Ok(Divided { near, has, once: if many { 1 } else { 3 }, apart })
    }
}

impl Links for Divided<'_> {
    fn may_join(&mut self, [a, b]: [u32; 2]) -> Result<bool> {
        let Divided { near, has, once, apart } = self;
        let (x, y) = (near.sets.find(a), near.sets.find(b));
        if x == y || has[x as usize] & has[y as usize] & *once != 0 {
            return Ok(false);
        }
        Ok(!apart.are(x, y, |row| near.sets.find(row)) && near.may_join(a, b)?)
    }

    fn join(&mut self, [a, b]: [u32; 2]) {
        let [x, y] = [a, b].map(|row| self.near.sets.find(row));
        self.near.join(a, b);
        let root = self.near.sets.find(a);
        self.has[root as usize] = self.has[x as usize] | self.has[y as usize];
        self.apart.join(x, y, root);
    }
}

/// The row that is kept for each. Pairs come by the later of their rows: it repeats the first that is kept.
pub(super) struct Keepers<'d> {
    of: Vec<u32>,
    decided: &'d Decided,
}

impl Keepers<'_> {
    /// So far each is kept, but for those that follow others.
    pub fn over(mut of: Vec<u32>, decided: &Decided) -> Keepers<'_> {
        decided.followers().for_each(|[first, other]| of[other as usize] = first);
        Keepers { of, decided }
    }

    pub fn sets(&self, texts: &[u32]) -> UnionFind {
        let sets = UnionFind::new(self.of.len());
        checked(texts).for_each(|&text| _ = sets.union(self.of[text as usize], text));
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

/// The fewest and the most pairs that are compared together.
const TOGETHER: [usize; 2] = [64, 4096];

/// Links pairs that do without differing details; some are compared together, before it is known whether all of them
/// matter.
pub(super) struct Linking<'l, L, F> {
    links: &'l mut L,
    judge: &'l mut Judge<F>,
    texts: &'l mut Texts<F>,
    waiting: Vec<Pair>,
    /// How many are compared together. Among rows that are all near each other few of them matter, and then it is less.
    most: usize,
    /// Pairs that were compared, and those of them that are the same.
    compared: usize,
    same: usize,
}

impl<'l, L: Links, F: Spill> Linking<'l, L, F> {
    pub fn new(links: &'l mut L, judge: &'l mut Judge<F>, texts: &'l mut Texts<F>) -> Linking<'l, L, F> {
        Linking { links, judge, texts, waiting: Vec::new(), most: TOGETHER[0], compared: 0, same: 0 }
    }

    /// Takes a pair if it can still change something.
    pub fn add<H: Host>(&mut self, [a, b]: [u32; 2], host: &mut H) -> Result<()> {
        if self.links.may_join([a, b])? {
            self.waiting.grow(Pair { a: a.into(), b: b.into(), distance: 0 })?;
        }
        let most = if self.judge.alike.details.is_some() { self.most } else { 1 };
        if self.waiting.len() >= most { self.link(host) } else { Ok(()) }
    }

    /// Links those that wait, and says how many there were in all.
    pub fn finish<H: Host>(mut self, host: &mut H) -> Result<()> {
        self.link(host)?;
        host.end(&format!("{} pairs compared, {} verified", self.compared, self.same));
        Ok(())
    }

    fn link<H: Host>(&mut self, host: &mut H) -> Result<()> {
        let pairs = std::mem::take(&mut self.waiting);
        let verdicts = self.judge.same_details(&pairs, self.texts, host)?;
        self.compared += pairs.len();
        let mut wasted = 0;
        for (pair, same) in pairs.iter().zip(verdicts) {
            let pair = [pair.a as u32, pair.b as u32];
            self.same += usize::from(same);
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
