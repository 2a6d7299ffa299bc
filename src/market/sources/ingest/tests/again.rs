//! An ingest into a store from which somebody answers.

use std::sync::mpsc::channel;
use std::thread;

use super::*;
use crate::clock::UnixNanos;

fn trades(price: i64) -> String {
    (0..120).fold(TRADE_HEADER.to_owned(), |text, minute| {
        format!("{text}x,y,{}000000,0,{minute},buy,{price},1\n", DAY + 60 * minute)
    })
}

fn closes(market: &Market, symbol: &str) -> Vec<f64> {
    let query =
        format!("type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BYBIT&rawSymbol={symbol}&interval=HOUR&from={DAY}&period=7200");
    let series = market.points(&PointsQuery::parse(&query).unwrap(), UnixNanos(LATER)).unwrap();
    series.first().map(|one| one.floats("close").unwrap().to_vec()).unwrap_or_default()
}

#[test]
fn the_next_answer_is_of_the_store_as_it_is_then() {
    let place = PartitionPath::new();
    place.put("trades/BYBIT/BTCUSDT/2024-12-01.csv", &trades(100));
    place.ingest();
    let market = place.market().with_strict_symbols(true);
    assert_eq!(closes(&market.current().unwrap(), "BTCUSDT"), [100.0; 2]);
    place.put("trades/BYBIT/BTCUSDT/2024-12-01.csv", &trades(200));
    place.put("trades/BYBIT/AAVEUSDT/2024-12-01.csv", &trades(7));
    assert_eq!(place.ingest().files, 2);
    let now = market.current().unwrap();
    assert_eq!((closes(&now, "BTCUSDT"), closes(&now, "AAVEUSDT")), (vec![200.0; 2], vec![7.0; 2]));
    assert!(now.strict_symbols());
}

#[test]
fn a_change_waits_for_an_answer_under_way_and_later_answers_for_the_change() {
    let place = PartitionPath::new();
    place.put("trades/BYBIT/BTCUSDT/2024-12-01.csv", &trades(100));
    place.ingest();
    let market = place.market();
    place.put("trades/BYBIT/BTCUSDT/2024-12-01.csv", &trades(200));
    let before = place.contents();
    let answering = market.current().unwrap();
    thread::scope(|scope| {
        let (begun, receiver) = channel();
        let (dumps, store) = (&place.dumps, &place.store);
        let ingesting = scope.spawn(move || ingest(dumps, store, &|| begun.send(()).is_ok()).unwrap());
        receiver.recv().unwrap();
        // However far the ingest came by now: nothing is in its place while somebody answers.
        let finished = |path: &PathBuf| path.file_name().is_some_and(|name| name == "part.parquet");
        let whole = |files: BTreeMap<PathBuf, Vec<u8>>| -> BTreeMap<_, _> {
            files.into_iter().filter(|(path, _)| finished(path)).collect()
        };
        assert_eq!(whole(place.contents()), whole(before));
        assert_eq!(closes(&answering, "BTCUSDT"), [100.0; 2]);
        drop(answering);
        assert_eq!(ingesting.join().unwrap().files, 1);
    });
    assert_eq!(closes(&market.current().unwrap(), "BTCUSDT"), [200.0; 2]);
}
