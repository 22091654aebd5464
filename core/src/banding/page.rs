//! The page format: the header that every page has, and inner pages.
//!
//! All integers are little-endian. A body begins with
//!
//! | at | bytes | what |
//! |---|---|---|
//! | 0 | 2 | magic |
//! | 2 | 1 | kind |
//! | 3 | 1 | tree number |
//! | 4 | 1 | level, 0 = leaf |
//! | 5 | 1 | flags: 1 = no high key, 2 = of an index with scopes |
//! | 6 | 2 | used: bytes of the body in use; what follows is zero |
//! | 8 | 2 | count of entries |
//! | 12 | 4 | right sibling, 0 = none |
//! | 16 | 18 | low key (key 8, tid 6, scope 4): the least position that belongs here |
//! | 34 | 18 | high key: the least position beyond |
//! | 52 | 4 | a leaf's layout ([`leaf`](super::leaf)) |
//! | 64 | | entries |
//!
//! An inner page's entries are separators in order: (key 8, tid 6, child 4, with scopes also scope 4), each the
//! low key of its child. The first one equals the page's low key. A body of zeroes is an unused page; a free one
//! ([`recycle`](super::recycle)) has no entries, and the next free one for its right sibling.

use super::error::{Result, Way, corrupt, moved, sound};
use super::key::{Position, Tid, Tree};

/// Bytes before the entries.
pub const HEADER: usize = 64;
/// Bytes of a separator, without its scope and with it.
const SEPARATOR: usize = 18;
const SCOPED_SEPARATOR: usize = SEPARATOR + 4;
/// No tree is higher; 4 kB pages of separators hold 2^32 leaves in 5 levels, test pages in 8.
pub(crate) const MAX_LEVEL: u8 = 24;

/// Where `used` and `count` stand.
pub(crate) const USED_AND_COUNT: usize = 6;
/// Where the right link stands.
pub(crate) const RIGHT_LINK: usize = 12;

const MAGIC: u16 = 0xb4d1;
const NO_HIGH: u8 = 1;
const SCOPED: u8 = 2;
const LOW: usize = 16;
const HIGH: usize = 34;

/// What a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Block 0.
    Meta = 1,
    /// Entries of a tree.
    Leaf = 2,
    /// Separators of a tree.
    Inner = 3,
    /// Where the states of a block's hot buckets are.
    HotDirectory = 4,
    /// States of a range of buckets.
    HotStates = 5,
    /// A former leaf, to be used again by its tree.
    Free = 6,
}

/// By their numbers, from 1 on.
const KINDS: [Kind; 6] =
    [Kind::Meta, Kind::Leaf, Kind::Inner, Kind::HotDirectory, Kind::HotStates, Kind::Free];

/// The decoded header of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub kind: Kind,
    pub tree: Tree,
    pub level: u8,
    /// Whether the index has scopes.
    pub scoped: bool,
    pub used: usize,
    pub count: usize,
    pub right: u32,
    pub low: Position,
    /// None: unbounded.
    pub high: Option<Position>,
}

/// The little-endian number of `N` bytes at `at`; zero beyond the end.
#[inline]
fn bytes<const N: usize>(body: &[u8], at: usize) -> [u8; N] {
    let mut b = [0; N];
    if let Some(from) = body.get(at..at + N) {
        b.copy_from_slice(from);
    }
    b
}

#[inline]
pub(crate) fn get_u16(body: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes(body, at))
}

#[inline]
pub(crate) fn get_u32(body: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes(body, at))
}

#[inline]
pub(crate) fn get_u64(body: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes(body, at))
}

#[inline]
pub(crate) fn get_position(body: &[u8], at: usize) -> Position {
    let tid = u64::from(get_u32(body, at + 8)) | u64::from(get_u16(body, at + 12)) << 32;
    Position { scope: 0, key: get_u64(body, at), tid: Tid::from_bits(tid) }
}

/// A position with its scope.
#[inline]
fn get_scoped(body: &[u8], at: usize) -> Position {
    Position { scope: get_u32(body, at + 14), ..get_position(body, at) }
}

pub(crate) fn put(body: &mut [u8], at: usize, from: &[u8]) {
    body[at..at + from.len()].copy_from_slice(from);
}

fn position_bytes(p: Position) -> [u8; 18] {
    let mut b = [0; 18];
    b[..8].copy_from_slice(&p.key.to_le_bytes());
    b[8..14].copy_from_slice(&p.tid.bits().to_le_bytes()[..6]);
    b[14..].copy_from_slice(&p.scope.to_le_bytes());
    b
}

/// Bytes of a body that are in use: PostgreSQL's `pd_lower` is 24 + this or more. The rest of a body is
/// zero. For bytes that are no page, the length of the body.
pub fn used_bytes(body: &[u8]) -> usize {
    used_after(body, &[])
}

/// What [`used_bytes`] will say of a body once these bytes are written at these offsets of it.
pub fn used_after(body: &[u8], patches: &[(usize, &[u8])]) -> usize {
    let mut head = [0; 8];
    let known = head.len().min(body.len());
    head[..known].copy_from_slice(&body[..known]);
    for &(at, bytes) in patches {
        head.iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
    }
    match get_u16(&head, 0) {
        MAGIC => usize::from(get_u16(&head, 6)).clamp(HEADER.min(body.len()), body.len()),
        _ => body.len(),
    }
}

impl Header {
    /// A page of no entries.
    pub(crate) fn new(kind: Kind, tree: Tree, level: u8, low: Position, high: Option<Position>) -> Self {
        Header { kind, tree, level, scoped: false, used: HEADER, count: 0, right: 0, low, high }
    }

    /// The same in an index with scopes, if `scoped`.
    pub(crate) fn scoped(self, scoped: bool) -> Self {
        Header { scoped, ..self }
    }

    #[inline]
    pub(crate) fn separator(&self) -> usize {
        if self.scoped { SCOPED_SEPARATOR } else { SEPARATOR }
    }

    /// Reads and checks a header. `None` is an unused page.
    #[inline]
    pub(crate) fn read(block: u32, body: &[u8]) -> Result<Option<Header>> {
        if get_u16(body, 0) != MAGIC {
            return match body.iter().all(|b| *b == 0) {
                true => Ok(None),
                false => corrupt(block, format!("magic number {:#06x} is not a page's", get_u16(body, 0))),
            };
        }
        sound(body.len() >= HEADER, block, "the page is too short")?;
        let Some(&kind) = KINDS.get(usize::from(body[2]).wrapping_sub(1)) else {
            return corrupt(block, format!("page kind {} is unknown", body[2]));
        };
        let Some(tree) = Tree::from_number(body[3]) else {
            return corrupt(block, format!("tree number {} is out of range", body[3]));
        };
        let header = Header {
            kind,
            tree,
            level: body[4],
            scoped: body[5] & SCOPED != 0,
            used: usize::from(get_u16(body, 6)),
            count: usize::from(get_u16(body, 8)),
            right: get_u32(body, 12),
            low: get_scoped(body, LOW),
            high: if body[5] & NO_HIGH != 0 { None } else { Some(get_scoped(body, HIGH)) },
        };
        if header.used < HEADER || header.used > body.len() {
            return corrupt(block, format!("{} bytes in use of {}", header.used, body.len()));
        }
        let is_range = header.high.is_none_or(|high| high > header.low);
        sound(is_range, block, "the high key is not above the low key")?;
        let sane = match kind {
            Kind::Leaf => header.level == 0,
            Kind::Free => header.count == 0 && header.used == HEADER,
            Kind::Inner => {
                (1..=MAX_LEVEL).contains(&header.level)
                    && header.count > 0
                    && header.used == HEADER + header.count * header.separator()
            }
            _ => true,
        };
        sound(sane, block, "level, count and used bytes contradict one another")?;
        Ok(Some(header))
    }

    /// Reads a header that must be of a page of `tree`, which a page stays with for ever; it may have become free.
    #[inline]
    pub(crate) fn read_tree(block: u32, body: &[u8], tree: Tree) -> Way<Header> {
        match Header::read(block, body)? {
            None => Ok(corrupt(block, format!("an unused page where a page of the {tree} is expected"))?),
            Some(h) if matches!(h.kind, Kind::Leaf | Kind::Inner) && h.tree == tree => Ok(h),
            Some(h) => {
                let what =
                    format!("a {:?} page of the {} where a page of the {tree} is expected", h.kind, h.tree);
                if h.kind == Kind::Free && h.tree == tree {
                    moved(block, what)
                } else {
                    Ok(corrupt(block, what)?)
                }
            }
        }
    }

    /// Whether a position belongs on the page.
    #[inline]
    pub(crate) fn covers(&self, p: Position) -> bool {
        p >= self.low && self.high.is_none_or(|high| p < high)
    }

    /// The header's bytes, as a vector to append entries to.
    pub(crate) fn image(&self, capacity: usize) -> Vec<u8> {
        let mut b = Vec::with_capacity(capacity.max(HEADER));
        b.resize(HEADER, 0);
        put(&mut b, 0, &MAGIC.to_le_bytes());
        b[2] = self.kind as u8;
        b[3] = self.tree.number() as u8;
        b[4] = self.level;
        b[5] = if self.high.is_none() { NO_HIGH } else { 0 } | if self.scoped { SCOPED } else { 0 };
        put(&mut b, 12, &self.right.to_le_bytes());
        put(&mut b, LOW, &position_bytes(self.low));
        put(&mut b, HIGH, &self.high.map_or([0; 18], position_bytes));
        b[6..10].copy_from_slice(&used_and_count(self.used, self.count));
        b
    }
}

/// The bytes at offset 6: `used` and `count`.
pub(crate) fn used_and_count(used: usize, count: usize) -> [u8; 4] {
    let mut b = [0; 4];
    b[..2].copy_from_slice(&(used as u16).to_le_bytes());
    b[2..].copy_from_slice(&(count as u16).to_le_bytes());
    b
}

/// A separator of an inner page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Separator {
    pub low: Position,
    pub child: u32,
}

impl Separator {
    /// On a page with that header.
    pub(crate) fn to_bytes(self, header: &Header) -> Vec<u8> {
        let low = position_bytes(self.low);
        let mut b = low[..14].to_vec();
        b.extend_from_slice(&self.child.to_le_bytes());
        b.extend_from_slice(&low[14..]);
        b.truncate(header.separator());
        b
    }
}

/// The `n`-th separator.
#[inline]
pub(crate) fn separator(body: &[u8], n: usize) -> Separator {
    let scoped = body[5] & SCOPED != 0;
    let at = HEADER + n * if scoped { SCOPED_SEPARATOR } else { SEPARATOR };
    let scope = if scoped { get_u32(body, at + 18) } else { 0 };
    Separator { low: Position { scope, ..get_position(body, at) }, child: get_u32(body, at + 14) }
}

/// The separator to follow for `target`: the last one not above it. The header says that the page
/// covers `target`, so the first is not above it; were it damaged, the first is taken and the child's
/// own range tells.
#[inline]
pub(crate) fn find_child(body: &[u8], count: usize, target: Position) -> usize {
    let (mut at, mut n) = (0, count);
    let scoped = body[5] & SCOPED != 0;
    while n > 1 {
        let half = n / 2;
        if scoped {
            at = if separator(body, at + half).low <= target { at + half } else { at };
            n -= half;
            continue;
        }
        // Keys are nearly always distinct: the tid is looked at only when they are not.
        let key = get_u64(body, HEADER + (at + half) * SEPARATOR);
        let below = key < target.key || (key == target.key && separator(body, at + half).low <= target);
        at = if below { at + half } else { at };
        n -= half;
    }
    at
}

/// The image of an inner page of these separators.
pub(crate) fn inner_image(mut header: Header, separators: &[Separator]) -> Vec<u8> {
    header.count = separators.len();
    header.used = HEADER + header.separator() * separators.len();
    let mut image = header.image(header.used);
    for s in separators {
        image.extend_from_slice(&s.to_bytes(&header));
    }
    image
}
