//! The trades of the demo's prediction markets, in the first outcome of each question, around its odds.
//!
//! A day has the trades of tracked wallets, at their times and for their sizes, and trades of others, which sum exactly to
//! the rest of the day's turnover. So the volume of a whole day is known without computing its trades. A market trades only
//! from its opening to its end.

use std::sync::Arc;

use super::events::EventTraits;
use super::odds::{TICK, quote};
use super::positions::PositionHistory;
use crate::clock::{SECOND, SECONDS_PER_DAY as DAY, UnixDay, UnixMinute, UnixNanos, UnixSecond, Window};
use crate::market::cache::Cache;
use crate::market::demo::noise::{mix, normal, place, smooth, uniform};
use crate::market::query::rounding::round;
use crate::market::raw::{Bar, Book, OhlcBar, PriceLevel, RawData, Ticker, TickerField, Trade, minute_bars};

/// Cached days of trades: about 30 MB.
const KEPT_DAYS: usize = 1_500;
/// Parts of a token; amounts are multiples of one part.
const PARTS: f64 = 100.0;
/// Decimals of a price.
const DECIMALS: i32 = 3;

/// The trades of one market.
pub(in crate::market) struct Tape {
    event: EventTraits,
    /// Whether the first outcome comes true.
    first: bool,
    /// Trades of tracked wallets, by time.
    fills: Vec<Trade>,
    /// Tokens of the first and of the second outcome that tracked wallets hold from a second on, by time.
    held: Vec<(UnixSecond, [f64; 2])>,
    days: Cache<UnixDay, Vec<Trade>>,
}

impl Tape {
    /// The tape of a market with the positions that wallets ever have in it, each with the place of its outcome.
    pub(in crate::market) fn new<'a>(
        event: EventTraits,
        first: bool,
        histories: impl Iterator<Item = (usize, &'a PositionHistory)>,
    ) -> Self {
        let (mut fills, mut changes) = (Vec::new(), Vec::new());
        for (side, history) in histories {
            // Buying the second outcome is selling the first.
            let mut fill = |at: UnixSecond, amount: f64, bought: bool| {
                let price = quote(&event, first, at);
                fills.push(Trade { time: at.nanos(), price, amount, buy: bought == (side == 0) });
            };
            if history.counts.buy > 0 {
                fill(history.entered, history.size, true);
            }
            changes.push((history.entered, side, history.size));
            if let Some(exit) = &history.exit {
                if exit.counts.sell > 0 {
                    fill(exit.at, exit.size, false);
                }
                changes.push((exit.at, side, -exit.size));
            }
        }
        fills.sort_by_key(|fill| fill.time);
        changes.sort_by_key(|change| change.0);
        let mut held = Vec::with_capacity(changes.len());
        let mut now = [0.0; 2];
        for (at, side, change) in changes {
            now[side] += change;
            held.push((at, now));
        }
        Self { event, first, fills, held, days: Cache::new(KEPT_DAYS) }
    }

    /// The odds of the first outcome at a second.
    fn quote(&self, at: UnixSecond) -> f64 {
        quote(&self.event, self.first, at)
    }

    /// The part of a window in which the market is open.
    fn open(&self, window: Window) -> Window {
        window.and(Window { from: self.event.opened.0, to: self.event.ends.0 })
    }

    /// The open part of a window that has begun at `now`.
    fn begun(&self, window: Window, now: UnixNanos) -> Window {
        self.open(Window { to: window.to.min(now.second().0.saturating_add(1)), ..window })
    }

    /// The trades of a day, by time.
    fn day(&self, day: UnixDay) -> Arc<Vec<Trade>> {
        self.days.made(day, || self.make(day))
    }

    fn make(&self, day: UnixDay) -> Vec<Trade> {
        let begin = day.nanos();
        let of_day = |time: UnixNanos| self.fills.partition_point(|fill| fill.time < time);
        let mut trades = self.fills[of_day(begin)..of_day(day.next().nanos())].to_vec();
        let seed = place(&[self.event.tape, 1, day.0 as u64]);
        let count = 220 + (seed % 300) as i64;
        let spacing = DAY * SECOND / count;
        // Each trade has the least amount; the rest of the turnover is divided by weight.
        let spare = self.turnover(day) - count;
        let draw = |trade: i64| mix(seed ^ trade as u64);
        let weight = |trade: i64| (1.2 * normal(mix(draw(trade) ^ 1))).exp();
        let whole: f64 = (0..count).map(weight).sum();
        let mut shared = 0;
        for trade in 0..count {
            let lot = draw(trade);
            let offset = trade * spacing + (uniform(lot) * spacing as f64) as i64;
            // A market opens with a trade, so that it always has a last price.
            let opens = trade == 0 && day.second() == self.event.opened;
            let time = if opens { begin } else { UnixNanos(begin.0 + offset / 1_000_000 * 1_000_000) };
            let part = if trade + 1 == count {
                spare - shared
            } else {
                ((spare as f64 * weight(trade) / whole) as i64).min(spare - shared)
            };
            shared += part;
            trades.push(self.trade(time, (1 + part) as f64 / PARTS, mix(lot ^ 2)));
        }
        // Stable: tracked wallets come first.
        trades.sort_by_key(|trade| trade.time);
        trades
    }

    /// A trade at the odds, or a tick beyond them on the taker's side.
    fn trade(&self, time: UnixNanos, amount: f64, lot: u64) -> Trade {
        let at = time.second();
        let middle = self.quote(at);
        // Takers tend to trade in the direction of the next hour's price, at the makers' loss.
        let drift = self.quote(UnixSecond((at.0 + 3_600).min(self.event.ends.0 - 1))) - middle;
        let buy = uniform(lot) < 0.5 + (10.0 * drift).clamp(-0.3, 0.3);
        let paid = if mix(lot).is_multiple_of(3) { TICK } else { 0.0 };
        let price = round(if buy { middle + paid } else { middle - paid }, DECIMALS);
        Trade { time, price: price.clamp(TICK, 1.0 - TICK), amount, buy }
    }

    /// Turnover of the wallets that are not tracked on a day, in parts of a token.
    fn turnover(&self, day: UnixDay) -> i64 {
        let usual = 9.0 + 1.1 * normal(place(&[self.event.tape, 2]));
        let mood = 0.7 * smooth(place(&[self.event.tape, 3]), day.0 as f64 / 6.0);
        let whim = 0.35 * normal(place(&[self.event.tape, 4, day.0 as u64]));
        // Interest grows towards the end.
        let length = (self.event.ends.0 - self.event.opened.0).max(1) as f64;
        let passed = (day.second().0 - self.event.opened.0) as f64 / length;
        (PARTS * (usual + mood + whim + 1.2 * passed.powi(4)).exp()) as i64
    }

    /// Visits the trades in a window, none after `now`.
    pub(in crate::market) fn trades(&self, window: Window, now: UnixNanos, visit: &mut dyn FnMut(&Trade)) {
        let window = self.begun(window, now);
        if window.is_empty() {
            return;
        }
        let times = window.nanos();
        for day in window.from.div_euclid(DAY)..=(window.to - 1).div_euclid(DAY) {
            let trades = self.day(UnixDay(day));
            let begin = trades.partition_point(|trade| trade.time < times.start);
            let within = |trade: &&Trade| trade.time < times.end && trade.time <= now;
            trades[begin..].iter().take_while(within).for_each(&mut *visit);
        }
    }

    /// Visits the bars of the minutes with a start in a window, of their trades up to `now`.
    pub(in crate::market) fn bars(&self, window: Window, now: UnixNanos, visit: &mut dyn FnMut(&Bar)) {
        let mut bar: Option<Bar> = None;
        self.trades(minutes_within(window), now, &mut |trade| {
            let start = trade.time.minute().second();
            match &mut bar {
                Some(bar) if bar.start == start => bar.add(trade),
                _ => {
                    if let Some(done) = bar.replace(Bar::of(start, trade)) {
                        visit(&done);
                    }
                }
            }
        });
        if let Some(last) = bar {
            visit(&last);
        }
    }

    /// The last bar that starts before `before`, as of `now`.
    pub(in crate::market) fn bar_before(&self, before: UnixSecond, now: UnixNanos) -> Option<Bar> {
        let Window { from: opened, to: end } = self.begun(Window { from: i64::MIN, to: before.0 }, now);
        let mut day = (end - 1).div_euclid(DAY);
        // Every day has trades, but the part of the last day before `before` may have none.
        while day * DAY >= opened {
            let mut last = None;
            self.bars(Window { from: day * DAY, to: before.0.min((day + 1) * DAY) }, now, &mut |bar| last = Some(*bar));
            if last.is_some() {
                return last;
            }
            day -= 1;
        }
        None
    }

    /// Price of the last trade up to a second; the opening odds before the first.
    pub(in crate::market) fn last_price(&self, at: UnixSecond) -> f64 {
        let next = UnixSecond(at.0.saturating_add(1));
        let bar = self.bar_before(next, next.nanos().plus(-1));
        bar.map_or(self.event.odds, |bar| bar.close)
    }

    /// Tokens traded up to a second, that second included.
    pub(in crate::market) fn volume(&self, at: UnixSecond) -> f64 {
        let Window { from: opened, to: end } = self.open(Window { from: i64::MIN, to: at.0.saturating_add(1) });
        if end <= opened {
            return 0.0;
        }
        let today = (end - 1).div_euclid(DAY);
        let others: i64 = (opened.div_euclid(DAY)..today).map(|day| self.turnover(UnixDay(day))).sum();
        let fills = self.fills.iter().take_while(|fill| fill.time < UnixDay(today).nanos());
        let mut volume = others as f64 / PARTS + fills.map(|fill| fill.amount).sum::<f64>();
        self.trades(Window { from: today * DAY, to: end }, UnixSecond(end).nanos().plus(-1), &mut |trade| {
            volume += trade.amount;
        });
        volume
    }

    /// The book at the end of a minute, or at `now` within it: every tick from the last price to 0 and to 1.
    pub(in crate::market) fn book(&self, minute: UnixMinute, now: UnixNanos) -> Option<Book> {
        let Window { from: begin, to: end } =
            self.open(Window { from: minute.second().0, to: minute.next().second().0 });
        if begin >= end || UnixSecond(begin).nanos() > now {
            return None;
        }
        let last = self.bar_before(UnixSecond(end), now).map_or(self.event.odds, |bar| bar.close);
        let middle = (last / TICK).round() as i64;
        let usual = self.turnover(minute.day()) as f64 / PARTS / 60.0;
        let level = |tick: i64| -> PriceLevel {
            let away = (tick - middle).abs() as f64;
            let grain = uniform(place(&[self.event.tape, 5, tick as u64, (minute.0 / 11) as u64]));
            let wall = if tick % 50 == 0 { 4.0 } else { 1.0 };
            let amount = usual * wall * (0.2 + grain) * (0.3 + (away / 8.0).min(1.0)) * (-away / 250.0).exp();
            (tick as f64 / 1_000.0, round(amount, 2).max(1.0 / PARTS))
        };
        let (bids, asks) = ((1..middle).rev().map(level).collect(), (middle + 1..1_000).map(level).collect());
        Some(Book { time: UnixSecond(begin).nanos(), bids, asks })
    }

    /// Visits the readings of open interest with a time in a window, none after `now`: one at the start of each minute
    /// and one at each change. The price values the tokens of both outcomes together.
    pub(in crate::market) fn readings(&self, window: Window, now: UnixNanos, visit: &mut dyn FnMut(&Ticker)) {
        let Window { from, to } = self.begun(window, now);
        let mut reading = |at: UnixSecond, held: [f64; 2]| {
            let (first, tokens) = (self.quote(at), held[0] + held[1]);
            let worth = held[0] * first + held[1] * (1.0 - first);
            visit(&Ticker {
                time: at.nanos(),
                funding_rate: f64::NAN,
                predicted_rate: f64::NAN,
                open_interest: tokens,
                price: if tokens > 0.0 { worth / tokens } else { first },
            });
        };
        let mut next = self.held.partition_point(|(at, _)| at.0 < from);
        let mut held = next.checked_sub(1).map_or([0.0; 2], |last| self.held[last].1);
        let mut minute = whole_minute(UnixSecond(from)).0;
        loop {
            let at = self.held.get(next).map_or(minute, |(change, _)| minute.min(change.0));
            if at >= to {
                return;
            }
            while let Some(change) = self.held.get(next).filter(|(time, _)| time.0 == at) {
                held = change.1;
                next += 1;
            }
            reading(UnixSecond(at), held);
            if at == minute {
                minute += 60;
            }
        }
    }

    /// Visits the bars of a field with a start in a window. Only open interest has bars: in tokens of both outcomes,
    /// or as their worth.
    pub(in crate::market) fn ticker_bars(
        &self,
        field: TickerField,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&OhlcBar),
    ) {
        if field.kind() != RawData::OpenInterest {
            return;
        }
        let mut readings = Vec::new();
        self.readings(minutes_within(window), now, &mut |reading| readings.push(*reading));
        minute_bars(&readings, field).iter().for_each(visit);
    }

    /// The last bar of a field that starts before `before`.
    pub(in crate::market) fn ticker_before(
        &self,
        field: TickerField,
        before: UnixSecond,
        now: UnixNanos,
    ) -> Option<OhlcBar> {
        let Window { from: opened, to: end } = self.begun(Window { from: i64::MIN, to: before.0 }, now);
        let mut last = None;
        let minute = Window { from: ((end - 1).div_euclid(60) * 60).max(opened), to: end };
        self.ticker_bars(field, minute, now, &mut |bar| last = Some(*bar));
        last
    }
}

/// The minutes that begin in a window.
fn minutes_within(window: Window) -> Window {
    Window { from: whole_minute(UnixSecond(window.from)).0, to: whole_minute(UnixSecond(window.to)).0 }
}

/// The first whole minute that begins at a second or later.
fn whole_minute(second: UnixSecond) -> UnixSecond {
    UnixSecond(second.0.saturating_add(59).div_euclid(60).saturating_mul(60))
}
