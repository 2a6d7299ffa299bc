//! What the engine asks of a source of market data: the demo and the store both answer it.

use std::sync::Arc;

use super::analytics::PositionTable;
use super::derivatives::{Gauge, GaugeBar, Ticker};
use super::feed::Feeds;
use super::summaries::{OptionSummary, PredictionState, PredictionTold, Supply, Token};
use crate::clock::SECOND;
use crate::protocol::DataType;
use crate::protocol::contract::contract_usd;
use crate::protocol::exchange::FUNDING_SECONDS;
use crate::protocol::symbol::{self, Category};
use crate::protocol::wire::USD_LIKE;

/// A market of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// Exchange identifier.
    pub exchange: String,
    /// Exchange-native symbol.
    pub raw_symbol: String,
    /// Base asset; empty for a prediction market.
    pub coin: String,
    /// Quote asset; empty where nothing tells it.
    pub quote: String,
    /// `SPOT`, `PERPETUAL`, `FUTURE`, `OPTION` or `COMBO`; empty for a prediction market.
    pub category: String,
    /// Full name of the base asset, where the source knows it.
    pub coin_name: String,
    /// Unix seconds from which on there may be data; [`Source::first_event`] tells since when there is.
    pub available_since: i64,
    /// What raw data there may be.
    pub feeds: Feeds,
}

impl Listing {
    /// Symbol in BASE-QUOTE form; empty without a base. A future has its end besides, BASE-QUOTE-YYMMDD: it is another
    /// thing than the perpetual. Options and combinations keep their own symbols.
    pub fn normalized_symbol(&self) -> String {
        if self.is(Category::Option) || self.is(Category::Combo) {
            return self.raw_symbol.clone();
        }
        let expiry = || symbol::parse(&self.exchange, &self.raw_symbol, self.available_since).expiry;
        let expiry = if self.is(Category::Future) { expiry().unwrap_or_default() } else { String::new() };
        let parts = if self.coin.is_empty() { [""; 3] } else { [&*self.coin, &*self.quote, &*expiry] };
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
    }

    /// Whether the market is of a category.
    pub fn is(&self, category: Category) -> bool {
        self.category == category.name()
    }

    /// USD that a unit of amount is worth on an inverse market, whatever the price; `None` where amounts are in coin.
    pub fn contract_usd(&self) -> Option<f64> {
        contract_usd(&self.exchange, &self.raw_symbol)
    }

    /// Whether the quote counts as one USD.
    pub fn is_usd_like(&self) -> bool {
        USD_LIKE.contains(&self.quote.as_str())
    }
}

/// Trades of one minute, or of several, added up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// Unix seconds of the start.
    pub start: i64,
    /// First price.
    pub open: f64,
    /// Highest price.
    pub high: f64,
    /// Lowest price.
    pub low: f64,
    /// Last price.
    pub close: f64,
    /// Amount bought by takers, in the unit of the market's trades.
    pub buy: f64,
    /// Amount sold by takers, in the unit of the market's trades.
    pub sell: f64,
    /// Worth in quote of what was bought: the sum of price × amount, of an inverse market that of its contracts.
    pub buy_quote: f64,
    /// Worth in quote of what was sold.
    pub sell_quote: f64,
    /// Unix nanoseconds of the first trade.
    pub first: i64,
    /// Unix nanoseconds of the last trade.
    pub last: i64,
}

/// One trade.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trade {
    /// Unix nanoseconds.
    pub time: i64,
    /// Price.
    pub price: f64,
    /// Amount, in coin or in the contracts of an inverse market ([`Listing::contract_usd`]).
    pub amount: f64,
    /// Whether the taker bought.
    pub buy: bool,
}

impl Trade {
    /// The trade with its amount in coin, when it is told in contracts that are worth `contract` USD each.
    #[must_use]
    pub(super) fn in_coin(self, contract: f64) -> Self {
        Self { amount: self.amount * contract / self.price, ..self }
    }
}

impl Bar {
    /// A bar of one trade.
    pub fn of(start: i64, trade: &Trade) -> Self {
        let mut bar = Self {
            start,
            open: trade.price,
            high: trade.price,
            low: trade.price,
            close: trade.price,
            buy: 0.0,
            sell: 0.0,
            buy_quote: 0.0,
            sell_quote: 0.0,
            first: trade.time,
            last: trade.time,
        };
        bar.count(trade);
        bar
    }

    /// Adds the next trade.
    pub fn add(&mut self, trade: &Trade) {
        self.high = self.high.max(trade.price);
        self.low = self.low.min(trade.price);
        self.close = trade.price;
        self.last = trade.time;
        self.count(trade);
    }

    fn count(&mut self, trade: &Trade) {
        let (amount, quote) =
            if trade.buy { (&mut self.buy, &mut self.buy_quote) } else { (&mut self.sell, &mut self.sell_quote) };
        *amount += trade.amount;
        *quote += trade.price * trade.amount;
    }

    /// Joins another part of the same time. The earlier first trade opens, the later last trade closes; with equal times
    /// `self` opens and `other` closes, so `other` is the part that comes later in file order.
    pub fn merge(&mut self, other: &Self) {
        if other.first < self.first {
            (self.first, self.open) = (other.first, other.open);
        }
        if other.last >= self.last {
            (self.last, self.close) = (other.last, other.close);
        }
        self.high = self.high.max(other.high);
        self.low = self.low.min(other.low);
        self.buy += other.buy;
        self.sell += other.sell;
        self.buy_quote += other.buy_quote;
        self.sell_quote += other.sell_quote;
    }

    /// The bar with its worth in quote, when amounts are told in contracts that are worth `contract` USD each.
    #[must_use]
    pub(super) fn of_contracts(self, contract: f64) -> Self {
        Self { buy_quote: self.buy * contract, sell_quote: self.sell * contract, ..self }
    }

    /// Amount traded, in the unit of the market's trades.
    pub fn volume(&self) -> f64 {
        self.buy + self.sell
    }
}

/// One level of a book: price and amount, in the unit of the market's trades.
pub type Level = (f64, f64);

/// The state of an order book.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Book {
    /// Unix nanoseconds of its last event.
    pub time: i64,
    /// From the best down.
    pub bids: Vec<Level>,
    /// From the best up.
    pub asks: Vec<Level>,
}

/// A source that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

/// Adds the next bar to a longer one.
pub(super) fn join(whole: &mut Option<Bar>, next: &Bar) {
    match whole {
        None => *whole = Some(*next),
        Some(whole) => whole.merge(next),
    }
}

/// Market data by market and time. Nothing after `now` (Unix nanoseconds) is ever told.
pub trait Source: Send + Sync {
    /// The markets; a market is named by its place in this list.
    fn listings(&self) -> &[Listing];

    /// Visits the minute bars with a start in `[from, to)` (Unix seconds) in time order. The minute that holds `now`
    /// has only the trades up to then.
    fn bars(&self, market: usize, from: i64, to: i64, now: i64, visit: &mut dyn FnMut(&Bar))
    -> Result<(), SourceError>;

    /// All of what [`Source::bars`] tells in one bar; `None` where it tells nothing.
    fn span(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<Bar>, SourceError> {
        let mut whole: Option<Bar> = None;
        self.bars(market, from, to, now, &mut |bar| join(&mut whole, bar))?;
        Ok(whole)
    }

    /// The last minute bar that starts before `before`.
    fn bar_before(&self, market: usize, before: i64, now: i64) -> Result<Option<Bar>, SourceError>;

    /// Visits the trades with a time in `[from, to)` (Unix seconds), none after `now`, by time and then by file order.
    fn trades(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError>;

    /// The price step of a market, in quote: every price of its trades and its book is a multiple of it. A property of the
    /// market, the same at all times; 1 for a market with neither.
    fn tick(&self, market: usize) -> Result<f64, SourceError>;

    /// Unix nanoseconds of the first event that a data type of this market is made of; `None` where there is none at all.
    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<i64>, SourceError> {
        let listing = &self.listings()[market];
        Ok(listing.feeds.serve(data_type).then(|| listing.available_since.saturating_mul(SECOND)))
    }

    /// The highest price of the minutes with a start in `[from, to)`, as of `now`: the most of what [`Source::bars`] tells.
    fn highest(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<f64>, SourceError> {
        let mut highest: Option<f64> = None;
        self.bars(market, from, to, now, &mut |bar| highest = highest.into_iter().chain([bar.high]).reduce(f64::max))?;
        Ok(highest)
    }

    /// Address of a picture of a market's coin, or of the question; empty where the source knows none.
    fn icon_url(&self, _market: usize) -> String {
        String::new()
    }

    /// The last book state of those minutes in `[from, to)` that had a book event, as of `now`.
    fn last_book(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<Book>, SourceError>;

    /// As [`Source::bars`], of the market's liquidations: `buy` is what forced buy orders took, the liquidated shorts;
    /// `sell` what forced sell orders took, the liquidated longs. A source without them tells nothing.
    fn liquidation_bars(
        &self,
        _market: usize,
        _from: i64,
        _to: i64,
        _now: i64,
        _visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        Ok(())
    }

    /// As [`Source::trades`], of the market's liquidations, each with the side of the forced order. A source without them
    /// tells nothing.
    fn liquidations(
        &self,
        _market: usize,
        _from: i64,
        _to: i64,
        _now: i64,
        _visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        Ok(())
    }

    /// As [`Source::bars`], of the readings of a gauge. A source without them tells nothing.
    fn gauge_bars(
        &self,
        _market: usize,
        _gauge: Gauge,
        _from: i64,
        _to: i64,
        _now: i64,
        _visit: &mut dyn FnMut(&GaugeBar),
    ) -> Result<(), SourceError> {
        Ok(())
    }

    /// The last minute bar of a gauge that starts before `before`.
    fn gauge_before(
        &self,
        _market: usize,
        _gauge: Gauge,
        _before: i64,
        _now: i64,
    ) -> Result<Option<GaugeBar>, SourceError> {
        Ok(None)
    }

    /// As [`Source::trades`], of the readings of the market's gauges. A source without them tells nothing.
    fn readings(
        &self,
        _market: usize,
        _from: i64,
        _to: i64,
        _now: i64,
        _visit: &mut dyn FnMut(&Ticker),
    ) -> Result<(), SourceError> {
        Ok(())
    }

    /// Seconds that a market's funding rates are for: its time between settlements.
    fn funding_seconds(&self, _market: usize) -> i64 {
        FUNDING_SECONDS
    }

    /// The option summaries; one is named by its place in this list.
    fn option_summaries(&self) -> &[OptionSummary] {
        &[]
    }

    /// The last reading of an option summary on a whole minute in `[from, at]` (Unix seconds), percentage points; it looks
    /// at nothing later. `None` where there is none.
    fn option_summary(&self, _summary: usize, _from: i64, _at: i64) -> Result<Option<f64>, SourceError> {
        Ok(None)
    }

    /// The tokens whose supply is known; one is named by its place in this list.
    fn tokens(&self) -> &[Token] {
        &[]
    }

    /// Visits the latest supply snapshot before `from` and those with a time in `[from, to)` (Unix seconds), in time
    /// order, none after `now`.
    fn supply(
        &self,
        _token: usize,
        _from: i64,
        _to: i64,
        _now: i64,
        _visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError> {
        Ok(())
    }

    /// The positions on the prediction venue as of `now` (Unix nanoseconds), where the source knows when they were taken;
    /// `None` for a source without any.
    fn positions(&self, _now: i64) -> Option<Arc<PositionTable>> {
        None
    }

    /// The state at a Unix second of the prediction market with this place among the positions' events; `None` before its
    /// opening.
    fn prediction(&self, _event: usize, _at: i64) -> Option<PredictionState> {
        None
    }

    /// Tokens that the market of [`Source::prediction`] traded up to a Unix second; `None` where only the positions tell.
    fn prediction_volume(&self, _event: usize, _at: i64) -> Option<f64> {
        None
    }

    /// What the source was told of a prediction market beside its state, as of a Unix second; `None` for a source that
    /// computes it from the positions.
    fn prediction_told(&self, _event: usize, _at: i64) -> Option<&PredictionTold> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Cutting a minute's trades anywhere and joining the parts gives the minute.
        #[test]
        fn merged_parts_are_the_whole(
            steps in prop::collection::vec((0i64..3, 1u32..1_000, 1u32..64, any::<bool>()), 2..40), cut in 1usize..39,
        ) {
            let mut time = 0;
            let trades: Vec<Trade> = steps.iter().map(|&(pause, price, amount, buy)| {
                time += pause;
                Trade { time, price: f64::from(price), amount: f64::from(amount) / 8.0, buy }
            }).collect();
            let bar = |part: &[Trade]| {
                let mut bar = Bar::of(0, &part[0]);
                part[1..].iter().for_each(|trade| bar.add(trade));
                bar
            };
            let cut = cut.min(trades.len() - 1);
            let mut merged = bar(&trades[..cut]);
            merged.merge(&bar(&trades[cut..]));
            prop_assert_eq!(merged, bar(&trades)); // eighths add exactly in any order
        }
    }
}
