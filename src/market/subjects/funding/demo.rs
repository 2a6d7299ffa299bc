//! The demo's funding rates and open interest, made of the same path and the same trades as the candles.

use std::sync::Arc;

use crate::clock::{MINUTES_PER_DAY, SECOND, UnixMinute, UnixNanos, UnixSecond, Window};
use crate::market::cache::Cache;
use crate::market::demo::catalog::MarketTraits;
use crate::market::demo::clock::{from_whole_minute, times};
use crate::market::demo::coins::Coins;
use crate::market::demo::noise::{place, smooth, uniform};
use crate::market::demo::path::{BLOCK, PathBlock};
use crate::market::query::rounding::round;
use crate::market::raw::{OhlcBar, Ticker, TickerField, minute_bars};
use crate::market::subjects::trades::demo::{basis, premium, trades};

/// Readings of the ticker in a minute, evenly spaced.
const READINGS: i64 = 4;
/// Funding rate for 8 hours when nothing pulls: the interest that venues fix.
const RESTING_RATE: f64 = 1e-4;
/// Part of the venue's distance to the common price that is paid in 8 hours.
const FOLLOWS: f64 = 0.6;
/// Open interest in days of turnover.
const INTEREST_DAYS: f64 = 0.6;
/// Most of a minute's volume that opens or closes positions at random, beside the slow drift.
const TURNED_OVER: f64 = 0.12;

/// Open interest at the minute boundaries of a block, in coin: `[i]` is at minute `block.start + i`; one more than a
/// block has minutes. It meets a slow wave at the block's ends; within, each minute changes it in proportion to the
/// minute's volume, by less than that volume.
pub(in crate::market) fn open_interest(traits: &MarketTraits, block: &PathBlock) -> Vec<f64> {
    let minutes = block.start.0..block.start.0 + BLOCK;
    let volume = |minute| {
        let mut volume = 0.0;
        trades(traits, block, UnixMinute(minute), |trade| volume += trade.amount);
        volume
    };
    let volumes: Vec<f64> = minutes.clone().map(volume).collect();
    let total: f64 = volumes.iter().sum();
    let pulls: Vec<f64> = minutes
        .map(|minute| {
            // Positions open and close in spells of about half an hour, with some noise from minute to minute.
            let spell = smooth(traits.seed ^ 4, minute as f64 / 30.0);
            let noise = uniform(place(&[traits.seed, 5, minute as u64])) * 2.0 - 1.0;
            TURNED_OVER * (0.6 * spell + 0.4 * noise)
        })
        .collect();
    let mean_pull = volumes.iter().zip(&pulls).map(|(volume, pull)| volume * pull).sum::<f64>() / total;
    let (left, right) =
        (resting_interest(traits, block.start), resting_interest(traits, UnixMinute(block.start.0 + BLOCK)));
    let drift = (right - left) / total;
    let mut interest = left;
    let mut boundaries = vec![left];
    for (volume, pull) in volumes.iter().zip(&pulls) {
        interest += volume * (drift + pull - mean_pull);
        boundaries.push(interest);
    }
    boundaries[BLOCK as usize] = right; // the same double as the next block begins with
    boundaries
}

fn resting_interest(traits: &MarketTraits, minute: UnixMinute) -> f64 {
    let days = minute.0 as f64 / MINUTES_PER_DAY as f64;
    let wave = 0.22 * smooth(traits.seed ^ 6, days / 13.0) + 0.06 * smooth(traits.seed ^ 7, days / 3.1);
    INTEREST_DAYS * MINUTES_PER_DAY as f64 * traits.minute_amount * wave.exp()
}

/// Visits the ticker's readings of a minute in time order. `interest` is [`open_interest`] of the block, which is expensive;
/// without it the readings have no open interest.
///
/// The venue's premium moves the predicted rate away from [`RESTING_RATE`]: a contract dearer than the coin has a higher rate.
/// At each settlement (every hour or every 8 hours, counted from midnight UTC) the rate becomes the predicted one, and stays
/// until the next.
pub(in crate::market) fn readings(
    traits: &MarketTraits,
    block: &PathBlock,
    interest: Option<&[f64]>,
    minute: UnixMinute,
    mut visit: impl FnMut(&Ticker),
) {
    let index = (minute.0 - block.start.0) as usize;
    let settled = minute.0 - minute.0.rem_euclid(traits.settlement);
    let funding_rate = round(predicted(traits, settled as f64), 8);
    for reading in 0..READINGS {
        let part = reading as f64 / READINGS as f64;
        let between = |values: &[f64]| values[index] + (values[index + 1] - values[index]) * part;
        visit(&Ticker {
            time: UnixNanos(minute.nanos().0 + reading * 60 * SECOND / READINGS),
            funding_rate,
            predicted_rate: round(predicted(traits, minute.0 as f64 + part), 8),
            open_interest: interest.map_or(f64::NAN, |interest| round(between(interest), traits.amount_decimals)),
            price: round(between(&block.prices) * basis(traits, minute), traits.price_decimals),
        });
    }
}

/// The rate that a minute (with its part) predicts for the next settlement, for the time between two of them.
fn predicted(traits: &MarketTraits, minute: f64) -> f64 {
    let premium = premium(traits, minute) - traits.premium;
    (RESTING_RATE + FOLLOWS * premium) * traits.settlement as f64 / (8.0 * 60.0)
}

/// Blocks whose open interest is kept for the next question: about 25 MB.
const KEPT_BLOCKS: usize = 6_000;

/// The derivative ticker of the coins' markets.
pub(in crate::market) struct CoinTickers {
    coins: Arc<Coins>,
    /// Open interest at the boundaries of a block's minutes by (market, start).
    interest: Cache<(usize, UnixMinute), Vec<f64>>,
}

impl CoinTickers {
    /// The ticker of some markets.
    pub(in crate::market) fn new(coins: Arc<Coins>) -> Self {
        Self { coins, interest: Cache::new(KEPT_BLOCKS) }
    }

    /// Visits the minute bars of a field with a start in a window, of readings up to `now`.
    pub(in crate::market) fn bars(
        &self,
        market: usize,
        field: TickerField,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&OhlcBar),
    ) {
        self.coins.each_minute(market, window, now, |block, minute| {
            if let Some(bar) = self.bar(market, field, block, minute, now) {
                visit(&bar);
            }
        });
    }

    /// The last minute bar of a field that starts before `before`.
    pub(in crate::market) fn bar_before(
        &self,
        market: usize,
        field: TickerField,
        before: UnixSecond,
        now: UnixNanos,
    ) -> Option<OhlcBar> {
        // Every minute that has begun has a reading at its start.
        let last = before.0.min(now.second().0 + 1);
        let mut found = None;
        let minute = Window { from: (last - 60).div_euclid(60) * 60, to: last };
        self.bars(market, field, minute, now, &mut |bar| found = Some(*bar));
        found
    }

    /// Visits the readings with a time in a window, none after `now`.
    pub(in crate::market) fn readings(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Ticker),
    ) {
        let (traits, known) = (&self.coins.traits[market], times(window, now));
        self.coins.each_minute(market, from_whole_minute(window), now, |block, minute| {
            let interest = self.interest(market, block);
            readings(traits, block, Some(&interest), minute, |reading| {
                if known.contains(&reading.time) {
                    visit(reading);
                }
            });
        });
    }

    /// The bar of a field in a minute, of its readings up to `now`.
    fn bar(
        &self,
        market: usize,
        field: TickerField,
        block: &PathBlock,
        minute: UnixMinute,
        now: UnixNanos,
    ) -> Option<OhlcBar> {
        let traits = &self.coins.traits[market];
        let dear = matches!(field, TickerField::OpenInterest | TickerField::OpenInterestValue);
        let interest = dear.then(|| self.interest(market, block));
        let mut known = Vec::new();
        readings(traits, block, interest.as_deref().map(Vec::as_slice), minute, |reading| {
            if reading.time <= now {
                known.push(*reading);
            }
        });
        minute_bars(&known, field).pop()
    }

    /// Open interest at the boundaries of a block's minutes.
    fn interest(&self, market: usize, block: &PathBlock) -> Arc<Vec<f64>> {
        self.interest.made((market, block.start), || open_interest(&self.coins.traits[market], block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::raw::{Bar, LiquidationFeed, OhlcBar, TickerFeed, TickerField, TradeFeed};
    use crate::market::sources::demo::Demo;

    const FROM: i64 = 1_776_816_000; // 2026-04-22 00:00 UTC
    const DAY: i64 = 86_400;
    const NOW: i64 = (FROM + 9 * DAY) * SECOND;

    fn fields(demo: &Demo, market: usize, field: TickerField, from: i64, to: i64, now: i64) -> Vec<OhlcBar> {
        let mut bars = Vec::new();
        demo.markets
            .ticker_bars(market, field, Window { from, to }, UnixNanos(now), &mut |bar| bars.push(*bar))
            .unwrap();
        bars
    }

    fn bars(demo: &Demo, market: usize, from: i64, to: i64, now: i64) -> (Vec<Bar>, Vec<Bar>) {
        let (mut trades, mut forced) = (Vec::new(), Vec::new());
        demo.markets.bars(market, Window { from, to }, UnixNanos(now), &mut |bar| trades.push(*bar)).unwrap();
        demo.markets
            .liquidation_bars(market, Window { from, to }, UnixNanos(now), &mut |bar| forced.push(*bar))
            .unwrap();
        (trades, forced)
    }

    #[test]
    fn open_interest_moves_by_less_than_was_traded_and_more_where_more_was() {
        let demo = Demo::new(0);
        let interest = fields(&demo, 0, TickerField::OpenInterest, FROM, FROM + 2 * DAY, NOW);
        let (trades, _) = bars(&demo, 0, FROM, FROM + 2 * DAY, NOW);
        assert_eq!(interest.len(), 2 * 1_440);
        let steps: Vec<(f64, f64)> = interest
            .windows(2)
            .zip(&trades)
            .map(|(two, minute)| ((two[1].open - two[0].open).abs(), minute.volume()))
            .collect();
        let lot = 10f64.powi(-demo.markets.coins.traits[0].amount_decimals);
        assert!(steps.iter().all(|(step, volume)| *step <= volume + lot));
        let mut by_volume = steps.clone();
        by_volume.sort_by(|one, other| one.1.total_cmp(&other.1));
        let mean = |part: &[(f64, f64)]| part.iter().map(|(step, _)| step).sum::<f64>() / part.len() as f64;
        let third = by_volume.len() / 3;
        assert!(mean(&by_volume[2 * third..]) > 2.0 * mean(&by_volume[..third]));
        let (low, high) = interest.iter().fold((f64::MAX, 0f64), |(l, h), bar| (l.min(bar.low), h.max(bar.high)));
        assert!(low > 0.0 && high / low < 1.3 && high > low, "{low} {high}");
    }

    #[test]
    fn funding_is_settled_to_what_was_predicted_and_reverts_to_rest() {
        let demo = Demo::new(0);
        let rates = fields(&demo, 0, TickerField::FundingRate, FROM, FROM + DAY, NOW);
        let predicted = fields(&demo, 0, TickerField::PredictedRate, FROM, FROM + DAY, NOW);
        for (minute, bar) in rates.iter().enumerate() {
            assert_eq!((bar.open, bar.close), (predicted[minute / 480 * 480].open, bar.open));
        }
        assert!(predicted.windows(2).any(|two| two[0].close != two[1].close));
        let daily: Vec<f64> = (0..400)
            .filter_map(|day| {
                Some(
                    fields(&demo, 0, TickerField::FundingRate, FROM - day * DAY, FROM - day * DAY + 60, NOW)
                        .first()?
                        .open,
                )
            })
            .collect();
        let mean = daily.iter().sum::<f64>() / daily.len() as f64;
        assert!(daily.len() == 400 && (mean - RESTING_RATE).abs() < 3e-5, "{mean}");
        assert!(daily.iter().any(|rate| *rate < 0.5e-4) && daily.iter().all(|rate| rate.abs() < 5e-4));
    }

    #[test]
    fn random_access_is_sequential_access_and_nothing_is_read_ahead() {
        let demo = Demo::new(0);
        for field in TickerField::ALL {
            let whole = fields(&demo, 0, field, FROM, FROM + DAY, NOW);
            for index in [0, 1, 511, 512, 777, 1_439] {
                let start = FROM + 60 * index as i64;
                assert_eq!(fields(&Demo::new(0), 0, field, start, start + 60, NOW), [whole[index]]);
                assert_eq!(
                    Demo::new(0).markets.ticker_before(0, field, UnixSecond(start + 60), UnixNanos(NOW)).unwrap(),
                    Some(whole[index])
                );
            }
            let forming = fields(&demo, 0, field, FROM, FROM + DAY, (FROM + 20) * SECOND);
            assert_eq!(forming.len(), 1);
            assert_eq!(
                (forming[0].first, forming[0].last),
                (UnixNanos(FROM * SECOND), UnixNanos((FROM + 15) * SECOND))
            );
            assert_eq!(forming[0].open, whole[0].open);
            assert!(fields(&demo, 4, field, FROM, FROM + DAY, NOW).is_empty(), "a spot market has no ticker");
        }
        let (_, forced) = bars(&demo, 0, FROM, FROM + DAY, NOW);
        for bar in forced.iter().step_by(17) {
            let of = |now: UnixNanos| bars(&Demo::new(0), 0, bar.start.0, bar.start.0 + 60, now.0).1;
            assert_eq!(of(bar.last), [*bar]);
            assert!(of(bar.first.plus(-1)).is_empty());
        }
        assert!(bars(&demo, 4, FROM, FROM + DAY, NOW).1.is_empty(), "a spot market has no liquidations");
    }
}
