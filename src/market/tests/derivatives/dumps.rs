//! Dumps with known rows, the answers of a store made of them, and plain computations over the rows.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::clock::{SECOND, UnixNanos};
use crate::columns::Series;
use crate::market::IngestReport;
use crate::market::engine::Market;
use crate::market::query::error::MarketError;
use crate::market::sources::ingest::ingest;
use crate::protocol::PointsQuery;

/// 2024-12-01 00:00 UTC.
pub(in crate::market) const DAY: i64 = 1_733_011_200;
pub(in crate::market) const LATER: i64 = (DAY + 30 * 86_400) * SECOND;

/// Reproducible numbers in `0..range`.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, range: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % range
    }
}

/// A forced order: Unix second, whether it buys, price, amount in eighths (which add exactly).
pub(in crate::market) type Forced = (i64, bool, f64, f64);
/// A reading: Unix second, rate, predicted, open interest, mark price; `None` where the dump leaves the field empty.
pub(in crate::market) type Reading = (i64, [Option<f64>; 4]);

pub(in crate::market) fn forced(seed: u64, count: usize) -> Vec<Forced> {
    let mut dice = Dice(seed);
    let mut rows: Vec<Forced> = (0..count)
        .map(|_| {
            let second = DAY + dice.roll(7_200) as i64;
            (second, dice.roll(3) == 0, 100.0 + dice.roll(50) as f64, (1 + dice.roll(80)) as f64 / 8.0)
        })
        .collect();
    rows.sort_by_key(|row| row.0);
    rows
}

pub(in crate::market) fn readings(seed: u64, count: usize) -> Vec<Reading> {
    let mut dice = Dice(seed);
    let mut rows: Vec<Reading> = (0..count)
        .map(|_| {
            let second = DAY + dice.roll(7_200) as i64;
            let mut known = |value: f64| (dice.roll(4) > 0).then_some(value);
            let values = [known(0.0), known(0.0), known(0.0), known(0.0)];
            let mut dice = Dice(seed ^ second as u64);
            let readings = [
                (dice.roll(64) as f64 - 20.0) / 65_536.0,
                (dice.roll(64) as f64 - 20.0) / 65_536.0,
                1_000.0 + dice.roll(500) as f64,
                100.0 + dice.roll(50) as f64,
            ];
            (second, [0, 1, 2, 3].map(|index| values[index].map(|_| readings[index])))
        })
        .collect();
    rows.sort_by_key(|row| row.0);
    rows
}

pub(in crate::market) fn put(dumps: &Path, kind: &str, market: &str, text: &str) {
    let folder = dumps.join(kind).join(market);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("2024-12-01.csv"), text).unwrap();
}

pub(in crate::market) fn put_forced(dumps: &Path, market: &str, rows: &[Forced]) {
    let mut text = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n".to_owned();
    for (second, buy, price, amount) in rows {
        let side = if *buy { "buy" } else { "sell" };
        writeln!(text, "x,y,{second}000000,{second}000005,,{side},{price},{amount}").unwrap();
    }
    put(dumps, "liquidations", market, &text);
}

pub(in crate::market) const TICKER_HEADER: &str = "exchange,symbol,timestamp,local_timestamp,funding_timestamp,funding_rate,\
                             predicted_funding_rate,open_interest,last_price,index_price,mark_price\n";

pub(in crate::market) fn put_readings(dumps: &Path, market: &str, rows: &[Reading]) {
    let mut text = TICKER_HEADER.to_owned();
    for (second, values) in rows {
        let [rate, predicted, interest, mark] = values.map(|value| value.map_or(String::new(), |v| v.to_string()));
        writeln!(text, "x,y,{second}000000,{second}000005,,{rate},{predicted},{interest},,,{mark}").unwrap();
    }
    put(dumps, "derivative_ticker", market, &text);
}

/// Dumps that `fill` writes, ingested and opened.
pub(in crate::market) fn market(fill: impl FnOnce(&Path)) -> (tempfile::TempDir, Market, IngestReport) {
    let folder = tempfile::tempdir().unwrap();
    let (dumps, store) = (folder.path().join("dumps"), folder.path().join("store"));
    std::fs::create_dir_all(&dumps).unwrap();
    fill(&dumps);
    let report = ingest(&dumps, &store, &|| true).unwrap();
    let market = Market::open(&store).unwrap();
    (folder, market, report)
}

pub(in crate::market) fn ask_at(market: &Market, query: &str, now: i64) -> Result<Vec<Series>, MarketError> {
    let query = format!("{query}&from={DAY}&period=86400");
    market.points(&PointsQuery::parse(&query).unwrap(), UnixNanos(now))
}

pub(in crate::market) fn ask(market: &Market, query: &str) -> Vec<Series> {
    ask_at(market, query, LATER).unwrap()
}

pub(in crate::market) fn refused(market: &Market, query: &str) -> String {
    match ask_at(market, query, LATER) {
        Err(MarketError::Invalid(problem)) => problem.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Rows of the named columns by bucket start.
pub(in crate::market) fn table<const N: usize>(series: &Series, names: [&str; N]) -> BTreeMap<i64, [f64; N]> {
    let row = |row: usize| names.map(|name| series.floats(name).unwrap()[row]);
    series.timestamps.iter().enumerate().map(|(index, time)| (time / SECOND, row(index))).collect()
}

/// First, highest, lowest and last of the values by bucket.
pub(in crate::market) fn ohlc(rows: impl Iterator<Item = (i64, Option<f64>)>, seconds: i64) -> BTreeMap<i64, [f64; 4]> {
    let mut groups: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (second, value) in rows {
        if let Some(value) = value {
            groups.entry(second / seconds * seconds).or_default().push(value);
        }
    }
    let four = |values: Vec<f64>| {
        let (high, low) =
            (values.iter().copied().fold(f64::MIN, f64::max), values.iter().copied().fold(f64::MAX, f64::min));
        [values[0], high, low, values[values.len() - 1]]
    };
    groups.into_iter().map(|(start, values)| (start, four(values))).collect()
}

pub(in crate::market) const OHLC: [&str; 4] = ["open", "high", "low", "close"];
pub(in crate::market) const RATE: [&str; 4] = ["rate_open", "rate_high", "rate_low", "rate_close"];
pub(in crate::market) const PREDICTED: [&str; 4] =
    ["predicted_open", "predicted_high", "predicted_low", "predicted_close"];
pub(in crate::market) const INTERVALS: [(&str, i64); 3] = [("MINUTE", 60), ("FIVE_MINUTES", 300), ("HOUR", 3_600)];

pub(in crate::market) fn close(one: &BTreeMap<i64, [f64; 4]>, other: &BTreeMap<i64, [f64; 4]>) {
    assert!(one.keys().eq(other.keys()), "{:?} {:?}", one.keys(), other.keys());
    for (left, right) in one.values().flatten().zip(other.values().flatten()) {
        assert!((left - right).abs() <= 1e-12 * right.abs().max(1e-3), "{left} {right}");
    }
}

pub(in crate::market) fn side_sums(rows: &[Forced], buy: bool, seconds: i64, usd: bool) -> BTreeMap<i64, [f64; 1]> {
    let mut sums = BTreeMap::new();
    for (second, side, price, amount) in rows {
        if *side == buy {
            sums.entry(second / seconds * seconds).or_insert([0.0])[0] += if usd { price * amount } else { *amount };
        }
    }
    sums
}
