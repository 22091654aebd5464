//! SimHash (Charikar 2002; P1–P4): bit `b` of the fingerprint is 1 if the features whose hash has bit `b` set
//! weigh more than those whose hash has not; a tie gives 0.
//!
//! Sums are fixed-point numbers, so they do not depend on the order of the features: the same bag has the same
//! fingerprint on any number of parallel workers, and an exact tie is a tie.

use thiserror::Error;

/// Binary digits after the point of a weight.
const FRACTION_BITS: u32 = 20;
/// Sums past this leave the 64-bit lanes for the wide ones: no single weight can then overflow a lane.
const LANE_LIMIT: u64 = 1 << 62;

/// A weight that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("weight {0} is out of range")]
pub struct WeightError(
    /// The value given.
    pub f64,
);

/// A feature's weight: 0 to 1,000,000 in steps of 2⁻²⁰. Zero means that the feature does not count at all; a
/// positive weight below the step is one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u64);

impl Weight {
    /// The largest weight.
    pub const MAX: f64 = 1_000_000.0;
    /// Weight zero.
    pub const ZERO: Weight = Weight(0);
    /// Weight one.
    pub const ONE: Weight = Weight(1 << FRACTION_BITS);

    /// The weight nearest to `value`.
    pub fn new(value: f64) -> Result<Weight, WeightError> {
        if !(0.0..=Self::MAX).contains(&value) {
            return Err(WeightError(value));
        }
        let units = (value * f64::from(1u32 << FRACTION_BITS)).round() as u64;
        Ok(Weight(if value > 0.0 { units.max(1) } else { 0 }))
    }

    /// The weight nearest to a product of weights: a computed value may pass [`Weight::MAX`], up to about 10¹².
    pub(crate) fn saturating(value: f64) -> Weight {
        let units = (value * f64::from(1u32 << FRACTION_BITS)).round() as u64;
        Weight(if value > 0.0 { units.clamp(1, LANE_LIMIT / 2) } else { 0 })
    }

    pub(crate) fn plus(self, other: Weight) -> Weight {
        Weight((self.0 + other.0).min(LANE_LIMIT / 2))
    }

    /// The weight as a number.
    pub fn value(self) -> f64 {
        self.0 as f64 / f64::from(1u32 << FRACTION_BITS)
    }

    /// Whether a feature of this weight counts for nothing.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

/// The running sums of one SimHash.
#[derive(Debug, Clone)]
pub struct SimHash {
    /// Weight, in units, of the features whose hash has the bit set.
    ones: [u64; 64],
    /// Weight of all features in `ones`.
    total: u64,
    /// What has left the lanes above.
    wide: Option<Box<Wide>>,
    /// Features of equal weight that are still counted in `planes`: plane `p` holds bit `p` of the 64 counts.
    planes: [u64; PLANES],
    /// How many features the planes hold.
    counted: u32,
    /// Features on their way to the planes, which take them in eights.
    waiting: [u64; 8],
    waits: usize,
    /// The weight that each feature of `planes` stands for.
    unit: Weight,
}

#[derive(Debug, Clone)]
struct Wide {
    ones: [u128; 64],
    total: u128,
}

const PLANES: usize = 10;
const PLANES_HOLD: u32 = (1 << PLANES) - 1;

impl Default for SimHash {
    fn default() -> Self {
        SimHash::new()
    }
}

impl SimHash {
    /// The sums of an empty bag.
    pub fn new() -> SimHash {
        SimHash {
            ones: [0; 64],
            total: 0,
            wide: None,
            planes: [0; PLANES],
            counted: 0,
            waiting: [0; 8],
            waits: 0,
            unit: Weight::ONE,
        }
    }

    /// Adds a feature.
    pub fn add(&mut self, hash: u64, weight: Weight) {
        for (bit, sum) in self.ones.iter_mut().enumerate() {
            *sum += weight.0 & 0u64.wrapping_sub(hash >> bit & 1);
        }
        self.total += weight.0;
        if self.total >= LANE_LIMIT {
            self.widen();
        }
    }

    /// Sets the weight that every following [`SimHash::count`] stands for.
    pub fn set_unit(&mut self, unit: Weight) {
        if unit != self.unit {
            self.flush();
            self.unit = unit;
        }
    }

    /// Adds a feature of the weight last given to [`SimHash::set_unit`], one at first. Much faster than
    /// [`SimHash::add`]: 64 counters are advanced at once, each a column of the bit planes.
    #[inline]
    pub fn count(&mut self, hash: u64) {
        self.waiting[self.waits] = hash;
        self.waits += 1;
        if self.waits == self.waiting.len() {
            self.count_eight();
        }
    }

    /// Adds the eight features that wait to the planes: seven full adders
    /// (Harley and Seal), and one carry of weight eight.
    fn count_eight(&mut self) {
        let full_adder = |a: u64, b: u64, c: u64| (a ^ b ^ c, (a & b) | ((a ^ b) & c));
        let [a, b, c, d, e, f, g, h] = self.waiting;
        let (ones, twos_a) = full_adder(self.planes[0], a, b);
        let (ones, twos_b) = full_adder(ones, c, d);
        let (twos, fours_a) = full_adder(self.planes[1], twos_a, twos_b);
        let (ones, twos_a) = full_adder(ones, e, f);
        let (ones, twos_b) = full_adder(ones, g, h);
        let (twos, fours_b) = full_adder(twos, twos_a, twos_b);
        let (fours, eights) = full_adder(self.planes[2], fours_a, fours_b);
        self.planes[..3].copy_from_slice(&[ones, twos, fours]);
        self.carry(3, eights);
        self.waits = 0;
        self.counted += 8;
        if self.counted > PLANES_HOLD - 8 {
            self.flush();
        }
    }

    /// Adds 2^plane to the counts of the bits set in `carry`.
    fn carry(&mut self, plane: usize, mut carry: u64) {
        for plane in &mut self.planes[plane..] {
            (*plane, carry) = (*plane ^ carry, *plane & carry);
        }
    }

    /// Adds all features of another bag.
    pub fn merge(&mut self, other: &SimHash) {
        let mut other = other.clone();
        let (wide, more) = (self.widen(), other.widen());
        wide.total += more.total;
        wide.ones.iter_mut().zip(&more.ones).for_each(|(sum, more)| *sum += more);
    }

    /// The fingerprint, or `None` if no feature of positive weight was added:
    /// an empty bag has none, so that empty never equals empty.
    pub fn finish(&mut self) -> Option<u64> {
        self.flush();
        let bits = |heavier: &dyn Fn(usize) -> bool| {
            (0..64).filter(|&bit| heavier(bit)).fold(0u64, |fingerprint, bit| fingerprint | 1 << bit)
        };
        if self.wide.is_some() {
            self.widen();
        }
        match &self.wide {
            None if self.total == 0 => None,
            None => Some(bits(&|bit| 2 * self.ones[bit] > self.total)),
            Some(wide) if wide.total == 0 => None,
            Some(wide) => Some(bits(&|bit| 2 * wide.ones[bit] > wide.total)),
        }
    }

    /// The signed sums of the 64 bits, bit 0 (the lowest) first, as weights: how strongly each bit was decided.
    pub fn sums(&mut self) -> [f64; 64] {
        let wide = self.widen();
        let unit = f64::from(1u32 << FRACTION_BITS);
        wide.ones.map(|sum| (2 * sum as i128 - wide.total as i128) as f64 / unit)
    }

    /// The sums as bytes, for a partial aggregate on its way between
    /// processes: the total and the 64 sums, 16 bytes each, little end first.
    pub fn to_bytes(&mut self) -> Vec<u8> {
        let wide = self.widen();
        [wide.total].iter().chain(&wide.ones).flat_map(|sum| sum.to_le_bytes()).collect()
    }

    /// The sums that [`SimHash::to_bytes`] wrote, or `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<SimHash> {
        let (numbers, []) = bytes.as_chunks::<16>() else { return None };
        let [total, ones @ ..] = numbers else { return None };
        let ones: &[[u8; 16]; 64] = ones.try_into().ok()?;
        let wide = Wide { total: u128::from_le_bytes(*total), ones: ones.map(u128::from_le_bytes) };
        // Far more than there can be; what is computed of them does not overflow.
        if wide.total >= 1 << 120 || wide.ones.iter().any(|sum| *sum > wide.total) {
            return None;
        }
        Some(SimHash { wide: Some(Box::new(wide)), ..SimHash::new() })
    }

    fn flush(&mut self) {
        for at in 0..self.waits {
            self.carry(0, self.waiting[at]);
        }
        self.counted += self.waits as u32;
        self.waits = 0;
        if self.counted == 0 {
            return;
        }
        let unit = self.unit.0;
        let used = &self.planes[..(u32::BITS - self.counted.leading_zeros()) as usize];
        // Eight bits at a time: bit `i` of a byte becomes byte `i` of a word,
        // so that the counts of eight bits are summed side by side.
        const EACH: u64 = 0x0101_0101_0101_0101;
        let spread = |byte: u64| {
            let apart = byte.wrapping_mul(EACH) & 0x8040_2010_0804_0201;
            (apart + 0x7F * EACH) >> 7 & EACH
        };
        for (eight, sums) in self.ones.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let side_by_side = |planes: &[u64]| {
                let planes = planes.iter().enumerate();
                planes.fold(0, |sum, (at, plane)| sum + (spread(plane >> (8 * eight) & 0xFF) << at))
            };
            let (low, high) = used.split_at(used.len().min(8));
            let (low, high) = (side_by_side(low).to_le_bytes(), side_by_side(high).to_le_bytes());
            for ((sum, low), high) in sums.iter_mut().zip(low).zip(high) {
                // At most 2^10 features of at most 2^40 units, below 2^62 each.
                *sum += (u64::from(high) << 8 | u64::from(low)) * unit;
            }
        }
        self.total += u64::from(self.counted) * unit;
        self.planes = [0; PLANES];
        self.counted = 0;
        if self.total >= LANE_LIMIT {
            self.widen();
        }
    }

    fn widen(&mut self) -> &mut Wide {
        self.flush();
        let wide = self.wide.get_or_insert_with(|| Box::new(Wide { ones: [0; 64], total: 0 }));
        wide.total += u128::from(std::mem::take(&mut self.total));
        for (sum, lane) in wide.ones.iter_mut().zip(&mut self.ones) {
            *sum += u128::from(std::mem::take(lane));
        }
        wide
    }
}
