//! The demo's trades of coins, minute by minute.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::clock::{MINUTES_PER_DAY, SECOND, UnixMinute, UnixNanos, UnixSecond, Window};
use crate::market::cache::Cache;
use crate::market::demo::catalog::MarketTraits;
use crate::market::demo::clock::BEGIN;
use crate::market::demo::clock::minutes;
use crate::market::demo::coins::{self, Coins, MinuteEvents};
use crate::market::demo::noise::{mix, normal, smooth, uniform};
use crate::market::demo::path::{Path, PathBlock};
use crate::market::demo::peaks::{Peaks, within_minute};
use crate::market::query::rounding::{round, scale};
use crate::market::raw::{Bar, Trade};

/// Windows whose highest minutes are kept: three for each coin, some hundred kilobytes each.
const KEPT_PEAKS: usize = 30;
/// Fewest trades of a minute; volatile minutes have up to three times as many.
const FEWEST: u64 = 6;
/// Largest premium of perpetual markets over the common price due to the demand for leverage on the coin, as a fraction.
const MOOD: f64 = 5e-4;
/// Largest other distance of a venue's price to the common price, as a fraction.
const STRAY: f64 = 1e-4;
/// Half of the spread, as a fraction of the price: a taker pays it.
const HALF_SPREAD: f64 = 1e-5;
/// Number of times that a minute is halved: the price is linear within an eighth of a minute.
const HALVINGS: i32 = 3;
const PARTS: usize = 1 << HALVINGS;
/// Part of a minute's volume that depends on the price's change.
const CHASED: f64 = 0.55;

/// The venue's distance to the common price at a minute (with its part), as a fraction: within a few hundredths of a
/// percent.
pub(in crate::market) fn premium(traits: &MarketTraits, minute: f64) -> f64 {
    let hours = minute / 60.0;
    traits.premium + mood(traits, hours) + STRAY * smooth(traits.seed, hours / 3.0)
}

/// Premium for leverage on the coin, as a fraction; 0 for a market without leverage.
fn mood(traits: &MarketTraits, hours: f64) -> f64 {
    if traits.settlement == 0 {
        return 0.0;
    }
    let seed = traits.path.seed() ^ 8;
    MOOD * (0.7 * smooth(seed, hours / 90.0) + 0.3 * smooth(seed ^ 1, hours / 17.0))
}

/// The venue's price as a multiple of the common one.
pub(in crate::market) fn basis(traits: &MarketTraits, minute: UnixMinute) -> f64 {
    1.0 + premium(traits, minute.0 as f64)
}

/// The minutes of a window that [`highest`] looks at, for all markets of a coin.
pub(in crate::market) fn peaks(path: &Path, minutes: (i64, i64)) -> Peaks {
    path.peaks(minutes, within_minute(HALVINGS))
}

/// The highest price that a market trades at in the minutes `minutes`, which `peaks` of its coin must have. `high` gives a
/// minute's highest price; only minutes that may hold the highest are asked for. `None` where nothing is above `floor`.
pub(in crate::market) fn highest(
    traits: &MarketTraits,
    peaks: &mut Peaks,
    minutes: Range<i64>,
    floor: Option<f64>,
    high: impl FnMut(UnixMinute) -> Option<f64>,
) -> Option<f64> {
    let dearest = (1.0 + traits.premium + MOOD + STRAY) * (1.0 + HALF_SPREAD);
    let above = |price: f64| price * dearest + 1.0 / scale(traits.price_decimals);
    traits.path.highest(peaks, minutes, above, floor, high)
}

/// The common price at the eighths of a minute.
fn walk(traits: &MarketTraits, minute: UnixMinute, [open, close]: [f64; 2], deviation: f64) -> [f64; PARTS + 1] {
    let mut prices = [0.0; PARTS + 1];
    (prices[0], prices[PARTS]) = (open, close);
    let hash = mix(traits.path.seed() ^ minute.0 as u64);
    for halving in 0..HALVINGS {
        let step = PARTS >> halving;
        let draw = 0.5 * open * deviation / f64::from(1 << halving).sqrt();
        for index in (0..PARTS).step_by(step) {
            let middle = index + step / 2;
            prices[middle] =
                f64::midpoint(prices[index], prices[index + step]) + draw * normal(mix(hash ^ middle as u64));
        }
    }
    prices
}

/// Visits the trades of a minute in time order. `block` is the one that holds the minute.
pub(in crate::market) fn trades(
    traits: &MarketTraits,
    block: &PathBlock,
    minute: UnixMinute,
    mut visit: impl FnMut(&Trade),
) {
    let index = (minute.0 - block.start.0) as usize;
    let (open, close) = (block.prices[index], block.prices[index + 1]);
    let deviation = traits.path.minute_deviation() * block.wildness(minute);
    let prices = walk(traits, minute, [open, close], deviation);
    let basis = basis(traits, minute);
    let due = block.volume(minute);
    let hash = mix(traits.seed ^ minute.0 as u64);
    let count = FEWEST + (hash % FEWEST) + (due * 2.5).min(FEWEST as f64) as u64;
    // The usual change of a minute is 0.8 deviations.
    let chased = (close / open - 1.0).abs() / (0.8 * deviation);
    let mean = traits.minute_amount * due * (1.0 - CHASED + CHASED * chased) / count as f64;
    let tick = 1.0 / scale(traits.price_decimals);
    let lot = 1.0 / scale(traits.amount_decimals);
    let spacing = 60 * SECOND / count as i64;
    let usual = open * deviation / (PARTS as f64).sqrt();
    for trade in 0..count {
        let (first, second) = {
            let first = mix(hash ^ trade);
            (first, mix(first))
        };
        // In milliseconds, as venues send them; each trade has its own part of the minute, so the order holds.
        let offset = trade as i64 * spacing + (uniform(first) * spacing as f64) as i64;
        let at = offset as f64 / (60 * SECOND) as f64 * PARTS as f64;
        let part = at as usize;
        let change = prices[part + 1] - prices[part];
        // Takers push the price.
        let buy = uniform(second.rotate_left(20)) < 0.5 + 0.35 * change / (change.abs() + usual);
        let paid = if buy { 1.0 + HALF_SPREAD } else { 1.0 - HALF_SPREAD };
        let price = (prices[part] + change * (at - part as f64)) * basis * paid;
        visit(&Trade {
            time: UnixNanos(minute.nanos().0 + offset / 1_000_000 * 1_000_000),
            price: round(price, traits.price_decimals).max(tick),
            // Sizes are spread widely: many small ones, few large.
            amount: round(mean * (1.1 * normal(second) - 0.6).exp(), traits.amount_decimals).max(lot),
            buy,
        });
    }
}

/// The trades of a minute, as [`Coins`] visits them.
pub(in crate::market) const TRADES: MinuteEvents = |traits, block, minute, visit| trades(traits, block, minute, visit);

/// The trades of the coins' markets.
pub(in crate::market) struct CoinTrades {
    coins: Arc<Coins>,
    /// Highest minutes by path and window, in Unix minutes.
    peaks: Cache<(u64, (i64, i64)), Mutex<Peaks>>,
}

impl CoinTrades {
    /// The trades of some markets.
    pub(in crate::market) fn new(coins: Arc<Coins>) -> Self {
        Self { coins, peaks: Cache::new(KEPT_PEAKS) }
    }

    /// The markets.
    pub(in crate::market) fn coins(&self) -> &Coins {
        &self.coins
    }

    /// The bar of a minute's trades up to `now`.
    pub(in crate::market) fn bar(&self, market: usize, minute: UnixMinute, now: UnixNanos) -> Option<Bar> {
        let traits = &self.coins.traits[market];
        coins::bar(TRADES, traits, &self.coins.block(traits, minute), minute, now)
    }

    /// The last minute bar that starts before `before`.
    pub(in crate::market) fn bar_before(&self, market: usize, before: UnixSecond, now: UnixNanos) -> Option<Bar> {
        // Every minute of a coin's market has trades, so the first step finds one; the bound stops at the market's first minute.
        minutes(Window { from: before.0 - 3_600, to: before.0 }, now)
            .rev()
            .find_map(|minute| self.bar(market, UnixMinute(minute), now))
    }

    /// The price step of a market.
    pub(in crate::market) fn tick(&self, market: usize) -> f64 {
        1.0 / scale(self.coins.traits[market].price_decimals)
    }

    /// The highest price of a market in the minutes with a start in a window, of trades up to `now`; `None` where
    /// nothing is above `floor`.
    pub(in crate::market) fn highest(
        &self,
        market: usize,
        floor: Option<f64>,
        window: Window,
        now: UnixNanos,
    ) -> Option<f64> {
        let traits = &self.coins.traits[market];
        let high = |minute: UnixMinute| self.bar(market, minute, now).map(|bar| bar.high);
        let Range { start: first, end } = minutes(window, now);
        // Listings need it repeatedly for every market of a coin, so whole days are searched, once a day.
        let days = (
            first.div_euclid(MINUTES_PER_DAY) * MINUTES_PER_DAY,
            (end + MINUTES_PER_DAY - 1).div_euclid(MINUTES_PER_DAY) * MINUTES_PER_DAY,
        );
        let peaks = self.peaks.made((traits.path.seed(), days), || Mutex::new(peaks(&traits.path, days)));
        let mut peaks = peaks.lock().unwrap_or_else(PoisonError::into_inner);
        highest(traits, &mut peaks, first..end, floor, high)
    }

    /// The first trade of a market, and the start of its book.
    pub(in crate::market) fn first(&self, market: usize) -> Option<UnixNanos> {
        let mut minutes = minutes(Window::between(BEGIN, BEGIN.plus(60)), UnixNanos(i64::MAX));
        minutes.find_map(|minute| self.bar(market, UnixMinute(minute), UnixNanos(i64::MAX))).map(|bar| bar.first)
    }
}
