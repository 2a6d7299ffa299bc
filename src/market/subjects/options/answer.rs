//! Option summaries: skew and implied volatility of a coin's options by tenor.

use crate::clock::UnixNanos;
use crate::columns::{Column, Series};
use crate::market::instruments::filter::{InstrumentView, asked, wants};
use crate::market::query::context::QueryContext;
use crate::market::query::error::MarketError;
use crate::market::raw::{OptionFeed, OptionSummary, Source, SourceError};
use crate::protocol::discovery::TENORS;
use crate::protocol::suggest::hint;
use crate::protocol::{MarketListing, MarketsQuery, ParamError, SeriesId, Shape, Timestamp};

/// The category of every option summary (section 2.3).
const CATEGORY: &str = "OPTION";

/// `SKEW_OPTION_SUMMARY_AGG` and `IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG`: one series or none.
///
/// # Errors
/// [`MarketError::Invalid`] when the query breaks the rules of the folder's documentation, [`MarketError::Internal`] when
/// the data cannot be read.
pub(in crate::market) fn answer(context: &QueryContext<'_>) -> Result<Vec<Series>, MarketError> {
    let QueryContext { source, query, buckets, .. } = context;
    let known = source.of::<dyn OptionFeed>()?.option_summaries();
    let (exchange, wanted) = checked(context)?;
    let is_asked = |row: &OptionSummary| row.kind.data_type() == context.spec.data_type;
    let fits = |row: &OptionSummary| {
        is_asked(row) && row.exchange == exchange && (&*row.coin, &*row.raw_symbol, &*row.tenor) == wanted
    };
    let Some(summary) = known.iter().position(fits) else { return Ok(Vec::new()) };
    let (mut timestamps, mut values) = (Vec::new(), Vec::new());
    for start in buckets.starts() {
        // The reading of the bucket's last minute, or the last up to now.
        let last = start.plus(buckets.interval.seconds - 60).min(buckets.now.minute().second());
        if let Some(value) = source.of::<dyn OptionFeed>()?.option_summary(summary, start, last)? {
            timestamps.push(start.nanos().0);
            values.push(value);
        }
    }
    let row = &known[summary];
    let id = SeriesId {
        data_type: Some(query.data_type.clone()),
        raw_symbol: Some(row.raw_symbol.clone()),
        exchange: Some(row.exchange.clone()),
        normalized_symbol: Some(row.coin.clone()),
        category: Some(CATEGORY.to_owned()),
        interval: query.interval.clone(),
        coin: Some(row.coin.clone()),
        tenor: Some(row.tenor.clone()),
        ..SeriesId::default()
    };
    let columns = vec![(row.kind.column().into(), Column::Float(values))];
    Ok(vec![Series { id: id.into(), shape: Shape::Table, timestamps, columns }])
}

/// Refuses a query that lacks a part, or whose parts contradict each other.
pub(in crate::market) fn check(context: &QueryContext<'_>) -> Result<(), MarketError> {
    checked(context).map(drop)
}

/// Exchange, coin, symbol and tenor of a query that has all of them without contradiction.
fn checked<'a>(context: &QueryContext<'a>) -> Result<(&'a str, (&'a str, &'a str, &'a str)), MarketError> {
    let (query, spec) = (context.query, context.spec);
    let known = context.source.of::<dyn OptionFeed>()?.option_summaries();
    let of_kind = || known.iter().filter(|row| row.kind.data_type() == spec.data_type);
    let given = |part: &'a Option<String>| part.as_deref().unwrap_or_default(); // each is given, by the rules
    let (exchange, tenor) = (query.exchanges[0].as_str(), given(&query.tenor));
    let (coin, symbol) = (given(&query.coin), given(&query.raw_symbol));
    let mut tenors = distinct(known.iter().map(|row| &*row.tenor));
    if tenors.is_empty() {
        tenors.extend(TENORS);
    }
    if !tenors.contains(&tenor) {
        let near = hint(tenor, tenors.iter().copied());
        return Err(ParamError::new("tenor", format!("{tenor:?} is not one of {}{near}", tenors.join(", "))).into());
    }
    let other = known.iter().find(|row| row.raw_symbol == symbol && row.kind.data_type() != spec.data_type);
    if let Some(other) = other.filter(|_| !of_kind().any(|row| row.raw_symbol == symbol)) {
        let belongs = other.kind.data_type().spec().name;
        let right = of_kind().find(|row| row.coin == other.coin);
        let instead = right.map_or_else(String::new, |row| format!("; {} takes {}", spec.name, row.raw_symbol));
        return Err(ParamError::new("rawSymbol", format!("{symbol} is a symbol of {belongs}{instead}")).into());
    }
    Ok((exchange, (coin, symbol, tenor)))
}

/// The option summaries that fit a query of `/v1/markets`: one entry for each tenor. One that begins after `now` is not
/// listed.
pub(in crate::market) fn option_entries(
    source: &dyn Source,
    query: &MarketsQuery,
    now: UnixNanos,
) -> Result<Vec<MarketListing>, SourceError> {
    let available =
        source.of::<dyn OptionFeed>()?.option_summaries().iter().filter(|row| row.available_since.nanos() <= now);
    let entry = |row: &OptionSummary| {
        let full_name = format!("{} {} {}", row.exchange, row.raw_symbol, row.tenor);
        let texts = [&row.raw_symbol, &row.coin, &row.coin_name, &full_name].map(|text| text.to_lowercase());
        let face = InstrumentView { exchange: &row.exchange, coin: &row.coin, category: CATEGORY, texts: &texts };
        let wanted = wants(query, &face) && asked(query, |data_type| data_type == row.kind.data_type());
        wanted.then(|| MarketListing {
            exchange: row.exchange.clone(),
            raw_symbol: row.raw_symbol.clone(),
            normalized_symbol: row.coin.clone(),
            coin: row.coin.clone(),
            category: CATEGORY.to_owned(),
            tenor: row.tenor.clone(),
            coin_name: row.coin_name.clone(),
            full_name,
            available_since: Some(Timestamp { s: row.available_since.0, ns: 0 }),
            ..MarketListing::default()
        })
    };
    Ok(available.filter_map(entry).collect())
}

fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}
