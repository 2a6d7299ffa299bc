//! Funding rates (service.md 2.3 and 4.1; supplement 2 to 4).

use std::collections::BTreeMap;

use super::fields::{self, FieldBars, add};
use crate::clock::UnixSecond;
use crate::columns::Series;
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::raw::{OhlcBar, TickerField};

/// `FUNDING_RATE_AGG`. Rates are given per `transform.normalize.fundingInterval`, in proportion to time. The weight of
/// an exchange in a bucket is its open interest at the bucket's end: one weight for all four values, so that the mean
/// high stays the highest and the mean low the lowest. An exchange of unknown open interest has no weight. Where open
/// interests are counted in unlike units, their values in USD weigh.
///
/// # Errors
/// [`MarketError::Invalid`] where a quote has no rate in USD, [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn answer(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    let mut series = Vec::new();
    for group in context.groups() {
        let unlike =
            group.iter().any(|&market| fields::contract(context, market) != fields::contract(context, group[0]));
        let weight = if unlike { TickerField::OpenInterestValue } else { TickerField::OpenInterest };
        let fields = [TickerField::FundingRate, TickerField::PredictedRate, weight];
        let (rates, predicted) = if let [market] = group {
            (
                fields::bars(context, *market, TickerField::FundingRate)?,
                fields::bars(context, *market, TickerField::PredictedRate)?,
            )
        } else {
            let parts = fields::aligned(context, group, &fields)?;
            let of = |field: usize| mean(parts.iter().map(|part| (&part[field], &part[2])));
            (of(0), of(1))
        };
        series.push(fields::series(
            context,
            group,
            &[
                (["rate_open", "rate_high", "rate_low", "rate_close"], &rates),
                (["predicted_open", "predicted_high", "predicted_low", "predicted_close"], &predicted),
            ],
        ));
    }
    Ok(series)
}

/// The mean of rates weighted by open interest: sum(rate × OI) / sum(OI), bucket by bucket.
fn mean<'a>(markets: impl Iterator<Item = (&'a FieldBars, &'a FieldBars)>) -> FieldBars {
    let mut sums: BTreeMap<UnixSecond, (Vec<OhlcBar>, Vec<f64>)> = BTreeMap::new();
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
    let of_bucket = |(start, (bars, weights)): (UnixSecond, (Vec<OhlcBar>, Vec<f64>))| {
        let mut sum = OhlcBar::of(start.nanos(), 0.0);
        for (bar, weight) in bars.iter().zip(&weights) {
            add(&mut sum, bar, *weight);
        }
        let total: f64 = weights.iter().sum();
        let OhlcBar { open, high, low, close, .. } = sum;
        (start, OhlcBar { open: open / total, high: high / total, low: low / total, close: close / total, ..sum })
    };
    sums.into_iter().map(of_bucket).collect()
}
