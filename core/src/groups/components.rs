//! Connected components of near fingerprints.

use super::connected::Connected;
use super::linker::{Linkage, Linker};
use super::pairs::{Pair, Settings, Span};
use super::parallel::Task;
use super::rows::{Row, Rows};
use super::shared_sets::SharedSets;
use super::union_find::UnionFind;
use crate::external::{Host, Result};
use crate::fingerprint::hamming;
use crate::interrupt;
use crate::memory;

/// For each row the number of the first row of its component: rows are in the same component if a chain of
/// steps of at most `settings.distance` bits connects them.
///
/// With a `diameter`, no component holds two rows farther apart than that:
/// near pairs are taken from the nearest to the farthest (among equals in the
/// order of the rows), and a pair joins its components only if no row of one is
/// farther than `diameter` from a row of the other (complete linkage over near
/// pairs). The result does not depend on `settings.threads`. A diameter below
/// `distance` bounds the pairs too.
///
/// Takes about 40 bytes per row. `settings.memory` bounds only the near pairs that are sorted for a diameter;
/// beyond it they go to a file.
///
/// # Errors
/// A file fails, or there is no memory.
pub fn components<H: Host>(
    fps: &[u64],
    settings: Settings,
    diameter: Option<u32>,
    host: &mut H,
) -> Result<Vec<u32>> {
    let Settings { distance, memory, threads } = settings;
    let rows = memory::collect(fps.iter().enumerate().map(|(i, &fp)| Row { fp, id: i as i64 }))?;
    let rows = Rows::new(rows, threads, host)?;
    let distance = diameter.map_or(distance, |diameter| distance.min(diameter));
    let task = Task { left: &rows.fps, right: None, distance, threads, span: Span::ALL, connected: None };
    // Distinct fingerprints are known by numbers; with a diameter in the order of their
    // first rows, which decides between pairs equally far apart.
    let mut numbers: Vec<u32> = memory::collect(0..rows.fps.len() as u32)?;
    let mut sets = match diameter.filter(|&diameter| diameter < 64) {
        None => {
            let sets = SharedSets::new(0, rows.fps.len());
            let connected = Some(Connected { sets: &sets, left: &numbers, right: &numbers });
            (Task { connected, ..task }).run(host, &mut |_, hits| {
                hits.iter().for_each(|&(a, b)| {
                    sets.union(a, b);
                });
                Ok(true)
            })?;
            UnionFind::from(sets)
        }
        Some(diameter) => {
            let mut order = memory::copy(&numbers)?;
            order.sort_unstable_by_key(|&distinct| rows.run(distinct as usize)[0].id);
            for (number, &distinct) in order.iter().enumerate() {
                numbers[distinct as usize] = number as u32;
            }
            let ordered: Vec<u64> =
                memory::collect(order.iter().map(|&distinct| rows.fps[distinct as usize]))?;
            let mut linker = Linker::new(Linkage::Diameter(diameter), memory, host);
            task.run(host, &mut |_, hits| {
                hits.iter().try_for_each(|&(a, b)| {
                    let [a, b] = [a, b].map(|distinct| numbers[distinct as usize]);
                    let distance = hamming(ordered[a as usize], ordered[b as usize]);
                    linker.add(Pair::new(a.into(), b.into(), distance))
                })?;
                Ok(true)
            })?;
            linker.finish(&ordered, host, |_, pairs| Ok(vec![true; pairs.len()]))?
        }
    };
    // Rows of a run are in the order of their numbers.
    let mut first = memory::filled(u32::MAX, rows.fps.len())?;
    interrupt::check();
    for (distinct, &number) in numbers.iter().enumerate() {
        let least = &mut first[sets.find(number) as usize];
        *least = (*least).min(rows.run(distinct)[0].id as u32);
    }
    let mut component = memory::filled(0, fps.len())?;
    interrupt::check();
    for (distinct, &number) in numbers.iter().enumerate() {
        let least = first[sets.find(number) as usize];
        rows.run(distinct).iter().for_each(|row| component[row.id as usize] = least);
    }
    Ok(component)
}
