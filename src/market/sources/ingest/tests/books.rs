//! Dumps of books: snapshots, and which of several dumps counts.

use super::*;
use crate::clock::UnixNanos;

/// Second of the day, bids, asks.
type Row<'a> = (i64, &'a [(f64, f64)], &'a [(f64, f64)]);

/// The best bid of the day: price and volume.
fn best_bid(place: &PartitionPath) -> (f64, f64) {
    let query = format!(
        "type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol=XRPUSDT&interval=DAY&blockSize=1&from={DAY}&period=86400"
    );
    let series = place.market().points(&PointsQuery::parse(&query).unwrap(), UnixNanos(LATER)).unwrap();
    let (levels, split) = series[0].levels().unwrap();
    let last = 2 * split[0] as usize - 2;
    (levels.values[last], levels.values[last + 1])
}

fn changes(bid: f64) -> String {
    format!("{BOOK_HEADER}x,y,{DAY}000001,0,true,bid,{bid},2\nx,y,{DAY}000001,0,true,ask,90,2\n")
}

/// Rows of a snapshot dump: seconds into the day, bids, asks.
fn snapshots(levels: usize, rows: &[Row<'_>]) -> String {
    let mut text = "exchange,symbol,timestamp,local_timestamp".to_owned();
    for level in 0..levels {
        write!(text, ",asks[{level}].price,asks[{level}].amount,bids[{level}].price,bids[{level}].amount").unwrap();
    }
    for (second, bids, asks) in rows {
        write!(text, "\nx,y,{}000000,0", DAY + second).unwrap();
        for level in 0..levels {
            for side in [asks, bids] {
                match side.get(level) {
                    Some((price, amount)) => write!(text, ",{price},{amount}").unwrap(),
                    None => text.push_str(",,"),
                }
            }
        }
    }
    text + "\n"
}

#[test]
fn of_a_days_books_the_one_that_holds_most_is_kept() {
    let place = PartitionPath::new();
    let book = |levels, bid| snapshots(levels, &[(1, &[(bid, 1.0)], &[(90.0, 1.0)])]);
    place.put("book_snapshot_5/BYBIT/XRPUSDT/2024-12-01.csv", &book(5, 5.0));
    assert_eq!((place.ingest().files, best_bid(&place).0), (1, 5.0));
    place.put("book_snapshot_25/BYBIT/XRPUSDT/2024-12-01.csv", &book(25, 25.0));
    let report = place.ingest();
    assert_eq!((report.files, report.unchanged, best_bid(&place).0), (1, 1, 25.0));
    place.put("incremental_book_L2/BYBIT/XRPUSDT/2024-12-01.csv", &changes(50.0));
    let report = place.ingest();
    assert_eq!((report.files, report.unchanged, best_bid(&place).0), (1, 2, 50.0));

    // A changed dump of a lesser kind changes nothing; one of the kind itself does.
    place.put("book_snapshot_25/BYBIT/XRPUSDT/2024-12-01.csv", &book(25, 26.0));
    let before = place.contents();
    let report = place.ingest();
    assert_eq!((report.files, report.unchanged, &report.problems[..]), (0, 3, &[][..]));
    assert_eq!(place.contents(), before);
    place.put("incremental_book_L2/BYBIT/XRPUSDT/2024-12-01.csv", &changes(51.0));
    assert_eq!((place.ingest().files, best_bid(&place).0), (1, 51.0));

    // All at once comes to the same, and a dump that cannot be taken hides no other.
    fs::remove_dir_all(&place.store).unwrap();
    let report = place.ingest();
    assert_eq!((report.files, report.unchanged, best_bid(&place).0), (1, 2, 51.0));
    fs::remove_dir_all(&place.store).unwrap();
    let holes = format!("{BOOK_HEADER}x,y,{DAY}000001,0,false,bid,7,2\n");
    place.put("incremental_book_L2/BYBIT/XRPUSDT/2024-12-01.csv", &holes);
    let report = place.ingest();
    assert_eq!((report.files, report.rows, report.unchanged, best_bid(&place).0), (1, 1, 1, 26.0));
    assert!(report.problems[0].what.contains("no snapshot in the file"), "{report:?}");
}

#[test]
fn a_bucket_holds_the_last_snapshot_as_of_now() {
    let place = PartitionPath::new();
    let rows: [Row<'_>; 4] = [
        (10, &[(50.0, 1.0), (49.0, 2.0)], &[(51.0, 3.0)]),
        (70, &[(49.0, 4.0)], &[(51.0, 3.0), (52.0, 1.0)]),
        (200, &[(49.0, 4.0)], &[(51.0, 3.0), (52.0, 1.0)]), // nothing moved, but the book was seen
        (260, &[], &[]),
    ];
    place.put("book_snapshot_5/BYBIT/XRPUSDT/2024-12-01.csv", &snapshots(5, &rows));
    assert!(place.ingest().problems.is_empty());
    let ask = |now: i64| {
        let query = format!(
            "type=BLOCK_BOOK_SNAPSHOT_AGG&exchange=BYBIT&rawSymbol=XRPUSDT&interval=MINUTE&blockSize=1\
             &from={DAY}&period=600"
        );
        let series = place.market().points(&PointsQuery::parse(&query).unwrap(), UnixNanos(now)).unwrap();
        let (levels, _) = series[0].levels().unwrap();
        let rows = series[0].timestamps.iter().enumerate().map(|(row, time)| {
            let span = levels.offsets[row] as usize..levels.offsets[row + 1] as usize;
            (time / 1_000_000_000 - DAY, levels.values[span].to_vec())
        });
        rows.collect::<Vec<_>>()
    };
    let (first, second) = (vec![49.0, 2.0, 50.0, 1.0, 51.0, 3.0], vec![49.0, 4.0, 51.0, 3.0, 52.0, 1.0]);
    assert_eq!(ask(LATER), [(0, first.clone()), (60, second.clone()), (180, second), (240, vec![])]);
    assert_eq!(ask((DAY + 69) * 1_000_000_000), [(0, first)]);
}

#[test]
fn bad_snapshots_are_named_by_column() {
    let place = PartitionPath::new();
    let good = snapshots(5, &[(1, &[(50.0, 1.0), (49.0, 2.0)], &[(51.0, 3.0), (52.0, 1.0)])]);
    let (header, row) = good.trim_end().split_once('\n').unwrap();
    let bad = [
        row.replace(",51,3,", ",51,x,"),
        row.replace(",51,3,", ",51,,"),
        row.replace(",51,3,", ",,3,"),
        row.replace(",51,3,", ",53,3,"),
        row.replace(",50,1,", ",48,1,"),
        row.replace(",50,1,", ",-50,1,"),
        row.replace("000000,0,", "000000000,0,"),
        row.replace(",50,1,", ",50,"),
    ];
    place.put("book_snapshot_5/BYBIT/XRPUSDT/2024-12-01.csv", &format!("{header}\n{row}\n{}\n", bad.join("\n")));
    let report = place.ingest();
    let columns = ["asks[0].amount", "asks[0].amount", "asks[0].price", "asks[1].price", "bids[1].price"];
    let columns = columns.iter().chain(&["bids[0].price", "timestamp", ""]);
    let expected: Vec<(u64, &str)> = columns.enumerate().map(|(row, column)| (row as u64 + 3, *column)).collect();
    assert_eq!((problem_lines(&report), report.files, report.rows), (expected, 1, 1), "{report:?}");
}

#[test]
fn changes_before_the_first_snapshot_are_no_rows_that_a_file_has() {
    let place = PartitionPath::new();
    let file = "incremental_book_L2/BYBIT/XRPUSDT/2024-12-01.csv";
    let row = |second: i64, snapshot: bool| format!("x,y,{}000000,0,{snapshot},bid,{},5\n", DAY + second, 10 + second);
    let whole: String = (0..20).map(|second| row(second, true)).collect();
    place.put(file, &format!("{BOOK_HEADER}{whole}"));
    assert_eq!(place.ingest().rows, 20);
    let before = place.contents();
    let holes: String = (0..30).map(|second| row(second, second == 29)).collect();
    place.put(file, &format!("{BOOK_HEADER}{holes}"));
    let report = place.ingest();
    assert_eq!((report.files, report.rows), (0, 0));
    assert!(report.problems.iter().any(|problem| problem.what.contains("1 good rows, where the store holds 20")));
    assert_eq!(place.contents(), before);
}
