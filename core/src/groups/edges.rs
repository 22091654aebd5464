//! Near pairs in an order, within a bound of memory.

use crate::external::{Result, Sorter, Spill};

/// A near pair of rows by their numbers, `a` before `b`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Edge {
    pub a: u32,
    pub b: u32,
    pub distance: u32,
}

/// The order of edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// The distance, then the rows.
    Nearest,
    /// The later row, then the distance, then the earlier row.
    LaterRow,
}

impl Order {
    fn to_record(self, Edge { a, b, distance }: Edge) -> [u32; 3] {
        match self {
            Order::Nearest => [distance, a, b],
            Order::LaterRow => [b, distance, a],
        }
    }

    fn to_edge(self, record: [u32; 3]) -> Edge {
        match (self, record) {
            (Order::Nearest, [distance, a, b]) | (Order::LaterRow, [b, distance, a]) => {
                Edge { a, b, distance }
            }
        }
    }
}

/// Collects edges, then returns them in order. Those that do not fit in memory
/// wait in a file, 12 bytes each.
pub(super) struct Edges<F: Spill> {
    order: Order,
    sorter: Sorter<[u32; 3], F>,
}

impl<F: Spill> Edges<F> {
    pub fn new(order: Order, memory: usize, file: F) -> Edges<F> {
        Edges { order, sorter: Sorter::new(memory, file) }
    }

    pub fn add(&mut self, edge: Edge) -> Result<()> {
        self.sorter.add(self.order.to_record(edge))
    }

    /// The number of edges.
    pub fn count(&self) -> u64 {
        self.sorter.count()
    }

    /// Calls `each` with all edges, in order.
    pub fn for_each(self, mut each: impl FnMut(Edge) -> Result<()>) -> Result<()> {
        let order = self.order;
        self.sorter.finish(|record| each(order.to_edge(record)))
    }
}
