//! The first and the last archived row of a query, found without reading the rows between.

use super::archive::Archive;
use super::fault::ArchiveFault;
use super::key::ArchiveKey;
use super::ledger::part_name;
use super::partition::touches;
use crate::clock::{UnixNanos, Window};

/// One end of the archived rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The oldest row.
    First,
    /// The newest.
    Last,
}

impl Archive {
    /// The time of the first or the last row of a window; `None` where it holds none.
    ///
    /// # Errors
    /// [`ArchiveFault::File`] where a file that is read is not what was written.
    pub fn edge(&self, key: &ArchiveKey, window: Window, edge: Edge) -> Result<Option<UnixNanos>, ArchiveFault> {
        let found = self.in_peace(key, |ledger| {
            // Partition names are start days, in order.
            let mut partitions: Vec<&String> = ledger.parts.keys().filter(|name| touches(key, name, window)).collect();
            if edge == Edge::Last {
                partitions.reverse();
            }
            for partition in partitions {
                let name = part_name(key, partition);
                let bytes = self.store.read(&name)?.map(|found| found.bytes);
                let series = self.read_part(key, ledger, partition, &name, bytes, window)?;
                let times = series.iter().flat_map(|one| one.timestamps.iter().copied().map(UnixNanos));
                let found = if edge == Edge::First { times.min() } else { times.max() };
                if found.is_some() {
                    return Ok(found);
                }
            }
            Ok(None)
        });
        Ok(found?.flatten())
    }
}
