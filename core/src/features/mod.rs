//! Weighted bags of features of a text or of the columns of a row, as a recipe defines them.

mod bag;
mod corpus;
mod corpus_builder;
mod dictionary;
mod document;
mod explain;
mod extract;
mod recipe;
mod row;
mod stop;

pub use bag::{Bag, Feature};
pub use corpus::Corpus;
pub use corpus_builder::{CorpusBuilder, StoredCorpus};
pub use dictionary::Dictionary;
pub use document::Document;
pub use explain::{Explained, Explanation, Part, Shared, explain, shared};
pub use extract::{Extractor, length_weight};
pub use recipe::{Hash, Nowhere, RecipeError, Resolver, Scheme, TextRecipe, Tokens, missing};
pub use row::{ColumnRecipe, FieldsRecipe, RowRecipe};
pub use stop::stop_words;
