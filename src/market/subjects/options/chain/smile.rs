//! The smile of one expiry, read at the three points that the summaries need.

use super::quote::Quote;

/// Delta of the wings.
const WING: f64 = 0.25;

/// The options of one strike.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct Strike {
    pub(in crate::market) price: f64,
    pub(in crate::market) call: Option<Quote>,
    pub(in crate::market) put: Option<Quote>,
}

/// Volatilities of an expiry, percentage points; `None` where its options do not enclose the point.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(in crate::market) struct Smile {
    /// At the forward.
    pub(in crate::market) at_the_money: Option<f64>,
    /// Volatility of the put with a delta of −0.25, and of the call with 0.25.
    pub(in crate::market) wings: Option<(f64, f64)>,
}

impl Smile {
    /// Reads the options of an expiry, ascending by strike.
    pub(in crate::market) fn of(strikes: &[Strike]) -> Self {
        let quotes = || strikes.iter().flat_map(|strike| [strike.call, strike.put]).flatten();
        let newest = quotes().filter(|quote| quote.forward > 0.0).max_by_key(|quote| quote.time);
        let wing = |side: fn(&Strike) -> Option<Quote>, sign: f64| {
            let points = strikes.iter().filter_map(side).map(|quote| (sign * quote.delta, quote.volatility));
            // Venues send a delta of exactly 0 or 1 where they computed none.
            let mut points: Vec<(f64, f64)> = points.filter(|(delta, _)| *delta > 0.0 && *delta < 1.0).collect();
            points.sort_by(|left, right| left.0.total_cmp(&right.0));
            straight(&points, WING)
        };
        Self {
            at_the_money: newest.and_then(|quote| at_the_money(strikes, quote.forward)),
            wings: wing(|strike| strike.put, -1.0).zip(wing(|strike| strike.call, 1.0)),
        }
    }
}

fn at_the_money(strikes: &[Strike], forward: f64) -> Option<f64> {
    let out_of_the_money = |strike: &Strike| {
        let (first, second) =
            if strike.price < forward { (strike.put, strike.call) } else { (strike.call, strike.put) };
        Some((strike.price.ln(), first.or(second)?.volatility))
    };
    let points: Vec<(f64, f64)> = strikes.iter().filter_map(out_of_the_money).collect();
    straight(&points, forward.ln())
}

/// The value at `x`, interpolated linearly between points that ascend; `None` beyond the first and the
/// last.
pub(in crate::market) fn straight(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let above = points.partition_point(|point| point.0 < x);
    let &(right, high) = points.get(above)?;
    if right == x {
        return Some(high);
    }
    let &(left, low) = points.get(above.checked_sub(1)?)?;
    Some(low + (high - low) * (x - left) / (right - left))
}
