//! Connected components of near fingerprints.

use super::pairs::Host;
use super::parallel::Task;
use super::rows::{Row, Rows};
use super::union_find::UnionFind;
use crate::banding::Result;
use crate::signature::hamming;

/// For each row the number of the first row of its component: rows are in one
/// component if a chain of steps of at most `distance` bits connects them.
///
/// With a `diameter`, no component holds two rows farther apart than that:
/// near pairs are taken from the nearest to the farthest (among equals by
/// their fingerprints, as unsigned numbers), and a pair joins its components
/// only if no row of one is farther than `diameter` from a row of the other
/// (complete linkage over near pairs). The result depends neither on the order
/// of rows nor on `threads`. A diameter below `distance` bounds the pairs too.
///
/// Takes about 40 bytes a row, and with a diameter 12 a pair of distinct near
/// fingerprints.
///
/// # Errors
/// What the host fails with.
pub fn components<H: Host>(
    fps: &[u64],
    distance: u32,
    diameter: Option<u32>,
    threads: usize,
    host: &mut H,
) -> Result<Vec<u32>> {
    let rows = fps.iter().enumerate().map(|(i, &fp)| Row { fp, id: i as i64 }).collect();
    let rows = Rows::new(rows, threads, host)?;
    let distance = diameter.map_or(distance, |diameter| distance.min(diameter));
    let task = Task { left: &rows.fps, right: None, distance, threads };
    let mut sets = UnionFind::new(rows.fps.len());
    match diameter.filter(|&diameter| diameter < 64) {
        None => {
            task.run(host, &mut |_, hits| {
                hits.iter().for_each(|&(a, b)| {
                    sets.union(a, b);
                });
                Ok(true)
            })?;
        }
        Some(diameter) => {
            let mut pairs = Vec::new();
            task.run(host, &mut |_, hits| {
                let apart = |&(a, b): &(u32, u32)| hamming(rows.fps[a as usize], rows.fps[b as usize]);
                pairs.extend(hits.iter().map(|hit| (apart(hit), hit.0.min(hit.1), hit.0.max(hit.1))));
                Ok(true)
            })?;
            pairs.sort_unstable();
            Guarded::new(&rows.fps, diameter).join(&pairs, &mut sets, host)?;
        }
    }
    // Rows of a run are in the order of their numbers.
    let mut first = vec![u32::MAX; rows.fps.len()];
    for number in 0..rows.fps.len() {
        let least = &mut first[sets.find(number as u32) as usize];
        *least = (*least).min(rows.run(number)[0].id as u32);
    }
    let mut component = vec![0; fps.len()];
    for number in 0..rows.fps.len() {
        let least = first[sets.find(number as u32) as usize];
        rows.run(number).iter().for_each(|row| component[row.id as usize] = least);
    }
    Ok(component)
}

/// Components that do not grow beyond a diameter.
struct Guarded<'f> {
    fps: &'f [u64],
    diameter: u32,
    /// The members of a component, at its root; a lone one has no list.
    members: Vec<Vec<u32>>,
    /// The bits in which members of a component differ, at its root.
    varying: Vec<u64>,
}

impl Guarded<'_> {
    fn new(fps: &[u64], diameter: u32) -> Guarded<'_> {
        Guarded { fps, diameter, members: vec![Vec::new(); fps.len()], varying: vec![0; fps.len()] }
    }

    fn join<H: Host>(&mut self, pairs: &[(u32, u32, u32)], sets: &mut UnionFind, host: &mut H) -> Result<()> {
        let mut work = 0;
        for &(_, a, b) in pairs {
            let (a, b) = (sets.find(a), sets.find(b));
            if a == b {
                continue;
            }
            let (root, other) = (a.min(b), a.max(b));
            let theirs = self.list(other);
            let mine = self.list(root);
            work += mine.len() * theirs.len() + 1;
            if work > 1 << 20 {
                work = 0;
                host.check()?;
            }
            let (one, two) = (self.fps[root as usize], self.fps[other as usize]);
            let varying = self.varying[root as usize] | self.varying[other as usize] | one ^ two;
            // Most often no two rows can differ in more bits than vary at all.
            let fits = varying.count_ones() <= self.diameter
                || mine.iter().all(|&m| {
                    let apart = |&t: &u32| hamming(self.fps[m as usize], self.fps[t as usize]);
                    theirs.iter().all(|t| apart(t) <= self.diameter)
                });
            if !fits {
                (self.members[root as usize], self.members[other as usize]) = (mine, theirs);
                continue;
            }
            sets.union(root, other);
            self.varying[root as usize] = varying;
            let (mut long, short) = if mine.len() >= theirs.len() { (mine, theirs) } else { (theirs, mine) };
            long.extend_from_slice(&short);
            self.members[root as usize] = long;
        }
        Ok(())
    }

    /// Takes the list of a root's members away.
    fn list(&mut self, root: u32) -> Vec<u32> {
        let list = std::mem::take(&mut self.members[root as usize]);
        if list.is_empty() { vec![root] } else { list }
    }
}
