/// The parts of 64 bits of a hash as PostgreSQL writes it, the highest first: a bigint in decimal digits, or a bit string of 64,
/// 128 or 256 bits. `None` if it is neither.
pub fn parts_of_written(hash: &str) -> Option<Vec<u64>> {
    // A bigint has fewer digits.
    if !matches!(hash.len(), 64 | 128 | 256) {
        return Some(vec![hash.parse::<i64>().ok()?.cast_unsigned()]);
    }
    let is_bits = hash.bytes().all(|it| matches!(it, b'0' | b'1'));
    let part = |at: usize| u64::from_str_radix(&hash[at..at + 64], 2).ok();
    if is_bits { (0..hash.len()).step_by(64).map(part).collect() } else { None }
}
