//! What a dialect changes, both ways, and what it refuses.

use proptest::prelude::*;
use serde_json::json;

use std::collections::BTreeMap;

use super::*;
use crate::protocol::{PointsQuery, SortDirection};

fn entries(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(neutral, published)| ((*neutral).to_owned(), (*published).to_owned())).collect()
}

fn parts() -> DialectParts {
    DialectParts {
        key_header: Some("X-Acme-Token".into()),
        base_url: Some("https://api.acme.example/market".into()),
        analytics_prefix: Some("/v1/acme/analytics".into()),
        types: entries(&[("VENUE_LIQUIDATION_AGG", "ACME_LIQUIDATION_AGG")]),
        exchanges: entries(&[("PREDICTION_VENUE", "ACME")]),
        fields: entries(&[("srcMarketcapRank", "acmeMarketcapRank")]),
    }
}

fn problem(change: impl Fn(&mut DialectParts)) -> String {
    let mut parts = parts();
    change(&mut parts);
    Dialect::new(parts).unwrap_err().to_string()
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("no object") };
    object
}

#[test]
fn requests_go_out_with_published_names() {
    let dialect = Dialect::new(parts()).unwrap();
    let query = PointsQuery {
        data_type: "VENUE_LIQUIDATION_AGG".into(),
        exchanges: vec!["BYBIT".into(), "PREDICTION_VENUE".into()],
        coin: Some("PREDICTION_VENUE".into()),
        raw_symbol: Some("a&b=é".into()),
        sort: Some(SortDirection::Descending),
        ..PointsQuery::default()
    };
    // A coin of that name is no exchange.
    let published = PointsQuery {
        data_type: "ACME_LIQUIDATION_AGG".into(),
        exchanges: vec!["BYBIT".into(), "ACME".into()],
        ..query.clone()
    };
    assert_eq!(dialect.query(&query.to_query_string()), published.to_query_string());
    assert_eq!(dialect.path("/v1/prediction/analytics/positions"), "/v1/acme/analytics/positions");
    assert_eq!(dialect.path("/v1/prediction/analytics2"), "/v1/prediction/analytics2");
    assert_eq!(dialect.path("/v1/points"), "/v1/points");
    let channel = Channel::new("VENUE_LIQUIDATION_AGG", "PREDICTION_VENUE", "X").with("blockSize", "1");
    let expected = Channel::new("ACME_LIQUIDATION_AGG", "ACME", "X").with("blockSize", "1");
    assert_eq!(dialect.channel(&channel), expected);
}

#[test]
fn answers_come_back_with_neutral_names() {
    let dialect = Dialect::new(parts()).unwrap();
    let mut id = SeriesId {
        data_type: Some("ACME_LIQUIDATION_AGG".into()),
        exchange: Some("ACME".into()),
        coin: Some("ACME".into()),
        ..SeriesId::default()
    };
    dialect.identity(&mut id);
    assert_eq!(id.data_type.as_deref(), Some("VENUE_LIQUIDATION_AGG"));
    assert_eq!((id.exchange.as_deref(), id.coin.as_deref()), (Some("PREDICTION_VENUE"), Some("ACME")));
    let sent = json!({
        "exchanges": ["BYBIT", "ACME"], "types": ["ACME_LIQUIDATION_AGG", "TRADE_AGG"], "coins": ["ACME"],
        "symbols": [{"exchange": "ACME", "type": "ACME_LIQUIDATION_AGG", "coin": "ACME", "acmeMarketcapRank": 1.5}],
    });
    let expected = json!({
        "exchanges": ["BYBIT", "PREDICTION_VENUE"], "types": ["VENUE_LIQUIDATION_AGG", "TRADE_AGG"], "coins": ["ACME"],
        "symbols": [
            {"exchange": "PREDICTION_VENUE", "type": "VENUE_LIQUIDATION_AGG", "coin": "ACME", "srcMarketcapRank": 1.5},
        ],
    });
    assert_eq!(dialect.record(object(sent)), object(expected));
}

#[test]
fn fields_may_change_places_and_strangers_are_not_hidden() {
    let fields = entries(&[("usdPrice", "totalVolume"), ("totalVolume", "usdPrice"), ("exchange", "venue")]);
    let dialect = Dialect::new(DialectParts { fields, ..parts() }).unwrap();
    let sent = object(json!({"usdPrice": 1, "totalVolume": 2, "venue": "ACME", "exchange": "a stranger"}));
    let expected = json!({"totalVolume": 1, "usdPrice": 2, "exchange": "PREDICTION_VENUE", "exchange_": "a stranger"});
    assert_eq!(dialect.record(sent), object(expected));
}

#[test]
fn what_cannot_be_right_is_named_with_what_would_be() {
    let types = |pairs: &'static [(&str, &str)]| problem(move |parts| parts.types = entries(pairs));
    for (problem, wanted) in [
        (problem(|parts| parts.key_header = Some(String::new())), "key_header: the name is empty"),
        (problem(|parts| parts.key_header = Some("X Key".into())), "\"X Key\" is no name of a header"),
        (problem(|parts| parts.key_header = Some("Clé".into())), "is no name of a header"),
        (problem(|parts| parts.key_header = Some("Host".into())), "cannot carry a key"),
        (problem(|parts| parts.key_header = Some("Sec-WebSocket-Key".into())), "cannot carry a key"),
        (problem(|parts| parts.base_url = Some("api.acme.example".into())), "base_url: it must be http"),
        (problem(|parts| parts.analytics_prefix = Some(String::new())), "analytics_prefix: \"\" is no path"),
        (problem(|parts| parts.analytics_prefix = Some("v1/acme".into())), "starts with /"),
        (problem(|parts| parts.analytics_prefix = Some("/v1/acme/".into())), "does not end with it"),
        (problem(|parts| parts.analytics_prefix = Some("/v1/../acme".into())), "is no path"),
        (problem(|parts| parts.analytics_prefix = Some("/v1/acme?x".into())), "is no path"),
        (types(&[("TPO_AGG", "")]), "types.TPO_AGG: the published name is empty"),
        (types(&[("", "X")]), "types.\"\": the neutral name is empty"),
        (types(&[("TPO_AGG", "A B")]), "has a blank"),
        (
            types(&[("TPO_AGG", "X"), ("TRADE_AGG", "X")]),
            "types.TRADE_AGG: \"X\" is already the published name of TPO_AGG",
        ),
        (types(&[("TPO_AGG", "TRADE_AGG")]), "types.TPO_AGG: \"TRADE_AGG\" is itself a neutral name"),
        (types(&[("VENUE_LIQUIDATON_AGG", "X")]), "did you mean VENUE_LIQUIDATION_AGG?"),
        (
            problem(|parts| parts.exchanges = entries(&[("PREDICTION_VENUES", "X")])),
            "exchanges.PREDICTION_VENUES: the specification has no such name; did you mean PREDICTION_VENUE?",
        ),
        (problem(|parts| parts.exchanges = entries(&[("CME", "UPBIT")])), "\"UPBIT\" is itself a neutral name"),
        (
            problem(|parts| parts.fields = entries(&[("srcMarketCapRank", "x")])),
            "fields.srcMarketCapRank: the specification has no such name; did you mean srcMarketcapRank?",
        ),
        (problem(|parts| parts.fields = entries(&[("usdPrice", "chain")])), "\"chain\" is itself a neutral name"),
        (problem(|parts| parts.fields = entries(&[("points", "rows")])), "points holds answers together"),
        (problem(|parts| parts.fields = entries(&[("usdPrice", "Point")])), "Point holds answers together"),
    ] {
        assert!(problem.starts_with("dialect: ") && problem.contains(wanted), "{problem}");
    }
    let secret = problem(|parts| parts.base_url = Some("https://user:hush@acme.example".into()));
    assert!(!secret.contains("hush"), "{secret}");
}

#[test]
fn open_names_and_names_that_change_nothing_pass() {
    let types = entries(&[("NEW_TYPE_AGG", "ACME_NEW"), ("TRADE_AGG", "TRADE_AGG")]);
    let dialect = Dialect::new(DialectParts { types, ..DialectParts::default() }).unwrap();
    assert_eq!(dialect.parts().types, entries(&[("NEW_TYPE_AGG", "ACME_NEW")]));
    assert!(dialect.translates() && !Dialect::default().translates());
    assert_eq!((dialect.meant_type("ACME_NEW"), dialect.meant_type("TRADE_AGG")), (Some("NEW_TYPE_AGG"), None));
}

#[test]
fn files_are_read_and_their_slips_reported_with_their_place() {
    let text = r#"
        key_header = "X-Acme-Token"
        base_url = "https://api.acme.example/market"
        analytics_prefix = "/v1/acme/analytics"
        types = { VENUE_LIQUIDATION_AGG = "ACME_LIQUIDATION_AGG" }
        [exchanges]
        PREDICTION_VENUE = "ACME"
        [fields]
        srcMarketcapRank = "acmeMarketcapRank"
    "#;
    assert_eq!(Dialect::from_toml(text, "acme.toml"), Dialect::new(parts()));
    assert_eq!(Dialect::from_toml("", "acme.toml"), Ok(Dialect::default()));
    for (text, wanted) in [
        ("key_heder = 'X'", "acme.toml: key_heder: unknown; a dialect has key_header, base_url"),
        ("key_heder = 'X'", "did you mean key_header?"),
        ("key_header = 5", "acme.toml: key_header: a text is wanted, in quotes; this is of TOML's type integer"),
        ("types = 'X'", "acme.toml: types: a table is wanted"),
        ("[types]\nTPO_AGG = ['X']", "acme.toml: types.TPO_AGG: a text is wanted"),
        ("[types]\nTPO_AGG = 'X'\nTPO_AGG = 'Y'", "acme.toml: line 3: the file is not valid TOML: duplicate key"),
        ("\n\nkey_header = ", "acme.toml: line 3: the file is not valid TOML"),
        ("[exchanges]\nCME = ''", "acme.toml: exchanges.CME: the published name is empty"),
    ] {
        let problem = Dialect::from_toml(text, "acme.toml").unwrap_err().to_string();
        assert!(problem.contains(wanted), "{problem}");
    }
}

/// Names of fields by their places in the tables, shuffled and partly replaced: a bijection.
fn bijection(names: &'static [&'static str]) -> impl Strategy<Value = BTreeMap<String, String>> {
    (Just(names.to_vec()).prop_shuffle(), prop::collection::vec(any::<bool>(), names.len())).prop_map(
        move |(shuffled, replaced)| {
            let published = shuffled.iter().zip(replaced);
            let published =
                published.map(|(name, replaced)| if replaced { format!("acme{name}") } else { (*name).to_owned() });
            names.iter().map(|name| (*name).to_owned()).zip(published).collect()
        },
    )
}

/// A record of these fields in which exchanges and types stand at every depth, and the same as published.
fn written(value: &Value, under: &str, dialect: &DialectParts) -> Value {
    let of = |names: &BTreeMap<String, String>, name: &str| names.get(name).cloned().unwrap_or_else(|| name.to_owned());
    match value {
        Value::Object(record) => {
            let fields = record.iter().map(|(name, value)| (of(&dialect.fields, name), written(value, name, dialect)));
            Value::Object(fields.collect())
        }
        Value::Array(list) => list.iter().map(|one| written(one, under, dialect)).collect(),
        Value::String(word) if under == "exchange" => Value::String(of(&dialect.exchanges, word)),
        Value::String(word) if under == "type" => Value::String(of(&dialect.types, word)),
        other => other.clone(),
    }
}

const TYPES: &[&str] = &["TRADE_AGG", "TPO_AGG", "VENUE_LIQUIDATION_AGG", "LIQUIDATION_AGG"];
const VENUES: &[&str] = &["CME", "UPBIT", "PREDICTION_VENUE", "BYBIT", "HUOBI"];
const FIELDS: &[&str] = &["exchange", "type", "open", "usdPrice", "srcMarketcapRank", "levels", "lastPrice"];

proptest! {
    /// Neutral → published → neutral is the identity, for every bijective map, in records of any depth.
    #[test]
    fn answers_read_as_they_were_meant(
        types in bijection(TYPES), exchanges in bijection(VENUES), fields in bijection(FIELDS),
        depth in 0usize..4, venue in 0..VENUES.len(), kind in 0..TYPES.len(),
    ) {
        let parts = DialectParts { types, exchanges, fields, ..DialectParts::default() };
        let dialect = Dialect::new(parts.clone()).unwrap();
        let mut record = json!({"open": 1.5, "usdPrice": [2], "srcMarketcapRank": null, "strange": "BYBIT"});
        for _ in 0..=depth {
            record = json!({"levels": [record], "exchange": VENUES[venue], "type": TYPES[kind], "lastPrice": "CME"});
        }
        let published = written(&record, "", &parts);
        prop_assert_eq!(Value::Object(dialect.record(object(published))), record);
    }

    /// So is the identity of a series, and a query reads back with the published names.
    #[test]
    fn identities_and_queries_are_translated_name_by_name(
        types in bijection(TYPES), exchanges in bijection(VENUES), venue in 0..VENUES.len(), kind in 0..TYPES.len(),
    ) {
        let (data_type, exchange) = (TYPES[kind].to_owned(), VENUES[venue].to_owned());
        let query = PointsQuery { data_type, exchanges: vec![exchange, "OPEN".into()], ..PointsQuery::default() };
        let parts = DialectParts { types: types.clone(), exchanges: exchanges.clone(), ..DialectParts::default() };
        let dialect = Dialect::new(parts).unwrap();
        let sent = PointsQuery::parse(&dialect.query(&query.to_query_string())).unwrap();
        prop_assert_eq!(&sent.data_type, &types[TYPES[kind]]);
        prop_assert_eq!(&sent.exchanges, &[exchanges[VENUES[venue]].clone(), "OPEN".to_owned()]);
        let mut id = SeriesId {
            data_type: Some(sent.data_type), exchange: Some(sent.exchanges[0].clone()), ..SeriesId::default()
        };
        dialect.identity(&mut id);
        prop_assert_eq!(id.data_type.as_deref(), Some(TYPES[kind]));
        prop_assert_eq!(id.exchange.as_deref(), Some(VENUES[venue]));
    }
}
