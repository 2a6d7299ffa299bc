//! Open interest (service.md 2.3 and 4.1; supplement 2 to 4).

use super::fields::{self, FieldBars, add};
use crate::columns::Series;
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::raw::TickerField;

/// `OPEN_INTEREST_AGG`. In USD, each reading counts the price reported with it. A sum adds open, high, low and close of
/// the exchanges; one that is silent in a bucket counts with its last value, for at most a day.
///
/// # Errors
/// [`MarketError::Invalid`] where a quote has no rate in USD, [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn answer(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    let field = if context.query.usd { TickerField::OpenInterestValue } else { TickerField::OpenInterest };
    let mut series = Vec::new();
    for group in context.groups() {
        let parts = fields::aligned(context, group, &[field])?;
        let mut sums: FieldBars = FieldBars::new();
        for (start, bar) in parts.into_iter().flatten().flatten() {
            match sums.get_mut(&start) {
                Some(sum) => add(sum, &bar, 1.0),
                None => {
                    sums.insert(start, bar);
                }
            }
        }
        series.push(fields::series(context, group, &[(["open", "high", "low", "close"], &sums)]));
    }
    Ok(series)
}
