//! Any window asked in parts equals the whole: every data type, on sparse data out of order with several quotes.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::clock::{SECOND, UnixNanos};
use crate::encode;
use crate::protocol::Interval;

/// Reproducible numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, range: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as i64).rem_euclid(range)
    }

    /// A second of the two days, most in few hours of each, and the second by whose day its row is filed.
    fn moment(&mut self) -> (i64, i64) {
        let second =
            DAY + self.roll(2) * DAYS + self.roll(4) * 6 * HOUR + self.roll(if self.0 & 8 == 0 { 600 } else { 9_000 });
        // Dumps are cut by the time of arrival.
        let late = if self.roll(6) == 0 { self.roll(2) * 2 - 1 } else { 0 };
        (second, (second + late * DAYS).clamp(DAY, DAY + 2 * DAYS - 1))
    }
}

/// A price of about `level` with four decimals of its first digit.
fn price(dice: &mut Dice, level: f64) -> f64 {
    (level * (0.95 + dice.roll(1_000) as f64 / 10_000.0) * 1e7).round() / 1e7
}

fn events(dumps: &mut Dumps, dice: &mut Dice, kind: &str, market: &str, level: f64, count: i64) {
    for _ in 0..count {
        let (second, filed) = dice.moment();
        let side = if dice.roll(2) == 0 { "buy" } else { "sell" };
        let (price, amount) = (price(dice, level), 1 + dice.roll(999));
        dumps.row(kind, market, filed, second, &format!(",{side},{price},{amount}"));
    }
}

fn readings(dumps: &mut Dumps, dice: &mut Dice, market: &str, level: f64) {
    for _ in 0..40 {
        let (second, filed) = dice.moment();
        let mark = price(dice, level).to_string();
        let mut perhaps = |value: String| if dice.roll(3) > 0 { value } else { String::new() };
        let rate = perhaps(format!("{}e-6", second % 97 - 30));
        let predicted = perhaps(format!("{}e-6", second % 89 - 30));
        let interest = perhaps((1_000 + second % 499).to_string());
        let mark = perhaps(mark);
        dumps.row("derivative_ticker", market, filed, second, &format!(",{rate},{predicted},{interest},,,{mark}"));
    }
}

fn books(dumps: &mut Dumps, dice: &mut Dice, market: &str, level: f64) {
    for day in [DAY, DAY + DAYS] {
        let mut seconds: Vec<i64> = (0..12).map(|_| day + 60 * (dice.roll(3) * 400 + dice.roll(60))).collect();
        seconds.sort_unstable();
        for (row, second) in seconds.into_iter().enumerate() {
            for (side, away) in [("bid", -1.0), ("ask", 1.0)] {
                let price = (level * (1.0 + away * (1 + dice.roll(50)) as f64 / 1_000.0) * 1e7).round() / 1e7;
                let rest = format!("{},{side},{price},{}", row == 0, dice.roll(40));
                dumps.row("incremental_book_L2", market, day, second, &rest);
            }
        }
    }
}

/// Quotes of an option chain: strikes around 100, four expiries.
fn chain(dumps: &mut Dumps, dice: &mut Dice) {
    let header =
        "exchange,symbol,timestamp,local_timestamp,type,strike_price,expiration,mark_iv,underlying_price,delta\n";
    for day in 0..2 {
        let mut text = header.to_owned();
        let mut seconds: Vec<i64> = (0..3).map(|_| DAY + day * DAYS + dice.roll(DAYS)).collect();
        seconds.sort_unstable();
        for second in seconds {
            for (expiry, strike) in
                [5, 20, 45, 120].into_iter().flat_map(|expiry| (7..14).map(move |k| (expiry, k * 10)))
            {
                for put in [false, true] {
                    let call = 1.0 - f64::from(strike - 60) / 80.0;
                    let (delta, kind) = if put { (call - 1.0, "put") } else { (call, "call") };
                    let (end, volatility) = (DAY + expiry * DAYS, 40 + dice.roll(30));
                    let symbol = format!("BTC-{expiry}DEC24-{strike}-{}", if put { "P" } else { "C" });
                    let rest = format!("{kind},{strike},{end}000000,{volatility},100,{delta}");
                    writeln!(text, "x,{symbol},{second}000000,1,{rest}").unwrap();
                }
            }
        }
        dumps.0.insert(format!("options_chain/DERIBIT/OPTIONS/2024-12-0{}.csv", day + 1), text);
    }
}

fn supply(dumps: &mut Dumps, dice: &mut Dice) {
    let mut text = "coin,token_name,timestamp,marketcap,chain\n".to_owned();
    for _ in 0..6 {
        let second = DAY + dice.roll(2 * DAYS);
        writeln!(text, "XRP,XRP,{second}000000,{},BSC", 1_000 + dice.roll(1_000)).unwrap();
    }
    dumps.0.insert("token_supply/all.csv".to_owned(), text);
}

fn dumps(seed: u64) -> Dumps {
    let (mut dumps, mut dice) = (Dumps::default(), Dice(seed));
    let (all, few) = (&mut dumps, 40 + dice.roll(60));
    for (market, level) in [
        ("BINANCE/XRPUSDT", 2.0),
        ("BINANCE/XRPETH", 0.0006),
        ("BYBIT/XRPUSDT", 2.1),
        ("BYBIT/XRPETH", 0.00061),
        ("BYBIT/XRPUSD", 2.2),
        ("BYBIT/XRPUSDH25", 2.3),
        ("BINANCE/ETHUSDT", 3_500.0),
        ("COINBASE/ETH-USD", 3_600.0),
        ("BYBIT/ETHUSDT", 3_700.0),
        ("OKEX_FUTURES/ETH-USD-250328", 3_800.0),
    ] {
        events(all, &mut dice, "trades", market, level, few);
        if market.starts_with("BYBIT/XRP") {
            events(all, &mut dice, "liquidations", market, level, few / 2);
            readings(all, &mut dice, market, level);
        }
        if market.contains("/XRP") && !market.ends_with("H25") {
            books(all, &mut dice, market, level);
        }
    }
    // The rate is known before most of what it converts.
    all.trade("COINBASE/ETH-USD", DAY, 3_600.0, 1.0);
    chain(all, &mut dice);
    supply(all, &mut dice);
    dumps
}

const SUM: &str = "&transform.groupBy.type=GROUP_BY_TYPE_SUM";
const USD: &str = "&transform.normalize.quote=USD";

/// Every data type, alone and together, in each unit that it knows.
fn queries() -> Vec<String> {
    let mut queries = Vec::new();
    let markets = ["exchange=BYBIT&rawSymbol=XRPETH", "exchange=BYBIT&rawSymbol=XRPUSD", "exchange=BINANCE&coin=XRP"];
    let every = "exchange=BYBIT&exchange=BINANCE&coin=XRP";
    for data_type in [
        "TRADE_SIDE_AGNOSTIC_AGG",
        "TRADE_AGG",
        "LIQUIDATION_AGG",
        "OPEN_INTEREST_AGG",
        "VOLUME_PROFILE_AGG",
        "TPO_AGG",
        "BLOCK_BOOK_SNAPSHOT_AGG&blockSize=0.00001",
        "BLOCK_BOOK_SNAPSHOT_AGG&blockSize=0.05",
    ] {
        let gapfills = if data_type.starts_with("TRADE") { &["", "&gapfill=true"][..] } else { &[""] };
        for gapfill in gapfills {
            queries.extend(
                markets
                    .iter()
                    .flat_map(|market| ["", USD].map(|unit| format!("type={data_type}&{market}{unit}{gapfill}"))),
            );
            queries.push(format!("type={data_type}&{every}{SUM}{USD}{gapfill}"));
        }
    }
    queries.push(format!("type=VENUE_LIQUIDATION_AGG&coin=XRP{USD}"));
    queries.push(format!("type=VENUE_LIQUIDATION_AGG&coin=XRP{USD}&maxDepth=2"));
    queries.push("type=FUNDING_RATE_AGG&exchange=BYBIT&coin=XRP".to_owned());
    // Open interest in contracts and in coins, and in two quotes, weighs in USD.
    let weighted = "&transform.groupBy.type=GROUP_BY_TYPE_OPEN_INTEREST_WEIGHTED_AVG";
    queries.push(format!("type=FUNDING_RATE_AGG&exchange=BYBIT&coin=XRP{weighted}"));
    for (data_type, symbol) in [("SKEW", "BTC_25"), ("IMPLIED_VOLATILITY", "BTC_ATM")] {
        let select = format!("exchange=DERIBIT&coin=BTC&rawSymbol={symbol}&tenor=ONE_M");
        queries.push(format!("type={data_type}_OPTION_SUMMARY_AGG&{select}"));
    }
    queries.push("type=TOKEN_SUPPLY_AGG&coin=XRP".to_owned());
    queries
}

/// The points of each series by its identity, as they are told on the wire.
type PointsById = BTreeMap<String, Vec<serde_json::Value>>;

fn points_by_id(market: &Market, query: &str, (from, end): (i64, i64), now: i64) -> Result<PointsById, String> {
    let query = format!("{query}&from={from}&period={}", end - from);
    let series =
        market.points(&PointsQuery::parse(&query).unwrap(), UnixNanos(now)).map_err(|problem| problem.to_string())?;
    let body: serde_json::Value = serde_json::from_slice(&encode::points(&series, false)).unwrap();
    let mut by_id = PointsById::new();
    for one in body["series"].as_array().into_iter().flatten() {
        let points = one["points"].as_array().unwrap().clone();
        assert!(by_id.insert(one["id"].to_string(), points).is_none(), "{query}: one identity twice");
    }
    Ok(by_id)
}

fn join(parts: Vec<PointsById>) -> PointsById {
    let mut whole = PointsById::new();
    for part in parts {
        for (id, mut points) in part {
            whole.entry(id).or_default().append(&mut points);
        }
    }
    whole
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn a_window_in_parts_is_the_whole(
        seed in any::<u64>(),
        cuts in prop::collection::vec(0.0f64..1.0, 1..5),
        begin in 0i64..20,
        now in (DAY + DAYS)..(DAY + 3 * DAYS),
    ) {
        let (_folder, market) = dumps(seed).market();
        let (mut answered, mut converted, mut dice) = (BTreeSet::new(), BTreeSet::new(), Dice(seed));
        for query in queries() {
            // The days, and one of the shorter ones.
            for interval in ["DAY", ["FIVE_MINUTES", "HOUR", "FOUR_HOURS"][dice.roll(3) as usize]] {
                let seconds = Interval::find(interval).unwrap().seconds;
                // In buckets from the first: where the window begins, where it is cut, and where it ends.
                let (first, last) = (begin * HOUR / seconds, 2 * DAYS / seconds);
                let inner = cuts.iter().map(|cut| first + (cut * (last - first) as f64) as i64);
                let mut edges: Vec<i64> = inner.chain([first, last]).map(|bucket| DAY + bucket * seconds).collect();
                edges.sort_unstable();
                let (query, now) = (format!("{query}&interval={interval}"), now * SECOND + 7);
                let whole = points_by_id(&market, &query, (edges[0], edges[edges.len() - 1]), now);
                let parts = edges.windows(2).map(|pair| points_by_id(&market, &query, (pair[0], pair[1]), now));
                let parts = parts.collect::<Result<Vec<_>, _>>().map(join);
                match (whole, parts) {
                    (Ok(whole), Ok(parts)) => {
                        prop_assert!(whole == parts, "{query} {edges:?}\n{whole:?}\n{parts:?}");
                        if !whole.is_empty() {
                            let data_type = query.split(['=', '&']).nth(1).unwrap().to_owned();
                            if query.contains(&format!("XRPETH{USD}")) {
                                converted.insert(data_type.clone());
                            }
                            answered.insert(data_type);
                        }
                    }
                    (Err(_), Err(_)) => {} // a minute without a rate, whichever is met first
                    (whole, parts) => prop_assert!(false, "{query} {edges:?}: {:?} {:?}", whole.err(), parts.err()),
                }
            }
        }
        prop_assert_eq!(answered.len(), 12, "every type has been compared: {:?}", answered);
        prop_assert_eq!(converted.len(), 7, "and in USD those with prices: {:?}", converted);
    }
}
