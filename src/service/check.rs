//! What a query of `/v1/points` must pass before it may cost anything (service.md 5, 7 and 8; supplement 1, 4 and 6).

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

/// A query whose parameters, type, interval and window can be read.
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

/// Reads a query string; what cannot be read is 400. Whether the market has what is asked, it says itself.
pub(super) fn readable(query: &str) -> Result<Readable, ErrorBody> {
    let query = PointsQuery::parse(query)?;
    refuse_unknown(&query.extra, &POINTS_PARAMETERS)?;
    let spec = data_type(&query.data_type)?;
    let interval = interval(query.interval.as_deref())?;
    window(query.from, query.period.unwrap_or(0))?;
    Ok(Readable { query, spec, interval })
}

/// The weight of a query that the key may ask; what it may not is 403, in this order: the tier's types, several exchanges,
/// history depth, the type's maximum of points.
///
/// `now` is in Unix seconds. Exchanges are counted once each; the points of the window are ⌈period / interval⌉. Several
/// exchanges are several whether or not they are summed: section 4.1 calls the repetition itself aggregation.
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
    // A coin alone is all of its exchanges.
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

/// A feature that the key's plan does not have.
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

/// The service takes wire names only; a short name (`1h`) is answered with the wire name that was meant.
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

/// A window must be one whose every second can be told in nanoseconds.
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
    let earliest = now.0.saturating_sub(i64::from(days) * SECONDS_PER_DAY);
    let start = from.unwrap_or(now.0.saturating_sub(period));
    if start >= earliest {
        return Ok(());
    }
    Err(ErrorBody::forbidden(format!(
        "the window starts at {}, further back than the history depth of {days} days of the plan {}; start at {} \
         (from={earliest}) or later",
        utc(start),
        allowance.name(),
        utc(earliest),
    )))
}

fn distinct(exchanges: &[String]) -> u32 {
    let firsts = exchanges.iter().enumerate().filter(|(index, name)| !exchanges[..*index].contains(name));
    firsts.count() as u32
}
