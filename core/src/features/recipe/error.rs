//! Errors of recipes.

/// A recipe that cannot be followed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}{message}", if path.is_empty() { String::new() } else { format!("\"{path}\": ") })]
pub struct RecipeError {
    /// Where in the recipe: a key, or keys joined by points; empty for the whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}

impl RecipeError {
    pub(in crate::features) fn new(
        path: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> RecipeError {
        RecipeError { path: path.into(), message: message.into(), hint: hint.into() }
    }
}
