//! Prediction-market analytics: fixed weights within the same budget, page by page (service.md 4.3 and 8.5).

use std::collections::HashSet;

use super::Client;
use super::error::{ClientError, ErrorKind};
use super::pace::too_heavy;
use super::points::{Plan, PlannedRequest};
use crate::protocol::analytics::{ANALYTICS_TIER, MAX_LIMIT, MAX_OFFSET};
use crate::protocol::query::Page;
use crate::protocol::{AnalyticsAnswer, AnalyticsAsk, AnalyticsQuery};
use crate::weight::Window;

impl Client {
    /// Asks an analytics endpoint. A listing is fetched page by page, from the query's offset on, up to `limit` rows; its
    /// own `limit` is ignored. Without a limit that is all that paging reaches. Other endpoints answer with one request.
    ///
    /// A row that moved to a later page while paging comes once.
    ///
    /// # Errors
    /// Every kind; before sending [`ErrorKind::Tier`] below the Advanced tier (section 5), [`ErrorKind::InvalidRequest`]
    /// for a query that breaks the rules of section 4.3 and for more rows than offsets up to the maximum reach. An offset
    /// beyond that maximum is sent as it is. [`ErrorKind::InvalidRequest`] too where it may weigh more than `max_weight`.
    pub async fn analytics(
        &self,
        query: &AnalyticsQuery,
        limit: Option<usize>,
        max_weight: Option<u64>,
    ) -> Result<AnalyticsAnswer, ClientError> {
        if max_weight.is_some() {
            self.plan_analytics(query, limit, max_weight)?;
        }
        let (mut whole, mut seen) = (AnalyticsAnswer::default(), HashSet::new());
        for query in self.analytics_pages(query, limit)? {
            let answer = self.analytics_page(&query).await?;
            let Some(size) = rows_of(&query) else { return Ok(answer) };
            let count = answer.trader_profiles.len() + answer.user_positions.len();
            let profiles = answer.trader_profiles.into_iter();
            whole
                .trader_profiles
                .extend(profiles.filter(|row| seen.insert((row.wallet_address.clone(), String::new()))));
            let positions = answer.user_positions.into_iter();
            whole
                .user_positions
                .extend(positions.filter(|row| seen.insert((row.wallet_address.clone(), row.asset_id.clone()))));
            if i64::try_from(count).is_ok_and(|count| count < size) {
                break;
            }
        }
        Ok(whole)
    }

    /// What [`Client::analytics`] would send at most: a listing that ends early needs fewer pages. Sends nothing. The
    /// `points` of a request are the rows that it asks for.
    ///
    /// # Errors
    /// As [`Client::analytics`] before sending, and [`ErrorKind::InvalidRequest`] for an endpoint that is heavier than the
    /// bucket ever is full, or when all of it weighs more than `max_weight`.
    pub fn plan_analytics(
        &self,
        query: &AnalyticsQuery,
        limit: Option<usize>,
        max_weight: Option<u64>,
    ) -> Result<Plan, ClientError> {
        let (inner, spec) = (&self.inner, query.endpoint().spec());
        let pages = self.analytics_pages(query, limit)?;
        let planned = |query: &AnalyticsQuery| PlannedRequest {
            url: inner.transport.url(spec.path, &query.to_query_string()),
            weight: u64::from(spec.weight),
            points: rows_of(query).map_or(1, |rows| rows.max(0) as u64),
            memory: 0, // of points only; the bodies of records have a bound of their own
        };
        let requests: Vec<_> = pages.iter().map(planned).collect();
        if let Some(burst) = inner.pacer.burst().filter(|burst| u64::from(spec.weight) > *burst) {
            return Err(too_heavy(u64::from(spec.weight), burst));
        }
        Plan::new(requests, Window { from: 0, to: 0 }, inner, max_weight)
    }

    /// The requests of a query, page by page.
    fn analytics_pages(
        &self,
        query: &AnalyticsQuery,
        limit: Option<usize>,
    ) -> Result<Vec<AnalyticsQuery>, ClientError> {
        if let Some(tier) = self.inner.tier.filter(|tier| *tier < ANALYTICS_TIER) {
            let (wanted, own) = (ANALYTICS_TIER.spec().name, tier.spec().name);
            let message = format!("prediction-market analytics need the tier {wanted}; this client's tier is {own}");
            return Err(ClientError::new(ErrorKind::Tier, message));
        }
        let mut query = query.clone();
        let Some(first) = page(&mut query.ask).map(|page| page.offset.unwrap_or(0).max(0)) else {
            query.check()?;
            return Ok(vec![query]);
        };
        let rows = rows_wanted(first, limit)?;
        let mut pages = Vec::new();
        let mut asked = 0;
        while asked < rows {
            let size = MAX_LIMIT.min(rows - asked);
            if let Some(page) = page(&mut query.ask) {
                page.limit = Some(size);
                // Left out where it is 0, as a query without an offset is.
                page.offset = Some(first + asked).filter(|offset| *offset != 0);
            }
            query.check()?;
            pages.push(query.clone());
            asked += size;
        }
        Ok(pages)
    }

    async fn analytics_page(&self, query: &AnalyticsQuery) -> Result<AnalyticsAnswer, ClientError> {
        self.inner.learn_limits().await;
        let spec = query.endpoint().spec();
        self.inner.record(spec.path, &query.to_query_string(), u64::from(spec.weight)).await
    }
}

/// Rows that a query of a listing asks for.
fn rows_of(query: &AnalyticsQuery) -> Option<i64> {
    match &query.ask {
        AnalyticsAsk::Leaderboard(query) => query.page.limit,
        AnalyticsAsk::Positions(query) => query.page.limit,
        _ => None,
    }
}

/// The page of a listing.
fn page(ask: &mut AnalyticsAsk) -> Option<&mut Page> {
    match ask {
        AnalyticsAsk::Leaderboard(query) => Some(&mut query.page),
        AnalyticsAsk::Positions(query) => Some(&mut query.page),
        _ => None,
    }
}

/// Rows to ask for from `first` on. Paging reaches the page at the farthest offset of section 4.3; whoever starts beyond
/// it speaks to a service that allows more (supplement 8).
fn rows_wanted(first: i64, limit: Option<usize>) -> Result<i64, ClientError> {
    let limit = limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
    if first > MAX_OFFSET {
        return Ok(limit.unwrap_or(MAX_LIMIT));
    }
    let reach = MAX_OFFSET + MAX_LIMIT - first;
    match limit {
        Some(limit) if limit > reach => Err(ClientError::invalid(format!(
            "limit={limit}: paging reaches {reach} rows from offset {first} (offset is at most {MAX_OFFSET}, a page \
             {MAX_LIMIT} rows); ask for fewer, or narrow the filters"
        ))),
        limit => Ok(limit.unwrap_or(reach)),
    }
}
