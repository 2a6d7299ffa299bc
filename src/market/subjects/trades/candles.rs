//! Minute bars → candles of any interval, their transforms, and their columns (service.md 2.3; supplement 4).

use std::collections::BTreeMap;

use crate::clock::{UnixNanos, UnixSecond};
use crate::columns::{Column, NO_TIME, Series};
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::query::usd::{Converter, NoRate};
use crate::market::query::window::Buckets;
use crate::market::raw::{Bar, SourceError, TradeFeed};
use crate::protocol::identity::{BUY, SELL};
use crate::protocol::{Interval, SeriesId, Shape};

/// Bars of a candle series: one per bucket, ascending. A filled bucket has no first and last trade.
pub(in crate::market) type Bars = Vec<Bar>;

/// `TRADE_SIDE_AGNOSTIC_AGG`: candles of the trades of both sides.
pub(in crate::market) fn of_both_sides(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    answer(context, &[VolumeSide::Both])
}

/// `TRADE_AGG`: the candles twice, with the volume of taker buys and with that of taker sells.
pub(in crate::market) fn by_side(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    answer(context, &[VolumeSide::Buy, VolumeSide::Sell])
}

fn answer(context: &QueryContext<'_>, sides: &[VolumeSide]) -> Result<Vec<Series>, MarketError> {
    let mut all = Vec::new();
    for group in context.groups() {
        let mut bars = bars(context, group, &context.buckets)??;
        if context.query.gapfill {
            // After the sum: if one market did not trade in a bucket, the others make it.
            bars = gapfill(&bars, close_before(context, group)?, &context.buckets);
        }
        all.extend(sides.iter().map(|side| series(context.identity(group), &bars, *side, context.query.usd)));
    }
    Ok(all)
}

/// The bars of some markets together.
fn bars(context: &QueryContext<'_>, markets: &[usize], buckets: &Buckets) -> Result<Result<Bars, NoRate>, MarketError> {
    let Buckets { interval, window, now } = *buckets;
    let mut parts = Vec::new();
    for &market in markets {
        let mut converter = context.converter(market);
        let visit = |visit: &mut dyn FnMut(&Bar)| {
            context.source.each::<dyn TradeFeed>(window, |trades, window| trades.bars(market, window, now, visit))
        };
        let mut bars = match roll_up(visit, interval, &mut converter)? {
            Ok(bars) => bars,
            Err(missing) => return Ok(Err(missing)),
        };
        converter.weigh_by_coins(&mut bars);
        parts.push(bars);
    }
    Ok(Ok(sum(parts)))
}

/// The close before the window: that of the last bucket in which any of the markets traded. `None`
/// if that bucket is unknown in the unit of the query, which does not fail the query.
fn close_before(context: &QueryContext<'_>, markets: &[usize]) -> Result<Option<f64>, MarketError> {
    let buckets = &context.buckets;
    let mut last = None;
    for &market in markets {
        let trades = context.source.of::<dyn TradeFeed>()?;
        let bar = trades.bar_before(market, buckets.window.start(), buckets.now)?;
        last = last.max(bar.map(|bar| buckets.interval.floor(bar.start)));
    }
    let Some(start) = last else { return Ok(None) };
    let bucket = Buckets { window: buckets.interval.window(start), ..*buckets };
    let bars = bars(context, markets, &bucket)?;
    Ok(bars.ok().and_then(|bars| bars.first().map(|bar| bar.close)))
}

/// The minute bars that `visit` gives in time order, rolled up to buckets in the unit of the query.
pub(in crate::market) fn roll_up(
    visit: impl FnOnce(&mut dyn FnMut(&Bar)) -> Result<(), SourceError>,
    interval: &Interval,
    converter: &mut Converter<'_>,
) -> Result<Result<Bars, NoRate>, SourceError> {
    let mut bars = Bars::new();
    let mut outcome = Ok(Ok(()));
    visit(&mut |minute| {
        if !matches!(outcome, Ok(Ok(()))) {
            return;
        }
        let mut part = match converter.bar(minute) {
            Ok(Ok(part)) => part,
            Ok(Err(missing)) => return outcome = Ok(Err(missing)),
            Err(error) => return outcome = Err(error),
        };
        part.start = interval.floor(minute.start);
        match bars.last_mut() {
            Some(last) if last.start == part.start => last.merge(&part),
            _ => bars.push(part),
        }
    })?;
    outcome.map(|outcome| outcome.map(|()| bars))
}

/// Sum over markets: amounts add, open and close are means weighted by amount, high is the highest, low the lowest.
pub(in crate::market) fn sum(mut parts: Vec<Bars>) -> Bars {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut buckets: BTreeMap<UnixSecond, Bars> = BTreeMap::new();
    for bar in parts.into_iter().flatten() {
        buckets.entry(bar.start).or_default().push(bar);
    }
    buckets.into_values().map(|bars| sum_bucket(&bars)).collect()
}

fn sum_bucket(bars: &[Bar]) -> Bar {
    let mut sum = bars[0];
    for bar in &bars[1..] {
        sum.merge(bar);
    }
    if bars.len() > 1 {
        let amount: f64 = bars.iter().map(Bar::volume).sum();
        let mean = |price: fn(&Bar) -> f64| {
            if amount > 0.0 {
                bars.iter().map(|bar| price(bar) * bar.volume()).sum::<f64>() / amount
            } else {
                bars.iter().map(price).sum::<f64>() / bars.len() as f64
            }
        };
        (sum.open, sum.close) = (mean(|bar| bar.open), mean(|bar| bar.close));
    }
    sum
}

/// Fills empty buckets up to the forming one with the close before them. `before` is the close before the window.
fn gapfill(bars: &Bars, before: Option<f64>, buckets: &Buckets) -> Bars {
    let mut filled = Vec::with_capacity(buckets.starts().count());
    let mut known = bars.iter().peekable();
    let mut close = before;
    for start in buckets.starts() {
        if let Some(bar) = known.next_if(|bar| bar.start == start) {
            close = Some(bar.close);
            filled.push(*bar);
        } else if let Some(price) = close {
            filled.push(Bar {
                start,
                open: price,
                high: price,
                low: price,
                close: price,
                buy: 0.0,
                sell: 0.0,
                buy_quote: 0.0,
                sell_quote: 0.0,
                first: UnixNanos(NO_TIME),
                last: UnixNanos(NO_TIME),
            });
        }
    }
    filled
}

/// Volume that a series shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::market) enum VolumeSide {
    Both,
    Buy,
    Sell,
}

impl VolumeSide {
    pub(in crate::market) fn name(self) -> Option<String> {
        match self {
            Self::Both => None,
            Self::Buy => Some(BUY.to_owned()),
            Self::Sell => Some(SELL.to_owned()),
        }
    }
}

/// The columns of a candle series. `usd` shows volumes in quote instead of coin.
fn series(id: SeriesId, bars: &Bars, side: VolumeSide, usd: bool) -> Series {
    let volume = |bar: &Bar| {
        let (buy, sell) = if usd { (bar.buy_quote, bar.sell_quote) } else { (bar.buy, bar.sell) };
        match side {
            VolumeSide::Both => buy + sell,
            VolumeSide::Buy => buy,
            VolumeSide::Sell => sell,
        }
    };
    let floats = |name: &'static str, value: &dyn Fn(&Bar) -> f64| {
        (name.into(), Column::Float(bars.iter().map(value).collect()))
    };
    let times = |name: &'static str, value: fn(&Bar) -> UnixNanos| (name.into(), Column::times(bars.iter().map(value)));
    Series {
        id: SeriesId { side: side.name(), ..id }.into(),
        shape: Shape::Table,
        timestamps: bars.iter().map(|bar| bar.start.nanos().0).collect(),
        columns: vec![
            floats("open", &|bar| bar.open),
            floats("high", &|bar| bar.high),
            floats("low", &|bar| bar.low),
            floats("close", &|bar| bar.close),
            floats("volume", &volume),
            times("first_timestamp", |bar| bar.first),
            times("last_timestamp", |bar| bar.last),
        ],
    }
}
