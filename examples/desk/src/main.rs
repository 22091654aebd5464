//! Generates the sample petition desk.
fn main() {}
