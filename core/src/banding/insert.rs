//! Inserting a row: into the four main trees, then into the second level of its hot buckets.
//!
//! Locking: the usual insert couples shared locks down to level 1 and locks the leaf exclusively
//! while its parent is still locked shared; the parent is released as soon as the leaf is held. A root that is
//! a leaf is locked exclusively and read again. When the leaf is full the insert releases everything and
//! descends again with exclusive locks, at most a parent, its child and new pages at a
//! time, splitting each full inner page it meets, so that the parent it holds always has room for
//! one more separator. Top-down, hence no deadlock.
//!
//! WAL: an append is one record of one page, some tens of bytes. A split is one record of three
//! pages: parent, left half, new right half (or, for the root, which keeps its block number: root and
//! two new halves). There is no half-split state. A crash between extending and committing leaves a
//! zero page that nothing points to. The four trees are written one after the other, each
//! recoverable on its own: an entry missing from some of them belongs to a row whose insert never
//! returned, hence never committed.

use super::error::{Result, corrupt};
use super::hot::{self, BucketState};
use super::key::{BLOCKS, Position, Tid, Tree};
use super::leaf::{Leaf, Plan, leaf_image, plan_insert};
use super::meta::Index;
use super::page::{
    HEADER, Header, Kind, MAX_LEVEL, RIGHT_LINK, SEPARATOR, Separator, USED_AND_COUNT, find_child,
    inner_image, put, separator, used_and_count,
};
use super::storage::{Change, Edit, Pages, WritePage};

/// Descents of one insert, at most. Each but the last found its leaf full and split it or saw it split; more
/// than a few mean that a race was lost each time.
const MAX_DESCENTS: usize = 10_000;

impl Index {
    /// Adds a row without a fingerprint.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn insert_null<P: Pages>(&self, pages: &P, tid: Tid) -> Result<()> {
        insert_into(pages, self, Tree::NULLS, 0, tid, false)?;
        Ok(())
    }

    /// Adds a row. Every search that begins after this returns finds it.
    ///
    /// # Errors
    /// Damaged pages, or what the storage fails with. The row is then in some of the trees; a
    /// `bulk_delete` that names its tid removes what is there.
    pub fn insert<P: Pages>(&self, pages: &P, fingerprint: u64, tid: Tid) -> Result<()> {
        for i in 0..BLOCKS {
            insert_into(pages, self, Tree::main(i), fingerprint, tid, false)?;
        }
        // After the main trees, and from the metapage as it is now: see `hot` for why.
        let index = Index::open(pages)?;
        for i in 0..BLOCKS {
            if index.hot[i] == 0 {
                continue;
            }
            let bucket = (Tree::main(i).key(fingerprint) >> 48) as u16;
            if hot::state(pages, &index, i, bucket)? != BucketState::Cold {
                for j in 1..4 {
                    insert_into(pages, &index, Tree::new(i, j), fingerprint, tid, true)?;
                }
            }
        }
        Ok(())
    }
}

/// Adds an entry to one tree; with `if_absent`, only if that very entry is not there. Returns whether it
/// was added.
pub(crate) fn insert_into<P: Pages>(
    pages: &P,
    index: &Index,
    tree: Tree,
    fingerprint: u64,
    tid: Tid,
    if_absent: bool,
) -> Result<bool> {
    let Some(root) = index.root(tree) else {
        return corrupt(super::meta::METAPAGE, format!("the {tree} has no root"));
    };
    let entry = Position { key: tree.key(fingerprint), tid };
    for _ in 0..MAX_DESCENTS {
        match append(pages, tree, root, entry, if_absent)? {
            Some(added) => return Ok(added),
            None => make_room(pages, tree, root, entry)?,
        }
        pages.delay_point();
    }
    corrupt(root, "splitting leaves makes no room for an entry")
}

/// The usual insert. `None` if the leaf is full.
fn append<P: Pages>(
    pages: &P,
    tree: Tree,
    root: u32,
    entry: Position,
    if_absent: bool,
) -> Result<Option<bool>> {
    let mut leaf = lock_leaf(pages, tree, root, entry)?;
    let header = Header::expect(leaf.block(), &leaf, tree, 0, entry)?;
    let plan = {
        let view = Leaf::read(leaf.block(), &leaf, header)?;
        if !view.layout.covers(&header) {
            return corrupt(leaf.block(), "the entries' keys are narrower than the page's key range");
        }
        if if_absent && view.contains(entry) {
            return Ok(Some(false));
        }
        plan_insert(&view, entry, pages.body_len())
    };
    match plan {
        Plan::Split => return Ok(None),
        Plan::Append { at, entry, width, counts } => {
            let patches: [(usize, &[u8]); 2] = [(at, &entry[..width]), (USED_AND_COUNT, &counts)];
            let change = Change::Patch(&patches);
            pages.commit(&mut [Edit { page: &mut leaf, change, fresh: false }])?;
        }
        Plan::Repack(image) => {
            let change = Change::Image(&image);
            pages.commit(&mut [Edit { page: &mut leaf, change, fresh: false }])?;
        }
    }
    Ok(Some(true))
}

/// Descends with shared locks to the leaf that covers `entry` and locks it exclusively.
fn lock_leaf<P: Pages>(pages: &P, tree: Tree, root: u32, entry: Position) -> Result<P::Write<'_>> {
    loop {
        let mut block = root;
        let mut body = pages.read(block)?;
        let mut header = Header::read_tree(block, &body, tree)?;
        if header.level == 0 {
            drop(body);
            let leaf = pages.lock(root)?;
            // It may have been split meanwhile. Once inner, a root stays inner: no second retry.
            match Header::read_tree(root, &leaf, tree)?.level {
                0 => return Ok(leaf),
                _ => continue,
            }
        }
        if header.level > MAX_LEVEL || !header.covers(entry) {
            return corrupt(root, "the root does not cover all keys");
        }
        loop {
            let child = separator(&body, find_child(&body, header.count, entry)).child;
            if child == block {
                return corrupt(block, "a separator points to its own page");
            }
            if header.level == 1 {
                return pages.lock(child);
            }
            let child_body = pages.read(child)?;
            header = Header::expect(child, &child_body, tree, header.level - 1, entry)?;
            (block, body) = (child, child_body);
        }
    }
}

/// Descends with exclusive locks and splits what is full, down to and including the leaf.
fn make_room<P: Pages>(pages: &P, tree: Tree, root: u32, entry: Position) -> Result<()> {
    let mut parent = pages.lock(root)?;
    let header = Header::read_tree(root, &parent, tree)?;
    if header.level > MAX_LEVEL || !header.covers(entry) {
        return corrupt(root, "the root does not cover all keys");
    }
    if let Some(halves) = split(pages, root, &parent, header, entry)? {
        split_root(pages, &mut parent, header, halves)?;
    }
    loop {
        let (block, header) = (parent.block(), Header::read_tree(parent.block(), &parent, tree)?);
        if header.level == 0 {
            return Ok(());
        }
        let at = find_child(&parent, header.count, entry);
        let child_block = separator(&parent, at).child;
        if child_block == block {
            return corrupt(block, "a separator points to its own page");
        }
        let mut child = pages.lock(child_block)?;
        let child_header = Header::expect(child_block, &child, tree, header.level - 1, entry)?;
        match split(pages, child_block, &child, child_header, entry)? {
            None => parent = child,
            Some(halves) => {
                split_child(pages, &mut parent, header, at, &mut child, halves)?;
                // A leaf's halves have room. An inner page's: look again which half to follow.
                if child_header.level == 0 {
                    return Ok(());
                }
            }
        }
    }
}

/// The two halves a full page is to become, still without siblings.
struct Halves {
    left: Vec<u8>,
    right: Vec<u8>,
    /// The low key of the right half.
    middle: Position,
}

/// Prepares the split of a page that has no room for `entry`, or for one more separator.
fn split<P: Pages>(
    pages: &P,
    block: u32,
    body: &[u8],
    header: Header,
    entry: Position,
) -> Result<Option<Halves>> {
    let body_len = pages.body_len();
    let (middle, images) = if header.level > 0 {
        if header.used + SEPARATOR <= body_len {
            return Ok(None);
        }
        let separators: Vec<Separator> = (0..header.count).map(|n| separator(body, n)).collect();
        let (left, right) = separators.split_at(header.count / 2);
        let Some(middle) = right.first().map(|s| s.low).filter(|_| !left.is_empty()) else {
            return corrupt(block, "a full inner page has too few separators");
        };
        let images = |l: Header, r: Header| Some((inner_image(l, left), inner_image(r, right)));
        (middle, halves_of(header, middle, block, images)?)
    } else {
        let leaf = Leaf::read(block, body, header)?;
        if !matches!(plan_insert(&leaf, entry, body_len), Plan::Split) {
            return Ok(None);
        }
        let mut entries: Vec<Position> = leaf.iter().collect();
        let Some(middle) = choose_middle(&mut entries, entry) else {
            return corrupt(block, "a full leaf holds one entry many times");
        };
        let (left, right): (Vec<_>, Vec<_>) = leaf.iter().partition(|p| *p < middle);
        let images =
            |l: Header, r: Header| Some((leaf_image(l, &left, body_len)?, leaf_image(r, &right, body_len)?));
        (middle, halves_of(header, middle, block, images)?)
    };
    Ok(Some(Halves { left: images.0, right: images.1, middle }))
}

fn halves_of(
    header: Header,
    middle: Position,
    block: u32,
    images: impl Fn(Header, Header) -> Option<(Vec<u8>, Vec<u8>)>,
) -> Result<(Vec<u8>, Vec<u8>)> {
    if middle <= header.low || header.high.is_some_and(|high| middle >= high) {
        return corrupt(block, "an entry lies outside the page's key range");
    }
    let left = Header { high: Some(middle), ..header };
    let right = Header { low: middle, ..header };
    match images(left, right) {
        Some(images) => Ok(images),
        // Fewer entries in narrower fields: only entries outside the range can be in the way.
        None => corrupt(block, "the halves of a full leaf do not fit a page"),
    }
}

/// Where to cut a full leaf: a low key for its right half. `None` if all entries are one.
///
/// In the middle, or near it at the start of a bucket (then a search of that bucket reads one leaf,
/// not two). An entry beyond all others is taken for the first of many in ascending order (equal
/// fingerprints arrive in tid order), for which the left half is left nearly full.
fn choose_middle(entries: &mut [Position], new: Position) -> Option<Position> {
    entries.sort_unstable();
    let n = entries.len();
    let ascending = entries.last().is_some_and(|last| new > *last && new.key == last.key);
    let wanted = if ascending { n - n / 10 } else { n / 2 };
    let cut = |at: &usize| entries[at - 1] < entries[*at];
    // Candidates from the wanted place outwards.
    let outwards = || (0..n).flat_map(move |d| [wanted.checked_sub(d), Some(wanted + d)]).flatten();
    let inside = |at: &usize| (1..n).contains(at);
    let near = |at: &usize| at.abs_diff(wanted) <= n / 8;
    let at = outwards()
        .filter(inside)
        .take_while(near)
        .find(|at| entries[at - 1].bucket() != entries[*at].bucket())
        .or_else(|| outwards().filter(inside).find(cut))?;
    let (before, after) = (entries[at - 1], entries[at]);
    Some(if before.bucket() != after.bucket() {
        Position::start(u64::from(after.bucket()) << 48)
    } else if before.key != after.key {
        Position::start(after.key)
    } else {
        after
    })
}

/// Splits a child under a parent with room: one record of three pages.
fn split_child<'p, P: Pages>(
    pages: &'p P,
    parent: &mut P::Write<'p>,
    header: Header,
    at: usize,
    child: &mut P::Write<'p>,
    mut halves: Halves,
) -> Result<()> {
    let mut right = pages.extend()?;
    put(&mut halves.left, RIGHT_LINK, &right.block().to_le_bytes());
    // The separators behind the child's move by one.
    let insert_at = HEADER + (at + 1) * SEPARATOR;
    let mut tail = Separator { low: halves.middle, child: right.block() }.to_bytes().to_vec();
    tail.extend_from_slice(&parent[insert_at..header.used]);
    let counts = used_and_count(header.used + SEPARATOR, header.count + 1);
    let patches: [(usize, &[u8]); 2] = [(insert_at, &tail), (USED_AND_COUNT, &counts)];
    pages.commit(&mut [
        Edit { page: parent, change: Change::Patch(&patches), fresh: false },
        Edit { page: child, change: Change::Image(&halves.left), fresh: false },
        Edit { page: &mut right, change: Change::Image(&halves.right), fresh: true },
    ])
}

/// Moves a full root's content into two new pages below it: one record of three pages.
fn split_root<'p, P: Pages>(
    pages: &'p P,
    root: &mut P::Write<'p>,
    header: Header,
    mut halves: Halves,
) -> Result<()> {
    if header.level == MAX_LEVEL {
        return corrupt(root.block(), "the tree is too high");
    }
    let mut left = pages.extend()?;
    let mut right = pages.extend()?;
    put(&mut halves.left, RIGHT_LINK, &right.block().to_le_bytes());
    let above = Header::new(Kind::Inner, header.tree, header.level + 1, header.low, header.high);
    let separators = [
        Separator { low: header.low, child: left.block() },
        Separator { low: halves.middle, child: right.block() },
    ];
    let image = inner_image(above, &separators);
    pages.commit(&mut [
        Edit { page: root, change: Change::Image(&image), fresh: false },
        Edit { page: &mut left, change: Change::Image(&halves.left), fresh: true },
        Edit { page: &mut right, change: Change::Image(&halves.right), fresh: true },
    ])
}
