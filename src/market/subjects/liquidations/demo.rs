//! The demo's liquidations: some of the trades were forced.

use std::sync::Arc;

use crate::clock::{UnixMinute, UnixNanos};
use crate::market::cache::Cache;
use crate::market::demo::catalog::MarketTraits;
use crate::market::demo::clock::{BEGIN, END};
use crate::market::demo::coins::{self, Coins, MinuteEvents};
use crate::market::demo::noise::{mix, uniform};
use crate::market::demo::path::PathBlock;
use crate::market::query::rounding::round;
use crate::market::raw::Trade;
use crate::market::subjects::trades::demo::{basis, trades};

/// First liquidations kept: a number each.
const KEPT_FIRSTS: usize = 1_000;
/// Visits the liquidations of a minute in time order: some of the minute's own trades were forced.
///
/// Where the price has run up from the minute's start by more than [`USUAL_RUN`], buyers at a new high are shorts
/// being liquidated (`buy`); where it has run down, sellers at a new low are longs. So liquidations of a side are part of
/// the volume of that side, at prices within the candle.
pub(in crate::market) fn liquidations(
    traits: &MarketTraits,
    block: &PathBlock,
    minute: UnixMinute,
    mut visit: impl FnMut(&Trade),
) {
    let usual = usual_run(traits, block);
    let start = block.prices[(minute.0 - block.start.0) as usize] * basis(traits, minute);
    let (mut high, mut low) = (start * (1.0 + usual), start * (1.0 - usual));
    trades(traits, block, minute, |trade| {
        let (up, down) = (trade.price > high, trade.price < low);
        (high, low) = (high.max(trade.price), low.min(trade.price));
        if !(up && trade.buy || down && !trade.buy) {
            return;
        }
        let run = (trade.price / start - 1.0).abs() / usual;
        let part = (0.25 * run).min(0.7) * (0.3 + 0.7 * uniform(mix(traits.seed ^ trade.time.0 as u64 ^ 2)));
        let amount = round(trade.amount * part, traits.amount_decimals);
        if amount > 0.0 {
            visit(&Trade { amount, ..*trade });
        }
    });
}

/// Largest move of the price in a minute of a block without liquidations, as a fraction.
fn usual_run(traits: &MarketTraits, block: &PathBlock) -> f64 {
    USUAL_RUN * traits.path.minute_deviation() * block.usual
}

/// Largest move of the price in a minute without liquidations, in deviations of the minutes around it: the calmer the
/// market, the higher the leverage.
const USUAL_RUN: f64 = 1.2;

/// The liquidations of a minute, as [`Coins`] visits them.
pub(in crate::market) const LIQUIDATIONS: MinuteEvents =
    |traits, block, minute, visit| liquidations(traits, block, minute, visit);

/// The liquidations of the coins' markets.
pub(in crate::market) struct CoinLiquidations {
    coins: Arc<Coins>,
    /// First liquidation by market.
    firsts: Cache<usize, Option<UnixNanos>>,
}

impl CoinLiquidations {
    /// The liquidations of some markets.
    pub(in crate::market) fn new(coins: Arc<Coins>) -> Self {
        Self { coins, firsts: Cache::new(KEPT_FIRSTS) }
    }

    /// The moment of the first liquidation of a market: a wild minute comes within days.
    pub(in crate::market) fn first(&self, market: usize) -> Option<UnixNanos> {
        let find = || {
            let traits = &self.coins.traits[market];
            let bar = |minute| {
                coins::bar(LIQUIDATIONS, traits, &self.coins.block(traits, minute), minute, UnixNanos(i64::MAX))
            };
            let mut minutes = (BEGIN.minute().0..END.minute().0).map(UnixMinute);
            minutes.find_map(bar).map(|bar| bar.first)
        };
        *self.firsts.made(market, find)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{SECOND, UnixSecond, Window};
    use crate::market::raw::{Bar, LiquidationFeed, TradeFeed};
    use crate::market::sources::demo::Demo;

    const FROM: i64 = 1_776_816_000; // 2026-04-22 00:00 UTC
    const DAY: i64 = 86_400;
    const NOW: i64 = (FROM + 9 * DAY) * SECOND;

    fn bars(demo: &Demo, market: usize, from: i64, to: i64, now: i64) -> (Vec<Bar>, Vec<Bar>) {
        let (mut trades, mut forced) = (Vec::new(), Vec::new());
        demo.markets.bars(market, Window { from, to }, UnixNanos(now), &mut |bar| trades.push(*bar)).unwrap();
        demo.markets
            .liquidation_bars(market, Window { from, to }, UnixNanos(now), &mut |bar| forced.push(*bar))
            .unwrap();
        (trades, forced)
    }

    #[test]
    fn liquidations_are_forced_trades_where_the_price_ran() {
        let demo = Demo::new(0);
        let (trades, forced) = bars(&demo, 0, FROM, FROM + DAY, NOW);
        let (mut fast, mut fast_with) = (0, 0);
        let mut pending = forced.iter().peekable();
        let block = |minute: &Bar| demo.markets.coins.block(&demo.markets.coins.traits[0], minute.start.minute());
        let usual_of = |minute: &Bar| usual_run(&demo.markets.coins.traits[0], &block(minute));
        for minute in &trades {
            let usual = usual_of(minute);
            let bar = pending.next_if(|bar| bar.start == minute.start);
            if let Some(bar) = bar {
                assert!(bar.buy <= minute.buy && bar.sell <= minute.sell && bar.volume() > 0.0);
                assert!(minute.low <= bar.low && bar.high <= minute.high);
                assert!(minute.first <= bar.first && bar.last <= minute.last);
                let spot = block(minute).prices[(minute.start.minute().0 - block(minute).start.0) as usize];
                let start = spot * basis(&demo.markets.coins.traits[0], minute.start.minute());
                assert!(bar.buy == 0.0 || minute.high > start * (1.0 + usual));
                assert!(bar.sell == 0.0 || minute.low < start * (1.0 - usual));
            }
            let run = minute.close / minute.open - 1.0;
            if run.abs() > 1.75 * usual {
                fast += 1;
                fast_with += usize::from(bar.is_some_and(|bar| if run > 0.0 { bar.buy > 0.0 } else { bar.sell > 0.0 }));
            }
        }
        assert!(pending.next().is_none(), "a liquidation without a trade");
        assert!(fast >= 5 && fast_with * 10 >= fast * 8, "{fast_with} of {fast}");
        assert!(forced.len() * 3 < trades.len() && forced.len() > 50, "{} of {}", forced.len(), trades.len());
        // A calm minute has none: the price stayed in the usual band.
        let calm = |bar: &&Bar| (bar.high / bar.low - 1.0) < usual_of(bar) / 2.0;
        let quiet: Vec<UnixSecond> = trades.iter().filter(calm).map(|bar| bar.start).collect();
        assert!(!quiet.is_empty() && forced.iter().all(|bar| !quiet.contains(&bar.start)));
    }
}
