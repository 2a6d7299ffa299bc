//! Visits of a store's trades, against the lists that the test wrote.

use super::*;
use crate::clock::{SECOND, SECONDS_PER_DAY as DAY, UnixNanos, Window};
use crate::market::raw::{Trade, TradeFeed};
use crate::market::store::changes::{Change, place as put};
use crate::market::store::file_list::FILE_LIST;
use crate::market::store::origin::DumpOrigin;
use crate::market::subjects::trades::files::{PartitionPath, TRADES};
use crate::market::subjects::trades::writer;

fn trade(time: i64, price: f64) -> Trade {
    Trade { time: UnixNanos(time), price, amount: 1.0, buy: true }
}

/// A store whose files of three days reach into each other, as dumps cut by the time of arrival do.
fn store() -> (tempfile::TempDir, MarketStore) {
    let folder = tempfile::tempdir().unwrap();
    let day = DAY * SECOND;
    let files = [
        (10, vec![trade(10 * day, 1.0), trade(11 * day - 1, 2.0), trade(11 * day + 5, 3.25)]),
        (11, vec![trade(11 * day - 1, 4.0), trade(11 * day + 4, 5.5), trade(11 * day + 5, 6.0)]),
        (13, vec![trade(13 * day, 7.001)]),
    ];
    for (day, trades) in files {
        let place = PartitionPath {
            pair: TRADES,
            store: folder.path(),
            market: ("VENUE", "BTCUSDT"),
            day: UnixDay(day),
            change: &Change::default(),
        };
        put(folder.path(), writer::write(&place, &trades, &DumpOrigin::default()).unwrap()).unwrap();
    }
    let store = MarketStore::open(folder.path()).unwrap();
    (folder, store)
}

fn trades_of(store: &MarketStore) -> &dyn TradeFeed {
    store.feeds().of::<dyn TradeFeed>().unwrap()
}

fn visited(store: &MarketStore, from: i64, to: i64, now: i64) -> Vec<f64> {
    let mut prices = Vec::new();
    trades_of(store).trades(0, Window { from, to }, UnixNanos(now), &mut |trade| prices.push(trade.price)).unwrap();
    prices
}

#[test]
fn trades_come_by_time_and_then_by_file() {
    let (_folder, store) = store();
    assert_eq!(visited(&store, 0, i64::MAX, i64::MAX), [1.0, 2.0, 4.0, 5.5, 3.25, 6.0, 7.001]);
    assert_eq!(visited(&store, 11 * DAY, 12 * DAY, i64::MAX), [5.5, 3.25, 6.0]);
    assert_eq!(visited(&store, 11 * DAY - 1, 11 * DAY, i64::MAX), [2.0, 4.0]);
    assert!(visited(&store, 12 * DAY, 13 * DAY, i64::MAX).is_empty());
}

#[test]
fn nothing_after_now_is_read() {
    let (_folder, store) = store();
    let now = 11 * DAY * SECOND + 4;
    assert_eq!(visited(&store, 0, i64::MAX, now), [1.0, 2.0, 4.0, 5.5]);
    assert!(visited(&store, 0, i64::MAX, 10 * DAY * SECOND - 1).is_empty());
}

// faults.md row 47
#[test]
fn a_day_that_is_gone_is_told_and_is_no_day_without_trades() {
    let gone = |folder: &std::path::Path, what: &str| std::fs::remove_dir_all(folder.join(what)).unwrap();
    let bars =
        |store: &MarketStore, from, to| trades_of(store).bars(0, Window { from, to }, UnixNanos(i64::MAX), &mut |_| ());
    for what in ["candles_1m/exchange=VENUE/symbol=BTCUSDT/date=1970-01-14", "candles_1m", "trades"] {
        let (folder, _) = store();
        gone(folder.path(), what);
        let store = MarketStore::open(folder.path()).unwrap();
        assert_eq!(store.instruments().len(), 1, "{what}");
        let outcome = if what == "trades" {
            trades_of(&store).trades(0, Window { from: 13 * DAY, to: 14 * DAY }, UnixNanos(i64::MAX), &mut |_| ())
        } else {
            bars(&store, 13 * DAY, 14 * DAY)
        };
        let SourceError(message) = outcome.unwrap_err();
        for part in ["date=1970-01-14", "missing", "ingest the dump again", ".files"] {
            assert!(message.contains(part), "{what}: {message}");
        }
        // Days that are there, and days of which there never was a file, are as they were.
        assert_eq!(bars(&store, 11 * DAY, 12 * DAY).is_ok(), what != "candles_1m");
        bars(&store, 30 * DAY, 31 * DAY).unwrap();
        // Deleting the list as well accepts the loss.
        std::fs::remove_file(folder.path().join(FILE_LIST)).unwrap();
        if let Ok(store) = MarketStore::open(folder.path()) {
            bars(&store, 13 * DAY, 14 * DAY).unwrap();
        }
    }
}

#[test]
fn the_tick_is_the_finest_decimal_of_all_days() {
    let (_folder, store) = store();
    assert_eq!(trades_of(&store).tick(0).unwrap(), 0.001); // 3.25 on the first day, 7.001 on a later one
}

#[test]
fn a_day_beyond_the_clock_is_the_end_of_time() {
    let (folder, store) = store();
    assert_eq!(store.last_event(), Some(UnixNanos(14 * DAY * SECOND)));
    let days = folder.path().join("candles_1m/exchange=VENUE/symbol=BTCUSDT");
    std::fs::create_dir(days.join("date=9999-12-31")).unwrap();
    std::fs::copy(days.join("date=1970-01-14/part.parquet"), days.join("date=9999-12-31/part.parquet")).unwrap();
    assert_eq!(MarketStore::open(folder.path()).unwrap().last_event(), Some(UnixNanos(i64::MAX)));
}
