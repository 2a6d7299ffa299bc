//! Archiving answers: which of their buckets are closed, and writing them without blocking the connections.

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::archive::points::{Archive, ArchiveFault, ArchiveKey, KeyWriter, Revision, gaps, revisions, within};
use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::columns::{NO_TIME, Series};
use crate::protocol::Weight;
use crate::weight::Slice;

/// A writer that several answers use in turn.
pub(super) type SharedKeyWriter = Arc<Mutex<KeyWriter>>;

/// One answer: the requested slice, and what arrived.
pub(super) struct Arrived {
    pub(super) slice: Slice,
    pub(super) weight: Weight,
    /// The service's clock when it answered.
    pub(super) date: Option<UnixSecond>,
    pub(super) series: Vec<Series>,
}

/// How to archive answers.
pub(super) struct ArchiveWork<'a> {
    pub(super) key: &'a ArchiveKey,
    pub(super) now: UnixNanos,
    /// The windows archived before.
    pub(super) before: &'a [Window],
    pub(super) keep: WriteMode,
    /// The client's clock.
    pub(super) clock: &'a (dyn Fn() -> UnixNanos + Send + Sync),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// Archive only what was not archived before.
    Gaps,
    /// Archive everything, and report the differences.
    All,
    /// Archive nothing, only report the differences.
    Nothing,
}

/// An answer, and its windows that were archived.
pub(super) struct ArchivedAnswer {
    /// The requested window.
    pub(super) window: Window,
    pub(super) weight: Weight,
    /// The windows that were archived.
    pub(super) windows: Vec<Window>,
    pub(super) rows: usize,
    pub(super) revisions: Vec<Revision>,
    pub(super) series: Vec<Series>,
    /// Why it could not be archived.
    pub(super) fault: Option<ArchiveFault>,
}

/// Archives the closed buckets of an answer: those that are closed by both the client's and the service's clock.
pub(super) async fn keep(writer: &SharedKeyWriter, work: &ArchiveWork<'_>, arrived: Arrived) -> ArchivedAnswer {
    let at = (work.clock)().micros();
    let window = arrived.slice.window;
    let now = arrived.date.map_or(work.now, |date| work.now.min(date.nanos()));
    let mut whole = closed(work.key, window, now);
    // The service's grid may have another origin than ours (weeks): its bucket starts show it.
    let starts = arrived.series.iter().flat_map(|series| &series.timestamps).map(|time| UnixNanos(*time).second().0);
    let open =
        starts.filter(|start| whole.from <= *start && work.key.grid().end(UnixSecond(*start)) > now.second()).min();
    whole.to = open.map_or(whole.to, |open| whole.to.min(work.key.grid().floor(UnixSecond(open)).0).max(whole.from));
    let windows = match work.keep {
        WriteMode::Gaps => gaps(work.before, whole),
        WriteMode::All | WriteMode::Nothing => vec![whole],
    };
    let windows: Vec<Window> = windows.into_iter().filter(|window| !window.is_empty()).collect();
    let (kept, again, series) = (windows.clone(), work.keep, Arc::new(arrived.series));
    let paid = Arc::clone(&series);
    let outcome = on_shared(writer, move |writer| {
        let mut changes = Vec::new();
        if again != WriteMode::Gaps {
            for window in &kept {
                for known in within(&writer.asked(), *window) {
                    changes.extend(revisions(&writer.read(known)?, &only(Vec::clone(&series), &[known])));
                }
            }
        }
        if again != WriteMode::Nothing {
            has_times(&series)?;
            writer.commit(&kept, &series, at)?;
        }
        Ok((changes, only(Vec::clone(&series), &kept).iter().map(Series::len).sum()))
    })
    .await;
    // Whatever happened, what was paid for is returned.
    let series = Arc::try_unwrap(paid).unwrap_or_else(|shared| Vec::clone(&shared));
    let kept =
        ArchivedAnswer { window, weight: arrived.weight, windows, rows: 0, revisions: Vec::new(), series, fault: None };
    match outcome {
        Ok((revisions, rows)) => ArchivedAnswer { rows, revisions, ..kept },
        Err(fault) => ArchivedAnswer { windows: Vec::new(), fault: Some(fault), ..kept },
    }
}

/// Rows without a time belong to no bucket: they could never be found in an archive again.
fn has_times(series: &[Series]) -> Result<(), ArchiveFault> {
    match series.iter().find(|one| one.timestamps.contains(&NO_TIME)) {
        None => Ok(()),
        Some(one) => {
            let name = one.id.data_type.as_deref().unwrap_or("of no type");
            let problem = format!("points {name} have no time that this version knows, so they cannot be archived");
            Err(ArchiveFault::Content(problem))
        }
    }
}

/// The part of a window that is closed at a moment.
pub(super) fn closed(key: &ArchiveKey, window: Window, now: UnixNanos) -> Window {
    Window { from: window.from, to: window.to.min(key.closed(now.second()).0).max(window.from) }
}

/// The rows whose bucket starts are in the windows.
pub(super) fn only(mut series: Vec<Series>, windows: &[Window]) -> Vec<Series> {
    for one in &mut series {
        let inside = |time: UnixNanos| {
            // Rows without a time are kept: they cannot be known to be outside.
            time.0 == NO_TIME || windows.iter().any(|window| window.contains(time.second()))
        };
        let rows: Vec<usize> = (0..one.len()).filter(|&row| inside(UnixNanos(one.timestamps[row]))).collect();
        if rows.len() < one.len() {
            one.take(&rows);
        }
    }
    series.retain(|one| !one.is_empty());
    series
}

/// Runs file access on a blocking thread.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ArchiveFault> + Send + 'static,
) -> Result<T, ArchiveFault> {
    let stopped = |_| Err(ArchiveFault::Content("the archive's thread stopped".to_owned()));
    // In a box: what runs it is compiled once for each type of values.
    let work: Box<dyn FnOnce() -> Result<T, ArchiveFault> + Send> = Box::new(work);
    tokio::task::spawn_blocking(work).await.unwrap_or_else(stopped)
}

pub(super) async fn blocking<T: Send + 'static>(
    archive: &Archive,
    key: &ArchiveKey,
    work: impl FnOnce(&Archive, &ArchiveKey) -> Result<T, ArchiveFault> + Send + 'static,
) -> Result<T, ArchiveFault> {
    let (archive, key) = (archive.clone(), key.clone());
    run_blocking(move || work(&archive, &key)).await
}

/// Waits until no one else writes the key. Cancelling while waiting has no effect on the archive.
pub(super) async fn key_writer(archive: &Archive, key: &ArchiveKey) -> Result<KeyWriter, ArchiveFault> {
    loop {
        if let Some(writer) = blocking(archive, key, Archive::try_writer).await? {
            return Ok(writer);
        }
        tokio::time::sleep(archive.patience()).await;
    }
}

pub(super) async fn on_writer(
    mut writer: KeyWriter,
    work: impl FnOnce(&mut KeyWriter) -> Result<(), ArchiveFault> + Send + 'static,
) -> Result<KeyWriter, ArchiveFault> {
    run_blocking(move || work(&mut writer).map(|()| writer)).await
}

/// Runs work with a shared writer. The work holds the lock, so cancelling the task does not release it too early.
pub(super) async fn on_shared<T: Send + 'static>(
    writer: &SharedKeyWriter,
    work: impl FnOnce(&mut KeyWriter) -> Result<T, ArchiveFault> + Send + 'static,
) -> Result<T, ArchiveFault> {
    let mut guard = Arc::clone(writer).lock_owned().await;
    run_blocking(move || work(&mut guard)).await
}

/// Releases the key for other writers at once. When a writer is only dropped, its lock is released a little later or,
/// if the process ends before that, when the lease expires.
pub(super) async fn release(writer: &SharedKeyWriter) {
    let released = on_shared(writer, |writer| {
        writer.release();
        Ok(())
    });
    let _ = released.await; // releasing reports no error, and if it was interrupted, the lock is released too
}

/// As [`release`], after a check that what was written is where it was.
pub(super) async fn release_in_place(writer: &SharedKeyWriter) -> Result<(), ArchiveFault> {
    let there = on_shared(writer, |writer| writer.is_in_place()).await;
    release(writer).await;
    there
}
