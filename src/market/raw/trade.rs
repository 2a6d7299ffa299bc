//! Trades, liquidations, and what they add up to.

use super::feeds::{Feed, SourceError};
use crate::clock::{UnixNanos, UnixSecond, Window};

/// One trade.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trade {
    /// When it happened.
    pub time: UnixNanos,
    /// Price.
    pub price: f64,
    /// Amount, in coin or in the contracts of an inverse market ([`super::Instrument::contract_usd`]).
    pub amount: f64,
    /// Whether the taker bought.
    pub buy: bool,
}

impl Trade {
    /// The trade with its amount in coin, when it is counted in contracts that are worth `contract` USD each.
    #[must_use]
    pub(in crate::market) fn in_coin(self, contract: f64) -> Self {
        Self { amount: self.amount * contract / self.price, ..self }
    }
}

/// Trades of one minute, or of several, added up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// When it starts.
    pub start: UnixSecond,
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
    /// Quote value of taker buys: the sum of price × amount, or the worth of the contracts of an inverse market.
    pub buy_quote: f64,
    /// Quote value of taker sells.
    pub sell_quote: f64,
    /// Time of the first trade.
    pub first: UnixNanos,
    /// Time of the last trade.
    pub last: UnixNanos,
}

impl Bar {
    /// A bar of one trade.
    pub fn of(start: UnixSecond, trade: &Trade) -> Self {
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

    /// The bar with its worth in quote, when amounts are counted in contracts that are worth `contract` USD each.
    #[must_use]
    pub(in crate::market) fn of_contracts(self, contract: f64) -> Self {
        Self { buy_quote: self.buy * contract, sell_quote: self.sell * contract, ..self }
    }

    /// Amount traded, in the unit of the market's trades.
    pub fn volume(&self) -> f64 {
        self.buy + self.sell
    }
}

/// Adds the next bar to a longer one.
pub(in crate::market) fn join(whole: &mut Option<Bar>, next: &Bar) {
    match whole {
        None => *whole = Some(*next),
        Some(whole) => whole.merge(next),
    }
}

/// Trades.
pub trait TradeFeed: Send + Sync {
    /// Visits the minute bars with a start in a window in time order. The minute that holds `now`
    /// has only the trades up to then.
    fn bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError>;

    /// The bars that [`TradeFeed::bars`] visits, joined to one; `None` if it visits none.
    fn span(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        let mut all: Option<Bar> = None;
        self.bars(market, window, now, &mut |bar| join(&mut all, bar))?;
        Ok(all)
    }

    /// The last minute bar that starts before `before`.
    fn bar_before(&self, market: usize, before: UnixSecond, now: UnixNanos) -> Result<Option<Bar>, SourceError>;

    /// Visits the trades with a time in a window, none after `now`, by time and then by file order.
    fn trades(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError>;

    /// The price step of a market, in quote: every price of its trades and its book is a multiple of it. A property of the
    /// market, the same at all times; 1 for a market with neither.
    fn tick(&self, market: usize) -> Result<f64, SourceError>;

    /// The highest price of the minutes with a start in a window, as of `now`: the maximum over the bars that
    /// [`TradeFeed::bars`] visits.
    fn highest(&self, market: usize, window: Window, now: UnixNanos) -> Result<Option<f64>, SourceError> {
        let mut highest: Option<f64> = None;
        self.bars(market, window, now, &mut |bar| highest = highest.into_iter().chain([bar.high]).reduce(f64::max))?;
        Ok(highest)
    }
}

impl Feed for dyn TradeFeed {
    const NAME: &'static str = "trades";
}

/// Liquidations, which have the form of trades.
pub trait LiquidationFeed: Send + Sync {
    /// As [`TradeFeed::bars`], of the market's liquidations: `buy` is the amount of forced buy orders (liquidated shorts),
    /// `sell` that of forced sell orders (liquidated longs).
    fn liquidation_bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError>;

    /// As [`TradeFeed::trades`], of the market's liquidations, each with the side of the forced order.
    fn liquidations(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError>;
}

impl Feed for dyn LiquidationFeed {
    const NAME: &'static str = "liquidations";
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
                Trade { time: UnixNanos(time), price: f64::from(price), amount: f64::from(amount) / 8.0, buy }
            }).collect();
            let bar = |part: &[Trade]| {
                let mut bar = Bar::of(UnixSecond(0), &part[0]);
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
