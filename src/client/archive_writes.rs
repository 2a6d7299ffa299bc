//! Keeping answers: which buckets of an answer are closed, and their way into the archive beside the connections.

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::archive::points::{Archive, ArchiveFault, ArchiveKey, KeyWriter, Revision, gaps, revisions, within};
use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::columns::{NO_TIME, Series};
use crate::protocol::Weight;
use crate::weight::Slice;

/// A writer that answers take turns with.
pub(super) type SharedKeyWriter = Arc<Mutex<KeyWriter>>;

/// One answer: what it was asked for, and what came.
pub(super) struct Arrived {
    pub(super) slice: Slice,
    pub(super) weight: Weight,
    /// The service's clock when it answered.
    pub(super) date: Option<UnixSecond>,
    pub(super) series: Vec<Series>,
}

/// What to do with answers.
pub(super) struct ArchiveWork<'a> {
    pub(super) key: &'a ArchiveKey,
    pub(super) now: UnixNanos,
    /// What was asked before.
    pub(super) before: &'a [Window],
    pub(super) keep: WriteMode,
    /// The client's clock.
    pub(super) clock: &'a (dyn Fn() -> UnixNanos + Send + Sync),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// What was not asked before.
    Gaps,
    /// Everything, and tell what changed.
    All,
    /// Nothing, only tell what changed.
    Nothing,
}

/// What became of an answer.
pub(super) struct ArchivedAnswer {
    /// What was asked.
    pub(super) window: Window,
    pub(super) weight: Weight,
    /// What was kept of it.
    pub(super) windows: Vec<Window>,
    pub(super) rows: usize,
    pub(super) revisions: Vec<Revision>,
    pub(super) series: Vec<Series>,
    /// Why it could not be kept.
    pub(super) fault: Option<ArchiveFault>,
}

/// Keeps the closed buckets of an answer. Only what is closed by both clocks, ours and the service's, is closed.
pub(super) async fn keep(writer: &SharedKeyWriter, work: &ArchiveWork<'_>, arrived: Arrived) -> ArchivedAnswer {
    let at = (work.clock)().micros();
    let window = arrived.slice.window;
    let now = arrived.date.map_or(work.now, |date| work.now.min(date.nanos()));
    let mut whole = closed(work.key, window, now);
    // A grid of another anchor than ours (weeks) shows by its bucket starts.
    let starts = arrived.series.iter().flat_map(|series| &series.timestamps).map(|time| UnixNanos(*time).second().0);
    let open = starts.filter(|start| whole.from <= *start && work.key.grid().end(*start) > now.second().0).min();
    whole.to = open.map_or(whole.to, |open| whole.to.min(work.key.grid().floor(open)).max(whole.from));
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
    // Whatever became of it, what was paid for is handed on.
    let series = Arc::try_unwrap(paid).unwrap_or_else(|shared| Vec::clone(&shared));
    let kept =
        ArchivedAnswer { window, weight: arrived.weight, windows, rows: 0, revisions: Vec::new(), series, fault: None };
    match outcome {
        Ok((revisions, rows)) => ArchivedAnswer { rows, revisions, ..kept },
        Err(fault) => ArchivedAnswer { windows: Vec::new(), fault: Some(fault), ..kept },
    }
}

/// Rows without a time belong to no bucket: an archive could never find them again.
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

/// What of a window is closed at a moment.
pub(super) fn closed(key: &ArchiveKey, window: Window, now: UnixNanos) -> Window {
    Window { from: window.from, to: window.to.min(key.closed(now.second()).0).max(window.from) }
}

/// The rows whose bucket starts lie in the windows.
pub(super) fn only(mut series: Vec<Series>, windows: &[Window]) -> Vec<Series> {
    for one in &mut series {
        let inside = |time: i64| {
            let start = UnixNanos(time).second().0;
            // What has no time cannot be told to lie outside.
            time == NO_TIME || windows.iter().any(|window| window.from <= start && start < window.to)
        };
        let rows: Vec<usize> = (0..one.len()).filter(|&row| inside(one.timestamps[row])).collect();
        if rows.len() < one.len() {
            one.take(&rows);
        }
    }
    series.retain(|one| !one.is_empty());
    series
}

/// Files are read and written beside the connections, not in their way.
pub(super) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ArchiveFault> + Send + 'static,
) -> Result<T, ArchiveFault> {
    let stopped = |_| Err(ArchiveFault::Content("the archive's thread stopped".to_owned()));
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

/// Waits until nobody else writes the key. A task that is dropped while it waits leaves nothing behind.
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

/// Work with a shared writer. The work has it too: a task that is dropped meanwhile does not take the writer from under it.
pub(super) async fn on_shared<T: Send + 'static>(
    writer: &SharedKeyWriter,
    work: impl FnOnce(&mut KeyWriter) -> Result<T, ArchiveFault> + Send + 'static,
) -> Result<T, ArchiveFault> {
    let mut guard = Arc::clone(writer).lock_owned().await;
    run_blocking(move || work(&mut guard)).await
}

/// Lets other writers have the key at once. The lock of a writer that is only dropped is given up a little later, or, where the process
/// ends before that, when its time in the store is over.
pub(super) async fn release(writer: &SharedKeyWriter) {
    let released = on_shared(writer, |writer| {
        writer.release();
        Ok(())
    });
    let _ = released.await; // releasing tells no fault, and who broke it off gave up the lock
}
