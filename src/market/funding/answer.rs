//! Queries of liquidations, funding rates and open interest → series (service.md 2.3 and 4.1; supplement 2 to 4; design,
//! "Rules of the local service").

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::SECOND;
use crate::columns::{Column, Name, Series};
use crate::market::query::error::MarketError;
use crate::market::query::usd::{Converter, NoRate};
use crate::market::query::window::Buckets;
use crate::market::raw::{Bar, Gauge, GaugeBar, Source, SourceError};
use crate::market::trades::candles;
use crate::market::trades::candles::{Bars, Side};
use crate::protocol::{ParamError, PointsQuery, SeriesId, Shape};

/// How long the last value of a silent exchange counts in an aggregate: longer than any venue is down, shorter than what
/// would let a delisted market count for good.
const CARRIED: i64 = 86_400;
/// Default of `transform.normalize.fundingInterval` (section 4.1), milliseconds.
const FUNDING_INTERVAL: i64 = 28_800_000;

/// What a query asks for, worked out.
pub(in crate::market) struct Asked<'a> {
    pub source: &'a dyn Source,
    pub query: &'a PointsQuery,
    /// The markets that the query means.
    pub markets: &'a [usize],
    pub buckets: &'a Buckets,
    /// The identity of a series over some markets.
    pub id: &'a dyn Fn(&[usize]) -> SeriesId,
}

/// Bars of a gauge by bucket start.
type Gauges = BTreeMap<i64, GaugeBar>;

impl Asked<'_> {
    /// `LIQUIDATION_AGG`: a series per side of the forced orders. A bucket without liquidations of a side is absent from
    /// that side. In USD, an amount counts price × amount.
    pub(in crate::market) fn liquidations(&self) -> Result<Vec<Series>, MarketError> {
        let mut series = Vec::new();
        for group in self.groups() {
            let bars = group.iter().map(|&market| self.liquidation_bars(market)).collect::<Result<Vec<_>, _>>()?;
            let bars = candles::sum(bars);
            for side in [Side::Buy, Side::Sell] {
                let amount = |bar: &Bar| match (side, self.query.usd) {
                    (Side::Buy, false) => bar.buy,
                    (Side::Buy, true) => bar.buy_quote,
                    (_, false) => bar.sell,
                    (_, true) => bar.sell_quote,
                };
                let rows: Vec<&Bar> = bars.iter().filter(|bar| amount(bar) > 0.0).collect();
                series.push(Series {
                    id: SeriesId { side: side.name(), ..(self.id)(group) }.into(),
                    shape: Shape::Table,
                    timestamps: rows.iter().map(|bar| bar.start * SECOND).collect(),
                    columns: vec![floats("liquidations", rows.iter().map(|bar| amount(bar)))],
                });
            }
        }
        Ok(series)
    }

    /// `OPEN_INTEREST_AGG`. In USD, each reading counts the price told with it. A sum adds open, high, low and close of
    /// the exchanges; one that is silent in a bucket counts with its last value, for at most a day.
    pub(in crate::market) fn open_interest(&self) -> Result<Vec<Series>, MarketError> {
        let gauge = if self.query.usd { Gauge::OpenInterestValue } else { Gauge::OpenInterest };
        let mut series = Vec::new();
        for group in self.groups() {
            let parts = self.aligned(group, &[gauge])?;
            let mut sums: Gauges = BTreeMap::new();
            for (start, bar) in parts.into_iter().flatten().flatten() {
                match sums.get_mut(&start) {
                    Some(sum) => add(sum, &bar, 1.0),
                    None => {
                        sums.insert(start, bar);
                    }
                }
            }
            series.push(self.table(group, &[(["open", "high", "low", "close"], &sums)]));
        }
        Ok(series)
    }

    /// `FUNDING_RATE_AGG`. Rates are given per `transform.normalize.fundingInterval`, in proportion to time. The weight of
    /// an exchange in a bucket is its open interest at the bucket's end: one weight for all four values, so that the mean
    /// high stays the highest and the mean low the lowest. An exchange of unknown open interest has no weight. Where open
    /// interests are told in unlike units, their values in USD weigh.
    pub(in crate::market) fn funding_rate(&self) -> Result<Vec<Series>, MarketError> {
        let mut series = Vec::new();
        for group in self.groups() {
            let unlike = group.iter().any(|&market| self.contract(market) != self.contract(group[0]));
            let weight = if unlike { Gauge::OpenInterestValue } else { Gauge::OpenInterest };
            let gauges = [Gauge::FundingRate, Gauge::PredictedRate, weight];
            let (rates, predicted) = if let [market] = group {
                (self.gauge(*market, Gauge::FundingRate)?, self.gauge(*market, Gauge::PredictedRate)?)
            } else {
                let parts = self.aligned(group, &gauges)?;
                let of = |gauge: usize| mean(parts.iter().map(|part| (&part[gauge], &part[2])));
                (of(0), of(1))
            };
            series.push(self.table(
                group,
                &[
                    (["rate_open", "rate_high", "rate_low", "rate_close"], &rates),
                    (["predicted_open", "predicted_high", "predicted_low", "predicted_close"], &predicted),
                ],
            ));
        }
        Ok(series)
    }

    /// The markets of each series: all together when the query aggregates, else each by itself.
    fn groups(&self) -> Vec<&[usize]> {
        match self.query.group_by {
            Some(_) if self.markets.is_empty() => Vec::new(),
            Some(_) => vec![self.markets],
            None => self.markets.chunks(1).collect(),
        }
    }

    fn contract(&self, market: usize) -> Option<f64> {
        self.source.listings()[market].contract_usd()
    }

    /// The gauge that a source tells for another: contracts are worth what they are, whatever the price told with them.
    fn told(&self, market: usize, gauge: Gauge) -> Gauge {
        match gauge {
            Gauge::OpenInterestValue if self.contract(market).is_some() => Gauge::OpenInterest,
            gauge => gauge,
        }
    }

    fn liquidation_bars(&self, market: usize) -> Result<Bars, MarketError> {
        let Buckets { interval, from, end, now } = *self.buckets;
        let mut converter = Converter::new(self.source, market, self.query.usd, now);
        let visit = |visit: &mut dyn FnMut(&Bar)| self.source.liquidation_bars(market, from, end, now, visit);
        Ok(candles::roll_up(visit, interval, &mut converter)??)
    }

    /// A gauge of a market over the window's buckets.
    fn gauge(&self, market: usize, gauge: Gauge) -> Result<Gauges, MarketError> {
        let Buckets { interval, from, end, now } = *self.buckets;
        let mut units = self.units(market, gauge);
        let (mut bars, mut outcome) = (Gauges::new(), Ok(Ok(())));
        self.source.gauge_bars(market, self.told(market, gauge), from, end, now, &mut |minute| {
            if !matches!(outcome, Ok(Ok(()))) {
                return;
            }
            let mut bar = match units.bar(minute) {
                Ok(Ok(bar)) => bar,
                Ok(Err(missing)) => return outcome = Ok(Err(missing)),
                Err(error) => return outcome = Err(error),
            };
            bar.start = interval.floor(minute.start);
            bars.entry(bar.start).and_modify(|known| known.merge(&bar)).or_insert(bar);
        })?;
        match outcome? {
            Ok(()) => Ok(bars),
            Err(missing) if self.query.usd => Err(missing.into()),
            Err(missing) => {
                let problem = format!("open interests in unlike units weigh in USD, and there is {missing}");
                Err(ParamError::new("exchange", format!("{problem}; name exchanges that are alike")).into())
            }
        }
    }

    fn units(&self, market: usize, gauge: Gauge) -> Units<'_> {
        let factor = match gauge {
            Gauge::FundingRate | Gauge::PredictedRate => {
                let asked = self.query.funding_interval.unwrap_or(FUNDING_INTERVAL);
                asked as f64 / (self.source.listings()[market].funding_seconds() * 1_000) as f64
            }
            Gauge::OpenInterest | Gauge::OpenInterestValue => 1.0,
        };
        let usd = gauge == Gauge::OpenInterestValue;
        Units { factor, converter: Converter::new(self.source, market, usd, self.buckets.now) }
    }

    /// The gauges of each market at the buckets in which one of the markets tells the first of them or the second. A
    /// market that is silent there has the last value that it told before, in whatever bucket, if that is no older than
    /// [`CARRIED`]. One market alone is as it is.
    fn aligned(&self, markets: &[usize], gauges: &[Gauge]) -> Result<Vec<Vec<Gauges>>, MarketError> {
        let mut parts = Vec::new();
        for &market in markets {
            let told = gauges.iter().map(|gauge| self.gauge(market, *gauge)).collect::<Result<Vec<_>, _>>()?;
            parts.push(told);
        }
        if parts.len() == 1 {
            return Ok(parts);
        }
        let starts: BTreeSet<i64> =
            parts.iter().flat_map(|part| part.iter().take(2)).flat_map(|told| told.keys().copied()).collect();
        for (&market, part) in markets.iter().zip(&mut parts) {
            for (&gauge, told) in gauges.iter().zip(part) {
                let before = self.before(market, gauge)?;
                let carried = starts.iter().filter(|start| !told.contains_key(start)).filter_map(|start| {
                    let last = told.range(..start).next_back().map(|(_, bar)| *bar).or(before)?;
                    Some((*start, carry(&last, *start)?))
                });
                let carried: Vec<(i64, GaugeBar)> = carried.collect();
                told.extend(carried);
            }
        }
        Ok(parts)
    }

    /// The last minute of a gauge before the window, in the units of the query; `None` where there is none, or no rate of
    /// that minute.
    fn before(&self, market: usize, gauge: Gauge) -> Result<Option<GaugeBar>, MarketError> {
        let Buckets { from, now, .. } = *self.buckets;
        let Some(minute) = self.source.gauge_before(market, self.told(market, gauge), from, now)? else {
            return Ok(None);
        };
        Ok(self.units(market, gauge).bar(&minute)?.ok())
    }

    /// A series of the buckets that one of the gauges tells.
    fn table(&self, markets: &[usize], gauges: &[([&'static str; 4], &Gauges)]) -> Series {
        let mut starts: Vec<i64> = gauges.iter().flat_map(|(_, bars)| bars.keys().copied()).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut columns = Vec::new();
        for (names, bars) in gauges {
            let values: [fn(&GaugeBar) -> f64; 4] = [|bar| bar.open, |bar| bar.high, |bar| bar.low, |bar| bar.close];
            for (name, value) in names.iter().zip(values) {
                columns.push(floats(name, starts.iter().map(|start| bars.get(start).map_or(f64::NAN, value))));
            }
        }
        Series {
            id: (self.id)(markets).into(),
            shape: Shape::Table,
            timestamps: starts.iter().map(|start| start * SECOND).collect(),
            columns,
        }
    }
}

/// What brings a market's gauge to the units of the query.
struct Units<'a> {
    factor: f64,
    converter: Converter<'a>,
}

impl Units<'_> {
    fn bar(&mut self, minute: &GaugeBar) -> Result<Result<GaugeBar, NoRate>, SourceError> {
        let worth = self.converter.interest(minute.start)?;
        Ok(worth.map(|worth| if self.factor * worth == 1.0 { *minute } else { minute.times(self.factor * worth) }))
    }
}

/// A market's last value as a bar of a later bucket; `None` when it is too old. The times stay those of the value.
fn carry(last: &GaugeBar, start: i64) -> Option<GaugeBar> {
    let value = last.close;
    let young = start.saturating_mul(SECOND) - last.last <= CARRIED * SECOND;
    young.then_some(GaugeBar { start, open: value, high: value, low: value, ..*last })
}

fn add(sum: &mut GaugeBar, bar: &GaugeBar, weight: f64) {
    sum.open += bar.open * weight;
    sum.high += bar.high * weight;
    sum.low += bar.low * weight;
    sum.close += bar.close * weight;
}

/// The mean of rates weighted by open interest: sum(rate × OI) / sum(OI), bucket by bucket.
fn mean<'a>(markets: impl Iterator<Item = (&'a Gauges, &'a Gauges)>) -> Gauges {
    let mut sums: BTreeMap<i64, (Vec<GaugeBar>, Vec<f64>)> = BTreeMap::new();
    for (rates, interest) in markets {
        for (start, rate) in rates {
            let Some(weight) = interest.get(start).map(|bar| bar.close).filter(|weight| *weight > 0.0) else {
                continue;
            };
            let (bars, weights) = sums.entry(*start).or_default();
            bars.push(*rate);
            weights.push(weight);
        }
    }
    let of_bucket = |(start, (bars, weights)): (i64, (Vec<GaugeBar>, Vec<f64>))| {
        let mut sum = GaugeBar::of(start, start * SECOND, 0.0);
        for (bar, weight) in bars.iter().zip(&weights) {
            add(&mut sum, bar, *weight);
        }
        let total: f64 = weights.iter().sum();
        let GaugeBar { open, high, low, close, .. } = sum;
        (start, GaugeBar { open: open / total, high: high / total, low: low / total, close: close / total, ..sum })
    };
    sums.into_iter().map(of_bucket).collect()
}

fn floats(name: &'static str, values: impl Iterator<Item = f64>) -> (Name, Column) {
    (name.into(), Column::Float(values.collect()))
}
