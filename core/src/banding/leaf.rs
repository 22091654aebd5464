//! Leaves: packed entries, in no order.
//!
//! WAL: an insert into a leaf with room is two patches, the entry's bytes behind the last one and four bytes of
//! header, some tens of bytes in all; keeping the page sorted would log kilobytes. Everything else
//! (repacking, splitting, deleting) is an image of the page. The caller holds the lock on the body.
//!
//! An entry is a little-endian integer of `width` bytes, from the low bits up: key - base, heap
//! block, heap offset. The widths of the three fields stand at offset 52 of the page
//! (`key_bits`, `block_bits`, `offset_bits`, `width`). `base` is the low key,
//! `key_bits` covers the leaf's whole key range, so that any key that will ever belong here fits; the
//! tid's fields are as wide as the tids so far need, plus what rounding up to bytes leaves over. A
//! tid that does not fit has the page repacked, at most once per doubling of the table.
//!
//! Where a leaf's range covers several scopes, scope - low scope follows in bytes of its own, as many as `width`
//! has beyond the three fields; most leaves of large scopes have none.

use super::error::{Result, corrupt, sound};
use super::key::{Position, Tid};
use super::page::{HEADER, Header, USED_AND_COUNT, used_and_count};

const BITS_AT: usize = 52;
/// The damage of a leaf that not all its entries could stand in.
pub(crate) const NARROW: &str = "the entries' keys are narrower than the page's key range";
/// The widest entry: 64 + 32 + 16 bits, and a scope.
pub(crate) const MAX_WIDTH: usize = 14 + 4;

/// An entry's bytes: the first `width` are used.
pub(crate) type Entry = [u8; 20];

/// How a leaf packs its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub scope: u32,
    pub base: u64,
    pub key_bits: u32,
    pub block_bits: u32,
    pub offset_bits: u32,
    /// Bytes of an entry, and those of them that hold its scope.
    pub width: usize,
    pub scope_bytes: usize,
}

fn bits(n: u64) -> u32 {
    64 - n.leading_zeros()
}

#[inline]
fn low_mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

impl Layout {
    /// The narrowest layout for what can stand on a page with that header, and tids up to the given block and offset.
    pub(crate) fn new(header: &Header, max_block: u32, max_offset: u16) -> Self {
        let (low, greatest) = (header.low, header.tree.greatest_key());
        let (last_scope, last) = match header.high {
            None => (if header.scoped { u32::MAX } else { 0 }, greatest),
            Some(h) if h.tid != Tid::default() => (h.scope, h.key),
            Some(h) if h.key > 0 => (h.scope, h.key - 1),
            Some(h) => (h.scope.saturating_sub(1), greatest),
        };
        let scopes = last_scope.saturating_sub(low.scope);
        let key_bits = if scopes > 0 { bits(greatest) } else { bits(last.wrapping_sub(low.key)) };
        let scope_bytes = bits(scopes.into()).div_ceil(8) as usize;
        let block_bits = bits(max_block.into()).max(1);
        let offset_bits = bits(max_offset.into()).max(8);
        let width = (key_bits + block_bits + offset_bits).div_ceil(8);
        // The bits that rounding leaves over go to the heap block, which grows.
        let spare = width * 8 - (key_bits + block_bits + offset_bits);
        let to_block = spare.min(32 - block_bits);
        Layout {
            scope: low.scope,
            base: low.key,
            key_bits,
            block_bits: block_bits + to_block,
            offset_bits: (offset_bits + spare - to_block).min(16),
            width: width as usize + scope_bytes,
            scope_bytes,
        }
    }

    /// The layout of a leaf, checked against its header.
    #[inline]
    pub(crate) fn read(block: u32, body: &[u8], header: &Header) -> Result<Layout> {
        let b: [u8; 4] = match body.get(BITS_AT..BITS_AT + 4).and_then(|b| b.try_into().ok()) {
            Some(b) => b,
            None => return corrupt(block, "the page is too short for a leaf"),
        };
        let total = u32::from(b[0]) + u32::from(b[1]) + u32::from(b[2]);
        let layout = Layout {
            scope: header.low.scope,
            base: header.low.key,
            key_bits: b[0].into(),
            block_bits: b[1].into(),
            offset_bits: b[2].into(),
            width: b[3].into(),
            scope_bytes: usize::from(b[3]).saturating_sub(total.div_ceil(8) as usize),
        };
        let sane = layout.key_bits <= 64
            && layout.block_bits <= 32
            && layout.offset_bits <= 16
            && (1..=MAX_WIDTH).contains(&layout.width)
            && total as usize <= layout.width * 8
            && layout.scope_bytes <= if header.scoped { 4 } else { 0 }
            && header.used == HEADER + header.count * layout.width;
        sound(sane, block, "the layout of the leaf's entries contradicts its header")?;
        Ok(layout)
    }

    /// Whether keys and scopes are wide enough for the page's whole range.
    pub(crate) fn covers(&self, header: &Header) -> bool {
        let least = Layout::new(header, 0, 0);
        self.key_bits >= least.key_bits && self.scope_bytes >= least.scope_bytes
    }

    /// Whether a tid's fields are wide enough for `tid`.
    pub(crate) fn fits(&self, tid: Tid) -> bool {
        bits(tid.block().into()) <= self.block_bits && bits(tid.offset().into()) <= self.offset_bits
    }

    #[inline]
    pub(crate) fn encode(&self, at: Position) -> Entry {
        let key = u128::from(at.key.wrapping_sub(self.base) & low_mask(self.key_bits));
        let block = u128::from(at.tid.block()) << self.key_bits;
        let offset = u128::from(at.tid.offset()) << (self.key_bits + self.block_bits);
        let mut entry = [0; 20];
        entry[..16].copy_from_slice(&(key | block | offset).to_le_bytes());
        if self.scope_bytes > 0 {
            let from = self.width.min(MAX_WIDTH) - self.scope_bytes;
            entry[from..from + 4].copy_from_slice(&at.scope.wrapping_sub(self.scope).to_le_bytes());
        }
        entry
    }

    /// The scope of the entry in `width` bytes.
    #[inline]
    fn scope_of(&self, entry: &[u8]) -> u32 {
        let mut b = [0; 4];
        let from = &entry[entry.len() - self.scope_bytes.min(entry.len()).min(4)..];
        b[..from.len()].copy_from_slice(from);
        self.scope.wrapping_add(u32::from_le_bytes(b))
    }

    /// The entry in `width` bytes.
    #[inline]
    pub(crate) fn decode(&self, entry: &[u8]) -> Position {
        let mut b = [0; 16];
        // What of the scope gets here stands above the other fields.
        b[..entry.len().min(16)].copy_from_slice(&entry[..entry.len().min(16)]);
        let n = u128::from_le_bytes(b);
        let rest = (n >> self.key_bits) as u64;
        let block = rest & low_mask(self.block_bits);
        let offset = rest >> self.block_bits & low_mask(self.offset_bits);
        Position {
            scope: if self.scope_bytes == 0 { self.scope } else { self.scope_of(entry) },
            key: (n as u64 & low_mask(self.key_bits)).wrapping_add(self.base),
            tid: Tid::new(block as u32, offset as u16),
        }
    }

    /// How many entries fit a body.
    pub(crate) fn capacity(&self, body_len: usize) -> usize {
        (body_len - HEADER) / self.width
    }
}

/// A leaf that has been read and checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leaf<'b> {
    pub header: Header,
    pub layout: Layout,
    entries: &'b [u8],
}

impl<'b> Leaf<'b> {
    /// Reads a leaf whose header has been checked.
    #[inline]
    pub(crate) fn read(block: u32, body: &'b [u8], header: Header) -> Result<Self> {
        let layout = Layout::read(block, body, &header)?;
        Ok(Leaf { header, layout, entries: &body[HEADER..header.used] })
    }

    /// The entries, in the order of insertion.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Position> + 'b {
        let layout = self.layout;
        self.entries.chunks_exact(layout.width).map(move |e| layout.decode(e))
    }

    /// Calls `found` for the entries of the scope, or of all, whose key differs from `key` in at most `distance` bits.
    #[inline]
    pub(crate) fn near(&self, scope: Option<u32>, key: u64, distance: u32, mut found: impl FnMut(Position)) {
        let (l, e) = (&self.layout, self.entries);
        if l.scope_bytes > 0 {
            let of_scope = |entry: &&[u8]| scope.is_none_or(|scope| l.scope_of(entry) == scope);
            let entries = e.chunks_exact(l.width).filter(of_scope).map(|entry| l.decode(entry));
            return entries.filter(|at| (at.key ^ key).count_ones() <= distance).for_each(found);
        }
        if scope.is_some_and(|scope| scope != l.scope) {
            return;
        }
        // One loop per width: with the stride known the loads need no bounds checks.
        macro_rules! of_width {
            ($($width:literal)*) => {
                match l.width {
                    $($width => near::<$width>(l, e, key, distance, &mut found),)*
                    _ => near::<14>(l, e, key, distance, &mut found),
                }
            };
        }
        of_width!(1 2 3 4 5 6 7 8 9 10 11 12 13)
    }

    /// Whether the leaf holds exactly this entry.
    pub(crate) fn contains(&self, at: Position) -> bool {
        let mut found = false;
        self.near(Some(at.scope), at.key, 0, |p| found |= p == at);
        found
    }
}

/// Entries whose distances are computed together.
const LANES: usize = 8;

/// The inner loop of a search: load, mask, add, xor, count, compare. Eight entries are processed without a
/// branch, which compilers vectorise even where there is no popcount instruction; only if one of them is near
/// are they examined one by one, and tids decoded.
#[inline]
fn near<const W: usize>(
    layout: &Layout,
    entries: &[u8],
    key: u64,
    distance: u32,
    found: &mut impl FnMut(Position),
) {
    let (mask, base) = (low_mask(layout.key_bits), layout.base);
    let diff = |entry: &[u8; W]| {
        let mut b = [0; 8];
        let n = if W < 8 { W } else { 8 };
        b[..n].copy_from_slice(&entry[..n]);
        (u64::from_le_bytes(b) & mask).wrapping_add(base) ^ key
    };
    let (blocks, rest) = entries.as_chunks::<W>().0.as_chunks::<LANES>();
    for block in blocks {
        let diffs: [u64; LANES] = std::array::from_fn(|n| diff(&block[n]));
        let mut near = 0u64;
        for d in diffs {
            near |= u64::from(d.count_ones()).wrapping_sub(u64::from(distance) + 1);
        }
        if near >> 63 != 0 {
            for (d, entry) in diffs.iter().zip(block) {
                if d.count_ones() <= distance {
                    found(layout.decode(entry));
                }
            }
        }
    }
    for entry in rest {
        if diff(entry).count_ones() <= distance {
            found(layout.decode(entry));
        }
    }
}

/// The image of a leaf that holds `entries`, packed as tightly as they allow; `None` if they do not
/// fit a body of `body_len` bytes.
pub(crate) fn leaf_image(header: Header, entries: &[Position], body_len: usize) -> Option<Vec<u8>> {
    let block = entries.iter().map(|p| p.tid.block()).max().unwrap_or(0);
    let offset = entries.iter().map(|p| p.tid.offset()).max().unwrap_or(0);
    let layout = Layout::new(&header, block, offset);
    (entries.len() <= layout.capacity(body_len)).then(|| packed_image(header, &layout, entries))
}

/// The image of a leaf with a given layout, which the entries fit.
pub(crate) fn packed_image(mut header: Header, layout: &Layout, entries: &[Position]) -> Vec<u8> {
    header.count = entries.len();
    header.used = HEADER + entries.len() * layout.width;
    let mut image = header.image(header.used);
    image[BITS_AT] = layout.key_bits as u8;
    image[BITS_AT + 1] = layout.block_bits as u8;
    image[BITS_AT + 2] = layout.offset_bits as u8;
    image[BITS_AT + 3] = layout.width as u8;
    for entry in entries {
        image.extend_from_slice(&layout.encode(*entry)[..layout.width]);
    }
    image
}

/// Removes the entries for which `is_dead`, asked by number, holds. The last one replaces a removed one: entries that do not
/// move are not logged.
pub(crate) fn remove_dead(entries: &mut Vec<Position>, mut is_dead: impl FnMut(usize, &Position) -> bool) {
    for n in (0..entries.len()).rev() {
        if is_dead(n, &entries[n]) {
            entries.swap_remove(n);
        }
    }
}

/// How an entry gets into a leaf.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Written behind the last one; `counts` go to offset 6.
    Append { at: usize, entry: Entry, width: usize, counts: [u8; 4] },
    /// The page is repacked with wider fields.
    Repack(Vec<u8>),
    /// The leaf is full.
    Split,
}

impl Plan {
    /// The patches of an append; empty ones for other plans.
    pub(crate) fn patches(&self) -> [(usize, &[u8]); 2] {
        match self {
            Plan::Append { at, entry, width, counts } => [(*at, &entry[..*width]), (USED_AND_COUNT, counts)],
            Plan::Repack(_) | Plan::Split => [(0, &[]); 2],
        }
    }
}

pub(crate) fn plan_insert(leaf: &Leaf<'_>, entry: Position, body_len: usize) -> Plan {
    let (h, l) = (&leaf.header, &leaf.layout);
    if l.fits(entry.tid) {
        if h.used + l.width > body_len {
            return Plan::Split;
        }
        let counts = used_and_count(h.used + l.width, h.count + 1);
        return Plan::Append { at: h.used, entry: l.encode(entry), width: l.width, counts };
    }
    let mut entries: Vec<Position> = leaf.iter().collect();
    entries.push(entry);
    leaf_image(*h, &entries, body_len).map_or(Plan::Split, Plan::Repack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::banding::key::Tree;
    use crate::banding::page::Kind;
    use crate::hash::GOLDEN;

    /// Protects the packing: every width from a run of one key to full 64-bit ranges round-trips.
    #[test]
    fn banding_leaf_entries_round_trip_at_every_width() {
        for key_bits in 0..=64u32 {
            for (block, offset) in
                [(0, 1), (1, 200), (0xffff, 291), (u32::MAX - 1, 2047), (u32::MAX, u16::MAX)]
            {
                let low = Position::start(0, if key_bits == 64 { 0 } else { 1 << 63 });
                let top = low.key.wrapping_add(low_mask(key_bits));
                let high = (top != u64::MAX).then(|| Position::start(0, top + 1));
                let header = Header::new(Kind::Leaf, Tree::main(1), 0, low, high);
                let entry = |n: u16| {
                    let key = low.key.wrapping_add(u64::from(n).wrapping_mul(GOLDEN) & low_mask(key_bits));
                    Position { scope: 0, key, tid: Tid::new(block / (u32::from(n) + 1), offset / (n + 1)) }
                };
                let entries: Vec<Position> = (0..20).map(entry).collect();
                let mut body = leaf_image(header, &entries, 512).unwrap();
                body.resize(512, 0);
                let header = Header::read(1, &body).unwrap().unwrap();
                let leaf = Leaf::read(1, &body, header).unwrap();
                assert_eq!(leaf.iter().collect::<Vec<_>>(), entries);
                for distance in [0, 3, 20, 64] {
                    let mut near = Vec::new();
                    leaf.near(None, entries[7].key, distance, |p| near.push(p));
                    let expected =
                        entries.iter().filter(|p| (p.key ^ entries[7].key).count_ones() <= distance);
                    assert_eq!(near, expected.copied().collect::<Vec<_>>());
                }
            }
        }
    }
}
