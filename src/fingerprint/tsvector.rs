//! `tsvector` arguments, read in place, and the weights of their labels.

use crate::corpus::Cached;
use crate::pg::{argument, raise_elements};
use dedup_core::features::{RecipeError, Resolver};
use dedup_core::fingerprint::Weight;
use pgrx::pg_sys;
use serde_json::Value;

/// Weights of the labels D, C, B and A, in the order of `ts_rank`.
#[derive(Clone, Copy)]
pub(super) struct LabelWeights(pub(super) [Weight; 4]);

impl Default for LabelWeights {
    fn default() -> LabelWeights {
        LabelWeights([0.1, 0.2, 0.4, 1.0].map(|weight| Weight::new(weight).unwrap_or(Weight::ONE)))
    }
}

impl Cached for LabelWeights {
    fn parse(json: &Value, _: &dyn Resolver) -> Result<LabelWeights, RecipeError> {
        let four: Option<Vec<f64>> = json.as_array().and_then(|all| all.iter().map(Value::as_f64).collect());
        let Some(four) = four.filter(|four| four.len() == 4) else {
            raise_elements(
                "weights of a tsvector must be four numbers",
                "They weigh the labels D, C, B and A, as in ts_rank: [0.1, 0.2, 0.4, 1.0].",
            )
        };
        let mut weights = [Weight::ZERO; 4];
        for (at, number) in four.into_iter().enumerate() {
            weights[at] = Weight::new(number).map_err(|error| RecipeError {
                path: (at + 1).to_string(),
                message: error.to_string(),
                hint: format!("A weight is a number from 0 to {}.", Weight::MAX),
            })?;
        }
        Ok(LabelWeights(weights))
    }
}

pub(super) struct TsVector<'a>(&'a [u8]);

pub(super) struct Lexeme<'a> {
    pub(super) text: &'a str,
    /// How often it occurs with the labels D, C, B and A; a lexeme without positions counts as one occurrence with D.
    pub(super) labels: [u32; 4],
}

impl<'a> TsVector<'a> {
    unsafe fn read(varlena: *mut pg_sys::varlena) -> TsVector<'a> {
        // SAFETY: a tsvector, which lives as long as the call. It is unpacked, because positions are aligned from the start of it.
        TsVector(unsafe { pgrx::varlena_to_byte_slice(varlena) })
    }

    /// The lexemes, in the order of the vector.
    ///
    /// The layout is that of `tsearch/ts_type.h`: a count, one 32-bit entry a lexeme (has positions: 1 bit,
    /// length: 11, offset: 20), the texts, and after a text at an even offset its positions (a 16-bit count,
    /// then 16 bits each with the label on top). `None` if the bytes are not that.
    pub(super) fn lexemes(&self) -> Option<Vec<Lexeme<'a>>> {
        let (count, rest) = self.0.split_first_chunk::<4>()?;
        let count = u32::from_ne_bytes(*count) as usize;
        let (entries, texts) = rest.split_at_checked(count.checked_mul(4)?)?;
        let short = |at: usize| Some(u16::from_ne_bytes(*texts.get(at..)?.first_chunk()?));
        let lexeme = |entry: &[u8; 4]| {
            let entry = u32::from_ne_bytes(*entry);
            let (has_positions, length, offset) =
                (entry & 1 == 1, entry as usize >> 1 & 0x7FF, entry as usize >> 12);
            let text = std::str::from_utf8(texts.get(offset..offset + length)?).ok()?;
            let mut labels = [0; 4];
            if has_positions {
                let positions = (offset + length).next_multiple_of(2);
                for at in 0..usize::from(short(positions)?) {
                    labels[usize::from(short(positions + 2 + 2 * at)? >> 14)] += 1;
                }
            } else {
                labels[0] = 1;
            }
            Some(Lexeme { text, labels })
        };
        entries.as_chunks::<4>().0.iter().map(lexeme).collect()
    }
}

argument!(TsVector<'a>, TsVector::read, 'a);
