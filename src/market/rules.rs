//! The rules of section 4.1 that a query of `/v1/points` must keep, whatever the data: how a type is selected, and what it
//! can do.

use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::interval::INTERVALS;
use crate::protocol::suggest::hint;
use crate::protocol::{DataType, ParamError, PointsQuery, Selection, TypeSpec};

pub(super) fn unknown_interval(name: &str) -> ParamError {
    let names = INTERVALS.map(|row| row.name);
    let what = if name.is_empty() { "missing".to_owned() } else { format!("{name:?} is not known") };
    ParamError::new("interval", format!("{what}; give one of {}{}", names.join(", "), hint(name, names)))
}

/// The row of a query's type, when the query keeps that row's rules.
pub(super) fn check(query: &PointsQuery) -> Result<&'static TypeSpec, ParamError> {
    let Some(spec) = DataType::find(&query.data_type).map(DataType::spec) else {
        let near = hint(&query.data_type, DATA_TYPES.iter().map(|row| row.name));
        return Err(ParamError::new("type", format!("{:?} is not a data type{near}", query.data_type)));
    };
    let refuse = |name: &str, problem: &str| Err(ParamError::new(name, format!("{} {problem}", spec.name)));
    let (symbol, coin, normalized) =
        (query.raw_symbol.is_some(), query.coin.is_some(), query.normalized_symbol.is_some());
    // What has no coin, as a prediction market, is no part of any coin.
    for (name, value) in [("coin", &query.coin), ("normalizedSymbol", &query.normalized_symbol)] {
        if value.as_ref().is_some_and(String::is_empty) {
            return refuse(name, &format!("needs a {name} that is not empty, or none"));
        }
    }
    if normalized && spec.data_type != DataType::VolumeProfileAgg {
        return refuse("normalizedSymbol", "does not go by normalizedSymbol; only VOLUME_PROFILE_AGG does");
    }
    if spec.selection == Selection::SymbolOrCoin {
        if !symbol && !coin && !normalized {
            return refuse("rawSymbol", "takes exchange and rawSymbol, or exchanges and coin; both are missing");
        }
        // Section 4.1: TPO goes by coin alone as well.
        let by_coin_alone = coin && spec.data_type == DataType::TpoAgg;
        if query.exchanges.is_empty() && !by_coin_alone {
            return refuse("exchange", "takes at least one exchange");
        }
        // The same one twice is one.
        let several = query.exchanges.iter().any(|exchange| *exchange != query.exchanges[0]);
        if symbol && several {
            return refuse("exchange", "takes one exchange with rawSymbol; several go with coin");
        }
    }
    if spec.selection == Selection::CoinOnly {
        if symbol {
            return refuse("rawSymbol", "is of a coin, not of one market; give coin and leave rawSymbol out");
        }
        if !coin {
            return refuse("coin", "takes a coin, and exchanges where not all of them are meant; coin is missing");
        }
    }
    if query.gapfill && !spec.gapfill {
        return refuse("gapfill", "has no gapfill");
    }
    if query.usd && !spec.usd {
        return refuse("transform.normalize.quote", "cannot be normalized to USD");
    }
    match query.group_by {
        Some(asked) if spec.group_by != Some(asked) => {
            return refuse("transform.groupBy.type", &format!("does not aggregate by {}", asked.name()));
        }
        Some(_) if !coin && !normalized => {
            return refuse("transform.groupBy.type", "aggregates by coin; give coin");
        }
        _ => {}
    }
    match query.funding_interval {
        Some(_) if spec.data_type != DataType::FundingRateAgg => {
            return refuse(
                "transform.normalize.fundingInterval",
                "has no rates to normalize; only FUNDING_RATE_AGG has",
            );
        }
        Some(..=0) => {
            return refuse(
                "transform.normalize.fundingInterval",
                "needs milliseconds above 0, such as 28800000 for 8 h",
            );
        }
        _ => {}
    }
    if spec.needs_block_size && query.block_size.is_none() {
        return refuse("blockSize", "needs blockSize, the price step in USD");
    }
    Ok(spec)
}
