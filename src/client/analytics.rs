//! Prediction-market analytics: fixed weights in the same budget, page by page (service.md 4.3 and 8.5).

use std::collections::HashSet;

use super::error::{ClientError, ErrorKind, Partial};
use super::inner::Client;
use super::pace::too_heavy;
use super::plan::{Plan, PlannedRequest};
use super::tiers::{TierCut, analytics_by_tier, below_analytics};
use crate::clock::Window;
use crate::protocol::analytics::{ANALYTICS_TIER, MAX_LIMIT, MAX_OFFSET, NEWER_MAX_OFFSET};
use crate::protocol::query::Page;
use crate::protocol::query::Spelling;
use crate::protocol::{AnalyticsAnswer, AnalyticsAsk, AnalyticsQuery, Points, Weight};

impl Client {
    /// Queries an analytics endpoint. A listing is fetched page by page from the query's offset, up to `limit` rows;
    /// the query's own `limit` is ignored. Without a limit, all rows that paging can reach are fetched. Other endpoints
    /// take one request.
    ///
    /// A row that moves to a later page while paging is returned once.
    ///
    /// # Errors
    /// Every kind. Before sending: [`ErrorKind::Tier`] below the Advanced tier (section 5),
    /// [`ErrorKind::InvalidRequest`] for an invalid query (section 4.3), for more rows than the maximum offset reaches,
    /// and for more weight than `max_weight`. An offset beyond the maximum is sent unchanged. When a later page fails,
    /// [`ErrorKind::Partial`] carries the rows of the pages already paid for.
    pub async fn analytics(
        &self,
        query: &AnalyticsQuery,
        limit: Option<usize>,
        max_weight: Option<Weight>,
    ) -> Result<AnalyticsAnswer, ClientError> {
        if max_weight.is_some() {
            self.plan_analytics(query, limit, max_weight)?;
        }
        let (mut whole, mut seen) = (AnalyticsAnswer::default(), HashSet::new());
        for (place, query) in self.analytics_pages(query, limit)?.into_iter().enumerate() {
            let answer = match self.analytics_page(&query).await {
                Ok(answer) => answer,
                Err(error) if place > 0 => return Err(paid_in_part(whole, error)),
                Err(error) => return Err(error),
            };
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

    /// The most that [`Client::analytics`] would send: a listing that ends early takes fewer pages. Sends nothing. The
    /// `points` of a request are the rows it asks for.
    ///
    /// # Errors
    /// As [`Client::analytics`] before sending, and [`ErrorKind::InvalidRequest`] for an endpoint whose weight exceeds
    /// the bucket's capacity, or when the total weight exceeds `max_weight`.
    pub fn plan_analytics(
        &self,
        query: &AnalyticsQuery,
        limit: Option<usize>,
        max_weight: Option<Weight>,
    ) -> Result<Plan, ClientError> {
        let (inner, spec) = (&self.inner, query.endpoint().spec());
        let pages = self.analytics_pages(query, limit)?;
        let planned = |query: &AnalyticsQuery| PlannedRequest {
            url: inner.transport.url(spec.path, &query.to_query_string()),
            weight: spec.weight,
            points: rows_of(query).map_or(Points(1), |rows| Points(rows.max(0) as u64)),
            window: None,
            memory: 0, // for points only; records have their own bound on bodies
        };
        let requests: Vec<_> = pages.iter().map(planned).collect();
        if let Some(burst) = inner.pacer.burst().filter(|burst| spec.weight > *burst) {
            return Err(too_heavy(spec.weight, burst));
        }
        let tiers = analytics_by_tier(TierCut {
            requests: requests.len(),
            weight: requests.iter().map(|request| request.weight).sum(),
            points: requests.iter().map(|request| request.points).sum(),
        });
        Ok(Plan { tiers, ..Plan::new(requests, Window { from: 0, to: 0 }, inner, max_weight)? })
    }

    /// The requests of a query, page by page.
    fn analytics_pages(
        &self,
        query: &AnalyticsQuery,
        limit: Option<usize>,
    ) -> Result<Vec<AnalyticsQuery>, ClientError> {
        if let Some(tier) = self.inner.tier.filter(|tier| *tier < ANALYTICS_TIER) {
            return Err(below_analytics(tier.spec()));
        }
        let mut query = query.clone();
        let Some(first) = page(&mut query.ask).map(|page| page.offset.unwrap_or(0).max(0)) else {
            query.check(Spelling::caller())?;
            return Ok(vec![query]);
        };
        let bounds = page_bounds(first, limit)?;
        let page_of = |(offset, size): (i64, i64)| {
            if let Some(page) = page(&mut query.ask) {
                page.limit = Some(size);
                // Omitted where it is 0, as in a query without an offset.
                page.offset = Some(offset).filter(|offset| *offset != 0);
            }
            query.check(Spelling::caller())?;
            Ok(query.clone())
        };
        bounds.into_iter().map(page_of).collect()
    }

    async fn analytics_page(&self, query: &AnalyticsQuery) -> Result<AnalyticsAnswer, ClientError> {
        self.inner.learn_limits().await;
        let spec = query.endpoint().spec();
        self.inner.record(spec.path, &query.to_query_string(), spec.weight).await
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

/// The error of a later page, with the rows of the pages already paid for.
fn paid_in_part(rows: AnalyticsAnswer, error: ClientError) -> ClientError {
    let count = rows.trader_profiles.len() + rows.user_positions.len();
    let message = format!("a page failed, the {count} rows before it are in results; it: {}", error.message);
    let failures = vec![error.clone()];
    let partial = Some(Box::new(Partial { rows: Some(Box::new(rows)), failures, ..Partial::default() }));
    ClientError { kind: ErrorKind::Partial, message, partial, ..error }
}

/// The pages from the row `offset` on, as first row and size. No page starts beyond the wall: the highest offset of
/// section 4.3, or, if `offset` is beyond it, that of newer services (supplement 8). So the page before the wall ends there, and
/// the last page starts at it.
///
/// An offset beyond both is sent unchanged for the service to judge, and no page follows it.
fn page_bounds(offset: i64, limit: Option<usize>) -> Result<Vec<(i64, i64)>, ClientError> {
    let limit = limit.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX));
    let wall = [MAX_OFFSET, NEWER_MAX_OFFSET].into_iter().find(|wall| offset <= *wall).unwrap_or(offset);
    let reach = wall.saturating_add(MAX_LIMIT) - offset;
    let rows = match limit {
        Some(limit) if limit > reach => {
            return Err(ClientError::invalid(format!(
                "limit={limit}: paging reaches {reach} rows from offset {offset} (a page starts at {wall} at most and has \
                 {MAX_LIMIT} rows); ask for fewer, or narrow the filters"
            )));
        }
        Some(limit) => limit,
        // An offset beyond the documented wall may rely on a newer service.
        None if offset > MAX_OFFSET => MAX_LIMIT,
        None => reach,
    };
    let (end, mut at) = (offset.saturating_add(rows), offset);
    let mut pages = Vec::new();
    while at < end {
        let size = MAX_LIMIT.min(end - at);
        let size = if at < wall && at + size < end { size.min(wall - at) } else { size };
        pages.push((at, size));
        at += size;
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every page within the walls of section 4.3, every row once.
    #[test]
    fn pages_reach_the_last_row_and_never_start_beyond_the_wall() {
        for first in 0..=100 {
            for rows in 1..=200 - first {
                let pages = page_bounds(first, Some(rows as usize)).unwrap();
                let mut next = first;
                for &(offset, size) in &pages {
                    assert!(offset == next && offset <= 100 && (1..=100).contains(&size), "{first} {rows} {pages:?}");
                    next += size;
                }
                assert_eq!(next, first + rows);
                assert!(pages.len() <= if rows <= 100 { 1 } else { 2 }, "{first} {rows} {pages:?}");
            }
            assert!(page_bounds(first, Some((201 - first) as usize)).is_err());
            let all: i64 = page_bounds(first, None).unwrap().iter().map(|(_, size)| size).sum();
            assert_eq!(all, 200 - first);
        }
    }

    #[test]
    fn an_offset_beyond_the_wall_is_the_services_to_judge() {
        assert_eq!(page_bounds(150, None).unwrap(), [(150, 100)]);
        assert_eq!(page_bounds(150, Some(250)).unwrap(), [(150, 100), (250, 100), (350, 50)]);
        assert_eq!(page_bounds(9_950, Some(150)).unwrap(), [(9_950, 50), (10_000, 100)]);
        assert!(page_bounds(9_950, Some(151)).unwrap_err().message.contains("reaches 150 rows from offset 9950"));
        assert_eq!(page_bounds(20_000, Some(100)).unwrap(), [(20_000, 100)]);
        assert!(page_bounds(20_000, Some(101)).is_err());
        assert!(page_bounds(i64::MAX, None).is_ok());
    }
}
