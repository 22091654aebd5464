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

/// A row as the rule sees it: its rank, then its number. The least of a group is
/// kept.
pub type Standing = (i64, i64);

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    /// As PostgreSQL orders floating-point numbers.
    fn by_float(a: f64, b: f64) -> Ordering {
        a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
    }

    proptest! {
        /// Ranks order as the column does, in both directions, and NULL is last.
        #[test]
        fn ranks_order_as_the_column(a in any::<i64>(), b in any::<i64>(), x in any::<f64>(), y in any::<f64>()) {
            prop_assume!(a.max(b) < i64::MAX - 1 && a.min(b) > i64::MIN + 1);
            prop_assert_eq!(Key::Integer(a).rank(false).cmp(&Key::Integer(b).rank(false)), a.cmp(&b));
            prop_assert_eq!(Key::Integer(a).rank(true).cmp(&Key::Integer(b).rank(true)), b.cmp(&a));
            prop_assert_eq!(Key::Float(x).rank(false).cmp(&Key::Float(y).rank(false)), by_float(x, y));
            prop_assert_eq!(Key::Float(x).rank(true).cmp(&Key::Float(y).rank(true)), by_float(y, x));
            for descending in [false, true] {
                prop_assert!(Key::Integer(a).rank(descending) < Key::Null.rank(descending));
                prop_assert!(Key::Float(x).rank(descending) < Key::Null.rank(descending));
            }
        }

        /// The least standing is the row that going through the group would choose.
        #[test]
        fn the_least_standing_is_kept(lengths in prop::collection::vec(0usize..4, 1..12)) {
            let kept = |keep: Keep| {
                let standing = |(number, &length): (usize, &usize)| (keep.rank(number as i64, length), number);
                lengths.iter().enumerate().map(standing).min().map(|(_, number)| number)
            };
            let longest = lengths.iter().max().and_then(|most| lengths.iter().position(|length| length == most));
            prop_assert_eq!(kept(Keep::First), Some(0));
            prop_assert_eq!(kept(Keep::Last), Some(lengths.len() - 1));
            prop_assert_eq!(kept(Keep::Longest), longest);
        }
    }

    /// Protects the ends of the ranges and the signs of zero and NaN.
    #[test]
    fn special_values() {
        assert_eq!(Key::Float(-0.0).rank(false), Key::Float(0.0).rank(false));
        assert_eq!(Key::Float(-f64::NAN).rank(false), Key::Float(f64::NAN).rank(false));
        assert!(Key::Float(f64::INFINITY).rank(false) < Key::Float(f64::NAN).rank(false));
        assert!(Key::Integer(i64::MAX).rank(false) < Key::Null.rank(false));
        assert!(Key::Integer(i64::MIN).rank(true) < Key::Null.rank(true));
    }
}
