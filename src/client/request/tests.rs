//! Arguments, windows and walls.

use super::*;
use crate::protocol::GroupBy;

fn candles() -> PointsArguments {
    PointsArguments {
        query: PointsQuery::of_market("TRADE_SIDE_AGNOSTIC_AGG", "BINANCE", "XRPETH", "1h"),
        start: Some(7_200.0),
        end: Some(14_400.0),
        ..PointsArguments::default()
    }
}

fn of_query(change: impl FnOnce(&mut PointsQuery)) -> PointsArguments {
    let mut arguments = candles();
    change(&mut arguments.query);
    arguments
}

fn of_interval(name: &str) -> PointsArguments {
    of_query(|query| query.interval = Some(name.into()))
}

fn window(arguments: PointsArguments, now: f64) -> (i64, i64) {
    let window = PointsRequest::new(arguments).unwrap().window(UnixNanos((now * 1e9) as i64), None);
    (window.from, window.to)
}

fn problem(change: impl Fn(&mut PointsArguments)) -> String {
    let mut arguments = candles();
    change(&mut arguments);
    PointsRequest::new(arguments).unwrap_err().message
}

#[test]
fn an_interval_in_the_place_of_another_argument_is_named() {
    let missing = problem(|asked| asked.query.interval = None);
    assert!(missing.starts_with("interval is missing; give one of 1m, ") && missing.ends_with("1w"), "{missing}");
    let as_symbol = problem(|asked| (asked.query.interval, asked.query.raw_symbol) = (None, Some("1h".into())));
    assert_eq!(as_symbol, format!("{missing}; \"1h\" is given as symbol: did you mean interval=\"1h\"?"));
    let as_exchange = problem(|asked| (asked.query.interval, asked.query.exchanges) = (None, vec!["DAY".into()]));
    assert_eq!(as_exchange, format!("{missing}; \"DAY\" is given as exchange: did you mean interval=\"DAY\"?"));
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
    assert!(problem(|a| a.query.coin = Some("XRP".into())).contains("not both"));
    assert!(problem(|a| a.query.raw_symbol = None).contains("an exchange and a symbol"));
    assert!(problem(|a| a.query.exchanges.push("BYBIT".into())).contains("exactly one exchange"));
    assert!(problem(|a| a.query.data_type = "VENUE_LIQUIDATION_AGG".into()).contains("give coin= and no symbol"));
    assert!(problem(|a| a.query.data_type = "SKEW_OPTION_SUMMARY_AGG".into()).contains("tenor="));
    assert!(problem(|a| a.query.data_type = "BLOCK_BOOK_SNAPSHOT_AGG".into()).contains("block_size"));
    assert!(problem(|a| a.query.max_depth = Some(5)).contains("no depth"));
    assert!(
        problem(|a| a.query.group_by = Some(GroupBy::OpenInterestWeighted)).contains("by oi_weighted; by sum only")
    );
    assert!(problem(|a| a.query.group_by = Some(GroupBy::Sum)).contains("coin="));
    assert!(problem(|a| (a.query.data_type, a.query.gapfill) = ("OPEN_INTEREST_AGG".into(), true)).contains("gapfill"));
    assert!(problem(|a| a.query.exchanges = vec![String::new()]).contains("name it"));
}

#[test]
fn swapped_arguments_are_told() {
    let swapped = |exchange: &str, symbol: &str| {
        problem(|a| (a.query.exchanges, a.query.raw_symbol) = (vec![exchange.into()], Some(symbol.into())))
    };
    assert!(swapped("BTCUSDT", "BINANCE_FUTURES").contains("did you mean exchange \"BINANCE_FUTURES\" and symbol"));
    assert!(swapped("BTCUSDT", "binance").contains("did you mean exchange \"BINANCE\" and symbol \"BTCUSDT\"?"));
    // A token may be named as an exchange is.
    for (exchange, symbol) in [("BYBIT", "BITGET"), ("KRAKEN", "XBTUSD")] {
        let (exchanges, symbol) = (vec![exchange.to_owned()], Some(symbol.to_owned()));
        assert!(
            PointsRequest::new(of_query(|query| (query.exchanges, query.raw_symbol) = (exchanges, symbol))).is_ok()
        );
    }
}

#[test]
fn what_only_other_types_take_is_refused() {
    let part = |what: &str, a: &mut PointsArguments| match what {
        "block_size" => a.query.block_size = Some(5.0),
        "session" => a.query.session = Some("daily".into()),
        "block_minutes" => a.query.block_minutes = Some(30),
        "tenor" => a.query.tenor = Some("ONE_W".into()),
        _ => a.query.token_name = Some("Bitcoin".into()),
    };
    for name in ["block_size", "session", "block_minutes", "tenor", "token_name"] {
        assert!(problem(|a| part(name, a)).ends_with(&format!("leave {name}= out")));
        // A type that the table does not know may take anything.
        let mut open = of_query(|query| query.data_type = "NEW_TYPE_AGG".into());
        part(name, &mut open);
        assert!(PointsRequest::new(open).is_ok());
    }
    let taken = [
        ("TPO_AGG", vec!["block_size", "session", "block_minutes"]),
        ("BLOCK_BOOK_SNAPSHOT_AGG", vec!["block_size"]),
        ("SKEW_OPTION_SUMMARY_AGG", vec!["tenor"]),
    ];
    for (data_type, parts) in taken {
        let mut arguments = of_query(|query| query.data_type = data_type.into());
        arguments.query.coin = (data_type == "SKEW_OPTION_SUMMARY_AGG").then(|| "BTC".into());
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
        let now = UnixSecond(1_776_880_800).nanos();
        request.check_walls(tier, request.window(now, Some(tier)), now).map_err(|error| error.message)
    };
    assert_eq!(wall(|_| {}, Tier::Free), Ok(()));
    let old = wall(|a| a.period = Some(8 * 86_400), Tier::Free).unwrap_err();
    assert!(old.contains("history goes back 7 days, to 2026-04-15 18:00:00 UTC"), "{old}");
    assert_eq!(wall(|a| a.period = Some(8 * 86_400), Tier::Basic), Ok(()));
    let several = wall(
        |a| {
            (a.query.exchanges, a.query.raw_symbol, a.query.coin) =
                (vec!["BINANCE".into(), "BYBIT".into()], None, Some("XRP".into()));
        },
        Tier::Standard,
    );
    assert!(several.unwrap_err().contains("2 exchanges at once need the tier advanced"));
    let option = wall(
        |a| {
            (a.query.data_type, a.query.coin, a.query.tenor) =
                ("SKEW_OPTION_SUMMARY_AGG".into(), Some("BTC".into()), Some("ONE_W".into()));
        },
        Tier::Basic,
    );
    assert!(option.unwrap_err().contains("needs the tier advanced"));
}

#[test]
fn a_repeated_exchange_counts_once() {
    let twice = vec!["BYBIT".to_owned(), "BYBIT".to_owned()];
    let request = PointsRequest::new(of_query(|query| query.exchanges = twice)).unwrap();
    assert_eq!((request.demand().exchanges, request.query.exchanges.len()), (1, 1));
}

#[test]
fn near_misses_are_named_and_strangers_pass() {
    assert!(problem(|a| a.query.interval = Some("HOURS".into())).contains("did you mean HOUR?"));
    assert!(problem(|a| a.query.interval = None).contains("1m, 5m, 15m"));
    assert!(PointsRequest::new(of_query(|query| query.data_type = "NEW_TYPE_AGG".into())).is_ok());
    assert!(problem(|a| a.query.data_type = "OPEN_INTREST_AGG".into()).contains("did you mean OPEN_INTEREST_AGG?"));
    assert!(problem(|a| a.query.data_type = "book".into()).contains("known are TRADE_SIDE_AGNOSTIC_AGG"));
}

fn at(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_second()
}

#[test]
fn a_market_profile_goes_by_its_sessions() {
    let now = at("2026-11-18T13:30:00Z") as f64; // a Wednesday
    let of = |session: &str, interval: &str, change: fn(&mut PointsArguments)| {
        let mut arguments = PointsArguments { start: None, end: None, ..of_interval(interval) };
        (arguments.query.data_type, arguments.query.session) = ("TPO_AGG".into(), Some(session.into()));
        change(&mut arguments);
        window(arguments, now)
    };
    let between = |from: &str, to: &str| (at(&format!("{from}T00:00:00Z")), at(&format!("{to}T00:00:00Z")));
    for interval in ["1m", "1h", "1d", "1w"] {
        let since = |session| of(session, interval, |a| a.start = Some(at("2026-09-15T05:00:00Z") as f64));
        assert_eq!(since("daily"), between("2026-09-16", "2026-11-18"), "{interval}");
        assert_eq!(since("weekly"), between("2026-09-21", "2026-11-16"), "{interval}");
        assert_eq!(since("monthly"), between("2026-10-01", "2026-11-01"), "{interval}");
        let forming = |session| {
            of(session, interval, |a| (a.start, a.include_forming) = (Some(at("2026-11-01T00:00:00Z") as f64), true))
        };
        assert_eq!(forming("daily"), between("2026-11-01", "2026-11-19"), "{interval}");
        assert_eq!(forming("weekly"), between("2026-11-02", "2026-11-23"), "{interval}");
        assert_eq!(forming("monthly"), between("2026-11-01", "2026-12-01"), "{interval}");
        let last = |session, period: fn(&mut PointsArguments)| of(session, interval, period);
        assert_eq!(last("daily", |a| a.period = Some(3 * 86_400)), between("2026-11-15", "2026-11-18"), "{interval}");
        assert_eq!(last("weekly", |a| a.period = Some(14 * 86_400)), between("2026-11-02", "2026-11-16"), "{interval}");
        assert_eq!(
            last("monthly", |a| a.period = Some(31 * 86_400)),
            between("2026-10-01", "2026-11-01"),
            "{interval}"
        );
    }
    // Without a session, and with an unknown one, the interval's buckets count.
    for session in ["TPO_SESSION_UNSPECIFIED", "TPO_SESSION_LUNAR"] {
        let hour = of(session, "1h", |a| a.period = Some(3_600));
        assert_eq!(hour, (at("2026-11-18T12:00:00Z"), at("2026-11-18T13:00:00Z")));
    }
}

/// Section 8.1: 7, 30, 90 and 365 days of history.
#[test]
fn the_whole_history_of_a_tier_begins_with_its_first_whole_bucket() {
    let now = at("2026-11-18T13:30:20Z");
    for (tier, days) in [(Tier::Free, 7), (Tier::Basic, 30), (Tier::Standard, 90), (Tier::Advanced, 365)] {
        let wall = now - days * 86_400;
        for (interval, seconds) in [("1m", 60), ("1h", 3_600), ("4h", 14_400), ("1d", 86_400)] {
            let period = Some(days * 86_400);
            let arguments = PointsArguments { start: None, end: None, period, ..of_interval(interval) };
            let request = PointsRequest::new(arguments.clone()).unwrap();
            let window = request.window(UnixSecond(now).nanos(), Some(tier));
            let first = (wall..wall + seconds).find(|second| second % seconds == 0).unwrap();
            assert_eq!((window.from, window.to), (first, now - now % seconds), "{tier:?} {interval}");
            assert!(request.check_walls(tier, window, UnixSecond(now).nanos()).is_ok());
            // The key of a lower tier is told that this one would do.
            if let Some(lower) = [Tier::Free, Tier::Basic, Tier::Standard].into_iter().rfind(|lower| *lower < tier) {
                let window = request.window(UnixSecond(now).nanos(), Some(lower));
                let refused = request.check_walls(lower, window, UnixSecond(now).nanos()).unwrap_err().message;
                assert!(
                    refused.contains(&format!("use the tier {}, which has {days} days", tier.spec().name)),
                    "{refused}"
                );
            }
            // A second more is more than the tier has, and so is a start that was named.
            for arguments in [
                PointsArguments { period: Some(days * 86_400 + 1), ..arguments.clone() },
                PointsArguments { start: Some((wall - 86_400) as f64), period: None, ..arguments.clone() },
            ] {
                let request = PointsRequest::new(arguments).unwrap();
                let window = request.window(UnixSecond(now).nanos(), Some(tier));
                let refused = request.check_walls(tier, window, UnixSecond(now).nanos());
                assert_eq!(refused.is_err(), window.from < wall - 60, "{tier:?} {interval}");
            }
        }
        // At the very wall a request would come too late.
        let sharp = at("2026-11-18T13:00:00Z");
        let arguments = PointsArguments { start: None, end: None, period: Some(days * 86_400), ..candles() };
        let window = PointsRequest::new(arguments).unwrap().window(UnixSecond(sharp).nanos(), Some(tier));
        assert_eq!(window.from, sharp - days * 86_400 + 3_600);
    }
}

#[test]
fn a_bucket_beside_the_grid_counts_when_it_is_over() {
    let week = |include_forming| {
        let arguments = PointsArguments { start: Some(0.0), end: None, include_forming, ..of_interval("1w") };
        PointsRequest::new(arguments).unwrap()
    };
    let now = UnixSecond(at("2026-11-18T13:30:00Z")).nanos(); // a Wednesday; its week began on the 16th
    let counted = |request: &PointsRequest| request.counted(request.window(now, None), now);
    let thursday = at("2026-11-12T00:00:00Z"); // over on the 19th
    assert!(counted(&week(false)).to <= thursday && counted(&week(false)).to > at("2026-11-09T00:00:00Z"));
    assert!(counted(&week(true)).to > thursday);
}
