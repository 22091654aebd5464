//! Details in which two nearly equal texts differ: another name, number or date in the same place of both.
//!
//! A complaint copied with another street in it, or a form filled in many times, is a near-duplicate by every
//! measure of text, but another matter to a reader. The words of the two texts are aligned; where some stand in the
//! place of others, and both are names of things, each foreign to the other text, the texts are about two things.
//! What only one of them contains is no difference, and neither is another spelling of a name.
//!
//! An alignment is not always symmetric, so the lesser text always comes first: the result does not depend on
//! the order of the arguments. Its limits are by judgement.

/// Whether a word is one of a list, by a function for each list.
macro_rules! word_sets {
    ($($(#[doc = $meaning:literal])+ $name:ident $words:literal)*) => {
        $($(#[doc = $meaning])+
        pub fn $name(word: &str) -> bool {
            static WORDS: std::sync::LazyLock<rustc_hash::FxHashSet<&'static str>> =
                std::sync::LazyLock::new(|| $words.split_whitespace().collect());
            WORDS.contains(word)
        })*
    };
}

mod align;
mod chinese;
mod chinese_words;
mod codes;
mod differences;
mod english;
mod filling;
mod fillings;
mod frame;
mod learn;
mod letters;
mod named;
mod numbers;
mod spans;
mod statistics;
mod templates;
mod tokens;
mod values;

use crate::memory::{OrRaise, Room, copy_str};
use differences::Differences;
pub use differences::{Detail, Kinds, Passage};
pub use filling::Filling;
pub use fillings::{Filler, Fillings};
pub use frame::Frame;
pub use named::{Part, Shown, around};
use rustc_hash::FxHashMap;
use spans::SLOT;
pub use statistics::{Learner, Statistics};
use std::cell::OnceCell;
use std::sync::Arc;
use templates::Read;
pub use templates::Templates;
use tokens::{Ids, Text};

/// The details in which two texts differ, in the order of the lesser text.
pub fn differing(a: &str, b: &str, kinds: Kinds) -> Vec<Detail> {
    Comparer::default().differing(a, b, kinds)
}

/// Compares many pairs of texts, as [`differing`] does: a clause that was cut into words for one pair need not be cut
/// for another. Its memory grows with the texts.
#[derive(Debug, Default)]
pub struct Comparer {
    ids: Ids,
    /// Those of the table, without which no text has slots.
    templates: Option<Arc<Templates>>,
    /// A row is in many pairs.
    texts: FxHashMap<String, Cut>,
    /// Of all these.
    bytes: usize,
}

/// A text that was cut into words, and how it stands to the templates.
#[derive(Debug)]
struct Cut {
    text: Arc<Text>,
    reading: OnceCell<Read>,
}

/// Bytes of texts that it remembers, about a tenth of the memory of that.
const KEPT_BYTES: usize = 1 << 20;

impl Comparer {
    /// One that knows the templates of a table.
    pub fn new(templates: Option<Arc<Templates>>) -> Comparer {
        Comparer { templates, ..Comparer::default() }
    }

    /// Forgets what it has cut if that is much.
    pub fn keep_small(&mut self) {
        // Words have other numbers afterwards.
        if self.ids.keep_small() {
            self.forget_texts();
        }
    }

    fn forget_texts(&mut self) {
        self.texts.clear();
        self.bytes = 0;
    }

    /// Whether a text is of a template, so that what stands in slots says whether another is of one thing with it.
    pub fn is_of_template(&mut self, plain: &str) -> bool {
        self.cut(plain, true).1.is_some()
    }

    /// Whether two texts differ in a detail.
    pub fn differ(&mut self, a: &str, b: &str, kinds: Kinds) -> bool {
        let [(a, x), (b, y)] = self.cut_both(a, b, kinds.slots);
        // To align two texts takes most of the time.
        self.slots([&a, &b], [&x, &y]).is_some() || {
            let differences = Differences::of([a, b], [x, y]);
            !differences.found(kinds, 1).is_empty() || kinds.names && differences.shapes().is_some()
        }
    }

    /// The details in which two texts differ, in the order of the lesser text.
    pub fn differing(&mut self, a: &str, b: &str, kinds: Kinds) -> Vec<Detail> {
        let [(x, of_x), (y, of_y)] = self.cut_both(a, b, kinds.slots);
        let differences = Differences::of([x, y], [of_x, of_y]);
        let mut found = differences.found(kinds, usize::MAX);
        if found.is_empty() && kinds.names {
            found.extend(differences.shapes());
        }
        if found.iter().all(|it| it.kind != SLOT) {
            found.extend(self.slots([&differences.a, &differences.b], differences.readings.each_ref()));
        }
        if a > b {
            found.iter_mut().for_each(|it| std::mem::swap(&mut it.a, &mut it.b));
        }
        found
    }

    /// The values of a slot in which two texts of one template differ.
    fn slots(&self, texts: [&Text; 2], readings: [&Read; 2]) -> Option<Detail> {
        let [Some(x), Some(y)] = readings else { return None };
        let places = self.templates.as_ref()?.differing(texts, [x, y])?;
        let [a, b] = [0, 1].map(|side| texts[side].passage(&places[side]).unwrap_or_default());
        Some(Detail { kind: SLOT, a, b })
    }

    /// The [name](around) of the slot in which two texts differ.
    pub fn slot(&mut self, a: &str, b: &str) -> Option<String> {
        let [(a, x), (b, y)] = self.cut_both(a, b, true);
        self.templates.as_ref()?.named([&a, &b], [&*x?, &*y?])
    }

    /// Two texts, the lesser first.
    fn cut_both(&mut self, a: &str, b: &str, slots: bool) -> [(Arc<Text>, Read); 2] {
        [a.min(b), a.max(b)].map(|plain| self.cut(plain, slots))
    }

    /// A text, and with `slots` how it stands to the templates.
    fn cut(&mut self, plain: &str, slots: bool) -> (Arc<Text>, Read) {
        if !self.texts.contains_key(plain) {
            if self.bytes > KEPT_BYTES {
                self.forget_texts();
            }
            self.texts.room(1).or_raise();
            self.bytes += plain.len();
            let text = Arc::new(Text::new(plain, &mut self.ids));
            let own = copy_str(plain).or_raise();
            self.texts.insert(own, Cut { text, reading: OnceCell::new() });
        }
        let Cut { text, reading } = &self.texts[plain];
        let templates = self.templates.as_ref().filter(|_| slots);
        let read = |templates: &Arc<Templates>| {
            reading.get_or_init(|| templates.read(plain, text).map(Arc::new)).clone()
        };
        (Arc::clone(text), templates.and_then(read))
    }
}

/// What two texts share and in what they differ, in the order of the lesser text.
pub fn passages(a: &str, b: &str) -> Vec<Passage> {
    let mut all = Differences::new(a.min(b), a.max(b), &mut Ids::default()).passages();
    if a > b {
        all.iter_mut().for_each(|it| std::mem::swap(&mut it.a, &mut it.b));
    }
    all
}
