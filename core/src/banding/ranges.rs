//! The key ranges that a leg of a search reads, and the rows that it reports.

use super::key::{BLOCKS, Position, Tree};
use super::schedule::{Radii, Shell};

/// The key ranges of a leg.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ranges {
    /// All keys.
    All,
    /// All keys of the scopes from one to another.
    Scopes(u32, u32),
    /// The buckets of a shell in a scope.
    Buckets(u32, Shell),
    /// Keys with this prefix of 28 bits: bucket and sub-block.
    Prefix(u64),
}

impl Ranges {
    /// All keys of a scope, or of all.
    pub(crate) fn of(scope: Option<u32>) -> Ranges {
        scope.map_or(Ranges::All, |scope| Ranges::Scopes(scope, scope))
    }

    /// The first and the last position of the scopes that they are a part of, if not all are.
    pub(crate) fn within(&self) -> Option<(Position, Position)> {
        let (first, last) = match self {
            Ranges::Scopes(first, last) => (*first, *last),
            Ranges::Buckets(scope, _) => (*scope, *scope),
            Ranges::All | Ranges::Prefix(_) => return None,
        };
        Some((Position::start(first, 0), Position::end(last)))
    }

    /// The least wanted position at or above `mark`.
    pub(crate) fn next(&self, mark: Position) -> Option<Position> {
        match self {
            Ranges::All => Some(mark),
            Ranges::Scopes(first, last) => {
                Some(mark.max(Position::start(*first, 0))).filter(|target| target.scope <= *last)
            }
            Ranges::Buckets(scope, shell) => {
                let mark = mark.max(Position::start(*scope, 0));
                if mark.scope > *scope {
                    return None;
                }
                let bucket = shell.next(mark.bucket())?;
                // The rest of the mark's own bucket, or the start of a later one.
                Some(mark.max(Position::start(*scope, u64::from(bucket) << 48)))
            }
            Ranges::Prefix(prefix) => {
                let target = mark.max(Position::start(0, prefix << 36));
                (target.key >> 36 == *prefix).then_some(target)
            }
        }
    }
}

/// Which differences from the query a leg reports.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Filter {
    /// All within the distance.
    Any,
    /// Block i within its radius, and no block before it.
    FirstBlock(usize, Radii),
    /// The same for a hot bucket: block i equal, its sub-block j the first equal one.
    FirstSubBlock(usize, usize),
    /// Block i exactly at its radius, the others beyond theirs.
    Shell(usize, Radii),
}

impl Filter {
    /// Whether this leg reports a row that differs from the query by `diff`.
    #[inline]
    pub(crate) fn lets_through(&self, diff: u64) -> bool {
        let block = |i: usize| (diff.rotate_left(16 * i as u32) >> 48).count_ones() as i32;
        match *self {
            Filter::Any => true,
            Filter::FirstBlock(i, radii) => block(i) <= radii[i] && (0..i).all(|j| block(j) > radii[j]),
            Filter::Shell(i, radii) => {
                (0..BLOCKS).all(|j| if j == i { block(j) == radii[j] } else { block(j) > radii[j] })
            }
            Filter::FirstSubBlock(i, j) => {
                let key = Tree::main(i).key(diff);
                let sub = |j: usize| key >> (36 - 12 * j) & 0xfff;
                block(i) == 0 && (0..i).all(|k| block(k) > 0) && sub(j) == 0 && (0..j).all(|k| sub(k) != 0)
            }
        }
    }
}
