//! Option summaries: skew and implied volatility of a coin's options by tenor.

use crate::clock::SECOND;
use crate::columns::{Column, Series};
use crate::market::instruments::filter::{Face, asked, wants};
use crate::market::query::error::MarketError;
use crate::market::query::window::Buckets;
use crate::market::raw::{OptionSummary, Source, SummaryKind};
use crate::protocol::discovery::TENORS;
use crate::protocol::query::Spelling;
use crate::protocol::suggest::hint;
use crate::protocol::{Market, MarketsQuery, ParamError, PointsQuery, SeriesId, Shape, Timestamp, TypeSpec};

/// The category of every option summary (section 2.3).
const CATEGORY: &str = "OPTION";

/// The series of a query of `kind`: one or none.
///
/// # Errors
/// [`MarketError::Invalid`] when the query breaks the rules of the room's documentation, [`MarketError::Internal`] when
/// the data cannot be read.
pub(in crate::market) fn option_summaries(
    source: &dyn Source,
    query: &PointsQuery,
    kind: SummaryKind,
    buckets: &Buckets,
) -> Result<Vec<Series>, MarketError> {
    let known = source.option_summaries();
    let (exchange, wanted) = check(query, kind.data_type().spec(), known)?;
    let fits = |row: &OptionSummary| {
        row.kind == kind && row.exchange == exchange && (&*row.coin, &*row.raw_symbol, &*row.tenor) == wanted
    };
    let Some(summary) = known.iter().position(fits) else { return Ok(Vec::new()) };
    let (mut timestamps, mut values) = (Vec::new(), Vec::new());
    for start in buckets.starts() {
        // The reading of the bucket's last minute, or the last up to now.
        let last = (start + buckets.interval.seconds - 60).min(buckets.now.div_euclid(60 * SECOND) * 60);
        if let Some(value) = source.option_summary(summary, start, last)? {
            timestamps.push(start * SECOND);
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
    let columns = vec![(kind.column().into(), Column::Float(values))];
    Ok(vec![Series { id: id.into(), shape: Shape::Table, timestamps, columns }])
}

/// Refuses a query of `kind` that lacks a part, or whose parts contradict each other.
pub(in crate::market) fn check_option_summary(
    source: &dyn Source,
    query: &PointsQuery,
    kind: SummaryKind,
) -> Result<(), ParamError> {
    check(query, kind.data_type().spec(), source.option_summaries()).map(drop)
}

/// The exchange, and coin, symbol and tenor of a query that has all of them and no contradiction.
fn check<'a>(
    query: &'a PointsQuery,
    spec: &TypeSpec,
    known: &[OptionSummary],
) -> Result<(&'a str, (&'a str, &'a str, &'a str)), ParamError> {
    let of_kind = || known.iter().filter(|row| row.kind.data_type() == spec.data_type);
    let example = of_kind().next().map_or("BTC_25", |row| &*row.raw_symbol);
    query.validate(spec, Spelling::Wire).map_err(|rule| match rule.name.as_str() {
        "rawSymbol" => ParamError::new("rawSymbol", format!("{}, such as {example}", rule.problem)),
        "tenor" => ParamError::new("tenor", format!("{}, one of {}", rule.problem, TENORS.join(", "))),
        _ => rule,
    })?;
    let given = |part: &'a Option<String>| part.as_deref().unwrap_or_default(); // each is given, by the rules
    let (exchange, tenor) = (query.exchanges[0].as_str(), given(&query.tenor));
    let (coin, symbol) = (given(&query.coin), given(&query.raw_symbol));
    let mut tenors = distinct(known.iter().map(|row| &*row.tenor));
    if tenors.is_empty() {
        tenors.extend(TENORS);
    }
    if !tenors.contains(&tenor) {
        let near = hint(tenor, tenors.iter().copied());
        return Err(ParamError::new("tenor", format!("{tenor:?} is not one of {}{near}", tenors.join(", "))));
    }
    let other = known.iter().find(|row| row.raw_symbol == symbol && row.kind.data_type() != spec.data_type);
    if let Some(other) = other.filter(|_| !of_kind().any(|row| row.raw_symbol == symbol)) {
        let belongs = other.kind.data_type().spec().name;
        let right = of_kind().find(|row| row.coin == other.coin);
        let instead = right.map_or_else(String::new, |row| format!("; {} takes {}", spec.name, row.raw_symbol));
        return Err(ParamError::new("rawSymbol", format!("{symbol} is a symbol of {belongs}{instead}")));
    }
    Ok((exchange, (coin, symbol, tenor)))
}

/// The option summaries that fit a query of `/v1/markets`: one entry for each tenor. One that begins after `now` (Unix
/// nanoseconds) is not told.
pub(in crate::market) fn option_entries(source: &dyn Source, query: &MarketsQuery, now: i64) -> Vec<Market> {
    let told = source.option_summaries().iter().filter(|row| row.available_since * SECOND <= now);
    let entry = |row: &OptionSummary| {
        let full_name = format!("{} {} {}", row.exchange, row.raw_symbol, row.tenor);
        let texts = [&row.raw_symbol, &row.coin, &row.coin_name, &full_name].map(|text| text.to_lowercase());
        let face = Face { exchange: &row.exchange, coin: &row.coin, category: CATEGORY, texts: &texts };
        let wanted = wants(query, &face) && asked(query, |data_type| data_type == row.kind.data_type());
        wanted.then(|| Market {
            exchange: row.exchange.clone(),
            raw_symbol: row.raw_symbol.clone(),
            normalized_symbol: row.coin.clone(),
            coin: row.coin.clone(),
            category: CATEGORY.to_owned(),
            tenor: row.tenor.clone(),
            coin_name: row.coin_name.clone(),
            full_name,
            available_since: Some(Timestamp { s: row.available_since, ns: 0 }),
            ..Market::default()
        })
    };
    told.filter_map(entry).collect()
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
