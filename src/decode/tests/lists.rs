//! Rows with a list between their other values, which are found by counting the brackets that close.

use super::agreement::verdict;
use crate::columns::{Column, ColumnName, Series};

/// A profile whose levels have lists of those texts.
fn profile(lists: &[String]) -> String {
    let levels: Vec<String> = lists
        .iter()
        .enumerate()
        .map(|(row, list)| {
            format!(r#"{{"price":{row},"block_ids":[{list}],"buy_volume":{row}.25,"sell_volume":1.5e+0{}}}"#, row % 10)
        })
        .collect();
    format!(
        r#"{{"series":[{{"id":{{"type":"TPO_AGG"}},"points":[{{"Point":{{"TpoAggregation":{{"timestamp":{{"s":5}},"levels":[{}],"poc_price":1}}}}}}]}}]}}"#,
        levels.join(",")
    )
}

fn counting(count: usize) -> String {
    (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",")
}

fn levels(series: &Series) -> &[(ColumnName, Column)] {
    let rows = series.columns.iter().find_map(|(_, column)| match column {
        Column::Rows(rows) => Some(&rows.columns[..]),
        _ => None,
    });
    rows.unwrap()
}

fn column<'a>(columns: &'a [(ColumnName, Column)], name: &str) -> &'a Column {
    &columns.iter().find(|(other, _)| other == name).unwrap().1
}

#[test]
fn lists_of_any_length_keep_their_rows() {
    // None, few, around what is copied at once and around a block, and longer than a stretch that is looked through.
    let lengths = [3, 0, 1, 0, 31, 32, 33, 34, 63, 64, 65, 0, 700, 2, 6_000, 1];
    let lengths: Vec<usize> = (0..600).map(|row| if row % 37 < 16 { lengths[row % 37] } else { row % 25 }).collect();
    let body = profile(&lengths.iter().map(|count| counting(*count)).collect::<Vec<_>>());
    for turn in 0..8 {
        let series = verdict(body.as_bytes(), 9_001 * turn).unwrap();
        let columns = levels(&series[0]);
        let Column::List(list) = column(columns, "block_ids") else { panic!() };
        assert_eq!(list.len(), lengths.len());
        for (row, count) in lengths.iter().enumerate() {
            assert_eq!(list.row(row), (0..*count).map(|number| number as f64).collect::<Vec<_>>(), "{row}");
        }
        let count = lengths.len();
        let Column::Float(prices) = column(columns, "price") else { panic!() };
        let Column::Float(buys) = column(columns, "buy_volume") else { panic!() };
        let Column::Float(sells) = column(columns, "sell_volume") else { panic!() };
        assert_eq!(prices[..], (0..count).map(|row| row as f64).collect::<Vec<_>>());
        assert_eq!(buys[..], (0..count).map(|row| row as f64 + 0.25).collect::<Vec<_>>());
        assert_eq!(sells[..], (0..count).map(|row| 1.5 * 10f64.powi((row % 10) as i32)).collect::<Vec<_>>());
    }
}

#[test]
fn a_bracket_within_a_list_is_never_taken_for_a_comma() {
    let good: Vec<String> = (0..300).map(|row| counting(1 + row % 7)).collect();
    assert_eq!(verdict(profile(&good).as_bytes(), 0).unwrap()[0].len(), 1);
    for bad in [
        "1]2,3",
        "1}2,3",
        "1,2]",
        "1,2}",
        "]",
        "}",
        "1,]2",
        "1],[2",
        "[1],2",
        "1,[2]",
        "{},1",
        "1,{}",
        "1,,2",
        ",",
        "1,",
        "1 2",
        "1,2],3]",
        r#"1],"buy_volume":1,"sell_volume":2},{"price":1,"block_ids":[2]"#,
        "1]]",
        "1}}",
        "\"1\"",
    ] {
        for row in [0, 1, 8, 9, 127, 128, 200, 299] {
            let mut lists = good.clone();
            bad.clone_into(&mut lists[row]);
            let body = profile(&lists);
            assert!(verdict(body.as_bytes(), row).is_err(), "{bad} in row {row}");
        }
    }
}
