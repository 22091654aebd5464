//! Fingerprints of texts by a recipe, with the texts' own corpora, and the
//! pairs near each other.

use crate::data::{Petition, fail};
use crate::truth::Pair;
use dedup_core::evaluate::{Background, Calibration};
use dedup_core::external::MemoryHost;
use dedup_core::features::{
    Corpus, CorpusBuilder, Dictionary, Extractor, Nowhere, RecipeError, Resolver, RowRecipe, TextRecipe,
    missing,
};
use dedup_core::groups::{PairSearch, Pairs};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// Fingerprints by number of text, and the seconds they took.
pub struct Prints {
    pub all: Vec<Option<u64>>,
    pub seconds: f64,
}

impl Prints {
    /// What near_dup_calibrate says of them.
    pub fn calibrate(&self) -> Calibration {
        let known: Vec<u64> = self.all.iter().flatten().copied().collect();
        Background::measure(&known[..]).calibrate()
    }

    /// The pairs within a radius.
    pub fn near(&self, distance: u32) -> Vec<Pair> {
        let mut pairs = Pairs::new(PairSearch { distance, memory: usize::MAX, threads: 1 });
        let mut found = Vec::new();
        let mut collect =
            || -> dedup_core::external::Result<()> {
                for (at, print) in self.all.iter().enumerate() {
                    if let Some(print) = print {
                        pairs.add(at as i64, *print, &mut MemoryHost)?;
                    }
                }
                std::mem::replace(&mut pairs, Pairs::new(PairSearch { distance, memory: 0, threads: 1 }))
                    .finish(&mut MemoryHost, |pair, _| {
                        found.push((pair.a as usize, pair.b as usize));
                        Ok(())
                    })
            };
        collect().unwrap_or_else(|error| fail("pairs", error));
        found
    }
}

/// The texts' own corpora: `words@1` and `both@1` (the default's tokens).
pub struct Own(HashMap<&'static str, Arc<Corpus>>);

impl Resolver for Own {
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError> {
        self.0.get(name).map(Arc::clone).ok_or_else(|| missing("corpus", name, &[]))
    }
    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError> {
        Err(missing("dictionary", name, &[]))
    }
}

impl Own {
    pub fn of(bodies: &[&str]) -> Own {
        let words = TextRecipe::from_json(&json!({"tokens": "words"})).unwrap_or_default();
        Own([("words@1", words), ("both@1", TextRecipe::default())]
            .into_iter()
            .map(|(name, recipe)| (name, corpus(name, recipe, bodies)))
            .collect())
    }

    pub fn prints(&self, bodies: &[&str], recipe: &Value) -> Prints {
        let recipe = TextRecipe::resolved(recipe, self).unwrap_or_else(|error| fail("recipe", error));
        let mut extractor = Extractor::new();
        let started = Instant::now();
        let all = bodies.iter().map(|body| extractor.simhash(body, &recipe)).collect();
        Prints { all, seconds: started.elapsed().as_secs_f64() }
    }
}

fn corpus(name: &str, recipe: TextRecipe, bodies: &[&str]) -> Arc<Corpus> {
    let mut builder = CorpusBuilder::new(recipe);
    let mut extractor = Extractor::new();
    bodies.iter().for_each(|body| builder.add(&mut extractor, body));
    let (shape, stored) = (builder.shape(), builder.finish());
    let corpus =
        Corpus::new(name, shape, stored.documents, &stored.common).unwrap_or_else(|| fail(name, "not read"));
    Arc::new(corpus)
}

/// P2's rows: short columns as one feature of weight 2, the body by its words.
pub fn row_prints(petitions: &[Petition]) -> Prints {
    let recipe = json!({"petitioner": 2, "title": 2, "body": {"tokens": "words", "stop": "zh"}});
    let row = RowRecipe::resolved(&recipe, &Nowhere).unwrap_or_else(|error| fail("recipe", error));
    let mut extractor = Extractor::new();
    let started = Instant::now();
    let all = petitions.iter().map(|it| {
        let value = |(name, _): &(String, _)| match name.as_str() {
            "petitioner" => Some(it.petitioner.as_str()),
            "title" => Some(it.title.as_str()),
            _ => Some(it.body.as_str()),
        };
        row.simhash(&mut extractor, row.columns.iter().map(value).collect::<Vec<_>>())
    });
    Prints { all: all.collect(), seconds: started.elapsed().as_secs_f64() }
}
