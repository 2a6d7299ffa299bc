//! The order of the listing, and one row for each normalized symbol.
//!
//! The default field is USD volume, the default direction descending. Unknown figures come last in both directions. Equal
//! rows are ordered by exchange and symbol; the tenors of a summary keep their order.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::figures::Figures;
use crate::market::instruments::filter::OrderedEntry;
use crate::market::query::error::MarketError;
use crate::protocol::{MarketSort, MarketsQuery, SortDirection};

/// The rows in the order that a query asks for.
pub(in crate::market) fn ordered(
    rows: Vec<OrderedEntry>,
    query: &MarketsQuery,
    figures: &mut Figures<'_>,
) -> Result<Vec<OrderedEntry>, MarketError> {
    let (field, direction) = (query.sort_by.unwrap_or_default(), query.sort.unwrap_or(SortDirection::Descending));
    let mut keyed = Vec::with_capacity(rows.len());
    for row in rows {
        keyed.push((key(field, &row, figures)?, row));
    }
    let names = |row: &OrderedEntry| (row.entry.exchange.clone(), row.entry.raw_symbol.clone());
    keyed.sort_by(|(left, one), (right, other)| {
        let by_figure = match (left, right) {
            (Some(left), Some(right)) if direction == SortDirection::Ascending => left.total_cmp(right),
            (Some(left), Some(right)) => right.total_cmp(left),
            (known, other) => other.is_some().cmp(&known.is_some()),
        };
        by_figure.then_with(|| names(one).cmp(&names(other)))
    });
    Ok(keyed.into_iter().map(|(_, row)| row).collect())
}

fn key(field: MarketSort, row: &OrderedEntry, figures: &mut Figures<'_>) -> Result<Option<f64>, MarketError> {
    Ok(match field {
        MarketSort::Volume24h => row.volume,
        MarketSort::PriceChange24h => row.price_change,
        MarketSort::PctFromAth => figures.distance_to_peak(row)?,
        MarketSort::OiChange24h => figures.interest_change(row)?,
        MarketSort::AtrPercent => figures.range(row)?,
        MarketSort::Marketcap => Some(row.entry.marketcap).filter(|marketcap| *marketcap > 0.0),
        MarketSort::AvailableSince => row.entry.available_since.map(|since| since.s as f64 + since.ns as f64 / 1e9),
    })
}

/// Keeps one row for each normalized symbol: the first one on its highest ranked exchange. Exchanges rank by the USD that
/// all their markets traded in 24 hours, then by name. Rows without a normalized symbol are kept.
pub(in crate::market) fn distinct(
    rows: Vec<OrderedEntry>,
    figures: &mut Figures<'_>,
) -> Result<Vec<OrderedEntry>, MarketError> {
    let mut traded: HashMap<String, f64> = HashMap::new();
    for (market, instrument) in figures.instruments().iter().enumerate() {
        *traded.entry(instrument.exchange.clone()).or_default() += figures.volume(market)?.unwrap_or(0.0);
    }
    let rank = |one: &str, other: &str| -> Ordering {
        let worth = |exchange: &str| traded.get(exchange).copied().unwrap_or(0.0);
        worth(other).total_cmp(&worth(one)).then_with(|| one.cmp(other))
    };
    let mut best: HashMap<&str, usize> = HashMap::new();
    for (place, row) in rows.iter().enumerate() {
        let exchange = |place: usize| rows[place].entry.exchange.as_str();
        let known = best.entry(&row.entry.normalized_symbol).or_insert(place);
        if rank(exchange(place), exchange(*known)).is_lt() {
            *known = place;
        }
    }
    let keep: Vec<bool> = (rows.iter().enumerate())
        .map(|(place, row)| {
            let symbol = row.entry.normalized_symbol.as_str();
            symbol.is_empty() || best.get(symbol) == Some(&place)
        })
        .collect();
    Ok(rows.into_iter().zip(keep).filter_map(|(row, keep)| keep.then_some(row)).collect())
}
