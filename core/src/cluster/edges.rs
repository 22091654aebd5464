//! Pairs in an order, within a bound of memory.

use crate::banding::spill::{Runs, Sorter};
use crate::banding::{Position, Result, Spill, Tid};

/// A near pair of rows by their numbers, `a` before `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    pub a: u32,
    pub b: u32,
    pub distance: u32,
}

/// What edges are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The distance, then the rows.
    Nearest,
    /// The later row, then the distance, then the earlier row.
    LaterRow,
}

impl Order {
    fn to_position(self, edge: Edge) -> Position {
        let (high, middle, low) = match self {
            Order::Nearest => (edge.distance, edge.a, edge.b),
            Order::LaterRow => (edge.b, edge.distance, edge.a),
        };
        Position { key: u64::from(high) << 32 | u64::from(middle), tid: Tid::from_bits(low.into()) }
    }

    fn to_edge(self, position: Position) -> Edge {
        let (high, middle) = ((position.key >> 32) as u32, position.key as u32);
        let low = position.tid.bits() as u32;
        match self {
            Order::Nearest => Edge { distance: high, a: middle, b: low },
            Order::LaterRow => Edge { b: high, distance: middle, a: low },
        }
    }
}

/// Collects edges, then gives them back in order. Those that do not fit in
/// memory wait in a file, 14 bytes each.
pub(super) struct Edges<F: Spill> {
    order: Order,
    memory: usize,
    runs: Runs<F>,
    sorter: Sorter,
    count: u64,
}

impl<F: Spill> Edges<F> {
    pub fn new(order: Order, memory: usize, file: F) -> Edges<F> {
        Edges { order, memory, runs: Runs::new(file), sorter: Sorter::new(memory), count: 0 }
    }

    pub fn add(&mut self, edge: Edge) -> Result<()> {
        self.count += 1;
        self.sorter.add(&mut self.runs, self.order.to_position(edge))
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Calls `each` with all edges, in order.
    pub fn for_each(mut self, mut each: impl FnMut(Edge) -> Result<()>) -> Result<()> {
        let order = self.order;
        self.sorter.finish(&mut self.runs, self.memory, |position| each(order.to_edge(position)))
    }
}
