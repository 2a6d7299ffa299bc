//! The weight formula of section 8.2 in integers. Floating point gets about two cases in a hundred wrong.

use crate::protocol::{Points, TypeSpec, Weight};

/// Properties of a request on which its weight depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Demand {
    /// Length of a bucket in seconds, above 0.
    pub interval: i64,
    /// Length of the window in seconds, 0 or more.
    pub period: i64,
    /// Exchanges that are aggregated; 0 and 1 are both "not several".
    pub exchanges: u32,
    /// `maxDepth`, when given.
    pub max_depth: Option<u32>,
}

/// A demand that has no weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WeightError {
    /// The interval is not a positive number of seconds.
    #[error("an interval of {0} s is no interval; give its length in seconds, above 0")]
    Interval(i64),
    /// The period is negative.
    #[error("a period of {0} s is negative; the window must end after it starts")]
    Period(i64),
    /// `maxDepth` is 0.
    #[error("max_depth 0 asks for no levels; give 1 or more")]
    Depth,
}

/// Weight of one request of the type: a whole number, at least 1.
///
/// `ceil(ceil(period / interval / 1000) × cost × exchange multiplier × depth multiplier)`, where the exchange multiplier
/// is (5 + n) / 5 with n exchanges when there are several, and the depth multiplier (5 + k) / 5 in the k-th band above
/// the included depth. Types without an included depth ignore `max_depth`.
///
/// ```
/// use marketpoints::protocol::{DataType, Weight};
/// use marketpoints::weight::{self, Demand};
///
/// // A thousand minutes of order books over three exchanges: 10 × 1.6. That depth costs nothing more.
/// let book = DataType::BlockBookSnapshotAgg.spec();
/// let demand = Demand { interval: 60, period: 60_000, exchanges: 3, max_depth: Some(3_500) };
/// assert_eq!(weight::of(book, &demand)?, Weight(16));
/// # Ok::<(), weight::WeightError>(())
/// ```
pub fn of(spec: &TypeSpec, demand: &Demand) -> Result<Weight, WeightError> {
    if demand.interval <= 0 {
        return Err(WeightError::Interval(demand.interval));
    }
    if demand.period < 0 {
        return Err(WeightError::Period(demand.period));
    }
    if demand.max_depth == Some(0) {
        return Err(WeightError::Depth);
    }
    let thousands = (demand.period as u128).div_ceil(1_000 * demand.interval as u128);
    let several = if demand.exchanges > 1 { u128::from(demand.exchanges) } else { 0 };
    let band = match (spec.included_depth, demand.max_depth) {
        (Some(included), Some(depth)) => u128::from((depth - 1) / included),
        _ => 0,
    };
    let total = (thousands * u128::from(spec.cost) * (5 + several) * (5 + band)).div_ceil(25);
    Ok(Weight(u64::try_from(total).unwrap_or(u64::MAX).max(1)))
}

/// Buckets that a window of `period` seconds holds; a started one counts as one.
pub fn points(demand: &Demand) -> Points {
    Points((demand.period.max(0) as u64).div_ceil(demand.interval.max(1) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::DataType;

    fn weigh(name: &str, points: i64, exchanges: u32, max_depth: Option<u32>) -> u64 {
        let spec = DataType::find(name).unwrap().spec();
        of(spec, &Demand { interval: 60, period: points * 60, exchanges, max_depth }).unwrap().0
    }

    #[test]
    fn exchange_examples_of_section_8_2() {
        let cost_1: Vec<_> = [2, 3, 5].map(|n| weigh("TRADE_AGG", 1_000, n, None)).into();
        let cost_10: Vec<_> = [2, 3, 5].map(|n| weigh("BLOCK_BOOK_SNAPSHOT_AGG", 1_000, n, None)).into();
        assert_eq!((cost_1, cost_10), (vec![2, 2, 2], vec![14, 16, 20]));
    }

    #[test]
    fn depth_examples_of_section_8_4() {
        let book = [3_500, 3_501, 7_000, 7_001].map(|d| weigh("BLOCK_BOOK_SNAPSHOT_AGG", 1_000, 1, Some(d)));
        let liquidations = [1_500, 1_501, 3_000, 3_001].map(|d| weigh("VENUE_LIQUIDATION_AGG", 1_000, 1, Some(d)));
        assert_eq!((book, liquidations), ([10, 12, 12, 14], [5, 6, 6, 7]));
    }

    #[test]
    fn cases_that_floating_point_gets_wrong() {
        // Base 5 with 7 exchanges is exactly 12; base 15 with 12 exchanges exactly 51.
        assert_eq!(weigh("TPO_AGG", 1_000, 7, None), 12);
        assert_eq!(weigh("TPO_AGG", 3_000, 12, None), 51);
    }

    #[test]
    fn every_data_request_weighs_at_least_one_and_started_thousands_count() {
        assert_eq!(weigh("TRADE_AGG", 0, 1, None), 1);
        assert_eq!(weigh("TRADE_AGG", 1_000, 1, None), 1);
        assert_eq!(weigh("TRADE_AGG", 1_001, 1, None), 2);
        assert_eq!(weigh("TRADE_AGG", 1_000, 1, Some(9_999_999)), 1);
    }

    #[test]
    fn senseless_demands_are_refused_and_huge_ones_do_not_overflow() {
        let spec = DataType::TradeAgg.spec();
        let demand = Demand { interval: 60, period: 60, exchanges: 1, max_depth: None };
        assert_eq!(of(spec, &Demand { interval: 0, ..demand }), Err(WeightError::Interval(0)));
        assert_eq!(of(spec, &Demand { period: -1, ..demand }), Err(WeightError::Period(-1)));
        assert_eq!(of(spec, &Demand { max_depth: Some(0), ..demand }), Err(WeightError::Depth));
        let huge = Demand { interval: 1, period: i64::MAX, exchanges: u32::MAX, max_depth: Some(u32::MAX) };
        assert!(of(DataType::BlockBookSnapshotAgg.spec(), &huge).is_ok());
    }
}
