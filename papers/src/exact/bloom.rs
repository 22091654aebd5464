//! Bloom filters (Bloom 1970; P1, 2.2).

use dedup_core::hash::{PaperHash, city64};
use dedup_core::interrupt::{self, Meter};
use dedup_core::memory::{OrRaise, filled};

/// The largest number of bits: 512 MiB, what a PostgreSQL value can hold.
const MAX_BITS: u64 = 1 << 32;
/// The largest number of hash functions.
pub const MAX_HASHES: u32 = 64;

/// First byte of the stored form.
const VERSION: u8 = 1;
/// Bytes before the bits: version, hashing, number of hashes (2, little-endian
/// as all numbers), 4 zero bytes, bits (8), texts added (8).
const HEADER: usize = 24;

/// An impossible filter.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BloomError {
    /// A number out of its range.
    #[error("{0}")]
    Range(String),
    /// Two filters of unlike shapes cannot be merged.
    #[error("bloom filters of different shapes: {0} and {1}")]
    Unlike(Shape, Shape),
    /// Bytes that are not the stored form of a filter.
    #[error("not a stored bloom filter: {0}")]
    Stored(&'static str),
}

/// The hash functions that give the positions of a text's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hashing {
    /// Double hashing of CityHash64: well spread.
    City,
    /// P1's: BKDR and AP, 32 bits each, modulo the number of bits; from the
    /// third function on, double hashing of the two.
    BkdrAp,
}

/// When a text counts as seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// All its bits are set: Bloom's rule.
    All,
    /// Any of its bits is set: P1's rule as printed. It errs far more often.
    Any,
}

/// The shape of a filter. Filters of one shape can be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    bits: u64,
    hashes: u32,
    hashing: Hashing,
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hashing = match self.hashing {
            Hashing::City => "city64",
            Hashing::BkdrAp => "bkdr+ap",
        };
        write!(f, "{} bits, {} hashes of {hashing}", self.bits, self.hashes)
    }
}

impl Shape {
    /// A filter of `bits` (1 to 2³²) with `hashes` functions (1 to
    /// [`MAX_HASHES`]).
    ///
    /// # Errors
    /// A number out of its range.
    pub fn new(bits: u64, hashes: u32, hashing: Hashing) -> Result<Shape, BloomError> {
        if bits == 0 || bits > MAX_BITS {
            return Err(BloomError::Range(format!("a bloom filter has 1 to {MAX_BITS} bits, not {bits}")));
        }
        if hashes == 0 || hashes > MAX_HASHES {
            return Err(BloomError::Range(format!(
                "a bloom filter has 1 to {MAX_HASHES} hash functions, not {hashes}"
            )));
        }
        Ok(Shape { bits, hashes, hashing })
    }

    /// The smallest filter in which, once `items` texts are in it, a new text
    /// is taken for a seen one with probability `error`:
    /// `m = -n ln p / (ln 2)²` bits and `k = m/n ln 2` functions.
    ///
    /// # Errors
    /// `error` is not between 0 and 1, or the filter would be too large.
    pub fn for_items(items: u64, error: f64) -> Result<Shape, BloomError> {
        if !(error > 0.0 && error < 1.0) {
            return Err(BloomError::Range(format!(
                "the error rate of a bloom filter lies between 0 and 1, not {error}"
            )));
        }
        let items = items.max(1) as f64;
        let ln2 = std::f64::consts::LN_2;
        let bits = (-items * error.ln() / (ln2 * ln2)).ceil().max(8.0);
        if bits > MAX_BITS as f64 {
            return Err(BloomError::Range(format!(
                "a bloom filter for {items} texts at error rate {error} needs {bits} bits, more than {MAX_BITS}"
            )));
        }
        Shape::new(bits as u64, Shape::best_hashes(bits as u64, items as u64), Hashing::City)
    }

    /// The number of functions that errs least for `items` in `bits`.
    pub fn best_hashes(bits: u64, items: u64) -> u32 {
        let best = bits as f64 / items.max(1) as f64 * std::f64::consts::LN_2;
        (best.round() as u32).clamp(1, 30)
    }

    /// Bytes of a filter of this shape.
    pub fn stored_bytes(&self) -> usize {
        HEADER + self.bits.div_ceil(8) as usize
    }

    /// Number of bits.
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Number of hash functions.
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Its hash functions.
    pub fn hashing(&self) -> Hashing {
        self.hashing
    }

    /// The positions of the bits of a text.
    fn positions(&self, content: &[u8]) -> impl Iterator<Item = u64> + use<> {
        let Shape { bits, hashes, hashing } = *self;
        let (mut at, mut step) = match hashing {
            Hashing::City => {
                let hash = city64(content);
                // The finaliser of Murmur3 makes the step look independent.
                let step = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
                (hash, step ^ step >> 29 | 1)
            }
            Hashing::BkdrAp => (PaperHash::Bkdr.hash32(content).into(), PaperHash::Ap.hash32(content).into()),
        };
        (0..hashes).map(move |i| match hashing {
            Hashing::City => {
                let position = ((u128::from(at) * u128::from(bits)) >> 64) as u64;
                at = at.wrapping_add(step);
                step = step.wrapping_add(u64::from(i));
                position
            }
            Hashing::BkdrAp => match i {
                0 => at % bits,
                1 => step % bits,
                _ => (at + u64::from(i) * step) % bits,
            },
        })
    }
}

/// The probability that a new text is taken for a seen one, with `items`
/// distinct texts in the filter: `(1 - e^(-kn/m))^k` under [`Rule::All`],
/// `1 - e^(-k·kn/m)` under [`Rule::Any`] (P1, formula of 2.2, reconstructed).
/// [`Rule::Any`]'s formula is for a filter that stored every one of the items.
pub fn expected_error(bits: u64, hashes: u32, items: u64, rule: Rule) -> f64 {
    let k = f64::from(hashes);
    let load = k * items as f64 / bits as f64;
    match rule {
        Rule::All => (-(-load).exp_m1()).powf(k),
        Rule::Any => -(-k * load).exp_m1(),
    }
}

/// A Bloom filter over its stored form, one byte string: a filter in a table is queried without decoding it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bloom<B = Vec<u8>> {
    shape: Shape,
    bytes: B,
}

impl Bloom<Vec<u8>> {
    /// An empty filter.
    pub fn new(shape: Shape) -> Bloom {
        let mut bytes = filled(0, shape.stored_bytes()).or_raise();
        bytes[0] = VERSION;
        bytes[1] = match shape.hashing {
            Hashing::City => 0,
            Hashing::BkdrAp => 1,
        };
        bytes[2..4].copy_from_slice(&(shape.hashes as u16).to_le_bytes());
        bytes[8..16].copy_from_slice(&shape.bits.to_le_bytes());
        Bloom { shape, bytes }
    }

    /// The stored form.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl<B: AsRef<[u8]>> Bloom<B> {
    /// A filter from its stored form.
    ///
    /// # Errors
    /// Bytes that no filter has.
    pub fn open(bytes: B) -> Result<Bloom<B>, BloomError> {
        let stored = bytes.as_ref();
        if stored.len() < HEADER {
            return Err(BloomError::Stored("it is too short"));
        }
        if stored[0] != VERSION {
            return Err(BloomError::Stored("its version is unknown"));
        }
        let hashing = match stored[1] {
            0 => Hashing::City,
            1 => Hashing::BkdrAp,
            _ => return Err(BloomError::Stored("its hashing is unknown")),
        };
        let hashes = u16::from_le_bytes([stored[2], stored[3]]).into();
        let bits = number(stored, 8);
        let shape =
            Shape::new(bits, hashes, hashing).map_err(|_| BloomError::Stored("its shape is out of range"))?;
        if (stored.len() - HEADER) as u64 != bits.div_ceil(8) {
            return Err(BloomError::Stored("its length does not fit its shape"));
        }
        let unused = stored.last().copied().unwrap_or(0) as u32 >> ((bits + 7) % 8 + 1);
        if stored[4..8] != [0; 4] || unused != 0 {
            return Err(BloomError::Stored("unused bits are set"));
        }
        Ok(Bloom { shape, bytes })
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Its stored form.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The number of additions that changed the filter: the distinct texts in it, except those taken for seen.
    /// A merge adds the two numbers.
    pub fn added(&self) -> u64 {
        number(self.bytes(), 16)
    }

    /// Whether `content` was added, or seems so.
    pub fn contains(&self, content: &[u8]) -> bool {
        self.seen(content, Rule::All)
    }

    /// As [`Bloom::contains`], under a rule.
    pub fn seen(&self, content: &[u8], rule: Rule) -> bool {
        let bits = &self.bytes()[HEADER..];
        let set = |at: u64| bits[(at / 8) as usize] >> (at % 8) & 1 == 1;
        match rule {
            Rule::All => self.shape.positions(content).all(set),
            Rule::Any => self.shape.positions(content).any(set),
        }
    }

    /// The number of bits set.
    pub fn ones(&self) -> u64 {
        let ones_of = |part: &[u8]| {
            interrupt::check();
            let (words, rest) = part.as_chunks::<8>();
            let count: u64 = words.iter().map(|word| u64::from(u64::from_le_bytes(*word).count_ones())).sum();
            count + rest.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
        };
        self.bytes()[HEADER..].chunks(1 << 20).map(ones_of).sum()
    }

    /// The number of distinct texts that sets as many bits as are set (Swamidass
    /// and Baldi 2007): `-m/k ln(1 - X/m)`; infinite when all bits are set.
    pub fn estimated_items(&self) -> f64 {
        let fill = self.ones() as f64 / self.shape.bits as f64;
        // The sum makes the -0 of an empty filter 0.
        -(self.shape.bits as f64) / f64::from(self.shape.hashes) * (1.0 - fill).ln() + 0.0
    }

    /// The probability that a new text is taken for a seen one, as full as the
    /// filter is: its share of set bits to the power of the hashes.
    pub fn current_error(&self) -> f64 {
        (self.ones() as f64 / self.shape.bits as f64).powf(self.shape.hashes.into())
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Bloom<B> {
    /// Adds a text. Returns whether it was there before, or seems so.
    pub fn add(&mut self, content: &[u8]) -> bool {
        self.add_under(content, Rule::All)
    }

    /// As [`Bloom::add`], under a rule. Under [`Rule::Any`] only a text that is
    /// new leaves bits behind, as P1 says.
    pub fn add_under(&mut self, content: &[u8], rule: Rule) -> bool {
        let shape = self.shape;
        if rule == Rule::Any && self.seen(content, rule) {
            return true;
        }
        let bits = &mut self.bytes.as_mut()[HEADER..];
        let mut seen = true;
        for at in shape.positions(content) {
            let (byte, bit) = (&mut bits[(at / 8) as usize], 1 << (at % 8));
            seen &= *byte & bit != 0;
            *byte |= bit;
        }
        let seen = seen && rule == Rule::All;
        if !seen {
            self.set_added(self.added() + 1);
        }
        seen
    }

    /// Adds the contents of `other`.
    ///
    /// # Errors
    /// The shapes differ.
    pub fn merge<C: AsRef<[u8]>>(&mut self, other: &Bloom<C>) -> Result<(), BloomError> {
        if self.shape != other.shape {
            return Err(BloomError::Unlike(self.shape, other.shape));
        }
        let added = self.added().saturating_add(other.added());
        for (to, from) in self.bytes.as_mut()[HEADER..].iter_mut().zip(&other.bytes()[HEADER..]) {
            *to |= from;
        }
        self.set_added(added);
        Ok(())
    }

    /// Empties the filter.
    pub fn clear(&mut self) {
        self.bytes.as_mut()[HEADER..].fill(0);
        self.set_added(0);
    }

    fn set_added(&mut self, added: u64) {
        self.bytes.as_mut()[16..24].copy_from_slice(&added.to_le_bytes());
    }
}

/// P1's repeated filtering: in each of `passes` passes the texts of one share, by their hash, go through the
/// emptied filter, so that a small filter serves many texts. The verdict of each of `rows` texts, as
/// [`Bloom::add_under`] gives it. `visit` is called with a row's number once per pass and calls its second
/// argument with the row's text, if it has one.
pub fn seen_in_passes(
    mut filter: Bloom,
    rule: Rule,
    passes: u64,
    rows: usize,
    mut visit: impl FnMut(usize, &mut dyn FnMut(&[u8])),
) -> Vec<bool> {
    let mut verdicts = filled(false, rows).or_raise();
    let mut meter = Meter::new();
    for pass in 0..passes {
        filter.clear();
        for (row, verdict) in verdicts.iter_mut().enumerate() {
            meter.work(64);
            visit(row, &mut |content| {
                if (city64(content) >> 20) % passes == pass {
                    *verdict = filter.add_under(content, rule);
                }
            });
        }
    }
    verdicts
}

fn number(stored: &[u8], at: usize) -> u64 {
    stored[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
#[path = "bloom_tests.rs"]
mod tests;
