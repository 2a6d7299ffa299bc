//! Points: plan, fetch within the budget, decode, join.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures::StreamExt;
use futures::stream;

use super::archived::errand_of;
use super::error::{ClientError, ErrorKind, Partial};
use super::reading;
use super::request::PointsRequest;
use super::run::{Amount, MOST_FAILURES, PARALLEL, Progress, Run};
use super::tiers::{Terms, TierWait};
use super::{Client, Inner};
use crate::clock::{SECOND, utc};
use crate::columns::{NO_TIME, Series, join};
use crate::decode;
use crate::decode::settled;
use crate::protocol::body_size::BODY_BOUND;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::interval::INTERVALS;
use crate::protocol::wire::POINTS_PATH;
use crate::protocol::{DataType, Grid, Interval, PointsQuery, SeriesId, TypeSpec};
use crate::weight::{BLOCK, Demand, Slice, Window, slices};

/// One request of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedRequest {
    /// The whole URL; the key is not in it.
    pub url: String,
    /// Weight (section 8.2).
    pub weight: u64,
    /// Buckets in its window.
    pub points: u64,
    /// Bytes that its answer may take in memory.
    pub(super) memory: u64,
}

/// What a call would send.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The requests, in the order of their windows.
    pub requests: Vec<PlannedRequest>,
    /// Seconds until the budget at hand allows the last of them.
    pub eta: f64,
    /// What each tier would take, lowest first; empty where nobody asked.
    pub tiers: Vec<TierWait>,
    pub(super) window: Window,
}

impl Plan {
    /// A plan of these requests, unless it weighs more than allowed.
    pub(super) fn new(
        requests: Vec<PlannedRequest>,
        window: Window,
        inner: &Inner,
        max_weight: Option<u64>,
    ) -> Result<Self, ClientError> {
        let weight = requests.iter().map(|request| request.weight).sum();
        check_weight(weight, requests.len(), max_weight)?;
        Ok(Self { requests, eta: inner.pacer.eta(weight), tiers: Vec::new(), window })
    }

    /// Summed weight.
    pub fn weight(&self) -> u64 {
        self.requests.iter().map(|request| request.weight).sum()
    }

    /// Summed buckets.
    pub fn points(&self) -> u64 {
        self.requests.iter().map(|request| request.points).sum()
    }
}

/// Refuses a call that weighs more than its caller allows.
pub(super) fn check_weight(weight: u64, requests: usize, max_weight: Option<u64>) -> Result<(), ClientError> {
    match max_weight.filter(|most| weight > *most) {
        None => Ok(()),
        Some(most) => Err(ClientError::invalid(format!(
            "the call weighs {weight} in {requests} request{}, more than max_weight={most}; ask for less, or allow more",
            if requests == 1 { "" } else { "s" }
        ))),
    }
}

impl Client {
    /// What [`Client::points`] would send at `now` (Unix seconds). Sends nothing.
    ///
    /// The weight of a type that the table does not know is taken for that of the plain 1x types.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidRequest`] for a symbol that a listing asked before ([`Client::look_up`]) does not have, when the window is too long, no request of it ever fits the budget, or all of it
    /// weighs more than the request's `max_weight`,
    /// [`ErrorKind::Tier`] when the client's tier does not allow the type, several exchanges or so old a window.
    pub fn plan(&self, request: &PointsRequest, now: f64) -> Result<Plan, ClientError> {
        let inner = &self.inner;
        inner.check_request(request)?;
        self.listed(request)?;
        let window = request.window(now, inner.tier);
        if let Some(plan) = self.plan_archived(request, now)? {
            return Ok(plan);
        }
        let slices = slices_of(request, None, now, inner.terms())?;
        let requests: Vec<_> = slices.iter().map(|slice| inner.planned(&request.query, slice)).collect();
        Plan::new(requests, window, inner, request.max_weight)
    }

    /// Fetches the points of a request as of `now` (Unix seconds): cut into requests, paced, retried, decoded, joined
    /// by series and sorted. A query of one symbol or coin that the service has nothing for gives empty series.
    ///
    /// # Errors
    /// Every kind; when some requests arrived and others did not, [`ErrorKind::Partial`] carries both.
    pub async fn points(
        &self,
        request: &PointsRequest,
        now: f64,
        progress: Option<Progress>,
    ) -> Result<Vec<Series>, ClientError> {
        let run = Run::new(&self.inner, progress, None);
        run.watched(self.points_within(&run, request, now, Amount::default())).await
    }

    /// The points of a request that is one part of a call, which expected it to send `expected`.
    pub(super) async fn points_within(
        &self,
        run: &Run<'_>,
        request: &PointsRequest,
        now: f64,
        expected: Amount,
    ) -> Result<Vec<Series>, ClientError> {
        self.inner.check_request(request)?;
        if let Some(series) = self.points_archived(run, request, now, expected).await? {
            return Ok(series);
        }
        self.inner.learn_limits().await;
        let plan = self.plan(request, now)?;
        run.expect(expected, Amount::of(&plan.requests))?;
        let take = |_, series, _| std::future::ready((series, true));
        let answers = self.inner.send(run, &plan.requests, take).await;
        assemble(request, request.counted(plan.window, now), answers)
    }
}

impl Inner {
    /// Sends the requests for one symbol, several at once, and hands each answer on as it comes: its place in the plan, its
    /// series, and the service's clock. `take` says what it made of it, and whether the rest is still worth asking for. The
    /// outcomes are in the plan's order.
    pub(super) async fn send<T, R: Future<Output = (T, bool)>>(
        &self,
        run: &Run<'_>,
        requests: &[PlannedRequest],
        take: impl Fn(usize, Vec<Series>, Option<i64>) -> R,
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
                    match fetched {
                        Ok((series, date)) => {
                            let rows = series.iter().map(Series::len).sum();
                            let (taken, more) = take(place, series, date).await;
                            stop.fetch_or(!more, Ordering::Relaxed);
                            step.answered(rows, more);
                            Ok(taken)
                        }
                        Err(error) => {
                            let failures = failed.fetch_add(1, Ordering::Relaxed) + 1;
                            // Not sent, it costs nothing.
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

    /// What reads the points of an answer that may take so many bytes in memory.
    pub(super) fn reading(&self, memory: u64) -> reading::Points {
        reading::Points::new(self.transport.dialect().cloned(), memory)
    }

    pub(super) fn planned(&self, query: &PointsQuery, slice: &Slice) -> PlannedRequest {
        let query = PointsQuery { from: Some(slice.from), period: Some(slice.period), ..query.clone() };
        let url = self.transport.url(POINTS_PATH, &query.to_query_string());
        let memory = self.max_memory.unwrap_or_else(|| most_memory(&query, slice.points));
        PlannedRequest { url, weight: slice.weight, points: slice.points, memory }
    }
}

/// The requests of the least weight that bring a request's points, or of what was `asked` before, where that is kept,
/// those that bring the rest.
///
/// # Errors
/// What cannot run within the terms.
pub(super) fn slices_of(
    request: &PointsRequest,
    asked: Option<&[Window]>,
    now: f64,
    terms: Terms,
) -> Result<Vec<Slice>, ClientError> {
    let window = request.window(now, terms.tier);
    if let Some(asked) = asked {
        return errand_of(request, asked, window, now, terms);
    }
    if let Some(tier) = terms.tier {
        request.check_walls(tier, window, now)?;
    }
    cut(request, window, terms)
}

/// A window cut into requests of the least weight.
pub(super) fn cut(request: &PointsRequest, window: Window, terms: Terms) -> Result<Vec<Slice>, ClientError> {
    let spec = request.spec.unwrap_or(&DATA_TYPES[0]);
    let most = most_points(spec, request.query.max_depth, request.points_a_row());
    let least = |window| {
        slices(spec, &request.demand(), window, most, terms.burst)
            .map_err(|problem| ClientError::invalid(problem.to_string()))
    };
    let cut = least(window)?;
    match request.sessions() {
        Some(grid) if cut.len() > 1 => {
            let whole = |session: Window| match least(session)?.as_slice() {
                [one] => Ok(*one),
                _ => Err(too_long_a_session(request, spec, session, most, terms.burst)),
            };
            at_sessions(grid, window, cut[0].period, whole)
        }
        _ => Ok(cut),
    }
}

/// Most bytes that an answer of so many buckets can need in memory: twice its text by the estimate of
/// [`TypeSpec::bucket_bytes`], for each of its series, and a base.
fn most_memory(query: &PointsQuery, points: u64) -> u64 {
    const BASE: u64 = 64 << 20;
    const MOST: u64 = 2 << 30;
    /// Markets of a coin, where each is a series of its own.
    const MARKETS: u64 = 256;
    // A type that no table knows may be like the largest one.
    let spec = DataType::find(&query.data_type).unwrap_or(DataType::BlockBookSnapshotAgg).spec();
    let one = query.raw_symbol.is_some() || query.group_by.is_some();
    let series = if one { query.exchanges.len().max(1) as u64 } else { MARKETS };
    let answer = points.saturating_mul(spec.bucket_bytes(query.max_depth)).saturating_mul(2 * series);
    answer.saturating_add(BASE).min(MOST)
}

/// Requests of at most `longest` seconds, of whole sessions each.
fn at_sessions(
    grid: Grid,
    window: Window,
    longest: i64,
    one: impl Fn(Window) -> Result<Slice, ClientError>,
) -> Result<Vec<Slice>, ClientError> {
    let (mut cut, mut from) = (Vec::new(), window.from);
    while from < window.to {
        let most = from.saturating_add(longest);
        let whole = if most < window.to { grid.floor(most) } else { window.to };
        let to = if whole > from { whole } else { grid.end(grid.floor(from)).min(window.to) };
        cut.push(one(Window { from, to })?);
        from = to;
    }
    Ok(cut)
}

/// A session that no request holds whole. A request that begins within a session is refused, or brings nothing and is paid:
/// a session counts by its start (supplement 4). What is in its profile does not depend on the interval.
fn too_long_a_session(
    request: &PointsRequest,
    spec: &TypeSpec,
    session: Window,
    most: u64,
    burst: Option<u64>,
) -> ClientError {
    let demand = request.demand();
    let fits = |interval: &&Interval| {
        let demand = Demand { interval: interval.seconds, ..demand };
        interval.seconds > request.interval.seconds
            && slices(spec, &demand, session, most, burst).is_ok_and(|cut| cut.len() == 1)
    };
    let remedy = INTERVALS.iter().find(fits).map_or_else(String::new, |interval| {
        format!("; interval=\"{}\" gives the same profiles for less weight", interval.short)
    });
    let points = session.to.saturating_sub(session.from).max(0).div_euclid(request.interval.seconds);
    ClientError::invalid(format!(
        "the session from {} holds {points} buckets of {}, more than one request may have, and no request may begin within a \
         session{remedy}",
        utc(session.from),
        request.interval.short,
    ))
}

/// Most points of one request: the type's maximum, and no more than a body within its bound holds when there is a row for
/// each so many of them.
fn most_points(spec: &TypeSpec, max_depth: Option<u32>, points_a_row: u64) -> u64 {
    let rows = BODY_BOUND / spec.bucket_bytes(max_depth).max(1);
    rows.saturating_mul(points_a_row).max(BLOCK).min(spec.max_points)
}

pub(super) fn assemble(
    request: &PointsRequest,
    window: Window,
    answers: Vec<Result<Vec<Series>, ClientError>>,
) -> Result<Vec<Series>, ClientError> {
    let mut failures = Vec::new();
    let mut arrived = Vec::new();
    for answer in answers {
        match answer {
            Ok(series) => arrived.push(series),
            Err(error) => failures.push(error),
        }
    }
    if arrived.is_empty() && !failures.is_empty() {
        return Err(failures.remove(0));
    }
    let unique = request.spec.is_none_or(|spec| spec.unique_times);
    let series = match join(arrived, unique) {
        Ok(series) => series,
        Err(contradiction) => {
            // Paid for: whoever catches the error has all of it.
            let message = format!("the answers contradict each other: {}", contradiction.conflict);
            failures.insert(0, ClientError::new(ErrorKind::Decode, message));
            contradiction.series
        }
    };
    let inside = |mut one: Series| {
        keep_window(&mut one, window);
        one
    };
    // Unknown fields are settled by the rows that are handed over.
    let mut series = settled(series.into_iter().map(inside).collect());
    if series.is_empty() {
        series = nothing(request);
    }
    if failures.is_empty() {
        return Ok(series);
    }
    let (count, first) = (failures.len(), &failures[0].message);
    let message = match failures[0].kind {
        ErrorKind::Decode if failures[0].request.is_none() => format!("{first}; every row of them is in results"),
        _ => format!("{count} of the plan's requests failed, what arrived is in results; first: {first}"),
    };
    let first = failures[0].clone();
    let partial = Some(Box::new(Partial { results: series, failures, ..Partial::default() }));
    Err(ClientError { kind: ErrorKind::Partial, message, partial, ..first })
}

/// A service may send more than was asked, such as the forming bucket: only bucket starts in the window count.
fn keep_window(series: &mut Series, window: Window) {
    let window = window.from.saturating_mul(SECOND)..window.to.saturating_mul(SECOND);
    // What has no time cannot be told to lie outside.
    let wanted = |time: &i64| window.contains(time) || *time == NO_TIME;
    if series.timestamps.iter().all(wanted) {
        return;
    }
    let rows: Vec<usize> = (0..series.len()).filter(|&row| wanted(&series.timestamps[row])).collect();
    series.take(&rows);
}

/// Empty series with the identity that was asked for, so that `series["close"]` is an empty array and not an error.
fn nothing(request: &PointsRequest) -> Vec<Series> {
    let Some(spec) = request.spec else { return Vec::new() };
    let query = &request.query;
    // What a sum is of, its series do not tell when there are points either (supplement 2).
    if query.is_aggregated() {
        let id = SeriesId {
            data_type: Some(query.data_type.clone()),
            interval: query.interval.clone(),
            ..SeriesId::default()
        };
        return empty(spec, &id);
    }
    let exchange = if query.exchanges.len() == 1 { query.exchanges.first() } else { None };
    let id = SeriesId {
        data_type: Some(query.data_type.clone()),
        exchange: exchange.cloned(),
        raw_symbol: query.raw_symbol.clone(),
        interval: query.interval.clone(),
        coin: query.coin.clone(),
        tenor: query.tenor.clone(),
        token_name: query.token_name.clone(),
        ..SeriesId::default()
    };
    empty(spec, &id)
}

/// An empty series of each side that a type has.
fn empty(spec: &TypeSpec, id: &SeriesId) -> Vec<Series> {
    let sides: &[Option<&str>] = if spec.per_side { &[Some("BUY"), Some("SELL")] } else { &[None] };
    sides.iter().map(|side| decode::nothing(SeriesId { side: side.map(str::to_owned), ..id.clone() })).collect()
}
