//! Dumps → store → answers, over all data types: rates in USD, categories, and windows asked in parts.

mod categories;
mod demo_queries;
mod derivatives;
mod exchanges;
mod rates;
mod windows;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::columns::{Column, Series};
use crate::market::engine::Market;
use crate::market::query::error::MarketError;
use crate::market::sources::ingest::ingest;
use crate::protocol::PointsQuery;

/// 2024-12-01 00:00 UTC, Unix seconds.
const DAY: i64 = 1_733_011_200;
/// Seconds of a day.
const DAYS: i64 = 86_400;
const HOUR: i64 = 3_600;

const TRADES: &str = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n";
const BOOK: &str = "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n";
const TICKER: &str = "exchange,symbol,timestamp,local_timestamp,funding_timestamp,funding_rate,predicted_funding_rate,\
                      open_interest,last_price,index_price,mark_price\n";

/// Dump files under construction, by their paths.
#[derive(Default)]
struct Dumps(BTreeMap<String, String>);

impl Dumps {
    /// A row of a market's file of the day that holds `filed`; `rest` is what stands after the local timestamp.
    fn row(&mut self, kind: &str, market: &str, filed: i64, second: i64, rest: &str) {
        let header = match kind {
            "incremental_book_L2" => BOOK,
            "derivative_ticker" => TICKER,
            _ => TRADES,
        };
        let date = jiff::Timestamp::from_second(filed).unwrap().strftime("%Y-%m-%d");
        let file = self.0.entry(format!("{kind}/{market}/{date}.csv")).or_insert_with(|| header.to_owned());
        writeln!(file, "x,y,{second}000000,{second}000005,{rest}").unwrap();
    }

    fn trade(&mut self, market: &str, second: i64, price: f64, amount: f64) {
        self.row("trades", market, second, second, &format!(",buy,{price},{amount}"));
    }

    fn liquidation(&mut self, market: &str, second: i64, price: f64, amount: f64) {
        self.row("liquidations", market, second, second, &format!(",buy,{price},{amount}"));
    }

    /// Rate, open interest and mark price, each where it is known.
    fn reading(&mut self, market: &str, second: i64, rate: Option<f64>, interest: Option<f64>, mark: Option<f64>) {
        let [rate, interest, mark] = [rate, interest, mark].map(|value| value.map_or(String::new(), |v| v.to_string()));
        self.row("derivative_ticker", market, second, second, &format!(",{rate},,{interest},,,{mark}"));
    }

    /// A snapshot of one bid and one ask.
    fn book(&mut self, market: &str, second: i64, bid: (f64, f64), ask: (f64, f64)) {
        for (side, (price, amount)) in [("bid", bid), ("ask", ask)] {
            self.row("incremental_book_L2", market, second, second, &format!("true,{side},{price},{amount}"));
        }
    }

    fn write(&self, folder: &Path) {
        for (name, text) in &self.0 {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
    }

    /// A market made of them; the folder must outlive it.
    fn market(&self) -> (tempfile::TempDir, Market) {
        let folder = tempfile::tempdir().unwrap();
        let (dumps, store) = (folder.path().join("dumps"), folder.path().join("store"));
        self.write(&dumps);
        let report = ingest(&dumps, &store, &|| true).unwrap();
        assert_eq!(report.problems, []);
        let market = Market::open(&store).unwrap();
        (folder, market)
    }
}

/// The answer to a query as of the end of the data.
fn answer(market: &Market, query: &str) -> Result<Vec<Series>, MarketError> {
    market.points(&PointsQuery::parse(query).unwrap(), market.last_event().unwrap())
}

fn ask(market: &Market, query: &str) -> Vec<Series> {
    answer(market, query).unwrap_or_else(|problem| panic!("{query}: {problem}"))
}

/// The one series of an answer.
fn one(market: &Market, query: &str) -> Series {
    let mut series = ask(market, query);
    assert_eq!(series.len(), 1, "{query}");
    series.remove(0)
}

/// All lists of a column, one after the other.
fn lists(series: &Series, name: &str) -> Vec<f64> {
    match series.column(name) {
        Some(Column::List(list)) => list.values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn floats(series: &Series, name: &str) -> Vec<f64> {
    series.floats(name).unwrap().to_vec()
}
