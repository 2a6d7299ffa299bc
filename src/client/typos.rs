//! Finds typos that the service would answer with nothing, before anything is sent.

use super::error::ClientError;
use crate::protocol::PointsQuery;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::exchange::{near_miss, venue};
use crate::protocol::suggest::{did_you_mean, hint};

/// An unknown type passes if it looks like a wire name and not like a typo.
pub(super) fn check_open_type(name: &str) -> Result<(), ClientError> {
    let known = || DATA_TYPES.iter().map(|row| row.name);
    let wire = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let near = known().find(|known| strsim::osa_distance(known, name) <= 2);
    if name.chars().all(wire) && near.is_none() {
        return Ok(());
    }
    let near = near.map_or_else(|| hint(name, known()), did_you_mean);
    let all = known().collect::<Vec<_>>().join(", ");
    Err(ClientError::invalid(format!("type {name:?} is no data type (known are {all}){near}")))
}

/// Refuses names that can only be typos of a known one: the service would answer with nothing. Unknown names pass.
pub(super) fn check_exchanges(names: &[String]) -> Result<(), ClientError> {
    match names.iter().find_map(|name| near_miss(name).map(|meant| (name, meant))) {
        None => Ok(()),
        Some((name, meant)) => {
            Err(ClientError::invalid(format!("exchange {name:?} is not known; did you mean {meant}?")))
        }
    }
}

/// Refuses swapped exchange and symbol: the service would answer with nothing.
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
