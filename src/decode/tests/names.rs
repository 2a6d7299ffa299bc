//! Bodies in the names of a dialect mean what they mean in the specification's.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;

use super::agreement::{kernel, same_columns};
use super::bodies::{Case, Style, heatmap, table, table_types};
use crate::columns::{Column, Series};
use crate::decode::{DecodeError, PointsDecoder, points, points_in};
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::{Dialect, DialectParts, FieldKind, ID_FIELDS};

/// A bijection of names: they change places among each other, and some become others.
fn bijection(names: &[&str], random: &mut Rng) -> BTreeMap<String, String> {
    let mut published = names.to_vec();
    random.shuffle(&mut published);
    let published = published
        .into_iter()
        .map(|name| if random.bool() { format!("acme{}{name}", random.u8(..10)) } else { name.to_owned() });
    names.iter().map(|name| (*name).to_owned()).zip(published).collect()
}

/// Other names for all fields and types.
fn parts(random: &mut Rng) -> DialectParts {
    let mut fields: Vec<&str> = ID_FIELDS.to_vec();
    for field in DATA_TYPES.iter().flat_map(|row| row.fields) {
        fields.push(field.wire);
        if let FieldKind::Rows(inner) = field.kind {
            fields.extend(inner.iter().map(|field| field.wire));
        }
    }
    fields.sort_unstable();
    fields.dedup();
    let types: Vec<&str> = DATA_TYPES.iter().map(|row| row.name).collect();
    let (fields, types) = (bijection(&fields, random), bijection(&types, random));
    DialectParts { types, fields, ..DialectParts::default() }
}

/// The body with every key, and every text that is a type, in its published name.
fn published(body: &str, parts: &DialectParts) -> String {
    let mut text = String::new();
    let mut rest = body;
    while let Some(start) = rest.find('"') {
        let inner = &rest[start + 1..];
        let mut escaped = false;
        let end = inner.find(|letter| {
            let ends = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            ends
        });
        let (word, after) = (&inner[..end.unwrap()], &inner[end.unwrap() + 1..]);
        let names = if after.trim_start().starts_with(':') { &parts.fields } else { &parts.types };
        text += &rest[..=start];
        text += names.get(word).map_or(word, String::as_str);
        text.push('"');
        rest = after;
    }
    text + rest
}

fn in_portions(dialect: &Arc<Dialect>, body: &str, size: usize) -> Result<Vec<Series>, DecodeError> {
    let mut decoder = PointsDecoder::with(kernel(size)).speaking(Some(Arc::clone(dialect)));
    body.as_bytes().chunks(size).try_for_each(|portion| decoder.feed(portion))?;
    decoder.finish()
}

fn check(case: &Case, parts: &DialectParts, random: &mut Rng) {
    let dialect = Arc::new(Dialect::new(parts.clone()).unwrap());
    let body = published(&case.body, parts);
    let wanted = &points(case.body.as_bytes()).unwrap()[0];
    for answer in
        [points_in(Some(Arc::clone(&dialect)), body.as_bytes()), in_portions(&dialect, &body, 1 + random.usize(..900))]
    {
        let answer = answer.unwrap_or_else(|error| panic!("{error}: {body}"));
        assert_eq!(answer.len(), 1);
        assert_eq!((&answer[0].id, answer[0].shape), (&wanted.id, wanted.shape));
        assert_eq!(answer[0].timestamps, case.timestamps, "{body}");
        assert!(same_columns(&answer[0].columns, &case.columns), "{:?}\n{body}", answer[0]);
    }
}

#[test]
fn bodies_of_every_type_read_as_without_a_dialect() {
    let mut random = Rng::with_seed(21);
    // One after the other on one thread: no body learns from one in other names.
    for round in 0..8 {
        let parts = parts(&mut random);
        for spec in table_types() {
            let style = if round < 2 { Style::default() } else { Style::any(&mut random) };
            let points = if spec.fields.len() > 15 { 9 } else { [1, 9, 70, 200][random.usize(..4)] };
            check(&table(spec, points, style, &mut random), &parts, &mut random);
        }
        for case in heatmap(4, 30, Style { shuffled: round % 2 == 1, ..Style::default() }, &mut random) {
            check(&case, &parts, &mut random);
        }
    }
}

#[test]
fn what_is_learnt_in_one_dialect_is_not_taken_for_another() {
    let fields = [("open", "close"), ("close", "open")].map(|(name, other)| (name.to_owned(), other.to_owned()));
    let swapped = Arc::new(Dialect::new(DialectParts { fields: fields.into(), ..DialectParts::default() }).unwrap());
    let rows: Vec<String> = (0..50)
        .map(|row| {
            format!(r#"{{"Point":{{"open":{row},"high":2,"low":3,"close":4,"timestamp":{{"s":{}}}}}}}"#, row * 60)
        })
        .collect();
    let body = format!(r#"{{"series":[{{"id":{{"type":"OPEN_INTEREST_AGG"}},"points":[{}]}}]}}"#, rows.join(","));
    let counted: Vec<f64> = (0..50).map(f64::from).collect();
    for _ in 0..2 {
        for (dialect, name) in [(None, "open"), (Some(Arc::clone(&swapped)), "close")] {
            let series = points_in(dialect, body.as_bytes()).unwrap().remove(0);
            assert_eq!(series.floats(name), Some(&counted[..]), "{name}");
        }
    }
}

#[test]
fn fields_that_no_table_knows_are_columns_by_their_neutral_names() {
    let fields = [("newRank", "acmeRank"), ("usdPrice", "price2")];
    let fields = fields.map(|(neutral, published)| (neutral.to_owned(), published.to_owned())).into();
    let dialect = Arc::new(Dialect::new(DialectParts { fields, ..DialectParts::default() }).unwrap());
    let body = r#"{"series":[{"id":{"type":"TOKEN_SUPPLY_AGG","acmeRank":7},"points":[
        {"Point":{"timestamp":{"s":60},"acmeRank":5,"price2":1.5,"usdPrice":9}}]}]}"#;
    let series = points_in(Some(dialect), body.as_bytes()).unwrap().remove(0);
    assert_eq!(series.id.extra, [("newRank".to_owned(), "7".to_owned())]);
    assert_eq!(series.floats("new_rank"), Some(&[5.0][..]));
    // A field that happens to have a neutral name is another one.
    assert_eq!((series.floats("usd_price"), series.floats("usd_price_")), (Some(&[1.5][..]), Some(&[9.0][..])));
    assert!(!series.columns.iter().any(|(name, _)| name.contains("acme") || name == "price2"));
}

#[test]
fn a_stranger_by_a_neutral_name_does_not_pass_for_it() {
    let fields = [("exchange", "venue"), ("bids", "bought")].map(|(name, other)| (name.to_owned(), other.to_owned()));
    let dialect = Arc::new(Dialect::new(DialectParts { fields: fields.into(), ..DialectParts::default() }).unwrap());
    let body = r#"{"series":[{"id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG","exchange":"X","venue":"CME"},"points":[
        {"Point":{"timestamp":{"s":60},"bids":[7],"asks":[2,1],"bought":[1,5]}}]}]}"#;
    let series = points_in(Some(dialect), body.as_bytes()).unwrap().remove(0);
    assert_eq!(series.id.exchange.as_deref(), Some("CME"));
    assert_eq!(series.id.extra, [("exchange_".to_owned(), "\"X\"".to_owned())]);
    assert_eq!(series.levels().unwrap().0.values, [1.0, 5.0, 2.0, 1.0]);
    let Some(Column::List(stranger)) = series.column("bids_") else { panic!("{series:?}") };
    assert_eq!(stranger.values, [7.0]);
}

#[test]
fn an_error_is_placed_by_the_names_of_the_body() {
    let fields = [("open".to_owned(), "first".to_owned()), ("timestamp".to_owned(), "ts".to_owned())].into();
    let dialect = Arc::new(Dialect::new(DialectParts { fields, ..DialectParts::default() }).unwrap());
    let body =
        |point: &str| format!(r#"{{"series":[{{"id":{{"type":"TRADE_AGG"}},"points":[{{"Point":{point}}}]}}]}}"#);
    let problem = |point: &str| points_in(Some(Arc::clone(&dialect)), body(point).as_bytes()).unwrap_err().to_string();
    let wrong = problem(r#"{"first":"x","ts":{"s":60}}"#);
    assert!(wrong.contains("series[0].points[0]") && wrong.contains("first"), "{wrong}");
    assert!(problem(r#"{"first":1}"#).contains("a point without ts"));
    let right = points_in(Some(Arc::clone(&dialect)), body(r#"{"first":1,"ts":{"s":60}}"#).as_bytes()).unwrap();
    assert_eq!(right[0].column("open"), Some(&Column::Float(vec![1.0])));
}
