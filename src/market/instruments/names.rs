//! Checks of the exchange, symbol and coin that a query names (supplement 6).
//!
//! An exchange that neither the source nor the protocol's table knows is always refused. **Strict symbols** also refuse an
//! exchange of the table without data in the source, and a symbol, coin or token that the exchange never had. Otherwise the
//! answer is empty, as it often is from the live service: a store has only the markets that its owner downloaded, so a
//! missing name may be right. A known name without data of the type, or without data in the window, is no error.

use crate::market::query::error::MarketError;
use crate::market::raw::{Instrument, OptionFeed, PREDICTION_VENUE, Source, SourceError, SupplyFeed};
use crate::protocol::exchange::{EXCHANGES, near_miss, venue};
use crate::protocol::suggest::{did_you_mean, hint};
use crate::protocol::{DataType, ParamError, PointsQuery, Selection, TypeSpec};

/// Something that a query may name: a market, an option summary or a token.
#[derive(Clone, Copy)]
struct NamedEntry<'a> {
    exchange: &'a str,
    symbol: &'a str,
    coin: &'a str,
    /// The market, if the entry is one. Options and tokens have no normalized symbol.
    instrument: Option<&'a Instrument>,
    /// Name of the token; empty for other entries.
    token: &'a str,
}

/// Entries that a query of a type may name. Tokens have no exchange and are entries of their own type only.
fn entries(source: &dyn Source, data_type: DataType) -> Result<Vec<NamedEntry<'_>>, SourceError> {
    let (options, supply) = (source.of::<dyn OptionFeed>()?, source.of::<dyn SupplyFeed>()?);
    let of_tokens = data_type.spec().selection == Selection::Token;
    let markets = source.instruments().iter().filter(move |_| !of_tokens).map(|row| NamedEntry {
        exchange: &row.exchange,
        symbol: &row.raw_symbol,
        coin: &row.coin,
        instrument: Some(row),
        token: "",
    });
    let summaries = options.option_summaries().iter().filter(move |_| !of_tokens).map(|row| NamedEntry {
        exchange: &row.exchange,
        symbol: &row.raw_symbol,
        coin: &row.coin,
        instrument: None,
        token: "",
    });
    let tokens = supply.tokens().iter().filter(move |_| of_tokens).map(|row| NamedEntry {
        exchange: "",
        symbol: "",
        coin: &row.coin,
        instrument: None,
        token: &row.name,
    });
    Ok(markets.chain(summaries).chain(tokens).collect())
}

/// Checks the names of a query of `/v1/points`.
///
/// # Errors
/// [`MarketError::UnknownExchange`] and [`MarketError::UnknownSymbol`] with the parameter and the nearest known name.
pub(in crate::market) fn check(
    source: &dyn Source,
    query: &PointsQuery,
    spec: &TypeSpec,
    strict: bool,
) -> Result<(), MarketError> {
    for exchange in &query.exchanges {
        check_exchange(source, exchange, strict)?;
    }
    if strict {
        let entries = entries(source, spec.data_type)?;
        check_symbol(&entries, query, spec).map_err(MarketError::UnknownSymbol)?;
    }
    Ok(())
}

/// Checks the exchange and the symbol of a channel of the live stream.
///
/// # Errors
/// As [`check`].
pub(in crate::market) fn check_market(
    source: &dyn Source,
    exchange: &str,
    symbol: &str,
    strict: bool,
) -> Result<(), MarketError> {
    check_exchange(source, exchange, strict)?;
    let on = || source.instruments().iter().filter(|row| row.exchange == exchange);
    if strict && !on().any(|row| row.raw_symbol == symbol) {
        let near = hint(symbol, on().map(|row| row.raw_symbol.as_str()));
        return Err(MarketError::UnknownSymbol(no_symbol("symbol", symbol, &[exchange.to_owned()], near)));
    }
    Ok(())
}

fn check_exchange(source: &dyn Source, name: &str, strict: bool) -> Result<(), MarketError> {
    let markets = source.instruments().iter().map(|row| row.exchange.as_str());
    let summaries = source.of::<dyn OptionFeed>()?.option_summaries();
    let own = || markets.clone().chain(summaries.iter().map(|row| row.exchange.as_str()));
    let published = venue(name).is_some();
    if own().any(|known| known == name) || (published && !strict) {
        return Ok(());
    }
    let mut known: Vec<&str> = own().collect();
    known.sort_unstable();
    known.dedup();
    let problem = if published {
        format!("there are no data of {name} here; there are of {}", known.join(", "))
    } else {
        let table = EXCHANGES.iter().map(|row| row.name).filter(|_| !strict);
        let near = near_miss(name).filter(|near| !strict || known.contains(near));
        let near = near.map_or_else(|| hint(name, known.iter().copied().chain(table)), did_you_mean);
        let remedy = if near.is_empty() { format!("; there are data of {}", known.join(", ")) } else { near };
        format!("{name:?} is no known exchange{remedy}")
    };
    Err(MarketError::UnknownExchange(ParamError::new("exchange", problem)))
}

/// Refuses a symbol, coin or token that the exchanges of the query never had.
fn check_symbol(entries: &[NamedEntry<'_>], query: &PointsQuery, spec: &TypeSpec) -> Result<(), ParamError> {
    let entries = || entries.iter().copied();
    let on =
        |entry: &NamedEntry<'_>| query.exchanges.is_empty() || query.exchanges.iter().any(|one| one == entry.exchange);
    let symbol = |entry: &NamedEntry<'_>| query.raw_symbol.as_ref().is_none_or(|symbol| symbol == entry.symbol);
    let normalized = |entry: &NamedEntry<'_>| {
        let wanted = query.normalized_symbol.as_ref();
        wanted.is_none_or(|wanted| entry.instrument.is_some_and(|instrument| instrument.normalized_symbol() == *wanted))
    };
    let coin = |entry: &NamedEntry<'_>| query.coin.as_ref().is_none_or(|coin| coin == entry.coin);
    let token_name = query.token_name.as_ref().filter(|_| spec.selection == Selection::Token); // to other types it is nothing
    let token =
        |entry: &NamedEntry<'_>| token_name.is_none_or(|name| name.to_lowercase() == entry.token.to_lowercase());
    if entries().any(|entry| on(&entry) && symbol(&entry) && normalized(&entry) && coin(&entry) && token(&entry)) {
        return Ok(());
    }
    let here = || entries().filter(on);
    if let Some(wanted) = query.raw_symbol.as_ref().filter(|_| !here().any(|entry| symbol(&entry))) {
        let near = hint(wanted, here().map(|entry| entry.symbol));
        let elsewhere = || entries().find(symbol).map(|entry| format!("; it is one of {}", entry.exchange));
        let remedy = if near.is_empty() { elsewhere().unwrap_or_default() } else { near };
        return Err(no_symbol("rawSymbol", wanted, &query.exchanges, remedy));
    }
    if let Some(wanted) = query.normalized_symbol.as_ref().filter(|_| !here().any(|entry| normalized(&entry))) {
        let known: Vec<String> =
            here().filter_map(|entry| entry.instrument.map(Instrument::normalized_symbol)).collect();
        let near = hint(wanted, known.iter().map(String::as_str));
        return Err(no_symbol("normalizedSymbol", wanted, &query.exchanges, near));
    }
    if let Some(wanted) = query.coin.as_ref().filter(|_| !here().any(|entry| coin(&entry))) {
        let near = hint(wanted, here().map(|entry| entry.coin));
        let problem = format!("{wanted:?} is no coin{}{near}", of(&query.exchanges));
        return Err(ParamError::new("coin", problem));
    }
    if let (Some(wanted), Some(coin)) = (token_name, &query.coin) {
        let names = || here().filter(|entry| entry.coin == *coin).map(|entry| entry.token);
        if names().all(|name| name.to_lowercase() != wanted.to_lowercase()) {
            let names: Vec<_> = names().collect();
            let problem = format!("{wanted:?} is no token of {coin}, which has {}", names.join(", "));
            return Err(ParamError::new("tokenName", problem));
        }
    }
    // Each is there, and nothing is of all of them.
    let entry = here().find(symbol).filter(|_| query.raw_symbol.is_some());
    let (name, problem) = match (entry, &query.coin) {
        (Some(entry), Some(coin)) => ("coin", format!("{} is of the coin {}, not of {coin}", entry.symbol, entry.coin)),
        _ => ("normalizedSymbol", "no market is of all that was given; give one of symbol and coin".to_owned()),
    };
    Err(ParamError::new(name, problem))
}

fn no_symbol(parameter: &str, wanted: &str, exchanges: &[String], remedy: String) -> ParamError {
    let venue = exchanges.iter().any(|exchange| exchange == PREDICTION_VENUE);
    let slug = if venue && remedy.is_empty() {
        format!("; markets of {PREDICTION_VENUE} go by conditionId (0x and 64 hexadecimal digits), not by slug")
    } else {
        remedy
    };
    ParamError::new(parameter, format!("{wanted:?} is no symbol{}{slug}", of(exchanges)))
}

fn of(exchanges: &[String]) -> String {
    if exchanges.is_empty() { String::new() } else { format!(" of {}", exchanges.join(", ")) }
}
