//! The cosine of weighted features: what the distance of fingerprints stands for.

use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::interrupt::checked;
use std::collections::HashMap;

/// The cosine, 0 to 1, of the weighted bags of features that a recipe makes of two texts.
pub fn cosine(a: &str, b: &str, recipe: &TextRecipe) -> f64 {
    let mut extractor = Extractor::new();
    let bags = [a, b].map(|text| extractor.bag(text, recipe));
    let [a, b] =
        bags.each_ref().map(|bag| checked(bag.features()).map(|it| (it.text.as_str(), it.weight.value())));
    let of_b: HashMap<&str, f64> = b.collect();
    let (mut product, mut square) = (0.0, 0.0);
    for (feature, weight) in a {
        product += weight * of_b.get(feature).copied().unwrap_or_default();
        square += weight * weight;
    }
    let lengths =
        (square * bags[1].features().iter().map(|it| it.weight.value().powi(2)).sum::<f64>()).sqrt();
    if lengths == 0.0 { 0.0 } else { (product / lengths).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dedup_core::text::normalize;
    use proptest::prelude::*;

    proptest! {
        /// Symmetric, between 0 and 1, and 1 of a text with itself unless it is empty.
        #[test]
        fn is_a_similarity(a in "[ab水区停， ]{0,20}", b in "[ab水区停， ]{0,20}") {
            let recipe = TextRecipe::default();
            let similarity = cosine(&a, &b, &recipe);
            prop_assert!((0.0..=1.0).contains(&similarity));
            prop_assert!((similarity - cosine(&b, &a, &recipe)).abs() < 1e-12);
            let itself = f64::from(u8::from(!normalize(&a).is_empty()));
            prop_assert!((cosine(&a, &a, &recipe) - itself).abs() < 1e-12);
        }
    }
}
