//! Weighted bags of features, out of one text or out of the columns of a row,
//! as a recipe says.

mod bag;
mod corpus;
mod dictionary;
mod extract;
mod reading;
mod recipe;
mod resolve;
mod row;
mod stop;
mod weigh;
mod written;

pub use bag::{Bag, Feature};
pub use corpus::{Corpus, CorpusBuilder, Shape, StoredCorpus};
pub use dictionary::Dictionary;
pub use extract::Extractor;
pub use recipe::{Hash, RecipeError, Scheme, TextRecipe, Tokens};
pub use resolve::{Nowhere, Resolver, missing};
pub use row::{ColumnRecipe, RowRecipe};
pub use stop::stop_words;
pub use weigh::length_weight;
