//! The discovery endpoints that answer with one list (service.md 4.2, supplement 5). They weigh 0.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, RawQuery, State};
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::{Map, Value};

use super::answer::{AnswerWork, Caller, RouteAnswer, compute, known};
use super::responses;
use super::state::ServiceState;
use crate::encode;
use crate::protocol::discovery::ListEndpoint;
use crate::protocol::query::{FILTER_PARAMETERS, refuse_unknown};
use crate::protocol::{DataType, ErrorBody, Filters, LISTS};

/// The routes of the table.
pub(super) fn routes() -> Router<Arc<ServiceState>> {
    LISTS.iter().fold(Router::new(), |router, row| {
        router.route(
            row.path,
            get(
                move |State(state): State<Arc<ServiceState>>, Extension(caller): Extension<Caller>, RawQuery(query)| {
                    answer(row, state, caller, query)
                },
            ),
        )
    })
}

/// Refuses, in this order: no key (401), unknown parameters (400), no `type` where the endpoint needs one (a server
/// error, as on the live service, section 7).
async fn answer(
    row: &'static ListEndpoint,
    state: Arc<ServiceState>,
    caller: Caller,
    query: Option<String>,
) -> RouteAnswer {
    known(caller)?;
    let now = state.clock.now();
    let filters = Filters::parse(&query.unwrap_or_default());
    refuse_unknown(&filters.extra, &FILTER_PARAMETERS)?;
    if row.needs_type && filters.types.iter().all(String::is_empty) {
        let message = format!(
            "parameter type: missing; {} needs at least one data type, such as type={}",
            row.path,
            DataType::TradeAgg.spec().name,
        );
        return Err(ErrorBody::internal(message).into());
    }
    let body = compute(&state, None, AnswerWork::Light, move |source| {
        let list = source.list(row.list, &filters, now)?;
        let mut body = Map::new();
        if list.as_array().is_none_or(|entries| !entries.is_empty()) {
            body.insert(row.key.to_owned(), list);
        }
        encode::record(&Value::Object(body)).map_err(|error| ErrorBody::internal(error.to_string()))
    });
    Ok(responses::json(StatusCode::OK, body.await?))
}
