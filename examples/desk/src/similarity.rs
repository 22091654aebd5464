//! Similarity of two texts by their three-character sequences, for measuring the desk.

/// Letters, digits and Chinese characters only, digits and letters in half width.
pub fn plain(text: &str) -> Vec<char> {
    text.chars()
        .map(|c| match c as u32 {
            n @ 0xFF01..=0xFF5E => char::from_u32(n - 0xFEE0).unwrap_or(c),
            _ => c,
        })
        .filter(|c| c.is_alphanumeric())
        .collect()
}

/// The set of three-character sequences of a text, sorted.
pub fn grams(text: &str) -> Vec<u64> {
    let plain = plain(text);
    let mut grams: Vec<u64> =
        plain.windows(3).map(|w| w.iter().fold(0, |a, c| a << 21 | *c as u64)).collect();
    grams.sort_unstable();
    grams.dedup();
    grams
}

/// Size of the intersection over size of the union of two sorted sets.
pub fn jaccard(a: &[u64], b: &[u64]) -> f64 {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                i += 1;
                j += 1;
                both += 1;
            }
        }
    }
    let union = a.len() + b.len() - both;
    if union == 0 { 1.0 } else { both as f64 / union as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_space_and_width_do_not_count() {
        assert_eq!(grams("电梯，坏了３天。\n无人修"), grams("电梯 坏了3天! 无人修"));
        assert_eq!(jaccard(&grams("一二三四"), &grams("二三四五")), 1.0 / 3.0);
    }
}
