//! Exact duplicates: the type `bloom`, and window functions that tell whether a content occurred before.

mod bloom;
mod seen;
