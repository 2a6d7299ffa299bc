//! Profiles of the demo market, asked as a client asks: rules of the query, and agreement with the candles.

use crate::clock::{SECOND, UnixNanos};
use crate::columns::{Column, List, RaggedRows, Series};
use crate::market::engine::Market;
use crate::market::query::error::MarketError;
use crate::protocol::{PointsQuery, SeriesId};
use crate::{decode, encode};

const NOW: i64 = 1_776_880_830 * SECOND; // 2026-04-22T18:00:30Z, a Wednesday
const MONDAY: i64 = 1_776_643_200; // 2026-04-20
const DAY: i64 = 86_400;

fn ask(query: &str, now: i64) -> Result<Vec<Series>, MarketError> {
    Market::demo(0).points(&PointsQuery::parse(query).unwrap(), UnixNanos(now))
}

fn series(query: &str) -> Series {
    let mut all = ask(query, NOW).unwrap();
    assert_eq!(all.len(), 1, "{query}");
    all.remove(0)
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * right.abs()
}

fn list<'a>(series: &'a Series, name: &str) -> &'a List {
    match series.column(name) {
        Some(Column::List(list)) => list,
        other => panic!("{name}: {other:?}"),
    }
}

fn levels(series: &Series) -> &RaggedRows {
    match series.column("levels") {
        Some(Column::Rows(rows)) => rows,
        other => panic!("{other:?}"),
    }
}

/// Sum of a column of the levels, per profile.
fn level_sums(series: &Series, name: &str) -> Vec<f64> {
    let rows = levels(series);
    let Some((_, Column::Float(values))) = rows.columns.iter().find(|(known, _)| known == name) else {
        panic!("{name}")
    };
    rows.offsets.windows(2).map(|span| values[span[0] as usize..span[1] as usize].iter().sum()).collect()
}

/// Bought and sold volume of every candle.
fn sides(selection: &str) -> [Vec<f64>; 2] {
    let both = ask(&format!("type=TRADE_AGG&{selection}"), NOW).unwrap();
    ["BUY", "SELL"].map(|side| {
        let one = both.iter().find(|one| one.id.side.as_deref() == Some(side)).unwrap();
        one.floats("volume").unwrap().to_vec()
    })
}

#[test]
fn volume_profiles_hold_what_the_candles_hold() {
    let window = format!("interval=FIFTEEN_MINUTES&from={}&period=14400", MONDAY + 2 * DAY);
    let several = "exchange=BYBIT&exchange=COINBASE&coin=ETH&transform.groupBy.type=GROUP_BY_TYPE_SUM";
    for selection in [
        format!("exchange=BINANCE_FUTURES&rawSymbol=BTCUSDT&{window}"),
        format!("exchange=COINBASE&rawSymbol=DOGE-USD&transform.normalize.quote=USD&{window}"),
        format!("{several}&{window}"),
    ] {
        let profile = series(&format!("type=VOLUME_PROFILE_AGG&{selection}"));
        let [bought, sold] = sides(&selection);
        assert_eq!((profile.len(), bought.len()), (16, 16));
        let values = list(&profile, "profile");
        for row in 0..16 {
            let triplets: Vec<&[f64]> = values.row(row).chunks(3).collect();
            assert!(triplets.windows(2).all(|two| two[0][0] < two[1][0]) && triplets.iter().all(|one| one.len() == 3));
            let sum = |place: usize| triplets.iter().map(|one| one[place]).sum::<f64>();
            assert!(close(sum(1), bought[row]) && close(sum(2), sold[row]), "{selection}");
        }
        assert_eq!(decode::points(&encode::points(std::slice::from_ref(&profile), false)).unwrap(), [profile]);
    }
}

#[test]
fn market_profiles_hold_what_the_candles_hold() {
    let selection = format!("exchange=BYBIT&rawSymbol=SOLUSDT&interval=DAY&from={MONDAY}&period={}", 2 * DAY);
    let candles = series(&format!("type=TRADE_SIDE_AGNOSTIC_AGG&{selection}"));
    let [bought, sold] = sides(&selection);
    let profile = series(&format!("type=TPO_AGG&{selection}"));
    assert_eq!(profile.timestamps, candles.timestamps);
    for (name, candle) in
        [("opening_price", "open"), ("closing_price", "close"), ("profile_high", "high"), ("profile_low", "low")]
    {
        assert_eq!(profile.floats(name), candles.floats(candle), "{name}");
    }
    let total = profile.floats("total_volume").unwrap();
    for row in 0..2 {
        assert!(close(level_sums(&profile, "buy_volume")[row], bought[row]));
        assert!(close(level_sums(&profile, "sell_volume")[row], sold[row]));
        assert!(close(total[row], bought[row] + sold[row]));
    }
    assert_eq!(level_sums(&profile, "tpo_count"), profile.floats("total_tpo_count").unwrap());
    assert_eq!(decode::points(&encode::points(std::slice::from_ref(&profile), false)).unwrap(), [profile]);
}

#[test]
fn levels_cover_the_range_of_the_session() {
    let selection = "exchange=BYBIT&rawSymbol=SOLUSDT&interval=DAY&blockSize=0.5&tpoBlockSizeMinutes=60";
    let profile = series(&format!("type=TPO_AGG&{selection}&from={MONDAY}&period={DAY}"));
    let Column::Float(prices) = &levels(&profile).columns[0].1 else { panic!("no prices") };
    let (low, high) = (profile.floats("profile_low").unwrap()[0], profile.floats("profile_high").unwrap()[0]);
    let all: Vec<f64> =
        ((low * 2.0).floor() as i64..=(high * 2.0).floor() as i64).map(|half| half as f64 / 2.0).collect();
    assert_eq!(prices, &all); // the demo trades in every minute, so blocks of an hour join
    let Column::List(ids) = &levels(&profile).columns[1].1 else { panic!("no blocks") };
    assert!(ids.values.iter().all(|id| (0.0..24.0).contains(id)));
}

#[test]
fn sessions_follow_the_query() {
    let base = "type=TPO_AGG&exchange=BYBIT&rawSymbol=XRPUSDT&tpoBlockSizeMinutes=240";
    let spans = |rest: &str| -> Vec<(i64, i64)> {
        let answer = ask(&format!("{base}&{rest}"), NOW).unwrap();
        let Some(one) = answer.first() else { return Vec::new() };
        let Some(Column::Time(ends)) = one.column("period_end") else { panic!("no ends") };
        assert_eq!(one.column("period_start"), Some(&Column::Time(one.timestamps.clone())));
        one.timestamps.iter().zip(ends).map(|(start, end)| (start / SECOND, end / SECOND)).collect()
    };
    let window = format!("from={MONDAY}&period={}", 14 * DAY);
    let day = |number: i64| (MONDAY + number * DAY, MONDAY + (number + 1) * DAY);
    let (week, april) = ((MONDAY, MONDAY + 7 * DAY), (1_775_001_600, 1_777_593_600));
    // Days up to the forming one; whatever the interval says.
    assert_eq!(spans(&format!("interval=HOUR&tpoSession=TPO_SESSION_DAILY&{window}")), [day(0), day(1), day(2)]);
    assert_eq!(spans(&format!("interval=DAY&tpoSession=TPO_SESSION_WEEKLY&{window}")), [week]);
    assert!(spans(&format!("interval=DAY&tpoSession=TPO_SESSION_MONTHLY&{window}")).is_empty());
    let from_april = format!("from={}&period={}", april.0, 30 * DAY);
    assert_eq!(spans(&format!("interval=DAY&tpoSession=TPO_SESSION_MONTHLY&{from_april}")), [april]);
    // Without a session the interval is the session.
    assert_eq!(spans(&format!("interval=DAY&{window}")), [day(0), day(1), day(2)]);
    assert_eq!(spans(&format!("interval=WEEK&{window}")), [week]);
    let hours = spans(&format!("interval=HOUR&from={MONDAY}&period=7200"));
    assert_eq!(hours, [(MONDAY, MONDAY + 3_600), (MONDAY + 3_600, MONDAY + 7_200)]);
    assert_eq!(spans("interval=DAY&period=172800"), [day(1), day(2)]); // the last two days up to now
}

#[test]
fn closed_profiles_depend_on_nothing_but_their_time() {
    for kind in ["VOLUME_PROFILE_AGG", "TPO_AGG"] {
        let base = format!("type={kind}&exchange=COINBASE&rawSymbol=BTC-USD&interval=HOUR");
        let wide = series(&format!("{base}&from={MONDAY}&period=14400"));
        let start = MONDAY + 7_200;
        let mut one = wide.clone();
        one.take(&[2]);
        for now in [start + 3_600, start + 90_000] {
            let alone = ask(&format!("{base}&from={start}&period=3600"), now * SECOND).unwrap();
            assert_eq!(encode::points(&alone, false), encode::points(std::slice::from_ref(&one), false));
        }
        let forming = ask(&format!("{base}&from={start}&period=7200"), (start + 1_800) * SECOND).unwrap();
        assert_eq!(forming[0].timestamps, [start * SECOND]);
        assert_ne!(encode::points(&forming, false), encode::points(&[one], false));
    }
}

#[test]
fn a_sum_of_one_exchange_is_that_exchange() {
    for kind in ["VOLUME_PROFILE_AGG", "TPO_AGG"] {
        let base = format!("type={kind}&exchange=BYBIT&coin=ADA&interval=HOUR&from={MONDAY}&period=7200");
        let sum = series(&format!("{base}&transform.groupBy.type=GROUP_BY_TYPE_SUM"));
        let alone = series(&base);
        let (data_type, interval) = (alone.id.data_type.clone(), alone.id.interval.clone());
        // A sum keeps no more of its identity (supplement 2).
        let id = SeriesId { data_type, interval, ..SeriesId::default() };
        assert_eq!(sum, Series { id: id.into(), ..alone });
    }
}

#[test]
fn the_rules_of_the_selection_hold() {
    let window = format!("interval=HOUR&from={MONDAY}&period=3600");
    // TPO goes by coin alone (section 4.1): a series per market, or one of all.
    let alone = ask(&format!("type=TPO_AGG&coin=LINK&{window}"), NOW).unwrap();
    assert!(alone.len() >= 4);
    let sum = series(&format!("type=TPO_AGG&coin=LINK&transform.groupBy.type=GROUP_BY_TYPE_SUM&{window}"));
    assert!(alone.iter().all(|one| one.timestamps == sum.timestamps && one.id != sum.id));
    let exchange = "exchange=BYBIT&rawSymbol=BTCUSDT";
    for (query, name) in [
        ("type=VOLUME_PROFILE_AGG&coin=LINK", "exchange"),
        ("type=VOLUME_PROFILE_AGG&exchange=BYBIT", "rawSymbol"),
        ("type=TPO_AGG&rawSymbol=BTCUSDT", "exchange"),
        ("type=TPO_AGG&exchange=BYBIT", "rawSymbol"),
        (&format!("type=TPO_AGG&gapfill=true&{exchange}"), "gapfill"),
        (&format!("type=VOLUME_PROFILE_AGG&gapfill=true&{exchange}"), "gapfill"),
        (&format!("type=TPO_AGG&transform.groupBy.type=GROUP_BY_TYPE_SUM&{exchange}"), "groupBy"),
        (&format!("type=TPO_AGG&tpoBlockSizeMinutes=15&{exchange}"), "tpoBlockSizeMinutes"),
        ("type=TPO_AGG&tpoSession=HOURLY&exchange=NOWHERE&rawSymbol=NOTHING", "tpoSession"),
    ] {
        let problem = ask(&format!("{query}&{window}"), NOW).unwrap_err();
        assert!(matches!(&problem, MarketError::Invalid(_)) && problem.to_string().contains(name), "{problem}");
    }
    // The block size is the server's for volume profiles, and the newest come first when asked.
    let plain = series(&format!("type=VOLUME_PROFILE_AGG&{exchange}&{window}"));
    assert_eq!(series(&format!("type=VOLUME_PROFILE_AGG&blockSize=1234&{exchange}&{window}")), plain);
    let days = format!("interval=HOUR&from={MONDAY}&period=7200&sortDirection=SORT_DIRECTION_DESC");
    let newest = series(&format!("type=TPO_AGG&{exchange}&{days}"));
    assert_eq!(newest.timestamps, [(MONDAY + 3_600) * SECOND, MONDAY * SECOND]);
}
