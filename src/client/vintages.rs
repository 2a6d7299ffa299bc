//! The vintages of queries in an archive: listing and dropping them.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::archive_writes::{key_writer, on_shared, release, run_blocking};
use super::error::ClientError;
use super::points_requests::PointsRequests;
use crate::archive::points::{Archive, ArchiveKey, Compacted, Replaced};
use crate::clock::{UnixNanos, Window};

/// Vintages of some queries, or of all, by key: what was archived and has changed since.
///
/// # Errors
/// [`super::ErrorKind::Archive`] where a file is not what was written.
pub fn vintages(
    archive: &Archive,
    requests: Option<&PointsRequests>,
) -> Result<Vec<(ArchiveKey, Vec<Replaced>)>, ClientError> {
    let mut found = Vec::new();
    let Some(requests) = requests else {
        for content in archive.contents()?.0 {
            let replaced = archive.vintages(&content.key)?;
            found.push((content.key, replaced));
        }
        return Ok(found);
    };
    for request in requests.each() {
        let Some(key) = archive.key(&request.query)? else { continue };
        let asked = archive.asked(&key)?;
        let (Some(first), Some(last)) = (asked.first(), asked.last()) else { continue };
        let window = request.window_within(Window { from: first.from, to: last.to });
        let mut replaced = archive.vintages(&key)?;
        replaced.retain(|one| one.window.touches(window));
        found.push((key, replaced));
    }
    Ok(found)
}

/// Drops vintages replaced at a moment or before, of some queries or of all. Waits for other writers of them.
///
/// # Errors
/// [`super::ErrorKind::Archive`] where the archive cannot be written.
pub async fn compact(
    archive: &Archive,
    requests: Option<&PointsRequests>,
    before: UnixNanos,
) -> Result<Compacted, ClientError> {
    let (own, requests, before) = (archive.clone(), requests.cloned(), before.micros());
    let keys = run_blocking(move || {
        let mut old = Vec::new();
        let keys = match &requests {
            None => own.contents()?.0.into_iter().map(|content| Ok(Some(content.key))).collect::<Vec<_>>(),
            Some(requests) => requests.each().iter().map(|request| own.key(&request.query)).collect(),
        };
        for key in keys {
            let Some(key) = key? else { continue };
            if own.has_vintages(&key, before)? {
                old.push(key);
            }
        }
        Ok(old)
    });
    let mut done = Compacted::default();
    for key in keys.await? {
        let writer = Arc::new(Mutex::new(key_writer(archive, &key).await?));
        done = done.and(on_shared(&writer, move |writer| writer.compact(before)).await?);
        release(&writer).await;
    }
    Ok(done)
}
