//! The windows of a call that an archive lacks, and the first and last row that it holds.

use super::archive_sync::key;
use super::error::ClientError;
use super::points_requests::PointsRequests;
use super::request::PointsRequest;
use crate::archive::points::{Archive, ArchiveFault, ArchiveKey, Edge, gaps};
use crate::clock::{UnixNanos, Window};

/// The windows (of bucket starts) of each request of a call that were never downloaded into the archive. An open start
/// or end is that of the archived data.
///
/// # Errors
/// [`super::ErrorKind::NotArchived`] where a request has an open window and nothing is archived for it.
pub fn missing(archive: &Archive, requests: &PointsRequests) -> Result<Vec<(ArchiveKey, Vec<Window>)>, ClientError> {
    let source = archive.source()?.unwrap_or_default();
    let one = |request: &PointsRequest| {
        let key = key(&source, request)?;
        let asked = archive.asked(&key)?;
        let hull = asked.first().zip(asked.last()).map(|(first, last)| Window { from: first.from, to: last.to });
        let window = hull.map(|hull| request.window_within(hull)).or_else(|| request.bounded());
        let Some(window) = window else {
            return Err(ArchiveFault::NotAsked { what: key.label(), missing: Vec::new() }.into());
        };
        let missing = gaps(&asked, window);
        Ok((key, missing))
    };
    requests.each().iter().map(one).collect()
}

/// The time of the first or the last archived row of a call; `None` where there is none.
///
/// # Errors
/// [`super::ErrorKind::Archive`] where a file that is read is not what was written.
pub fn edge(archive: &Archive, requests: &PointsRequests, edge: Edge) -> Result<Option<UnixNanos>, ClientError> {
    let mut found: Option<UnixNanos> = None;
    for request in requests.each() {
        let Some(key) = archive.key(&request.query)? else { continue };
        let asked = archive.asked(&key)?;
        let Some((first, last)) = asked.first().zip(asked.last()) else { continue };
        let window = request.window_within(Window { from: first.from, to: last.to });
        let pick = if edge == Edge::First { UnixNanos::min } else { UnixNanos::max };
        if let Some(time) = archive.edge(&key, window, edge)? {
            found = Some(found.map_or(time, |known| pick(known, time)));
        }
    }
    Ok(found)
}
