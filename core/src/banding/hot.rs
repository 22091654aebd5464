//! The states of hot buckets: cold, filling or hot, two bits per bucket.
//!
//! A block's directory page points to pages of states, which exist only for ranges of buckets with a
//! state other than cold. Both kinds are reached from the metapage and never move or go away.
//!
//! Locking: a reader locks the directory shared, then the page of states; one at a time, since
//! pointers, once set, never change. A change of state locks the page exclusively; the first one of a page locks
//! the directory exclusively, and the new page. WAL: a change of state is one patch of a byte; a first page of states is in one record
//! with the directory's pointer to it.
//!
//! Why promotion is safe while others insert (the order is the proof). An inserter first puts its entry into
//! the main tree (i,0), then reads the bucket's state S. The promoter commits `filling` (F), then reads the
//! bucket in (i,0) and copies it (C), then commits `hot`. Take an entry e whose insert has returned. Either S
//! came after F: then the inserter saw `filling` or `hot` and has put e into (i,1..3) itself. Or S came
//! before F: then e was in (i,0) before C began to read, leaves never lose entries to the left of a reader,
//! so C copied it. Hence when `hot` is read, every entry whose insert had returned by then is in (i,1..3), or
//! belongs to an inserter that saw `filling` and puts it there before it returns. Copying and inserting are
//! insert-if-absent under the leaf's exclusive lock, so an entry is there once. Deletion walks all trees'
//! pages and is serialised with promotion (both belong to VACUUM), so no entry is copied after its removal.
//!
//! A promotion that dies leaves `filling`, which readers treat as cold; the next one starts it anew.
//! A hot bucket stays hot until the index is rebuilt: its second level stays exact whatever its
//! size, and demotion would need a proof against readers that have just seen `hot`.

use super::error::{Result, corrupt};
use super::key::{BLOCKS, Position, Tree};
use super::meta::Index;
use super::page::{HEADER, Header, Kind, get_u32, put};
use super::storage::{Change, Edit, Pages, WritePage};

/// The state of a bucket's second level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketState {
    /// It does not exist.
    Cold,
    /// It is being filled: inserts maintain it, readers must not use it.
    Filling,
    /// It is complete.
    Hot,
}

/// Buckets whose states are on one page: the largest power of two that fits.
pub(crate) fn buckets_per_page(body_len: usize) -> usize {
    let bytes = body_len - HEADER;
    1 << (bytes * 4).ilog2().min(16)
}

/// Pointers in a directory.
pub(crate) fn directory_len(body_len: usize) -> usize {
    65536 / buckets_per_page(body_len)
}

/// Where a bucket's state stands: its page's number, the byte there, and the bits' shift.
fn place(bucket: u16, body_len: usize) -> (usize, usize, usize) {
    let (page, at) =
        (usize::from(bucket) / buckets_per_page(body_len), usize::from(bucket) % buckets_per_page(body_len));
    (page, HEADER + at / 4, at % 4 * 2)
}

/// The image of a block's directory without pages.
pub(crate) fn empty_directory(block: usize, body_len: usize) -> Vec<u8> {
    blank(Kind::HotDirectory, block, 4 * directory_len(body_len))
}

fn blank(kind: Kind, block: usize, bytes: usize) -> Vec<u8> {
    let mut header = Header::new(kind, Tree::main(block), 0, Position::MIN, None);
    header.used = HEADER + bytes;
    let mut image = header.image(header.used);
    image.resize(header.used, 0);
    image
}

pub(crate) fn expect(block: u32, body: &[u8], kind: Kind, tree: Tree) -> Result<()> {
    let bytes = match kind {
        Kind::HotDirectory => 4 * directory_len(body.len()),
        _ => buckets_per_page(body.len()) / 4,
    };
    match Header::read(block, body)? {
        Some(h) if h.kind == kind && h.tree == tree && h.used == HEADER + bytes => Ok(()),
        _ => corrupt(block, format!("this is no {kind:?} page of the {tree}")),
    }
}

pub(crate) fn decode_state(block: u32, bits: u8) -> Result<BucketState> {
    let known = [BucketState::Cold, BucketState::Filling, BucketState::Hot].get(usize::from(bits & 3));
    known.map_or_else(|| corrupt(block, "a bucket's state is out of range"), |state| Ok(*state))
}

/// Reads a page of a kind of block `i`.
fn read<P: Pages>(pages: &P, block: u32, kind: Kind, i: usize) -> Result<P::Read<'_>> {
    let body = pages.read(block)?;
    expect(block, &body, kind, Tree::main(i))?;
    Ok(body)
}

/// The state of a bucket of block `i`.
pub(crate) fn state<P: Pages>(pages: &P, index: &Index, i: usize, bucket: u16) -> Result<BucketState> {
    let directory = index.hot[i];
    if directory == 0 {
        return Ok(BucketState::Cold);
    }
    let (n, byte, shift) = place(bucket, pages.body_len());
    let page = get_u32(&read(pages, directory, Kind::HotDirectory, i)?, HEADER + 4 * n);
    if page == 0 {
        return Ok(BucketState::Cold);
    }
    decode_state(page, read(pages, page, Kind::HotStates, i)?[byte] >> shift)
}

/// The second-level trees of a fingerprint's buckets in a wanted state.
pub(crate) fn second_levels<P: Pages>(
    pages: &P,
    index: &Index,
    fingerprint: u64,
    wanted: impl Fn(BucketState) -> bool,
) -> Result<Vec<Tree>> {
    let mut trees = Vec::new();
    for i in 0..BLOCKS {
        if wanted(state(pages, index, i, Tree::main(i).bucket(fingerprint))?) {
            trees.extend((1..4).map(|j| Tree::new(i, j)));
        }
    }
    Ok(trees)
}

/// Sets the state of a bucket; the block must have its second level's pages.
pub(crate) fn set_state<P: Pages>(
    pages: &P,
    index: &Index,
    i: usize,
    bucket: u16,
    state: BucketState,
) -> Result<()> {
    let (tree, body_len) = (Tree::main(i), pages.body_len());
    let (n, byte, shift) = place(bucket, body_len);
    let (pointer_at, bits) = (HEADER + 4 * n, (state as u8) << shift);
    let mut directory = pages.lock(index.hot[i])?;
    expect(directory.block(), &directory, Kind::HotDirectory, tree)?;
    let pointer = get_u32(&directory, pointer_at);
    if pointer == 0 {
        let mut image = blank(Kind::HotStates, i, buckets_per_page(body_len) / 4);
        image[byte] = bits;
        let mut page = pages.extend()?;
        let pointer = page.block().to_le_bytes();
        return pages.commit(&mut [
            Edit { page: &mut page, change: Change::Image(&image), fresh: true },
            Edit { page: &mut directory, change: Change::Patch(&[(pointer_at, &pointer)]), fresh: false },
        ]);
    }
    drop(directory);
    let mut page = pages.lock(pointer)?;
    expect(pointer, &page, Kind::HotStates, tree)?;
    let new = [page[byte] & !(3 << shift) | bits];
    pages.commit(&mut [Edit { page: &mut page, change: Change::Patch(&[(byte, &new)]), fresh: false }])
}

/// The buckets of block `i` that are not cold, in order, with their states.
pub(crate) fn states<P: Pages>(pages: &P, index: &Index, i: usize) -> Result<Vec<(u16, BucketState)>> {
    let mut found = Vec::new();
    if index.hot[i] == 0 {
        return Ok(found);
    }
    let per_page = buckets_per_page(pages.body_len());
    let pointers: Vec<u32> = {
        let body = read(pages, index.hot[i], Kind::HotDirectory, i)?;
        (0..directory_len(pages.body_len())).map(|n| get_u32(&body, HEADER + 4 * n)).collect()
    };
    for (n, page) in pointers.into_iter().enumerate().filter(|(_, page)| *page != 0) {
        let body = read(pages, page, Kind::HotStates, i)?;
        for bucket in (n * per_page..(n + 1) * per_page).map(|bucket| bucket as u16) {
            let (_, byte, shift) = place(bucket, body.len());
            match decode_state(page, body[byte] >> shift)? {
                BucketState::Cold => {}
                state => found.push((bucket, state)),
            }
        }
    }
    Ok(found)
}

/// Writes the pages of states of a build that has found these buckets hot, which are in order, and the directory of these;
/// returns its block.
pub(crate) fn write_hot(
    block: usize,
    hot: &[u16],
    body_len: usize,
    mut write: impl FnMut(&[u8]) -> Result<u32>,
) -> Result<u32> {
    let mut directory = empty_directory(block, body_len);
    let place = |bucket: &u16| place(*bucket, body_len);
    for buckets in hot.chunk_by(|a, b| place(a).0 == place(b).0) {
        let mut image = blank(Kind::HotStates, block, buckets_per_page(body_len) / 4);
        for (_, byte, shift) in buckets.iter().map(place) {
            image[byte] |= (BucketState::Hot as u8) << shift;
        }
        put(&mut directory, HEADER + 4 * place(&buckets[0]).0, &write(&image)?.to_le_bytes());
    }
    write(&directory)
}
