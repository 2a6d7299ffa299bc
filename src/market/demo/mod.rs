//! The demo market: deterministic in seed, market and minute, without files.
//!
//! Everything derives from the trades of a minute, which derive from the coin's path: candles are their sum, the book
//! stands around the last of them, liquidations are some of them, open interest moves with their volume. The prediction
//! markets come after the coins' markets in the list; each trades on a tape of its own.

mod book;
mod catalog;
mod derivatives;
mod events;
mod minute;
mod noise;
mod odds;
mod options;
mod path;
mod positions;
mod supply;
mod tape;

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use self::catalog::{BEGIN, END, Traits};
use self::events::{EventTraits, events, tape_seed};
use self::options::OptionTraits;
use self::path::{BLOCK, Block, Path};
use self::supply::TokenTraits;
use self::tape::Tape;
use super::analytics::PositionTable;
use super::cache::Cache;
use super::derivatives::{Gauge, GaugeBar, Ticker, minute_bars};
use super::feed::{Feed, Feeds};
use super::source::{Bar, Book, Listing, Source, SourceError, Trade, join};
use super::summaries::{OptionSummary, PREDICTION_VENUE, PredictionState, Supply, Token};
use crate::clock::SECOND;
use crate::protocol::DataType;

/// Blocks kept for the next question: about 25 MB.
const KEPT_BLOCKS: usize = 6_000;

/// First liquidations kept: a number each.
const KEPT_FIRSTS: usize = 1_000;

/// Hours' bars kept: two days of every market are about 1 MB.
const KEPT_HOURS: usize = 20_000;
const HOUR: i64 = 3_600;

/// The demo market.
pub struct Demo {
    listings: Vec<Listing>,
    traits: Vec<Traits>,
    options: Vec<OptionSummary>,
    option_traits: Vec<OptionTraits>,
    tokens: Vec<Token>,
    token_traits: Vec<TokenTraits>,
    event_traits: Vec<EventTraits>,
    /// Blocks of the coins' paths by (path, start).
    blocks: Cache<(u64, i64), Block>,
    /// Open interest at the boundaries of a block's minutes by (market, start).
    interest: Cache<(usize, i64), Vec<f64>>,
    seed: u64,
    /// Made when it is first asked for.
    positions: OnceLock<PositionTable>,
    /// Of the prediction markets, made when one is first asked for.
    tapes: OnceLock<Vec<Tape>>,
    /// Bars of closed hours by (market, start).
    hours: Cache<(usize, i64), Option<Bar>>,
    /// First liquidation by market.
    first_liquidations: Cache<usize, Option<i64>>,
}

impl Demo {
    /// The demo market of a seed.
    pub fn new(seed: u64) -> Self {
        let (mut listings, traits) = catalog::markets(seed);
        let (options, option_traits) = options::summaries(&listings, &traits);
        let (tokens, token_traits) = supply::tokens(&listings, &traits);
        let (questions, event_traits, _) = events(seed);
        listings.extend(questions.into_iter().zip(&event_traits).map(|(question, event)| Listing {
            exchange: PREDICTION_VENUE.to_owned(),
            raw_symbol: question.condition_id,
            coin: String::new(),
            quote: "USD".to_owned(),
            category: String::new(),
            coin_name: String::new(),
            available_since: event.opened,
            feeds: [Feed::Trades, Feed::Books, Feed::OpenInterest].into_iter().collect::<Feeds>(),
        }));
        Self {
            listings,
            traits,
            options,
            option_traits,
            tokens,
            token_traits,
            event_traits,
            blocks: Cache::new(KEPT_BLOCKS),
            interest: Cache::new(KEPT_BLOCKS),
            seed,
            positions: OnceLock::new(),
            tapes: OnceLock::new(),
            hours: Cache::new(KEPT_HOURS),
            first_liquidations: Cache::new(KEPT_FIRSTS),
        }
    }

    fn table(&self) -> &PositionTable {
        self.positions.get_or_init(|| positions::table(self.seed))
    }

    /// The tapes of the prediction markets, in the order of the events.
    fn tapes(&self) -> &[Tape] {
        self.tapes.get_or_init(|| {
            let events = self.event_traits.iter().enumerate();
            events.map(|(place, event)| Tape::new(*event, tape_seed(self.seed, place), place, self.table())).collect()
        })
    }

    /// The tape of a market, if it is one of the prediction markets.
    fn tape(&self, market: usize) -> Option<&Tape> {
        market.checked_sub(self.traits.len()).and_then(|event| self.tapes().get(event))
    }

    /// Unix nanoseconds of the first trade of a coin's market; a book stands from then on.
    fn first_trade(&self, market: usize) -> Option<i64> {
        let mut first = None;
        self.each_minute(market, BEGIN, BEGIN + 60, i64::MAX, |block, minute| {
            first = bar(&self.traits[market], block, minute, i64::MAX).map(|bar| bar.first);
        });
        first
    }

    /// Unix nanoseconds of the first liquidation of a market: a wild minute comes within days.
    fn first_liquidation(&self, market: usize) -> Option<i64> {
        let find = || {
            let traits = &self.traits[market];
            let mut minutes = BEGIN / 60..END / 60;
            Ok::<_, Infallible>(minutes.find_map(|minute| {
                liquidation_bar(traits, &self.block(traits, minute), minute, i64::MAX).map(|bar| bar.first)
            }))
        };
        match self.first_liquidations.get(market, find) {
            Ok(first) => *first,
            Err(never) => match never {},
        }
    }

    /// Visits the minutes with a start in `[from, to)` that have begun at `now`, each with the block that holds it.
    fn each_minute(&self, market: usize, from: i64, to: i64, now: i64, mut visit: impl FnMut(&Block, i64)) {
        let (mut minute, end) = minutes(from, to, now);
        while minute < end {
            let block = self.block(&self.traits[market], minute);
            let stop = end.min(block.start + BLOCK);
            (minute..stop).for_each(|minute| visit(&block, minute));
            minute = stop;
        }
    }

    /// Visits the events of a market with a time in `[from, to)` (Unix seconds), none after `now`, in time order.
    fn events(&self, events: Events, market: usize, (from, to): (i64, i64), now: i64, visit: &mut dyn FnMut(&Trade)) {
        let traits = &self.traits[market];
        let told = told(from, to, now);
        self.each_minute(market, from.saturating_sub(from.rem_euclid(60)), to, now, |block, minute| {
            events(traits, block, minute, &mut |event| {
                if told.contains(&event.time) {
                    visit(event);
                }
            });
        });
    }

    /// The bar of a gauge in a Unix minute, of its readings up to `now`.
    fn gauge_bar(&self, market: usize, gauge: Gauge, block: &Block, minute: i64, now: i64) -> Option<GaugeBar> {
        let traits = &self.traits[market];
        let dear = matches!(gauge, Gauge::OpenInterest | Gauge::OpenInterestValue);
        let interest = dear.then(|| self.interest(market, block));
        let mut told = Vec::new();
        derivatives::readings(traits, block, interest.as_deref().map(Vec::as_slice), minute, |reading| {
            if reading.time <= now {
                told.push(*reading);
            }
        });
        minute_bars(&told, gauge).pop()
    }

    /// Open interest at the boundaries of a block's minutes.
    fn interest(&self, market: usize, block: &Block) -> Arc<Vec<f64>> {
        let make = || Ok::<_, Infallible>(derivatives::open_interest(&self.traits[market], block));
        match self.interest.get((market, block.start), make) {
            Ok(interest) => interest,
            Err(never) => match never {},
        }
    }

    fn block(&self, traits: &Traits, minute: i64) -> Arc<Block> {
        self.path_block(&traits.path, minute)
    }

    fn path_block(&self, path: &Path, minute: i64) -> Arc<Block> {
        let key = (path.seed(), minute & !(BLOCK - 1));
        match self.blocks.get(key, || Ok::<_, Infallible>(path.block(minute))) {
            Ok(block) => block,
            Err(never) => match never {},
        }
    }
}

/// Visits the events of a Unix minute of a market in time order.
type Events = fn(&Traits, &Block, i64, &mut dyn FnMut(&Trade));

/// The bar of a Unix minute, of its events up to `now`; `None` when there are none yet.
fn bar_of(events: Events, traits: &Traits, block: &Block, minute: i64, now: i64) -> Option<Bar> {
    let mut bar: Option<Bar> = None;
    events(traits, block, minute, &mut |event| {
        if event.time > now {
            return;
        }
        match &mut bar {
            None => bar = Some(Bar::of(minute * 60, event)),
            Some(bar) => bar.add(event),
        }
    });
    bar
}

const TRADES: Events = |traits, block, minute, visit| minute::trades(traits, block, minute, visit);
const LIQUIDATIONS: Events = |traits, block, minute, visit| derivatives::liquidations(traits, block, minute, visit);

/// The bar of a Unix minute's trades.
fn bar(traits: &Traits, block: &Block, minute: i64, now: i64) -> Option<Bar> {
    bar_of(TRADES, traits, block, minute, now)
}

/// The bar of a Unix minute's liquidations.
fn liquidation_bar(traits: &Traits, block: &Block, minute: i64, now: i64) -> Option<Bar> {
    bar_of(LIQUIDATIONS, traits, block, minute, now)
}

impl Source for Demo {
    fn listings(&self) -> &[Listing] {
        &self.listings
    }

    fn bars(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        if let Some(tape) = self.tape(market) {
            tape.bars(from, to, now, visit);
            return Ok(());
        }
        let traits = &self.traits[market];
        self.each_minute(market, from, to, now, |block, minute| {
            if let Some(bar) = bar(traits, block, minute, now) {
                visit(&bar);
            }
        });
        Ok(())
    }

    fn span(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<Bar>, SourceError> {
        let mut whole: Option<Bar> = None;
        let mut at = from.max(BEGIN);
        let end = to.min(now.div_euclid(SECOND).saturating_add(1)).min(END);
        while at < end {
            let next = (at.div_euclid(HOUR) * HOUR + HOUR).min(end);
            let part = |from: i64, to: i64| -> Result<Option<Bar>, SourceError> {
                let mut part: Option<Bar> = None;
                self.bars(market, from, to, now, &mut |bar| join(&mut part, bar))?;
                Ok(part)
            };
            // Listings ask for the same hours again and again, and what is closed stays as it is.
            let closed = next - at == HOUR && next.saturating_mul(SECOND) <= now;
            let hour = if closed { *self.hours.get((market, at), || part(at, next))? } else { part(at, next)? };
            if let Some(hour) = hour {
                join(&mut whole, &hour);
            }
            at = next;
        }
        Ok(whole)
    }

    fn bar_before(&self, market: usize, before: i64, now: i64) -> Result<Option<Bar>, SourceError> {
        if let Some(tape) = self.tape(market) {
            return Ok(tape.bar_before(before, now));
        }
        // Every minute of a coin's market has trades, so the first look finds one; the bound is for the market's first minute.
        let traits = &self.traits[market];
        let (first, end) = minutes(before - 3_600, before, now);
        Ok((first..end).rev().find_map(|minute| bar(traits, &self.block(traits, minute), minute, now)))
    }

    fn trades(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        if let Some(tape) = self.tape(market) {
            tape.trades(from, to, now, visit);
            return Ok(());
        }
        self.events(TRADES, market, (from, to), now, visit);
        Ok(())
    }

    fn tick(&self, market: usize) -> Result<f64, SourceError> {
        if self.tape(market).is_some() {
            return Ok(odds::TICK);
        }
        Ok(minute::round(10f64.powi(-self.traits[market].price_decimals), self.traits[market].price_decimals))
    }

    fn last_book(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<Book>, SourceError> {
        let (first, end) = minutes(from, to, now);
        if let Some(tape) = self.tape(market) {
            return Ok((first..end).rev().find_map(|minute| tape.book(minute, now)));
        }
        let traits = &self.traits[market];
        let last = (first..end).rev().take(2).find_map(|minute| {
            let bar = bar(traits, &self.block(traits, minute), minute, now)?;
            Some((minute, bar.close))
        });
        Ok(last.map(|(minute, close)| book::around(traits, minute, close)))
    }

    fn liquidation_bars(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Bar),
    ) -> Result<(), SourceError> {
        if self.listings[market].feeds.has(Feed::Liquidations) {
            let traits = &self.traits[market];
            self.each_minute(market, from, to, now, |block, minute| {
                if let Some(bar) = liquidation_bar(traits, block, minute, now) {
                    visit(&bar);
                }
            });
        }
        Ok(())
    }

    fn liquidations(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Trade),
    ) -> Result<(), SourceError> {
        if self.listings[market].feeds.has(Feed::Liquidations) {
            self.events(LIQUIDATIONS, market, (from, to), now, visit);
        }
        Ok(())
    }

    fn gauge_bars(
        &self,
        market: usize,
        gauge: Gauge,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&GaugeBar),
    ) -> Result<(), SourceError> {
        if let Some(tape) = self.tape(market) {
            tape.gauge_bars(gauge, from, to, now, visit);
        } else if self.listings[market].feeds.has(Feed::OpenInterest) {
            self.each_minute(market, from, to, now, |block, minute| {
                if let Some(bar) = self.gauge_bar(market, gauge, block, minute, now) {
                    visit(&bar);
                }
            });
        }
        Ok(())
    }

    fn gauge_before(
        &self,
        market: usize,
        gauge: Gauge,
        before: i64,
        now: i64,
    ) -> Result<Option<GaugeBar>, SourceError> {
        if let Some(tape) = self.tape(market) {
            return Ok(tape.gauge_before(gauge, before, now));
        }
        // Every minute that has begun has a reading at its start.
        let last = before.min(now.div_euclid(SECOND) + 1);
        let mut found = None;
        self.gauge_bars(market, gauge, (last - 60).div_euclid(60) * 60, last, now, &mut |bar| found = Some(*bar))?;
        Ok(found)
    }

    fn readings(
        &self,
        market: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(&Ticker),
    ) -> Result<(), SourceError> {
        if self.listings[market].feeds.has(Feed::FundingRates) {
            let (traits, told) = (&self.traits[market], told(from, to, now));
            self.each_minute(market, from.saturating_sub(from.rem_euclid(60)), to, now, |block, minute| {
                let interest = self.interest(market, block);
                derivatives::readings(traits, block, Some(&interest), minute, |reading| {
                    if told.contains(&reading.time) {
                        visit(reading);
                    }
                });
            });
        }
        Ok(())
    }

    fn option_summaries(&self) -> &[OptionSummary] {
        &self.options
    }

    fn option_summary(&self, summary: usize, _from: i64, at: i64) -> Result<Option<f64>, SourceError> {
        let option = &self.option_traits[summary];
        let told = (BEGIN..END).contains(&at);
        Ok(told.then(|| options::reading(option, at.div_euclid(60), |minute| option.path().price(minute))))
    }

    fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    fn supply(
        &self,
        token: usize,
        from: i64,
        to: i64,
        now: i64,
        visit: &mut dyn FnMut(Supply),
    ) -> Result<(), SourceError> {
        for time in supply::times(from, to, now.div_euclid(SECOND)) {
            visit(supply::snapshot(&self.token_traits, token, time, Path::price));
        }
        Ok(())
    }

    fn positions(&self) -> Option<&PositionTable> {
        Some(self.table())
    }

    fn prediction(&self, event: usize, at: i64) -> Option<PredictionState> {
        odds::state(self.event_traits.get(event)?, at, || self.tapes()[event].last_price(at))
    }

    fn prediction_volume(&self, event: usize, at: i64) -> Option<f64> {
        self.tapes().get(event).map(|tape| tape.volume(at))
    }

    fn first_event(&self, market: usize, data_type: DataType) -> Result<Option<i64>, SourceError> {
        let listing = &self.listings[market];
        if !listing.feeds.serve(data_type) {
            return Ok(None);
        }
        let begin = Some(listing.available_since * SECOND);
        if self.tape(market).is_some() {
            return Ok(begin);
        }
        Ok(match Feed::of(data_type) {
            Some(Feed::Trades | Feed::Books) => self.first_trade(market),
            Some(Feed::Liquidations) => self.first_liquidation(market),
            _ => begin,
        })
    }

    fn highest(&self, market: usize, from: i64, to: i64, now: i64) -> Result<Option<f64>, SourceError> {
        if let Some(tape) = self.tape(market) {
            let mut highest: Option<f64> = None;
            tape.bars(from, to, now, &mut |bar| highest = highest.into_iter().chain([bar.high]).reduce(f64::max));
            return Ok(highest);
        }
        let traits = &self.traits[market];
        let (first, end) = minutes(from, to, now);
        let high = |block: &Block, minute: i64| bar(traits, block, minute, now).map(|bar| bar.high);
        let block = |minute: i64| self.block(traits, minute);
        Ok(minute::highest(traits, (first, end), traits.path.bounds(first, end), block, high))
    }
}

/// The Unix nanoseconds of `[from, to)` (Unix seconds) up to `now`.
fn told(from: i64, to: i64, now: i64) -> RangeInclusive<i64> {
    from.saturating_mul(SECOND)..=to.saturating_mul(SECOND).saturating_sub(1).min(now)
}

/// The whole minutes with a start in `[from, to)` that have begun at `now` and are not before the market.
fn minutes(from: i64, to: i64, now: i64) -> (i64, i64) {
    let ceil = |second: i64| second.div_euclid(60) + i64::from(second.rem_euclid(60) > 0);
    let begun = now.div_euclid(SECOND * 60) + 1;
    (ceil(from.clamp(BEGIN, END)), ceil(to.clamp(BEGIN, END)).min(begun))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_776_880_830 * SECOND;

    fn bars(demo: &Demo, market: usize, from: i64, to: i64, now: i64) -> Vec<Bar> {
        let mut bars = Vec::new();
        demo.bars(market, from, to, now, &mut |bar| bars.push(*bar)).unwrap();
        bars
    }

    fn market(demo: &Demo, exchange: &str, symbol: &str) -> usize {
        demo.listings().iter().position(|row| row.exchange == exchange && row.raw_symbol == symbol).unwrap()
    }

    #[test]
    fn random_access_is_sequential_access() {
        let demo = Demo::new(0);
        let from = 1_776_880_800 - 3_000 * 60;
        let sequence = bars(&demo, 5, from, from + 3_000 * 60, NOW);
        assert_eq!(sequence.len(), 3_000);
        for index in [0, 1, 511, 512, 1_777, 2_999] {
            let start = from + 60 * index as i64;
            assert_eq!(bars(&Demo::new(0), 5, start, start + 60, NOW), [sequence[index]]);
        }
        assert_ne!(bars(&Demo::new(1), 5, from, from + 60, NOW)[0], sequence[0]);
    }

    #[test]
    fn bars_are_sound_and_venues_agree() {
        let demo = Demo::new(0);
        let venues: Vec<usize> = (0..demo.listings().len()).filter(|&m| demo.listings()[m].coin == "BTC").collect();
        assert!(venues.len() >= 4);
        let from = 1_776_000_000;
        let sequences: Vec<_> = venues.iter().map(|&market| bars(&demo, market, from, from + 86_400, NOW)).collect();
        for bars in &sequences {
            assert_eq!(bars.len(), 1_440);
            for bar in bars {
                assert!(bar.low <= bar.open.min(bar.close) && bar.high >= bar.open.max(bar.close));
                assert!(bar.low > 0.0 && bar.volume() > 0.0 && bar.first <= bar.last);
                assert_eq!((bar.first / SECOND / 60, bar.last / SECOND / 60), (bar.start / 60, bar.start / 60));
            }
        }
        for (one, other) in sequences[0].iter().zip(&sequences[1]) {
            assert!((one.close / other.close - 1.0).abs() < 0.002, "{} {}", one.close, other.close);
        }
    }

    #[test]
    fn the_forming_minute_holds_what_has_happened_and_nothing_else() {
        let demo = Demo::new(0);
        let start = 1_776_880_800;
        let whole = bars(&demo, 0, start, start + 60, (start + 60) * SECOND)[0];
        assert!(bars(&demo, 0, start, start + 60, whole.first - 1).is_empty());
        let first = bars(&demo, 0, start, start + 60, whole.first)[0];
        assert_eq!((first.open, first.close, first.last), (whole.open, whole.open, whole.first));
        assert_eq!(bars(&demo, 0, start, start + 600, (start + 60) * SECOND - 1)[0], whole);
        assert_eq!(bars(&demo, 0, start, start + 600, (start + 60) * SECOND - 1).len(), 1);
    }

    #[test]
    fn trades_add_up_to_the_bars_and_end_at_now() {
        let demo = Demo::new(0);
        let (from, to) = (1_776_880_770, 1_776_880_860); // from within a minute on
        let mut trades: Vec<Trade> = Vec::new();
        demo.trades(3, from, to, NOW, &mut |trade| trades.push(*trade)).unwrap();
        assert!(trades.is_sorted_by_key(|trade| trade.time));
        assert!(trades.iter().all(|trade| (from * SECOND..=NOW).contains(&trade.time)));
        let forming = bars(&demo, 3, 1_776_880_800, to, NOW)[0];
        let amount = trades.iter().filter(|trade| trade.time >= 1_776_880_800 * SECOND).map(|trade| trade.amount);
        assert!((amount.sum::<f64>() / forming.volume() - 1.0).abs() < 1e-12);
        assert!(trades.iter().any(|trade| trade.time < 1_776_880_800 * SECOND));
        let tick = demo.tick(3).unwrap();
        assert!(trades.iter().all(|trade| (trade.price / tick - (trade.price / tick).round()).abs() < 1e-6));
    }

    #[test]
    fn the_book_stands_around_the_close() {
        let demo = Demo::new(0);
        for (exchange, symbol) in
            [("BINANCE_FUTURES", "BTCUSDT"), ("COINBASE", "DOGE-USD"), ("OKEX_SWAP", "XRP-USDT-SWAP")]
        {
            let market = market(&demo, exchange, symbol);
            let start = 1_776_800_040 / 60 * 60;
            let close = bars(&demo, market, start, start + 60, NOW)[0].close;
            let book = demo.last_book(market, start, start + 60, NOW).unwrap().unwrap();
            assert!(book.bids[0].0 < close && close < book.asks[0].0, "{symbol}");
            assert!(book.bids.len() >= 1_000 && book.asks.len() >= 1_000);
            assert!(book.bids.windows(2).all(|two| two[0].0 > two[1].0) && book.bids.iter().all(|level| level.1 > 0.0));
            assert!(book.asks.windows(2).all(|two| two[0].0 < two[1].0) && book.asks.iter().all(|level| level.1 > 0.0));
            assert!(book.asks[0].0 / book.bids[0].0 < 1.001);
        }
    }
}
