//! Means, percentiles and price distributions.

/// Entries of a price distribution: one for each cent, and one for the price 1 (section 2.5).
pub(in crate::market) const PRICE_BINS: usize = 101;
/// Entries of a percentile list: p0 to p99 (section 2.5).
const PERCENTILES: usize = 100;

/// The quotient; 0, which the wire leaves out, where there is nothing to divide by.
pub(in crate::market) fn ratio(sum: f64, count: f64) -> f64 {
    if count == 0.0 { 0.0 } else { sum / count }
}

/// The quantile of a part (0 to 1) of ascending values, linear between neighbours; 0 for no values.
pub(in crate::market) fn percentile(ascending: &[f64], part: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else { return 0.0 };
    let place = part * last as f64;
    let lower = place.floor();
    let (left, right) = (ascending[lower as usize], ascending[(lower as usize + 1).min(last)]);
    left + (right - left) * (place - lower)
}

/// p0 (the smallest) to p99 of values that ascend; nothing for no values.
pub(in crate::market) fn percentiles(ascending: &[f64]) -> Vec<f64> {
    if ascending.is_empty() {
        return Vec::new();
    }
    (0..PERCENTILES).map(|percent| percentile(ascending, percent as f64 / 100.0)).collect()
}

/// How many prices lie in [i, i + 1) cents, for i from 0 to 100. Prices outside 0 to 1 count at the nearer end.
pub(in crate::market) fn price_distribution(prices: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut bins = vec![0.0; PRICE_BINS];
    for price in prices {
        bins[cent(price)] += 1.0;
    }
    bins
}

/// The last whole cent that is not above the price. The product rounds: 0.29 × 100 is below 29, so it is checked against
/// the cents themselves.
fn cent(price: f64) -> usize {
    let last = PRICE_BINS - 1;
    let near = ((price * 100.0).round().max(0.0) as usize).min(last);
    if near > 0 && near as f64 / 100.0 > price { near - 1 } else { near }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cent_falls_into_its_own_bin() {
        for (index, text) in (0..=100).map(|index| (index, format!("{}.{:02}", index / 100, index % 100))) {
            let price: f64 = text.parse().unwrap();
            assert_eq!(cent(price), index, "{text}");
            assert_eq!(cent(price + 0.0049), index, "{text}");
            assert_eq!(cent(price + 0.0099), index, "{text}");
            assert_eq!(cent(price.next_down()), index.saturating_sub(1), "just below {text}");
        }
        assert_eq!((cent(-0.5), cent(7.0)), (0, 100));
        assert_eq!(price_distribution([0.5, 0.509, 1.0].into_iter()).iter().sum::<f64>(), 3.0);
    }

    #[test]
    fn percentiles_lie_straight_between_the_values() {
        let values: Vec<f64> = (0..=50).map(f64::from).collect();
        let found = percentiles(&values);
        assert_eq!((found.len(), found[0], found[50], found[99]), (100, 0.0, 25.0, 49.5));
        assert_eq!(percentiles(&[3.0]), vec![3.0; 100]);
        assert!(percentiles(&[]).is_empty());
        assert_eq!(percentile(&[1.0, 2.0, 4.0, 8.0], 0.5), 3.0);
    }
}
