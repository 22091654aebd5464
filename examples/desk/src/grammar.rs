//! The compiled texts.

use crate::context::Kind;
use crate::generic;
use crate::openings;
use crate::template::{Pools, Template};
use crate::topics;

/// A topic as it is written down.
#[derive(Debug)]
pub struct TopicText {
    /// What the desk calls it.
    pub name: &'static str,
    /// What kind of place it is about.
    pub kind: Kind,
    /// How its departments are spelt.
    pub departments: &'static [&'static str],
    /// What goes wrong.
    pub issues: &'static [IssueText],
    /// What comes of it.
    pub harms: &'static [&'static str],
    /// What is asked for.
    pub asks: &'static [&'static str],
}

/// One thing that goes wrong, as it is written down.
#[derive(Debug)]
pub struct IssueText {
    /// A few words for titles and openings.
    pub subject: &'static str,
    /// The matter itself.
    pub facts: &'static [&'static str],
    /// More about it.
    pub details: &'static [&'static str],
    /// What is asked for.
    pub asks: &'static [&'static str],
}

/// A compiled topic.
#[derive(Debug)]
pub struct Topic {
    /// What it was compiled from.
    pub text: &'static TopicText,
    /// What goes wrong.
    pub issues: Vec<Issue>,
    /// What comes of it.
    pub harms: Vec<Template>,
    /// What is asked for.
    pub asks: Vec<Template>,
}

/// A compiled issue.
#[derive(Debug)]
pub struct Issue {
    /// A few words for titles and openings.
    pub subject: Template,
    /// The matter itself.
    pub facts: Vec<Template>,
    /// More about it.
    pub details: Vec<Template>,
    /// What is asked for.
    pub asks: Vec<Template>,
}

/// All texts, compiled.
#[derive(Debug)]
pub struct Grammar {
    /// The pools every topic shares.
    pub pools: Pools,
    /// The topics.
    pub topics: Vec<Topic>,
}

impl Grammar {
    /// Compiles all texts.
    pub fn new() -> Self {
        let pools = Pools::new(&[generic::POOLS, openings::POOLS].concat());
        let issue = |issue: &IssueText| Issue {
            subject: pools.compile(issue.subject),
            facts: pools.compile_all(issue.facts),
            details: pools.compile_all(issue.details),
            asks: pools.compile_all(issue.asks),
        };
        let topics = topics::ALL
            .iter()
            .map(|text| Topic {
                text,
                issues: text.issues.iter().map(issue).collect(),
                harms: pools.compile_all(text.harms),
                asks: pools.compile_all(text.asks),
            })
            .collect();
        Grammar { pools, topics }
    }
}

impl Default for Grammar {
    fn default() -> Self {
        Self::new()
    }
}
