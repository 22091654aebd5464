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
    checked(&names).for_each(|&name| _ = gone.remove(&Some(name)));
    oldest.retain(|row| gone.contains(&row.before));
    Ok((names, oldest))
}
