//! The description of the service against the service itself.

use std::sync::Arc;

use serde_json::Value;

use super::harness::{Bench, NOW};
use crate::market::Market;
use crate::protocol::LISTS;
use crate::protocol::analytics::ANALYTICS;
use crate::protocol::query::{FILTER_PARAMETERS, MARKETS_PARAMETERS, PARAMETERS, POINTS_PARAMETERS, ParameterKind};

fn demo() -> Bench {
    Bench::with(|config| config.source = Arc::new(Market::demo(0)))
}

/// The document, asked for without a key.
fn document(bench: &Bench) -> Value {
    let answer = bench.raw("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.json()
}

/// The endpoints of the protocol with their parameters.
fn endpoints() -> Vec<(&'static str, &'static [&'static str])> {
    let mut all: Vec<(&str, &[&str])> = vec![
        ("/v1/points", &POINTS_PARAMETERS),
        ("/v1/markets", &MARKETS_PARAMETERS),
        ("/v1/usage", &[]),
        ("/openapi.json", &[]),
    ];
    all.extend(LISTS.iter().map(|row| (row.path, &FILTER_PARAMETERS[..])));
    all.extend(ANALYTICS.iter().map(|row| (row.path, row.parameters)));
    all
}

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            let found = document.pointer(reference.strip_prefix('#').unwrap());
            resolve(document, found.unwrap_or_else(|| panic!("{reference} leads nowhere")))
        }
        None => schema,
    }
}

/// Whether a value is what the schema says; stricter than JSON Schema: a field that the schema does not name is wrong.
fn holds(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let schema = resolve(document, schema);
    if let Some(choices) = schema.get("anyOf") {
        let found = choices.as_array().unwrap().iter().any(|choice| holds(document, choice, value).is_ok());
        return if found { Ok(()) } else { Err(format!("{value} is none of the choices")) };
    }
    match (schema["type"].as_str(), value) {
        (Some("object"), Value::Object(fields)) => {
            for (name, field) in fields {
                let inner = schema["properties"].get(name).ok_or_else(|| format!("{name} is not described"))?;
                holds(document, inner, field).map_err(|problem| format!("{name}: {problem}"))?;
            }
            let required = schema.get("required").and_then(Value::as_array);
            match required.into_iter().flatten().find(|name| !fields.contains_key(name.as_str().unwrap())) {
                Some(name) => Err(format!("{name} is missing")),
                None => Ok(()),
            }
        }
        (Some("array"), Value::Array(items)) => {
            items.iter().try_for_each(|item| holds(document, &schema["items"], item))
        }
        (Some("string"), Value::String(_)) | (Some("number"), Value::Number(_)) | (Some("boolean"), Value::Bool(_)) => {
            Ok(())
        }
        (Some("integer"), Value::Number(number)) if number.is_i64() => Ok(()),
        _ => Err(format!("{value} is not {schema}")),
    }
}

#[test]
fn every_route_and_every_parameter_is_described_and_nothing_else() {
    let document = document(&demo());
    assert_eq!(document["openapi"], "3.1.0");
    let paths = document["paths"].as_object().unwrap();
    assert_eq!(paths.len(), endpoints().len());
    for (path, parameters) in endpoints() {
        let described = paths[path]["get"]["parameters"].as_array().unwrap();
        let names: Vec<&str> = described.iter().map(|parameter| parameter["name"].as_str().unwrap()).collect();
        assert_eq!(names, parameters, "{path}");
        for parameter in described {
            let schema = &parameter["schema"];
            let kind = schema["type"].as_str().unwrap();
            assert!(["string", "integer", "number", "boolean", "array"].contains(&kind), "{parameter}");
        }
    }
    let scheme = &document["components"]["securitySchemes"]["serviceKey"];
    assert_eq!((&scheme["in"], &scheme["name"]), (&"header".into(), &"x-service-key".into()));
    assert_eq!(paths["/openapi.json"]["get"]["security"], serde_json::json!([]));
}

#[test]
fn a_listed_market_is_described_with_every_field_of_section_2_4_and_no_other() {
    // Field and type as service.md 2.4 and supplement 5 have them.
    const MARKET: &str = "exchange:string rawSymbol:string normalizedSymbol:string coin:string category:string tenor:string \
        coinName:string quoteCoinName:string fullName:string lastPrice:number volume24h:number volumeChange24h:number \
        priceChange24h:number oiChange24h:number marketcap:number iconUrl:string availableSince:object \
        predictionMarkets:array prices:array pctFromATH:number volume24hUsd:number title:string liquidity:number tags:array";
    const PREDICTION: &str = "slug:string question:string groupItemTitle:string outcomes:array lastPrice:number \
        oneDayPriceChange:number prices:array totalVolume:number buyVolume24H:number sellVolume24H:number \
        volumeChange24H:number openInterest:number oneDayOIChange:number uniqueTraders:number \
        orderPriceMinTickSize:number conditionId:string closed:boolean availableSince:object availableTo:object \
        sportsMarketType:string line:number";
    let document = document(&demo());
    let described = |schema: &Value| {
        assert_eq!(schema["additionalProperties"], false);
        let fields = schema["properties"].as_object().unwrap().iter();
        let kind = |field: &Value| resolve(&document, field)["type"].as_str().unwrap().to_owned();
        let mut fields: Vec<String> = fields.map(|(name, field)| format!("{name}:{}", kind(field))).collect();
        fields.sort_unstable();
        fields
    };
    let sorted = |fields: &str| {
        let mut fields: Vec<String> = fields.split_whitespace().map(str::to_owned).collect();
        fields.sort_unstable();
        fields
    };
    let entry = &document["components"]["schemas"]["MarketsPage"]["properties"]["symbols"]["items"];
    let (inner, tag) = (&entry["properties"]["predictionMarkets"]["items"], &entry["properties"]["tags"]["items"]);
    assert_eq!(described(entry), sorted(MARKET));
    assert_eq!(described(inner), sorted(PREDICTION));
    assert_eq!(described(tag), sorted("id:string label:string slug:string"));
    assert_eq!(inner["properties"]["outcomes"]["items"]["type"], "string");
    assert_eq!(inner["properties"]["prices"]["items"]["type"], "number");
}

#[test]
fn every_reference_leads_somewhere() {
    fn walk(document: &Value, value: &Value) {
        match value {
            Value::Object(fields) => {
                resolve(document, value);
                fields.values().for_each(|field| walk(document, field));
            }
            Value::Array(items) => items.iter().for_each(|item| walk(document, item)),
            _ => {}
        }
    }
    let document = document(&demo());
    walk(&document, &document);
}

/// A new argument is described by its row in the table of the points query.
#[test]
fn parameters_of_points_are_described_by_the_kind_of_their_row() {
    let document = document(&demo());
    let described = document["paths"]["/v1/points"]["get"]["parameters"].as_array().unwrap();
    for row in PARAMETERS {
        let parameter = described.iter().find(|parameter| parameter["name"] == row.wire).unwrap();
        let kind = match row.kind {
            ParameterKind::Flag if row.wire == "transform.normalize.quote" => "string", // `USD`, a flag as an argument alone
            ParameterKind::Text => "string",
            ParameterKind::Texts => "array",
            ParameterKind::Flag => "boolean",
            ParameterKind::Whole => "integer",
            ParameterKind::Number => "number",
        };
        assert_eq!(parameter["schema"]["type"], kind, "{}", row.wire);
        assert_eq!(parameter["description"], row.about, "{}", row.wire);
    }
}

#[test]
fn what_is_described_as_a_number_is_read_as_one() {
    let bench = demo();
    let document = document(&bench);
    for (path, parameters) in endpoints() {
        for (name, parameter) in parameters.iter().zip(document["paths"][path]["get"]["parameters"].as_array().unwrap())
        {
            let kind = parameter["schema"]["type"].as_str().unwrap();
            let answer = bench.get("unlimited", &format!("{path}?type=TRADE_AGG&interval=MINUTE&{name}=wrong"));
            let refused =
                answer.status == 400 && answer.message().contains(&format!("parameter {name}: \"wrong\" is not"));
            if matches!(kind, "integer" | "number" | "boolean") {
                let unread = answer.status == 400 && answer.message().contains("unknown"); // `type` is no parameter there
                assert!(refused || unread, "{path} {name}: {answer:?}");
            }
        }
    }
}

#[test]
fn answers_and_refusals_are_as_described() {
    let bench = demo();
    let document = document(&bench);
    let board = bench.get("unlimited", "/v1/prediction/analytics/leaderboard?limit=1").json();
    let wallet = board["traderProfiles"][0]["wallet_address"].as_str().unwrap();
    let position = bench.get("unlimited", &format!("/v1/prediction/analytics/positions?limit=1&userWallet={wallet}"));
    let condition = position.json()["userPositions"][0]["condition_id"].as_str().unwrap().to_owned();
    let day = NOW - 86_400;
    let window = format!("exchange=BYBIT&rawSymbol=BTCUSDT&from={day}");
    let mut asked: Vec<String> = vec![
        format!("/v1/points?type=TRADE_AGG&interval=HOUR&period=7200&{window}"),
        format!("/v1/points?type=FUNDING_RATE_AGG&interval=HOUR&period=7200&{window}"),
        format!("/v1/points?type=TPO_AGG&interval=HOUR&period=7200&{window}"),
        format!("/v1/points?type=VOLUME_PROFILE_AGG&interval=HOUR&period=7200&{window}"),
        format!("/v1/points?type=BLOCK_BOOK_SNAPSHOT_AGG&blockSize=50&interval=MINUTE&period=120&{window}"),
        format!(
            "/v1/points?type=BLOCK_BOOK_SNAPSHOT_AGG&blockSize=50&flatten=true&interval=MINUTE&period=120&{window}"
        ),
        "/v1/points".into(),
        "/v1/points?type=TRADE_AG&interval=HOUR".into(),
        "/v1/points?type=TRADE_AGG&interval=MINUTE&period=6000001".into(),
        "/v1/symbols".into(),
        "/v1/markets?pageSize=3&category=PERPETUAL".into(),
        "/v1/markets?pageSize=3&category=OPTION".into(),
        "/v1/markets?pageSize=30&exchange=PREDICTION_VENUE".into(),
        "/v1/markets?pageSize=0".into(),
        "/v1/usage".into(),
        "/v1/prediction/analytics/leaderboard?limit=101".into(),
        format!("/v1/prediction/analytics/market-summary?conditionId={condition}"),
    ];
    asked.extend(
        ["trader-profile", "positions", "user-categories"]
            .map(|name| format!("/v1/prediction/analytics/{name}?userWallet={wallet}")),
    );
    asked.extend(LISTS.iter().map(|row| format!("{}?type=TRADE_AGG&coin=BTC", row.path)));
    for target in asked {
        let answer = bench.get("unlimited", &target);
        let path = target.split('?').next().unwrap();
        let described = resolve(&document, &document["paths"][path]["get"]["responses"][answer.status.to_string()]);
        let schema = &described["content"]["application/json"]["schema"];
        assert!(!schema.is_null(), "{target}: {} is not described", answer.status);
        holds(&document, schema, &answer.json()).unwrap_or_else(|problem| panic!("{target}: {problem}"));
    }
}
