//! What a search may take.

/// Memory and threads.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of working memory.
    pub memory: usize,
    /// Bytes of sketches of sets before they are made shorter, if that is more: what one rules out need not be read.
    pub sketches: usize,
    /// Threads to compute on.
    pub threads: usize,
}
