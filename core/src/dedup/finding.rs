//! What is found about a row.

/// What is found about a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finding {
    /// The kept row of its group.
    pub keeper: usize,
    /// How it was caught.
    pub stage: Stage,
    /// Bits between it and the kept row, if they are known.
    pub distance: Option<u32>,
    /// How similar it is to the kept row.
    pub similarity: Option<f64>,
}

/// How a row was caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It is the kept row of its group.
    Kept,
    /// Its text equals the kept row's.
    Exact,
    /// It is near, by itself or by a chain of near rows.
    Near,
    /// Somebody has decided that it is the same.
    Decided,
    /// It has nothing to compare, and equals nothing.
    Empty,
}

impl Stage {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// As the column `stage` has it.
    pub fn name(self) -> &'static str {
        ["kept", "exact", "near", "decided", "empty"][self as usize]
    }
}
