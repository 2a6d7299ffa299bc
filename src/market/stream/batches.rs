//! Channels that add trades up: candles of a short interval and one side, and the volume profile of the forming minute.

use std::collections::BTreeMap;

use super::single_events::side;
use super::subscription::{StreamEvent, Subscription, each_trade};
use crate::clock::{UnixMinute, UnixNanos};
use crate::market::query::error::MarketError;
use crate::market::query::price_step::{DecimalStep, level, server_step};
use crate::market::raw::{Bar, Source, Trade, TradeFeed};
use crate::protocol::stream::{Payload, StreamSeries};

/// `TRADE_AGG`: at the end of each interval, the candle of each side that traded in it. Unlike the candles of
/// `/v1/points`, prices come from the trades of that side only.
pub(in crate::market) fn trade_batches(
    source: &dyn Source,
    market: usize,
    subscription: &Subscription,
    until: UnixNanos,
    events: &mut Vec<StreamEvent>,
) -> Result<(), MarketError> {
    let mut ticks = subscription.ticks(until);
    let Some(first) = ticks.next() else { return Ok(()) };
    let (every, last) = (subscription.frequency, ticks.last().unwrap_or(first));
    // By interval, bought before sold.
    let mut bars: BTreeMap<(UnixNanos, bool), Bar> = BTreeMap::new();
    each_trade(source, market, first.plus(-every)..last, |trade| {
        let start = UnixNanos(trade.time.0.div_euclid(every) * every);
        bars.entry((start, !trade.buy))
            .and_modify(|bar| bar.add(trade))
            .or_insert_with(|| Bar::of(start.second(), trade));
    })?;
    for ((start, sold), bar) in bars {
        let payload = Payload::TradeAgg {
            open: bar.open,
            high: bar.high,
            low: bar.low,
            close: bar.close,
            volume: bar.volume(),
            timestamp: start.into(),
            first_timestamp: bar.first.into(),
            last_timestamp: bar.last.into(),
        };
        events.push(subscription.event(start.plus(every), Some(side(!sold)), payload));
    }
    Ok(())
}

/// Volume profile of the forming minute.
struct MinuteProfile {
    size: f64,
    step: DecimalStep,
    levels: BTreeMap<i64, (f64, f64)>,
}

impl MinuteProfile {
    fn of(first: &Trade, tick: f64) -> Self {
        let size = server_step(first.price, &[tick]);
        Self { size, step: DecimalStep::new(size), levels: BTreeMap::new() }
    }

    fn add(&mut self, trade: &Trade, volume: f64) -> Result<(), MarketError> {
        let (bought, sold) = self.levels.entry(level(&self.step, self.size, trade.price)?).or_insert((0.0, 0.0));
        *(if trade.buy { bought } else { sold }) += volume;
        Ok(())
    }

    fn triplets(&self) -> Vec<f64> {
        let levels = self.levels.iter();
        levels.flat_map(|(level, (bought, sold))| [self.step.price(*level), *bought, *sold]).collect()
    }
}

/// `VOLUME_PROFILE_AGG`: where there were trades since the last event, the profile of their minute so far, on the grid
/// that `/v1/points` gives the minute. The last event of a minute is its complete profile.
pub(in crate::market) fn volume_profiles(
    source: &dyn Source,
    market: usize,
    subscription: &Subscription,
    until: UnixNanos,
    events: &mut Vec<StreamEvent>,
) -> Result<(), MarketError> {
    let mut ticks = subscription.ticks(until);
    let Some(first) = ticks.next() else { return Ok(()) };
    let (every, last) = (subscription.frequency, ticks.last().unwrap_or(first));
    let sent_before = first.plus(-every);
    let begin = sent_before.minute().nanos();
    let mut trades = Vec::new();
    each_trade(source, market, begin..last, |trade| trades.push(*trade))?;
    let (usd, tick) = (subscription.channel.parameter("quote").is_some(), source.of::<dyn TradeFeed>()?.tick(market)?);
    let contract = source.instruments()[market].contract_usd();
    let volume = |trade: &Trade| match contract {
        _ if !usd => trade.amount,
        Some(contract) => trade.amount * contract,
        None => trade.price * trade.amount,
    };
    let mut under_way: Option<(UnixMinute, MinuteProfile)> = None;
    for (index, trade) in trades.iter().enumerate() {
        let minute = trade.time.minute();
        let (_, profile) = match &mut under_way {
            Some(known) if known.0 == minute => known,
            other => other.insert((minute, MinuteProfile::of(trade, tick))),
        };
        profile.add(trade, volume(trade))?;
        let at = UnixNanos((trade.time.0.div_euclid(every) + 1) * every);
        let more_before = trades.get(index + 1).is_some_and(|next| next.time < at);
        if trade.time >= sent_before && !more_before {
            let payload = Payload::VolumeProfileAgg { profile: profile.triplets(), timestamp: minute.nanos().into() };
            let mut event = subscription.event(at, None, payload);
            event.point.series = StreamSeries { block_size: Some(profile.size), ..event.point.series };
            events.push(event);
        }
    }
    Ok(())
}
