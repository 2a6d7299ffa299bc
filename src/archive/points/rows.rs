//! Selects rows of series by the windows of their buckets' starts.

use super::fault::ArchiveFault;
use super::key::ArchiveKey;
use crate::clock::{UnixNanos, Window};
use crate::columns::{Contradiction, Series, join};

/// Joins the series of several files or answers, keeping only rows whose bucket starts are in the windows.
pub(super) fn joined(
    key: &ArchiveKey,
    parts: Vec<Vec<Series>>,
    windows: &[Window],
) -> Result<Vec<Series>, ArchiveFault> {
    let mut series = join(parts, key.is_unique()).map_err(|both| contradiction(key, &both))?;
    for one in &mut series {
        keep(one, windows, true);
    }
    Ok(without_empty(series))
}

pub(super) fn without_empty(mut series: Vec<Series>) -> Vec<Series> {
    series.retain(|one| !one.is_empty());
    series
}

pub(super) fn contradiction(key: &ArchiveKey, both: &Contradiction) -> ArchiveFault {
    ArchiveFault::Content(format!("{}: {}", key.label(), both.conflict))
}

/// Keeps the rows whose bucket starts are in the windows, which are sorted, or only the other rows.
pub(super) fn keep(series: &mut Series, windows: &[Window], inside: bool) {
    let holds = |time: UnixNanos| {
        let place = windows.partition_point(|window| window.nanos().end <= time);
        windows.get(place).is_some_and(|window| window.nanos().start <= time) == inside
    };
    if series.timestamps.iter().all(|time| holds(UnixNanos(*time))) {
        return;
    }
    let rows: Vec<usize> = (0..series.len()).filter(|&row| holds(UnixNanos(series.timestamps[row]))).collect();
    series.take(&rows);
}
