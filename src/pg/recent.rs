//! What was made last of something, kept for a session: a statement over a million rows asks for the same again and again.

use std::cell::RefCell;
use std::thread::LocalKey;

/// With what it was made of, the latest first.
pub(crate) type Recent<K, T> = RefCell<Vec<(K, T)>>;

/// What is kept with a key that `is` the one, else what `make` makes; the last `capacity` are kept.
pub(crate) fn recent<K, T: Clone>(
    kept: &'static LocalKey<Recent<K, T>>,
    capacity: usize,
    is: impl Fn(&K) -> bool,
    make: impl FnOnce() -> (K, T),
) -> T {
    let found = kept.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(key, _)| is(key))?;
        kept[..=at].rotate_right(1);
        Some(kept[0].1.clone())
    });
    found.unwrap_or_else(|| {
        let (key, made) = make();
        kept.with_borrow_mut(|kept| {
            kept.truncate(capacity - 1);
            kept.insert(0, (key, made.clone()));
        });
        made
    })
}
