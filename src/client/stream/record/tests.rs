//! The files that events become.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::client::ErrorKind;
use crate::clock::{ManualClock, UnixNanos, UnixSecond};

/// 2026-01-22, 00:00 UTC.
const MIDNIGHT: i64 = 1_769_040_000;

fn events(points: &Value) -> Vec<Event> {
    Event::of_frame(json!({ "points": points }).as_object().unwrap().clone())
}

fn trade(symbol: &str, id: &str, side: &str, (seconds, nanoseconds): (i64, i64), price: f64) -> Value {
    json!({
        "series": {"type": "TRADE", "exchange": "BYBIT", "symbol": symbol, "side": side},
        "trade": {"id": id, "price": price, "amount": 0.1, "timestamp": {"seconds": seconds, "nanoseconds": nanoseconds}},
    })
}

fn book(seconds: i64, bids: &[f64], asks: &[f64]) -> Value {
    json!({
        "series": {"type": "BLOCK_BOOK_SNAPSHOT", "exchange": "BYBIT", "symbol": "BTCUSDT"},
        "blockBookSnapshot": {"bids": bids, "asks": asks, "timestamp": {"seconds": seconds}},
    })
}

fn recorder(folder: &Path) -> Recorder {
    let clock = ManualClock::at(UnixSecond(MIDNIGHT + 1).nanos().plus(1_234_567));
    Recorder::new(folder, &[Channel::new("TRADE", "BYBIT", "BTCUSDT")], Arc::new(clock)).unwrap()
}

/// Lines of a file without the columns of exchange, symbol and this machine's time.
fn lines(folder: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(text.ends_with('\n'));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        [&fields[2..3], &fields[4..]].concat().join(",")
    };
    text.lines().map(row).collect()
}

#[test]
fn trades_and_liquidations_are_rows_of_their_day() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let mut forced = trade("BTCUSDT", "", "SELL", (MIDNIGHT, 0), 90_000.0);
    forced["series"]["type"] = "LIQUIDATION".into();
    forced["liquidation"] = forced["trade"].take();
    forced.as_object_mut().unwrap().remove("trade");
    let points = [
        trade("BTCUSDT", "7", "BUY", (MIDNIGHT - 1, 999_999_999), 1e-9),
        trade("BTCUSDT", "8", "SELL", (MIDNIGHT, 1_999), 1.234_567_890_123_4e20),
        trade("BTCUSDT", "a,\"b", "BUY", (MIDNIGHT, 0), 5.0),
        forced,
    ];
    recorder.events(&events(&json!(points))).unwrap();
    assert_eq!((recorder.rows(), recorder.left_out()), (4, 0));
    let header = "timestamp,price,amount,side,id";
    // A microsecond holds what happened in it; prices are spelt so that every digit reads back, and without an exponent.
    assert_eq!(
        lines(folder.path(), "trades/BYBIT/BTCUSDT/2026-01-21.csv"),
        [header, "1769039999999999,0.000000001,0.1,buy,7"]
    );
    assert_eq!(
        lines(folder.path(), "trades/BYBIT/BTCUSDT/2026-01-22.csv"),
        [header, "1769040000000001,123456789012340000000,0.1,sell,8", "1769040000000000,5,0.1,buy,"]
    );
    assert_eq!(
        lines(folder.path(), "liquidations/BYBIT/BTCUSDT/2026-01-22.csv"),
        [header, "1769040000000000,90000,0.1,sell,"]
    );
}

#[test]
fn rows_say_when_they_came_by_this_machines_clock() {
    let folder = tempfile::tempdir().unwrap();
    let points = [trade("BTCUSDT", "7", "BUY", (MIDNIGHT, 0), 5.0)];
    recorder(folder.path()).events(&events(&json!(points))).unwrap();
    let text = fs::read_to_string(folder.path().join("trades/BYBIT/BTCUSDT/2026-01-22.csv")).unwrap();
    let rows = "exchange,symbol,timestamp,local_timestamp,price,amount,side,id\n\
                BYBIT,BTCUSDT,1769040000000000,1769040001001234,5,0.1,buy,7\n";
    assert_eq!(text, rows);
}

#[test]
fn readings_of_a_ticker_are_rows_of_what_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let reading = |kind: &str, name: &str, values: Value| {
        let mut values = values;
        values["timestamp"] = json!({"seconds": MIDNIGHT});
        json!({"series": {"type": kind, "exchange": "BYBIT", "symbol": "BTCUSDT"}, name: values})
    };
    let points = [
        reading("FUNDING_RATE", "fundingRate", json!({"fundingRate": 1e-4})),
        reading("FUNDING_RATE", "fundingRate", json!({"fundingRate": "-0.5", "predictedFundingRate": 0.0})),
        reading("OPEN_INTEREST", "openInterest", json!({"openInterest": 54_321.5})),
    ];
    recorder.events(&events(&json!(points))).unwrap();
    assert_eq!(
        lines(folder.path(), "derivative_ticker/BYBIT/BTCUSDT/2026-01-22.csv"),
        [
            "timestamp,funding_timestamp,funding_rate,predicted_funding_rate,open_interest,last_price,index_price,mark_price",
            "1769040000000000,,0.0001,,,,,",
            "1769040000000000,,-0.5,0,,,,",
            "1769040000000000,,,,54321.5,,,",
        ]
    );
}

#[test]
fn a_book_is_a_snapshot_and_then_what_changes() {
    let folder = tempfile::tempdir().unwrap();
    let first = recorder(folder.path());
    let points = [
        book(MIDNIGHT + 1, &[], &[]),
        book(MIDNIGHT + 60, &[100.0, 1.0, 99.0, 2.0], &[101.0, 3.0]),
        book(MIDNIGHT + 61, &[100.0, 1.0, 98.0, 4.0], &[101.0, 3.5]),
        book(MIDNIGHT + 62, &[100.0, 1.0, 98.0, 4.0], &[101.0, 3.5]),
        // The next day's file stands for itself.
        book(MIDNIGHT + 86_401, &[100.0, 1.0], &[]),
    ];
    first.events(&events(&json!(points))).unwrap();
    let day = "incremental_book_L2/BYBIT/BTCUSDT/2026-01-22.csv";
    let written = [
        "timestamp,is_snapshot,price,amount,side",
        // A microsecond early: the book of 00:01:00 holds what happened in the minute before.
        "1769040059999999,true,100,1,bid",
        "1769040059999999,true,99,2,bid",
        "1769040059999999,true,101,3,ask",
        "1769040060999999,false,99,0,bid",
        "1769040060999999,false,98,4,bid",
        "1769040060999999,false,101,3.5,ask",
    ];
    assert_eq!(lines(folder.path(), day), written);
    let next = "incremental_book_L2/BYBIT/BTCUSDT/2026-01-23.csv";
    assert_eq!(lines(folder.path(), next)[1..], ["1769126400999999,true,100,1,bid"]);
    assert_eq!((first.rows(), first.left_out()), (7, 0));
    drop(first);
    // Another recording goes on: its book begins anew, also right behind a snapshot.
    let second = recorder(folder.path());
    let points =
        [book(MIDNIGHT + 70, &[97.0, 5.0], &[102.0, 6.0]), book(MIDNIGHT + 86_402, &[97.0, 5.0], &[102.0, 6.0])];
    second.events(&events(&json!(points))).unwrap();
    let again = ["1769040069999999,true,97,5,bid", "1769040069999999,true,102,6,ask"];
    assert_eq!(lines(folder.path(), day), [&written[..], &again].concat());
    assert_eq!(
        lines(folder.path(), next)[2..],
        ["1769126401999999,false,97,0,bid", "1769126401999999,true,97,5,bid", "1769126401999999,true,102,6,ask"]
    );
}

#[test]
fn what_is_sent_again_after_a_restart_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let with_ids = |ids: &[&str]| {
        let trades: Vec<Value> = ids.iter().map(|id| trade("BTCUSDT", id, "BUY", (MIDNIGHT, 0), 5.0)).collect();
        events(&json!(trades))
    };
    recorder(folder.path()).events(&with_ids(&["1", "2", ""])).unwrap();
    let again = recorder(folder.path());
    again.events(&with_ids(&["2", "1", "3", "", "3"])).unwrap();
    let ids: Vec<String> = lines(folder.path(), "trades/BYBIT/BTCUSDT/2026-01-22.csv")[1..]
        .iter()
        .map(|line| rows::id_of(line).to_owned())
        .collect();
    // RowPayload came twice on one connection is the stream's matter; without an id it cannot be detected.
    assert_eq!((ids, again.rows()), (["1", "2", "", "3", "", "3"].map(str::to_owned).to_vec(), 3));
}

#[test]
fn what_cannot_be_a_row_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let mut without_time = trade("BTCUSDT", "1", "BUY", (MIDNIGHT, 0), 5.0);
    without_time["trade"].as_object_mut().unwrap().remove("timestamp");
    let mut without_price = trade("BTCUSDT", "1", "BUY", (MIDNIGHT, 0), 5.0);
    without_price["trade"]["price"] = "cheap".into();
    let points = [
        without_time,
        without_price,
        trade("BTCUSDT", "1", "NEITHER", (MIDNIGHT, 0), 5.0),
        trade("../../BTCUSDT", "1", "BUY", (MIDNIGHT, 0), 5.0),
        trade(".hidden", "1", "BUY", (MIDNIGHT, 0), 5.0),
        trade("", "1", "BUY", (MIDNIGHT, 0), 5.0),
        book(MIDNIGHT, &[1.0], &[]),
        json!({"series": {"type": "NEW"}, "new": {}}),
        json!({"heartbeat": 1}),
    ];
    recorder.events(&events(&json!(points))).unwrap();
    assert_eq!((recorder.rows(), recorder.left_out()), (0, 9));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is begun");
}

#[test]
fn a_service_writes_into_no_file_of_a_market_that_nobody_asked() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let mut elsewhere = trade("BTCUSDT", "1", "BUY", (MIDNIGHT, 0), 5.0);
    elsewhere["series"]["exchange"] = "BINANCE".into();
    let points =
        [trade("ETHUSDT", "1", "BUY", (MIDNIGHT, 0), 5.0), elsewhere, trade("BTCUSDT", "1", "BUY", (MIDNIGHT, 0), 5.0)];
    recorder.events(&events(&json!(points))).unwrap();
    assert_eq!((recorder.rows(), recorder.left_out()), (1, 2));
    let names = |path: &str| {
        fs::read_dir(folder.path().join(path)).unwrap().map(|one| one.unwrap().file_name()).collect::<Vec<_>>()
    };
    assert_eq!((names("trades"), names("trades/BYBIT")), (vec!["BYBIT".into()], vec!["BTCUSDT".into()]));
}

// faults.md row 47
#[cfg(unix)]
#[test]
fn nothing_is_recorded_behind_a_link_or_into_what_is_no_file() {
    let one_trade = || events(&json!([trade("BTCUSDT", "1", "BUY", (MIDNIGHT, 0), 5.0)]));
    for (place, depth) in [("trades", 0), ("trades/BYBIT", 1), ("trades/BYBIT/BTCUSDT", 2)] {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let link = folder.path().join(place);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(outside.path(), &link).unwrap();
        let error = recorder(folder.path()).events(&one_trade()).unwrap_err();
        assert!(error.problem.starts_with("a link") && error.path.ends_with(&link), "{depth}: {error}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "{place}");
    }
    // The folder of the recording is its owner's choice.
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::os::unix::fs::symlink(outside.path(), folder.path().join("recorded")).unwrap();
    recorder(&folder.path().join("recorded")).events(&one_trade()).unwrap();
    assert!(outside.path().join("trades/BYBIT/BTCUSDT/2026-01-22.csv").is_file());
    let day = "trades/BYBIT/BTCUSDT/2026-01-22.csv";
    for name in [day, "trades/BYBIT/BTCUSDT", RECORDING] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        let recorder = recorder(folder.path());
        let done = if name == RECORDING { recorder.opened(&[], UnixNanos(0)) } else { recorder.events(&one_trade()) };
        assert!(done.is_err(), "{name}");
    }
}

#[cfg(unix)]
#[test]
fn rows_count_once_written_and_one_file_s_failure_costs_no_other_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let channels = ["BTCUSDT", "ETHUSDT"].map(|symbol| Channel::new("TRADE", "BYBIT", symbol));
    let recorder = Recorder::new(folder.path(), &channels, Arc::new(ManualClock::default())).unwrap();
    let both = |id: &str| {
        let of = |symbol: &str| trade(symbol, id, "BUY", (MIDNIGHT, 0), 5.0);
        events(&json!([of("BTCUSDT"), of("ETHUSDT")]))
    };
    recorder.events(&both("1")).unwrap();
    fs::remove_dir_all(folder.path().join("trades/BYBIT/BTCUSDT")).unwrap();
    let error = recorder.events(&both("2")).unwrap_err();
    assert!(error.problem.contains("removed") && error.path.to_string_lossy().contains("BTCUSDT"), "{error}");
    assert_eq!(recorder.rows(), 3);
    let kept = lines(folder.path(), "trades/BYBIT/ETHUSDT/2026-01-22.csv");
    assert_eq!(kept.len(), 3, "a header and both rows: {kept:?}");
}

#[test]
fn channels_that_carry_no_raw_data_are_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("recording");
    let refused = |kind: &str, exchange: &str, symbol: &str| {
        let clock = Arc::new(ManualClock::default());
        let error = Recorder::new(&place, &[Channel::new(kind, exchange, symbol)], clock).err().unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        error.message
    };
    for kind in ["TRADE_AGG", "VOLUME_PROFILE_AGG", "SOMETHING_NEW"] {
        let message = refused(kind, "BYBIT", "BTCUSDT");
        let kinds = "record TRADE, LIQUIDATION, BLOCK_BOOK_SNAPSHOT, FUNDING_RATE, OPEN_INTEREST,";
        assert!(message.contains(&format!("record: {kind} is no raw data")) && message.contains(kinds), "{message}");
    }
    for name in ["BTC/USD", "..", "a,b", "a\nb", "a\"b", &"x".repeat(201)] {
        assert!(refused("TRADE", "BYBIT", name).contains("can be no folder's name"));
        assert!(refused("TRADE", name, "BTCUSDT").contains("can be no folder's name"));
    }
    assert!(!place.exists());
}

#[test]
fn a_folder_keeps_to_one_form_of_a_market_s_book() {
    let folder = tempfile::tempdir().unwrap();
    let book = |symbol: &str, size: &str| Channel::new("BLOCK_BOOK_SNAPSHOT", "BYBIT", symbol).with("blockSize", size);
    let of = |channels: &[Channel]| Recorder::new(folder.path(), channels, Arc::new(ManualClock::default()));
    let refused = |channels: &[Channel]| {
        let error = of(channels).err().unwrap();
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        error.message
    };
    let message = refused(&[book("BTCUSDT", "50"), book("BTCUSDT", "100")]);
    assert!(
        message.contains("BYBIT BTCUSDT in blocks of 50 (all levels) and in blocks of 100 (all levels)"),
        "{message}"
    );
    assert!(!folder.path().join("recording.jsonl").exists());
    let both = [book("BTCUSDT", "50"), book("ETHUSDT", "5"), Channel::new("TRADE", "BYBIT", "BTCUSDT")];
    let recorder = of(&both).unwrap();
    recorder.opened(&both, UnixNanos(0)).unwrap();
    recorder.close();
    let message = refused(&[book("ETHUSDT", "10")]);
    assert!(
        message.contains("BYBIT ETHUSDT in blocks of 5 (all levels) and in blocks of 10 (all levels)"),
        "{message}"
    );
    assert!(message.contains("a folder of its own"), "{message}");
    let message = refused(&[book("ETHUSDT", "5").with("maxDepth", "20")]);
    assert!(message.contains("in blocks of 5 (all levels) and in blocks of 5 (20 levels a side)"), "{message}");
    // Damage of the log hides nothing else.
    let log = folder.path().join("recording.jsonl");
    fs::write(&log, [fs::read(&log).unwrap(), b"\xff\xfe no JSON\n".to_vec()].concat()).unwrap();
    assert!(refused(&[book("ETHUSDT", "10")]).contains("in blocks of 5 (all levels) and in blocks of 10"));
    for channels in [[book("BTCUSDT", "50.0")], [book("SOLUSDT", "1")], [Channel::new("TRADE", "BYBIT", "ETHUSDT")]] {
        assert!(of(&channels).is_ok(), "{channels:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_log_that_is_no_file_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("recording.jsonl");
    let book = Channel::new("BLOCK_BOOK_SNAPSHOT", "BYBIT", "BTCUSDT").with("blockSize", "50");
    let refused = || {
        let clock = Arc::new(ManualClock::default());
        Recorder::new(folder.path(), std::slice::from_ref(&book), clock).err().unwrap().message
    };
    rustix::fs::mknodat(rustix::fs::CWD, &log, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert!(refused().contains("no file"), "{}", refused());
    fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &log).unwrap();
    assert!(refused().contains("none is followed"), "{}", refused());
}

#[test]
fn a_recording_that_another_one_shuts_out_notes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let channel = [Channel::new("TRADE", "BYBIT", "BTCUSDT")];
    let first = recorder(folder.path());
    first.opened(&channel, UnixSecond(MIDNIGHT).nanos()).unwrap();
    first.events(&events(&json!([trade("BTCUSDT", "1", "BUY", (MIDNIGHT, 0), 5.0)]))).unwrap();
    let noted = || fs::read_to_string(folder.path().join("recording.jsonl")).unwrap();
    let before = noted();
    let second = recorder(folder.path());
    let error = second.opened(&channel, UnixSecond(MIDNIGHT + 1).nanos()).unwrap_err();
    assert!(error.problem.contains("another recording writes it"), "{error}");
    second.close();
    assert_eq!(noted(), before);
    first.close();
    recorder(folder.path()).opened(&channel, UnixSecond(MIDNIGHT + 2).nanos()).unwrap();
}

#[test]
fn each_connection_of_a_recording_notes_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let trades = Channel::new("TRADE", "BYBIT", "BTCUSDT");
    let book = Channel::new("BLOCK_BOOK_SNAPSHOT", "BYBIT", "BTCUSDT").with("blockSize", "50");
    let clock = Arc::new(ManualClock::default());
    let recorder = Recorder::new(folder.path(), &[trades.clone(), book.clone()], clock).unwrap();
    for channel in [&trades, &book] {
        recorder.opened(std::slice::from_ref(channel), UnixSecond(MIDNIGHT).nanos()).unwrap();
    }
    recorder.events(&events(&json!([trade("BTCUSDT", "1", "BUY", (MIDNIGHT + 9, 0), 5.0)]))).unwrap();
    recorder.close();
    let text = fs::read_to_string(folder.path().join("recording.jsonl")).unwrap();
    let entries = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut ended: Vec<_> = entries.filter(|entry| entry.get("ended").is_some()).collect();
    ended.sort_by_key(|entry| entry["ended"].to_string());
    assert_eq!(
        ended,
        [
            json!({"ended": "2026-01-22T00:00:00Z", "channels": [book.to_json()]}),
            json!({"ended": "2026-01-22T00:00:09Z", "channels": [trades.to_json()]}),
        ]
    );
}

#[test]
fn many_markets_take_no_more_files_than_a_process_has() {
    let folder = tempfile::tempdir().unwrap();
    let channels: Vec<_> = (0..1_200).map(|market| Channel::new("TRADE", "BYBIT", format!("COIN{market}"))).collect();
    let recorder = Recorder::new(folder.path(), &channels, Arc::new(ManualClock::default())).unwrap();
    for round in 0..2 {
        for market in 0..1_200 {
            let one = trade(&format!("COIN{market}"), &format!("{round}"), "BUY", (MIDNIGHT, 0), 5.0);
            recorder.events(&events(&json!([one]))).unwrap();
        }
    }
    assert!(recorder.state().days.len() <= MOST_OPEN);
    assert_eq!(recorder.rows(), 2_400);
    for market in [0, 1_199] {
        assert_eq!(lines(folder.path(), &format!("trades/BYBIT/COIN{market}/2026-01-22.csv")).len(), 3);
    }
    recorder.close();
    let again = Recorder::new(folder.path(), &channels, Arc::new(ManualClock::default())).unwrap();
    again.opened(&channels, UnixSecond(MIDNIGHT).nanos()).unwrap();
    assert!(again.state().days.len() <= MOST_OPEN);
}

#[test]
fn beginnings_gaps_and_ends_are_noted_beside_the_dumps() {
    let folder = tempfile::tempdir().unwrap();
    let recorder = recorder(folder.path());
    let channel = Channel::new("TRADE", "BYBIT", "BTCUSDT");
    recorder.opened(std::slice::from_ref(&channel), UnixNanos(MIDNIGHT * 1_000_000_000 + 500_000_000)).unwrap();
    let gap = Gap {
        channels: Arc::new([channel.clone()]),
        from: UnixSecond(MIDNIGHT).nanos(),
        to: UnixSecond(MIDNIGHT + 2).nanos(),
        lasted: Duration::from_secs(2),
        attempts: 1,
        reason: "the service stops".into(),
    };
    recorder.gap(&gap).unwrap();
    recorder.events(&events(&json!([trade("BTCUSDT", "1", "BUY", (MIDNIGHT + 3, 0), 5.0)]))).unwrap();
    recorder.close();
    recorder.close();
    let text = fs::read_to_string(folder.path().join("recording.jsonl")).unwrap();
    let entries: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let channels = json!([channel.to_json()]);
    assert_eq!(
        entries[1..],
        [
            json!({"opened": "2026-01-22T00:00:00.5Z", "channels": channels}),
            json!({"gap": ["2026-01-22T00:00:00Z", "2026-01-22T00:00:02Z"], "reason": "the service stops", "channels": channels}),
            json!({"ended": "2026-01-22T00:00:03Z", "channels": channels}),
        ]
    );
}
