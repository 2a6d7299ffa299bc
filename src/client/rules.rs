//! What a type takes and can, checked against its row of the table (service.md 4.1).

use super::error::ClientError;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::exchange::{near_miss, venue};
use crate::protocol::suggest::hint;
use crate::protocol::{DataType, PointsQuery, Selection, Shape, TypeSpec};

/// A type that the table does not know passes when it looks like a wire name and not like a slip of the hand.
pub(super) fn check_open_type(name: &str) -> Result<(), ClientError> {
    let known = || DATA_TYPES.iter().map(|row| row.name);
    let wire = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let near = known().find(|known| strsim::osa_distance(known, name) <= 2);
    if name.chars().all(wire) && near.is_none() {
        return Ok(());
    }
    let near = near.map_or_else(|| hint(name, known()), |word| format!("; did you mean {word}?"));
    let all = known().collect::<Vec<_>>().join(", ");
    Err(ClientError::invalid(format!("type {name:?} is no data type (known are {all}){near}")))
}

/// Refuses what can only be a slip of a known name: the service would answer with nothing. Unknown names pass.
pub(super) fn check_exchanges(names: &[String]) -> Result<(), ClientError> {
    match names.iter().find_map(|name| near_miss(name).map(|meant| (name, meant))) {
        None => Ok(()),
        Some((name, meant)) => {
            Err(ClientError::invalid(format!("exchange {name:?} is not known; did you mean {meant}?")))
        }
    }
}

/// Refuses an exchange that stands in the symbol's place: the two are swapped, and the service would answer with nothing.
pub(super) fn check_places(query: &PointsQuery) -> Result<(), ClientError> {
    let (Some(symbol), [exchange]) = (&query.raw_symbol, query.exchanges.as_slice()) else { return Ok(()) };
    let meant = symbol.to_ascii_uppercase().replace(['-', ' '], "_");
    match venue(&meant).filter(|_| venue(exchange).is_none()) {
        None => Ok(()),
        Some(_) => Err(ClientError::invalid(format!(
            "exchange {exchange:?} and symbol {symbol:?} are swapped; did you mean exchange {meant:?} and symbol \
             {exchange:?}?"
        ))),
    }
}

pub(super) fn check_selection(spec: &TypeSpec, query: &PointsQuery) -> Result<(), ClientError> {
    let (symbol, coin, exchanges) = (query.raw_symbol.is_some(), query.coin.is_some(), query.exchanges.len());
    // Volume profiles go by normalizedSymbol as well (supplement 4).
    let normalized = query.normalized_symbol.is_some() && spec.data_type == DataType::VolumeProfileAgg;
    let wanted = match spec.selection {
        Selection::SymbolOrCoin if symbol && coin => "either symbol or coin, not both",
        Selection::SymbolOrCoin if symbol && exchanges != 1 => {
            "exactly one exchange with a symbol; several go with coin="
        }
        Selection::SymbolOrCoin if normalized && (symbol || coin) => "one of symbol, coin and normalizedSymbol",
        Selection::SymbolOrCoin if normalized && exchanges == 0 => "at least one exchange with normalizedSymbol",
        Selection::SymbolOrCoin if !symbol && !coin && !normalized => {
            "an exchange and a symbol, or exchanges and coin="
        }
        // A market profile goes by coin alone, which is all of its exchanges (section 4.1).
        Selection::SymbolOrCoin if coin && exchanges == 0 && spec.shape != Shape::Tpo => {
            "at least one exchange with coin="
        }
        Selection::CoinOnly if symbol || !coin => "coin= and no symbol",
        Selection::OptionSummary if !(symbol && coin && exchanges == 1 && query.tenor.is_some()) => {
            "an exchange, a summary symbol, coin= and tenor=, all of them"
        }
        Selection::Token if !coin || symbol || exchanges > 0 => "coin= (with token_name=), no exchange and no symbol",
        _ => return Ok(()),
    };
    Err(ClientError::invalid(format!("{} takes {wanted}", spec.name)))
}

pub(super) fn check_capabilities(spec: &TypeSpec, query: &PointsQuery) -> Result<(), ClientError> {
    let refuse = |what: &str| Err(ClientError::invalid(format!("{} {what}", spec.name)));
    if query.gapfill && !spec.gapfill {
        return refuse("has no gapfill; only TRADE_SIDE_AGNOSTIC_AGG and TRADE_AGG have");
    }
    if query.usd && !spec.usd {
        return refuse("cannot be asked in USD; leave usd= out");
    }
    if let Some(group_by) = query.group_by {
        match spec.group_by {
            None => return refuse("is not aggregated over exchanges; leave group_by= out"),
            Some(allowed) if allowed != group_by => return refuse(&format!("aggregates by {} only", allowed.name())),
            Some(_) if query.coin.is_none() && query.normalized_symbol.is_none() => {
                return refuse("aggregates by coin: give coin= instead of a symbol");
            }
            Some(_) => {}
        }
    }
    if spec.needs_block_size && query.block_size.is_none() {
        return refuse("needs block_size=, the price step in USD");
    }
    if query.block_size.is_some_and(|size| !(size.is_finite() && size > 0.0)) {
        return refuse("takes a block_size= above 0");
    }
    if query.max_depth == Some(0) {
        return refuse("takes a max_depth= of 1 or more");
    }
    if query.max_depth.is_some() && spec.shape != Shape::Heatmap {
        return refuse("has no depth; leave max_depth= out");
    }
    check_parts(spec, query)
}

/// Refuses what only other types take: the service may ignore it, and who gave it would take the answer for another.
fn check_parts(spec: &TypeSpec, query: &PointsQuery) -> Result<(), ClientError> {
    let profile = spec.shape == Shape::Tpo;
    let parts = [
        (query.block_size.is_some(), spec.needs_block_size || profile, "block_size=", "the height of its levels"),
        (query.session.is_some(), profile, "session=", "sessions"),
        (query.block_minutes.is_some(), profile, "block_minutes=", "time blocks"),
        (query.tenor.is_some(), spec.selection == Selection::OptionSummary, "tenor=", "tenors"),
        (query.token_name.is_some(), spec.selection == Selection::Token, "token_name=", "token names"),
    ];
    match parts.iter().find(|(given, takes, ..)| *given && !takes) {
        None => Ok(()),
        Some((_, _, name, what)) => {
            Err(ClientError::invalid(format!("{} is not asked by {what}; leave {name} out", spec.name)))
        }
    }
}
