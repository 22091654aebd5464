//! Names of groups that are formed anew.

use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{self, Room, filled};
use std::collections::HashSet;

/// A row of a group that is formed anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named {
    /// Its number in the order in which rows arrived.
    pub arrival: i64,
    /// The name of the group that it was in, if it was in one.
    pub before: Option<i64>,
    /// The number of its group now.
    pub part: u32,
    /// Its number.
    pub row: u32,
}

/// The names of the `parts` groups, by their numbers; and of each name that is gone though rows that had it are there, the
/// oldest of these.
///
/// A name stays with the group that has the oldest row of those that had it. A group with several keeps the oldest, or the one
/// in `kept`, which a row of it had. One with none is named by its first row. So no two groups have the same name.
pub fn names(
    mut rows: Vec<Named>,
    parts: usize,
    kept: &[(u32, i64)],
) -> memory::Result<(Vec<i64>, Vec<Named>)> {
    sort_unstable_by(&mut rows, |a, b| a.arrival.cmp(&b.arrival));
    let mut names = filled(i64::MAX, parts)?;
    let mut taken: HashSet<i64> = HashSet::new();
    let mut oldest: Vec<Named> = Vec::new();
    for &row in checked(&rows) {
        let name = &mut names[row.part as usize];
        *name = (*name).min(row.arrival);
        taken.room(1)?;
        oldest.room(1)?;
        if let Some(before) = row.before.filter(|before| taken.insert(*before)) {
            *name = (*name).min(before);
            oldest.push(row);
        }
    }
    for &(part, name) in kept {
        names[part as usize] = name;
    }
    oldest.retain(|row| Some(names[row.part as usize]) != row.before);
    // A group that keeps its name may have older rows of others.
    let mut gone: HashSet<Option<i64>> = oldest.iter().map(|row| row.before).collect();
    checked(&names).for_each(|&name| {
        gone.remove(&Some(name));
    });
    oldest.retain(|row| gone.contains(&row.before));
    Ok((names, oldest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Rows come, leave and are grouped in any way, again and again: no two groups have one name, the oldest row that
        /// had a name keeps it unless its group has an older one, and names that are gone are told.
        #[test]
        fn groups_have_names_of_their_own_whatever_comes_and_goes(
            steps in prop::collection::vec(prop::collection::vec((any::<bool>(), any::<bool>(), 0u32..6), 12), 1..8),
        ) {
            // The name of the group of each row, by its arrival.
            let mut there: BTreeMap<i64, Option<i64>> = BTreeMap::new();
            let mut arrived = 0;
            for step in steps {
                let gone: Vec<i64> = there.keys().zip(&step).filter(|(_, it)| it.0).map(|(&row, _)| row).collect();
                gone.iter().for_each(|row| { there.remove(row); });
                for _ in step.iter().filter(|it| it.1) {
                    arrived += 1;
                    there.insert(arrived, None);
                }
                let parts = step.iter().cycle().map(|it| it.2);
                let rows: Vec<Named> = there.iter().zip(parts).zip(0..)
                    .map(|(((&arrival, &before), part), row)| Named { arrival, before, part, row }).collect();
                let (named, absorbed) = names(rows.clone(), 6, &[]).unwrap();
                for a in &rows {
                    for b in &rows {
                        prop_assert_eq!(named[a.part as usize] == named[b.part as usize], a.part == b.part);
                    }
                    if a.before.is_some() && rows.iter().all(|b| b.before != a.before || b.arrival >= a.arrival) {
                        let name = Some(named[a.part as usize]);
                        prop_assert!(name <= a.before);
                        prop_assert_eq!(absorbed.contains(a), name != a.before);
                    }
                }
                there = rows.iter().map(|row| (row.arrival, Some(named[row.part as usize]))).collect();
            }
        }
    }
}
