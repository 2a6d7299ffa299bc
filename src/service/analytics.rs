//! The prediction-market analytics endpoints (service.md 4.3): fixed weights, Advanced tier.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, RawQuery, State};
use axum::routing::get;

use super::answer::{AnswerWork, Caller, RouteAnswer, compute, known};
use super::query_checks::needs_tier;
use super::responses;
use super::state::ServiceState;
use crate::encode;
use crate::protocol::analytics::{ANALYTICS, ANALYTICS_PREFIX, ANALYTICS_TIER, AnalyticsSpec};
use crate::protocol::query::Spelling;
use crate::protocol::query::refuse_unknown;
use crate::protocol::{AnalyticsQuery, ErrorBody};

/// The routes of the table.
pub(super) fn routes() -> Router<Arc<ServiceState>> {
    ANALYTICS.iter().fold(Router::new(), |router, spec| {
        router.route(
            spec.path,
            get(
                move |State(state): State<Arc<ServiceState>>, Extension(caller): Extension<Caller>, RawQuery(query)| {
                    answer(spec, state, caller, query)
                },
            ),
        )
    })
}

/// Refuses, in this order: no key (401), a tier below Advanced (403), invalid parameters (400), no budget (429). A
/// refused request costs nothing.
async fn answer(
    spec: &'static AnalyticsSpec,
    state: Arc<ServiceState>,
    caller: Caller,
    query: Option<String>,
) -> RouteAnswer {
    let access = known(caller)?;
    if access.allowance.tier() < ANALYTICS_TIER {
        let feature = format!("prediction-market analytics ({ANALYTICS_PREFIX})");
        return Err(needs_tier(&feature, ANALYTICS_TIER.spec().name, access.allowance).into());
    }
    let now = state.clock.now();
    let query = AnalyticsQuery::parse(spec.endpoint, &query.unwrap_or_default())?;
    refuse_unknown(&query.extra, spec.parameters)?;
    query.check(Spelling::Wire)?;
    query.check_offset()?;
    let charge = access.charge(spec.weight)?;
    let body = compute(&state, Some(charge), AnswerWork::Usual, move |source| {
        let answer = source.analytics(&query, now)?;
        encode::record(&answer).map_err(|error| ErrorBody::internal(error.to_string()))
    });
    Ok(responses::paid(body.await?, spec.weight))
}
