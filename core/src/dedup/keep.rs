//! Which row of a group is kept.

/// Which row of a group is kept; among equals the one with the lesser number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Keep {
    /// The row with the least number.
    #[default]
    First,
    /// The row with the greatest number.
    Last,
    /// The row with the longest text, in bytes.
    Longest,
    /// The row with the least value of a column.
    Column {
        /// Its name.
        name: String,
        /// The greatest value instead.
        descending: bool,
    },
}

/// A row as the rule sees it: its rank, then its number. The least of a group is kept.
pub type Precedence = (i64, i64);

impl Keep {
    /// The rank of a row by its number and the length of its text in bytes, if
    /// that is all the rule looks at; `None`: it is [`Key::rank`] of a column.
    pub fn rank(&self, number: i64, length: usize) -> Option<i64> {
        match self {
            Keep::First => Some(0),
            Keep::Last => Some(-number),
            Keep::Longest => Some(-(length as i64)),
            Keep::Column { .. } => None,
        }
    }

    /// Whether the rank follows from the number alone.
    pub fn is_by_number(&self) -> bool {
        matches!(self, Keep::First | Keep::Last)
    }
}

/// The value of the column that decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Key {
    /// NULL: the worst in either order.
    Null,
    /// An integer, a date or a timestamp.
    Integer(i64),
    /// A floating-point number, ordered as PostgreSQL orders it: zeros are equal,
    /// and NaN is above everything, whatever its sign.
    Float(f64),
}

impl Key {
    /// A number that orders rows as the column does; less is better. NULL ranks last: the greatest
    /// number is reserved for it, so the two greatest integers rank equally.
    pub fn rank(self, descending: bool) -> i64 {
        let ordered = match self {
            Key::Null => return i64::MAX,
            Key::Integer(number) => number,
            Key::Float(number) => {
                let number = if number.is_nan() { f64::NAN.abs() } else { number + 0.0 };
                let bits = number.to_bits().cast_signed();
                // As integers, the bits of positive floats are in order, and those of negative ones in reverse.
                bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
            }
        };
        if descending { !ordered } else { ordered }.min(i64::MAX - 1)
    }
}
