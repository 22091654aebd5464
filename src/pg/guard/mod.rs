//! What the trigger `near_dup_guard` needs of PostgreSQL: the row it is fired
//! for, the search for rows near it that sees what is not yet committed, and
//! waiting for the transactions that decide.

mod call;
mod key;
mod search;
mod wait;

pub(crate) use call::{Call, Event};
pub(crate) use key::log_pair;
pub(crate) use search::{Near, Search, wait_for_publisher};
pub(crate) use wait::publish;
