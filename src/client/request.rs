//! What a user asks, checked against the table before anything is sent, and the window it means at a moment
//! (service.md 4.1, supplement 4).

use super::error::{ClientError, ErrorKind};
use super::rules::{check_capabilities, check_exchanges, check_open_type, check_selection};
use crate::clock::utc;
use crate::protocol::interval::INTERVALS;
use crate::protocol::suggest::hint;
use crate::protocol::tier::MULTI_EXCHANGE_TIER;
use crate::protocol::{DataType, GroupBy, Interval, PointsQuery, SortDirection, Tier, TypeSpec};
use crate::weight::{Demand, Window};

/// The arguments as users give them.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs)] // design.md and `PointsQuery` say what each is
pub struct PointsArguments {
    pub data_type: String,
    pub exchanges: Vec<String>,
    pub symbol: Option<String>,
    /// Wire name or short name.
    pub interval: Option<String>,
    /// Unix seconds, inclusive.
    pub start: Option<f64>,
    /// Unix seconds, exclusive.
    pub end: Option<f64>,
    /// Seconds.
    pub period: Option<i64>,
    pub coin: Option<String>,
    pub usd: bool,
    /// `sum` or `oi_weighted`.
    pub group_by: Option<String>,
    pub gapfill: bool,
    /// `asc` or `desc`: the order on the wire; results always ascend.
    pub sort: Option<String>,
    pub include_forming: bool,
    pub max_depth: Option<u32>,
    pub block_size: Option<f64>,
    pub tenor: Option<String>,
    pub token_name: Option<String>,
    pub session: Option<String>,
    pub block_minutes: Option<u32>,
    pub extra: Vec<(String, String)>,
    /// Most weight that the request may cost in all; more is refused before anything is sent.
    pub max_weight: Option<u64>,
    /// Whether the window may have no start: an archive, which is asked, knows where it begins.
    pub open_window: bool,
}

/// A checked request for points.
#[derive(Debug, Clone)]
pub struct PointsRequest {
    /// The query without its window.
    pub(super) query: PointsQuery,
    pub(super) spec: Option<&'static TypeSpec>,
    pub(super) interval: &'static Interval,
    start: Option<f64>,
    end: Option<f64>,
    period: Option<i64>,
    include_forming: bool,
    pub(super) max_weight: Option<u64>,
}

/// Unix times beyond this look like milliseconds (the year 5138).
const LATEST_SECONDS: f64 = 1e11;

impl PointsRequest {
    /// Checks the arguments. A type, exchange or symbol that no table knows passes through.
    ///
    /// # Errors
    /// [`super::ErrorKind::InvalidRequest`] that names the argument, what is wrong and what would be right.
    pub fn new(arguments: PointsArguments) -> Result<Self, ClientError> {
        let spec = DataType::find(&arguments.data_type).map(DataType::spec);
        if arguments.data_type.is_empty() {
            return Err(ClientError::invalid("type is empty; name a data type such as TRADE_SIDE_AGNOSTIC_AGG"));
        }
        if spec.is_none() {
            check_open_type(&arguments.data_type)?;
        }
        let interval = interval(arguments.interval.as_deref())?;
        let mut extra = arguments.extra;
        let normalized = extra.iter().position(|(name, _)| name == "normalizedSymbol");
        let query = PointsQuery {
            group_by: arguments.group_by.as_deref().map(group_by).transpose()?,
            sort: arguments.sort.as_deref().map(sort).transpose()?,
            data_type: arguments.data_type,
            exchanges: distinct(arguments.exchanges),
            coin: arguments.coin,
            raw_symbol: arguments.symbol,
            normalized_symbol: normalized.map(|place| extra.remove(place).1),
            interval: Some(interval.name.to_owned()),
            from: None,
            period: None,
            gapfill: arguments.gapfill,
            usd: arguments.usd,
            funding_interval: None,
            // The nested form of a book tells where the bids end; levels without sides are shorter flat.
            flatten: spec.is_some_and(|spec| spec.data_type == DataType::VenueLiquidationAgg),
            block_size: arguments.block_size,
            max_depth: arguments.max_depth,
            block_minutes: arguments.block_minutes,
            session: arguments.session.map(session),
            tenor: arguments.tenor,
            token_name: arguments.token_name,
            extra,
        };
        if let Some(empty) =
            query.exchanges.iter().chain(&query.coin).chain(&query.raw_symbol).find(|name| name.is_empty())
        {
            return Err(ClientError::invalid(format!(
                "an exchange, symbol or coin is {empty:?}; name it or leave it out"
            )));
        }
        check_exchanges(&query.exchanges)?;
        if let Some(spec) = spec {
            check_selection(spec, &query)?;
            check_capabilities(spec, &query)?;
        }
        let (start, end, period) = (arguments.start, arguments.end, arguments.period);
        if !arguments.open_window || start.is_some() || period.is_some() {
            check_window(start, end, period)?;
        } else if let Some(end) = end {
            check_window(Some(end), Some(end), None)?; // only whether it is a time
        }
        let (include_forming, max_weight) = (arguments.include_forming, arguments.max_weight);
        Ok(Self { query, spec, interval, start, end, period, include_forming, max_weight })
    }

    /// The half-open window of bucket starts that the request means at `now` (Unix seconds). A bucket counts when its
    /// start lies in `[start, end)`; buckets that are not closed at `now` are left out unless forming ones are wanted.
    #[must_use]
    pub fn window(&self, now: f64) -> Window {
        let grid = self.interval;
        let forming = grid.floor(now.floor() as i64);
        let newest = if self.include_forming { forming.saturating_add(grid.seconds) } else { forming };
        let period = self.period.map(|period| period as f64);
        let (start, end) = match (self.start, self.end, period) {
            (Some(start), Some(end), _) => (start, end),
            (Some(start), None, Some(period)) => (start, start + period),
            (None, Some(end), Some(period)) => (end - period, end),
            // "The last hour" is the last hour that is closed; a forming bucket comes on top of it.
            (None, None, Some(period)) => (forming as f64 - period, newest as f64),
            (Some(start), None, None) => (start, newest as f64),
            (None, _, None) => (0.0, 0.0), // refused by `check_window`, but for archives
        };
        let from = grid.ceil(start.ceil() as i64);
        Window { from, to: grid.ceil(end.ceil() as i64).min(newest).max(from) }
    }

    /// Whether the values are asked in USD, by the argument or by the parameter passed through.
    #[must_use]
    pub fn usd(&self) -> bool {
        let normalized = |(name, value): &(String, String)| name == "transform.normalize.quote" && value == "USD";
        self.query.usd || self.query.extra.iter().any(normalized)
    }

    /// The session asked for (TPO), by its wire name; `None` follows the interval.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.query.session.as_deref()
    }

    /// The window of bucket starts that the request means where the newest known end is not a clock's but `hull`'s, and
    /// so is an open start.
    pub(super) fn window_within(&self, hull: Window) -> Window {
        let at = |second: f64| self.interval.ceil(second.ceil() as i64);
        let period = self.period.map(|period| period as f64);
        let from = match (self.start, self.end, period) {
            (Some(start), _, _) => at(start),
            (None, Some(end), Some(period)) => at(end - period),
            (None, None, Some(period)) => at(hull.to as f64 - period),
            (None, _, None) => hull.from,
        };
        let to = match (self.start, self.end, period) {
            (_, Some(end), _) => at(end),
            (Some(start), None, Some(period)) => at(start + period),
            (_, None, _) => hull.to,
        };
        Window { from, to: to.max(from) }
    }

    /// The window where the request names both its ends.
    #[must_use]
    pub fn bounded(&self) -> Option<Window> {
        let ends = [self.start.is_some(), self.end.is_some(), self.period.is_some()];
        let nothing = Window { from: 0, to: 0 };
        (ends.into_iter().filter(|end| *end).count() == 2).then(|| self.window_within(nothing))
    }

    /// The walls of a tier (sections 5 and 8.1), known before anything is sent.
    pub(super) fn check_walls(&self, tier: Tier, window: Window, now: f64) -> Result<(), ClientError> {
        let spec = tier.spec();
        let refuse = |what: String| {
            Err(ClientError::new(ErrorKind::Tier, format!("{what}; this client's tier is {}", spec.name)))
        };
        if let Some(wanted) = self.spec.filter(|wanted| wanted.lowest_tier > tier) {
            return refuse(format!("{} needs the tier {}", wanted.name, wanted.lowest_tier.spec().name));
        }
        let exchanges = self.query.exchanges.len();
        if exchanges > 1 && tier < MULTI_EXCHANGE_TIER {
            return refuse(format!("{exchanges} exchanges at once need the tier {}", MULTI_EXCHANGE_TIER.spec().name));
        }
        // A request is under way for a moment, and clocks differ a little: only the service judges the last minute.
        let earliest = now.floor() as i64 - i64::from(spec.history_days) * 86_400 - 60;
        if window.from < earliest && window.from < window.to {
            let (days, at) = (spec.history_days, utc(earliest + 60));
            return refuse(format!(
                "the window starts at {}, history goes back {days} days, to {at}",
                utc(window.from)
            ));
        }
        Ok(())
    }

    /// What the weight depends on.
    pub(super) fn demand(&self) -> Demand {
        Demand {
            interval: self.interval.seconds,
            period: 0,
            exchanges: self.query.exchanges.len() as u32,
            max_depth: self.query.max_depth,
        }
    }
}

/// Each exchange once, in the order given: a repeated name must not weigh twice.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        if !kept.contains(&name) {
            kept.push(name);
        }
    }
    kept
}

fn interval(name: Option<&str>) -> Result<&'static Interval, ClientError> {
    let valid = || INTERVALS.map(|row| row.short).join(", ");
    let Some(name) = name else {
        return Err(ClientError::invalid(format!("interval is missing; give one of {}", valid())));
    };
    Interval::find(name).ok_or_else(|| {
        let near = hint(name, INTERVALS.iter().flat_map(|row| [row.name, row.short]));
        ClientError::invalid(format!(
            "interval {name:?} is not known, so its weight is not; give one of {}{near}",
            valid()
        ))
    })
}

fn group_by(name: &str) -> Result<GroupBy, ClientError> {
    match name {
        "sum" => Ok(GroupBy::Sum),
        "oi_weighted" => Ok(GroupBy::OpenInterestWeighted),
        _ => GroupBy::find(name)
            .ok_or_else(|| ClientError::invalid(format!("group_by {name:?} is not one of \"sum\", \"oi_weighted\""))),
    }
}

fn sort(name: &str) -> Result<SortDirection, ClientError> {
    match name {
        "asc" => Ok(SortDirection::Ascending),
        "desc" => Ok(SortDirection::Descending),
        _ => SortDirection::find(name)
            .ok_or_else(|| ClientError::invalid(format!("sort {name:?} is not one of \"asc\", \"desc\""))),
    }
}

/// A session by its short name, such as `daily`; a wire name, known or not, as it is.
fn session(name: String) -> String {
    match name.as_str() {
        "daily" | "weekly" | "monthly" => format!("TPO_SESSION_{}", name.to_uppercase()),
        _ => name,
    }
}

fn check_window(start: Option<f64>, end: Option<f64>, period: Option<i64>) -> Result<(), ClientError> {
    for (name, time) in [("start", start), ("end", end)] {
        if let Some(time) = time.filter(|time| time.is_nan() || time.abs() >= LATEST_SECONDS) {
            let message = format!("{name}={time} is not in Unix seconds; it looks like milliseconds or finer");
            return Err(ClientError::invalid(message));
        }
    }
    match (start, end, period) {
        (None, _, None) => Err(ClientError::invalid("the window has no start; give start=, or period= in seconds")),
        (Some(_), Some(_), Some(_)) => Err(ClientError::invalid("start, end and period are one too many; give two")),
        (_, _, Some(period)) if !(0..LATEST_SECONDS as i64).contains(&period) => {
            Err(ClientError::invalid(format!("period={period} is no length of a window in seconds")))
        }
        (Some(start), Some(end), None) if end < start => {
            let (start, end) = (utc(start.floor() as i64), utc(end.floor() as i64));
            Err(ClientError::invalid(format!("the window ends ({end}) before it starts ({start})")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candles() -> PointsArguments {
        PointsArguments {
            data_type: "TRADE_SIDE_AGNOSTIC_AGG".into(),
            exchanges: vec!["BINANCE".into()],
            symbol: Some("XRPETH".into()),
            interval: Some("1h".into()),
            start: Some(7_200.0),
            end: Some(14_400.0),
            ..PointsArguments::default()
        }
    }

    fn window(arguments: PointsArguments, now: f64) -> (i64, i64) {
        let window = PointsRequest::new(arguments).unwrap().window(now);
        (window.from, window.to)
    }

    fn problem(change: impl Fn(&mut PointsArguments)) -> String {
        let mut arguments = candles();
        change(&mut arguments);
        PointsRequest::new(arguments).unwrap_err().message
    }

    #[test]
    fn windows_are_cut_to_bucket_starts_and_to_what_is_closed() {
        assert_eq!(window(candles(), 1e9), (7_200, 14_400));
        assert_eq!(window(PointsArguments { start: Some(7_200.5), ..candles() }, 1e9), (10_800, 14_400));
        assert_eq!(window(PointsArguments { end: Some(14_401.0), ..candles() }, 1e9), (7_200, 18_000));
        assert_eq!(window(candles(), 12_000.0), (7_200, 10_800));
        assert_eq!(window(PointsArguments { include_forming: true, ..candles() }, 12_000.0), (7_200, 14_400));
        assert_eq!(window(candles(), 0.0), (7_200, 7_200));
    }

    #[test]
    fn a_window_needs_two_of_its_ends() {
        let of = |start, end, period| PointsArguments { start, end, period, ..candles() };
        assert_eq!(window(of(None, None, Some(7_200)), 14_500.0), (7_200, 14_400));
        let forming = PointsArguments { include_forming: true, ..of(None, None, Some(7_200)) };
        assert_eq!(window(forming, 14_500.0), (7_200, 18_000));
        assert_eq!(window(of(Some(3_600.0), None, Some(3_600)), 1e9), (3_600, 7_200));
        assert_eq!(window(of(None, Some(7_200.0), Some(3_600)), 1e9), (3_600, 7_200));
        assert_eq!(window(of(Some(3_600.0), None, None), 7_300.0), (3_600, 7_200));
        assert!(problem(|a| a.start = None).contains("no start"));
        assert!(problem(|a| a.period = Some(5)).contains("one too many"));
        assert!(problem(|a| a.end = Some(0.0)).contains("before it starts"));
        assert!(problem(|a| a.start = Some(1.7e12)).contains("milliseconds"));
        assert!(problem(|a| a.start = Some(f64::NAN)).contains("start"));
    }

    #[test]
    fn selections_follow_the_table() {
        assert!(problem(|a| a.coin = Some("XRP".into())).contains("not both"));
        assert!(problem(|a| a.symbol = None).contains("an exchange and a symbol"));
        assert!(problem(|a| a.exchanges.push("BYBIT".into())).contains("exactly one exchange"));
        assert!(problem(|a| a.data_type = "VENUE_LIQUIDATION_AGG".into()).contains("coin= and no symbol"));
        assert!(problem(|a| a.data_type = "SKEW_OPTION_SUMMARY_AGG".into()).contains("tenor="));
        assert!(problem(|a| a.data_type = "BLOCK_BOOK_SNAPSHOT_AGG".into()).contains("block_size"));
        assert!(problem(|a| a.max_depth = Some(5)).contains("no depth"));
        assert!(problem(|a| a.group_by = Some("oi_weighted".into())).contains("GROUP_BY_TYPE_SUM only"));
        assert!(problem(|a| a.group_by = Some("sum".into())).contains("coin="));
        assert!(problem(|a| (a.data_type, a.gapfill) = ("OPEN_INTEREST_AGG".into(), true)).contains("gapfill"));
        assert!(problem(|a| a.exchanges = vec![String::new()]).contains("name it"));
    }

    #[test]
    fn what_only_other_types_take_is_refused() {
        let part = |what: &str, a: &mut PointsArguments| match what {
            "block_size" => a.block_size = Some(5.0),
            "session" => a.session = Some("daily".into()),
            "block_minutes" => a.block_minutes = Some(30),
            "tenor" => a.tenor = Some("ONE_W".into()),
            _ => a.token_name = Some("Bitcoin".into()),
        };
        for name in ["block_size", "session", "block_minutes", "tenor", "token_name"] {
            assert!(problem(|a| part(name, a)).ends_with(&format!("leave {name}= out")));
            // A type that the table does not know may take anything.
            let mut open = PointsArguments { data_type: "NEW_TYPE_AGG".into(), ..candles() };
            part(name, &mut open);
            assert!(PointsRequest::new(open).is_ok());
        }
        let taken = [
            ("TPO_AGG", vec!["block_size", "session", "block_minutes"]),
            ("BLOCK_BOOK_SNAPSHOT_AGG", vec!["block_size"]),
            ("SKEW_OPTION_SUMMARY_AGG", vec!["tenor"]),
        ];
        for (data_type, parts) in taken {
            let mut arguments = PointsArguments { data_type: data_type.into(), ..candles() };
            arguments.coin = (data_type == "SKEW_OPTION_SUMMARY_AGG").then(|| "BTC".into());
            for name in parts {
                part(name, &mut arguments);
            }
            assert!(PointsRequest::new(arguments).is_ok(), "{data_type}");
        }
    }

    #[test]
    fn walls_of_a_tier_are_known_beforehand() {
        let wall = |change: fn(&mut PointsArguments), tier| {
            let mut arguments = PointsArguments { start: None, end: None, period: Some(3_600), ..candles() };
            change(&mut arguments);
            let request = PointsRequest::new(arguments).unwrap();
            let now = 1_776_880_800.0;
            request.check_walls(tier, request.window(now), now).map_err(|error| error.message)
        };
        assert_eq!(wall(|_| {}, Tier::Free), Ok(()));
        let old = wall(|a| a.period = Some(8 * 86_400), Tier::Free).unwrap_err();
        assert!(old.contains("history goes back 7 days, to 2026-04-15T18:00:00Z"), "{old}");
        assert_eq!(wall(|a| a.period = Some(8 * 86_400), Tier::Basic), Ok(()));
        let several = wall(
            |a| (a.exchanges, a.symbol, a.coin) = (vec!["BINANCE".into(), "BYBIT".into()], None, Some("XRP".into())),
            Tier::Standard,
        );
        assert!(several.unwrap_err().contains("2 exchanges at once need the tier advanced"));
        let option = wall(
            |a| {
                (a.data_type, a.coin, a.tenor) =
                    ("SKEW_OPTION_SUMMARY_AGG".into(), Some("BTC".into()), Some("ONE_W".into()));
            },
            Tier::Basic,
        );
        assert!(option.unwrap_err().contains("needs the tier advanced"));
    }

    #[test]
    fn a_repeated_exchange_counts_once() {
        let twice = vec!["BYBIT".to_owned(), "BYBIT".to_owned()];
        let request = PointsRequest::new(PointsArguments { exchanges: twice, ..candles() }).unwrap();
        assert_eq!((request.demand().exchanges, request.query.exchanges.len()), (1, 1));
    }

    #[test]
    fn near_misses_are_named_and_strangers_pass() {
        assert!(problem(|a| a.interval = Some("HOURS".into())).contains("did you mean HOUR?"));
        assert!(problem(|a| a.interval = None).contains("1m, 5m, 15m"));
        assert!(PointsRequest::new(PointsArguments { data_type: "NEW_TYPE_AGG".into(), ..candles() }).is_ok());
        assert!(problem(|a| a.data_type = "OPEN_INTREST_AGG".into()).contains("did you mean OPEN_INTEREST_AGG?"));
        assert!(problem(|a| a.data_type = "book".into()).contains("known are TRADE_SIDE_AGNOSTIC_AGG"));
    }
}
