//! Calls for several symbols or coins: one plan, one budget, one progress. When some symbols fail, the results of the
//! others are kept.

use futures::StreamExt;
use futures::future::join_all;
use futures::stream;

use super::archive_sync::{Checked, Synced, read_archive};
use super::archive_writes::blocking;
use super::call_run::{Amount, CallRun, PARALLEL, Progress};
use super::error::{Cause, ClientError, ErrorKind, Partial, in_results};
use super::inner::{Client, ClientInner};
use super::listed::Listed;
use super::plan::Plan;
use super::points_requests::{PointsRequests, named};
use super::request::PointsRequest;
use super::slicing::slices_of;
use super::tiers::{Terms, TierCut, TierWait};
use crate::archive::points::{Archive, ArchiveFault, ArchiveKey};
use crate::clock::{UnixNanos, UnixSecond};
use crate::columns::Series;
use crate::protocol::Weight;
use crate::weight::Slice;

/// The result of each request of a call, with its label.
pub type Each<T> = Vec<(String, Result<T, ClientError>)>;

/// The result of a call for points.
#[derive(Debug, Default)]
pub struct Fetched {
    /// The series of each request, in the order given.
    pub series: Vec<Series>,
    /// Weight of the requests that were answered.
    pub weight: Weight,
}

/// Work of a call on each of its requests.
#[derive(Clone, Copy)]
enum CallWork<'a> {
    Points,
    Sync(&'a Archive),
    Again { archive: &'a Archive, replace: bool },
}

impl Client {
    /// Whether a call at `now` is one small answer and needs nothing but the service: its requests may then run on a
    /// runtime that only moves while the caller waits, which saves the way to another thread and back.
    #[must_use]
    pub fn is_small(&self, requests: &PointsRequests, now: UnixNanos) -> bool {
        let inner = &self.inner;
        inner.archive.is_none() && inner.pacer.is_local() && requests.is_small(now, inner.tier)
    }

    /// The plan of [`Client::points_all`] at `now`, with the wait of each tier. Sends nothing.
    ///
    /// # Errors
    /// As [`Client::plan`]; the total weight of all requests is limited by the call's `max_weight`.
    pub fn plan_all(&self, requests: &PointsRequests, now: UnixNanos) -> Result<Plan, ClientError> {
        let inner = &self.inner;
        let mut asked = Vec::with_capacity(requests.each().len());
        for request in requests.each() {
            inner.check_request(request)?;
            self.listed(request)?;
            let window = request.window(now, inner.tier);
            let there = |(archive, key): (&Archive, ArchiveKey)| archive.asked_and_there(&key, window);
            asked.push(inner.archived(request).map(there).transpose()?);
        }
        let cut = |terms: Terms| -> Result<Vec<Vec<Slice>>, ClientError> {
            let both = requests.each().iter().zip(&asked);
            both.map(|(request, asked)| slices_of(request, asked.as_deref(), now, terms)).collect()
        };
        let mut sent = Vec::new();
        for (request, slices) in requests.each().iter().zip(cut(inner.terms())?) {
            sent.extend(slices.iter().map(|slice| inner.planned(&request.query, slice)));
        }
        let plan = Plan::new(sent, requests.first().window(now, inner.tier), inner, requests.max_weight)?;
        let tiers = TierWait::each(|tier| cut(Terms::from(tier)).map(|slices| TierCut::of(slices.iter().flatten())));
        Ok(Plan { tiers, ..plan })
    }

    /// Fetches the points of a call as of `now`: the series of each request, in the order given. The requests share the
    /// budget and run concurrently, like those of one plan. Fields that are missing in a series' identity are filled in
    /// from the query.
    ///
    /// # Errors
    /// As [`Client::points`]. When some symbols succeeded and others failed, [`ErrorKind::Partial`] carries both, and
    /// each failure names its symbol.
    pub async fn points_all(
        &self,
        requests: &PointsRequests,
        now: UnixNanos,
        progress: Option<Progress>,
    ) -> Result<Fetched, ClientError> {
        if let Some(one) = requests.only() {
            let run = CallRun::new(&self.inner, progress, None); // each plan checks its own weight
            let series = run.watched(self.points_within(&run, one, now, Amount::default())).await;
            return Ok(Fetched { series: with_asked_identity(series, one)?, weight: run.weight_done() });
        }
        let run = CallRun::new(&self.inner, progress, requests.max_weight);
        let (client, run) = (self, &run);
        let fetch = |place: usize, expected| async move {
            let request = &requests.each()[place];
            with_asked_identity(client.points_within(run, request, now, expected).await, request)
        };
        let outcomes = run.watched(self.each(run, requests, CallWork::Points, now, fetch)).await?;
        let (mut arrived, mut failures) = (Vec::new(), Vec::new());
        for (label, outcome) in outcomes {
            match outcome {
                Ok(series) => arrived.extend(series),
                Err(mut error) => {
                    arrived.extend(error.partial.iter_mut().flat_map(|partial| std::mem::take(&mut partial.results)));
                    failures.push((label, error));
                }
            }
        }
        if failures.is_empty() {
            Ok(Fetched { series: arrived, weight: run.weight_done() })
        } else {
            Err(call_failure(failures, requests.each().len(), arrived))
        }
    }

    /// [`Client::listed`] for every symbol or coin of a call: `None` unless all are in cached lists.
    ///
    /// # Errors
    /// As [`Client::listed`], for the first unknown name.
    pub fn listed_all(&self, requests: &PointsRequests) -> Result<Option<Listed>, ClientError> {
        let mut every = Vec::with_capacity(requests.each().len());
        for request in requests.each() {
            every.push(self.listed(request)?);
        }
        Ok(every.into_iter().collect::<Option<Vec<_>>>().map(Listed::combine))
    }

    /// As [`Client::look_up`], for every request of a call: requests for one exchange share its list.
    ///
    /// # Errors
    /// As [`Client::look_up`], for the first unknown name.
    pub async fn look_up_all(
        &self,
        requests: &PointsRequests,
        now: UnixNanos,
        archive: Option<&Archive>,
    ) -> Result<Listed, ClientError> {
        // Concurrently, so that lists that time out delay the call only once.
        let every = join_all(requests.each().iter().map(|request| self.look_up(request, now, archive))).await;
        Ok(Listed::combine(every.into_iter().collect::<Result<Vec<_>, _>>()?))
    }

    /// As [`Client::sync`], for every request of a call. A failure of one does not end the others.
    ///
    /// # Errors
    /// Errors that are found before anything is sent.
    pub async fn sync_all(
        &self,
        archive: &Archive,
        requests: &PointsRequests,
        now: UnixNanos,
        progress: Option<Progress>,
    ) -> Result<Each<Synced>, ClientError> {
        let run = CallRun::new(&self.inner, progress, requests.max_weight);
        let (client, run, archive) = (self, &run, &archive.pinned());
        let sync = |place: usize, expected| async move {
            client.sync_within(run, archive, &requests.each()[place], now, expected).await
        };
        run.watched(self.each(run, requests, CallWork::Sync(archive), now, sync)).await
    }

    /// As [`Client::ask_again`], for every request of a call. A failure of one does not end the others.
    ///
    /// # Errors
    /// Errors that are found before anything is sent.
    pub async fn ask_again_all(
        &self,
        archive: &Archive,
        requests: &PointsRequests,
        replace: bool,
        now: UnixNanos,
        progress: Option<Progress>,
    ) -> Result<Each<Checked>, ClientError> {
        let run = CallRun::new(&self.inner, progress, requests.max_weight);
        let (client, run, archive) = (self, &run, &archive.pinned());
        let ask = |place: usize, expected| async move {
            client.ask_again_within(run, archive, &requests.each()[place], replace, now, expected).await
        };
        run.watched(self.each(run, requests, CallWork::Again { archive, replace }, now, ask)).await
    }

    /// Runs `work` for each request, by its index, several at once, after all of them were checked and weighed.
    async fn each<T, R: Future<Output = Result<T, ClientError>>>(
        &self,
        run: &CallRun<'_>,
        requests: &PointsRequests,
        work: CallWork<'_>,
        now: UnixNanos,
        act: impl Fn(usize, Amount) -> R,
    ) -> Result<Each<T>, ClientError> {
        for request in requests.each() {
            self.inner.check_request(request)?;
        }
        let mut expected = self.inner.expected_of_each(requests, work, now).await?;
        // If everything is archived, the service is not needed.
        if expected.iter().any(|amount| amount.requests > 0) && !self.inner.pacer.knows_limits() {
            self.inner.learn_limits().await;
            expected = self.inner.expected_of_each(requests, work, now).await?;
        }
        for amount in &expected {
            run.expect(Amount::default(), *amount)?;
        }
        let outcomes = stream::iter(expected.into_iter().enumerate()).map(|(place, amount)| act(place, amount));
        let outcomes: Vec<Result<T, ClientError>> = outcomes.buffered(PARALLEL).collect().await;
        Ok(requests.labels().into_iter().zip(outcomes).collect())
    }
}

impl ClientInner {
    /// The plan of each request of a call now.
    async fn expected_of_each(
        &self,
        requests: &PointsRequests,
        work: CallWork<'_>,
        now: UnixNanos,
    ) -> Result<Vec<Amount>, ClientError> {
        let each = stream::iter(0..requests.each().len());
        let each = each.map(|place| self.expected(&requests.each()[place], work, now)).buffered(PARALLEL);
        let each: Vec<Result<Amount, ClientError>> = each.collect().await;
        // A damaged archive is repaired by the lock's holder, or is an error of this symbol alone.
        let known = |amount: Result<Amount, ClientError>| match amount {
            Err(error) if error.kind == ErrorKind::Archive => Ok(Amount::default()),
            amount => amount,
        };
        each.into_iter().map(known).collect()
    }

    /// The plan of a request of a call now.
    async fn expected(
        &self,
        request: &PointsRequest,
        work: CallWork<'_>,
        now: UnixNanos,
    ) -> Result<Amount, ClientError> {
        let slices = match work {
            CallWork::Sync(archive) => self.to_sync(archive, request, now).await?,
            CallWork::Again { archive, replace } => self.to_ask_again(archive, request, replace, now).await?,
            CallWork::Points => {
                let asked = match self.archived(request) {
                    None => None,
                    Some((archive, key)) => Some(blocking(archive, &key, Archive::asked).await?),
                };
                slices_of(request, asked.as_deref(), now, self.terms())?
            }
        };
        Ok(Amount { requests: slices.len(), weight: slices.iter().map(|slice| slice.weight).sum() })
    }
}

/// A result whose series, including those in its error, have a complete identity.
fn with_asked_identity(
    outcome: Result<Vec<Series>, ClientError>,
    request: &PointsRequest,
) -> Result<Vec<Series>, ClientError> {
    match outcome {
        Ok(series) => Ok(named(series, request)),
        Err(mut error) => {
            if let Some(partial) = &mut error.partial {
                partial.results = named(std::mem::take(&mut partial.results), request);
            }
            Err(error)
        }
    }
}

/// The error of a call for `all` symbols of which some failed, with the results of the others. If none succeeded, it
/// has the kind of the first failure.
pub fn call_failure(failures: Vec<(String, ClientError)>, all: usize, arrived: Vec<Series>) -> ClientError {
    let failed = failures.len();
    let some = failed < all || !arrived.is_empty();
    let each = failures.into_iter().flat_map(|(label, error)| {
        let parts = error.partial.clone().map(|partial| *partial).unwrap_or_default();
        // Rows that were paid for but not archived stay in its error.
        let whole = parts.failures.is_empty() || error.kind == ErrorKind::Archive;
        let parts = if whole { vec![error] } else { parts.failures };
        parts.into_iter().map(move |part| ClientError { message: format!("{label}: {}", part.message), ..part })
    });
    let failures: Vec<ClientError> = each.collect();
    let first = failures[0].clone();
    let partial = Some(Box::new(Partial { results: arrived, failures, ..Partial::default() }));
    if !some {
        return ClientError { partial, ..first };
    }
    let message = format!("{failed} of {all} symbols failed{}; first: {}", in_results(", what arrived"), first.message);
    ClientError { kind: ErrorKind::Partial, message, partial, cause: None, ..first }
}

/// The archive key of the first request of a call; `None` if it cannot be archived.
#[must_use]
pub fn archive_key(source: &str, requests: &PointsRequests) -> Option<ArchiveKey> {
    ArchiveKey::new(source, &requests.first().query)
}

/// The first bucket start that is archived for the requests of a call; `None` if nothing is.
///
/// # Errors
/// [`ErrorKind::Archive`] where a ledger is not what was written.
pub fn first_kept(archive: &Archive, requests: &PointsRequests) -> Result<Option<UnixSecond>, ClientError> {
    let mut first = None;
    for request in requests.each() {
        let Some(key) = archive.key(&request.query)? else { continue };
        let start = archive.asked(&key)?.first().map(|window| UnixSecond(window.from));
        first = first.into_iter().chain(start).min();
    }
    Ok(first)
}

/// The points of a call from an archive alone; see [`read_archive`].
///
/// # Errors
/// As [`read_archive`]. If data of some symbols were never downloaded, the error carries what is there of all, and a
/// failure for each.
pub fn read_archive_all(
    archive: &Archive,
    requests: &PointsRequests,
    as_of: Option<UnixNanos>,
    columns: Option<&[String]>,
) -> Result<Vec<Series>, ClientError> {
    if let Some(one) = requests.only() {
        return with_asked_identity(read_archive(archive, one, as_of, columns), one);
    }
    let (mut arrived, mut lacking) = (Vec::new(), Vec::new());
    for request in requests.each() {
        let series = match read_archive(archive, request, as_of, columns) {
            Ok(series) => series,
            Err(mut error) => {
                let cause = error.cause.as_deref();
                let lacks = |fault: &ArchiveFault| {
                    matches!(fault, ArchiveFault::NotAsked { .. } | ArchiveFault::NotKnown { .. })
                };
                if !matches!(cause, Some(Cause::Archive(fault)) if lacks(fault)) {
                    return Err(error);
                }
                let there = error.partial.take().map(|partial| partial.results);
                lacking.push(error);
                there.unwrap_or_default()
            }
        };
        arrived.extend(named(series, request));
    }
    let Some(first) = lacking.first().cloned() else { return Ok(arrived) };
    let message = match lacking.len() - 1 {
        0 => first.message,
        more => format!("{}; and so of {more} more of the symbols", first.message),
    };
    let partial = Some(Box::new(Partial { results: arrived, failures: lacking, ..Partial::default() }));
    Err(ClientError { message, partial, ..first })
}
