//! The topics people write about.

use crate::grammar::TopicText;

mod housing;
mod land;
mod noise;

/// All topics.
pub static ALL: &[&TopicText] = &[&housing::PROPERTY, &housing::LIFTS];
