//! A user's request, checked against the table before anything is sent, and its window at a moment (service.md 4.1,
//! supplement 4).

use super::argument_values::{check_tenor, session};
use super::error::{ClientError, ErrorKind};
use super::tiers::own_tier;
use super::typos::{check_exchanges, check_open_type, check_places};
use crate::clock::{SECONDS_PER_DAY, UnixNanos, UnixSecond, Window, utc};
use crate::protocol::interval::INTERVALS;
use crate::protocol::query::{RequestLists, Spelling};
use crate::protocol::suggest::did_you_mean;
use crate::protocol::tier::{MULTI_EXCHANGE_TIER, TIERS};
use crate::protocol::{
    BucketGrid, DataType, Interval, ParamError, Points, PointsQuery, Tier, TierSpec, TypeSpec, Weight,
};
use crate::weight::Demand;

/// A query with its window and bound in the units that users write.
#[derive(Debug, Clone, Default)]
pub struct PointsArguments {
    /// The query without its window. The interval may be a short name (`1h`), and so may the session (`daily`).
    pub query: PointsQuery,
    /// Unix seconds, inclusive.
    pub start: Option<f64>,
    /// Unix seconds, exclusive.
    pub end: Option<f64>,
    /// Seconds.
    pub period: Option<i64>,
    /// Whether to include buckets that are not closed yet.
    pub include_forming: bool,
    /// Most total weight; more is refused before anything is sent.
    pub max_weight: Option<Weight>,
    /// Whether the start may be open, as for an archive, which knows its first row.
    pub open_window: bool,
}

impl PointsArguments {
    /// Sets an argument of the query by the names that users write, such as `group_by` to `sum`.
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] for an unknown argument or value.
    pub fn set(&mut self, argument: &str, value: &str) -> Result<(), ClientError> {
        self.query.set_argument(argument, value).map_err(|error| misread(&error))
    }

    /// As [`set`](Self::set); what a call may give several of is added to `lists`.
    ///
    /// # Errors
    /// As there.
    pub fn add(&mut self, lists: &mut RequestLists, argument: &str, value: &str) -> Result<(), ClientError> {
        if lists.add_argument(argument, value).map_err(|error| misread(&error))? {
            Ok(())
        } else {
            self.set(argument, value)
        }
    }
}

fn misread(error: &ParamError) -> ClientError {
    let name = Spelling::caller().argument(&error.name);
    ClientError::invalid(format!("{} {}", name.trim_end_matches('='), error.problem))
}

/// A checked request for points.
#[derive(Debug, Clone)]
pub struct PointsRequest {
    /// The query without its window.
    pub(super) query: PointsQuery,
    pub(super) spec: Option<&'static TypeSpec>,
    pub(super) interval: &'static Interval,
    /// Time range of a row: a bucket of the interval, or a session.
    grid: BucketGrid,
    start: Option<f64>,
    end: Option<f64>,
    period: Option<i64>,
    include_forming: bool,
    pub(super) max_weight: Option<Weight>,
}

/// Unix times beyond this look like milliseconds (the year 5138).
const LATEST_SECONDS: f64 = 1e11;
/// Seconds that may pass until the service checks the window: a start at the very end of the history would be too old
/// by then.
const ON_THE_WAY: i64 = 10;

impl PointsRequest {
    /// Checks the arguments. Unknown types, exchanges and symbols pass.
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] with the argument, what is wrong and what would be valid.
    pub fn new(arguments: PointsArguments) -> Result<Self, ClientError> {
        let asked = arguments.query;
        let spec = DataType::find(&asked.data_type).map(DataType::spec);
        if asked.data_type.is_empty() {
            return Err(ClientError::invalid("type is empty; name a data type such as TRADE_SIDE_AGNOSTIC_AGG"));
        }
        if spec.is_none() {
            check_open_type(&asked.data_type)?;
        }
        let interval = interval(&asked)?;
        let mut extra = asked.extra;
        let normalized = extra.iter().position(|(name, _)| name == "normalizedSymbol");
        let query = PointsQuery {
            exchanges: distinct(asked.exchanges),
            normalized_symbol: normalized.map(|place| extra.remove(place).1).or(asked.normalized_symbol),
            interval: Some(interval.name.to_owned()),
            from: None,
            period: None,
            // The nested form of a book shows where the bids end.
            flatten: spec.is_some_and(|spec| spec.flat),
            session: asked.session.as_deref().map(session).transpose()?,
            extra,
            ..asked
        };
        if let Some(empty) =
            query.exchanges.iter().chain(&query.coin).chain(&query.raw_symbol).find(|name| name.is_empty())
        {
            return Err(ClientError::invalid(format!(
                "an exchange, symbol or coin is {empty:?}; name it or leave it out"
            )));
        }
        check_places(&query)?;
        check_exchanges(&query.exchanges)?;
        if let Some(spec) = spec {
            let broken = |rule: ParamError| ClientError::invalid(rule.problem);
            query.validate_meaning(spec, Spelling::caller()).map_err(broken)?;
            query.validate(spec, Spelling::caller()).map_err(broken)?;
        }
        check_tenor(&query)?;
        let (start, end, period) = (arguments.start, arguments.end, arguments.period);
        if !arguments.open_window || start.is_some() || period.is_some() {
            check_window(start, end, period)?;
        } else if let Some(end) = end {
            check_window(Some(end), Some(end), None)?; // only checks that it is a time
        }
        let (include_forming, max_weight) = (arguments.include_forming, arguments.max_weight);
        // For an unknown session only the interval is known.
        let grid = BucketGrid::of(query.session.as_deref(), interval).unwrap_or(BucketGrid::Every(interval));
        Ok(Self { query, spec, interval, grid, start, end, period, include_forming, max_weight })
    }

    /// The half-open window of bucket starts at `now` for a tier. A bucket counts if its start is in `[start, end)`;
    /// buckets not closed at `now` are left out unless forming ones are included. The buckets of a market profile are
    /// its sessions.
    ///
    /// If `period` fits into the tier's history, the last `period` seconds start at the first complete bucket of the
    /// history, so that at most a part of one bucket is lost.
    #[must_use]
    pub fn window(&self, now: UnixNanos, tier: Option<Tier>) -> Window {
        let grid = self.grid;
        let forming = grid.floor(now.second());
        let newest = if self.include_forming { grid.end(forming) } else { forming };
        let period = self.period.map(|period| period as f64);
        let (start, end) = match (self.start, self.end, period) {
            (Some(start), Some(end), _) => (start, end),
            (Some(start), None, Some(period)) => (start, start + period),
            (None, Some(end), Some(period)) => (end - period, end),
            // "The last hour" is the last closed hour; a forming bucket is added to it.
            (None, None, Some(period)) => (forming.0 as f64 - period, newest.0 as f64),
            (Some(start), None, None) => (start, newest.0 as f64),
            (None, _, None) => (0.0, 0.0), // refused by `check_window`, except for archives
        };
        let mut from = grid.ceil(UnixSecond(start.ceil() as i64));
        if let Some(first) = self.first_in_history(now, tier) {
            from = from.max(first);
        }
        Window::between(from, grid.ceil(UnixSecond(end.ceil() as i64)).min(newest).max(from))
    }

    /// The first bucket start in the tier's history at `now`, if the request is for the last `period` seconds and these
    /// fit into it; `None` for a fixed window.
    #[must_use]
    pub fn first_in_history(&self, now: UnixNanos, tier: Option<Tier>) -> Option<UnixSecond> {
        let depth = depth(tier.filter(|_| self.start.is_none() && self.end.is_none())?);
        let held = self.period.is_some_and(|period| period <= depth);
        held.then(|| self.grid.ceil(now.second().plus(ON_THE_WAY - depth)))
    }

    /// Whether values are in USD, by the argument or by a parameter in `extra`.
    #[must_use]
    pub fn usd(&self) -> bool {
        let normalized = |(name, value): &(String, String)| name == "transform.normalize.quote" && value == "USD";
        self.query.usd || self.query.extra.iter().any(normalized)
    }

    /// Points that the weight counts for one row: the buckets of a session.
    pub(super) fn points_a_row(&self) -> Points {
        let start = self.grid.floor(UnixSecond(0));
        let seconds = self.grid.end(start).since(start);
        Points((seconds / self.interval.seconds).max(1) as u64)
    }

    /// Which rows of an answer count at `now`: a row that closes later is still forming, also where the service's grid
    /// (weeks) differs from ours.
    pub(super) fn counted(&self, window: Window, now: UnixNanos) -> Window {
        match self.grid {
            BucketGrid::Every(interval) if !self.include_forming => {
                let last = now.second().0.saturating_sub(interval.seconds);
                Window { to: window.to.min(last.saturating_add(1)).max(window.from), ..window }
            }
            _ => window,
        }
    }

    /// Where a request may begin, if not at every bucket: at the start of a session (supplement 4).
    pub(super) fn sessions(&self) -> Option<BucketGrid> {
        (self.grid != BucketGrid::Every(self.interval)).then_some(self.grid)
    }

    /// The wire name of the requested session (TPO); `None` if it follows the interval.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.query.session.as_deref()
    }

    /// The window of bucket starts with open ends taken from `hull` instead of a clock.
    pub(super) fn window_within(&self, hull: Window) -> Window {
        let at = |second: f64| self.grid.ceil(UnixSecond(second.ceil() as i64));
        let period = self.period.map(|period| period as f64);
        let from = match (self.start, self.end, period) {
            (Some(start), _, _) => at(start),
            (None, Some(end), Some(period)) => at(end - period),
            (None, None, Some(period)) => at(hull.to as f64 - period),
            (None, _, None) => hull.start(),
        };
        let to = match (self.start, self.end, period) {
            (_, Some(end), _) => at(end),
            (Some(start), None, Some(period)) => at(start + period),
            (_, None, _) => hull.end(),
        };
        Window::between(from, to.max(from))
    }

    /// The window if both ends are given.
    #[must_use]
    pub fn bounded(&self) -> Option<Window> {
        let ends = [self.start.is_some(), self.end.is_some(), self.period.is_some()];
        let nothing = Window { from: 0, to: 0 };
        (ends.into_iter().filter(|end| *end).count() == 2).then(|| self.window_within(nothing))
    }

    /// Checks the walls of a tier (sections 5 and 8.1) before anything is sent.
    pub(super) fn check_walls(&self, tier: Tier, window: Window, now: UnixNanos) -> Result<(), ClientError> {
        let spec = tier.spec();
        let refuse = |what: String| Err(ClientError::new(ErrorKind::Tier, format!("{what}{}", own_tier(spec))));
        if let Some(wanted) = self.spec.filter(|wanted| wanted.lowest_tier > tier) {
            return refuse(format!("{} needs the tier {}", wanted.name, wanted.lowest_tier.spec().name));
        }
        let exchanges = self.query.exchanges.len();
        if exchanges > 1 && tier < MULTI_EXCHANGE_TIER {
            return refuse(format!("{exchanges} exchanges at once need the tier {}", MULTI_EXCHANGE_TIER.spec().name));
        }
        // A request takes a moment, and clocks differ a little: the last minute is left to the service.
        let earliest = now.second().plus(-depth(tier) - 60);
        if window.start() < earliest && !window.is_empty() {
            let (days, at) = (spec.history_days, utc(earliest.plus(60)));
            let start = utc(window.start());
            let what =
                format!("the window starts at {start}, history goes back {days} days, to {at}{}", own_tier(spec));
            let enough = |tier: &&TierSpec| {
                // A period that is all of a tier's history begins where that does.
                let first = self.first_in_history(now, Some(tier.tier)).unwrap_or(window.start());
                window.start().max(first) >= now.second().plus(-depth(tier.tier))
            };
            let way = if let Some(tier) = TIERS.iter().find(enough) {
                format!("start later, or use the tier {}, which has {} days", tier.name, tier.history_days)
            } else {
                "start later; what no tier has is only in an archive that was synced while it was there".to_owned()
            };
            return Err(ClientError::new(ErrorKind::Tier, format!("{what}; {way}")));
        }
        Ok(())
    }

    /// Its exchanges, symbol and coin.
    pub fn selection(&self) -> (&[String], Option<&str>, Option<&str>) {
        let query = &self.query;
        (&query.exchanges, query.raw_symbol.as_deref(), query.coin.as_deref())
    }

    /// The inputs of the weight formula.
    pub(super) fn demand(&self) -> Demand {
        Demand {
            interval: self.interval.seconds,
            period: 0,
            exchanges: self.query.exchanges.len() as u32,
            max_depth: self.query.max_depth,
        }
    }
}

/// Seconds of history of a tier (section 8.1).
fn depth(tier: Tier) -> i64 {
    i64::from(tier.spec().history_days) * SECONDS_PER_DAY
}

/// Each exchange once, in the order given: repeated names must not be charged twice.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}

fn interval(asked: &PointsQuery) -> Result<&'static Interval, ClientError> {
    let valid = || INTERVALS.map(|row| row.short).join(", ");
    // A call by position without an exchange or a symbol, or in another order.
    let misplaced = || {
        let exchanges = asked.exchanges.iter().map(|name| ("exchange", name));
        let mut places = exchanges.chain(asked.raw_symbol.iter().map(|name| ("symbol", name)));
        places.find(|(_, name)| Interval::find(name).is_some()).map(|(place, name)| {
            let by_name = Spelling::caller().given("interval", format_args!("{name:?}"));
            format!("; {name:?} is given as {place}: did you mean {by_name}?")
        })
    };
    let Some(name) = asked.interval.as_deref() else {
        let misplaced = misplaced().unwrap_or_default();
        return Err(ClientError::invalid(format!("interval is missing; give one of {}{misplaced}", valid())));
    };
    Interval::find(name).ok_or_else(|| {
        let near = misplaced().or_else(|| Interval::suggest(name).map(did_you_mean)).unwrap_or_default();
        ClientError::invalid(format!(
            "interval {name:?} is not known, so its weight is not; give one of {}{near}",
            valid()
        ))
    })
}

fn check_window(start: Option<f64>, end: Option<f64>, period: Option<i64>) -> Result<(), ClientError> {
    for (name, time) in [("start", start), ("end", end)] {
        if let Some(time) = time.filter(|time| time.is_nan() || time.abs() >= LATEST_SECONDS) {
            let message = format!("{name}={time} is not in Unix seconds; it looks like milliseconds or finer");
            return Err(ClientError::invalid(message));
        }
    }
    match (start, end, period) {
        (None, _, None) => Err(ClientError::invalid(format!(
            "the window has no start; give {}, or {} and a length such as 90d",
            Spelling::caller().argument("start"),
            Spelling::caller().argument("period")
        ))),
        (Some(_), Some(_), Some(_)) => Err(ClientError::invalid("start, end and period are one too many; give two")),
        (_, _, Some(period)) if !(0..LATEST_SECONDS as i64).contains(&period) => {
            Err(ClientError::invalid(format!("period={period} is no length of a window in seconds")))
        }
        (Some(start), Some(end), None) if end < start => {
            let [start, end] = [start, end].map(|time| utc(UnixSecond(time.floor() as i64)));
            Err(ClientError::invalid(format!("the window ends ({end}) before it starts ({start})")))
        }
        _ => Ok(()),
    }
}

mod empty_window;
#[cfg(test)]
mod tests;
