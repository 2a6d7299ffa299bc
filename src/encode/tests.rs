//! Points bodies: the exact text against the specification's examples, and what decode reads back.

use std::sync::Arc;

use proptest::prelude::*;

use super::points;
use crate::columns::{
    Column, ColumnName, LEVELS, List, NO_TIME, RaggedRows, SPLIT, Series, heatmap_from_levels, heatmap_from_sides,
};
use crate::decode;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::{Field, FieldKind, SeriesId, Shape};

const AT: i64 = 1_776_880_800;
const SECOND: i64 = 1_000_000_000;

fn id(data_type: &str) -> SeriesId {
    SeriesId { data_type: Some(data_type.into()), ..SeriesId::default() }
}

fn list(rows: &[&[f64]]) -> List {
    let mut list = List::default();
    for row in rows {
        list.push(row.iter().copied());
    }
    list
}

fn body(series: &[Series], flatten: bool) -> String {
    String::from_utf8(points(series, flatten)).unwrap()
}

fn candles() -> Series {
    let float = |values: &[f64]| Column::Float(values.to_vec());
    Series {
        id: SeriesId {
            data_type: Some("TRADE_AGG".into()),
            raw_symbol: Some("BTCUSDT".into()),
            exchange: Some("BINANCE_FUTURES".into()),
            normalized_symbol: Some("BTC-USDT".into()),
            category: Some("PERPETUAL".into()),
            interval: Some("HOUR".into()),
            side: Some("BUY".into()),
            coin: Some("BTC".into()),
            ..SeriesId::default()
        }
        .into(),
        shape: Shape::Table,
        timestamps: vec![AT * SECOND, (AT + 3_600) * SECOND],
        columns: vec![
            ("open".into(), float(&[100.0, 2.5])),
            ("high".into(), float(&[100.0, 1e6])),
            ("low".into(), float(&[100.0, -8.81e-6])),
            ("close".into(), float(&[100.0, 0.1])),
            ("volume".into(), float(&[0.0, 1.934_002_6e7])),
            ("first_timestamp".into(), Column::Time(vec![NO_TIME, (AT + 3_601) * SECOND + 5])),
            ("last_timestamp".into(), Column::Time(vec![NO_TIME, (AT + 3_602) * SECOND])),
        ],
    }
}

fn book(bids: &[&[f64]], asks: &[&[f64]]) -> Series {
    let times = (0..bids.len() as i64).map(|row| (AT + 60 * row) * SECOND).collect();
    heatmap_from_sides(id("BLOCK_BOOK_SNAPSHOT_AGG"), times, &list(bids), &list(asks)).unwrap()
}

#[test]
fn candles_in_the_services_spelling() {
    assert_eq!(
        body(&[candles()], false),
        "{\"series\":[{\"id\":{\"type\":\"TRADE_AGG\",\"rawSymbol\":\"BTCUSDT\",\"exchange\":\"BINANCE_FUTURES\",\
         \"normalizedSymbol\":\"BTC-USDT\",\"category\":\"PERPETUAL\",\"interval\":\"HOUR\",\"side\":\"BUY\",\
         \"coin\":\"BTC\"},\"points\":[\
         {\"Point\":{\"open\":100,\"high\":100,\"low\":100,\"close\":100,\"timestamp\":{\"s\":1776880800}}},\
         {\"Point\":{\"open\":2.5,\"high\":1e+06,\"low\":-8.81e-06,\"close\":0.1,\"volume\":1.9340026e+07,\
         \"timestamp\":{\"s\":1776884400},\"firstTimestamp\":{\"s\":1776884401,\"ns\":5},\
         \"lastTimestamp\":{\"s\":1776884402}}}]}]}"
    );
}

#[test]
fn nothing_is_an_empty_object_and_series_without_rows_are_left_out() {
    assert_eq!(body(&[], false), "{}");
    let empty = Series::empty(id("TRADE_AGG"), Shape::Table);
    assert_eq!(body(std::slice::from_ref(&empty), true), "{}");
    assert_eq!(body(&[empty.clone(), candles(), empty], false), body(&[candles()], false));
}

#[test]
fn a_book_goes_out_from_the_middle_and_flat_from_below() {
    let book = book(&[&[99.0, 1.0, 98.0, 0.0], &[]], &[&[100.0, 3.0], &[101.0, 4.0]]);
    let id = "{\"series\":[{\"id\":{\"type\":\"BLOCK_BOOK_SNAPSHOT_AGG\"},";
    assert_eq!(
        body(std::slice::from_ref(&book), false),
        format!(
            "{id}\"points\":[{{\"Point\":{{\"bids\":[99,1,98,0],\"asks\":[100,3],\"timestamp\":{{\"s\":1776880800}}}}}},\
             {{\"Point\":{{\"asks\":[101,4],\"timestamp\":{{\"s\":1776880860}}}}}}]}}]}}"
        )
    );
    assert_eq!(
        body(&[book], true),
        format!("{id}\"flat_points\":[3,1.7768808e+15,98,0,99,1,100,3,1,1.77688086e+15,101,4]}}]}}")
    );
}

#[test]
fn a_liquidation_heatmap_has_one_list() {
    let series =
        heatmap_from_levels(id("VENUE_LIQUIDATION_AGG"), vec![AT * SECOND], list(&[&[1.0, 2.0, 3.0, 4e6]])).unwrap();
    assert!(
        body(&[series], false)
            .ends_with("\"points\":[{\"Point\":{\"levels\":[1,2,3,4e+06],\"timestamp\":{\"s\":1776880800}}}]}]}")
    );
}

#[test]
fn a_market_profile_sits_under_its_wrapper() {
    let levels = RaggedRows {
        offsets: vec![0, 2],
        columns: vec![
            ("price".into(), Column::Float(vec![1.0, 2.0])),
            ("block_ids".into(), Column::List(list(&[&[0.0, 2.0], &[]]))),
            ("buy_volume".into(), Column::Float(vec![5.0, 0.0])),
            ("sell_volume".into(), Column::Float(vec![0.0, 1.0])),
        ],
    };
    let series = Series {
        id: id("TPO_AGG").into(),
        shape: Shape::Tpo,
        timestamps: vec![AT * SECOND],
        columns: vec![
            ("levels".into(), Column::Rows(levels)),
            ("poc_price".into(), Column::Float(vec![1.5])),
            ("vah_price".into(), Column::Float(vec![f64::NAN])),
        ],
    };
    assert!(body(&[series], false).ends_with(
        "\"points\":[{\"Point\":{\"TpoAggregation\":{\"timestamp\":{\"s\":1776880800},\
         \"levels\":[{\"price\":1,\"block_ids\":[0,2],\"buy_volume\":5},{\"price\":2,\"sell_volume\":1}],\
         \"poc_price\":1.5}}}]}]}"
    ));
}

#[test]
fn optional_zeros_are_written_and_unknown_values_are_not() {
    let series = Series {
        id: id("OPEN_INTEREST_AGG").into(),
        shape: Shape::Table,
        timestamps: vec![AT * SECOND],
        columns: vec![("open".into(), Column::Float(vec![0.0])), ("close".into(), Column::Float(vec![f64::NAN]))],
    };
    assert!(body(&[series], false).contains("{\"Point\":{\"open\":0,\"timestamp\""));
}

#[test]
fn unknown_types_and_columns_pass_through_and_texts_are_escaped() {
    let series = Series {
        id: SeriesId {
            raw_symbol: Some("a\"b\\\n€".into()),
            extra: vec![("rank".into(), "7".into())],
            ..id("NEW_AGG")
        }
        .into(),
        shape: Shape::Table,
        timestamps: vec![AT * SECOND],
        columns: vec![
            ("rate".into(), Column::Float(vec![0.0])),
            ("note".into(), Column::Text(vec![Some("x\ty".into())])),
            ("buy_levels".into(), Column::List(list(&[&[1.0, 0.0]]))),
            ("count".into(), Column::Int(vec![3_000_000])),
        ],
    };
    assert_eq!(
        body(&[series], true),
        "{\"series\":[{\"id\":{\"type\":\"NEW_AGG\",\"rawSymbol\":\"a\\\"b\\\\\\n€\",\"rank\":7},\"points\":[{\"Point\":\
         {\"timestamp\":{\"s\":1776880800},\"rate\":0,\"note\":\"x\\ty\",\"buy_levels\":[1,0],\"count\":3000000}}]}]}"
    );
}

#[test]
fn a_book_without_its_boundary_goes_out_as_levels() {
    let crossed = book(&[&[101.0, 1.0]], &[&[100.0, 2.0]]);
    assert_eq!(crossed.levels().unwrap().1, [-1]);
    let text = body(std::slice::from_ref(&crossed), false);
    assert!(text.contains("\"levels\":[100,2,101,1]"), "{text}");
    assert_eq!(decode::points(text.as_bytes()).unwrap()[0].levels(), crossed.levels());
}

/// Equality of bits, NaN included.
fn assert_same(left: &Series, right: &Series) {
    assert_eq!((&left.id, left.shape, &left.timestamps), (&right.id, right.shape, &right.timestamps));
    assert_eq!(format!("{:?}", left.columns), format!("{:?}", right.columns));
}

/// Any double that JSON can hold, the awkward ones often.
fn any_double() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(1e6),
        (-1_000_000i64..1_000_000).prop_map(|cents| cents as f64 / 100.0),
        any::<f64>().prop_filter("finite", |value| value.is_finite()),
    ]
}

/// A column of `rows` rows of the kind that decode makes of the field.
fn column(kind: FieldKind, rows: usize) -> BoxedStrategy<Column> {
    let times = prop_oneof![Just(NO_TIME), i64::MIN + 1..i64::MAX];
    match kind {
        FieldKind::Number | FieldKind::Price => {
            prop::collection::vec(any_double(), rows).prop_map(Column::Float).boxed()
        }
        FieldKind::Optional => {
            prop::collection::vec(prop_oneof![Just(f64::NAN), any_double()], rows).prop_map(Column::Float).boxed()
        }
        FieldKind::Time | FieldKind::OptionalTime => prop::collection::vec(times, rows).prop_map(Column::Time).boxed(),
        FieldKind::Text => {
            prop::collection::vec(prop::option::of("\\PC{1,8}|[\"\\\\\n\u{0}]"), rows).prop_map(Column::Text).boxed()
        }
        FieldKind::List => prop::collection::vec(prop::collection::vec(any_double(), 0..4), rows)
            .prop_map(|rows| {
                let mut list = List::default();
                for row in rows {
                    list.push(row);
                }
                Column::List(list)
            })
            .boxed(),
        FieldKind::Rows(fields) => prop::collection::vec(0usize..3, rows)
            .prop_flat_map(move |lengths| {
                let mut offsets = vec![0];
                offsets.extend(lengths.iter().scan(0, |end, &length| {
                    *end += length as i64;
                    Some(*end)
                }));
                table(fields, lengths.iter().sum())
                    .prop_map(move |columns| Column::Rows(RaggedRows { offsets: offsets.clone(), columns }))
            })
            .boxed(),
    }
}

fn table(fields: &'static [Field], rows: usize) -> BoxedStrategy<Vec<(ColumnName, Column)>> {
    let fields: Vec<&Field> = fields.iter().filter(|field| field.kind != FieldKind::Time).collect();
    let columns: Vec<_> =
        fields.into_iter().map(|field| (Just(ColumnName::Borrowed(field.column)), column(field.kind, rows))).collect();
    columns.boxed()
}

/// A heatmap in the normal form: prices ascend within a snapshot, the boundary anywhere.
fn heatmap(rows: usize, sided: bool) -> BoxedStrategy<Vec<(ColumnName, Column)>> {
    let snapshot = (prop::collection::vec((any_double(), any_double()), 0..6), any::<prop::sample::Index>());
    prop::collection::vec(snapshot, rows)
        .prop_map(move |snapshots| {
            let (mut levels, mut split) = (List::default(), Vec::new());
            for (mut pairs, boundary) in snapshots {
                pairs.sort_by(|left, right| left.0.total_cmp(&right.0));
                split.push(if sided { boundary.index(pairs.len() + 1) as i64 } else { -1 });
                levels.push(pairs.into_iter().flat_map(|(price, volume)| [price, volume]));
            }
            vec![(LEVELS.into(), Column::List(levels)), (SPLIT.into(), Column::Int(split))]
        })
        .boxed()
}

fn series() -> impl Strategy<Value = Series> {
    (0..DATA_TYPES.len(), prop::collection::btree_set(0i64..4_000_000_000_000_000_000, 1..5), "\\PC{0,6}")
        .prop_flat_map(|(index, times, symbol)| {
            let spec = &DATA_TYPES[index];
            let columns = match spec.shape {
                Shape::Heatmap => heatmap(times.len(), spec.fields.len() == 3),
                _ => table(spec.fields, times.len()),
            };
            columns.prop_map(move |mut columns| Series {
                columns: {
                    // A profile is triplets.
                    if let [(_, Column::List(list))] = &mut columns[..]
                        && spec.shape == Shape::Profile
                    {
                        let mut triplets = List::default();
                        (0..list.len()).for_each(|row| {
                            triplets.push(list.row(row).as_chunks::<3>().0.as_flattened().iter().copied());
                        });
                        *list = triplets;
                    }
                    columns
                },
                id: SeriesId { raw_symbol: Some(symbol.clone()).filter(|text| !text.is_empty()), ..id(spec.name) }
                    .into(),
                shape: spec.shape,
                timestamps: times.iter().copied().collect(),
            })
        })
}

proptest! {
    #[test]
    fn decode_reads_back_what_encode_wrote(mut all in prop::collection::vec(series(), 0..4)) {
        // Series of one identity would be one series.
        all.iter_mut().enumerate().for_each(|(index, one)| {
            Arc::make_mut(&mut one.id).token_name = Some(index.to_string());
        });
        let body = points(&all, false);
        serde_json::from_slice::<serde_json::Value>(&body).expect("valid JSON by another reader");
        let back = decode::points(&body).unwrap();
        prop_assert_eq!(back.len(), all.len());
        back.iter().zip(&all).for_each(|(back, sent)| assert_same(back, sent));
    }

    /// The flat form has neither the boundary nor nanoseconds.
    #[test]
    fn decode_reads_flat_heatmaps_back(columns in heatmap(3, true), start in 10_000_000i64..9_000_000_000) {
        let timestamps = (0..3).map(|row| (start + row) * SECOND).collect();
        let mut sent =
            Series { id: id("BLOCK_BOOK_SNAPSHOT_AGG").into(), shape: Shape::Heatmap, timestamps, columns };
        let back = decode::points(&points(std::slice::from_ref(&sent), true)).unwrap();
        sent.columns[1].1 = Column::Int(vec![-1; 3]);
        assert_same(&back[0], &sent);
    }
}
