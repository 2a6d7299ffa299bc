//! Cost classes of queries: those that take less time than handing them to another thread, and those that take a second
//! or more.

use crate::clock::{SECONDS_PER_DAY as DAY, UnixNanos};
use crate::market::engine::Market;
use crate::market::query::window::Buckets;
use crate::protocol::{DataType, Interval, PointsQuery};

/// Longest window, in seconds: two days of minute bars.
const LONGEST: i64 = 2 * DAY;

/// Shortest windows, in seconds, that take a second or more: of single trades or liquidations, and of minutes.
const LONG_OF_EVENTS: i64 = 2 * DAY;
const LONG_OF_MINUTES: i64 = 60 * DAY;

/// Longest windows, in seconds, and most buckets that take some milliseconds.
const LIGHT_OF_EVENTS: i64 = 3_600;
const LIGHT_OF_MINUTES: i64 = DAY;
const LIGHT_BUCKETS: i64 = 60;

/// Extent of the data that a query reads, counted once for each exchange.
struct QueryExtent {
    of_events: bool,
    seconds: i64,
    buckets: i64,
}

/// The extent of a query; `None` for an unknown type or interval.
fn extent(query: &PointsQuery, now: UnixNanos) -> Option<QueryExtent> {
    let data_type = DataType::find(&query.data_type)?;
    let interval = query.interval.as_deref().and_then(Interval::find)?;
    let markets = if query.exchanges.is_empty() { 8 } else { query.exchanges.len() as i64 };
    let buckets = Buckets::new(interval, query, now);
    let seconds = buckets.window.seconds().saturating_mul(markets);
    Some(QueryExtent { of_events: data_type.spec().of_events, seconds, buckets: seconds / interval.seconds.max(1) })
}

impl Market {
    /// Whether [`Self::points`] may take a second or more: the window is long, multiplied by the number of exchanges (8 for
    /// all exchanges of a coin).
    pub fn is_long(query: &PointsQuery, now: UnixNanos) -> bool {
        extent(query, now)
            .is_some_and(|asked| asked.seconds > if asked.of_events { LONG_OF_EVENTS } else { LONG_OF_MINUTES })
    }

    /// Whether [`Self::points`] takes some milliseconds: the window is short and holds few buckets, multiplied as in
    /// [`Self::is_long`].
    pub fn is_light(query: &PointsQuery, now: UnixNanos) -> bool {
        extent(query, now).is_some_and(|asked| {
            let longest = if asked.of_events { LIGHT_OF_EVENTS } else { LIGHT_OF_MINUTES };
            asked.seconds <= longest && asked.buckets <= LIGHT_BUCKETS
        })
    }

    /// True for closed candles of one market over at most two days, without gapfill and USD: such a query takes well under
    /// 1 ms once minute bars are cached. The minute that holds `now` would need raw trades, gapfill and USD further lookups.
    pub fn runs_inline(query: &PointsQuery, now: UnixNanos) -> bool {
        let plain = DataType::find(&query.data_type).is_some_and(|data_type| data_type.spec().is_candles())
            && query.exchanges.len() == 1
            && query.raw_symbol.is_some()
            && !query.gapfill
            && !query.usd;
        let Some(interval) = query.interval.as_deref().and_then(Interval::find).filter(|_| plain) else { return false };
        let buckets = Buckets::new(interval, query, now);
        buckets.window.seconds() <= LONGEST && buckets.window.nanos().end <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    const NOW: i64 = 1_776_880_830;

    fn runs_inline(change: &str) -> bool {
        let base = "type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE&from=1776877200&period=3600";
        let changed = |pair: &&str| !change.split('&').any(|other| other.split('=').next() == pair.split('=').next());
        let kept: Vec<&str> = base.split('&').filter(changed).collect();
        Market::runs_inline(
            &PointsQuery::parse(&format!("{}&{change}", kept.join("&"))).unwrap(),
            UnixNanos(NOW * SECOND),
        )
    }

    #[test]
    fn closed_candles_of_one_market_are_short() {
        for change in ["type=TRADE_SIDE_AGNOSTIC_AGG", "interval=HOUR", "from=1776700000&period=170000", "period=60"] {
            assert!(runs_inline(change), "{change}");
        }
    }

    #[test]
    fn what_looks_at_raw_trades_or_at_much_is_not() {
        for change in [
            "period=3660",                   // the minute under way
            "from=1776880800&period=60",     // that alone
            "interval=WEEK&period=1",        // a week, and under way
            "from=1776000000&period=604800", // a closed week of minutes
            "type=LIQUIDATION_AGG",
            "exchange=BYBIT&exchange=BINANCE_FUTURES",
            "gapfill=true",
            "transform.normalize.quote=USD",
            "interval=",
        ] {
            assert!(!runs_inline(change), "{change}");
        }
        let several = "type=TRADE_AGG&exchange=BYBIT&coin=BTC&interval=MINUTE&from=1776877200&period=3600";
        assert!(!Market::runs_inline(&PointsQuery::parse(several).unwrap(), UnixNanos(NOW * SECOND)));
    }

    #[test]
    fn long_windows_are_long_and_those_of_trades_sooner() {
        let is_long = |change: &str, period: i64| {
            let text = format!("interval=HOUR&from=1640995200&period={period}&{change}");
            Market::is_long(&PointsQuery::parse(&text).unwrap(), UnixNanos(NOW * SECOND))
        };
        let (day, one, several) =
            (86_400, "exchange=BYBIT&rawSymbol=BTCUSDT", "exchange=BYBIT&exchange=BINANCE&coin=BTC");
        for (data_type, exchanges, days) in
            [("TPO_AGG", one, 2), ("TPO_AGG", several, 1), ("VOLUME_PROFILE_AGG", one, 2), ("TRADE_AGG", one, 60)]
        {
            let change = format!("type={data_type}&{exchanges}");
            assert!(!is_long(&change, days * day) && is_long(&change, days * day + 3_600), "{change}");
        }
        assert!(!is_long("type=NO", 10_000 * day));
    }

    #[test]
    fn short_windows_of_few_buckets_are_light() {
        let is_light = |change: &str, period: i64| {
            let text = format!("from=1640995200&period={period}&{change}");
            Market::is_light(&PointsQuery::parse(&text).unwrap(), UnixNanos(NOW * SECOND))
        };
        let (one, two) = ("exchange=BYBIT&rawSymbol=BTCUSDT", "exchange=BYBIT&exchange=BINANCE&coin=BTC");
        for (change, longest, more) in [
            (format!("type=TPO_AGG&interval=MINUTE&{one}"), 3_600, 60),
            (format!("type=TPO_AGG&interval=MINUTE&{two}"), 1_800, 60),
            (format!("type=VOLUME_PROFILE_AGG&interval=FIVE_MINUTES&{one}"), 3_600, 300),
            (format!("type=LIQUIDATION_AGG&interval=MINUTE&{one}"), 3_600, 60),
            (format!("type=BLOCK_BOOK_SNAPSHOT_AGG&interval=HOUR&{one}"), 86_400, 3_600),
            ("type=FUNDING_RATE_AGG&interval=HOUR&coin=BTC".to_owned(), 10_800, 3_600),
        ] {
            assert!(is_light(&change, longest) && !is_light(&change, longest + more), "{change}");
        }
        assert!(!is_light("type=NO&interval=MINUTE", 60) && !is_light(&format!("type=TPO_AGG&{one}"), 60));
    }
}
