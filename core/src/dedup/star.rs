//! Stars: every row that goes was verified against the row that is kept for it.

use super::Standing;
use crate::cpu::by_cpu;
use crate::external::Result;
use crate::fingerprint::{LANES, any_near, hamming};
use crate::groups::UnionFind;
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Room, filled};

/// Divides connected components into stars. Texts are gone through in the order of what is kept of each; a text repeats
/// the nearest one kept so far, within `distance`, that `verify` says it does, the best of those equally near; one that
/// repeats none is kept.
///
/// `components`: of rows whose texts differ, by `first_equal`, connected by verified pairs, among them all of `joined`,
/// which is in order. So no verified pair leaves its component, and only within one are texts compared: in a family of
/// texts that all repeat one, once each.
///
/// # Errors
/// `verify` fails, or there is no memory.
pub fn stars(
    components: &mut UnionFind,
    joined: &[(u32, u32)],
    first_equal: &[u32],
    (fps, distance): (&[u64], u32),
    standing: impl Fn(usize) -> Standing,
    mut verify: impl FnMut(u32, u32) -> Result<bool>,
) -> Result<UnionFind> {
    let mut size = filled(0u32, first_equal.len())?;
    for (row, &first) in checked(first_equal.iter().enumerate()) {
        if row as u32 == first {
            size[components.find(first) as usize] += 1;
        }
    }
    let mut rows: Vec<(u32, Standing, u32)> = Vec::new();
    for (row, &first) in checked(first_equal.iter().enumerate()) {
        let component = components.find(first);
        if size[component as usize] > 1 {
            rows.room(1)?;
            rows.push((component, standing(row), first));
        }
    }
    drop(size);
    sort_unstable_by(&mut rows, Ord::cmp);
    let mut groups = UnionFind::new(first_equal.len());
    let mut placed = filled(false, first_equal.len())?;
    let (mut kept, mut kept_fps, mut near): (Vec<u32>, Vec<u64>, Vec<(u32, usize)>) = Default::default();
    for component in rows.chunk_by(|a, b| a.0 == b.0) {
        kept.clear();
        kept_fps.clear();
        for &(_, _, row) in checked(component) {
            // A text stands where the best of its rows does.
            if std::mem::replace(&mut placed[row as usize], true) {
                continue;
            }
            let fp = fps[row as usize];
            find_near(&kept_fps, fp, distance, &mut near)?;
            near.sort_unstable();
            let mut center = None;
            for &(_, place) in &near {
                let pair = (kept[place].min(row), kept[place].max(row));
                if joined.binary_search(&pair).is_ok() || verify(pair.0, pair.1)? {
                    center = Some(kept[place]);
                    break;
                }
            }
            match center {
                Some(center) => {
                    groups.union(center, row);
                }
                None => {
                    kept.room(1)?;
                    kept.push(row);
                    kept_fps.room(1)?;
                    kept_fps.push(fp);
                }
            }
        }
    }
    Ok(groups)
}

by_cpu! {
    /// The distances and places of the fingerprints within `distance` of one.
    fn find_near(fps: &[u64], fp: u64, distance: u32, near: &mut Vec<(u32, usize)>) -> Result<()> {
        near.clear();
        for (lanes, place) in fps.chunks(LANES).zip((0..).step_by(LANES)) {
            // Of a known number vectors are made.
            let any = match lanes.first_chunk::<LANES>() {
                Some(lanes) => any_near(fp, lanes, distance),
                None => any_near(fp, lanes, distance),
            };
            if any {
                near.room(LANES)?;
                let places = lanes.iter().zip(place..).map(|(&other, place)| (hamming(fp, other), place));
                near.extend(places.filter(|near| near.0 <= distance));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the ranks, copies and fingerprints: each row is verified against the row that is kept for it, or
        /// equals it; of two that are kept none repeats the other; the row that is kept is the best of its group; and
        /// each goes to the nearest that is kept.
        #[test]
        fn every_row_is_verified_against_the_row_that_is_kept(
            ranks in prop::collection::vec(0i64..6, 1..50),
            copies in prop::collection::vec(0usize..50, 50),
            fps in prop::collection::vec(0u64..64, 50),
            distance in 0u32..5,
            seed in any::<u32>(),
        ) {
            let rows = ranks.len();
            // Some rows equal an earlier one.
            let mut class: Vec<u32> = Vec::new();
            for row in 0..rows {
                class.push(if copies[row] < row { class[copies[row]] } else { row as u32 });
            }
            let standing = |row: usize| (ranks[row], row as i64);
            let best = |text: u32| (0..rows).filter(|&row| class[row] == text).map(standing).min().unwrap();
            let apart = |a: u32, b: u32| hamming(fps[a as usize], fps[b as usize]);
            let alike = |a: u32, b: u32| {
                (u64::from(seed) ^ (u64::from(a.min(b)) << 8 | u64::from(a.max(b)))).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 > 0
            };
            let verified = |a: u32, b: u32| a != b && apart(a, b) <= distance && alike(a, b);
            let (mut components, mut joined) = (UnionFind::new(rows), Vec::new());
            for b in 0..rows as u32 {
                for a in 0..b {
                    if class[a as usize] == a && class[b as usize] == b && verified(a, b) && components.union(a, b) {
                        joined.push((a, b));
                    }
                }
            }
            joined.sort_unstable();
            let asked = std::cell::Cell::new(0usize);
            let mut sets = stars(&mut components, &joined, &class, (&fps[..rows], distance), standing, |a, b| {
                asked.set(asked.get() + 1);
                Ok(alike(a, b))
            }).unwrap();
            let group: Vec<u32> = (0..rows).map(|row| sets.find(class[row])).collect();
            let keeper = |row: usize| (0..rows).filter(|&other| group[other] == group[row]).min_by_key(|&row| standing(row)).unwrap();
            let kept: Vec<u32> = (0..rows).filter(|&row| keeper(row) == row).map(|row| class[row]).collect();
            for row in 0..rows {
                let (own, text) = (class[row], class[keeper(row)]);
                let before = kept.iter().filter(|&&other| best(other) < best(own) && verified(own, other));
                if own == text {
                    prop_assert_eq!(before.count(), 0);
                } else {
                    prop_assert!(verified(own, text));
                    prop_assert_eq!(before.map(|&other| (apart(own, other), best(other), other)).min().unwrap().2, text);
                }
            }
            prop_assert!(asked.get() <= rows * kept.len());
        }
    }
}
