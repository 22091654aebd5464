//! Stars: every row that goes was verified against the row that is kept for it.

use super::Decided;
use crate::external::Result;
use crate::fingerprint::{LANES, any_near, hamming};
use crate::groups::UnionFind;
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Grow, Room, filled};
use multiversion::multiversion;

/// Divides connected components into stars. Each of `texts`, in their order, repeats the nearest one kept so far that `verify`
/// says it does within `distance`, the first of those equally near; or it is kept. What is decided stands over that.
///
/// Verified pairs connect the `components`, those of `joined` among them, which is in order: only within one are texts compared.
pub fn stars(
    components: &mut UnionFind,
    joined: &[(u32, u32)],
    texts: &[u32],
    (fps, distance): (&[u64], u32),
    decided: &Decided,
    mut verify: impl FnMut(u32, u32) -> Result<bool>,
) -> Result<UnionFind> {
    let mut size = filled(0u32, fps.len())?;
    checked(texts).for_each(|&text| size[components.find(text) as usize] += 1);
    let mut placed: Vec<(u32, u32)> = Vec::new();
    for (&text, place) in checked(texts.iter().zip(0..)) {
        let component = components.find(text);
        if size[component as usize] > 1 && !decided.follows(text) {
            placed.grow((component, place))?;
        }
    }
    drop(size);
    sort_unstable_by(&mut placed, Ord::cmp);
    let groups = UnionFind::new(fps.len());
    let (mut kept, mut kept_fps, mut near): (Vec<u32>, Vec<u64>, Vec<(u32, usize)>) = Default::default();
    for component in placed.chunk_by(|a, b| a.0 == b.0) {
        kept.clear();
        kept_fps.clear();
        for &(_, place) in checked(component) {
            let text = texts[place as usize];
            let fp = fps[text as usize];
            find_near(&kept_fps, fp, distance, &mut near)?;
            near.sort_unstable();
            let mut nearest = None;
            for &(_, place) in &near {
                let pair = (kept[place].min(text), kept[place].max(text));
                if !decided.may_join(text, kept[place], |text| groups.find(text)) {
                    continue;
                }
                if joined.binary_search(&pair).is_ok() || verify(pair.0, pair.1)? {
                    nearest = Some(kept[place]);
                    break;
                }
            }
            match nearest {
                Some(nearest) => _ = groups.union(nearest, text),
                None => {
                    kept.grow(text)?;
                    kept_fps.grow(fp)?;
                }
            }
        }
    }
    decided.followers().for_each(|[first, other]| _ = groups.union(first, other));
    Ok(groups)
}

/// The distances and places of the fingerprints within `distance` of one.
#[multiversion(targets(
    "x86_64+avx2+bmi1+bmi2+popcnt+avx512f+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+bmi1+bmi2+popcnt"
))]
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    /// Whatever instructions the processor has: the same as one by one.
    #[test]
    fn near_ones_are_found_as_one_by_one() {
        let fps: Vec<u64> = (0..3 * LANES as u64 + 5).map(|i| mix64(i) & mix64(i + 99)).collect();
        let mut near = Vec::new();
        for (&fp, distance) in fps.iter().zip(0..40) {
            find_near(&fps, fp, distance, &mut near).unwrap();
            let all = fps.iter().zip(0..).map(|(other, place)| ((fp ^ other).count_ones(), place));
            assert_eq!(near, all.filter(|it| it.0 <= distance).collect::<Vec<_>>(), "{distance}");
        }
    }
}
