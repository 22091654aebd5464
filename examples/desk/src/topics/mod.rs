//! The topics people write about.

use crate::grammar::TopicText;

mod city;
mod civic;
mod housing;
mod land;
mod noise;
mod public;
mod work;

/// All topics.
pub static ALL: &[&TopicText] = &[
    &housing::PROPERTY,
    &housing::LIFTS,
    &noise::NOISE,
    &noise::ENVIRONMENT,
    &land::LAND,
    &land::SUPPLY,
    &work::LABOUR,
    &work::INSURANCE,
    &public::SCHOOLS,
    &public::HEALTH,
    &city::BUILDING,
    &city::TRANSPORT,
    &civic::REGISTRATION,
    &civic::TRADE,
    &civic::FUND,
];
