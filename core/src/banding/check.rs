//! Checking an index: the structure of its pages and their order.
//!
//! Locking: level by level, one shared lock at a time. A page is copied, then its children are read one by one. Children
//! that have split since are followed by their right links, up to where the copy says that the next child begins. A child
//! that is not the one that the copy states is read again as long as the tree still leads to it: it may have been
//! [recycled](super::recycle). So a check may run beside inserts and deletes, and
//! holds up neither. What compares different moments (pages nothing points to) needs an
//! index at rest, and is done only if asked for (`at_rest`).
//!
//! All damage is reported, and the check goes on with the next page. It terminates whatever the bytes are:
//! along a level the low keys only grow, and a level that cannot be walked further is abandoned, and reported.

use super::cursor::Cursor;
use super::descend::{Trace, WAYS, descend, retry};
use super::error::{Astray, Error, Result, Way, moved, sound};
use super::hot::{BucketState, second_levels, states};
use super::key::{BLOCKS, Position, Tid, Tree};
use super::leaf::{Leaf, NARROW};
use super::meta::{Index, METAPAGE};
use super::page::{Header, Kind, Separator, find_child, separator};
use super::ranges::Ranges;
use super::recycle::first_free;
use super::storage::Pages;

/// Damage that a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The page it was seen on; 0, the metapage, for what concerns a whole tree.
    pub block: u32,
    /// The tree, if the page could be told to belong to one.
    pub tree: Option<Tree>,
    /// What is wrong, as a clause without a full stop.
    pub what: String,
}

#[derive(Clone, Copy)]
struct Link {
    from: u32,
    to: u32,
}

/// Checks a whole index. `at_rest`: nobody changes it meanwhile. Calls `entry` for each entry of a tree, with whether its
/// bucket's second level is complete, and with locks held: it must not use the index.
pub fn check<P: Pages>(
    pages: &P,
    at_rest: bool,
    entry: impl FnMut(Tree, Position, bool),
) -> Result<Vec<Finding>> {
    let end = pages.len()?;
    let mut check = Check {
        pages,
        at_rest,
        entry,
        findings: Vec::new(),
        seen: crate::memory::filled(0, end as usize / 64 + 1)?,
        tree: Tree::NULLS,
        root: METAPAGE,
        states: vec![BucketState::Cold; 65536],
    };
    let index = match Index::open(pages) {
        Ok(index) => index,
        Err(error) => {
            check.note(None, error)?;
            return Ok(check.findings);
        }
    };
    check.see(METAPAGE);
    for i in 0..BLOCKS {
        let states = match states(pages, &index, i) {
            Ok(states) => states,
            Err(error) => {
                check.note(Some(Tree::main(i)), error)?;
                Vec::new()
            }
        };
        check.states.fill(BucketState::Cold);
        states.iter().for_each(|(bucket, state)| check.states[usize::from(*bucket)] = *state);
        for j in 0..4 {
            check.walk(&index, Tree::new(i, j))?;
        }
    }
    check.states.fill(BucketState::Cold);
    check.walk(&index, Tree::NULLS)?;
    if at_rest {
        for tree in Tree::all().chain([Tree::NULLS]) {
            check.free(tree)?;
        }
    }
    check.unreached(&index, end)?;
    Ok(check.findings)
}

struct Check<'a, P: Pages, E: FnMut(Tree, Position, bool)> {
    pages: &'a P,
    at_rest: bool,
    entry: E,
    findings: Vec<Finding>,
    /// A bit per page: whether it has been reached.
    seen: Vec<u64>,
    /// The tree that is walked, its root, and the states of its block's buckets.
    tree: Tree,
    root: u32,
    states: Vec<BucketState>,
}

impl<P: Pages, E: FnMut(Tree, Position, bool)> Check<'_, P, E> {
    /// Reports damage as a finding; passes on other errors.
    fn note(&mut self, tree: Option<Tree>, error: Error) -> Result<()> {
        let (block, what) = match error {
            Error::Corrupt { block, what } => (block, what.into_owned()),
            Error::Version { .. } | Error::Features(_) => (METAPAGE, error.to_string()),
            other => return Err(other),
        };
        self.findings.push(Finding { block, tree, what });
        Ok(())
    }

    fn find(&mut self, block: u32, tree: Tree, what: impl Into<String>) {
        self.findings.push(Finding { block, tree: Some(tree), what: what.into() });
    }

    /// Marks a page as reached; false if it was already.
    fn see(&mut self, block: u32) -> bool {
        let at = block as usize / 64;
        if self.seen.len() <= at {
            self.seen.resize(at + 1, 0);
        }
        let new = self.seen[at] >> (block % 64) & 1 == 0;
        self.seen[at] |= 1 << (block % 64);
        new
    }

    /// A tree, if it exists: its root, then level by level the children of all pages.
    fn walk(&mut self, index: &Index, tree: Tree) -> Result<()> {
        let Some(root) = index.root(tree) else { return Ok(()) };
        (self.tree, self.root) = (tree, root);
        let level = match self.top() {
            Ok(level) => level,
            Err(error) => return self.note(Some(tree), error),
        };
        for level in (1..=level).rev() {
            let (mut mark, mut link) = (Position::MIN, None);
            loop {
                self.pages.delay_point();
                match self.children(level, mark, &mut link) {
                    Ok(Some(high)) => mark = high,
                    Ok(None) => break,
                    Err(error) => {
                        self.note(Some(tree), error)?;
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// The root; returns its level.
    fn top(&mut self) -> Result<u8> {
        let (tree, root) = (self.tree, self.root);
        let body = self.pages.read(root)?;
        let header = Header::read_tree(root, &body, tree).map_err(Astray::damage)?;
        if !self.see(root) {
            self.find(root, tree, "the root is reached a second time");
        }
        if header.low != Position::MIN || header.high.is_some() || header.right != 0 {
            self.find(root, tree, "the root does not cover all keys");
        }
        if header.level == 0 {
            self.leaf(root, &body, header)?;
        }
        Ok(header.level)
    }

    /// Checks the page of `level` that covers `mark` and its children. Returns its high key. `link` is
    /// where the last child of the page before points to.
    fn children(&mut self, level: u8, mark: Position, link: &mut Option<Link>) -> Result<Option<Position>> {
        let (pages, tree, root) = (self.pages, self.tree, self.root);
        let page = retry(pages, || descend(pages, tree, root, level, mark, &mut Trace::new()))?;
        let (block, header, body) = (page.block, page.header, page.body[..page.header.used].to_vec());
        drop(page);
        let adjoins = header.level == level && header.low == mark;
        sound(adjoins, block, "the page does not begin where the one to its left ends")?;
        for n in 0..header.count {
            let ahead = n + self.pages.prefetch_distance();
            if ahead > n && ahead < header.count {
                self.pages.prefetch(separator(&body, ahead).child);
            }
            let own = separator(&body, n);
            let next = (n + 1 < header.count).then(|| separator(&body, n + 1));
            if n == 0 && own.low != header.low {
                self.find(block, tree, "the first separator is not the page's low key");
            }
            if next.is_some_and(|next| next.low <= own.low) {
                self.find(block, tree, format!("separators {n} and {} are not in order", n + 1));
            }
            let high = next.map_or(header.high, |next| Some(next.low));
            let mut child = self.child(own.child, level - 1, (own.low, high));
            for _ in 1..WAYS {
                if !matches!(child, Err(Astray::Moved { .. })) || self.at_rest {
                    break;
                }
                child = match self.stated(level, own, high)? {
                    Some(high) => self.child(own.child, level - 1, (own.low, high)),
                    None => Ok(None),
                };
            }
            *link = match child {
                Ok(right) => {
                    if right.is_some()
                        && let Some(left) = link
                        && left.to != own.child
                        && self.still_links(*left, own.low)?
                    {
                        self.find(own.child, tree, "the page to the left does not link here");
                    }
                    right
                }
                Err(astray) => {
                    self.note(Some(tree), astray.damage())?;
                    None
                }
            };
            if self.at_rest && high.is_none() && link.is_some_and(|link| link.to != 0) {
                self.find(own.child, tree, "the last page of a level links to another");
            }
        }
        Ok(header.high)
    }

    /// Where the child of a separator ends, as the tree states now; `None` if it has the separator no more.
    fn stated(&self, level: u8, of: Separator, stated: Option<Position>) -> Result<Option<Option<Position>>> {
        self.pages.delay_point();
        let page = match descend(self.pages, self.tree, self.root, level, of.low, &mut Trace::new()) {
            Ok(page) => page,
            // The walk along that level tells.
            Err(Astray::Moved { .. } | Astray::Failed(Error::Corrupt { .. })) => return Ok(Some(stated)),
            Err(astray) => return Err(astray.damage()),
        };
        let at = find_child(&page.body, page.header.count, of.low);
        let last = at + 1 == page.header.count;
        let high = if last { page.header.high } else { Some(separator(&page.body, at + 1).low) };
        Ok((separator(&page.body, at) == of).then_some(high))
    }

    /// Whether a page still ends at `low` and links where it did: it may have taken in the leaf to its right, and been split
    /// at the same place since.
    fn still_links(&self, left: Link, low: Position) -> Result<bool> {
        let body = self.pages.read(left.from)?;
        let now = Header::read_tree(left.from, &body, self.tree);
        Ok(self.at_rest || now.is_ok_and(|now| now.right == left.to && now.high == Some(low)))
    }

    /// A child, and what was split from it since the copy of its parent was made, which says what they cover.
    /// Returns the last one's right link, if that one ends where the child should.
    fn child(
        &mut self,
        mut block: u32,
        level: u8,
        (mut low, end): (Position, Option<Position>),
    ) -> Way<Option<Link>> {
        loop {
            self.pages.delay_point();
            sound(self.see(block) || !self.at_rest, block, "the page is reached a second time")?;
            let body = self.pages.read(block)?;
            let header = Header::read_tree(block, &body, self.tree)?;
            if header.level != level {
                let what = format!("level {} where {level} is expected", header.level);
                return moved(block, what);
            }
            let split = match (header.high, end) {
                (Some(high), Some(end)) => high < end,
                (high, end) => high.is_some() && end.is_none(),
            };
            if header.low != low || (header.high != end && (self.at_rest || !split)) {
                return moved(block, "the key range is not the one its parent states");
            }
            if level == 0 {
                self.leaf(block, &body, header)?;
            }
            match header.high {
                Some(high) if split && header.right != 0 => (block, low) = (header.right, high),
                high => return Ok((high == end).then_some(Link { from: block, to: header.right })),
            }
        }
    }

    fn leaf(&mut self, block: u32, body: &[u8], header: Header) -> Result<()> {
        let tree = header.tree;
        let leaf = Leaf::read(block, body, header)?;
        if !leaf.layout.covers(&header) {
            self.find(block, tree, NARROW);
        }
        let (mut outside, mut cold, mut no_row) = (0, 0, 0);
        for entry in leaf.iter() {
            outside += u32::from(!header.covers(entry));
            no_row += u32::from(!entry.tid.can_be_a_row());
            let state = self.states[usize::from(entry.bucket())];
            cold += u32::from(state == BucketState::Cold && tree.sub_block() > 0);
            (self.entry)(tree, entry, state == BucketState::Hot);
        }
        if outside > 0 {
            self.find(block, tree, format!("{outside} entries lie outside the page's key range"));
        }
        if no_row > 0 {
            self.find(block, tree, format!("{no_row} entries point to where no row can be"));
        }
        if cold > 0 && self.at_rest {
            self.find(block, tree, format!("{cold} entries belong to buckets without a second level"));
        }
        Ok(())
    }

    fn free(&mut self, tree: Tree) -> Result<()> {
        let mut block = first_free(&self.pages.read(METAPAGE)?, tree);
        while block != 0 {
            self.pages.delay_point();
            let header = match self.pages.read(block).and_then(|body| Header::read(block, &body)) {
                Ok(header) => header,
                Err(error) => return self.note(Some(tree), error),
            };
            let Some(header) = header.filter(|it| it.kind == Kind::Free && it.tree == tree) else {
                self.find(block, tree, "a page in the list of free ones is not free");
                return Ok(());
            };
            if !self.see(block) {
                self.find(block, tree, "the page is reached a second time");
                return Ok(());
            }
            block = header.right;
        }
        Ok(())
    }

    /// Pages no tree has led to.
    fn unreached(&mut self, index: &Index, end: u32) -> Result<()> {
        for block in 1..end {
            if self.seen[block as usize / 64] >> (block % 64) & 1 == 1 {
                continue;
            }
            let body = self.pages.read(block)?;
            match Header::read(block, &body) {
                Err(error) => self.note(None, error)?,
                Ok(None) => {}
                Ok(Some(h)) if matches!(h.kind, Kind::HotDirectory | Kind::HotStates) => {
                    if index.hot[h.tree.block()] == 0 && self.at_rest {
                        self.find(block, h.tree, "states of hot buckets that the metapage does not know of");
                    }
                }
                Ok(Some(h)) if self.at_rest => self.find(block, h.tree, "nothing leads to this page"),
                Ok(Some(_)) => {}
            }
            drop(body);
            if block % 64 == 0 {
                self.pages.delay_point();
            }
        }
        Ok(())
    }
}

impl Index {
    /// The first tree that ought to hold a row's entry and does not: a main tree, or one of the second
    /// level of a hot bucket that the row is in, or that of NULLs. For a row whose insert has returned.
    pub fn missing_from<P: Pages>(
        &self,
        pages: &P,
        scope: u32,
        fingerprint: Option<u64>,
        tid: Tid,
    ) -> Result<Option<Tree>> {
        let trees = match fingerprint {
            None => vec![Tree::NULLS],
            Some(fingerprint) => {
                let hot = second_levels(pages, self, fingerprint, |state| state == BucketState::Hot)?;
                (0..BLOCKS).map(Tree::main).chain(hot).collect()
            }
        };
        for tree in trees {
            let at = Position { scope, key: tree.key(fingerprint.unwrap_or(0)), tid };
            let Some(root) = self.root(tree) else { return Ok(Some(tree)) };
            let mut cursor = Cursor::new(pages, tree, root, Ranges::All);
            // One leaf, as a search reads it.
            if !cursor.seek(at)?.leaf()?.contains(at) {
                return Ok(Some(tree));
            }
        }
        Ok(None)
    }
}
