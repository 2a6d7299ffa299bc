//! Block sizes: what is recommended for a market, and whether one that was asked fits (service.md 4.1 and 4.2, supplement 9).
//!
//! The recommended size of a market (the 4K size) is the member of 1, 2, 5, 10, … × 10ⁿ, a multiple of the market's tick,
//! with which the included depth of the orderbook heatmap reaches about a tenth of the last price to either side, in the
//! market's quote: 88,000 / 10 / 3,500 gives 2. Without trades the price is the middle of the last book; a market with neither
//! has none.

use super::MarketError;
use super::availability::EARLY;
use super::feed::Feed;
use super::profiles::nearest_step;
use super::source::{Source, SourceError};
use crate::clock::SECOND;
use crate::protocol::{DataType, ParamError};

/// Share of the price that the included depth reaches with the recommended block size, to either side.
const REACH: f64 = 0.1;

/// The recommended block size of a market as of `now` (Unix nanoseconds), in its quote.
pub(super) fn recommended(source: &dyn Source, market: usize, now: i64) -> Result<Option<f64>, MarketError> {
    let depth = DataType::BlockBookSnapshotAgg.spec().included_depth.unwrap_or(1);
    let price = MarketError::listed(last_price(source, market, now))?.flatten();
    let Some(price) = price.filter(|price| *price > 0.0) else { return Ok(None) };
    let tick = MarketError::listed(source.tick(market))?;
    Ok(tick.map(|tick| nearest_step(price * REACH / f64::from(depth), &[tick])))
}

/// The last traded price of a market as of `now`, or without trades the middle of its last book.
fn last_price(source: &dyn Source, market: usize, now: i64) -> Result<Option<f64>, SourceError> {
    let feeds = source.listings()[market].feeds;
    let end = now.div_euclid(SECOND).saturating_add(1);
    let traded = if feeds.has(Feed::Trades) { source.bar_before(market, end, now)? } else { None };
    if traded.is_some() || !feeds.has(Feed::Books) {
        return Ok(traded.map(|bar| bar.close));
    }
    let since = source.listings()[market].available_since.saturating_sub(EARLY);
    let book = source.last_book(market, since, end, now)?.unwrap_or_default();
    let best = book.bids.first().into_iter().chain(book.asks.first()).map(|(price, _)| *price);
    let (sum, count) = best.fold((0.0, 0.0), |(sum, count), price| (sum + price, count + 1.0));
    Ok((count > 0.0).then(|| sum / count))
}

/// Refuses a size that is no multiple of the recommended one of each market, with the nearest that fits. Markets without a
/// recommended size take any.
pub(super) fn check(source: &dyn Source, markets: &[usize], size: f64, now: i64) -> Result<(), MarketError> {
    let mut step: Option<f64> = None;
    for &market in markets {
        if let Some(one) = recommended(source, market, now)? {
            step = Some(step.map_or(one, |other| common(one, other)));
        }
    }
    let Some(step) = step else { return Ok(()) };
    let blocks = (size / step).round().max(1.0);
    if (size / step - blocks).abs() <= 1e-9 * blocks {
        return Ok(());
    }
    let nearest = blocks * step;
    let decimals = (-step.log10()).ceil().max(0.0) as usize;
    let size = if size < 1e-6 { format!("{size:e}") } else { size.to_string() };
    let problem = format!(
        "{size} is no multiple of {step}, which GET /v1/block-sizes recommends; the nearest that fits is {nearest:.decimals$}"
    );
    Err(ParamError::new("blockSize", problem).into())
}

/// The least size that two recommended ones divide: the larger, or their lowest common multiple (10 of 2 and 5).
fn common(one: f64, other: f64) -> f64 {
    let (small, large) = (one.min(other), one.max(other));
    let fits = |size: f64| (size / small - (size / small).round()).abs() <= 1e-9 * (size / small);
    (1..=10u32).map(|times| large * f64::from(times)).find(|size| fits(*size)).unwrap_or(large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recommended_sizes_have_a_common_multiple() {
        for (one, other, both) in
            [(2.0, 2.0, 2.0), (2.0, 5.0, 10.0), (5.0, 10.0, 10.0), (2.0, 50.0, 50.0), (0.2, 0.5, 1.0)]
        {
            assert!(
                (common(one, other) - both).abs() < 1e-9 && (common(other, one) - both).abs() < 1e-9,
                "{one} {other}"
            );
        }
    }
}
