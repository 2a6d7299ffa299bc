//! Numbers with few decimals.

/// Rounds to a number of decimals; the result is the double nearest to that decimal.
pub(in crate::market) fn round(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals.abs());
    if decimals >= 0 { (value * scale).round() / scale } else { (value / scale).round() * scale }
}
