//! The topics people write about.

use crate::grammar::TopicText;

mod housing;

/// All topics.
pub static ALL: &[&TopicText] = &[&housing::PROPERTY, &housing::LIFTS];
