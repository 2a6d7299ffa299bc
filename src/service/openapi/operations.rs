//! Endpoints, their answers and their errors.

use serde_json::{Map, Value, json};

use super::parameters::parameter;
use super::schemas::{object, reference};
use crate::protocol::LISTS;
use crate::protocol::analytics::{ANALYTICS, ANALYTICS_TIER};
use crate::protocol::discovery::ListEndpoint;
use crate::protocol::query::{FILTER_PARAMETERS, MARKETS_PARAMETERS, POINTS_PARAMETERS};
use crate::protocol::wire::{
    LIMIT_HEADER, MARKETS_PATH, POINTS_PATH, REMAINING_HEADER, RESET_HEADER, USAGE_PATH, USED_HEADER,
};
use crate::service::paths::OPENAPI_PATH;

/// Errors: status, name of the component, when.
const REFUSALS: [(u16, &str, &str); 13] = [
    (
        400,
        "Invalid",
        "a parameter is missing, unknown or out of range (INVALID_PARAMS), an interval, exchange or symbol is not known \
         (INVALID_TIMEFRAME, INVALID_EXCHANGE, INVALID_SYMBOL), or the header Host is missing (INVALID_REQUEST); the message \
         says how to mend it",
    ),
    (401, "NoKey", "no known API key came with the request"),
    (403, "Forbidden", "the key's plan does not allow it, or the header Host names another machine"),
    (
        404,
        "NotArchived",
        "the service answers from an archive that was never asked for this (NOT_ARCHIVED); it costs nothing",
    ),
    (405, "Method", "a method other than GET"),
    (408, "BodyTimeout", "the body, which is discarded, does not arrive"),
    (413, "BodyTooLarge", "the body, which is discarded, is too long"),
    (414, "TooLong", "path and query are too long"),
    (429, "RateLimited", "the weight budget does not hold it; Retry-After says when the same request passes"),
    (431, "HeadTooLarge", "the head of the request is too large"),
    (500, "Failed", "a fault of the service; without type also where an endpoint needs one"),
    (503, "Unavailable", "the service is stopping"),
    (504, "Timeout", "the answer took too long"),
];
/// Every status that the service may answer before it calls a route, or when a route fails.
const ALWAYS: [u16; 8] = [400, 403, 405, 408, 413, 414, 431, 500];

const BUDGET_HEADERS: [(&str, &str); 4] = [
    (LIMIT_HEADER, "weight budget per minute"),
    (REMAINING_HEADER, "whole weight left, burst included"),
    (USED_HEADER, "weight spent in the last 60 s"),
    (RESET_HEADER, "Unix second at which the bucket is full again"),
];
const RETRY_AFTER: &str = "retry-after";

/// One endpoint in the document.
struct Endpoint<'a> {
    path: &'a str,
    id: String,
    tag: &'a str,
    summary: String,
    parameters: &'a [&'a str],
    answer: Value,
    more: &'a [u16],
    keyed: bool,
}

/// The budget headers as components.
pub(super) fn headers() -> Value {
    let mut headers: Map<String, Value> = BUDGET_HEADERS
        .iter()
        .map(|(name, text)| ((*name).to_owned(), always(text, &json!({ "type": "integer" }))))
        .collect();
    headers.insert(RETRY_AFTER.to_owned(), always("seconds to wait", &json!({ "type": "integer", "minimum": 1 })));
    Value::Object(headers)
}

/// A header that an answer always has.
fn always(text: &str, schema: &Value) -> Value {
    json!({ "description": text, "required": true, "schema": schema })
}

/// The error responses as components.
pub(super) fn refusals() -> Value {
    let refusal = |&(status, name, when): &(u16, &str, &str)| {
        let mut refusal = json!({
            "description": when,
            "content": { "application/json": { "schema": reference("Error") } },
        });
        if status == 429 {
            refusal["headers"] = json!({ RETRY_AFTER: header(RETRY_AFTER) });
        }
        (name.to_owned(), refusal)
    };
    Value::Object(REFUSALS.iter().map(refusal).collect())
}

/// Every path of the service.
pub(super) fn paths() -> Value {
    let mut paths = Map::new();
    let mut add = |endpoint: &Endpoint<'_>| {
        paths.insert(endpoint.path.to_owned(), json!({ "get": operation(endpoint) }));
    };
    add(&Endpoint {
        path: POINTS_PATH,
        id: "points".to_owned(),
        tag: "time series",
        summary: "Series of points of a data type; the weight follows type, window, exchanges and depth".to_owned(),
        parameters: &POINTS_PARAMETERS,
        answer: reference("Points"),
        more: &[401, 404, 429, 503, 504],
        keyed: true,
    });
    add(&Endpoint {
        path: MARKETS_PATH,
        id: "markets".to_owned(),
        tag: "discovery",
        summary: "One page of the market listing; weight 0".to_owned(),
        parameters: &MARKETS_PARAMETERS,
        answer: reference("MarketsPage"),
        more: &[401, 503, 504],
        keyed: true,
    });
    add(&Endpoint {
        path: USAGE_PATH,
        id: "usage".to_owned(),
        tag: "discovery",
        summary: "The key's budget; weight 0".to_owned(),
        parameters: &[],
        answer: reference("Usage"),
        more: &[401],
        keyed: true,
    });
    for row in &LISTS {
        add(&list(row));
    }
    for row in &ANALYTICS {
        let (weight, plan) = (row.weight, ANALYTICS_TIER.spec().name);
        add(&Endpoint {
            path: row.path,
            id: row.name.to_owned(),
            tag: "analytics",
            summary: format!("Prediction-market analytics: {}; weight {weight}, plan {plan}", row.answer_key),
            parameters: row.parameters,
            answer: object([(row.answer_key.to_owned(), reference(row.answer_key))].into_iter().collect()),
            more: &[401, 404, 429, 503, 504],
            keyed: true,
        });
    }
    add(&Endpoint {
        path: OPENAPI_PATH,
        id: "openapi".to_owned(),
        tag: "discovery",
        summary: "This document; no key needed".to_owned(),
        parameters: &[],
        answer: json!({ "type": "object" }),
        more: &[],
        keyed: false,
    });
    Value::Object(paths)
}

fn list(row: &ListEndpoint) -> Endpoint<'_> {
    Endpoint {
        path: row.path,
        id: row.key.to_owned(),
        tag: "discovery",
        summary: format!("The {} of the markets that pass the filters; weight 0", row.key),
        parameters: &FILTER_PARAMETERS,
        answer: object([(row.key.to_owned(), reference(row.key))].into_iter().collect()),
        more: &[401, 503, 504],
        keyed: true,
    }
}

fn header(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

fn operation(endpoint: &Endpoint<'_>) -> Value {
    let mut answers = Map::new();
    let mut answer = json!({
        "description": "the answer",
        "content": { "application/json": { "schema": endpoint.answer } },
    });
    if endpoint.keyed {
        let headers = BUDGET_HEADERS.iter().map(|(name, _)| ((*name).to_owned(), header(name)));
        answer["headers"] = Value::Object(headers.collect());
    }
    answers.insert("200".to_owned(), answer);
    for (status, name, _) in REFUSALS {
        if ALWAYS.contains(&status) || endpoint.more.contains(&status) {
            answers.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{name}") }));
        }
    }
    let parameters: Vec<Value> = endpoint.parameters.iter().map(|name| parameter(endpoint.path, name)).collect();
    let mut operation = json!({
        "operationId": endpoint.id,
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": answers,
    });
    if !endpoint.keyed {
        operation["security"] = json!([]);
    }
    operation
}
