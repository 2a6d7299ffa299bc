//! Bodies of every kind and with every quirk of the supplement, through the door.

mod agreement;
pub(super) mod bodies;
mod damage;
mod forward;
mod lists;
mod messages;
mod mutated;
mod names;

use crate::columns::{Column, Series};
use crate::decode::points;
use crate::protocol::Shape;

const ID: &str = r#""id":{"type":"TRADE_AGG","rawSymbol":"BTCUSDT","side":"BUY","rank":7}"#;
const POINTS: &str = r#""points":[
    {"Point":{"open":3,"high":4,"low":2,"close":3.5,"volume":1e+06,"timestamp":{"s":120},"new":5}},
    {"Point":{"timestamp":{"s":60},"close":1,"lastTimestamp":{"ns":5,"s":61},"open":1,"low":1,"high":1}}]"#;

fn one(text: &str) -> Series {
    let mut all = points(text.as_bytes()).unwrap();
    assert_eq!(all.len(), 1);
    all.remove(0)
}

fn problem(text: &str) -> String {
    points(text.as_bytes()).unwrap_err().to_string()
}

// faults.md row 21
#[test]
fn omitted_numbers_are_zero_times_missing_and_rows_ascend() {
    let series = one(&format!("{{\"series\":[{{{ID},{POINTS}}}]}}"));
    assert_eq!(series.timestamps, [60_000_000_000, 120_000_000_000]);
    assert_eq!(series.floats("close").unwrap(), [1.0, 3.5]);
    assert_eq!(series.floats("volume").unwrap(), [0.0, 1e6]);
    assert_eq!(series.column("last_timestamp"), Some(&Column::Time(vec![61_000_000_005, i64::MIN])));
    assert!(series.floats("new").unwrap()[0].is_nan());
    assert_eq!(series.id.extra, [("rank".to_owned(), "7".to_owned())]);
}

#[test]
fn key_order_does_not_matter() {
    let first = one(&format!("{{\"series\":[{{{ID},{POINTS}}}]}}"));
    let second = one(&format!(" {{\"next\":[1], \"series\" : [ {{{POINTS},{ID}}} ] }}\n"));
    // The column that neither is NaN-free is compared by its other row.
    assert_eq!(first.id, second.id);
    assert_eq!(first.floats("open"), second.floats("open"));
    assert_eq!(first.timestamps, second.timestamps);
}

#[test]
fn all_kinds_of_nothing_are_empty() {
    for text in ["{}", r#"{"series":[]}"#, r#"{"series":null}"#] {
        assert_eq!(points(text.as_bytes()).unwrap(), []);
    }
    for text in [
        r#"{"series":[{"id":{"type":"TRADE_AGG"}}]}"#,
        r#"{"series":[{"id":{"type":"TRADE_AGG"},"points":[]}]}"#,
        r#"{"series":[{"points":null,"id":{"type":"TRADE_AGG"}}]}"#,
    ] {
        let series = one(text);
        assert_eq!((series.len(), series.floats("close")), (0, Some(&[][..])), "{text}");
    }
    assert_eq!(one(r#"{"series":[{"id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG"}}]}"#).levels().unwrap().0.len(), 0);
}

#[test]
fn nested_and_flat_heatmaps_agree() {
    let id = r#""id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG"}"#;
    let nested = one(&format!(
        r#"{{"series":[{{{id},"points":[{{"Point":{{"bids":[2,20,1,10],"asks":[3,30],"timestamp":{{"s":1.7768808e+09}}}}}}]}}]}}"#
    ));
    let flat = one(&format!(r#"{{"series":[{{{id},"flat_points":[3,1.7768808e+15,1,10,2,20,3,30]}}]}}"#));
    assert_eq!(nested.timestamps, flat.timestamps);
    assert_eq!(nested.levels().unwrap().0, flat.levels().unwrap().0);
    assert_eq!((nested.levels().unwrap().1, flat.levels().unwrap().1), (&[2][..], &[-1][..]));
}

// faults.md row 24
#[test]
fn a_profile_reads_from_below_its_wrapper() {
    let series = one(
        r#"{"series":[{"id":{"type":"TPO_AGG"},"points":[{"Point":{"TpoAggregation":{"timestamp":{"s":60},
            "levels":[{"price":1,"block_ids":[0,2],"buy_volume":5},{"price":2,"sell_volume":1}],"poor_highs":[2]}}}]}]}"#,
    );
    let Some(Column::Rows(rows)) = series.column("levels") else { panic!() };
    assert_eq!(rows.offsets, [0, 2]);
    assert_eq!(rows.columns[3], ("sell_volume".into(), Column::Float(vec![0.0, 1.0])));
    assert_eq!(series.timestamps, [60_000_000_000]);
}

#[test]
fn a_volume_profile_holds_triplets() {
    let body = |values: &str| {
        format!(
            r#"{{"series":[{{"id":{{"type":"VOLUME_PROFILE_AGG"}},"points":[
                {{"Point":{{"timestamp":{{"s":60}},"profile":[{values}]}}}}]}}]}}"#
        )
    };
    let series = one(&body("1,2,3,4,0,6"));
    let Some(Column::List(list)) = series.column("profile") else { panic!() };
    assert_eq!((list.row(0), series.shape), (&[1.0, 2.0, 3.0, 4.0, 0.0, 6.0][..], Shape::Profile));
    assert!(problem(&body("1,2,3,4")).contains("profile of point 0: 4 values are no triplets"));
}

// faults.md rows 22 and 24
#[test]
fn problems_are_named_with_their_place() {
    let point = |point: &str| problem(&format!(r#"{{"series":[{{"id":{{"type":"TRADE_AGG"}},"points":[{point}]}}]}}"#));
    assert!(point(r#"{"Point":{"open":NaN}}"#).contains("found \"NaN\" at byte"));
    assert!(point(r#"{"Point":{"open":"1"}}"#).ends_with("(series[0].points[0].Point.open)"));
    assert!(point(r#"{"Point":{"open":1}}"#).contains("a point without timestamp"));
    assert!(point(r#"{"open":1}"#).contains("without the key Point"));
    assert!(point(r#"{"Point":{"open":1,"open":1,"timestamp":{"s":1}}}"#).contains("duplicate key"));
    assert!(problem(r#"{"error":"RATE_LIMITED","message":"slow"}"#).contains("RATE_LIMITED"));
    assert!(problem(r#"{"message":"slow","error":"X"}"#).contains("error: \"X\""));
    for text in [r#"{"code":13,"details":[]}"#, r#"{"error":"X","series":[]}"#, r#"{"success":false,"data":null}"#] {
        assert!(problem(text).contains("an error object"), "{text}");
    }
    assert!(point(r#"{"Point":{"open":1,"timestamp":null}}"#).contains("a point without timestamp"));
    assert!(point(r#"{"Point":{"open":true,"timestamp":{"s":1}}}"#).contains("expected a number"));
    let twice = r#"{"series":[{"id":{"side":"BUY"},"points":[{"Point":{"timestamp":{"s":1},"a":1}}]},
        {"id":{"side":"BUY"},"points":[{"Point":{"timestamp":{"s":1},"a":2}}]}]}"#;
    assert!(
        problem(&twice.replace(r#""side":"BUY""#, r#""type":"SKEW_OPTION_SUMMARY_AGG""#).replace("\"a\"", "\"skew\""))
            .contains("two different points")
    );
    assert!(problem("{}x").contains("after the end"));
    assert!(problem("<html>").contains("expected an object"));
    assert!(problem("\u{feff}{}").contains("expected an object"));
    assert!(
        problem(
            r#"{"series":[{"id":{"type":"LIQUIDATION_AGG"},"points":[
                {"Point":{"timestamp":{"s":5},"liquidations":1}},{"Point":{"timestamp":{"s":5},"liquidations":2}}]}]}"#
        )
        .contains("two different points")
    );
}

// faults.md row 20
#[test]
fn a_cut_body_is_an_error_at_every_byte() {
    let text = format!("{{\"series\":[{{{ID},{POINTS}}}]}}");
    for end in 0..text.len() {
        assert!(points(&text.as_bytes()[..end]).is_err(), "{end}");
    }
}

// faults.md row 31
#[test]
fn a_flood_of_unknown_fields_is_kept_in_a_bounded_number_of_columns() {
    let fields: Vec<String> = (0..2_000).map(|index| format!("\"f{index}\":{index}")).collect();
    let point = |fields: &[String]| format!(r#"{{"Point":{{{}}}}}"#, fields.join(","));
    let text =
        format!(r#"{{"series":[{{"points":[{},{{"Point":{{}}}},{}]}}]}}"#, point(&fields), point(&fields[1_999..]));
    let series = one(&text);
    assert_eq!((series.len(), series.columns.len()), (3, 256));
    let Some(Column::Text(more)) = series.column("more_fields") else { panic!("{:?}", series.columns.last()) };
    let all: serde_json::Value = serde_json::from_str(more[0].as_ref().unwrap()).unwrap();
    for index in 0..2_000 {
        let name = format!("f{index}");
        let column = series.floats(&name).map(|values| values[0]);
        assert_eq!(column.or(all[&name].as_f64()), Some(f64::from(index)), "{name}");
    }
    assert_eq!((more[1].as_deref(), more[2].as_deref()), (None, Some(r#"{"f1999":1999}"#)));
}
