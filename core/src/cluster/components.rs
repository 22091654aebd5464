//! Connected components of near fingerprints.

use super::linker::{Linkage, Linker};
use super::pairs::{Pair, Settings, Span};
use super::parallel::Task;
use super::rows::{Row, Rows};
use super::union_find::UnionFind;
use crate::external::{Host, Result};
use crate::interrupt;
use crate::memory;
use crate::signature::hamming;

/// For each row the number of the first row of its component: rows are in one
/// component if a chain of steps of at most `distance` bits connects them.
///
/// With a `diameter`, no component holds two rows farther apart than that:
/// near pairs are taken from the nearest to the farthest (among equals by
/// their fingerprints, as unsigned numbers), and a pair joins its components
/// only if no row of one is farther than `diameter` from a row of the other
/// (complete linkage over near pairs). The result depends neither on the order
/// of rows nor on `settings.threads`. A diameter below `distance` bounds the pairs too.
///
/// Takes about 40 bytes a row, whatever `settings` say of memory; that is for
/// the near pairs that a diameter sorts, beyond which they go to a file.
///
/// # Errors
/// What the host fails with.
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
    let task = Task { left: &rows.fps, right: None, distance, threads, span: Span::ALL };
    let mut sets = match diameter.filter(|&diameter| diameter < 64) {
        None => {
            let mut sets = UnionFind::new(rows.fps.len());
            task.run(host, &mut |_, hits| {
                hits.iter().for_each(|&(a, b)| {
                    sets.union(a, b);
                });
                Ok(true)
            })?;
            sets
        }
        Some(diameter) => {
            let mut linker = Linker::new(Linkage::Diameter(diameter), memory, host);
            task.run(host, &mut |_, hits| {
                hits.iter().try_for_each(|&(a, b)| {
                    let distance = hamming(rows.fps[a as usize], rows.fps[b as usize]);
                    linker.add(Pair::new(a.into(), b.into(), distance))
                })?;
                Ok(true)
            })?;
            linker.finish(&rows.fps, host, |_, _, _| Ok(true))?
        }
    };
    // Rows of a run are in the order of their numbers.
    let mut first = memory::filled(u32::MAX, rows.fps.len())?;
    interrupt::check();
    for number in 0..rows.fps.len() {
        let least = &mut first[sets.find(number as u32) as usize];
        *least = (*least).min(rows.run(number)[0].id as u32);
    }
    let mut component = memory::filled(0, fps.len())?;
    interrupt::check();
    for number in 0..rows.fps.len() {
        let least = first[sets.find(number as u32) as usize];
        rows.run(number).iter().for_each(|row| component[row.id as usize] = least);
    }
    Ok(component)
}
