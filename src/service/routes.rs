//! The routes (service.md 4): `/v1/points`, `/v1/markets`, `/v1/usage`, the lists, the analytics, the OpenAPI document
//! and the live stream; anything else is 404 or 405.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, RawQuery, Request, State};
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, Method, Response, StatusCode};
use axum::middleware::Next;
use axum::routing::get;
use axum::{Router, middleware};

use super::answer::{AnswerWork, BudgetOfBody, Caller, RouteAnswer, compute, compute_here, known};
use super::paths::OPENAPI_PATH;
use super::query_checks::{charged, readable};
use super::state::ServiceState;
use super::{analytics, lists, openapi, responses, stream};
use crate::encode;
use crate::market::Market;
use crate::protocol::analytics::ANALYTICS_PREFIX;
use crate::protocol::query::{MARKETS_PARAMETERS, refuse_unknown};
use crate::protocol::wire::{MARKETS_PATH, POINTS_PATH, USAGE_PATH};
use crate::protocol::{ErrorBody, LISTS, MarketsQuery};

/// Every route.
pub(super) fn router(state: Arc<ServiceState>) -> Router {
    Router::new()
        .route(POINTS_PATH, get(points))
        .route(MARKETS_PATH, get(markets))
        .route(USAGE_PATH, get(usage))
        .merge(lists::routes())
        .merge(openapi::routes())
        .merge(analytics::routes())
        .merge(stream::routes())
        .method_not_allowed_fallback(not_allowed)
        .route_layer(middleware::from_fn(only_get))
        .fallback(unknown_path)
        .with_state(state)
}

/// `GET /v1/points`.
async fn points(
    State(state): State<Arc<ServiceState>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> RouteAnswer {
    let (access, state) = (known(caller)?, &*state);
    let now = state.clock.now();
    let readable = readable(&query.unwrap_or_default())?;
    let follows_files = state.source.follows_files();
    if !follows_files {
        state.source.check(&readable.query, now)?;
    }
    if follows_files || state.source.has_block_size(&readable.query) {
        // May wait for a change of the files, or read the last price, so it must not block this thread. Only the error
        // is of interest.
        let query = readable.query.clone();
        let check = move |market: &Market| {
            if follows_files {
                market.check(&query, now)?;
            }
            Ok(market.check_block_size(&query, now).map(|()| Vec::<u8>::new())?)
        };
        compute(state, None, AnswerWork::Light, check).await?;
    }
    let weight = charged(&readable, access.allowance, now.second())?;
    let charge = access.charge(weight)?;
    let query = readable.query;
    if query.period.unwrap_or(0) == 0 {
        charge.keep();
        return Ok(responses::paid(encode::points(&[], false), weight));
    }
    // Answers that may read files must not block this thread.
    let short = !follows_files && !state.source.is_archive() && Market::runs_inline(&query, now);
    let amount = if Market::is_long(&query, now) {
        AnswerWork::Long
    } else if Market::is_light(&query, now) {
        AnswerWork::Light
    } else {
        AnswerWork::Usual
    };
    let work = move |source: &Market| {
        let series = source.points(&query, now)?;
        Ok(encode::points_in_parts(&series, query.flatten))
    };
    let body = if short {
        compute_here(state, charge, work).await?
    } else {
        compute(state, Some(charge), amount, work).await?
    };
    Ok(responses::paid(body, weight))
}

async fn markets(
    State(state): State<Arc<ServiceState>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> RouteAnswer {
    known(caller)?;
    let now = state.clock.now();
    let query = MarketsQuery::parse(&query.unwrap_or_default())?;
    refuse_unknown(&query.extra, &MARKETS_PARAMETERS)?;
    let body = compute(&state, None, AnswerWork::Light, move |source| {
        let page = source.markets(&query, now)?;
        encode::record(&page).map_err(|error| ErrorBody::internal(error.to_string()))
    });
    Ok(responses::json(StatusCode::OK, body.await?))
}

async fn usage(Extension(caller): Extension<Caller>) -> RouteAnswer {
    let usage = known(caller)?.usage();
    let body = encode::record(&usage).map_err(|error| ErrorBody::internal(error.to_string()))?;
    let mut response = responses::json(StatusCode::OK, body);
    response.extensions_mut().insert(BudgetOfBody(usage));
    Ok(response)
}

/// HEAD would compute, and charge, a complete answer only for its length: it is refused like every other method.
async fn only_get(request: Request, next: Next) -> Response<Body> {
    if request.method() == Method::HEAD { not_allowed().await } else { next.run(request).await }
}

async fn not_allowed() -> Response<Body> {
    let error = ErrorBody::new(405, "METHOD_NOT_ALLOWED", "the only method of this service is GET");
    let mut response = responses::refusal(&error);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
    response
}

async fn unknown_path() -> Response<Body> {
    let message = format!(
        "no such path; {OPENAPI_PATH} describes all: {POINTS_PATH}, {MARKETS_PATH}, {USAGE_PATH}, {} and those under {ANALYTICS_PREFIX}",
        LISTS.map(|row| row.path).join(", "),
    );
    responses::refusal(&ErrorBody::new(404, "NOT_FOUND", message))
}
