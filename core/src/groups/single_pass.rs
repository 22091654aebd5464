//! Single-Pass clustering (P4, 3.3): a row joins the cluster whose centre is
//! nearest, if it is within the distance, else it is the centre of a new one.
//!
//! The paper compares a row with every centre; here they are searched.

use super::centres::{BYTES_PER_CENTRE, Centres};

/// The centre of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Centre {
    /// The number of the centre's row, from 0 in the order of input.
    pub row: u32,
    /// Its Hamming distance; 0 for the centre itself.
    pub distance: u32,
}

/// Assigns rows to centres, one after the other.
///
/// A row is assigned to the nearest centre within the distance, the oldest of those equally near; "within" means
/// at most (P4 says "≤" in its algorithm and "<" in its
/// evaluation). The result depends on the order of the rows.
#[derive(Debug)]
pub struct SinglePass {
    distance: u32,
    rows: u32,
    centres: Centres,
}

impl SinglePass {
    /// No rows yet; clusters of radius `distance`, 0 to 64.
    pub fn new(distance: u32) -> SinglePass {
        SinglePass { distance, rows: 0, centres: Centres::new(usize::MAX) }
    }

    /// Assigns the next row to its centre, which may be itself.
    pub fn assign(&mut self, fp: u64) -> Centre {
        let row = self.rows;
        self.rows += 1;
        if let Some((distance, row)) = self.centres.nearest(fp, self.distance) {
            return Centre { row, distance };
        }
        self.centres.add(fp, row);
        Centre { row, distance: 0 }
    }

    /// Its size in bytes, approximately.
    pub fn memory(&self) -> usize {
        self.centres.len * BYTES_PER_CENTRE
    }

    /// Skips a row that is in no cluster; it takes a number.
    pub fn skip(&mut self) {
        self.rows += 1;
    }
}
