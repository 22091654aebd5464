//! Which row is what: an original, a duplicate of an earlier row, or an earlier
//! row moved to another place. Every answer is computed from the row's number,
//! so nothing has to be remembered between rows.

use crate::options::{Options, share};
use crate::rng::Rng;
use clap::Parser;

/// What the whole desk depends on.
#[derive(Clone, Debug, PartialEq, clap::Args)]
pub struct Settings {
    /// Rows to write, 1000 to 10000000
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1_000..=10_000_000))]
    pub rows: u64,
    /// Another desk for every number
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
    /// Share of rows that are duplicates of an earlier row
    #[arg(long, value_name = "X", default_value_t = 0.2, value_parser = share)]
    pub duplicates: f64,
    /// Share of rows that are an earlier row moved to another place, which makes them another petition
    #[arg(long, value_name = "X", default_value_t = 0.03, value_parser = share)]
    pub hard_negatives: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Options::parse_from(["petition_desk"]).settings
    }
}

/// What a row is. Rows are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The first of its cluster.
    Original,
    /// A duplicate of the row.
    DuplicateOf(u64),
    /// The row's text with another place.
    MovedFrom(u64),
}

/// Purposes of random streams; the order is part of the output's stability.
pub mod stream {
    /// What a row is.
    pub const ROLE: u64 = 1;
    /// Which earlier row it goes back to.
    pub const SOURCE: u64 = 2;
    /// How often an original is refiled.
    pub const POPULARITY: u64 = 3;
    /// Where the mass petitions stand.
    pub const MASS: u64 = 4;
    /// The text of an original.
    pub const TEXT: u64 = 5;
    /// The place of a row.
    pub const PLACE: u64 = 6;
    /// The petitioner of a row.
    pub const PERSON: u64 = 7;
    /// How a duplicate differs.
    pub const VARIANT: u64 = 8;
    /// The time of filing.
    pub const TIME: u64 = 9;
    /// Title, department.
    pub const FORM: u64 = 10;
}

/// The share of duplicates that belong to a mass petition, and their mean size.
const MASS_SHARE: f64 = 0.12;
const MASS_SIZE: f64 = 22.0;

enum Draw {
    Original,
    Duplicate,
    Moved,
}

impl Settings {
    fn draw(&self, row: u64) -> Draw {
        if self.mass_row(self.mass_block(row)) == Some(row) {
            return Draw::Original;
        }
        let u = Rng::new(self.seed, stream::ROLE, row).unit();
        if u < self.duplicates {
            Draw::Duplicate
        } else if u < self.duplicates + self.hard_negatives {
            Draw::Moved
        } else {
            Draw::Original
        }
    }

    /// Rows per mass petition.
    fn mass_spacing(&self) -> u64 {
        if self.duplicates <= 0.0 {
            return u64::MAX;
        }
        (MASS_SIZE / (MASS_SHARE * self.duplicates)).ceil() as u64
    }

    fn mass_block(&self, row: u64) -> u64 {
        row / self.mass_spacing()
    }

    /// The row in `block` that a mass petition starts from.
    fn mass_row(&self, block: u64) -> Option<u64> {
        let spacing = self.mass_spacing();
        if spacing == u64::MAX {
            return None;
        }
        Some(block * spacing + Rng::new(self.seed, stream::MASS, block).between(0, spacing / 2))
    }

    /// What `row` is.
    pub fn role(&self, row: u64) -> Role {
        let mut rng = Rng::new(self.seed, stream::SOURCE, row);
        let source = match self.draw(row) {
            Draw::Original => return Role::Original,
            Draw::Duplicate if rng.chance(MASS_SHARE) => self.mass_source(row, &mut rng),
            _ => None,
        };
        let source = source.or_else(|| self.source(row, &mut rng));
        match (source, self.draw(row)) {
            (Some(source), Draw::Duplicate) => Role::DuplicateOf(source),
            (Some(source), Draw::Moved) => Role::MovedFrom(source),
            _ => Role::Original,
        }
    }

    /// An earlier original at any distance, from the row before to years ago.
    fn source(&self, row: u64, rng: &mut Rng) -> Option<u64> {
        for _ in 0..200 {
            let distance = ((self.rows as f64).powf(rng.unit().sqrt())) as u64;
            let Some(source) = row.checked_sub(distance.max(1)) else { continue };
            // A few originals draw most of the duplicates.
            let popular = Rng::new(self.seed, stream::POPULARITY, source).chance(0.15);
            if (popular || rng.chance(0.18)) && matches!(self.draw(source), Draw::Original) {
                return Some(source);
            }
        }
        None
    }

    /// The start of a mass petition: most are filed within weeks, some much later.
    fn mass_source(&self, row: u64, rng: &mut Rng) -> Option<u64> {
        let block = self.mass_block(row);
        for _ in 0..30 {
            let back = if rng.chance(0.8) {
                rng.below(6) as u64
            } else {
                ((block + 1) as f64).powf(rng.unit()) as u64
            };
            // Before the first row there is no mass petition to join.
            let block = block.checked_sub(back)?;
            let weight = 0.35 + 0.65 * Rng::new(self.seed, stream::MASS, !block).unit();
            let source = self.mass_row(block)?;
            if source < row && rng.chance(weight) {
                return Some(source);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn sizes(settings: &Settings) -> (HashMap<u64, u64>, f64, f64) {
        let (mut sizes, mut duplicates, mut moved) = (HashMap::new(), 0.0, 0.0);
        for row in 0..settings.rows {
            match settings.role(row) {
                Role::Original => {}
                Role::DuplicateOf(source) => {
                    assert!(source < row && settings.role(source) == Role::Original);
                    *sizes.entry(source).or_insert(1) += 1;
                    duplicates += 1.0;
                }
                Role::MovedFrom(source) => {
                    assert!(source < row && settings.role(source) == Role::Original);
                    moved += 1.0;
                }
            }
        }
        let rows = settings.rows as f64;
        (sizes, duplicates / rows, moved / rows)
    }

    #[test]
    fn shares_are_those_asked_for() {
        for (duplicates, hard_negatives) in [(0.2, 0.03), (0.5, 0.0), (0.02, 0.2), (0.0, 0.0)] {
            let settings = Settings { rows: 50_000, duplicates, hard_negatives, ..Settings::default() };
            let (_, d, m) = sizes(&settings);
            assert!((d - duplicates).abs() < 0.01, "{d} instead of {duplicates}");
            assert!((m - hard_negatives).abs() < 0.01, "{m} instead of {hard_negatives}");
        }
    }

    #[test]
    fn clusters_are_mostly_small_and_some_are_mass_petitions() {
        let (sizes, _, _) = sizes(&Settings { rows: 200_000, ..Settings::default() });
        let share = |lo: u64, hi: u64| {
            sizes.values().filter(|&&n| n >= lo && n <= hi).count() as f64 / sizes.len() as f64
        };
        assert!(share(2, 3) > 0.8, "{}", share(2, 3));
        assert!(share(10, 60) > 0.003, "{}", share(10, 60));
        assert!(sizes.values().max().is_some_and(|&n| (20..=70).contains(&n)));
    }
}
