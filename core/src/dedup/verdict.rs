//! What is said of a row.

/// How a row was caught.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It is the kept row of its group.
    Kept,
    /// Its text equals the kept row's.
    Exact,
    /// It is near, by itself or by a chain of near rows.
    Near,
    /// Its text is NULL or empty: it equals nothing.
    Empty,
}

/// A row of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member {
    /// Its number.
    pub number: i64,
    /// The number of the first row with an equal text, maybe its own.
    pub class: i64,
    /// Its text is NULL or empty.
    pub empty: bool,
}

impl Stage {
    /// How many there are.
    pub const COUNT: usize = 4;

    /// How a row was caught whose group keeps the row `keeper`.
    pub fn of(row: Member, keeper: Member) -> Stage {
        if row.empty {
            Stage::Empty
        } else if row.number == keeper.number {
            Stage::Kept
        } else if row.class == keeper.class {
            Stage::Exact
        } else {
            Stage::Near
        }
    }

    /// As a word.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Kept => "kept",
            Stage::Exact => "exact",
            Stage::Near => "near",
            Stage::Empty => "empty",
        }
    }

    /// Distance in bits and similarity to the kept row, where they need no comparison.
    pub fn known(self) -> Option<(Option<u32>, Option<f64>)> {
        match self {
            Stage::Kept | Stage::Empty => Some((None, None)),
            Stage::Exact => Some((Some(0), Some(1.0))),
            Stage::Near => None,
        }
    }
}
