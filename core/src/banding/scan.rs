//! Range search: all rows within a distance, each once, and the scan of all rows.
//!
//! A search is a list of *legs*, each a set of key ranges in one tree. Within a leg the leaves are read
//! in ascending order, each once and completely: the entries that pass the leg's filter are reported, and the
//! leg goes on with its first bucket at or above the leaf's high key. The filter assigns each row to exactly
//! one leg: the first block whose radius covers it (and in a hot bucket, the first sub-block that is equal).
//! So no set of rows seen is kept, and a search needs no memory but its mark. One shared lock is held at a
//! time ([`cursor`](super::cursor)), and no lock or pin between batches.

use super::cursor::Cursor;
use super::descend::Locked;
use super::error::{Result, sound};
use super::hot::{self, BucketState};
use super::key::{BLOCKS, Position, Tid, Tree};
use super::meta::Index;
use super::ranges::{Filter, Ranges};
use super::schedule::{MAX_DISTANCE, Radii, Shell, buckets_within, leaves_read, radii};
use super::storage::Pages;
use std::ops::Deref;

/// The damage of an entry whose tid cannot be that of a row.
pub(crate) const NO_ROW: &str = "an entry points to where no row can be";

/// A row found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hit {
    /// Bits in which the fingerprint differs from the query's, 0 to 64.
    pub distance: u32,
    /// The row.
    pub tid: Tid,
    /// Its fingerprint.
    pub fingerprint: u64,
}

impl<B: Deref<Target = [u8]>> Locked<B> {
    /// Calls `found` with the rows of the scope, or of all, within `distance` of `query`, from `first` to `last`, that the
    /// filter lets through.
    pub(crate) fn hits(
        &self,
        (scope, query, distance): (Option<u32>, u64, u32),
        filter: Filter,
        (first, last): (Position, Position),
        mut found: impl FnMut(Hit),
    ) -> Result<()> {
        let (tree, mut rows) = (self.header.tree, true);
        let key = tree.key(query);
        self.leaf()?.near(scope, key, distance, |entry| {
            let diff = tree.fingerprint(entry.key ^ key);
            if filter.lets_through(diff) && entry >= first && entry <= last {
                rows &= entry.tid.can_be_a_row();
                found(Hit { distance: diff.count_ones(), tid: entry.tid, fingerprint: query ^ diff });
            }
        });
        sound(rows, self.block, NO_ROW)
    }
}

#[derive(Debug, Clone, Copy)]
struct Leg {
    tree: Tree,
    ranges: Ranges,
    filter: Filter,
}

/// A range search in progress. It holds no lock and no pin; between two calls the index may change in
/// any way. What was there when the search began and is not deleted meanwhile is reported exactly once.
#[derive(Debug, Clone)]
pub struct RangeScan {
    index: Index,
    /// The scope searched; without one in an index that has scopes, all of them are.
    scope: Option<u32>,
    query: u64,
    least: u32,
    distance: u32,
    legs: Vec<Leg>,
    leg: usize,
    mark: Position,
    state: State,
    reads: u64,
    /// An estimate of the leaves of the tree read last.
    leaves: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The legs are not chosen yet.
    New,
    /// They may still be replaced by one scan of a whole tree.
    Planned,
    Running,
}

impl RangeScan {
    /// A search for the rows within `distance` of `fingerprint`. Distances above 64 are clamped to 64.
    pub fn new(index: &Index, fingerprint: u64, distance: u32) -> Self {
        Self::between(index, fingerprint, 0, distance)
    }

    /// A search for the rows at `least` to `distance` from `fingerprint`.
    pub(crate) fn between(index: &Index, fingerprint: u64, least: u32, distance: u32) -> Self {
        RangeScan {
            index: *index,
            scope: index.whole_scope(),
            query: fingerprint,
            least,
            distance: distance.min(MAX_DISTANCE),
            legs: Vec::new(),
            leg: 0,
            mark: Position::MIN,
            state: State::New,
            reads: 0,
            leaves: None,
        }
    }

    /// The same in one scope only.
    #[must_use]
    pub fn in_scope(mut self, scope: Option<u32>) -> Self {
        self.scope = scope.or(self.scope);
        self
    }

    /// The rows of a scope, or of all, that have no fingerprint: those of a leaf in order of their tids, so that the table is
    /// read in order.
    pub fn nulls(index: &Index, scope: Option<u32>) -> Self {
        let mut scan = Self::new(index, 0, 0).in_scope(scope);
        scan.read(Tree::NULLS, Ranges::of(scan.scope), Filter::Any);
        scan
    }

    /// The same, always by reading one whole tree, or the scope's part of it.
    pub(crate) fn whole(mut self) -> Self {
        self.read_whole();
        self
    }

    fn read_whole(&mut self) {
        self.read(Tree::main(0), Ranges::of(self.scope), Filter::Any);
    }

    /// The same, but of block `i` only the shell at its radius, and rows that no smaller radii reach.
    pub(crate) fn of_shell(mut self, i: usize, radii: Radii) -> Self {
        let (tree, radius) = (Tree::main(i), radii[i] as u32);
        let shell = Shell { center: tree.bucket(self.query), lo: radius, hi: radius };
        self.read(tree, Ranges::Buckets(self.scope.unwrap_or_default(), shell), Filter::Shell(i, radii));
        self
    }

    fn read(&mut self, tree: Tree, ranges: Ranges, filter: Filter) {
        self.legs = vec![Leg { tree, ranges, filter }];
        self.state = State::Running;
    }

    /// All rows of the scopes from one to another, by reading that part of one tree.
    pub(crate) fn of_scopes(index: &Index, fingerprint: u64, first: u32, last: u32) -> Self {
        let mut scan = Self::new(index, fingerprint, MAX_DISTANCE);
        scan.read(Tree::main(0), Ranges::Scopes(first, last), Filter::Any);
        scan
    }

    /// Appends hits until there are `enough` of them or more (a leaf is always finished, so at most a
    /// page's entries more), or no more rows. Returns whether more may follow; after `false`, further
    /// calls append nothing.
    pub fn next_batch<P: Pages>(&mut self, pages: &P, enough: usize, hits: &mut Vec<Hit>) -> Result<bool> {
        if self.state == State::New {
            self.plan(pages)?;
        }
        let enough = enough.max(1);
        let wanted = hits.len().saturating_add(enough);
        let mut announced = self.announce(pages)?.into_iter();
        while let Some(leg) = self.legs.get(self.leg).copied() {
            let mut cursor = announced.next().map_or_else(|| self.cursor(pages, leg), Ok)?;
            let finished = self.walk(&mut cursor, leg, wanted, hits);
            self.reads += cursor.reads;
            self.leaves = cursor.leaves;
            drop(cursor);
            match finished? {
                Walk::Enough => return Ok(true),
                Walk::Replanned => announced = Vec::new().into_iter(),
                Walk::Done => {
                    self.leg += 1;
                    self.mark = Position::MIN;
                    pages.delay_point();
                }
            }
        }
        Ok(false)
    }

    /// The cursors of a scan that begins, whose first leaves are announced: a narrow search wants one of each tree.
    fn announce<'p, P: Pages>(&self, pages: &'p P) -> Result<Vec<Cursor<'p, P>>> {
        let begins = self.leg == 0 && self.mark == Position::MIN;
        if !begins || self.legs.len() < 2 || pages.prefetch_distance() == 0 {
            return Ok(Vec::new());
        }
        let announced = self.legs.iter().map(|leg| {
            let mut cursor = self.cursor(pages, *leg)?;
            if let Some(target) = leg.ranges.next(Position::MIN) {
                cursor.announce(target)?;
            }
            Ok(cursor)
        });
        announced.collect()
    }

    fn cursor<'p, P: Pages>(&self, pages: &'p P, leg: Leg) -> Result<Cursor<'p, P>> {
        Ok(Cursor::new(pages, leg.tree, self.index.root_of(leg.tree)?, leg.ranges))
    }

    /// Lowers the distance of the rest of the scan; for a scan of a whole tree or a shell.
    pub(crate) fn narrow(&mut self, distance: u32) {
        self.distance = self.distance.min(distance);
    }

    /// Pages locked so far.
    pub fn pages_read(&self) -> u64 {
        self.reads
    }

    /// An estimate of the leaves of the tree read last.
    pub(crate) fn leaves(&self) -> Option<f64> {
        self.leaves
    }

    /// Reads the wanted leaves of a leg from the mark on.
    fn walk<P: Pages>(
        &mut self,
        cursor: &mut Cursor<'_, P>,
        leg: Leg,
        wanted: usize,
        hits: &mut Vec<Hit>,
    ) -> Result<Walk> {
        while let Some(target) = leg.ranges.next(self.mark) {
            let page = cursor.seek(target)?;
            if self.state == State::Planned {
                self.state = State::Running;
                // Nothing is reported yet, and now the size of the tree is known.
                if cursor.leaves.is_some_and(|leaves| self.leaves_wanted(leaves) >= leaves) {
                    self.read_whole();
                    return Ok(Walk::Replanned);
                }
            }
            let (first, last) = leg.ranges.within().unwrap_or((Position::MIN, Position::MAX));
            let (least, distance, first) = (self.least, self.distance, self.mark.max(first));
            let before = hits.len();
            page.hits((self.scope, self.query, distance), leg.filter, (first, last), |hit| {
                if hit.distance >= least {
                    hits.push(hit);
                }
            })?;
            if leg.tree == Tree::NULLS {
                hits[before..].sort_unstable();
            }
            match page.high() {
                None => return Ok(Walk::Done),
                Some(high) => self.mark = high,
            }
            if hits.len() >= wanted {
                return Ok(Walk::Enough);
            }
        }
        Ok(Walk::Done)
    }

    /// Chooses the legs: one per block that is probed, four for a hot bucket.
    fn plan<P: Pages>(&mut self, pages: &P) -> Result<()> {
        let radii = radii(self.distance);
        let Some(scope) = self.scope else {
            self.read_whole();
            return Ok(());
        };
        self.state = State::Planned;
        self.legs.clear();
        for i in (0..BLOCKS).filter(|i| radii[*i] >= 0) {
            let tree = Tree::main(i);
            let key = tree.key(self.query);
            let center = (key >> 48) as u16;
            if self.distance <= 3 && hot::state(pages, &self.index, i, center)? == BucketState::Hot {
                self.legs.extend((0..4).map(|j| Leg {
                    tree: Tree::new(i, j),
                    ranges: Ranges::Prefix(Tree::new(i, j).key(self.query) >> 36),
                    filter: Filter::FirstSubBlock(i, j),
                }));
                // Reading a whole tree could then only be slower.
                self.state = State::Running;
            } else {
                let shell = Shell { center, lo: 0, hi: radii[i] as u32 };
                let filter = Filter::FirstBlock(i, radii);
                self.legs.push(Leg { tree, ranges: Ranges::Buckets(scope, shell), filter });
            }
        }
        Ok(())
    }

    /// Leaves that the planned legs read, were all trees of `leaves` leaves.
    fn leaves_wanted(&self, leaves: f64) -> f64 {
        radii(self.distance).iter().map(|r| leaves_read(leaves, buckets_within(0, *r))).sum()
    }
}

enum Walk {
    Enough,
    Done,
    Replanned,
}

impl Index {
    /// The only scope of an index without scopes.
    pub(crate) fn whole_scope(&self) -> Option<u32> {
        (!self.scoped).then_some(0)
    }
}
