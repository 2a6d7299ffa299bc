//! Dumps written by a test, and the store made of them.

use std::fs;

use marketpoints::clock::UnixNanos;
use marketpoints::columns::Series;
use marketpoints::market::{IngestReport, Market, ingest};
use marketpoints::protocol::PointsQuery;

/// Nanoseconds.
pub(crate) const SECOND: i64 = 1_000_000_000;
/// 2019-10-12, Unix seconds.
pub(crate) const START: i64 = 1_570_838_400;
pub(crate) const TRADES: &str = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n";
pub(crate) const BOOKS: &str = "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n";

/// A folder with dumps and a store beside them; removed when dropped.
pub(crate) struct Bench(tempfile::TempDir);

impl Bench {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn dump(&self, name: &str, text: &str) {
        let path = self.0.path().join("dumps").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }

    pub(crate) fn ingest(&self) -> IngestReport {
        ingest(&self.0.path().join("dumps"), &self.0.path().join("store"), &|| true).unwrap()
    }

    pub(crate) fn market(&self) -> Market {
        Market::open(&self.0.path().join("store")).unwrap()
    }
}

/// A buy so many seconds after [`START`]; the second column is empty for a symbol.
pub(crate) fn row(second: i64, price: f64, amount: f64) -> String {
    format!("x,,{0}000000,{0}000000,1,buy,{price},{amount}\n", START + second)
}

/// Points of one market.
pub(crate) fn query(
    data_type: &str,
    exchange: &str,
    symbol: &str,
    interval: &str,
    from: i64,
    period: i64,
) -> PointsQuery {
    PointsQuery {
        data_type: data_type.into(),
        exchanges: vec![exchange.into()],
        raw_symbol: Some(symbol.into()),
        interval: Some(interval.into()),
        from: Some(from),
        period: Some(period),
        ..PointsQuery::default()
    }
}

/// The first series of an answer.
pub(crate) fn first(market: &Market, query: &PointsQuery, now: i64) -> Series {
    market.points(query, UnixNanos(now)).unwrap().remove(0)
}
