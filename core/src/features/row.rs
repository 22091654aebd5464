//! Features of a row, each column with its own weight (P2's weighting of relational rows). The feature of a
//! whole value carries its column's name: 张三 the petitioner is not 张三 the clerk. A feature of running text
//! does not: a row of texts is near the same text in one piece, and can be found by it.

use super::bag::Bag;
use super::extract::Extractor;
use super::recipe::{RecipeError, Resolver, TextRecipe, Tokens, kind, of_scheme, weight_at};
use crate::fingerprint::{SimHash, Weight};
use crate::hash::city64;
use crate::interrupt::{self, checked};
use crate::memory::{self, OrRaise};
use serde_json::Value;

/// How one column's value becomes features.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnRecipe {
    /// The whole value is one feature of this weight (P2's short fields).
    Value(Weight),
    /// The value is running text.
    Text(Box<TextRecipe>),
}

/// How the columns of a row become one bag.
#[derive(Debug, Clone, PartialEq)]
pub struct RowRecipe {
    /// The columns that count, with their recipes; of a row in the order of their names.
    pub columns: Vec<(String, ColumnRecipe)>,
    /// What part of the whole each column is, whatever its length; empty: weights are absolute, as in the papers.
    pub shares: Vec<f64>,
}

/// The recipe of an array of fields: as that of a row whose columns are named by their numbers, from 1.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldsRecipe(pub RowRecipe);

/// Takes a value: the number of its column, its name or path, the value.
pub(super) type Each<'e> = &'e mut dyn FnMut(usize, &str, &str);

const COLUMN_HINT: &str = "A column's weight is a number (the whole value is one feature of that weight), a scheme \
                           (\"tf\", \"log\", \"one\": the value is running text), null (running text by the default recipe), \
                           or an object (a text recipe).";

impl RowRecipe {
    /// The recipe written as `json`, an object from column names to a number, the name of a scheme, `null` (the default text
    /// recipe) or a text recipe, with corpora and dictionaries from `resolver`.
    pub fn resolved(json: &Value, resolver: &dyn Resolver) -> Result<RowRecipe, RecipeError> {
        const HINT: &str = "Name each column that counts: {\"title\": 2, \"body\": \"tf\"}.";
        let Value::Object(columns) = json else {
            let message = format!("the recipe of a row must be a JSON object, not {}", kind(json));
            return Err(RecipeError::new("", message, HINT));
        };
        if columns.is_empty() {
            return Err(RecipeError::new("", "the recipe of a row names no column", HINT));
        }
        let mut named = memory::collect(columns).or_raise();
        // As they come already, unless `serde_json` is built to keep the order in which they are written.
        interrupt::sort_unstable_by(&mut named, |a, b| a.0.cmp(b.0));
        RowRecipe::of(named.into_iter().map(|(name, json)| (name.clone(), json)), resolver)
    }

    fn of<'j>(
        named: impl Iterator<Item = (String, &'j Value)>,
        resolver: &dyn Resolver,
    ) -> Result<RowRecipe, RecipeError> {
        let (mut columns, mut shares) = (Vec::new(), Vec::new());
        for (name, json) in checked(named) {
            let (share, recipe) = share(&name, json)?;
            shares.extend(share);
            let recipe = ColumnRecipe::resolved(&name, recipe.as_ref().unwrap_or(json), resolver)?;
            columns.push((name, recipe));
            if !shares.is_empty() && shares.len() != columns.len() {
                let name = columns.pop().map(|(name, _)| name).unwrap_or_default();
                const MIXED: &str = "some columns have a share and others a weight";
                return Err(RecipeError::new(name, MIXED, SHARE_HINT));
            }
        }
        Ok(RowRecipe { columns, shares })
    }

    /// The fingerprint of a row whose values are given in the order of
    /// `columns`; a missing value has no feature.
    pub fn simhash<'a>(
        &self,
        extractor: &mut Extractor,
        values: impl IntoIterator<Item = Option<&'a str>>,
    ) -> Option<u64> {
        self.simhash_of(extractor, |each| self.each_value(values, each))
    }

    /// The features of a row; arguments as in [`RowRecipe::simhash`].
    pub fn bag<'a>(
        &self,
        extractor: &mut Extractor,
        values: impl IntoIterator<Item = Option<&'a str>>,
    ) -> Bag {
        self.bag_of(extractor, |each| self.each_value(values, each))
    }

    fn each_value<'a>(&self, values: impl IntoIterator<Item = Option<&'a str>>, each: Each<'_>) {
        for (at, ((name, _), value)) in checked(self.columns.iter().zip(values)).enumerate() {
            if let Some(value) = value {
                each(at, name, value);
            }
        }
    }

    /// The fingerprint of the values that `values` hands over.
    pub(super) fn simhash_of(&self, extractor: &mut Extractor, values: impl FnOnce(Each<'_>)) -> Option<u64> {
        if !self.shares.is_empty() {
            return self.bag_of(extractor, values).simhash();
        }
        let mut sums = SimHash::new();
        values(&mut |at, name, value| match &self.columns[at].1 {
            ColumnRecipe::Text(recipe) => extractor.text_into_sums(&mut sums, value, recipe),
            ColumnRecipe::Value(weight) => {
                if let Some(feature) = extractor.value(name, value) {
                    sums.add(city64(feature.as_bytes()), *weight);
                }
            }
        });
        extractor.keep_small();
        sums.finish()
    }

    /// The features of the values that `values` hands over.
    pub(super) fn bag_of(&self, extractor: &mut Extractor, values: impl FnOnce(Each<'_>)) -> Bag {
        let mut bag = Bag::default();
        let mut shared: Vec<Bag> = self.shares.iter().map(|_| Bag::default()).collect();
        values(&mut |at, name, value| match &self.columns[at].1 {
            ColumnRecipe::Text(recipe) => match shared.get_mut(at) {
                Some(column) => extractor.text_into_bag(column, None, value, recipe),
                None => extractor.text_into_bag(&mut bag, Some(at), value, recipe),
            },
            ColumnRecipe::Value(weight) if weight.is_zero() => {}
            ColumnRecipe::Value(weight) => {
                if let Some(feature) = extractor.value(name, value) {
                    bag.add(Some(at), feature, city64(feature.as_bytes()), *weight);
                }
            }
        });
        extractor.keep_small();
        for (at, (column, share)) in checked(shared.iter().zip(&self.shares)).enumerate() {
            bag.add_share(at, column, *share);
        }
        bag
    }

    /// The same recipe for reading: where running text is cut into words and runs of characters, into words alone.
    #[must_use]
    pub fn in_words(mut self) -> RowRecipe {
        for (_, recipe) in &mut self.columns {
            if let ColumnRecipe::Text(recipe) = recipe
                && recipe.tokens == Tokens::WordsAndChars
            {
                recipe.tokens = Tokens::Words;
            }
        }
        self
    }

    /// The token or value that `feature` of a column is made of; with the path to it if that leads on from the
    /// column, in a document.
    pub fn token<'a>(&self, column: usize, feature: &'a str) -> &'a str {
        match &self.columns[column] {
            (name, ColumnRecipe::Value(_)) => {
                let value = feature.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('='));
                value.unwrap_or(feature)
            }
            (_, ColumnRecipe::Text(_)) => feature,
        }
    }
}

impl FieldsRecipe {
    /// The recipe written as `json`: an array of what [`RowRecipe::resolved`] takes for a column, one element a
    /// field.
    pub fn resolved(json: &Value, resolver: &dyn Resolver) -> Result<FieldsRecipe, RecipeError> {
        let Value::Array(fields) = json else {
            let message = format!("the recipe of an array must be a JSON array, not {}", kind(json));
            return Err(RecipeError::new("", message, "Give one weight a field: [2, 2, null]."));
        };
        let named = fields.iter().enumerate().map(|(at, json)| ((at + 1).to_string(), json));
        Ok(FieldsRecipe(RowRecipe::of(named, resolver)?))
    }
}

const SHARE_HINT: &str = "Give each column that counts its share of the whole, {\"title\": {\"share\": 0.3}, \"body\": {\"share\": 0.7}}, or none.";

/// The share that a column's weight says, above 0 and at most 1, and the recipe without it.
fn share(name: &str, json: &Value) -> Result<(Option<f64>, Option<Value>), RecipeError> {
    let Some(written) = json.get("share") else { return Ok((None, None)) };
    let Some(share) = written.as_f64().filter(|share| *share > 0.0 && *share <= 1.0) else {
        let message = format!("a share is a number above 0, at most 1, not {written}");
        return Err(RecipeError::new(format!("{name}.share"), message, SHARE_HINT));
    };
    let mut recipe = json.clone();
    if let Some(recipe) = recipe.as_object_mut() {
        recipe.remove("share");
    }
    Ok((Some(share), Some(recipe)))
}

impl ColumnRecipe {
    fn resolved(name: &str, json: &Value, resolver: &dyn Resolver) -> Result<ColumnRecipe, RecipeError> {
        match json {
            Value::Null => Ok(ColumnRecipe::Text(Box::default())),
            Value::Number(weight) => {
                Ok(ColumnRecipe::Value(weight_at(name, weight.as_f64().unwrap_or(f64::INFINITY))?))
            }
            Value::String(scheme) => Ok(ColumnRecipe::Text(Box::new(of_scheme(name, scheme, COLUMN_HINT)?))),
            Value::Object(_) => match TextRecipe::resolved(json, resolver) {
                Ok(recipe) => Ok(ColumnRecipe::Text(Box::new(recipe))),
                Err(RecipeError { path, message, hint }) => {
                    let path = if path.is_empty() { name.to_owned() } else { format!("{name}.{path}") };
                    Err(RecipeError { path, message, hint })
                }
            },
            Value::Bool(_) | Value::Array(_) => {
                let message = format!("a column's weight cannot be {}", kind(json));
                Err(RecipeError::new(name, message, COLUMN_HINT))
            }
        }
    }
}
