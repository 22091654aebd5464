//! Recycling: an empty leaf is taken out of its tree, and its page is used again.
//!
//! *Out*: a bulk delete gives the range of a leaf that has no entry to the leaf to its left, if both have the same parent and
//! the left one can take it: one record of that leaf, the free page, the parent, which loses a separator, and the metapage,
//! from which a tree's free pages hang, one linked to the next. *In*: a split takes the first of them for its right half:
//! one record of the two halves, the parent and the metapage. So a page is in a tree or in the list of free ones, whatever
//! crashes. A page stays with its tree for ever; only leaves come out; inner pages and the first leaf below each of them stay.
//!
//! Why readers need no horizon and standbys no conflict. At any moment the leaves of a tree partition its key space,
//! and no record moves an entry to another position. So a page that, while it is locked, says that it is a leaf of the
//! tree and covers a position is *the* leaf that covers it, however one came there, by a separator that was read long
//! ago or by a copy of its page. What else an old link leads to (a free page, another range, an inner page) is
//! told by its header, and the search for the position begins anew at the root ([`retry`]). Replay holds all pages of
//! a record locked until it is done with it: on a standby it is the same. An inner page never leaves its tree and level, and
//! only splits: descents above the leaves remain what they were.
//!
//! A boundary that a reader has taken for its mark may vanish when the leaf behind it comes out: then the leaf
//! that covers the mark begins before it. Readers leave out what is below their mark ([`cursor`](super::cursor)).
//!
//! Why a walk over all pages misses no entry. A split that used a free page would move entries to where the walk may have
//! been. So it is said in the metapage that a walk is on, and no free page is used until it has ended. A walk that dies leaves
//! that behind; until the next VACUUM the index grows instead.
//!
//! Locking: the left leaf, the leaf, the parent, the metapage; or as a split, then the metapage and the free page. In all
//! that anybody locks, a tree comes after those of lower numbers, in a tree the leaves come from the left to the right, then
//! higher levels, then the metapage, then free pages. Who has followed an old link to a page locks a page *of that tree*
//! at least, lets it go at once, and holds nothing of the same tree: that keeps the order, hence a page stays with its tree.
//! Bulk deletes come one at a time.

use super::descend::{Trace, descend, lock_covering, retry};
use super::error::{Error, Result, Way, corrupt, sound};
use super::key::{Position, Tree};
use super::leaf::{Leaf, leaf_image};
use super::meta::{COUNTED, FEATURES, FREE, Index, MAX_BUCKET, METAPAGE, RECYCLED, USED, WALKED};
use super::page::{
    Header, Kind, Separator, USED_AND_COUNT, find_child, get_u32, inner_image, separator, used_and_count,
};
use super::storage::{Change, Edit, Pages};

/// The first free page of a tree, 0 = none.
pub(crate) fn first_free(meta: &[u8], tree: Tree) -> u32 {
    get_u32(meta, FREE + 4 * tree.number())
}

/// The header of a free page of a tree. A damaged list of them is none: the index grows.
fn read_free<P: Pages>(pages: &P, block: u32, tree: Tree) -> Result<Option<Header>> {
    match pages.read(block).and_then(|page| Header::read(block, &page)) {
        Ok(header) => Ok(header.filter(|it| it.kind == Kind::Free && it.tree == tree)),
        Err(Error::Corrupt { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// How many pages are free, counted up to `most`; others may use some meanwhile.
pub(crate) fn free_pages<P: Pages>(pages: &P, most: u32) -> Result<u32> {
    let mut free = 0;
    for tree in Tree::all().chain([Tree::NULLS]) {
        let mut block = first_free(&pages.read(METAPAGE)?, tree);
        while block != 0 && free < most {
            pages.delay_point();
            let Some(header) = read_free(pages, block, tree)? else { break };
            (block, free) = (header.right, free + 1);
        }
    }
    Ok(free)
}

impl Index {
    /// Whether the pages in use have grown by a twentieth since buckets were counted: a VACUUM that has nothing to remove then
    /// counts them again.
    pub fn has_grown<P: Pages>(pages: &P) -> Result<bool> {
        let counted = Self::open(pages)?.counted;
        let beyond = pages.len()?.saturating_sub(counted.saturating_add(counted / 20));
        Ok(beyond > 0 && free_pages(pages, beyond)? < beyond)
    }

    pub(crate) fn note_counted<P: Pages>(pages: &P) -> Result<()> {
        let len = pages.len()?;
        let now = (len - free_pages(pages, len)?).to_le_bytes();
        let mut meta = pages.lock(METAPAGE)?;
        if meta.get(COUNTED..MAX_BUCKET) == Some(&now) {
            return Ok(());
        }
        let change = Change::Patch(&[(COUNTED, &now)]);
        pages.commit(&mut [Edit { page: &mut meta, change, fresh: false }])
    }
}

/// Writes a number to the part of the metapage that is about recycling; one of an earlier build ends before it. From the first
/// free page on, a library that does not know of them refuses the index.
fn commit_meta<'p, P: Pages>(
    pages: &'p P,
    meta: &mut P::Write<'p>,
    (at, number): (usize, u32),
    edits: Vec<Edit<'_, P::Write<'p>>>,
) -> Result<()> {
    let recycled = if at == WALKED { 0 } else { RECYCLED };
    let features = (get_u32(meta, FEATURES) | recycled).to_le_bytes();
    let (number, used) = (number.to_le_bytes(), used_and_count(USED, 0));
    let patches: [(usize, &[u8]); 3] = [(FEATURES, &features), (at, &number), (USED_AND_COUNT, &used)];
    let mut edits = edits;
    edits.push(Edit { page: meta, change: Change::Patch(&patches), fresh: false });
    pages.commit(&mut edits)
}

/// Says whether a walk over all pages is on.
pub(crate) fn set_walked<P: Pages>(pages: &P, walked: bool) -> Result<()> {
    let mut meta = pages.lock(METAPAGE)?;
    match get_u32(&meta, WALKED) == u32::from(walked) {
        true => Ok(()),
        false => commit_meta(pages, &mut meta, (WALKED, walked.into()), Vec::new()),
    }
}

/// A free page that is going to be used again.
pub(crate) struct Spare<'p, P: Pages + 'p> {
    pub block: u32,
    tree: Tree,
    meta: P::Pin<'p>,
    page: P::Pin<'p>,
}

impl<'p, P: Pages> Spare<'p, P> {
    /// The first free page of a tree, if one may be used now. No lock is held.
    pub(crate) fn find(pages: &'p P, tree: Tree) -> Result<Option<Self>> {
        let block = {
            let meta = pages.read(METAPAGE)?;
            if get_u32(&meta, WALKED) == 0 { first_free(&meta, tree) } else { 0 }
        };
        match block != 0 && read_free(pages, block, tree)?.is_some() {
            false => Ok(None),
            true => Ok(Some(Spare { block, tree, meta: pages.pin(METAPAGE)?, page: pages.pin(block)? })),
        }
    }

    /// Gives it that content, in one record with the other edits, of a caller who holds a leaf and its parent; not if somebody
    /// else has taken it, or a walk has begun.
    pub(crate) fn commit(
        self,
        pages: &'p P,
        content: &[u8],
        edits: Vec<Edit<'_, P::Write<'p>>>,
    ) -> Result<()> {
        let mut meta = pages.lock_pinned(self.meta)?;
        if get_u32(&meta, WALKED) != 0 || first_free(&meta, self.tree) != self.block {
            return Ok(());
        }
        let (mut page, mut edits) = (pages.lock_pinned(self.page)?, edits);
        let next = match Header::read(self.block, &page)? {
            Some(header) if header.kind == Kind::Free && header.tree == self.tree => header.right,
            _ => return corrupt(self.block, "a page in the list of free ones is not free"),
        };
        edits.push(Edit { page: &mut page, change: Change::Image(content), fresh: false });
        commit_meta(pages, &mut meta, (FREE + 4 * self.tree.number(), next), edits)
    }
}

/// Takes out of its tree a leaf that was seen empty, and before it those to its right that are: of neighbours that are all
/// empty one stays, in whatever order they become so. Returns their blocks.
pub(crate) fn reclaim<P: Pages>(pages: &P, index: &Index, leaf: &Header) -> Result<Vec<u32>> {
    let Some(root) = index.root(leaf.tree) else { return Ok(Vec::new()) };
    let (mut freed, mut next) = (Vec::new(), leaf.high);
    // No further than to the end of their parent.
    while let Some(low) = next {
        let out = retry(pages, || unlink(pages, leaf.tree, root, low))?;
        freed.extend(out.map(|(block, _)| block));
        next = out.and_then(|(_, out)| out.high);
        pages.delay_point();
    }
    freed.extend(retry(pages, || unlink(pages, leaf.tree, root, leaf.low))?.map(|(block, _)| block));
    Ok(freed)
}

/// Takes the leaf that begins at `low` out of its tree, and returns its block and what its header was; `None` if that
/// cannot be done.
fn unlink<P: Pages>(pages: &P, tree: Tree, root: u32, low: Position) -> Way<Option<(u32, Header)>> {
    let above = descend(pages, tree, root, 1, low, &mut Trace::new())?;
    if above.header.level == 0 {
        return Ok(None);
    }
    let Some((before, own)) = neighbours(&above.body, &above.header, low) else { return Ok(None) };
    let parent = Separator { low: above.header.low, child: above.block };
    drop(above);
    let (left, page, meta) = (pages.pin(before.child)?, pages.pin(own.child)?, pages.pin(METAPAGE)?);

    let mut left = pages.lock_pinned(left)?;
    let to_left = Header::read_tree(before.child, &left, tree)?;
    // What adjoins may be locked next. Whether it is still the leaf that it was, its parent says.
    if to_left.right != own.child || to_left.high != Some(low) {
        return Ok(None);
    }
    let mut page = pages.lock_pinned(page)?;
    let header = Header::read_tree(own.child, &page, tree)?;
    let adjoins = header.kind == Kind::Leaf && header.low == low;
    sound(adjoins, own.child, "the page does not begin where the one to its left ends")?;
    if header.count > 0 {
        return Ok(None);
    }
    let entries: Vec<Position> = Leaf::read(before.child, &left, to_left)?.iter().collect();
    let joined = Header { high: header.high, right: header.right, ..to_left };
    // Keys of a wider range may take more room; and what is full is split again soon.
    let fits = |image: &Vec<u8>| image.len() <= pages.body_len() / 4 * 3;
    let Some(image) = leaf_image(joined, &entries, pages.body_len()).filter(fits) else { return Ok(None) };

    let mut parent = lock_covering(pages, tree, parent, 1, low, &left)?;
    if neighbours(&parent.body, &parent.header, low) != Some((before, own)) {
        return Ok(None);
    }
    pages.copy_predicate(own.child, before.child);
    let others = (0..parent.header.count).map(|n| separator(&parent.body, n)).filter(|it| *it != own);
    let above = inner_image(parent.header, &others.collect::<Vec<_>>());
    let mut meta = pages.lock_pinned(meta)?;
    let mut free = Header::new(Kind::Free, tree, 0, Position::MIN, None).scoped(header.scoped);
    free.right = first_free(&meta, tree);
    let free = free.image(0);
    let edits = vec![
        Edit { page: &mut left, change: Change::Image(&image), fresh: false },
        Edit { page: &mut page, change: Change::Image(&free), fresh: false },
        Edit { page: &mut parent.body, change: Change::Image(&above), fresh: false },
    ];
    commit_meta(pages, &mut meta, (FREE + 4 * tree.number(), own.child), edits)?;
    Ok(Some((own.child, header)))
}

/// The separators of the child that begins at `low` and of the one before it, if there are both.
fn neighbours(body: &[u8], header: &Header, low: Position) -> Option<(Separator, Separator)> {
    let at = find_child(body, header.count, low);
    let own = separator(body, at);
    (own.low == low && at > 0).then(|| (separator(body, at - 1), own))
}
