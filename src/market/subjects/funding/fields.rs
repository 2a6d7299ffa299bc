//! Fields of the derivative ticker over a window: bars by bucket, several markets aligned, and their series.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::{SECOND, SECONDS_PER_DAY, UnixSecond};
use crate::columns::{Column, ColumnName, Series};
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::query::usd::{Converter, NoRate};
use crate::market::query::window::Buckets;
use crate::market::raw::{OhlcBar, SourceError, TickerFeed, TickerField};
use crate::protocol::{ParamError, Shape};

/// How long the last value of a silent exchange counts in an aggregate: longer than outages of venues, and bounded so
/// that a delisted market does not count forever.
const CARRIED: i64 = SECONDS_PER_DAY;
/// Default of `transform.normalize.fundingInterval` (section 4.1), milliseconds.
const FUNDING_INTERVAL: i64 = 28_800_000;

/// Bars of a field by bucket start.
pub(in crate::market) type FieldBars = BTreeMap<UnixSecond, OhlcBar>;

pub(in crate::market) fn contract(context: &QueryContext<'_>, market: usize) -> Option<f64> {
    context.source.instruments()[market].contract_usd()
}

/// The field that is read in place of another: contracts have a fixed worth, whatever the price reported with them.
fn source_field(context: &QueryContext<'_>, market: usize, field: TickerField) -> TickerField {
    match field {
        TickerField::OpenInterestValue if contract(context, market).is_some() => TickerField::OpenInterest,
        field => field,
    }
}

/// A field of a market over the window's buckets.
pub(in crate::market) fn bars(
    context: &QueryContext<'_>,
    market: usize,
    field: TickerField,
) -> Result<FieldBars, MarketError> {
    let Buckets { interval, window, now } = context.buckets;
    let mut units = units(context, market, field);
    let (mut bars, mut outcome) = (FieldBars::new(), Ok(Ok(())));
    let mut add = |minute: &OhlcBar| {
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
    };
    let read = source_field(context, market, field);
    context
        .source
        .each::<dyn TickerFeed>(window, |ticker, window| ticker.ticker_bars(market, read, window, now, &mut add))?;
    match outcome? {
        Ok(()) => Ok(bars),
        Err(missing) if context.query.usd => Err(missing.into()),
        Err(missing) => {
            let problem = format!("open interests in unlike units weigh in USD, and there is {missing}");
            Err(ParamError::new("exchange", format!("{problem}; name exchanges that are alike")).into())
        }
    }
}

fn units<'a>(context: &QueryContext<'a>, market: usize, field: TickerField) -> FieldConverter<'a> {
    let factor = match field {
        TickerField::FundingRate | TickerField::PredictedRate => {
            let asked = context.query.funding_interval.unwrap_or(FUNDING_INTERVAL);
            asked as f64 / (context.source.instruments()[market].funding_seconds() * 1_000) as f64
        }
        TickerField::OpenInterest | TickerField::OpenInterestValue => 1.0,
    };
    let usd = field == TickerField::OpenInterestValue;
    FieldConverter { factor, converter: Converter::new(context.source, market, usd, context.buckets.now) }
}

/// The fields of each market at the buckets in which one of the markets has the first of them or the second. A
/// market that is silent there has the last value that it had before, in whatever bucket, if that is no older than
/// [`CARRIED`]. One market alone is as it is.
pub(in crate::market) fn aligned(
    context: &QueryContext<'_>,
    markets: &[usize],
    fields: &[TickerField],
) -> Result<Vec<Vec<FieldBars>>, MarketError> {
    let mut parts = Vec::new();
    for &market in markets {
        let own = fields.iter().map(|field| bars(context, market, *field)).collect::<Result<Vec<_>, _>>()?;
        parts.push(own);
    }
    if parts.len() == 1 {
        return Ok(parts);
    }
    let starts: BTreeSet<UnixSecond> =
        parts.iter().flat_map(|part| part.iter().take(2)).flat_map(|bars| bars.keys().copied()).collect();
    for (&market, part) in markets.iter().zip(&mut parts) {
        for (&field, own) in fields.iter().zip(part) {
            let before = before(context, market, field)?;
            let carried = starts.iter().filter(|start| !own.contains_key(start)).filter_map(|start| {
                let last = own.range(..start).next_back().map(|(_, bar)| *bar).or(before)?;
                Some((*start, carry(&last, *start)?))
            });
            let carried: Vec<(UnixSecond, OhlcBar)> = carried.collect();
            own.extend(carried);
        }
    }
    Ok(parts)
}

/// The last minute of a field before the window, in the units of the query; `None` where there is none, or no rate of
/// that minute.
fn before(context: &QueryContext<'_>, market: usize, field: TickerField) -> Result<Option<OhlcBar>, MarketError> {
    let Buckets { window, now, .. } = context.buckets;
    let ticker = context.source.of::<dyn TickerFeed>()?;
    let Some(minute) = ticker.ticker_before(market, source_field(context, market, field), window.start(), now)? else {
        return Ok(None);
    };
    Ok(units(context, market, field).bar(&minute)?.ok())
}

/// A series of the buckets in which one of the fields has a value.
pub(in crate::market) fn series(
    context: &QueryContext<'_>,
    markets: &[usize],
    fields: &[([&'static str; 4], &FieldBars)],
) -> Series {
    let mut starts: Vec<UnixSecond> = fields.iter().flat_map(|(_, bars)| bars.keys().copied()).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut columns = Vec::new();
    for (names, bars) in fields {
        let values: [fn(&OhlcBar) -> f64; 4] = [|bar| bar.open, |bar| bar.high, |bar| bar.low, |bar| bar.close];
        for (name, value) in names.iter().zip(values) {
            columns.push(floats(name, starts.iter().map(|start| bars.get(start).map_or(f64::NAN, value))));
        }
    }
    Series {
        id: context.identity(markets).into(),
        shape: Shape::Table,
        timestamps: starts.iter().map(|start| start.nanos().0).collect(),
        columns,
    }
}

/// Converts a market's field to the units of the query.
struct FieldConverter<'a> {
    factor: f64,
    converter: Converter<'a>,
}

impl FieldConverter<'_> {
    fn bar(&mut self, minute: &OhlcBar) -> Result<Result<OhlcBar, NoRate>, SourceError> {
        let worth = self.converter.interest(minute.start)?;
        Ok(worth.map(|worth| if self.factor * worth == 1.0 { *minute } else { minute.times(self.factor * worth) }))
    }
}

/// A market's last value as a bar of a later bucket; `None` when it is too old. The times stay those of the value.
fn carry(last: &OhlcBar, start: UnixSecond) -> Option<OhlcBar> {
    let value = last.close;
    let young = start.nanos().since(last.last) <= CARRIED * SECOND;
    young.then_some(OhlcBar { start, open: value, high: value, low: value, ..*last })
}

pub(in crate::market) fn add(sum: &mut OhlcBar, bar: &OhlcBar, weight: f64) {
    sum.open += bar.open * weight;
    sum.high += bar.high * weight;
    sum.low += bar.low * weight;
    sum.close += bar.close * weight;
}

fn floats(name: &'static str, values: impl Iterator<Item = f64>) -> (ColumnName, Column) {
    (name.into(), Column::Float(values.collect()))
}
