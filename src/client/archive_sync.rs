//! The client with an archive: read-through, sync, refresh. Archived windows are not requested again. Each answer is
//! archived at once, so that after an interruption only the rest has to be paid for.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::archive_writes::{
    ArchiveWork, ArchivedAnswer, Arrived, SharedKeyWriter, WriteMode, blocking, closed, keep, key_writer, on_shared,
    on_writer, only, release_in_place,
};
use super::assemble::assemble;
use super::call_run::{Amount, CallRun, Progress};
use super::error::{ClientError, ErrorKind, Partial};
use super::inner::{Client, ClientInner};
use super::plan::{Plan, check_weight};
use super::request::PointsRequest;
use super::slicing::{cut, slices_to_fill};
use crate::archive::points::{Archive, ArchiveFault, ArchiveKey, KeyWriter, Revision, Scan, gaps, is_wanted, within};
use crate::clock::{UnixNanos, Window};
use crate::columns::{Series, join};
use crate::protocol::Weight;
use crate::weight::Slice;

/// The result of a sync.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Synced {
    /// Requests that were answered.
    pub requests: usize,
    /// Their summed weight.
    pub weight: Weight,
    /// Windows of bucket starts that were archived.
    pub windows: Vec<Window>,
    /// Rows that were archived.
    pub rows: usize,
    /// Damaged files that were moved away, each with the reason.
    pub aside: Vec<String>,
}

/// The result of a refresh.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checked {
    /// Result of the requests; their rows are archived unless only compared.
    pub synced: Synced,
    /// Values that differ from the archived ones.
    pub revisions: Vec<Revision>,
}

impl Client {
    /// Refuses, before anything is sent, to use an archive that holds another service's data.
    ///
    /// # Errors
    /// [`ErrorKind::Archive`].
    pub fn check_archive(&self) -> Result<(), ClientError> {
        Ok(self.inner.archive.as_ref().map_or(Ok(()), |archive| archive.check_source(&self.inner.source))?)
    }

    /// The slices still to request when the client reads through an archive; `None` without an archive.
    pub(super) fn plan_archived(&self, request: &PointsRequest, now: UnixNanos) -> Result<Option<Plan>, ClientError> {
        let Some((archive, key)) = self.inner.archived(request) else { return Ok(None) };
        let window = request.window(now, self.inner.tier);
        let slices = slices_to_fill(request, &archive.asked_and_there(&key, window)?, window, now, self.inner.terms())?;
        let requests: Vec<_> = slices.iter().map(|slice| self.inner.planned(&request.query, slice)).collect();
        Plan::new(requests, window, &self.inner, request.max_weight).map(Some)
    }

    /// The points of a request, read through the archive; `None` if the client has no archive, or the request cannot be
    /// archived.
    pub(super) async fn points_archived(
        &self,
        run: &CallRun<'_>,
        request: &PointsRequest,
        now: UnixNanos,
        expected: Amount,
    ) -> Result<Option<Vec<Series>>, ClientError> {
        let Some((archive, key)) = self.inner.archived(request) else { return Ok(None) };
        let window = request.window(now, self.inner.tier);
        let counted = request.counted(window, now);
        // If everything is archived, neither a lock nor write access is needed.
        if gaps(&blocking(archive, &key, Archive::asked).await?, window).is_empty() {
            let read = blocking(archive, &key, move |archive, key| archive.read(key, window)).await;
            match read {
                Ok(series) => {
                    run.expect(expected, Amount::default())?;
                    return assemble(request, counted, vec![Ok(series)]).map(Some);
                }
                Err(ArchiveFault::File { .. } | ArchiveFault::NotAsked { .. }) => {} // to be repaired
                Err(fault) => return Err(fault.into()),
            }
        }
        run.unless_ended(self.inner.learn_limits()).await?;
        let writer = run.unless_ended(key_writer(archive, &key)).await??;
        let writer = on_writer(writer, move |writer| writer.mend(window, true)).await?;
        let asked = writer.asked();
        let slices = self.inner.allowed_slices(request, &asked, window, now)?;
        let writer = Arc::new(Mutex::new(writer));
        let clock = self.inner.answer_clock(now);
        let work = ArchiveWork { key: &key, now, before: &asked, keep: WriteMode::Gaps, clock: &clock };
        let (answers, failures) = self.send_slices(run, request, slices, expected, &writer, &work).await?;
        let kept = on_shared(&writer, move |writer| {
            let asked = within(&writer.asked(), window);
            writer.read(window).map(|series| (asked, series))
        });
        let kept = kept.await;
        let there = release_in_place(&writer).await;
        // If an archived file cannot be read any more, what was paid for is still returned.
        let (kept, archived, refusal) = match kept {
            Ok((kept, archived)) => (kept, archived, None),
            Err(fault) => (Vec::new(), Vec::new(), Some(there.err().unwrap_or(fault))),
        };
        let mut parts = vec![Ok(archived)];
        let mut unkept = None;
        for answer in answers {
            unkept = unkept.or(answer.fault);
            // Rows that cannot be archived, such as the forming bucket, are returned as answered.
            let rest = gaps(&kept, answer.window);
            parts.push(Ok(only(answer.series, &rest)));
        }
        parts.extend(failures.into_iter().map(Err));
        let series = assemble(request, counted, parts)?;
        // Why an answer could not be archived says more than that it is not in the archive.
        match unkept.or(refusal) {
            None => Ok(Some(series)),
            Some(fault) => {
                // Paid for but not archived: the error carries it.
                let results = Partial { results: series, ..Partial::default() };
                Err(ClientError { partial: Some(Box::new(results)), ..fault.into() })
            }
        }
    }

    /// Downloads the closed buckets of a request that the archive lacks.
    ///
    /// # Errors
    /// Every kind; what arrived before the error is archived. [`ErrorKind::Archive`] when the archive cannot be
    /// written.
    pub async fn sync(
        &self,
        archive: &Archive,
        request: &PointsRequest,
        now: UnixNanos,
        progress: Option<Progress>,
    ) -> Result<Synced, ClientError> {
        let run = CallRun::new(&self.inner, progress, None);
        run.watched(self.sync_within(&run, archive, request, now, Amount::default())).await
    }

    /// The sync of one request of a call, which expected it to send `expected`.
    pub(super) async fn sync_within(
        &self,
        run: &CallRun<'_>,
        archive: &Archive,
        request: &PointsRequest,
        now: UnixNanos,
        expected: Amount,
    ) -> Result<Synced, ClientError> {
        self.inner.check_request(request)?;
        let key = key(&self.inner.source, request)?;
        run.unless_ended(self.inner.learn_limits()).await?;
        let window = closed(&key, request.window(now, self.inner.tier), now);
        let writer = run.unless_ended(key_writer(archive, &key)).await??;
        let mut writer = on_writer(writer, move |writer| writer.mend(window, false)).await?;
        let mut synced = Synced { aside: writer.take_aside(), ..Synced::default() };
        let asked = writer.asked();
        let slices = self.inner.allowed_slices(request, &asked, window, now)?;
        let writer = Arc::new(Mutex::new(writer));
        let clock = self.inner.answer_clock(now);
        let work = ArchiveWork { key: &key, now, before: &asked, keep: WriteMode::Gaps, clock: &clock };
        let outcome = self.send_slices(run, request, slices, expected, &writer, &work).await?;
        synced.aside.extend(on_shared(&writer, |writer| Ok(writer.take_aside())).await?);
        let there = release_in_place(&writer).await;
        // What failed before has what was paid for.
        let (synced, _) = finish(synced, outcome)?;
        there?;
        Ok(synced)
    }

    /// Requests the closed buckets of a request again and reports what differs from the archive; with `replace`, also
    /// archives the new values.
    ///
    /// # Errors
    /// As [`Client::sync`].
    pub async fn ask_again(
        &self,
        archive: &Archive,
        request: &PointsRequest,
        replace: bool,
        now: UnixNanos,
        progress: Option<Progress>,
    ) -> Result<Checked, ClientError> {
        let run = CallRun::new(&self.inner, progress, None);
        run.watched(self.ask_again_within(&run, archive, request, replace, now, Amount::default())).await
    }

    /// As [`Client::ask_again`], for one request of a call, which expected it to send `expected`.
    pub(super) async fn ask_again_within(
        &self,
        run: &CallRun<'_>,
        archive: &Archive,
        request: &PointsRequest,
        replace: bool,
        now: UnixNanos,
        expected: Amount,
    ) -> Result<Checked, ClientError> {
        self.inner.check_request(request)?;
        let key = key(&self.inner.source, request)?;
        run.unless_ended(self.inner.learn_limits()).await?;
        let window = closed(&key, request.window(now, self.inner.tier), now);
        let writer = run.unless_ended(key_writer(archive, &key)).await??;
        // A comparison reads the files as they are: it must not drop a damaged file.
        let look =
            move |writer: &mut KeyWriter| if replace { writer.mend(window, true) } else { writer.examine(window) };
        let writer = on_writer(writer, look).await?;
        let asked = writer.asked();
        let slices = self.inner.slices_again(request, &asked, window, replace, now)?;
        check_allowed(request, &slices)?;
        let writer = Arc::new(Mutex::new(writer));
        let keep_all = if replace { WriteMode::All } else { WriteMode::Nothing };
        let clock = self.inner.answer_clock(now);
        let work = ArchiveWork { key: &key, now, before: &asked, keep: keep_all, clock: &clock };
        let outcome = self.send_slices(run, request, slices, expected, &writer, &work).await?;
        let synced = Synced { aside: on_shared(&writer, |writer| Ok(writer.take_aside())).await?, ..Synced::default() };
        let there = release_in_place(&writer).await;
        let (synced, revisions) = finish(synced, outcome)?;
        there?;
        Ok(Checked { synced, revisions })
    }

    /// Sends the requests of some slices concurrently, and archives each answer as it arrives.
    async fn send_slices(
        &self,
        run: &CallRun<'_>,
        request: &PointsRequest,
        slices: Vec<Slice>,
        expected: Amount,
        writer: &SharedKeyWriter,
        work: &ArchiveWork<'_>,
    ) -> Result<(Vec<ArchivedAnswer>, Vec<ClientError>), ClientError> {
        let requests: Vec<_> = slices.iter().map(|slice| self.inner.planned(&request.query, slice)).collect();
        run.expect(expected, Amount::of(&requests))?;
        let take = |place: usize, series, date| {
            let arrived = Arrived { slice: slices[place], weight: requests[place].weight, date, series };
            async move {
                let kept = keep(writer, work, arrived).await;
                // Rows that cannot be archived are not requested.
                let more = kept.fault.is_none();
                (kept, more)
            }
        };
        let outcomes = self.inner.send(run, &request.query, &requests, take).await;
        let (mut kept, mut failures) = (Vec::new(), Vec::new());
        for outcome in outcomes {
            match outcome {
                Ok(one) => kept.push(one),
                Err(error) => failures.push(error),
            }
        }
        Ok((kept, failures))
    }
}

/// The points of a request from the archive alone, in their latest state or as of a moment. An open window is that of
/// the archived data. With `columns`, only those columns, as far as they exist.
///
/// # Errors
/// [`ErrorKind::Archive`] where data were never downloaded, or not known as of the moment (with what is there), or
/// where a file is not what was written.
pub fn read_archive(
    archive: &Archive,
    request: &PointsRequest,
    as_of: Option<UnixNanos>,
    columns: Option<&[String]>,
) -> Result<Vec<Series>, ClientError> {
    let only_wanted = |mut series: Vec<Series>| {
        for one in &mut series {
            one.columns.retain(|(name, _)| columns.is_none_or(|wanted| is_wanted(one.shape, name, wanted)));
        }
        series
    };
    // An empty archive belongs to no service yet: what it lacks does not depend on the service.
    let source = archive.source()?;
    let key = key(source.as_deref().unwrap_or_default(), request)?;
    let as_of = as_of.map(UnixNanos::micros);
    let asked = match as_of {
        None => archive.asked(&key),
        Some(moment) => archive.known(&key, moment),
    }?;
    let read = |window| match as_of {
        None => archive.read(&key, Scan { window, columns }),
        Some(moment) => archive.read_as_of(&key, Scan { window, columns }, moment),
    };
    let (Some(first), Some(last)) = (asked.first(), asked.last()) else {
        return match (as_of, request.bounded()) {
            (Some(moment), window) if !archive.asked(&key)?.is_empty() => {
                Err(archive.nothing_known(&key, window, moment)?.into())
            }
            (_, window) => {
                // Maybe of a misspelt name.
                let empty = || format!("{} (the archive {} is empty)", key.label(), archive.path().display());
                let what = source.as_ref().map_or_else(empty, |_| key.label());
                Err(ArchiveFault::NotAsked { what, missing: Vec::from_iter(window) }.into())
            }
        };
    };
    let window = request.window_within(Window { from: first.from, to: last.to });
    match read(window) {
        Ok(series) => assemble(request, window, vec![Ok(series)]).map(only_wanted),
        Err(fault @ (ArchiveFault::NotAsked { .. } | ArchiveFault::NotKnown { .. })) => {
            let there = within(&asked, window);
            let parts = there.iter().map(|window| read(*window).map_err(ClientError::from));
            let results = only_wanted(assemble(request, window, parts.collect())?);
            let partial = Some(Box::new(Partial { results, ..Partial::default() }));
            Err(ClientError { partial, ..fault.into() })
        }
        Err(fault) => Err(fault.into()),
    }
}

pub(super) fn key(source: &str, request: &PointsRequest) -> Result<ArchiveKey, ClientError> {
    let session = request.query.session.as_deref().unwrap_or_default();
    let problem = || format!("it is not known when a session {session:?} closes, so it cannot be archived");
    ArchiveKey::new(source, &request.query).ok_or_else(|| ClientError::invalid(problem()))
}

fn check_allowed(request: &PointsRequest, slices: &[Slice]) -> Result<(), ClientError> {
    check_weight(slices.iter().map(|slice| slice.weight).sum(), slices.len(), request.max_weight)
}

impl ClientInner {
    /// The archive to read through, and the key of a request that can be archived.
    pub(super) fn archived(&self, request: &PointsRequest) -> Option<(&Archive, ArchiveKey)> {
        let archive = self.archive.as_ref()?;
        Some((archive, ArchiveKey::new(&self.source, &request.query)?))
    }

    /// As [`slices_to_fill`] with this client's own limits, unless it weighs more than the request allows.
    fn allowed_slices(
        &self,
        request: &PointsRequest,
        asked: &[Window],
        window: Window,
        now: UnixNanos,
    ) -> Result<Vec<Slice>, ClientError> {
        let slices = slices_to_fill(request, asked, window, now, self.terms())?;
        check_allowed(request, &slices).map(|()| slices)
    }

    /// The requests that ask for a window again: all of it to `replace` what is archived, else what was downloaded
    /// before.
    fn slices_again(
        &self,
        request: &PointsRequest,
        asked: &[Window],
        window: Window,
        replace: bool,
        now: UnixNanos,
    ) -> Result<Vec<Slice>, ClientError> {
        if replace {
            return slices_to_fill(request, &[], window, now, self.terms());
        }
        let slices = within(asked, window).into_iter().map(|window| cut(request, window, self.terms()));
        Ok(slices.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// The plan of [`Client::sync`] now.
    pub(super) async fn to_sync(
        &self,
        archive: &Archive,
        request: &PointsRequest,
        now: UnixNanos,
    ) -> Result<Vec<Slice>, ClientError> {
        let key = key(&self.source, request)?;
        let window = closed(&key, request.window(now, self.tier), now);
        let asked = blocking(archive, &key, Archive::asked).await?;
        slices_to_fill(request, &asked, window, now, self.terms())
    }

    /// The plan of [`Client::ask_again`] now.
    pub(super) async fn to_ask_again(
        &self,
        archive: &Archive,
        request: &PointsRequest,
        replace: bool,
        now: UnixNanos,
    ) -> Result<Vec<Slice>, ClientError> {
        let key = key(&self.source, request)?;
        let window = closed(&key, request.window(now, self.tier), now);
        let asked = if replace { Vec::new() } else { blocking(archive, &key, Archive::asked).await? };
        self.slices_again(request, &asked, window, replace, now)
    }
}

fn finish(
    mut synced: Synced,
    (answers, failures): (Vec<ArchivedAnswer>, Vec<ClientError>),
) -> Result<(Synced, Vec<Revision>), ClientError> {
    let mut changes = Vec::new();
    let (mut refusal, mut not_kept) = (None, Vec::new());
    for answer in answers {
        synced.requests += 1;
        synced.weight += answer.weight;
        synced.rows += answer.rows;
        synced.windows.extend(answer.windows);
        changes.extend(answer.revisions);
        if answer.fault.is_some() {
            not_kept.push(answer.series);
        }
        refusal = refusal.or(answer.fault);
    }
    if let Some(fault) = refusal {
        // Paid for but not archived: the error carries it.
        let results = join(not_kept, false).unwrap_or_else(|both| both.series);
        let partial = Some(Box::new(Partial { results, failures, ..Partial::default() }));
        return Err(ClientError { partial, ..fault.into() });
    }
    let Some(first) = failures.first().cloned() else { return Ok((synced, changes)) };
    if synced.requests == 0 {
        return Err(first);
    }
    let message = format!(
        "{} of {} requests failed; what arrived is archived, so that the next sync asks only for the rest; first: {}",
        failures.len(),
        failures.len() + synced.requests,
        first.message
    );
    let partial = Some(Box::new(Partial { failures, ..Partial::default() }));
    Err(ClientError { kind: ErrorKind::Partial, message, partial, ..first })
}
