//! The suffix automaton of a sequence (Blumer et al. 1985): the smallest
//! automaton that accepts exactly its substrings, built in linear time. It replaces a suffix tree and takes less
//! memory.

use dedup_core::interrupt::checked;
use rustc_hash::FxHashMap;

/// One state: all runs that end at the same places of the sequence.
#[derive(Debug, Clone)]
struct State {
    /// Length of the longest of them.
    length: u32,
    /// The state of the longest suffix that ends at more places.
    link: Option<u32>,
    /// Where the earliest of them ends: the position after its last symbol.
    first_end: u32,
    /// The symbols that lead on from here.
    symbols: Vec<u32>,
}

/// A suffix automaton over symbols that are numbers.
#[derive(Debug, Clone)]
pub struct SuffixAutomaton {
    states: Vec<State>,
    steps: FxHashMap<(u32, u32), u32>,
    last: u32,
}

/// The longest run that ends at a position of a sequence and also occurs in
/// the automaton's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// Its length.
    pub length: usize,
    /// Where its first occurrence in the automaton's sequence begins.
    pub start: usize,
}

impl SuffixAutomaton {
    /// The automaton of `sequence`.
    pub fn new(sequence: &[u32]) -> SuffixAutomaton {
        let root = State { length: 0, link: None, first_end: 0, symbols: Vec::new() };
        let mut automaton = SuffixAutomaton { states: vec![root], steps: FxHashMap::default(), last: 0 };
        automaton.states.reserve(2 * sequence.len());
        checked(sequence).for_each(|&symbol| automaton.push(symbol));
        automaton
    }

    fn step(&self, state: u32, symbol: u32) -> Option<u32> {
        self.steps.get(&(state, symbol)).copied()
    }

    fn set_step(&mut self, state: u32, symbol: u32, to: u32) {
        if self.steps.insert((state, symbol), to).is_none() {
            self.states[state as usize].symbols.push(symbol);
        }
    }

    fn add(&mut self, state: State) -> u32 {
        self.states.push(state);
        self.states.len() as u32 - 1
    }

    /// Appends a symbol to the sequence.
    fn push(&mut self, symbol: u32) {
        let length = self.states[self.last as usize].length + 1;
        let new = self.add(State { length, link: Some(0), first_end: length, symbols: Vec::new() });
        let mut from = Some(std::mem::replace(&mut self.last, new));
        while let Some(state) = from {
            let Some(next) = self.step(state, symbol) else {
                self.set_step(state, symbol, new);
                from = self.states[state as usize].link;
                continue;
            };
            let reached = self.states[state as usize].length + 1;
            let link = if self.states[next as usize].length == reached {
                next
            } else {
                self.split(state, symbol, next)
            };
            self.states[new as usize].link = Some(link);
            return;
        }
    }

    /// Takes the runs of `next` that come by way of `state`, and shorter
    /// ones, into a state of their own: they now end at one place more.
    fn split(&mut self, state: u32, symbol: u32, next: u32) -> u32 {
        let mut copy = self.states[next as usize].clone();
        copy.length = self.states[state as usize].length + 1;
        let symbols = std::mem::take(&mut copy.symbols);
        let copy = self.add(copy);
        for symbol in symbols {
            if let Some(to) = self.step(next, symbol) {
                self.set_step(copy, symbol, to);
            }
        }
        self.states[next as usize].link = Some(copy);
        let mut from = Some(state);
        while let Some(state) = from.filter(|&state| self.step(state, symbol) == Some(next)) {
            self.set_step(state, symbol, copy);
            from = self.states[state as usize].link;
        }
        copy
    }

    /// For every position of `sequence`, the longest common run
    /// that ends with the symbol there ("matching statistics"). Linear.
    pub fn matches(&self, sequence: &[u32]) -> Vec<Match> {
        let (mut state, mut length) = (0u32, 0usize);
        let read = |&symbol: &u32| {
            loop {
                if let Some(next) = self.step(state, symbol) {
                    (state, length) = (next, length + 1);
                    break;
                }
                match self.states[state as usize].link {
                    Some(link) => (state, length) = (link, self.states[link as usize].length as usize),
                    None => {
                        length = 0;
                        break;
                    }
                }
            }
            Match { length, start: self.states[state as usize].first_end as usize - length }
        };
        checked(sequence).map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every match is the longest there is, at its first place.
        #[test]
        fn matches_are_the_longest(
            text in prop::collection::vec(0u32..4, 0..30),
            other in prop::collection::vec(0u32..5, 0..30),
        ) {
            let found = SuffixAutomaton::new(&text).matches(&other);
            for (end, found) in found.iter().enumerate() {
                let runs = (0..=end + 1).map(|length| &other[end + 1 - length..=end][..length]);
                let occurs = |run: &[u32]| (0..=text.len() - run.len()).find(|&at| text[at..].starts_with(run));
                let runs = runs.filter(|run| run.len() <= text.len());
                let longest = runs.filter_map(|run| Some((run.len(), occurs(run)?))).max_by_key(|run| run.0);
                let (length, start) = longest.unwrap_or((0, 0));
                prop_assert_eq!(*found, Match { length, start });
            }
        }

        /// Linear: at most 2n states and 3n steps, whatever the symbols.
        #[test]
        fn stays_linear(text in prop::collection::vec(0u32..3, 3..200)) {
            let automaton = SuffixAutomaton::new(&text);
            prop_assert!(automaton.states.len() < 2 * text.len());
            prop_assert!(automaton.steps.len() < 3 * text.len());
        }
    }
}
