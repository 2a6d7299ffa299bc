//! What a later version of the service may send, case by case: it is kept. What stays an error says why.

use super::{one, problem};
use crate::columns::{Column, NO_TIME, Series};
use crate::decode::{Kernel, PointsDecoder, points};

/// A body of one series of candles with these elements of `points`.
fn candles(elements: &str) -> String {
    format!(r#"{{"series":[{{"id":{{"type":"TRADE_AGG"}},"points":[{elements}]}}]}}"#)
}

/// A candle at that second with further fields.
fn candle(second: i64, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { "," };
    format!(r#"{{"Point":{{"open":1,"high":4,"low":0.5,"close":2{comma}{more},"timestamp":{{"s":{second}}}}}}}"#)
}

/// The column `x` of candles that have these values of it in turn.
fn column(values: &[&str]) -> Column {
    let elements = values.iter().zip(1..).map(|(value, second)| match *value {
        "" => candle(second, ""),
        value => candle(second, &format!("\"x\":{value}")),
    });
    let series = one(&candles(&elements.collect::<Vec<_>>().join(",")));
    assert_eq!(series.floats("close").unwrap(), vec![2.0; values.len()], "the known fields stay");
    series.column("x").unwrap().clone()
}

fn text(values: &[Option<&str>]) -> Column {
    Column::Text(values.iter().map(|value| value.map(str::to_owned)).collect())
}

#[test]
fn d3_23_an_unknown_field_whose_kind_changes_becomes_text() {
    let cases: [(&[&str], &[Option<&str>]); 8] = [
        (&["1", "\"a\"", "2.5"], &[Some("1"), Some("a"), Some("2.5")]),
        (&["\"a\"", "1", "[1, 2]", "{\"k\":[]}"], &[Some("a"), Some("1"), Some("[1, 2]"), Some("{\"k\":[]}")]),
        (&["[1,2.5]", "", "[\"a\"]"], &[Some("[1,2.5]"), None, Some("[\"a\"]")]),
        (&["[1]", "[{\"p\":1}]"], &[Some("[1]"), Some("[{\"p\":1}]")]),
        (&["[{\"p\":1,\"q\":\"a\"},{}]", "7"], &[Some("[{\"p\":1,\"q\":\"a\"},{}]"), Some("7")]),
        (&["{\"s\":5}", "{\"s\":6,\"ns\":7}", "8"], &[Some("{\"s\":5}"), Some("{\"s\":6,\"ns\":7}"), Some("8")]),
        (&["null", "true", "\"yes\""], &[None, Some("true"), Some("yes")]),
        (&["{\"s\":5}", "{\"s\":\"5\"}"], &[Some("{\"s\":5}"), Some("{\"s\":\"5\"}")]),
    ];
    for (values, expected) in cases {
        assert_eq!(column(values), text(expected), "{values:?}");
    }
}

#[test]
fn an_empty_list_takes_the_kind_of_the_first_that_is_not() {
    let Column::Rows(rows) = column(&["[]", "[]", "[{\"p\":1},{\"p\":2}]", "[]"]) else { panic!("no rows") };
    assert_eq!(rows.offsets, [0, 0, 0, 2, 2]);
    assert_eq!(rows.columns, [("p".into(), Column::Float(vec![1.0, 2.0]))]);
    assert_eq!(column(&["[]", "[\"a\"]"]), text(&[Some("[]"), Some("[\"a\"]")]));
    let Column::List(list) = column(&["[]", "[1,2]"]) else { panic!("no list") };
    assert_eq!(list.row(1), [1.0, 2.0]);
}

// faults.md row 31
#[test]
fn values_that_no_double_or_text_holds_are_kept_as_they_were_sent() {
    let deep = format!("{}1{}", "[".repeat(500), "]".repeat(500));
    for value in ["1e400", "-1e999", r#""\ud800""#, r#"{"a":"\udfff"}"#, "[1e400,1]", &deep, "9007199254740993"] {
        assert_eq!(column(&[value]), text(&[Some(value)]), "{value}");
        assert_eq!(column(&["", value, "\"b\""]), text(&[None, Some(value), Some("b")]), "{value}");
    }
    // Whole numbers that a double holds stay numbers, and so do digits after a point.
    let exact = ["9007199254740992", "1e300", "-0.1234567890123456789", "123456789012345683968"];
    let Column::Float(values) = column(&exact) else { panic!("no numbers") };
    assert_eq!(values, exact.map(|value| value.parse::<f64>().unwrap()));
    // Among many rows too, which are read column by column.
    let mut many: Vec<String> = (0..600).map(|number: i64| (9_007_199_254_740_000 + number).to_string()).collect();
    assert!(matches!(column(&many.iter().map(String::as_str).collect::<Vec<_>>()), Column::Float(_)));
    many[555] = "9007199254740993".to_owned();
    let expected: Vec<Option<&str>> = many.iter().map(|number| Some(number.as_str())).collect();
    assert_eq!(column(&many.iter().map(String::as_str).collect::<Vec<_>>()), text(&expected));
}

#[test]
fn equal_times_with_different_unknown_values_are_two_rows() {
    let series = one(&candles(&[candle(1, "\"x\":1"), candle(1, "\"x\":2"), candle(1, "\"x\":2")].join(",")));
    assert_eq!((series.len(), series.floats("x").unwrap()), (2, &[1.0, 2.0][..]));
    assert_eq!(series.floats("close").unwrap(), [2.0, 2.0]);
    // Two closes of one minute are no news but a contradiction: nobody can say which is right.
    let other = candle(1, "").replace("\"close\":2", "\"close\":3");
    assert!(problem(&candles(&[candle(1, ""), other].join(","))).contains("column close differs"));
}

#[test]
fn new_keys_beside_the_series_mean_nothing_unless_they_hold_the_data() {
    for text in [
        r#"{"series":[],"error":null}"#,
        r#"{"error":null}"#,
        r#"{"serverTime":1776880800}"#,
        r#"{"next":"abc","warnings":[]}"#,
        r#"{"meta":{}}"#,
    ] {
        assert_eq!(points(text.as_bytes()).unwrap(), [], "{text}");
    }
    // Data where this version does not look for them must not be taken for an empty answer.
    assert!(problem(r#"{"results":[{"id":{}}]}"#).contains("results"));
    assert!(problem(r#"{"success":false}"#).contains("success"));
    assert!(problem(r#"{"series":[],"error":"slow"}"#).contains("slow"));
}

// faults.md row 24
#[test]
fn new_wrappers_around_a_known_type_are_looked_into() {
    let plain = one(&candles(&[candle(1, ""), candle(2, "")].join(",")));
    let wrapped = |from: &str, to: &str| one(&candles(&[candle(1, ""), candle(2, "")].join(",")).replace(from, to));
    assert_eq!(wrapped(r#"{"Point":"#, r#"{"Candle":"#), plain);
    assert_eq!(wrapped(r#"{"Point":"#, r#"{"version":2,"Candle":"#), plain);
    // One around the payload, as a market profile has.
    let inner = candles(
        r#"{"Point":{"TradeAggregation":{"open":1,"high":4,"low":0.5,"close":2,"timestamp":{"s":1}}}},
        {"Point":{"TradeAggregation":{"open":1,"high":4,"low":0.5,"close":2,"timestamp":{"s":2}}}}"#,
    );
    assert_eq!(one(&inner), plain);
    // None at all.
    let bare = candles(
        r#"{"open":1,"high":4,"low":0.5,"close":2,"timestamp":{"s":1}},
        {"timestamp":{"s":2},"open":1,"high":4,"low":0.5,"close":2}"#,
    );
    assert_eq!(one(&bare), plain);
    // An object among other fields is a value, also with a timestamp of its own.
    let series = one(&candles(&candle(1, r#""oracle":{"price":1,"timestamp":{"s":9}}"#)));
    assert_eq!(series.column("oracle"), Some(&text(&[Some(r#"{"price":1,"timestamp":{"s":9}}"#)])));
    let book = r#"{"series":[{"id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG"},"points":[
        {"Point":{"Book":{"bids":[1,2],"asks":[3,4],"timestamp":{"s":1}}}}]}]}"#;
    assert_eq!(one(book).levels().unwrap().0.values, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn an_unknown_type_needs_no_timestamp() {
    let of = |points: &str| one(&format!(r#"{{"series":[{{"id":{{"type":"NEW_AGG"}},"points":[{points}]}}]}}"#));
    let series = of(r#"{"Point":{"a":3}},{"Point":{"a":1}},{"Point":{"a":3}}"#);
    assert_eq!((&series.timestamps[..], series.floats("a").unwrap()), (&[NO_TIME; 3][..], &[3.0, 1.0, 3.0][..]));
    let series = of(r#"{"Point":{"timestamp":1776880800,"a":1}},{"Point":{"timestamp":1776880860,"a":2}}"#);
    assert_eq!(series.timestamps, [NO_TIME; 2]);
    assert_eq!(series.floats("timestamp").unwrap(), [1_776_880_800.0, 1_776_880_860.0]);
    // A known type without one is damaged: its points belong nowhere.
    assert!(problem(&candles(r#"{"Point":{"open":1}}"#)).contains("a point without timestamp"));
}

#[test]
fn fields_whose_kind_the_specification_leaves_open_may_be_of_any() {
    let tpo = |fields: &str| {
        one(&format!(
            r#"{{"series":[{{"id":{{"type":"TPO_AGG"}},"points":[{{"Point":{{"TpoAggregation":{{
                "timestamp":{{"s":1}},"period_start":{{"s":1}},"levels":[{{"price":1,"volume":"2"}}],{fields}}}}}}}]}}]}}"#
        ))
    };
    let series = tpo(r#""poc_price":{"price":1},"poor_highs":true,"single_prints":[[1,2]],"total_volume":"7""#);
    assert_eq!(series.column("poc_price"), Some(&text(&[Some(r#"{"price":1}"#)])));
    assert_eq!(series.column("poor_highs"), Some(&Column::Float(vec![1.0])));
    assert_eq!(series.column("single_prints"), Some(&text(&[Some("[[1,2]]")])));
    assert_eq!(series.column("total_volume"), Some(&text(&[Some("7")])));
    let Some(Column::Rows(levels)) = series.column("levels") else { panic!("no levels") };
    assert_eq!(levels.columns.iter().find(|(name, _)| name == "volume").unwrap().1, text(&[Some("2")]));
}

#[test]
fn times_may_have_null_nanoseconds() {
    let series = one(&candles(r#"{"Point":{"open":1,"close":2,"timestamp":{"s":5,"ns":null}}}"#));
    assert_eq!(series.timestamps, [5_000_000_000]);
}

/// The specification states these kinds; a price in quotes or a missing bracket is damage, and guessing would hide it.
#[test]
fn known_fields_stay_strict() {
    for bad in [r#""open":"1""#, r#""open":true"#, r#""open":[1]"#, r#""open":1e400"#, r#""open":NaN"#] {
        let text = candle(1, "").replace("\"open\":1", bad);
        assert!(problem(&candles(&text)).contains("Point.open"), "{bad}");
    }
    assert!(problem(&candles(r#"{"Point":{"open":1,"timestamp":"2026-01-01"}}"#)).contains("timestamp"));
    assert!(problem(&candles(r#"{"Point":{"open":1,"timestamp":{"s":null}}}"#)).contains("timestamp"));
}

#[test]
fn the_result_is_the_same_in_any_portions() {
    let values =
        ["[]", "[{\"p\":1}]", "7", "1e400", "\"\\ud800\"", "9007199254740993.5", "9007199254740993", "{\"s\":5}"];
    let elements = values.iter().zip(1..).map(|(value, second)| candle(second, &format!("\"x\":{value}")));
    let body = candles(&elements.collect::<Vec<_>>().join(","));
    let whole = points(body.as_bytes()).unwrap();
    let mut turned = values;
    turned.reverse();
    let elements = turned.iter().zip(1..).map(|(value, second)| candle(second, &format!("\"x\":{value}")));
    let other = candles(&elements.collect::<Vec<_>>().join(","));
    let other_whole = points(other.as_bytes()).unwrap();
    for length in 1..body.len() {
        for (body, whole) in [(&body, &whole), (&other, &other_whole)] {
            let mut decoder = PointsDecoder::with(Kernel::Scalar);
            for portion in body.as_bytes().chunks(length) {
                decoder.feed(portion).unwrap();
            }
            assert_eq!(&decoder.finish().unwrap(), whole, "portions of {length}");
        }
    }
}

#[test]
fn d3_31_time_grows_with_the_number_of_series_and_not_with_its_square() {
    let body = |count: usize| {
        let series = (0..count).map(|number| format!(r#"{{"id":{{"coin":"C{number}"}},"points":[{{"Point":{{}}}}]}}"#));
        format!(r#"{{"series":[{}]}}"#, series.collect::<Vec<_>>().join(","))
    };
    // The square of sixty thousand comparisons would take minutes here; no time is asserted.
    let all: Vec<Series> = points(body(60_000).as_bytes()).unwrap();
    assert_eq!(all.len(), 60_000);
    assert_eq!(all[59_999].id.coin.as_deref(), Some("C59999"));
}

// faults.md row 17
#[test]
fn a_bound_on_memory_is_seen_while_the_body_comes() {
    let element = candle(1, "");
    let mut decoder = PointsDecoder::with(Kernel::Scalar).holding_at_most(1 << 20);
    decoder.feed(candles("").strip_suffix("]}]}").unwrap().as_bytes()).unwrap();
    let mut rows = 0;
    while !decoder.is_too_large() {
        decoder.feed((element.clone() + ",").repeat(100).as_bytes()).unwrap();
        rows += 100;
    }
    // A candle's columns are five doubles and three times.
    let needed = (1 << 20) / 64;
    assert!((needed..needed + 200).contains(&rows), "{rows}");
    // Rows that have a field each of their own.
    let mut decoder = PointsDecoder::with(Kernel::Scalar).holding_at_most(1 << 20);
    decoder.feed(candles("").strip_suffix("]}]}").unwrap().as_bytes()).unwrap();
    let mut rows = 0;
    while !decoder.is_too_large() {
        decoder.feed((candle(1, &format!("\"f{rows}\":1")) + ",").as_bytes()).unwrap();
        rows += 1;
        assert!(rows < 2_000, "rows × fields cells are not counted");
    }
}
