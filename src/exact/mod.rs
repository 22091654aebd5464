//! Exact duplicates: the type `bloom`, and window functions that tell whether a
//! content came before.

mod bloom;
mod seen;
