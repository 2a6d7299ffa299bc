//! Whole ingests of small dumps.

mod again;
mod blocks;
mod books;
mod overlap;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::clock::UnixNanos;
use crate::market::engine::Market;
use crate::protocol::PointsQuery;

/// 2024-12-01 00:00 UTC.
const DAY: i64 = 1_733_011_200;
const LATER: i64 = (DAY + 30 * 86_400) * 1_000_000_000;

const BOOK_HEADER: &str = "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n";
const TRADE_HEADER: &str = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n";
const CHAIN_HEADER: &str = "exchange,symbol,timestamp,local_timestamp,type,strike_price,expiration,open_interest,\
    last_price,bid_price,bid_amount,bid_iv,ask_price,ask_amount,ask_iv,mark_price,mark_iv,underlying_index,\
    underlying_price,delta,gamma,vega,theta,rho\n";

struct PartitionPath {
    _folder: tempfile::TempDir,
    dumps: PathBuf,
    store: PathBuf,
}

impl PartitionPath {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (dumps, store) = (folder.path().join("dumps"), folder.path().join("store"));
        fs::create_dir_all(&dumps).unwrap();
        Self { _folder: folder, dumps, store }
    }

    fn put(&self, path: &str, text: &str) -> &Self {
        let file = self.dumps.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
        self
    }

    fn ingest(&self) -> IngestReport {
        ingest(&self.dumps, &self.store, &|| true).unwrap()
    }

    /// Every file of the store with its bytes.
    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.store.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else {
                    files.insert(entry.path(), fs::read(entry.path()).unwrap());
                }
            }
        }
        files
    }

    fn market(&self) -> Market {
        Market::open(&self.store).unwrap()
    }
}

/// Lines of the problems, by column.
fn problem_lines(report: &IngestReport) -> Vec<(u64, &str)> {
    report.problems.iter().map(|problem| (problem.line, &*problem.column)).collect()
}

fn chain(rows: &[&str]) -> String {
    rows.iter().fold(CHAIN_HEADER.to_owned(), |text, row| text + row + "\n")
}

fn option_row(symbol: &str, second: i64, kind: &str, strike: &str, iv: &str, delta: &str) -> String {
    let (time, expiry) = (DAY + second, DAY + 7 * 86_400 + 3_600);
    format!("deribit,{symbol},{time}000000,0,{kind},{strike},{expiry}000000,1,,,,,,,,0.1,{iv},i,100,{delta},0,0,0,0")
}

#[test]
fn bad_options_are_named_by_column_and_only_the_file_of_all_options_is_read() {
    let place = PartitionPath::new();
    let good = option_row("BTC-8DEC24-100-C", 5, "call", "100", "50", "0.5");
    let bad = [
        good.replace("BTC-8DEC24-100-C", "BTCUSDT"),
        good.replace(",call,", ",C,"),
        good.replace(",call,100,", ",call,0,"),
        good.replace("1733619600000000", "never"),
        good.replace(",0.1,50,", ",0.1,fifty,"),
        good.replace(",0.5,0", ",half,0"),
        good.replace(",100,0.5", ",nan,0.5"),
        good.replace(&format!("{}000000", DAY + 5), "5"),
    ];
    let rows: Vec<&str> = bad.iter().chain([&good]).map(String::as_str).collect();
    place.put("options_chain/DERIBIT/OPTIONS/2024-12-01.csv", &chain(&rows));
    place.put("options_chain/DERIBIT/BTC-8DEC24-100-C/2024-12-01.csv", &chain(&rows));
    let report = place.ingest();
    let columns = ["symbol", "type", "strike_price", "expiration", "mark_iv", "delta", "underlying_price", "timestamp"];
    let mut expected = vec![(0, "")];
    expected.extend(columns.iter().enumerate().map(|(row, column)| (row as u64 + 2, *column)));
    assert_eq!((problem_lines(&report), report.files, report.rows), (expected, 1, 1), "{report:?}");
    assert!(report.problems[0].what.contains("OPTIONS/DAY.csv.gz"));
}

const SUPPLY_HEADER: &str = "coin,token_name,timestamp,marketcap,chain,marketcap_dominance_percent,usd_price\n";

#[test]
fn bad_rows_of_tables_are_named_by_column() {
    let place = PartitionPath::new();
    let condition = format!("0x{}", "a".repeat(64));
    let supply = [
        format!("BTC,Bitcoin,{DAY}000000,1e12,BITCOIN,55,90000"),
        format!("BTC,Bitcoin,{DAY}000000,1e12,BITCOIN,55,90000"), // again
        format!("BTC,Bitcoin,{DAY},1e12,BITCOIN,55,90000"),       // seconds
        format!(",Bitcoin,{DAY}000000,1e12,BITCOIN,55,90000"),
        format!("BTC,Bitcoin,{DAY}000000,,BITCOIN,55,90000"),
        format!("BTC,Bitcoin,{DAY}000000,1e12,X,101,90000"),
        format!("BTC,Bitcoin,{DAY}000000,1e12,X,55,-1"),
        format!("BTC,Wrapped, Bitcoin,{DAY}000000,1e12,X,55,1"),
    ];
    place.put("token_supply/all.csv", &format!("{SUPPLY_HEADER}{}\n", supply.join("\n")));
    let markets = [
        format!("{condition},\"Will it, or not?\",Yes|No,11|22,{DAY},0.5,|1"),
        format!("{condition},Again?,Yes|No,11|22,{DAY},0.5,"),
        format!("0xab,Who?,Yes|No,11|22,{DAY},0.5,"),
        format!("{},Whose?,Yes|No,11|33,{DAY},0.5,", condition.replace('a', "b")),
        format!("{condition},Rounded?,Yes|No,1.1e70|22,{DAY},0.5,"),
        format!("{condition},Three?,Yes|No,11|22|33,{DAY},0.5,"),
        format!("{condition},When?,Yes|No,11|22,{DAY}000,0.5,"),
        format!("{condition},Price?,Yes|No,11|22,{DAY},50,"),
        format!("{condition},Paid?,Yes|No,11|22,{DAY},0.5,1|2"),
    ];
    let header = "condition_id,question,outcomes,asset_ids,available_since,last_price,resolved_prices\n";
    place.put("markets/2024/a.csv", &format!("{header}{}\n", markets.join("\n")));
    let positions = [
        format!("0xw,11,{condition},5,0,0.5,3"),
        format!("0xw,11,{condition},6,0,0.5,3"),
        format!(",11,{condition},5,0,0.5,3"),
        format!("0xv,11,{condition},-5,0,0.5,3"),
        format!("0xv,11,{condition},5,0,1.5,3"),
        format!("0xv,11,{condition},5,0,0.5,2.5"),
    ];
    let header = "wallet_address,asset_id,condition_id,unrealized_size,realized_size,avg_price,buy_counts\n";
    place.put("positions/a.csv", &format!("{}{}\n", header.replace("buy_counts", "buy_count"), positions.join("\n")));
    place.put("positions/b.csv", &format!("{header}{}\n", positions[0])); // a column that is not known
    place.put("positions/c.csv", "wallet_address,asset_id\n0xw,11\n");

    let report = place.ingest();
    let of = |file: &str| -> Vec<(u64, &str)> {
        let problems = report.problems.iter().filter(|problem| problem.file.ends_with(file));
        problems.map(|problem| (problem.line, &*problem.column)).collect()
    };
    let numbered = |columns: &[&'static str]| -> Vec<(u64, &str)> {
        columns.iter().enumerate().map(|(row, column)| (row as u64 + 3, *column)).collect()
    };
    let columns = ["timestamp", "timestamp", "coin", "marketcap", "marketcap_dominance_percent", "usd_price", ""];
    assert_eq!(of("all.csv"), numbered(&columns), "{report:#?}");
    let columns = [
        "timestamp",
        "condition_id",
        "asset_ids",
        "asset_ids",
        "asset_ids",
        "available_since",
        "last_price",
        "resolved_prices",
    ];
    assert_eq!(of("markets/2024/a.csv"), numbered(&columns), "{report:#?}");
    let columns = ["asset_id", "wallet_address", "unrealized_size", "avg_price", "buy_count"];
    assert_eq!(of("positions/a.csv"), numbered(&columns), "{report:#?}");
    assert_eq!((of("b.csv"), of("c.csv")), (vec![(1, "buy_counts")], vec![(1, "")]));
    assert_eq!((report.files, report.rows), (4, 4));
    let all: Vec<&str> = report.problems.iter().map(|problem| &*problem.what).collect();
    for wanted in ["keep the column as text", "did you mean buy_count?", "quote fields", "keep one", "microseconds"] {
        assert!(all.iter().any(|what| what.contains(wanted)), "{wanted}: {all:#?}");
    }
    let before = place.contents();
    let again = place.ingest();
    assert_eq!((again.files, again.unchanged), (0, 4));
    assert_eq!(place.contents(), before);
}

#[test]
fn folders_that_no_query_can_name_are_reported_one_by_one() {
    let place = PartitionPath::new();
    let trades = format!("{TRADE_HEADER}x,y,{DAY}000000,0,1,buy,2,3\n");
    place.put("trades/OKEX/BTC-USDT/2024-12-01.csv", &trades);
    let long = "€".repeat(40);
    place.put(&format!("trades/OKEX/{long}/2024-12-01.csv"), &trades);
    place.put(&format!("trades/{long}/BTC-USDT/2024-12-01.csv"), &trades);
    place.put(&format!("token_supply/{long}.csv"), SUPPLY_HEADER);
    let fits = "€".repeat(27); // 243 bytes, nine each
    place.put(&format!("trades/OKEX/{fits}/2024-12-01.csv"), &trades);
    let mut expected = 3;
    #[cfg(target_os = "linux")] // others refuse such names
    {
        use std::os::unix::ffi::OsStrExt;
        for name in [b"BTC\xff", b"BTC\xfe"] {
            let folder = place.dumps.join("trades/OKEX").join(std::ffi::OsStr::from_bytes(name));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("2024-12-01.csv"), &trades).unwrap();
        }
        let table = place.dumps.join("token_supply").join(std::ffi::OsStr::from_bytes(b"BTC\xff.csv"));
        fs::write(table, SUPPLY_HEADER).unwrap();
        expected += 3;
    }
    let report = place.ingest();
    assert_eq!((report.files, report.problems.len()), (2, expected), "{report:#?}");
    let long = report.problems.iter().filter(|problem| problem.what.contains("at most 246 fit"));
    assert!(long.clone().all(|problem| problem.file.contains("€€€")) && long.count() == 3, "{report:#?}");
    let symbols: Vec<String> = {
        let filters = crate::protocol::Filters::parse("type=TRADE_AGG");
        let list = place.market().list(crate::protocol::DiscoveryList::Symbols, &filters, UnixNanos(LATER)).unwrap();
        serde_json::from_value(list).unwrap()
    };
    assert_eq!(symbols, ["BTC-USDT".to_owned(), fits]);
}

#[test]
fn an_ingest_can_be_ended_within_a_file_and_leaves_whole_files_only() {
    let rows = 3 << 15;
    let big = |header: &str, row: &dyn Fn(i64) -> String| {
        (0..rows).fold(header.to_owned(), |mut text, index| {
            text.push_str(&row(index));
            text.push('\n');
            text
        })
    };
    let book = |index: i64| {
        let side = if index % 2 == 0 { "bid,9" } else { "ask,10" };
        format!("x,y,{DAY}{:06},0,{},{side},{}", index, index < 2, index + 1)
    };
    let kinds = [
        ("trades/OKEX/BTC-USDT/2024-12-01.csv", big(TRADE_HEADER, &|index| format!("x,y,{DAY}{index:06},0,1,buy,2,3"))),
        ("incremental_book_L2/OKEX/BTC-USDT/2024-12-01.csv", big(BOOK_HEADER, &book)),
        (
            "options_chain/DERIBIT/OPTIONS/2024-12-01.csv",
            big(CHAIN_HEADER, &|_| option_row("BTC-8DEC24-100-C", 5, "call", "100", "50", "0.5")),
        ),
        (
            "token_supply/a.csv",
            big(SUPPLY_HEADER, &|index| format!("BTC,Bitcoin,{DAY}{index:06},1e12,BITCOIN,55,90000")),
        ),
    ];
    for (path, text) in kinds {
        let place = PartitionPath::new();
        place.put(path, &text);
        // Asked before the file, and then twice within it.
        let asked = Cell::new(0);
        let twice = || {
            asked.set(asked.get() + 1);
            asked.get() < 3
        };
        let report = ingest(&place.dumps, &place.store, &twice).unwrap();
        assert_eq!((asked.get(), report.interrupted, report.files), (3, true, 0), "{path}: {report:?}");
        assert!(place.contents().keys().all(|file| file.ends_with(".ingest")), "{path}");
        let report = place.ingest();
        assert_eq!((report.interrupted, report.files, report.rows), (false, 1, rows as usize), "{path}");
    }
}

#[test]
fn what_a_killed_ingest_left_is_removed_once_nobody_can_be_writing_it() {
    let place = PartitionPath::new();
    place.put("trades/OKEX/BTC-USDT/2024-12-01.csv", &format!("{TRADE_HEADER}x,y,{DAY}000000,0,1,buy,2,3\n"));
    place.ingest();
    let contents = place.contents();
    let made = contents.keys().find(|path| path.ends_with("part.parquet")).unwrap();
    let folder = made.parent().unwrap().to_owned();
    let leave = |name: &str, age: u64| {
        let path = folder.join(name);
        let file = fs::File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        path
    };
    let (old, new) = (leave(".unfinished-part.parquet-000old", 7_200), leave(".unfinished-part.parquet-000new", 60));
    let report = place.ingest();
    assert_eq!((report.files, report.unchanged, old.exists(), new.exists()), (0, 1, false, true));
    place.market();
}

#[test]
fn a_changed_table_or_chain_replaces_what_it_held() {
    let place = PartitionPath::new();
    let supply = |cap: &str| format!("{SUPPLY_HEADER}BTC,Bitcoin,{DAY}000000,{cap},BITCOIN,55,90000\n");
    let options = |iv: &str| {
        let quote = |days: i64, kind: &str, strike: &str| {
            option_row("BTC-X", 5, kind, strike, iv, "0.5")
                .replace(&format!("{}000000,1", DAY + 7 * 86_400 + 3_600), &format!("{}000000,1", DAY + days * 86_400))
        };
        let rows = [quote(5, "call", "110"), quote(5, "put", "90"), quote(9, "call", "110"), quote(9, "put", "90")];
        chain(&rows.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let ask = |query: &str, column: &str| -> Vec<f64> {
        let query = format!("{query}&interval=MINUTE&from={DAY}&period=180");
        let series = place.market().points(&PointsQuery::parse(&query).unwrap(), UnixNanos(LATER)).unwrap();
        series[0].floats(column).unwrap().to_vec()
    };
    let volatility =
        "type=IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG&exchange=DERIBIT&coin=BTC&rawSymbol=BTC_ATM&tenor=ONE_W";
    for (cap, iv) in [("1e12", "50"), ("2e12", "60")] {
        place.put("token_supply/BTC.csv", &supply(cap));
        place.put("options_chain/DERIBIT/OPTIONS/2024-12-01.csv", &options(iv));
        let report = place.ingest();
        assert_eq!((report.files, report.problems.len()), (2, 0), "{report:?}");
        let cap: f64 = cap.parse().unwrap();
        assert_eq!(ask("type=TOKEN_SUPPLY_AGG&coin=BTC", "marketcap"), [cap; 3]);
        // The first whole minute after the quotes is the second of the day.
        let values = ask(volatility, "implied_volatility");
        let iv: f64 = iv.parse().unwrap();
        assert!(values.len() == 2 && values.iter().all(|value| (value - iv).abs() < 1e-9), "{values:?}");
        assert_eq!(place.ingest().unchanged, 2);
    }
}

#[test]
fn bad_rows_are_reported_again_until_the_file_is_mended() {
    let place = PartitionPath::new();
    let row = |price: &str| format!("x,y,{DAY}000000,0,1,buy,{price},3\n");
    let (path, good) = ("trades/OKEX/BTC-USDT/2024-12-01.csv", row("2"));
    place.put(path, &format!("{TRADE_HEADER}{good}{}{}", row("nan"), row("-1")));
    assert_eq!(place.ingest().problems.len(), 2);
    let contents = place.contents();
    for _ in 0..2 {
        let report = place.ingest();
        let problems: Vec<_> = report.problems.iter().map(|one| (one.line, one.what.contains("2 bad rows"))).collect();
        assert_eq!((report.files, report.unchanged, &problems[..]), (0, 1, &[(0, true)][..]), "{report:?}");
    }
    assert_eq!(place.contents(), contents);
    place.put(path, &format!("{TRADE_HEADER}{good}"));
    assert_eq!(place.ingest().problems, []);
    assert_eq!(place.ingest().problems, []);
}

#[test]
fn a_folder_of_no_kind_is_reported() {
    let place = PartitionPath::new();
    place.put("quotes/OKEX/BTC-USDT/2024-12-01.csv", "x\n");
    place.put("token_supply/deep/er/a.csv", SUPPLY_HEADER);
    place.put("token_supply/notes.txt", "x\n");
    let report = place.ingest();
    let what = |file: &Path| {
        let file = place.dumps.join(file).display().to_string();
        report.problems.iter().find(|problem| problem.file == file).map(|problem| problem.what.clone()).unwrap()
    };
    let known = what(Path::new("quotes"));
    // In the order in which they are read: of the books of a day, the complete one comes first.
    let names = "derivative_ticker, incremental_book_L2, book_snapshot_25, book_snapshot_5, liquidations, markets, \
                 options_chain, positions, token_supply, trades";
    assert!(known.ends_with(names), "{known}");
    assert!(what(Path::new("token_supply/deep/er")).contains("one folder down"));
    assert!(what(Path::new("token_supply/notes.txt")).contains("NAME.csv"));
    assert_eq!(report.problems.len(), 3);
}
