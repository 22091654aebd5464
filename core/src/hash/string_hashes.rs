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
//! None of them spreads short Chinese words over 64 bits (the upper bits of
//! many words are equal), so a SimHash made of them puts unrelated texts close
//! together. Use [`super::city64`] for anything else.

/// A string hash that a paper names (P1: BKDR, AP; P2: BKDR, AP, DJB, JS, RS;
/// P4: RS, JS, PJW, ELF, SDBM).
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

/// The recurrences, for one width of word.
macro_rules! recurrences {
    ($name:ident, $word:ty) => {
        /// Each byte or code unit comes as a word of the recurrence's width.
        fn $name(hash: PaperHash, units: impl Iterator<Item = $word>) -> $word {
            const BITS: u32 = <$word>::BITS;
            match hash {
                PaperHash::Bkdr => units.fold(0, |h, c| h.wrapping_mul(131).wrapping_add(c)),
                PaperHash::Ap => units.enumerate().fold(<$word>::MAX / 3 * 2, |h, (i, c)| {
                    if i % 2 == 0 {
                        h ^ (h << 7) ^ c.wrapping_mul(h >> 3)
                    } else {
                        h ^ !(h << 11).wrapping_add(c ^ (h >> 5))
                    }
                }),
                PaperHash::Djb => units.fold(5381, |h, c| h.wrapping_mul(33).wrapping_add(c)),
                PaperHash::Js => {
                    units.fold(1_315_423_911, |h, c| h ^ (h << 5).wrapping_add(c).wrapping_add(h >> 2))
                }
                PaperHash::Rs => {
                    let mut factor: $word = 63_689;
                    units.fold(0, |h, c| {
                        let next = h.wrapping_mul(factor).wrapping_add(c);
                        factor = factor.wrapping_mul(378_551);
                        next
                    })
                }
                PaperHash::Sdbm => units.fold(0, |h, c| h.wrapping_mul(65_599).wrapping_add(c)),
                PaperHash::Pjw => fold_top(units, BITS / 8),
                PaperHash::Elf => fold_top(units, 4),
            }
        }
    };
}

/// PJW and ELF: shift, and fold what reaches the top `shift` bits back in,
/// low.
trait Folding: Sized {
    fn fold_top(units: impl Iterator<Item = Self>, shift: u32) -> Self;
}

macro_rules! folding {
    ($word:ty) => {
        impl Folding for $word {
            fn fold_top(units: impl Iterator<Item = $word>, shift: u32) -> $word {
                let top = <$word>::MAX << (<$word>::BITS - shift);
                // PJW's three quarters of a word; for ELF in 32 bits the same 24.
                let down = <$word>::BITS - 2 * shift;
                units.fold(0, |h, c| {
                    let h = (h << shift).wrapping_add(c);
                    (h ^ (h & top) >> down) & !top
                })
            }
        }
    };
}

folding!(u32);
folding!(u64);

fn fold_top<W: Folding>(units: impl Iterator<Item = W>, shift: u32) -> W {
    W::fold_top(units, shift)
}

recurrences!(run32, u32);
recurrences!(run64, u64);

impl PaperHash {
    /// All of them.
    pub const ALL: [PaperHash; 8] = [
        PaperHash::Bkdr,
        PaperHash::Ap,
        PaperHash::Djb,
        PaperHash::Js,
        PaperHash::Rs,
        PaperHash::Sdbm,
        PaperHash::Pjw,
        PaperHash::Elf,
    ];

    /// Its name in recipes and options: `bkdr`, `ap`, …
    pub fn name(self) -> &'static str {
        match self {
            PaperHash::Bkdr => "bkdr",
            PaperHash::Ap => "ap",
            PaperHash::Djb => "djb",
            PaperHash::Js => "js",
            PaperHash::Rs => "rs",
            PaperHash::Sdbm => "sdbm",
            PaperHash::Pjw => "pjw",
            PaperHash::Elf => "elf",
        }
    }

    /// The hash of that name, if it is one of these.
    pub fn from_name(name: &str) -> Option<PaperHash> {
        PaperHash::ALL.into_iter().find(|hash| hash.name() == name)
    }

    /// The 32-bit hash of bytes, as Partow's C with a signed `char` gives it.
    ///
    /// ```
    /// use dedup_core::hash::PaperHash;
    /// assert_eq!(PaperHash::Bkdr.hash32(b"abc"), 1_677_554);
    /// ```
    pub fn hash32(self, bytes: &[u8]) -> u32 {
        run32(self, bytes.iter().map(|&byte| byte.cast_signed() as u32))
    }

    /// The same recurrence in 64 bits over unsigned bytes.
    pub fn hash64(self, bytes: &[u8]) -> u64 {
        run64(self, bytes.iter().map(|&byte| byte.into()))
    }

    /// The hash of `text` that Partow's Java has: a `long` over UTF-16 code units
    /// (P2, P4).
    pub fn hash64_utf16(self, text: &str) -> u64 {
        let units = text.encode_utf16();
        match self {
            // The same in a `long`: no shift to the right, no narrower variable.
            PaperHash::Bkdr | PaperHash::Djb | PaperHash::Sdbm => run64(self, units.map(u64::from)),
            _ => self.java(units.map(i64::from)).cast_unsigned(),
        }
    }

    fn java(self, units: impl Iterator<Item = i64>) -> i64 {
        match self {
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
            PaperHash::Bkdr | PaperHash::Djb | PaperHash::Sdbm => unreachable!("no form of their own"),
        }
    }
}

/// `String.hashCode` of Java (P2's built-in hash): 32 bits over UTF-16 units. A `long` made of it repeats its sign in the
/// upper half.
pub fn java(text: &str) -> i32 {
    text.encode_utf16().fold(0, |h: i32, unit| h.wrapping_mul(31).wrapping_add(unit.into()))
}

/// MurmurHash3 for x86, 32 bits (P2).
pub fn murmur3_32(bytes: &[u8], seed: u32) -> u32 {
    fn scramble(k: u32) -> u32 {
        k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
    }
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut h = seed;
    for block in blocks {
        h = (h ^ scramble(u32::from_le_bytes(*block))).rotate_left(13).wrapping_mul(5);
        h = h.wrapping_add(0xe654_6b64);
    }
    // An empty tail is zero and stays zero.
    h ^= scramble(tail.iter().rev().fold(0, |k, &byte| k << 8 | u32::from(byte)));
    h ^= bytes.len() as u32;
    h = (h ^ h >> 16).wrapping_mul(0x85eb_ca6b);
    h = (h ^ h >> 13).wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the 32-bit forms: Partow's own values of his own key.
    #[test]
    fn partow_values() {
        let expected = [
            3_153_586_616,
            882_643_939,
            729_241_521,
            1_651_003_062,
            4_097_835_502,
            3_449_571_336,
            126_631_744,
            126_631_744,
        ];
        let key = b"abcdefghijklmnopqrstuvwxyz1234567890";
        for (hash, expected) in PaperHash::ALL.into_iter().zip(expected) {
            assert_eq!(hash.hash32(key), expected, "{hash:?}");
            assert_eq!(PaperHash::from_name(hash.name()), Some(hash));
        }
        assert_eq!(PaperHash::from_name("city64"), None);
    }

    /// Protects the forms over UTF-16: what a Java program with Partow's
    /// functions printed, in the order of `ALL`.
    #[test]
    fn java_values() {
        let expected: [(&str, [u64; 8]); 5] = [
            ("", [0, 0xffff_ffff_aaaa_aaaa, 0x1505, 0x4e67_c6a7, 0, 0, 0, 0]),
            (
                "投诉",
                [
                    0x0032_fe08,
                    0x0021_8fba_575f_41bb,
                    0x0066_ab43,
                    0x0000_0131_e4af_516e,
                    0xffff_d9e4_58bc_c0a4,
                    0x62ad_ce74,
                    0x0006_b519,
                    0x0006_b519,
                ],
            ),
            (
                "中文短文本去重方法研究",
                [
                    0x14dc_6fed_2eff_fa20,
                    0x3b66_1e0b_a9a9_1613,
                    0x7908_2585_ea0e_6799,
                    0xead8_ec2b_e68c_a8b2,
                    0x029a_ff47_b79c_ac48,
                    0x8a9f_984a_8741_bb48,
                    0x0b51_3e26,
                    0x0b51_3e26,
                ],
            ),
            (
                "abcdefghijklmnopqrstuvwxyz1234567890",
                [
                    0xd1a3_bb92_bbf7_e9b8,
                    0xa7e4_31a5_1d91_6025,
                    0xf221_b67b_2b77_57b1,
                    0xb0c2_53fd_3af2_539e,
                    0x813a_efb9_f440_01ee,
                    0xa029_ed0d_cd9c_4808,
                    0x078c_3f40,
                    0x078c_3f40,
                ],
            ),
            (
                "𠮷水",
                [
                    0x3913_c72b,
                    0xfbdd_b427_8861_b19e,
                    0x0f3b_e672,
                    0x0000_27b8_f466_71fd,
                    0xf154_436a_4d1b_6901,
                    0x0000_d8ad_5d83_517f,
                    0x00e6_a9a4,
                    0x00e6_a9a4,
                ],
            ),
        ];
        for (text, values) in expected {
            for (hash, value) in PaperHash::ALL.into_iter().zip(values) {
                assert_eq!(hash.hash64_utf16(text), value, "{hash:?} of {text}");
            }
        }
    }

    /// Protects the built-in hash: what the JDK documents or others have published, wrapped and of a pair of surrogates too.
    #[test]
    fn java_built_in() {
        for (text, hash) in [
            ("", 0),
            ("hello", 99_162_322),
            ("Aa", 2_112),
            ("BB", 2_112),
            ("polygenelubricants", i32::MIN),
            ("中文", 646_394),
            ("𠮷", 0xD842 * 31 + 0xDFB7),
        ] {
            assert_eq!(java(text), hash, "{text}");
        }
    }

    /// Protects Murmur3 for every length of tail: the verification of SMHasher
    /// (keys of 0 to 255 bytes, seed 256 less the length, hashed again).
    #[test]
    fn smhasher_verification() {
        let key: Vec<u8> = (0..=255).collect();
        let (mut short, mut long) = (Vec::new(), Vec::new());
        for length in 0..256usize {
            let seed = 256 - length as u32;
            short.extend(murmur3_32(&key[..length], seed).to_le_bytes());
            long.extend(murmur3_128(&key[..length], seed).iter().flat_map(|half| half.to_le_bytes()));
        }
        assert_eq!(murmur3_32(&short, 0), 0xb0f5_7ee3);
        assert_eq!(murmur3_128(&long, 0)[0] as u32, 0x6384_ba69);
    }
}
