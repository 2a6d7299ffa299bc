//! Conversion of prices, amounts and open interest to USD.
//!
//! A market's quote either counts as one USD ([`USD_LIKE`]), or each minute is multiplied by the rate of that minute:
//! the last price of the best market of the quote coin. Candidates have trades, a quote that counts as USD, and traded in the
//! last 24 hours ([`OLDEST`]), the minute itself included. Spot comes before perpetual, perpetual before dated future; then
//! the market with most USD traded in these 24 hours; then the first in the source's order. So a rate depends on its minute
//! (and on `now`), never on the requested window.
//!
//! Amounts of inverse markets are contracts of a fixed worth in USD ([`Instrument::contract_usd`]), whatever the price.

use std::fmt;

use super::error::MarketError;
use crate::clock::{MINUTES_PER_DAY, SECONDS_PER_DAY as DAY, UnixDay, UnixMinute, UnixNanos, UnixSecond, Window};
use crate::market::raw::{Bar, Instrument, RawData, Source, SourceError, Trade, TradeFeed};
use crate::protocol::ParamError;
use crate::protocol::symbol::Category;
use crate::protocol::wire::USD_LIKE;

/// Largest age of a rate, in minutes; also the time of the volume that chooses between markets.
const OLDEST: i64 = MINUTES_PER_DAY;

/// The unit of a market's prices: all quotes that count as USD are one.
pub(in crate::market) fn price_unit(instrument: &Instrument) -> &str {
    if instrument.is_usd_like() { USD_LIKE[0] } else { &instrument.quote }
}

/// There is no rate of a quote in USD at a minute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::market) struct NoRate {
    quote: String,
    at: UnixMinute,
}

impl fmt::Display for NoRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quote, at } = self;
        let at = at.second().0;
        if quote.is_empty() {
            return formatter.write_str("no rate of this market's quote, which its symbol does not tell");
        }
        let reason = "no market of it with a USD quote traded in the 24 hours before";
        write!(formatter, "no rate of {quote} in USD at {at} s in this market data: {reason}")
    }
}

impl From<NoRate> for MarketError {
    fn from(missing: NoRate) -> Self {
        Self::Invalid(ParamError::new("transform.normalize.quote", format!("{missing}; leave it out")))
    }
}

/// Factor for the prices of a minute.
pub(in crate::market) type Rate = Result<f64, NoRate>;

/// Brings the data of one market to the unit that a query asks for: USD, or its own.
pub(in crate::market) struct Converter<'a> {
    unit: QuoteUnit<'a>,
    /// The last minute and its rate.
    last: Option<(UnixMinute, f64)>,
}

enum QuoteUnit<'a> {
    /// The market's own prices and amounts.
    Own,
    /// Prices are in USD, amounts in coin.
    Usd,
    /// Prices are in USD, amounts in contracts; the worth of a contract in USD.
    Contracts(f64),
    /// Prices are in another quote.
    Foreign(Rates<'a>),
}

impl<'a> Converter<'a> {
    /// A converter of a market's data as of `now`; without `usd` it changes nothing.
    pub(in crate::market) fn new(source: &'a dyn Source, market: usize, usd: bool, now: UnixNanos) -> Self {
        let instrument = &source.instruments()[market];
        let unit = match instrument.contract_usd() {
            _ if !usd => QuoteUnit::Own,
            Some(contract) => QuoteUnit::Contracts(contract),
            None if instrument.is_usd_like() => QuoteUnit::Usd,
            None => QuoteUnit::Foreign(Rates::new(source, &instrument.quote, now)),
        };
        Self { unit, last: None }
    }

    /// Whether prices are those of the market, on its ticks.
    pub(in crate::market) fn keeps_prices(&self) -> bool {
        !matches!(self.unit, QuoteUnit::Foreign(_))
    }

    /// The factor for prices of the minute that holds a second.
    pub(in crate::market) fn rate(&mut self, second: UnixSecond) -> Result<Rate, SourceError> {
        let QuoteUnit::Foreign(rates) = &mut self.unit else { return Ok(Ok(1.0)) };
        let minute = second.minute();
        if let Some((known, rate)) = self.last
            && known == minute
        {
            return Ok(Ok(rate));
        }
        let rate = rates.at(minute)?;
        self.last = rate.map(|rate| (minute, rate));
        Ok(rate.ok_or_else(|| NoRate { quote: rates.quote.to_owned(), at: minute }))
    }

    /// A minute bar with its prices and its worth in quote converted; its amounts stay.
    pub(in crate::market) fn bar(&mut self, bar: &Bar) -> Result<Result<Bar, NoRate>, SourceError> {
        Ok(self.rate(bar.start)?.map(|rate| {
            let mut bar = *bar;
            if rate != 1.0 {
                let prices = [&mut bar.open, &mut bar.high, &mut bar.low, &mut bar.close];
                for value in prices.into_iter().chain([&mut bar.buy_quote, &mut bar.sell_quote]) {
                    *value *= rate;
                }
            }
            bar
        }))
    }

    /// Sets the amounts of candles to coins: in USD, they are only the weights of a mean over markets.
    pub(in crate::market) fn weigh_by_coins(&self, bars: &mut [Bar]) {
        if let QuoteUnit::Contracts(_) = self.unit {
            for bar in bars {
                (bar.buy, bar.sell) = (bar.buy_quote / bar.close, bar.sell_quote / bar.close);
            }
        }
    }

    /// A trade or liquidation in the unit of the query, and its part of a volume: its amount, or its worth in USD. In USD the
    /// price is converted, and the amount is in coin.
    pub(in crate::market) fn event(&mut self, event: &Trade) -> Result<Result<(Trade, f64), NoRate>, SourceError> {
        Ok(match &self.unit {
            QuoteUnit::Own => Ok((*event, event.amount)),
            QuoteUnit::Contracts(contract) => Ok((event.in_coin(*contract), event.amount * contract)),
            QuoteUnit::Usd => Ok((*event, event.price * event.amount)),
            QuoteUnit::Foreign(_) => self.rate(event.time.second())?.map(|rate| {
                let event = Trade { price: event.price * rate, ..*event };
                (event, event.price * event.amount)
            }),
        })
    }

    /// The value rule for the levels of a book in the minute that holds a second.
    pub(in crate::market) fn levels(&mut self, second: UnixSecond) -> Result<Result<LevelValue, NoRate>, SourceError> {
        Ok(match self.unit {
            QuoteUnit::Own => Ok(LevelValue::Amount),
            QuoteUnit::Contracts(contract) => Ok(LevelValue::Contracts(contract)),
            QuoteUnit::Usd | QuoteUnit::Foreign(_) => self.rate(second)?.map(LevelValue::Value),
        })
    }

    /// The factor for open interest × price at a second. Contracts have a fixed worth, whatever the price.
    pub(in crate::market) fn interest(&mut self, second: UnixSecond) -> Result<Rate, SourceError> {
        match self.unit {
            QuoteUnit::Contracts(contract) => Ok(Ok(contract)),
            _ => self.rate(second),
        }
    }
}

/// Amount that a level adds to its block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::market) enum LevelValue {
    /// Its amount as it is.
    Amount,
    /// Its price × amount in USD, its price being multiplied by this rate.
    Value(f64),
    /// Its amount × this, the USD that a contract is worth.
    Contracts(f64),
}

impl LevelValue {
    /// A price on the axis of the blocks.
    pub(in crate::market) fn price(self, price: f64) -> f64 {
        match self {
            Self::Value(rate) => price * rate,
            Self::Amount | Self::Contracts(_) => price,
        }
    }
}

/// USD per unit of a quote coin, minute by minute, from the source's own markets of that coin.
struct Rates<'a> {
    source: &'a dyn Source,
    now: UnixNanos,
    quote: &'a str,
    /// The day that is read.
    day: Option<UnixDay>,
    markets: Vec<RateMarket>,
}

/// A market whose price may be the rate.
struct RateMarket {
    market: usize,
    /// Place of its kind in the order of preference.
    rank: usize,
    /// The minutes of the day that is read, and of the day before.
    today: Vec<RateMinute>,
    yesterday: Vec<RateMinute>,
}

/// A minute in which a market traded.
#[derive(Debug, Clone, Copy)]
struct RateMinute {
    start: UnixMinute,
    close: f64,
    /// USD traded since the start of the day, the minute included.
    traded: f64,
}

impl<'a> Rates<'a> {
    fn new(source: &'a dyn Source, quote: &'a str, now: UnixNanos) -> Self {
        let preferred = [Category::Spot, Category::Perpetual, Category::Future].map(Category::name);
        let instruments = source.instruments().iter().enumerate();
        let candidates =
            instruments.filter(|(_, row)| row.coin == quote && row.is_usd_like() && row.raw_data.has(RawData::Trades));
        let ranked = candidates.filter_map(|(market, row)| {
            let rank = preferred.iter().position(|category| *category == row.category)?;
            Some(RateMarket { market, rank, today: Vec::new(), yesterday: Vec::new() })
        });
        let markets = if quote.is_empty() { Vec::new() } else { ranked.collect() };
        Self { source, now, quote, day: None, markets }
    }

    /// The rate of a minute; `None` where no market has it.
    fn at(&mut self, minute: UnixMinute) -> Result<Option<f64>, SourceError> {
        self.read(minute.day())?;
        let mut best: Option<(usize, f64, f64)> = None;
        for market in &self.markets {
            let Some(close) = market.close(minute) else { continue };
            let (rank, traded) = (market.rank, market.traded(minute));
            if best.is_none_or(|(other, most, _)| rank < other || rank == other && traded > most) {
                best = Some((rank, traded, close));
            }
        }
        Ok(best.map(|(_, _, close)| close))
    }

    /// Reads a day and the one before it, unless they are read.
    fn read(&mut self, day: UnixDay) -> Result<(), SourceError> {
        if self.day == Some(day) {
            return Ok(());
        }
        let (source, now) = (self.source, self.now);
        let minutes = |market: usize, day: UnixDay| -> Result<Vec<RateMinute>, SourceError> {
            let (mut minutes, mut traded, from) = (Vec::new(), 0.0, day.second().0);
            let mut add = |bar: &Bar| {
                traded += bar.buy_quote + bar.sell_quote;
                minutes.push(RateMinute { start: bar.start.minute(), close: bar.close, traded });
            };
            source.each::<dyn TradeFeed>(Window { from, to: from.saturating_add(DAY) }, |trades, window| {
                trades.bars(market, window, now, &mut add)
            })?;
            Ok(minutes)
        };
        let before = UnixDay(day.0 - 1);
        let follows = self.day.take() == Some(before);
        for known in &mut self.markets {
            let yesterday = if follows { std::mem::take(&mut known.today) } else { minutes(known.market, before)? };
            (known.yesterday, known.today) = (yesterday, minutes(known.market, day)?);
        }
        self.day = Some(day);
        Ok(())
    }
}

impl RateMarket {
    /// The last price up to a minute of the day that is read, unless it is too old.
    fn close(&self, minute: UnixMinute) -> Option<f64> {
        let last = up_to(&self.today, minute).or_else(|| self.yesterday.last())?;
        (last.start.0 > minute.0 - OLDEST).then_some(last.close)
    }

    /// USD traded in the 24 hours that end with a minute of the day that is read. Computed from sums of whole
    /// days, so that it is the same to the last bit for every query.
    fn traded(&self, minute: UnixMinute) -> f64 {
        let traded = |minute: Option<&RateMinute>| minute.map_or(0.0, |minute| minute.traded);
        let before = traded(self.yesterday.last()) - traded(up_to(&self.yesterday, UnixMinute(minute.0 - OLDEST)));
        before + traded(up_to(&self.today, minute))
    }
}

/// The last of some minutes up to one.
fn up_to(minutes: &[RateMinute], at: UnixMinute) -> Option<&RateMinute> {
    minutes[..minutes.partition_point(|minute| minute.start <= at)].last()
}
