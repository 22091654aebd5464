//! Tests inside the server: each runs in a transaction that is rolled back.
//!
//! What needs more than one transaction or session is under `tests/`.

use pgrx::prelude::*;

mod aggregates;
mod errors;
mod fingerprints;
mod planner;
mod rows;

/// The single value of a query, `None` if it is NULL.
fn value<T: FromDatum + IntoDatum>(query: &str) -> Option<T> {
    Spi::get_one(query).unwrap_or_else(|error| panic!("{error}: {query}"))
}

/// Asserts that the condition, an SQL expression, is true.
#[track_caller]
fn assert_sql(condition: &str) {
    assert_eq!(value::<bool>(&format!("SELECT {condition}")), Some(true), "{condition}");
}

/// Runs a statement.
fn run(statement: &str) {
    Spi::run(statement).unwrap_or_else(|error| panic!("{error}: {statement}"));
}

/// The numbers of a query's only column, which is `bigint`.
fn numbers(query: &str) -> Vec<i64> {
    value::<Vec<i64>>(&format!("SELECT array(SELECT * FROM ({query}) numbers)")).unwrap_or_default()
}
