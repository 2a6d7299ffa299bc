//! A source whose trades a test writes down.

use std::sync::Arc;

use crate::clock::{SECOND, UnixNanos, UnixSecond, Window};
use crate::market::query::context::QueryContext;
use crate::market::query::window::Buckets;
use crate::market::raw::{Bar, Feeds, Instrument, RawData, RawDataSet, Source, SourceError, Trade, TradeFeed};
use crate::protocol::{DataType, Interval, PointsQuery};

/// Markets of one exchange each, with their trades in time order.
#[derive(Default)]
pub(in crate::market) struct Tape {
    instruments: Vec<Instrument>,
    trades: Vec<Vec<Trade>>,
    ticks: Vec<f64>,
    feeds: Feeds,
}

/// Trades of the markets of a tape.
struct TapeFeed {
    trades: Vec<Vec<Trade>>,
    ticks: Vec<f64>,
}

/// A trade of a Unix second; a negative amount is sold.
pub(in crate::market) fn trade(second: i64, price: f64, amount: f64) -> Trade {
    Trade { time: UnixSecond(second).nanos(), price, amount: amount.abs(), buy: amount > 0.0 }
}

impl Tape {
    pub(in crate::market) fn with(mut self, coin: &str, quote: &str, tick: f64, trades: &[Trade]) -> Self {
        self.instruments.push(Instrument {
            exchange: format!("VENUE_{}", self.instruments.len()),
            raw_symbol: format!("{coin}{quote}"),
            coin: coin.to_owned(),
            quote: quote.to_owned(),
            category: "SPOT".to_owned(),
            coin_name: String::new(),
            available_since: UnixSecond(0),
            raw_data: RawDataSet::default().with(RawData::Trades),
        });
        self.trades.push(trades.to_vec());
        self.ticks.push(tick);
        let feed = TapeFeed { trades: self.trades.clone(), ticks: self.ticks.clone() };
        self.feeds = coins_only!(crate, Feeds::default().with::<dyn TradeFeed>(Arc::new(feed)));
        self
    }
}

/// A query of a tape as of a Unix second, whatever it leaves out.
pub(in crate::market) fn context<'a>(
    tape: &'a Tape,
    data_type: DataType,
    query: &'a PointsQuery,
    interval: &str,
    now: i64,
) -> QueryContext<'a> {
    let buckets = Buckets::new(Interval::find(interval).unwrap(), query, UnixNanos(now * SECOND));
    QueryContext { source: tape, query, spec: data_type.spec(), markets: Vec::new(), buckets }
}

impl Source for Tape {
    fn instruments(&self) -> &[Instrument] {
        &self.instruments
    }

    fn feeds(&self) -> &Feeds {
        &self.feeds
    }

    fn icon_url(&self, _: usize) -> String {
        String::new()
    }
}

impl TradeFeed for TapeFeed {
    fn bars(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        let minute = |trade: &Trade| trade.time.minute().second();
        let known: Vec<Trade> = self.trades[market].iter().filter(|trade| trade.time <= now).copied().collect();
        for part in known.chunk_by(|one, next| minute(one) == minute(next)) {
            let mut bar = Bar::of(minute(&part[0]), &part[0]);
            part[1..].iter().for_each(|trade| bar.add(trade));
            if window.contains(bar.start) {
                visit(&bar);
            }
        }
        Ok(())
    }

    fn bar_before(&self, market: usize, before: UnixSecond, now: UnixNanos) -> Result<Option<Bar>, SourceError> {
        let mut last = None;
        self.bars(market, Window { from: i64::MIN, to: before.0 }, now, &mut |bar| last = Some(*bar))?;
        Ok(last)
    }

    fn trades(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        let within = |trade: &&Trade| trade.time <= now && window.contains(trade.time.second());
        self.trades[market].iter().filter(within).for_each(visit);
        Ok(())
    }

    fn tick(&self, market: usize) -> Result<f64, SourceError> {
        Ok(self.ticks[market])
    }
}
