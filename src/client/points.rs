//! Points: plan, fetch within the budget, decode, join.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures::stream;
use futures::{FutureExt, StreamExt};

use super::asked_identity::check_identities;
use super::assemble::assemble;
use super::body_reader;
use super::call_run::{Amount, CallRun, MOST_FAILURES, PARALLEL, Progress};
use super::error::{ClientError, ErrorKind};
use super::inner::{Client, ClientInner};
use super::plan::{Plan, PlannedRequest, check_weight};
use super::request::PointsRequest;
use super::slicing::slices_of;
use crate::clock::{UnixNanos, UnixSecond};
use crate::columns::Series;
use crate::protocol::wire::POINTS_PATH;
use crate::protocol::{DataType, Points, PointsQuery};
use crate::weight::Slice;

impl Client {
    /// The plan of [`Client::points`] at `now`. Sends nothing.
    ///
    /// An unknown type is weighed as the plain 1x types.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`] for a symbol that is missing in a cached list ([`Client::look_up`]), when the
    /// window is too long, when no request of it ever fits the budget, or when the total exceeds the request's
    /// `max_weight`; [`ErrorKind::Tier`] when the client's tier does not allow the type, several exchanges or so old a
    /// window.
    pub fn plan(&self, request: &PointsRequest, now: UnixNanos) -> Result<Plan, ClientError> {
        self.inner.check_request(request)?;
        self.listed(request)?;
        if let Some(plan) = self.plan_archived(request, now)? {
            return Ok(plan);
        }
        let requests = self.inner.requests_of(request, now)?;
        Plan::new(requests, request.window(now, self.inner.tier), &self.inner, request.max_weight)
    }

    /// Fetches the points of a request as of `now`: cut into requests, paced, retried, decoded, joined by series and
    /// sorted. If the service has no data for a symbol or coin, its series are empty.
    ///
    /// # Errors
    /// Every kind; when some requests succeeded and others failed, [`ErrorKind::Partial`] carries both.
    pub async fn points(
        &self,
        request: &PointsRequest,
        now: UnixNanos,
        progress: Option<Progress>,
    ) -> Result<Vec<Series>, ClientError> {
        let run = CallRun::new(&self.inner, progress, None);
        run.watched(self.points_within(&run, request, now, Amount::default())).await
    }

    /// The points of one request of a call, which expected it to send `expected`.
    pub(super) async fn points_within(
        &self,
        run: &CallRun<'_>,
        request: &PointsRequest,
        now: UnixNanos,
        expected: Amount,
    ) -> Result<Vec<Series>, ClientError> {
        self.inner.check_request(request)?;
        // In a box: a call without an archive would have to hold it too.
        if self.inner.archive.is_some()
            && let Some(series) = self.points_archived(run, request, now, expected).boxed().await?
        {
            return Ok(series);
        }
        run.unless_ended(self.inner.learn_limits()).await?;
        self.listed(request)?;
        let requests = self.inner.requests_of(request, now)?;
        check_weight(requests.iter().map(|request| request.weight).sum(), requests.len(), request.max_weight)?;
        run.expect(expected, Amount::of(&requests))?;
        let take = |_, series, _| std::future::ready((series, true));
        let answers = self.inner.send(run, &request.query, &requests, take).await;
        assemble(request, request.counted(request.window(now, self.inner.tier), now), answers)
    }
}

impl ClientInner {
    /// The requests that fetch the points, without an archive.
    fn requests_of(&self, request: &PointsRequest, now: UnixNanos) -> Result<Vec<PlannedRequest>, ClientError> {
        let slices = slices_of(request, None, now, self.terms())?;
        Ok(slices.iter().map(|slice| self.planned(&request.query, slice)).collect())
    }

    /// Sends the requests of a query for one symbol concurrently and passes each answer of what was asked for to `take` as
    /// it arrives: its index in the plan, its series, and the service's clock. `take` returns its result and whether to
    /// continue. The results are in the plan's order.
    pub(super) async fn send<T, R: Future<Output = (T, bool)>>(
        &self,
        run: &CallRun<'_>,
        query: &PointsQuery,
        requests: &[PlannedRequest],
        take: impl Fn(usize, Vec<Series>, Option<UnixSecond>) -> R,
    ) -> Vec<Result<T, ClientError>> {
        let (failed, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        stream::iter(0..requests.len())
            .map(|place| {
                let (failed, stop, take) = (&failed, &stop, &take);
                let planned = &requests[place];
                async move {
                    let Some(step) = run.step(planned.weight, stop).await else {
                        let message = "not sent, because other requests of the plan failed or the call was ended";
                        return Err(ClientError::new(ErrorKind::Transport, message).of(&planned.url));
                    };
                    let in_line = |waits| step.in_line(waits);
                    let fetch = self.fetch(&planned.url, planned.weight, &in_line, || self.reading(planned.memory));
                    let fetched = tokio::select! {
                        biased;
                        fetched = fetch => fetched,
                        () = run.ended() => {
                            let message = "not waited for, because the call was ended; it may have been charged";
                            Err(ClientError::new(ErrorKind::Transport, message).of(&planned.url))
                        }
                    };
                    let checked = fetched.and_then(|(series, date)| {
                        check_identities(&series, query).map_err(|error| error.of(&planned.url))?;
                        Ok((series, date))
                    });
                    match checked {
                        Ok((series, date)) => {
                            let rows = series.iter().map(Series::len).sum();
                            let (taken, more) = take(place, series, date).await;
                            stop.fetch_or(!more, Ordering::Relaxed);
                            step.answered(rows, more);
                            Ok(taken)
                        }
                        Err(error) => {
                            let failures = failed.fetch_add(1, Ordering::Relaxed) + 1;
                            // A request that is not sent costs nothing.
                            stop.fetch_or(step.failed(&error) || failures >= MOST_FAILURES, Ordering::Relaxed);
                            Err(error)
                        }
                    }
                }
            })
            .buffered(PARALLEL)
            .collect()
            .await
    }

    /// The reader for the points of an answer that may take so many bytes in memory.
    pub(super) fn reading(&self, memory: u64) -> body_reader::PointsReader {
        body_reader::PointsReader::new(self.transport.dialect().cloned(), memory)
    }

    pub(super) fn planned(&self, query: &PointsQuery, slice: &Slice) -> PlannedRequest {
        let query =
            PointsQuery { from: Some(slice.window.from), period: Some(slice.window.seconds()), ..query.clone() };
        let url = self.transport.url(POINTS_PATH, &query.to_query_string());
        let memory = self.max_memory.unwrap_or_else(|| most_memory(&query, slice.points));
        PlannedRequest { url, weight: slice.weight, points: slice.points, window: Some(slice.window), memory }
    }
}

/// Most bytes that an answer of so many buckets can need in memory: for each of its series twice the text size
/// estimated by [`TypeSpec::bucket_bytes`], plus a constant.
fn most_memory(query: &PointsQuery, points: Points) -> u64 {
    const BASE: u64 = 64 << 20;
    const MOST: u64 = 2 << 30;
    /// Most markets of a coin when each is a series of its own.
    const MARKETS: u64 = 256;
    // An unknown type may be as large as the largest one.
    let spec = DataType::find(&query.data_type).unwrap_or(DataType::BlockBookSnapshotAgg).spec();
    let one = query.raw_symbol.is_some() || query.group_by.is_some();
    let series = if one { query.exchanges.len().max(1) as u64 } else { MARKETS };
    let answer = points.0.saturating_mul(spec.bucket_bytes(query.max_depth)).saturating_mul(2 * series);
    answer.saturating_add(BASE).min(MOST)
}
