//! Writes vintages: the values that a commit replaces.

use super::checksum::sha256;
use super::fault::{ArchiveFault, FileState};
use super::key_writer::KeyWriter;
use super::ledger::Vintage;
use super::rows::keep;
use super::store::{Staged, Version};
use super::vintage;
use crate::clock::{UnixMicros, Window};
use crate::columns::Series;

/// A vintage that is not in place yet.
pub(super) struct NewVintage {
    pub(super) name: String,
    pub(super) vintage: Vintage,
    pub(super) file: Box<dyn Staged>,
}

impl KeyWriter {
    /// The buckets of a partition whose archived values differ from an answer, as a file that is not in place yet;
    /// `None` if there are none.
    pub(super) fn vintage(
        &self,
        partition: &str,
        windows: &[Window],
        before: &[Series],
        after: &[Series],
        at: UnixMicros,
    ) -> Result<Option<NewVintage>, ArchiveFault> {
        let known = self.ledger.known(windows);
        let windows: Vec<Window> = known.iter().map(|known| known.window).collect();
        if windows.is_empty() {
            return Ok(None);
        }
        let of = |series: &[Series], windows: &[Window]| {
            let mut series = series.to_vec();
            for one in &mut series {
                keep(one, windows, true);
            }
            series.retain(|one| !one.is_empty());
            series
        };
        let before = of(before, &windows);
        let changed = vintage::changed_buckets(&self.key, &windows, &before, &of(after, &windows));
        if changed.is_empty() {
            return Ok(None);
        }
        let known = self.ledger.known(&changed);
        let (vintage, bytes) = vintage::make(&self.key, at, &known, &of(&before, &changed))?;
        // Each partition of an answer has a number of its own; a writer that lost its lock may have left one.
        let mut number = vintage::next_number(&self.ledger);
        let mut name = vintage::name(number, partition);
        while self.archive.store.length(&vintage::file(&self.key, &name))?.is_some() {
            number += 1;
            name = vintage::name(number, partition);
        }
        let file = self.archive.store.stage(&self.key.name, &vintage::file(&self.key, &name), bytes)?;
        Ok(Some(NewVintage { name, vintage, file }))
    }

    /// Adds a vintage to the ledger if its file is in place. Even if the new data did not arrive, what a vintage says
    /// about the time before is true.
    pub(super) fn settle_vintage(&mut self, coming: Option<(String, Vintage)>) -> Result<(), ArchiveFault> {
        let Some((name, vintage)) = coming else { return Ok(()) };
        self.ledger.vintages.remove(&name);
        match self.archive.store.read(&vintage::file(&self.key, &name))? {
            Some(found) if sha256(&found.bytes) == vintage.part.sha256 => {
                self.ledger.vintages.insert(name, vintage);
                Ok(())
            }
            // Of another writer, who was faster.
            Some(_) => self.adopt_vintages(),
            None => Ok(()),
        }
    }

    /// Adds complete vintages of the key that its ledger does not name, because it was lost or is older than they are.
    pub(super) fn adopt_vintages(&mut self) -> Result<(), ArchiveFault> {
        for file in self.archive.store.list(&vintage::folder(&self.key))? {
            let Some(name) = vintage::name_of(&self.key, &file).map(str::to_owned) else { continue };
            if self.ledger.vintages.contains_key(&name) {
                continue;
            }
            let Some(found) = self.archive.store.read(&file)? else { continue };
            match vintage::examine(&self.key, &file, &found.bytes) {
                Ok(vintage) => {
                    self.ledger.vintages.insert(name, vintage);
                }
                Err(ArchiveFault::File { state: FileState::Damaged | FileState::Foreign, problem, .. }) => {
                    self.set_aside(&file, &found, &problem)?;
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(())
    }

    /// Removes the files of vintages that are being dropped, or replaces them by files without rows.
    pub(super) fn drop_vintages(&mut self) -> Result<(), ArchiveFault> {
        for name in std::mem::take(&mut self.ledger.going) {
            let file = vintage::file(&self.key, &name);
            let Some(vintage) = self.ledger.vintages.get_mut(&name) else {
                self.archive.store.remove(&file)?;
                continue;
            };
            let (dropped, bytes) = vintage::make(&self.key, vintage.replaced, &[], &[])?;
            *vintage = dropped;
            let seen = self.archive.store.read(&file)?.map_or(Version::Absent, |found| found.version);
            self.archive.store.stage(&self.key.name, &file, bytes)?.place(&seen)?;
        }
        Ok(())
    }
}
