//! Inserting a row: into the four main trees, then into the second level of its hot buckets.
//!
//! Locking: an insert descends with shared locks, one at a time, to the four leaves ([`descend`](super::descend)), has
//! them read, and only then locks them exclusively, in the order of the trees. If one was split meanwhile, it lets
//! go of all and descends again. If one is full, likewise; that leaf is then split: it is locked exclusively, then the
//! page above it, from the bottom up. If that has no room for one more separator, everything is released, and it is
//! split in the same way first. So whoever waits for a lock holds only locks on leaves of lower trees, or on lower
//! levels of the same tree: no deadlock ([`recycle`](super::recycle) has the whole order). And the pages locked while another
//! one is waited for have been read just before.
//!
//! WAL: the appends to four leaves are one record of some hundred bytes: an entry is in all main trees or in none. A split
//! is one record of three pages: left half, new right half, parent (or, for the root, which keeps its block number: root
//! and two new halves). There is no half-split state. A crash between extending and committing leaves a
//! zero page that nothing points to. The trees of a second level are written up to four at a time, after the main
//! trees: an entry missing there belongs to a row whose insert never returned, hence never committed.

use super::descend::{Trace, descend, lock_covering, retry};
use super::error::{Result, Way, corrupt, moved, sound};
use super::key::{Position, Tid, Tree};
use super::leaf::{Leaf, NARROW, Plan, leaf_image, plan_insert};
use super::meta::Index;
use super::page::{
    HEADER, Header, Kind, MAX_LEVEL, RIGHT_LINK, Separator, USED_AND_COUNT, find_child, inner_image, put,
    separator, used_and_count,
};
use super::prune::{Dead, prune_leaf};
use super::recycle::Spare;
use super::storage::{Change, Edit, Pages, WritePage};
use super::target::{Target, in_all_trees, lock_leaves, targets};

/// Descents of one insert, at most. Each but the last found a leaf full and split it or saw it split; more
/// than a few mean that a race was lost each time.
const MAX_DESCENTS: usize = 1000;

impl Index {
    /// Adds a row to a scope, 0 in an index without scopes. Every search that begins after this returns finds it. For a new
    /// version of a row whose fingerprint has not changed older ones, which `dead` tells, are looked for before a leaf is split.
    ///
    /// # Errors
    /// Damaged pages, or what the storage fails with. The row is then in some of the trees; a
    /// `bulk_delete` that names its tid removes what is there.
    pub fn insert_version<P: Pages>(
        &self,
        pages: &P,
        scope: u32,
        fingerprint: Option<u64>,
        tid: Tid,
        mut dead: Option<&mut dyn Dead>,
    ) -> Result<()> {
        let row = Position { scope, key: fingerprint.unwrap_or(0), tid };
        let Some(fingerprint) = fingerprint else {
            return insert_into(pages, self, &[Tree::NULLS], row, dead);
        };
        in_all_trees(pages, self, fingerprint, |index, trees| {
            insert_into(pages, index, trees, row, dead.as_mut().map(|dead| &mut **dead as _))
        })
    }
}

/// Adds a row's entries to up to [`MAX_EDITS`](super::storage::MAX_EDITS) trees, which come in order, as one record.
pub(crate) fn insert_into<P: Pages>(
    pages: &P,
    index: &Index,
    trees: &[Tree],
    row: Position,
    mut dead: Option<&mut dyn Dead>,
) -> Result<()> {
    let targets = targets(index, trees, row)?;
    for _ in 0..MAX_DESCENTS {
        match retry(pages, || append(pages, &targets))? {
            Append::Done => return Ok(()),
            Append::Moved => {}
            Append::Full(target) => {
                let pruned = match &mut dead {
                    Some(dead) => retry(pages, || prune_leaf(pages, target, &mut **dead))?,
                    None => false,
                };
                if !pruned {
                    retry(pages, || make_room(pages, target))?;
                }
            }
        }
        pages.delay_point();
    }
    corrupt(super::meta::METAPAGE, "no leaf takes an entry, whatever is split")
}

enum Append {
    Done,
    /// A leaf was split since its parent was read.
    Moved,
    /// The leaf of this one is full.
    Full(Target),
}

/// The usual insert: all leaves or none.
fn append<P: Pages>(pages: &P, targets: &[Target]) -> Way<Append> {
    let Some(locked) = lock_leaves(pages, targets)? else { return Ok(Append::Moved) };
    let mut leaves: Vec<P::Write<'_>> = Vec::with_capacity(targets.len());
    let mut plans = Vec::with_capacity(targets.len());
    for ((leaf, header), target) in locked.into_iter().zip(targets) {
        let block = leaf.block();
        pages.check_predicate(block);
        let view = Leaf::read(block, &leaf, header)?;
        sound(view.layout.covers(&header), block, NARROW)?;
        // Who promotes its bucket may have copied it.
        if target.tree.sub_block() > 0 && view.contains(target.entry) {
            continue;
        }
        match plan_insert(&view, target.entry, pages.body_len()) {
            Plan::Split => return Ok(Append::Full(*target)),
            plan => plans.push(plan),
        }
        leaves.push(leaf);
    }
    if plans.is_empty() {
        return Ok(Append::Done);
    }
    let patches: Vec<[(usize, &[u8]); 2]> = plans.iter().map(Plan::patches).collect();
    let edits = leaves.iter_mut().zip(&plans).zip(&patches).map(|((page, plan), patches)| {
        let change =
            if let Plan::Repack(image) = plan { Change::Image(image) } else { Change::Patch(patches) };
        Edit { page, change, fresh: false }
    });
    pages.commit(&mut edits.collect::<Vec<_>>())?;
    Ok(Append::Done)
}

/// Splits the full leaf of a target, and first what has to be split above it.
fn make_room<P: Pages>(pages: &P, target: Target) -> Way<()> {
    for level in 0..=MAX_LEVEL {
        if split_page(pages, target, level)? {
            return Ok(());
        }
    }
    Ok(corrupt(target.root, "the tree is too high")?)
}

/// Splits the page of `level` that covers the target's entry if it has no room; false if the one above it has
/// none either.
fn split_page<P: Pages>(pages: &P, Target { tree, root, entry }: Target, level: u8) -> Way<bool> {
    let above = descend(pages, tree, root, level + 1, entry, &mut Trace::new())?;
    if above.header.level <= level {
        drop(above);
        let mut page = pages.lock(root)?;
        let header = Header::read_tree(root, &page, tree)?;
        if header.level != level || !header.covers(entry) {
            // Somebody else has split it.
            return Ok(true);
        }
        if let Some(halves) = split(pages, root, &page, header, entry)? {
            split_root(pages, &mut page, header, halves)?;
        }
        return Ok(true);
    }
    if above.header.used + above.header.separator() > pages.body_len() {
        return Ok(false);
    }
    let parent = Separator { low: above.header.low, child: above.block };
    let Separator { low, child: block } = above.child(entry)?;
    drop(above);
    let spare = Spare::find(pages, tree)?;
    let mut page = pages.lock(block)?;
    let header = Header::read_tree(block, &page, tree)?;
    if header.level != level || header.low != low {
        let what = "the page is not the one its parent states";
        return if level == 0 { moved(block, what) } else { Ok(corrupt(block, what)?) };
    }
    if !header.covers(entry) {
        return Ok(true);
    }
    let Some(mut halves) = split(pages, block, &page, header, entry)? else {
        return Ok(true);
    };
    // Before the parent is locked, for adding a page takes time. If the parent's last room is gone by then, the new
    // page stays unused.
    let (right, mut new) = match &spare {
        Some(spare) => (spare.block, None),
        None => pages.extend().map(|page| (page.block(), Some(page)))?,
    };
    put(&mut halves.left, RIGHT_LINK, &right.to_le_bytes());
    let mut parent = lock_covering(pages, tree, parent, level + 1, entry, &page)?;
    let (above, at) = (parent.header, find_child(&parent.body, parent.header.count, entry));
    let led = separator(&parent.body, at) == Separator { low: header.low, child: block };
    sound(led, parent.block, "a separator is not the one of the page it led to")?;
    if above.used + above.separator() > pages.body_len() {
        return Ok(false);
    }
    pages.copy_predicate(block, right);
    // The separators behind the page's move by one.
    let insert_at = HEADER + (at + 1) * above.separator();
    let mut tail = Separator { low: halves.middle, child: right }.to_bytes(&above);
    tail.extend_from_slice(&parent.body[insert_at..above.used]);
    let counts = used_and_count(above.used + above.separator(), above.count + 1);
    let patches: [(usize, &[u8]); 2] = [(insert_at, &tail), (USED_AND_COUNT, &counts)];
    let mut edits = vec![
        Edit { page: &mut page, change: Change::Image(&halves.left), fresh: false },
        Edit { page: &mut parent.body, change: Change::Patch(&patches), fresh: false },
    ];
    if let Some(new) = &mut new {
        edits.push(Edit { page: new, change: Change::Image(&halves.right), fresh: true });
        pages.commit(&mut edits)?;
    } else if let Some(spare) = spare {
        spare.commit(pages, &halves.right, edits)?;
    }
    // If the free page is gone, the leaf is still full, and comes here again.
    Ok(true)
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
    if header.level > 0 {
        if header.used + header.separator() <= body_len {
            return Ok(None);
        }
        let separators: Vec<Separator> = (0..header.count).map(|n| separator(body, n)).collect();
        let (left, right) = separators.split_at(header.count / 2);
        let Some(middle) = right.first().map(|s| s.low).filter(|_| !left.is_empty()) else {
            return corrupt(block, "a full inner page has too few separators");
        };
        return halves_of(header, middle, block, |l, r| Some((inner_image(l, left), inner_image(r, right))));
    }
    let leaf = Leaf::read(block, body, header)?;
    if !matches!(plan_insert(&leaf, entry, body_len), Plan::Split) {
        return Ok(None);
    }
    let mut entries: Vec<Position> = leaf.iter().collect();
    let Some(middle) = choose_middle(&mut entries, entry) else {
        return corrupt(block, "a full leaf holds one entry many times");
    };
    let (left, right): (Vec<_>, Vec<_>) = leaf.iter().partition(|p| *p < middle);
    halves_of(header, middle, block, |l, r| {
        Some((leaf_image(l, &left, body_len)?, leaf_image(r, &right, body_len)?))
    })
}

fn halves_of(
    header: Header,
    middle: Position,
    block: u32,
    images: impl Fn(Header, Header) -> Option<(Vec<u8>, Vec<u8>)>,
) -> Result<Option<Halves>> {
    let inside = middle > header.low && header.high.is_none_or(|high| middle < high);
    sound(inside, block, "an entry lies outside the page's key range")?;
    let left = Header { high: Some(middle), ..header };
    let right = Header { low: middle, ..header };
    match images(left, right) {
        Some((left, right)) => Ok(Some(Halves { left, right, middle })),
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
    let ascending =
        entries.last().is_some_and(|last| new > *last && (new.scope, new.key) == (last.scope, last.key));
    let wanted = if ascending { n - n / 10 } else { n / 2 };
    let cut = |at: &usize| entries[at - 1] < entries[*at];
    // Candidates from the wanted place outwards.
    let outwards = || (0..n).flat_map(move |d| [wanted.checked_sub(d), Some(wanted + d)]).flatten();
    let inside = |at: &usize| (1..n).contains(at);
    let near = |at: &usize| at.abs_diff(wanted) <= n / 8;
    let at = outwards()
        .filter(inside)
        .take_while(near)
        .find(|at| Position::is_cut(entries[at - 1], entries[*at]))
        .or_else(|| outwards().filter(inside).find(cut))?;
    Some(Position::between(entries[at - 1], entries[at]))
}

/// Moves a full root's content into two new pages below it: one record of three pages.
fn split_root<'p, P: Pages>(
    pages: &'p P,
    root: &mut P::Write<'p>,
    header: Header,
    mut halves: Halves,
) -> Result<()> {
    sound(header.level < MAX_LEVEL, root.block(), "the tree is too high")?;
    let mut left = pages.extend()?;
    let mut right = pages.extend()?;
    pages.copy_predicate(root.block(), left.block());
    pages.copy_predicate(root.block(), right.block());
    put(&mut halves.left, RIGHT_LINK, &right.block().to_le_bytes());
    let above = Header::new(Kind::Inner, header.tree, header.level + 1, header.low, header.high)
        .scoped(header.scoped);
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
