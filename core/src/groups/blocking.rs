//! How fingerprints are cut into blocks, and which buckets of a block can hold near ones.
//!
//! The generalised pigeonhole principle of [`banding`](crate::banding::radii): if two fingerprints are within
//! distance d, there is a block i in which they differ in at most r_i bits, where the r_i + 1 add up to d + 1.
//! Unlike the index, which does not know its rows beforehand, this cuts only the bits in which the rows differ,
//! so that constant bits do not make hot buckets.

use crate::banding::{ball_size, radii};

/// A part of the whole work, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub from: f64,
    pub to: f64,
}

impl Span {
    pub const ALL: Span = Span { from: 0.0, to: 1.0 };

    /// The share of the whole when `share` of the part is done.
    pub fn at(&self, share: f64) -> f64 {
        self.from + share * (self.to - self.from)
    }
}

pub(super) const BLOCKS: usize = 4;
const WIDEST: u32 = 16;

/// Disjoint blocks of bits, each with its radius (-1: not used).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Blocking {
    pub blocks: [Block; BLOCKS],
    pub radii: [i32; BLOCKS],
    pub width: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub mask: u64,
    /// The mask is one run of bits that starts here.
    run: Option<u32>,
}

impl Block {
    fn new(mask: u64) -> Block {
        let shift = mask.trailing_zeros() % 64;
        let ones = mask >> shift;
        Block { mask, run: (ones & ones.wrapping_add(1) == 0).then_some(shift) }
    }

    #[inline]
    pub fn value(&self, fp: u64) -> usize {
        match self.run {
            Some(shift) => ((fp & self.mask) >> shift) as usize,
            None => {
                let (mut mask, mut value, mut at) = (self.mask, 0, 0);
                while mask != 0 {
                    value |= (fp >> mask.trailing_zeros() & 1) << at;
                    mask &= mask - 1;
                    at += 1;
                }
                value as usize
            }
        }
    }
}

impl Blocking {
    /// A blocking of the bits `varying` for pairs within `distance` of `left` rows with `right` others, or
    /// `None` if comparing all pairs is cheaper.
    ///
    /// Blocks are never so wide that most buckets would be empty. A block that omits bits is still exact: fewer
    /// bits have fewer differences.
    pub fn choose(varying: u64, distance: u32, left: usize, right: usize) -> Option<Blocking> {
        let rows = left.max(right).max(2);
        let width = (varying.count_ones() / BLOCKS as u32).min(WIDEST).min(rows.ilog2() + 1);
        if width == 0 {
            return None;
        }
        let radii = radii(distance);
        let share = varying.count_ones() / BLOCKS as u32;
        let mut rest = varying;
        let blocks = std::array::from_fn(|_| {
            let mut mask = 0;
            for taken in 0..share {
                let top = 1 << 63 >> rest.leading_zeros();
                rest &= !top;
                if taken < width {
                    mask |= top;
                }
            }
            Block::new(mask)
        });
        let buckets = f64::from(1 << width);
        let (left, right) = (left as f64, right as f64);
        let block_cost = |radius: &i32| {
            let ball = f64::from(ball_size(width, *radius));
            // Costs in comparisons, of which vectors make many at a time: sorting a row, looking up a bucket, comparing.
            40.0 * (left + right) + 30.0 * left.min(buckets) * ball + left * right * ball / buckets
        };
        let cost: f64 = radii.iter().filter(|radius| **radius >= 0).map(block_cost).sum();
        (cost < left * right).then_some(Blocking { blocks, radii, width })
    }

    pub fn spans(&self) -> [Span; BLOCKS] {
        let work = self.radii.map(|radius| f64::from(ball_size(self.width, radius)));
        let all: f64 = work.iter().sum();
        let mut from = 0.0;
        work.map(|work| {
            let span = Span { from, to: from + work / all };
            from = span.to;
            span
        })
    }

    /// The first block in which two fingerprints, that differ in the bits
    /// `differing`, are within its radius. Each pair is reported there only.
    #[inline]
    pub fn first(&self, differing: u64) -> Option<usize> {
        let near = |i: &usize| (differing & self.blocks[*i].mask).count_ones() as i32 <= self.radii[*i];
        (0..BLOCKS).find(near)
    }
}

/// The values of `width` bits with at most `radius` ones: what to flip in a bucket's number to get those near it.
pub(super) fn ball(width: u32, radius: i32) -> Vec<u32> {
    let within = |value: &u32| value.count_ones() as i32 <= radius;
    (0..1u32 << width).filter(within).collect()
}
