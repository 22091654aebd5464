//! Statistics of a table: what its rows have in common.

use super::frame::Frame;
use super::learn::learned_from;
use super::templates::{Templates, letters};
use crate::hash::city64;
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{OrRaise, Room, collect, copy_str, ensure};
use crate::records::Model;
use crate::similarity::Frequencies;
use crate::text::Normal;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// Texts that are looked at, and their bytes, at most: of more, those with the least hashes.
const TEXTS: usize = 1 << 16;
const BYTES: usize = 16 << 20;
/// Texts that are looked at however long they are.
const FEWEST: usize = 24;

/// What the rows of a table have in common.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Statistics {
    /// What many say word for word beside other things: it is cut before anything else is learned or compared.
    pub frame: Frame,
    /// How many texts have an n-gram.
    pub frequencies: Arc<Frequencies>,
    /// What many say the same but for some words, as it was learned ...
    pub learned: Arc<Templates>,
    /// ... and as somebody has [named](super::around) their slots.
    pub templates: Arc<Templates>,
    /// The names, as they are read, and whether each slot tells.
    pub named: Vec<(String, bool)>,
    /// Of records, what agreement in each column tells; they have none of the others.
    pub records: Option<Arc<Model>>,
}

impl Statistics {
    fn of(templates: Templates) -> Statistics {
        let learned = Arc::new(templates);
        Statistics { templates: Arc::clone(&learned), learned, ..Statistics::default() }
    }

    /// Those of records.
    pub fn of_records(model: Arc<Model>) -> Statistics {
        Statistics { records: Some(model), ..Statistics::default() }
    }

    /// Has slots of templates tell two texts apart wherever they stand, or never, by their [names](super::around) as `normal`
    /// reads them, and by no others. Returns the names that no template has a place for.
    pub fn name_slots<'n>(&mut self, slots: &'n [(String, bool)], normal: Normal) -> Vec<&'n str> {
        let named = slots.iter().map(|(name, tells)| (normal.plain(name).into_owned(), *tells)).collect();
        let unknown = self.name(named);
        slots.iter().zip(unknown).filter(|it| it.1).map(|((name, _), _)| name.as_str()).collect()
    }

    /// Whether their slots have these names, and no others.
    pub fn is_named(&self, slots: &[(String, bool)], normal: Normal) -> bool {
        let names = slots.iter().map(|(name, tells)| (normal.plain(name), *tells));
        names.eq(self.named.iter().map(|(name, tells)| (name.as_str().into(), *tells)))
    }

    /// Which of the names no template has a place for.
    fn name(&mut self, named: Vec<(String, bool)>) -> Vec<bool> {
        let mut templates = Arc::clone(&self.learned);
        let unknown = if named.is_empty() { Vec::new() } else { Arc::make_mut(&mut templates).name(&named) };
        (self.templates, self.named) = (templates, named);
        unknown
    }

    /// As hexadecimal digits with the names of slots behind them, those of records as JSON; [`Statistics::read`] reads both.
    pub fn write(&self) -> String {
        if let Some(model) = &self.records {
            return model.write();
        }
        let mut bytes = Vec::new();
        self.frame.write(&mut bytes);
        self.frequencies.write(&mut bytes);
        self.learned.write(&mut bytes);
        ensure(2 * bytes.len()).or_raise();
        let mut hex = hex::encode(bytes);
        if !self.named.is_empty() {
            hex += "|";
            hex += &serde_json::to_string(&self.named).unwrap_or_default();
        }
        hex
    }

    /// Statistics that were written; `None`: these are none.
    pub fn read(written: &str) -> Option<Statistics> {
        if written.starts_with('{') {
            return Some(Statistics::of_records(Arc::new(Model::read(written)?)));
        }
        let (written, named) = written.split_once('|').unwrap_or((written, "[]"));
        ensure(written.len() / 2).or_raise();
        let bytes = hex::decode(written).ok()?;
        let (frame, behind) = Frame::read(&bytes)?;
        let (frequencies, behind) = Frequencies::read(behind)?;
        let templates = Templates::read_all(behind)?;
        let mut read = Statistics { frame, frequencies: Arc::new(frequencies), ..Statistics::of(templates) };
        read.name(serde_json::from_str(named).ok()?);
        Some(read)
    }
}

/// Learns from texts: whatever order they come in and however often each does.
#[derive(Debug, Default)]
pub struct Learner {
    /// By the hashes of their letters.
    texts: FxHashMap<u64, String>,
    bytes: usize,
    /// How often the half of the texts that there may be was left out, that of the greater hashes.
    halved: u32,
}

impl Learner {
    fn limit(&self) -> u64 {
        u64::MAX >> self.halved
    }

    /// What a text is known by; `None`: it says nothing, and is not counted.
    pub fn hash(text: &str) -> Option<u64> {
        let letters = letters(text);
        (!letters.is_empty()).then(|| city64(letters.as_bytes()))
    }

    /// Takes a text.
    pub fn add(&mut self, text: &str) {
        Self::hash(text).into_iter().for_each(|hash| self.add_known(hash, || Cow::Borrowed(text)));
    }

    /// Takes a text that is known by its hash, and is made if it is wanted.
    pub fn add_known<'t>(&mut self, hash: u64, text: impl FnOnce() -> Cow<'t, str>) {
        if hash > self.limit() {
            return;
        }
        let text = text();
        // Of texts that only differ in signs and capitals one is enough.
        if self.texts.get(&hash).is_some_and(|known| **known <= *text) {
            return;
        }
        self.texts.room(1).or_raise();
        self.bytes += text.len();
        let before = self.texts.insert(hash, copy_str(&text).or_raise());
        self.bytes -= before.map_or(0, |before| before.len());
        while self.texts.len() > TEXTS || self.bytes > BYTES && self.texts.len() > FEWEST {
            self.halved += 1;
            let limit = self.limit();
            self.texts.retain(|&hash, _| hash <= limit);
            self.bytes = self.texts.values().map(String::len).sum();
        }
    }

    /// The statistics of the texts, of whose `n`-grams too.
    pub fn learn(self, n: usize) -> Statistics {
        let share = self.limit() as f64 / u64::MAX as f64;
        let mut texts = collect(self.texts).or_raise();
        sort_unstable_by(&mut texts, |a, b| a.0.cmp(&b.0));
        let mut texts: Vec<String> = collect(texts.into_iter().map(|text| text.1)).or_raise();
        let frame = Frame::learned_from(&texts);
        for text in checked(&mut texts) {
            if let Some(own) = frame.cut(text) {
                *text = own;
            }
        }
        let frequencies = Arc::new(Frequencies::of(texts.iter().map(String::as_str), n));
        Statistics { frame, frequencies, ..Statistics::of(learned_from(&texts, share)) }
    }
}
