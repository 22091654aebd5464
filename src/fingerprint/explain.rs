//! `simhash_explain`: why two fingerprints differ, feature by feature and column by column.

use super::{bag_of_fields, bag_of_row, bag_of_text, text_recipe};
use crate::corpus::ShownRecipe;
use crate::pg::{Output, Record};
use dedup_core::features::{Bag, FieldsRecipe, Part, RowRecipe, TextRecipe, explain};
use dedup_core::interrupt::checked;
use pgrx::prelude::*;

#[pg_extern(sql = "")]
fn simhash_explain_text(
    a: Option<&str>,
    b: Option<&str>,
    recipe: Option<ShownRecipe<TextRecipe>>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let mut output = Output::begin(fcinfo);
    let (Some(a), Some(b)) = (a, b) else { return };
    let recipe = text_recipe(recipe);
    for of in checked(explain(&bag_of_text(a, &recipe), &bag_of_text(b, &recipe)).features) {
        add(&mut output, None, &of.feature, of.whole);
    }
}

#[pg_extern(sql = "")]
fn simhash_explain_record(
    a: Record,
    b: Record,
    recipe: ShownRecipe<RowRecipe>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let recipe = recipe.0;
    by_column(&bag_of_row(&a.row(), &recipe), &bag_of_row(&b.row(), &recipe), &recipe, None, fcinfo);
}

#[pg_extern(sql = "")]
fn simhash_explain_fields(
    a: Array<'_, &str>,
    b: Array<'_, &str>,
    recipe: ShownRecipe<FieldsRecipe>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let recipe = recipe.0;
    by_column(&bag_of_fields(&a, &recipe), &bag_of_fields(&b, &recipe), &recipe.0, None, fcinfo);
}

/// Returns a row for each feature and column that it stands in; `names` are those of the columns if they
/// are not those of the recipe.
pub(crate) fn by_column(
    a: &Bag,
    b: &Bag,
    recipe: &RowRecipe,
    names: Option<&[String]>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let mut output = Output::begin(fcinfo);
    for of in checked(explain(a, b).features) {
        for (column, part) in of.columns {
            let name = names.map_or(&recipe.columns[column].0, |names| &names[column]);
            add(&mut output, Some(name), recipe.token(column, &of.feature), part);
        }
    }
}

fn add(output: &mut Output, column: Option<&str>, token: &str, part: Part) {
    let found_in = match (part.weight_a > 0.0, part.weight_b > 0.0) {
        (true, true) => "both",
        (true, false) => "a",
        _ => "b",
    };
    // -0, which some sums yield, becomes 0.
    let number = |number: f64| (number + 0.0).into_datum();
    // SAFETY: declared as three texts and three of double precision.
    unsafe {
        output.add([
            column.into_datum(),
            token.into_datum(),
            found_in.into_datum(),
            number(part.weight_a),
            number(part.weight_b),
            number(part.bits),
        ]);
    }
}
