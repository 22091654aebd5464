//! The metapage, block 0: options of the index and the roots of its trees.
//!
//! A body holds, behind the page's header: magic (8 bytes), format version (4), length of a body (4), `mu` (8),
//! `fillfactor` (1, and 3 of zero), features (4), 16 roots (4 each), the directories of hot buckets of the four
//! blocks (4 each), the root of the tree of NULLs (4), and the pages that the index used when its buckets were counted
//! last (4, only a hint), `max_bucket` (4), the first free page of each of the 17 trees (4 each; 0 = none), and whether a bulk
//! delete is walking (4; [`recycle`](super::recycle)). *Features* are bits for what an older library would
//! misread; a library refuses an index with a bit that it does not know. Bit 0: the index has scopes. Bit 1: a leaf has come
//! out of its tree. A metapage that was written before ends where the lists begin: what follows is zero, no page is free.
//!
//! Locking: it is read under a shared lock at open, and once per insert for the pointers to the hot
//! buckets' states, which appear while the index lives; roots never move, and options are frozen
//! at build. It is locked exclusively when the second level gets its first pages, with nothing else held but new pages, and
//! after leaves and inner pages when a page becomes free or is used again.
//!
//! WAL: a change of the metapage is in one record with the page it begins to point to.

use super::error::{Error, Result, corrupt, sound};
use super::key::{BLOCKS, Position, TREES, Tree};
use super::leaf::leaf_image;
use super::page::{HEADER, Header, Kind, get_u32, get_u64, put};
use super::storage::{MAX_BODY, MIN_BODY, Pages};

/// The version of the on-disk format.
pub const FORMAT_VERSION: u32 = 2;
/// The metapage's block number.
pub const METAPAGE: u32 = 0;

const MAGIC: u64 = u64::from_le_bytes(*b"pgdedupb");
/// The feature of an index with scopes.
const SCOPES: u32 = 1;
/// The feature of an index of which a leaf has come out.
pub(crate) const RECYCLED: u32 = 2;
pub(crate) const FEATURES: usize = HEADER + 28;
const NULLS: usize = HOT + 4 * BLOCKS;
pub(crate) const COUNTED: usize = NULLS + 4;
pub(crate) const MAX_BUCKET: usize = COUNTED + 4;
pub(crate) const FREE: usize = MAX_BUCKET + 4;
pub(crate) const WALKED: usize = FREE + 4 * (TREES + 1);
pub(crate) const USED: usize = WALKED + 4;
pub(crate) const ROOTS: usize = HEADER + 32;
/// Right behind the roots.
pub(crate) const HOT: usize = ROOTS + 4 * TREES;

/// Options, fixed for the life of an index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// A bucket is hot above `1 + mu` times the average non-empty bucket of its block. 0 to 1e6.
    pub mu: f64,
    /// How full a build packs leaves, in percent: 10 to 100.
    pub fillfactor: u8,
    /// A bucket of more rows is hot too; 0: however many.
    pub max_bucket: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { mu: 2.0, fillfactor: 90, max_bucket: 0 }
    }
}

impl Options {
    /// Checks the ranges.
    pub fn validate(&self) -> Result<()> {
        self.validate_for(MIN_BODY)
    }

    /// Checks the ranges and the size of pages.
    pub(crate) fn validate_for(&self, body_len: usize) -> Result<()> {
        let wrong = if !(MIN_BODY..=MAX_BODY).contains(&body_len) {
            format!("pages of {body_len} bytes cannot hold an index")
        } else if !(0.0..=1e6).contains(&self.mu) {
            format!("mu = {} is outside 0 to 1000000", self.mu)
        } else if !(10..=100).contains(&self.fillfactor) {
            format!("fillfactor = {} is outside 10 to 100", self.fillfactor)
        } else {
            return Ok(());
        };
        Err(Error::Option(wrong.into()))
    }
}

/// An open index: the contents of its metapage. A copy stays valid as long as the index's file: roots never
/// move, and a copy that does not know of a second level yet gives the same answers, only slower on hot
/// buckets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Index {
    pub(crate) options: Options,
    /// By tree number; 0 = the tree does not exist yet.
    pub(crate) roots: [u32; TREES],
    /// By block: the directory of hot buckets' states; 0 = none.
    pub(crate) hot: [u32; BLOCKS],
    /// The root of the [tree of NULLs](Tree::NULLS).
    pub(crate) nulls: u32,
    /// Whether its rows belong to scopes.
    pub(crate) scoped: bool,
    /// Its pages in use when buckets were counted last.
    pub(crate) counted: u32,
}

impl Index {
    /// Reads the metapage.
    pub fn open<P: Pages>(pages: &P) -> Result<Index> {
        let body = pages.read(METAPAGE)?;
        Self::decode(&body, pages.body_len())
    }

    pub(crate) fn decode(body: &[u8], body_len: usize) -> Result<Index> {
        let header = Header::read(METAPAGE, body)?;
        let is_meta = header.is_some_and(|h| h.kind == Kind::Meta) && get_u64(body, HEADER) == MAGIC;
        sound(is_meta, METAPAGE, "this is not the metapage of a banding index")?;
        let found = get_u32(body, HEADER + 8);
        if found != FORMAT_VERSION {
            return Err(Error::Version { found, supported: FORMAT_VERSION });
        }
        let features = get_u32(body, FEATURES);
        if features & !(SCOPES | RECYCLED) != 0 {
            return Err(Error::Features(features));
        }
        let stated = get_u32(body, HEADER + 12) as usize;
        if stated != body_len {
            return corrupt(METAPAGE, format!("pages of {stated} bytes are stated, they have {body_len}"));
        }
        let mut index = Index {
            options: Options {
                mu: f64::from_bits(get_u64(body, HEADER + 16)),
                fillfactor: body[HEADER + 24],
                max_bucket: get_u32(body, MAX_BUCKET),
            },
            roots: [0; TREES],
            hot: [0; BLOCKS],
            nulls: get_u32(body, NULLS),
            scoped: features & SCOPES != 0,
            counted: get_u32(body, COUNTED),
        };
        sound(index.options.validate().is_ok(), METAPAGE, "the options are out of range")?;
        for (n, page) in index.roots.iter_mut().chain(&mut index.hot).enumerate() {
            *page = get_u32(body, ROOTS + 4 * n);
        }
        for tree in (0..BLOCKS).map(Tree::main).chain([Tree::NULLS]) {
            index.root_of(tree)?;
        }
        Ok(index)
    }

    /// An index without any page.
    pub(crate) fn none(options: Options, scoped: bool) -> Index {
        Index { options, roots: [0; TREES], hot: [0; BLOCKS], nulls: 0, scoped, counted: 0 }
    }

    pub(crate) fn image(&self, body_len: usize) -> Vec<u8> {
        let mut header = Header::new(Kind::Meta, Tree::main(0), 0, Position::MIN, None);
        header.used = USED;
        let mut b = header.image(USED);
        b.resize(USED, 0);
        put(&mut b, HEADER, &MAGIC.to_le_bytes());
        put(&mut b, HEADER + 8, &FORMAT_VERSION.to_le_bytes());
        put(&mut b, HEADER + 12, &(body_len as u32).to_le_bytes());
        put(&mut b, HEADER + 16, &self.options.mu.to_bits().to_le_bytes());
        b[HEADER + 24] = self.options.fillfactor;
        for (n, page) in self.roots.iter().chain(&self.hot).enumerate() {
            put(&mut b, ROOTS + 4 * n, &page.to_le_bytes());
        }
        put(&mut b, NULLS, &self.nulls.to_le_bytes());
        put(&mut b, MAX_BUCKET, &self.options.max_bucket.to_le_bytes());
        put(&mut b, COUNTED, &self.counted.to_le_bytes());
        put(&mut b, FEATURES, &if self.scoped { SCOPES } else { 0 }.to_le_bytes());
        b
    }

    /// The pages of an empty index, block 0 first; each is to be padded with zeroes to `body_len`.
    /// For `ambuildempty`, which writes to the init fork.
    pub fn empty_images(options: Options, scoped: bool, body_len: usize) -> Result<Vec<Vec<u8>>> {
        options.validate_for(body_len)?;
        let mut index = Index::none(options, scoped);
        let mut images = vec![Vec::new()];
        for i in 0..BLOCKS {
            let tree = Tree::main(i);
            index.roots[tree.number()] = images.len() as u32;
            images.push(empty_root(tree, scoped, body_len));
        }
        index.nulls = images.len() as u32;
        images.push(empty_root(Tree::NULLS, scoped, body_len));
        images[0] = index.image(body_len);
        Ok(images)
    }

    /// The options frozen at build.
    pub fn options(&self) -> Options {
        self.options
    }

    /// A tree's root; `None` for a second level that does not exist.
    pub(crate) fn root(&self, tree: Tree) -> Option<u32> {
        let root = if tree == Tree::NULLS { self.nulls } else { self.roots[tree.number()] };
        Some(root).filter(|root| *root != 0)
    }

    /// The root of a tree that must exist.
    pub(crate) fn root_of(&self, tree: Tree) -> Result<u32> {
        self.root(tree).map_or_else(|| corrupt(METAPAGE, format!("the {tree} has no root")), Ok)
    }
}

/// The image of a root that is an empty leaf.
pub(crate) fn empty_root(tree: Tree, scoped: bool, body_len: usize) -> Vec<u8> {
    let header = Header::new(Kind::Leaf, tree, 0, Position::MIN, None).scoped(scoped);
    // No entries always fit.
    leaf_image(header, &[], body_len).unwrap_or_default()
}
