//! The service's `OpenAPI` 3.1 document, made from the protocol's tables, so that it cannot become outdated. It is
//! served without a key at [`OPENAPI_PATH`].

mod operations;
mod parameters;
mod samples;
mod schemas;

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::{Value, json};

use super::paths::OPENAPI_PATH;
use super::responses;
use super::state::ServiceState;
use crate::protocol::tier::TIERS;
use crate::protocol::wire::KEY_HEADER;

/// Name of the security scheme.
const KEY_SCHEME: &str = "serviceKey";

static BODY: LazyLock<Vec<u8>> = LazyLock::new(|| document().to_string().into_bytes());

/// The route of the document.
pub(super) fn routes() -> Router<Arc<ServiceState>> {
    Router::new().route(OPENAPI_PATH, get(|| async { responses::json(StatusCode::OK, BODY.clone()) }))
}

/// The document, as [`OPENAPI_PATH`] answers it.
pub fn document() -> Value {
    let tiers: Vec<String> = TIERS
        .iter()
        .map(|row| {
            let day = row.weight_per_day.map_or_else(|| "no daily cap".to_owned(), |cap| format!("{cap} a day"));
            let (name, minute, burst, days) = (row.name, row.weight_per_minute, row.burst(), row.history_days);
            format!("{name}: {minute} weight a minute (burst {burst}), {day}, {days} days of history")
        })
        .collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "marketpoints local service",
            "version": env!("CARGO_PKG_VERSION"),
            "description": format!(
                "An offline twin of the market-data service: time series, discovery and prediction-market analytics. \
                 Fields whose value is zero or empty are left out of answers. Names such as types, intervals and \
                 exchanges are open strings. Plans: {}.",
                tiers.join("; ")
            ),
        },
        "servers": [{ "url": "/" }],
        "security": [{ KEY_SCHEME: [] }],
        "paths": operations::paths(),
        "components": {
            "securitySchemes": {
                KEY_SCHEME: { "type": "apiKey", "in": "header", "name": KEY_HEADER },
            },
            "schemas": schemas::all(),
            "headers": operations::headers(),
            "responses": operations::refusals(),
        },
    })
}
