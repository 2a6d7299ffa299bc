//! Liquidations by bucket and side (service.md 2.3).

use crate::columns::{Column, Series};
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::query::window::Buckets;
use crate::market::raw::{Bar, LiquidationFeed};
use crate::market::subjects::trades::candles::{self, Bars, VolumeSide};
use crate::protocol::{SeriesId, Shape};

/// `LIQUIDATION_AGG`: a series per side of the forced orders. A bucket without liquidations of a side is absent from
/// that side. In USD, an amount counts price × amount.
///
/// # Errors
/// [`MarketError::Invalid`] where a quote has no rate in USD, [`MarketError::Internal`] when the data cannot be read.
pub(in crate::market) fn answer(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    let mut series = Vec::new();
    for group in context.groups() {
        let bars = group.iter().map(|&market| bars(context, market)).collect::<Result<Vec<_>, _>>()?;
        let bars = candles::sum(bars);
        for side in [VolumeSide::Buy, VolumeSide::Sell] {
            let amount = |bar: &Bar| match (side, context.query.usd) {
                (VolumeSide::Buy, false) => bar.buy,
                (VolumeSide::Buy, true) => bar.buy_quote,
                (_, false) => bar.sell,
                (_, true) => bar.sell_quote,
            };
            let rows: Vec<&Bar> = bars.iter().filter(|bar| amount(bar) > 0.0).collect();
            let amounts = Column::Float(rows.iter().map(|bar| amount(bar)).collect());
            series.push(Series {
                id: SeriesId { side: side.name(), ..context.identity(group) }.into(),
                shape: Shape::Table,
                timestamps: rows.iter().map(|bar| bar.start.nanos().0).collect(),
                columns: vec![("liquidations".into(), amounts)],
            });
        }
    }
    Ok(series)
}

/// A market's liquidations by bucket of the window.
fn bars(context: &QueryContext<'_>, market: usize) -> Result<Bars, MarketError> {
    let Buckets { interval, window, now } = context.buckets;
    let mut converter = context.converter(market);
    let visit = |visit: &mut dyn FnMut(&Bar)| {
        context
            .source
            .each::<dyn LiquidationFeed>(window, |forced, window| forced.liquidation_bars(market, window, now, visit))
    };
    Ok(candles::roll_up(visit, interval, &mut converter)??)
}
