//! Files of neighbouring days that hold the same trades.

use std::cell::RefCell;

use super::*;
use crate::clock::UnixNanos;

/// A trade: seconds since the begin of 2024-12-01, side, price, amount.
type Row = (i64, &'static str, &'static str, &'static str);

/// Its row in a dump.
fn row((second, side, price, amount): Row) -> String {
    format!("x,y,{}000000,0,1,{side},{price},{amount}\n", DAY + second)
}

fn dump(trades: &[Row]) -> String {
    trades.iter().fold(TRADE_HEADER.to_owned(), |text, trade| text + &row(*trade))
}

/// Volume of all trades of the two days.
fn volume(place: &PartitionPath) -> f64 {
    let from = DAY - 86_400;
    let query = format!(
        "type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE&from={from}&period={}",
        4 * 86_400
    );
    let series = place.market().points(&PointsQuery::parse(&query).unwrap(), UnixNanos(LATER)).unwrap();
    series.first().map_or(0.0, |one| one.floats("volume").unwrap().iter().sum())
}

const FIRST: &str = "trades/BYBIT/BTCUSDT/2024-12-01.csv";
const SECOND: &str = "trades/BYBIT/BTCUSDT/2024-12-02.csv";
const NIGHT: i64 = 86_400;

#[test]
fn the_same_trade_in_two_files_counts_once_whichever_comes_first() {
    let first = [(10, "buy", "100", "1"), (NIGHT - 1, "buy", "100", "2"), (NIGHT + 1, "sell", "101", "4")];
    // The last of the first day and the first of the second once more, and trades of its own beside them.
    let second = [
        (NIGHT - 1, "buy", "100", "2"),
        (NIGHT - 1, "sell", "100", "2"),
        (NIGHT + 1, "sell", "101", "4"),
        (NIGHT + 2, "sell", "101", "4"),
    ];
    for order in [[FIRST, SECOND], [SECOND, FIRST]] {
        let place = PartitionPath::new();
        for file in order {
            place.put(file, &dump(if file == FIRST { &first } else { &second }));
            let report = place.ingest();
            assert!(report.problems.is_empty(), "{:?}", report.problems);
        }
        // 1 + 2 + 4 of the first, and a sale of 2 and one of 4 that only the second has.
        assert_eq!(volume(&place), 13.0, "{order:?}");
        assert_eq!(place.ingest().unchanged, 2);
        assert_eq!(volume(&place), 13.0);
    }
}

#[test]
fn equal_trades_of_one_file_are_as_many_as_it_holds() {
    let place = PartitionPath::new();
    place.put(FIRST, &dump(&[(NIGHT - 1, "buy", "100", "1"), (NIGHT - 1, "buy", "100", "1")]));
    place.put(SECOND, &dump(&[(NIGHT - 1, "buy", "100", "1"); 3]));
    place.ingest();
    assert_eq!(volume(&place), 3.0);
}

#[test]
fn a_file_that_a_neighbour_holds_whole_adds_nothing() {
    let trades = [(NIGHT - 2, "buy", "100", "1"), (NIGHT - 1, "buy", "100", "1")];
    let place = PartitionPath::new();
    place.put(FIRST, &dump(&trades));
    place.put(SECOND, &dump(&trades));
    assert_eq!(place.ingest().files, 2);
    assert_eq!((volume(&place), place.ingest().unchanged), (2.0, 2));
    // And one that is not in order of time.
    place.put(SECOND, &dump(&[(NIGHT + 5, "buy", "100", "7"), trades[1], trades[0]]));
    place.ingest();
    assert_eq!(volume(&place), 9.0);
}

#[test]
fn a_trade_that_one_file_has_no_more_is_taken_from_the_other() {
    let (own, shared, others) =
        ((10, "buy", "100", "1"), (NIGHT - 1, "buy", "100", "2"), (NIGHT + 2, "sell", "101", "4"));
    let more = (20, "sell", "99", "8");
    for order in [[FIRST, SECOND], [SECOND, FIRST]] {
        for changed in [FIRST, SECOND] {
            let place = PartitionPath::new();
            for file in order {
                place.put(
                    file,
                    &dump(&[if file == FIRST { own } else { shared }, if file == FIRST { shared } else { others }]),
                );
                place.ingest();
            }
            assert_eq!(volume(&place), 7.0);
            place.put(changed, &dump(&[if changed == FIRST { own } else { others }, more]));
            let report = place.ingest();
            assert_eq!((report.files, report.unchanged), (1, 1));
            assert_eq!(volume(&place), 15.0, "{order:?}, {changed} changed");
        }
    }
}

/// Two days that share a trade, ingested; the first day's file has it no more and another one instead.
fn changed() -> PartitionPath {
    let place = PartitionPath::new();
    place.put(FIRST, &dump(&[OWN, SHARED])).put(SECOND, &dump(&[SHARED, OTHERS]));
    place.ingest();
    assert_eq!(volume(&place), 7.0);
    place.put(FIRST, &dump(&[OWN, MORE]));
    place
}

const OWN: Row = (10, "buy", "100", "1");
const SHARED: Row = (NIGHT - 1, "buy", "100", "2");
const OTHERS: Row = (NIGHT + 2, "sell", "101", "4");
const MORE: Row = (20, "sell", "99", "8");

/// Volumes answered at each call of `keep_going`, and at the end.
fn volumes_meanwhile(place: &PartitionPath) -> Vec<f64> {
    let seen = RefCell::new(Vec::new());
    let look = || {
        seen.borrow_mut().push(volume(place));
        true
    };
    let report = ingest(&place.dumps, &place.store, &look).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    let mut seen = seen.into_inner();
    seen.push(volume(place));
    seen.dedup();
    seen
}

// faults.md row 46
#[test]
fn no_answer_between_the_steps_of_a_re_ingest_lacks_a_trade() {
    // The shared trade goes from the first file to the second in one step.
    assert_eq!(volumes_meanwhile(&changed()), [7.0, 15.0]);
    // The second file is another one as well: it goes along with the first.
    let place = changed();
    place.put(SECOND, &dump(&[SHARED, OTHERS, (NIGHT + 3, "buy", "102", "16")]));
    assert_eq!(volumes_meanwhile(&place), [7.0, 31.0]);
    // One that is not to be taken stays as it was cut: what it told is not among the dumps any more.
    let place = changed();
    place.put(SECOND, &dump(&[OTHERS]));
    let report = place.ingest();
    assert_eq!((report.files, report.unchanged, report.problems.len()), (1, 0, 1), "{report:?}");
    assert_eq!(volume(&place), 13.0);
}

#[test]
fn a_change_reaches_as_far_as_files_were_cut_against_each_other() {
    let third = "trades/BYBIT/BTCUSDT/2024-12-03.csv";
    let late = (2 * NIGHT - 1, "buy", "103", "32");
    let place = PartitionPath::new();
    place.put(FIRST, &dump(&[OWN, SHARED])).put(SECOND, &dump(&[SHARED, OTHERS, late]));
    place.put(third, &dump(&[late, (2 * NIGHT + 5, "buy", "103", "64")]));
    place.ingest();
    assert_eq!(volume(&place), 103.0);
    // Both shared trades change hands, the first to the second file and the second to the third.
    place.put(FIRST, &dump(&[OWN, MORE])).put(SECOND, &dump(&[SHARED, OTHERS, (NIGHT + 4, "buy", "1", "128")]));
    assert_eq!(volumes_meanwhile(&place), [103.0, 239.0]);
}

// faults.md row 45
#[test]
fn an_ingest_that_is_ended_within_a_change_leaves_the_store_as_it_was() {
    for most in 0..10 {
        let place = changed();
        let asked = Cell::new(0);
        let some = || {
            asked.set(asked.get() + 1);
            asked.get() <= most
        };
        let report = ingest(&place.dumps, &place.store, &some).unwrap();
        let (files, expected) = if report.files == 0 { (0, 7.0) } else { (1, 15.0) };
        assert_eq!((report.files, volume(&place)), (files, expected), "{most}");
        if !report.interrupted {
            return assert!(most > 2);
        }
        assert!(!place.contents().keys().any(|path| path.to_string_lossy().contains(".unfinished")), "{most}");
    }
    panic!("asked too often");
}

// faults.md row 45
#[test]
fn an_ingest_that_was_killed_among_the_files_of_a_change_is_brought_to_its_end() {
    let place = changed();
    let before = place.contents();
    place.ingest();
    let whole = place.contents();
    let placed: Vec<&PathBuf> =
        whole.iter().filter(|(path, bytes)| before[*path] != **bytes).map(|(path, _)| path).collect();
    let parts = || placed.iter().filter(|path| path.ends_with("part.parquet"));
    assert_eq!(parts().count(), 4, "events and bars of two days: {placed:?}");
    // Whichever of them were not in their places yet: the order is that of the days, events before bars.
    for some in 0..1 << 4 {
        for (number, path) in parts().enumerate() {
            let files = if some >> number & 1 == 1 { &before } else { &whole };
            fs::write(path, &files[*path]).unwrap();
        }
        place.ingest();
        assert_eq!(volume(&place), 15.0, "{some:#b}");
    }
    place.ingest();
    assert_eq!(
        parts().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>(),
        parts().map(|path| whole[*path].clone()).collect::<Vec<_>>()
    );
}

#[test]
fn files_that_hold_a_trade_unequally_often_end_with_the_most() {
    let times = |count: usize| dump(&vec![(NIGHT + 5, "buy", "100", "1"); count]);
    let third = "trades/BYBIT/BTCUSDT/2024-12-03.csv";
    for counts in [[3, 2, 2], [0, 2, 1], [1, 3, 2], [2, 0, 2], [1, 1, 3]] {
        let place = PartitionPath::new();
        for (file, count) in [(FIRST, 1), (SECOND, 2), (third, 2)] {
            // Beside it a trade of its own, so that no file is without any.
            place.put(file, &(times(count) + &row((NIGHT + 5, "sell", "100", "1"))));
        }
        place.ingest();
        assert_eq!(volume(&place), 3.0);
        for (file, count) in [FIRST, SECOND, third].into_iter().zip(counts) {
            place.put(file, &(times(count) + &row((NIGHT + 5, "sell", "100", "1"))));
            Ingest::new(&place.dumps, &place.store).allow_fewer_rows(true).run(&|| true).unwrap();
        }
        assert_eq!(volume(&place), 1.0 + *counts.iter().max().unwrap() as f64, "{counts:?}");
    }
}
