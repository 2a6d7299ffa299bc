//! The demo market: deterministic in seed, market and minute, without files.
//!
//! Everything derives from the trades of a minute, which derive from the coin's path: candles are their sum, the book
//! stands around the last of them, liquidations are some of them, open interest moves with their volume. The prediction
//! markets come after the coins' markets in the list; each trades on a tape of its own.

mod book;
mod catalog;
mod derivatives;
mod events;
mod history;
mod minute;
mod noise;
mod odds;
mod options;
mod path;
mod positions;
mod season;
mod source;
mod supply;
mod tape;
mod venue;
mod walk;

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use self::catalog::{BEGIN, END, Traits};
use self::options::OptionTraits;
use self::path::{BLOCK, Block, Path, Peaks};
use self::supply::TokenTraits;
use self::venue::Venue;
use super::cache::Cache;
use super::derivatives::{Gauge, GaugeBar, minute_bars};
use super::feed::{Feed, Feeds};
use super::source::{Bar, Listing, Trade};
use super::summaries::{OptionSummary, PREDICTION_VENUE, Token};
use crate::clock::SECOND;

/// Blocks kept for the next question: about 25 MB.
const KEPT_BLOCKS: usize = 6_000;

/// First liquidations kept: a number each.
const KEPT_FIRSTS: usize = 1_000;

/// Hours' bars kept: two days of every market are about 1 MB.
const KEPT_HOURS: usize = 20_000;
const HOUR: i64 = 3_600;

/// Windows whose highest minutes are kept: three for each coin, some hundred kilobytes each.
const KEPT_PEAKS: usize = 30;
/// Minutes of a day.
const DAY: i64 = 1_440;

/// The demo market.
pub struct Demo {
    listings: Vec<Listing>,
    traits: Vec<Traits>,
    options: Vec<OptionSummary>,
    option_traits: Vec<OptionTraits>,
    tokens: Vec<Token>,
    token_traits: Vec<TokenTraits>,
    /// The prediction markets, whose places come after those of the coins' markets.
    venue: Venue,
    /// Blocks of the coins' paths by (path, start).
    blocks: Cache<(u64, i64), Block>,
    /// Open interest at the boundaries of a block's minutes by (market, start).
    interest: Cache<(usize, i64), Vec<f64>>,
    /// Bars of closed hours by (market, start).
    hours: Cache<(usize, i64), Option<Bar>>,
    /// Highest minutes by path and window, in Unix minutes.
    peaks: Cache<(u64, (i64, i64)), Mutex<Peaks>>,
    /// First liquidation by market.
    first_liquidations: Cache<usize, Option<i64>>,
}

impl Demo {
    /// The demo market of a seed.
    pub fn new(seed: u64) -> Self {
        let (mut listings, traits) = catalog::markets(seed);
        let (options, option_traits) = options::summaries(&listings, &traits);
        let (tokens, token_traits) = supply::tokens(&listings, &traits);
        let venue = Venue::new(seed);
        listings.extend(venue.events.events.iter().zip(&venue.events.traits).map(|(question, event)| Listing {
            exchange: PREDICTION_VENUE.to_owned(),
            raw_symbol: question.condition_id.clone(),
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
            venue,
            blocks: Cache::new(KEPT_BLOCKS),
            interest: Cache::new(KEPT_BLOCKS),
            hours: Cache::new(KEPT_HOURS),
            peaks: Cache::new(KEPT_PEAKS),
            first_liquidations: Cache::new(KEPT_FIRSTS),
        }
    }

    /// The highest price of a coin's market in the minutes with a start in `[from, to)`, of trades up to `now`; `None` where
    /// nothing is above `floor`.
    fn top(&self, market: usize, floor: Option<f64>, from: i64, to: i64, now: i64) -> Option<f64> {
        let traits = &self.traits[market];
        let high = |minute: i64| bar(traits, &self.block(traits, minute), minute, now).map(|bar| bar.high);
        let (first, end) = minutes(from, to, now);
        // Listings ask for every market of a coin, and again and again: the search is of whole days, and made once a day.
        let days = (first.div_euclid(DAY) * DAY, (end + DAY - 1).div_euclid(DAY) * DAY);
        let find = || Ok::<_, Infallible>(Mutex::new(minute::peaks(&traits.path, days)));
        let peaks = match self.peaks.get((traits.path.seed(), days), find) {
            Ok(peaks) => peaks,
            Err(never) => match never {},
        };
        let mut peaks = peaks.lock().unwrap_or_else(PoisonError::into_inner);
        minute::highest(traits, &mut peaks, first..end, floor, high)
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
mod tests;
