//! Randomness without state: a fixed number for every place.

#![expect(clippy::inline_always, reason = "day-to-day builds inline nothing else")]

use crate::market::query::rounding::floor;

/// Mixes a word so that every bit depends on every bit (the finaliser of `SplitMix64`).
#[inline(always)]
pub(in crate::market) const fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The hash of a place, given by its coordinates.
pub(in crate::market) fn place(coordinates: &[u64]) -> u64 {
    // Not a fold, whose closure is a call in those builds.
    let mut hash = 0;
    let mut left = coordinates;
    while let [coordinate, rest @ ..] = left {
        hash = mix(hash ^ mix(*coordinate));
        left = rest;
    }
    hash
}

/// A number in 0 .. 1 from a hash.
#[inline(always)]
pub(in crate::market) fn uniform(hash: u64) -> f64 {
    (hash >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Largest absolute value of [`normal`].
pub(in crate::market) const FURTHEST: f64 = 3.464_101_615_137_755;

/// A number near the normal distribution (mean 0, deviation 1, within ±3.5) from a hash: the sum of four uniforms.
#[inline(always)]
pub(in crate::market) fn normal(hash: u64) -> f64 {
    const SCALE: f64 = 1.0 / 65_536.0;
    // Four uniforms have the variance 4 / 12.
    const WIDTH: f64 = 1.732_050_807_568_877_2;
    let parts = (hash & 0xffff) + (hash >> 16 & 0xffff) + (hash >> 32 & 0xffff) + (hash >> 48);
    (parts as f64 * SCALE - 2.0) * WIDTH
}

/// Smooth noise in one dimension: random values at whole positions, a cubic between them. About −1 .. 1.
pub(in crate::market) fn smooth(seed: u64, position: f64) -> f64 {
    let cell = floor(position);
    let at = |offset: i64| uniform(mix(seed ^ cell.wrapping_add(offset) as u64)) * 2.0 - 1.0;
    let part = position - cell as f64;
    let (left, right) = (at(0), at(1));
    left + (right - left) * part * part * (3.0 - 2.0 * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_as_they_should() {
        let (mut sum, mut squares) = (0.0, 0.0);
        for index in 0..100_000u64 {
            let value = normal(mix(index));
            sum += value;
            squares += value * value;
            assert!((0.0..1.0).contains(&uniform(mix(index))));
        }
        assert!((sum / 1e5).abs() < 0.02 && (squares / 1e5 - 1.0).abs() < 0.03, "{sum} {squares}");
    }

    #[test]
    fn smooth_noise_is_continuous_and_meets_its_knots() {
        for index in -50..50 {
            let at = f64::from(index);
            assert!((smooth(7, at) - smooth(7, at - 1e-9)).abs() < 1e-6);
        }
    }
}
