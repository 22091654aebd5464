//! The string hashes that the papers name, to repeat their experiments.
//!
//! * The 32-bit forms are Partow's "General Purpose Hash Function Algorithms"
//!   as a C compiler with a signed `char` runs them: bytes from 0x80 on, which
//!   is every byte of a Chinese character, count as negative numbers.
//! * The 64-bit forms over bytes are the same recurrences in 64 bits (P2:
//!   "slightly changed"), over the bytes as unsigned numbers.
//! * The forms over UTF-16 code units are Partow's Java, which the papers' Java
//!   programs would have used: `long` with signed shifts, but RS with a factor
//!   of 32 bits, and PJW and ELF with the masks of a 32-bit word.
//!
//! None of them spreads short Chinese words over 64 bits (the upper bits of many words are equal), so a
//! SimHash made of them puts unrelated texts close together. Use [`super::city64`] for anything else.

/// A string hash that a paper names (P1: BKDR, AP; P2: BKDR, AP, DJB, JS, RS; P4: RS, JS, PJW, ELF, SDBM).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PaperHash {
    /// Brian Kernighan and Dennis Ritchie's, with the seed 131.
    Bkdr,
    /// Arash Partow's.
    Ap,
    /// Daniel J. Bernstein's: times 33.
    Djb,
    /// Justin Sobel's.
    Js,
    /// Robert Sedgewick's.
    Rs,
    /// That of the sdbm library: times 65599.
    Sdbm,
    /// Peter J. Weinberger's.
    Pjw,
    /// That of ELF object files: PJW for 32 bits.
    Elf,
}

impl PaperHash {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Bkdr, Self::Ap, Self::Djb, Self::Js, Self::Rs, Self::Sdbm, Self::Pjw, Self::Elf];

    /// Its name in recipes and options: `bkdr`, `ap`, …
    pub fn name(self) -> &'static str {
        ["bkdr", "ap", "djb", "js", "rs", "sdbm", "pjw", "elf"][self as usize]
    }

    /// The 32-bit hash of bytes, as Partow's C with a signed `char` gives it.
    pub fn hash32(self, bytes: &[u8]) -> u32 {
        self.run(32, bytes.iter().map(|&byte| (byte.cast_signed() as u32).into())) as u32
    }

    /// The same recurrence in 64 bits over unsigned bytes.
    pub fn hash64(self, bytes: &[u8]) -> u64 {
        self.run(64, bytes.iter().map(|&byte| byte.into()))
    }

    /// The hash of `text` that Partow's Java has: a `long` over UTF-16 code units (P2, P4).
    pub fn hash64_utf16(self, text: &str) -> u64 {
        let units = text.encode_utf16().map(i64::from);
        let hash: i64 = match self {
            // The same in a `long`: no shift to the right, no narrower variable.
            PaperHash::Bkdr | PaperHash::Djb | PaperHash::Sdbm => {
                return self.run(64, units.map(i64::cast_unsigned));
            }
            // The literal 0xAAAAAAAA is a negative `int`; `^` binds less than `+`.
            PaperHash::Ap => units.enumerate().fold(i64::from(0xAAAA_AAAA_u32.cast_signed()), |h, (i, c)| {
                if i % 2 == 0 {
                    h ^ (h << 7) ^ c.wrapping_mul(h >> 3)
                } else {
                    h ^ !((h << 11).wrapping_add(c) ^ (h >> 5))
                }
            }),
            PaperHash::Js => {
                units.fold(1_315_423_911, |h, c| h ^ (h << 5).wrapping_add(c).wrapping_add(h >> 2))
            }
            PaperHash::Rs => {
                let mut factor: i32 = 63_689;
                units.fold(0, |h, c| {
                    let next = h.wrapping_mul(factor.into()).wrapping_add(c);
                    factor = factor.wrapping_mul(378_551);
                    next
                })
            }
            // PJW's mask is -1 shifted, ELF's the top of 32 bits; both leave 28 bits.
            PaperHash::Pjw | PaperHash::Elf => {
                let top: i64 = if self == PaperHash::Pjw { -1 << 28 } else { 0xF000_0000 };
                units.fold(0, |h, c| {
                    let h = (h << 4).wrapping_add(c);
                    (h ^ (h & top) >> 24) & !top
                })
            }
        };
        hash.cast_unsigned()
    }

    /// The recurrence in so many bits; each byte or code unit comes as a word of them.
    fn run(self, bits: u32, units: impl Iterator<Item = u64>) -> u64 {
        let word = u64::MAX >> (64 - bits);
        let start = match self {
            PaperHash::Ap => word / 3 * 2,
            PaperHash::Djb => 5381,
            PaperHash::Js => 1_315_423_911,
            _ => 0,
        };
        let mut factor: u64 = 63_689;
        // PJW and ELF shift, and fold what reaches the top bits back in, low.
        let shift = if self == PaperHash::Pjw { bits / 8 } else { 4 };
        let top = word << (bits - shift) & word;
        units.enumerate().fold(start, |h, (at, c)| {
            let next = match self {
                PaperHash::Bkdr => h.wrapping_mul(131).wrapping_add(c),
                PaperHash::Ap if at % 2 == 0 => h ^ (h << 7) ^ c.wrapping_mul(h >> 3),
                PaperHash::Ap => h ^ !(h << 11).wrapping_add(c ^ (h >> 5)),
                PaperHash::Djb => h.wrapping_mul(33).wrapping_add(c),
                PaperHash::Js => h ^ (h << 5).wrapping_add(c).wrapping_add(h >> 2),
                PaperHash::Rs => {
                    let by = factor;
                    factor = factor.wrapping_mul(378_551);
                    h.wrapping_mul(by).wrapping_add(c)
                }
                PaperHash::Sdbm => h.wrapping_mul(65_599).wrapping_add(c),
                PaperHash::Pjw | PaperHash::Elf => {
                    let h = (h << shift).wrapping_add(c) & word;
                    (h ^ (h & top) >> (bits - 2 * shift)) & !top
                }
            };
            next & word
        })
    }
}

/// `String.hashCode` of Java (P2's built-in hash): 32 bits over UTF-16 units. A `long` made of it repeats its sign in the
/// upper half.
pub fn java(text: &str) -> i32 {
    text.encode_utf16().fold(0, |h: i32, unit| h.wrapping_mul(31).wrapping_add(unit.into()))
}

/// MurmurHash3 for x64, 128 bits, as its two halves in order (P2). The 64-bit
/// hash of other libraries is the first half.
pub fn murmur3_128(bytes: &[u8], seed: u32) -> [u64; 2] {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let first = |k: u64| k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let second = |k: u64| k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (blocks, tail) = bytes.as_chunks::<16>();
    let (mut h1, mut h2) = (u64::from(seed), u64::from(seed));
    for block in blocks {
        let block = u128::from_le_bytes(*block);
        h1 = (h1 ^ first(block as u64)).rotate_left(27).wrapping_add(h2);
        h1 = h1.wrapping_mul(5).wrapping_add(0x52dc_e729);
        h2 = (h2 ^ second((block >> 64) as u64)).rotate_left(31).wrapping_add(h1);
        h2 = h2.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let rest = tail.iter().rev().fold(0u128, |k, &byte| k << 8 | u128::from(byte));
    h1 ^= first(rest as u64);
    h2 ^= second((rest >> 64) as u64);
    h1 ^= bytes.len() as u64;
    h2 ^= bytes.len() as u64;
    let mix = |k: u64| {
        let k = (k ^ k >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let k = (k ^ k >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        k ^ k >> 33
    };
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (mix(h1), mix(h2));
    h1 = h1.wrapping_add(h2);
    [h1, h2.wrapping_add(h1)]
}
