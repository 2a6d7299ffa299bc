//! Checks on a query of `/v1/points` before it is charged (service.md 5, 7 and 8; supplement 1, 4 and 6).

use super::config::Allowance;
use crate::clock::{SECOND, SECONDS_PER_DAY, UnixSecond, utc};
use crate::protocol::interval::INTERVALS;
use crate::protocol::query::{POINTS_PARAMETERS, refuse_unknown};
use crate::protocol::suggest::{did_you_mean, hint};
use crate::protocol::tier::MULTI_EXCHANGE_TIER;
use crate::protocol::{DataType, ErrorBody, Interval, ParamError, PointsQuery, TypeSpec, Weight};
use crate::weight::{self, Demand};

/// Largest Unix second, of either sign, that nanoseconds in an `i64` can hold: the years 1677 to 2262.
const MAX_SECOND: i64 = i64::MAX / SECOND;

/// A query whose parameters, type, interval and window were parsed.
#[derive(Debug)]
pub(super) struct Readable {
    pub(super) query: PointsQuery,
    spec: &'static TypeSpec,
    interval: &'static Interval,
}

impl From<ParamError> for ErrorBody {
    fn from(error: ParamError) -> Self {
        Self::invalid_params(error.to_string())
    }
}

/// Parses a query string; a parse error is 400. Whether the market has the data is checked by the market itself.
pub(super) fn readable(query: &str) -> Result<Readable, ErrorBody> {
    let query = PointsQuery::parse(query)?;
    refuse_unknown(&query.extra, &POINTS_PARAMETERS)?;
    let spec = data_type(&query.data_type)?;
    let interval = interval(query.interval.as_deref())?;
    window(query.from, query.period.unwrap_or(0))?;
    Ok(Readable { query, spec, interval })
}

/// The weight of a query, or 403 if the key's tier does not allow it. Checked in this order: data type, several
/// exchanges, history depth, maximum points of the type.
///
/// `now` is in Unix seconds. Repeated exchanges count once; the points of the window are ⌈period / interval⌉. Several
/// exchanges need the tier's permission whether or not they are summed: section 4.1 calls the repetition itself
/// aggregation.
pub(super) fn charged(readable: &Readable, allowance: Allowance, now: UnixSecond) -> Result<Weight, ErrorBody> {
    let Readable { query, spec, interval } = readable;
    let period = query.period.unwrap_or(0);
    if spec.lowest_tier > allowance.tier() {
        return Err(needs_tier(spec.name, spec.lowest_tier.spec().name, allowance));
    }
    let exchanges = distinct(&query.exchanges);
    if exchanges > 1 && allowance.tier() < MULTI_EXCHANGE_TIER {
        let feature = format!("aggregation over several exchanges ({exchanges} were given)");
        return Err(needs_tier(&feature, MULTI_EXCHANGE_TIER.spec().name, allowance));
    }
    // A coin without exchanges means all of its exchanges.
    let all_exchanges = exchanges == 0 && query.coin.is_some() && spec.by_coin_alone;
    if all_exchanges && allowance.tier() < MULTI_EXCHANGE_TIER {
        let feature = "a coin over all exchanges (no exchange was given)";
        return Err(needs_tier(feature, MULTI_EXCHANGE_TIER.spec().name, allowance));
    }
    history(query.from, period, allowance, now)?;

    let demand = Demand { interval: interval.seconds, period, exchanges, max_depth: query.max_depth };
    let points = weight::points(&demand);
    if points > spec.max_points {
        return Err(ErrorBody::forbidden(format!(
            "the window holds {points} points of {}, more than the {} that one request of {} may have; ask for a \
             shorter window or a longer interval",
            interval.name, spec.max_points, spec.name,
        )));
    }
    weight::of(spec, &demand).map_err(|error| ErrorBody::invalid_params(error.to_string()))
}

/// 403 for a feature that the key's tier does not include.
pub(super) fn needs_tier(feature: &str, tier: &str, allowance: Allowance) -> ErrorBody {
    ErrorBody::forbidden(format!("{feature} needs the plan {tier}; this key's plan is {}", allowance.name()))
}

fn data_type(name: &str) -> Result<&'static TypeSpec, ErrorBody> {
    match DataType::find(name) {
        Some(known) => Ok(known.spec()),
        None => {
            let hint = DataType::suggest(name).map_or_else(String::new, did_you_mean);
            Err(ErrorBody::invalid_params(format!("parameter type: {name:?} is no data type of this service{hint}")))
        }
    }
}

/// The service accepts wire names only; the error for a short name (`1h`) suggests the wire name.
fn interval(name: Option<&str>) -> Result<&'static Interval, ErrorBody> {
    let names = || INTERVALS.iter().map(|row| row.name);
    let problem = match name {
        None => "missing".to_owned(),
        Some(name) => match Interval::find(name) {
            Some(known) if known.name == name => return Ok(known),
            Some(known) => format!("{name:?} is not known{}", did_you_mean(known.name)),
            None => format!("{name:?} is not known{}", hint(name, names())),
        },
    };
    let known = names().collect::<Vec<_>>().join(", ");
    Err(ErrorBody::new(400, "INVALID_TIMEFRAME", format!("parameter interval: {problem} (one of {known})")))
}

/// Every second of a window must fit into nanoseconds as `i64`.
fn window(from: Option<i64>, period: i64) -> Result<(), ParamError> {
    let beyond = |name: &str| {
        let problem = "the window reaches beyond the years 1677 to 2262; give seconds, not milliseconds or finer";
        Err(ParamError::new(name, problem))
    };
    if period < 0 {
        return Err(ParamError::new("period", format!("{period} is negative; the window must end after it starts")));
    }
    if period > MAX_SECOND {
        return beyond("period");
    }
    match from {
        Some(from) if !(-MAX_SECOND..=MAX_SECOND).contains(&from) || from + period > MAX_SECOND => beyond("from"),
        _ => Ok(()),
    }
}

fn history(from: Option<i64>, period: i64, allowance: Allowance, now: UnixSecond) -> Result<(), ErrorBody> {
    let Some(days) = allowance.history_days() else { return Ok(()) };
    let earliest = now.plus(-i64::from(days) * SECONDS_PER_DAY);
    let start = from.map_or(now.plus(-period), UnixSecond);
    if start >= earliest {
        return Ok(());
    }
    Err(ErrorBody::forbidden(format!(
        "the window starts at {}, further back than the history depth of {days} days of the plan {}; start at {} \
         (from={}) or later",
        utc(start),
        allowance.name(),
        utc(earliest),
        earliest.0,
    )))
}

fn distinct(exchanges: &[String]) -> u32 {
    let firsts = exchanges.iter().enumerate().filter(|(index, name)| !exchanges[..*index].contains(name));
    firsts.count() as u32
}
