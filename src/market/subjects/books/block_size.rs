//! Block sizes: the recommendation for a market, and the check of a requested one (service.md 4.1 and 4.2, supplement 9).
//!
//! The recommended size of a market (the 4K size) is the member of 1, 2, 5, 10, … × 10ⁿ, a multiple of the market's tick,
//! with which the included depth of the orderbook heatmap reaches about a tenth of the last price to either side, in the
//! market's quote: 88,000 / 10 / 3,500 gives 2. Without trades the price is the middle of the last book; a market with neither
//! has none.

use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::market::instruments::availability::EARLY;
use crate::market::query::error::MarketError;
use crate::market::query::price_step::nearest_step;
use crate::market::raw::{BookFeed, RawData, Source, SourceError, TradeFeed};
use crate::protocol::{DataType, ParamError, check_block_size};

/// Share of the price that the included depth reaches with the recommended block size, to either side.
const REACH: f64 = 0.1;

/// The recommended block size of a market as of `now`, in its quote.
pub(in crate::market) fn recommended(
    source: &dyn Source,
    market: usize,
    now: UnixNanos,
) -> Result<Option<f64>, MarketError> {
    let depth = DataType::BlockBookSnapshotAgg.spec().included_depth.unwrap_or(1);
    let price = MarketError::listed(last_price(source, market, now))?.flatten();
    let Some(price) = price.filter(|price| *price > 0.0) else { return Ok(None) };
    let tick = MarketError::listed(source.of::<dyn TradeFeed>().and_then(|trades| trades.tick(market)))?;
    Ok(tick.map(|tick| nearest_step(price * REACH / f64::from(depth), &[tick])))
}

/// The last traded price of a market as of `now`, or without trades the middle of its last book.
fn last_price(source: &dyn Source, market: usize, now: UnixNanos) -> Result<Option<f64>, SourceError> {
    let raw_data = source.instruments()[market].raw_data;
    let end = now.second().0.saturating_add(1);
    let traded = if raw_data.has(RawData::Trades) {
        source.of::<dyn TradeFeed>()?.bar_before(market, UnixSecond(end), now)?
    } else {
        None
    };
    if traded.is_some() || !raw_data.has(RawData::Books) {
        return Ok(traded.map(|bar| bar.close));
    }
    let since = source.instruments()[market].available_since.0.saturating_sub(EARLY);
    let book =
        source.of::<dyn BookFeed>()?.last_book(market, Window { from: since, to: end }, now)?.unwrap_or_default();
    let best = book.bids.first().into_iter().chain(book.asks.first()).map(|(price, _)| *price);
    let (sum, count) = best.fold((0.0, 0.0), |(sum, count), price| (sum + price, count + 1.0));
    Ok((count > 0.0).then(|| sum / count))
}

/// Refuses a size that is no multiple of the recommended one of each market, with the nearest that fits. Markets without a
/// recommended size take any.
pub(in crate::market) fn check(
    source: &dyn Source,
    markets: &[usize],
    size: f64,
    now: UnixNanos,
) -> Result<(), MarketError> {
    let mut sizes = Vec::new();
    for &market in markets {
        sizes.extend(recommended(source, market, now)?);
    }
    check_block_size(size, sizes).map_err(|misfit| ParamError::new("blockSize", misfit.to_string()).into())
}
