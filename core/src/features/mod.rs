//! Weighted bags of features, out of one text or out of the columns of a row,
//! as a recipe says.

mod bag;
mod extract;
mod recipe;
mod row;

pub use bag::{Bag, Feature};
pub use extract::Extractor;
pub use recipe::{RecipeError, Scheme, TextRecipe, Tokens};
pub use row::{ColumnRecipe, RowRecipe};
