//! Files of neighbouring days that hold the same trades.

use super::*;

/// A trade at so many seconds of 2024-12-01: its row in a dump.
fn row((second, side, price, amount): (i64, &str, &str, &str)) -> String {
    format!("x,y,{}000000,0,1,{side},{price},{amount}\n", DAY + second)
}

fn dump(trades: &[(i64, &'static str, &'static str, &'static str)]) -> String {
    trades.iter().fold(TRADE_HEADER.to_owned(), |text, trade| text + &row(*trade))
}

/// Volume of all trades of the two days.
fn volume(place: &PartitionPath) -> f64 {
    let from = DAY - 86_400;
    let query = format!(
        "type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE&from={from}&period={}",
        4 * 86_400
    );
    let series = place.market().points(&PointsQuery::parse(&query).unwrap(), LATER).unwrap();
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
fn equal_trades_of_one_file_are_as_many_as_it_tells() {
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

#[test]
fn an_ingest_that_was_ended_before_it_read_a_neighbour_again_is_brought_to_its_end() {
    let (own, shared, others) =
        ((10, "buy", "100", "1"), (NIGHT - 1, "buy", "100", "2"), (NIGHT + 2, "sell", "101", "4"));
    let more = (20, "sell", "99", "8");
    let place = PartitionPath::new();
    place.put(FIRST, &dump(&[own, shared]));
    place.put(SECOND, &dump(&[shared, others]));
    place.ingest();
    place.put(FIRST, &dump(&[own, more])); // the shared trade is the second file's again
    let changes = || fs::read_to_string(place.store.join(".changes")).unwrap();
    let before = changes();
    // As a kill right after the first file was put in its place.
    let ended = ingest(&place.dumps, &place.store, &|| changes() == before).unwrap();
    assert!(ended.interrupted && ended.files == 1);
    assert_eq!(volume(&place), 13.0, "the shared trade is in neither file");
    let report = place.ingest();
    assert_eq!((report.files, report.unchanged), (0, 2));
    assert_eq!(volume(&place), 15.0);
    let whole = place.contents();
    place.ingest();
    assert_eq!(place.contents(), whole);
}

#[test]
fn files_that_tell_a_trade_unequally_often_end_with_the_most() {
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
