//! P4's experiment: texts with 1 to 20 % inserted, deleted, or their sentences
//! in another order, by length.
//!
//! Lengths are cut from the texts given. What is inserted comes from other
//! texts, as one block in the middle of the text; what is deleted is one block.

use crate::data::{Data, fail};
use dedup_core::evaluate::{Background, Profile};
use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::fingerprint::hamming;
use dedup_core::similarity::jaccard;
use dedup_plot::Plot;
use serde_json::json;
use std::path::Path;

const BANDS: [(usize, usize); 5] = [(20, 60), (60, 150), (150, 400), (400, 1000), (1000, 2500)];
const SHARES: [usize; 6] = [1, 2, 5, 10, 15, 20];
const TEXTS: usize = 300;
/// The radius is that for a table of so many texts of the band.
const ROWS: u64 = 100_000;
/// Bands with fewer texts are left out.
const FEWEST: usize = 30;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Edit {
    Insert,
    Delete,
    Reorder,
}

fn edit(text: &[char], other: &[char], kind: Edit, percent: usize, random: &mut Random) -> String {
    let size = (text.len() * percent).div_ceil(100);
    match kind {
        Edit::Insert => {
            let at = random.below(text.len());
            let from = random.below(other.len().saturating_sub(size));
            let block = other.iter().cycle().skip(from).take(size);
            text[..at].iter().chain(block).chain(&text[at..]).collect()
        }
        Edit::Delete => {
            let at = random.below(text.len() - size);
            text[..at].iter().chain(&text[at + size..]).collect()
        }
        Edit::Reorder => {
            let text: String = text.iter().collect();
            let mut sentences: Vec<&str> =
                text.split_inclusive(['。', '！', '？', '；', '，', '\n', '.', '!', '?', ';', ',']).collect();
            for at in (1..sentences.len()).rev() {
                sentences.swap(at, random.below(at + 1));
            }
            sentences.concat()
        }
    }
}

struct Way {
    name: &'static str,
    recipe: TextRecipe,
    radius: u32,
    verify: bool,
}

/// Prints the table; false if there are no texts.
pub fn report(data: &Data, svg: Option<&Path>) -> bool {
    let Some(petitions) = data.petitions() else { return false };
    let bodies: Vec<Vec<char>> = petitions.iter().map(|it| it.body.trim().chars().collect()).collect();
    let recipe = |json| TextRecipe::from_json(&json).unwrap_or_else(|error| fail("recipe", error));
    println!(
        "\n## Edited texts: share found\n\nCandidates at the distance that near_dup_calibrate gives for {ROWS} texts of a band, verified as dedup_suggest says; P4: words tf without stop words at distance 3. False: share of unrelated pairs of the band that are reported.\n"
    );
    println!("| length | edit | way | {} | false |", SHARES.map(|share| format!("{share} %")).join(" | "));
    println!("|---|---|---|{}---|", "---|".repeat(SHARES.len()));
    let mut plots: Vec<Plot> = Vec::new();
    for (low, high) in BANDS {
        let mut random = Random(low as u64);
        let texts: Vec<&[char]> = bodies
            .iter()
            .filter(|body| body.len() >= low)
            .map(|body| &body[..body.len().min(low + random.below(high - low))])
            .take(TEXTS)
            .collect();
        let plain: Vec<String> = texts.iter().map(|text| text.iter().collect()).collect();
        if plain.len() < FEWEST {
            println!(
                "| {low}-{high} | | fewer than {FEWEST} texts: left out | {}|",
                "| ".repeat(SHARES.len() + 1)
            );
            continue;
        }
        let mut profile = Profile::default();
        plain.iter().for_each(|text| profile.add(text));
        let suggestion = profile.suggest(&plain, ROWS);
        let (n, threshold) = (suggestion.n as usize, suggestion.threshold);
        let ours = recipe(suggestion.recipe);
        let mut extractor = Extractor::new();
        let prints: Vec<u64> = plain.iter().filter_map(|text| extractor.simhash(text, &ours)).collect();
        let mut background = Background::measure(&prints[..]);
        background.rows = ROWS;
        let radius = background.calibrate().verified;
        let ways = [
            Way { name: "ours", recipe: ours, radius, verify: true },
            Way {
                name: "P4, CityHash",
                recipe: recipe(json!({"tokens": "words", "stop": "zh"})),
                radius: 3,
                verify: false,
            },
            Way {
                name: "P4, SDBM of Java",
                recipe: recipe(json!({"tokens": "words", "stop": "zh", "hash": "sdbm_utf16"})),
                radius: 3,
                verify: false,
            },
        ];
        for way in &ways {
            let mut found = |a: &str, b: &str| {
                let near = |x: Option<u64>, y: Option<u64>| {
                    x.zip(y).is_some_and(|(x, y)| hamming(x, y) <= way.radius)
                };
                near(extractor.simhash(a, &way.recipe), extractor.simhash(b, &way.recipe))
                    && (!way.verify || jaccard(a, b, n) >= threshold)
            };
            let mut unrelated = 0;
            let mut wrong = 0;
            for (at, a) in plain.iter().enumerate() {
                for b in plain[..at].iter().rev().take(20) {
                    unrelated += 1;
                    wrong += u32::from(found(a, b));
                }
            }
            let wrong = f64::from(wrong) / f64::from(unrelated.max(1));
            for (kind, name) in
                [(Edit::Insert, "insert"), (Edit::Delete, "delete"), (Edit::Reorder, "reorder")]
            {
                let mut random = Random(7);
                let shares = if kind == Edit::Reorder { &SHARES[..1] } else { &SHARES[..] };
                let curve: Vec<f64> = shares
                    .iter()
                    .map(|&share| {
                        let hits = texts.iter().zip(&plain).enumerate().filter(|(at, (text, plain))| {
                            let other = texts[(at + texts.len() / 2) % texts.len()];
                            found(plain, &edit(text, other, kind, share, &mut random))
                        });
                        hits.count() as f64 / texts.len().max(1) as f64
                    })
                    .collect();
                let mut cells: Vec<String> = curve.iter().map(|share| format!("{share:.2}")).collect();
                cells.resize(SHARES.len(), String::new());
                let label = if way.verify {
                    format!("{} (distance {})", way.name, way.radius)
                } else {
                    way.name.to_owned()
                };
                println!("| {low}-{high} | {name} | {label} | {} | {wrong:.1e} |", cells.join(" | "));
                if kind != Edit::Reorder && way.name != "P4, SDBM of Java" {
                    let title = format!("{low}-{high} characters, {name}");
                    let points = shares.iter().map(|&share| share as f64).zip(curve).collect();
                    let at = plots.iter().position(|plot| plot.title() == title).unwrap_or_else(|| {
                        plots.push(Plot::new(&title, "% of characters", "share found").up_to(1.0));
                        plots.len() - 1
                    });
                    plots[at].add(way.name, points);
                }
            }
        }
    }
    if let Some(file) = svg {
        std::fs::write(file, dedup_plot::sheet(&plots)).unwrap_or_else(|error| fail(file.display(), error));
        println!("\nCurves: {}", file.display());
    }
    true
}
