//! Writing vintages: what a commit takes the place of.

use super::checksum::sha256;
use super::fault::{ArchiveFault, FileState};
use super::key_writer::KeyWriter;
use super::ledger::Vintage;
use super::rows::keep;
use super::store::{Staged, Version};
use super::vintage;
use crate::clock::{UnixMicros, Window};
use crate::columns::Series;

/// A vintage that is yet to be put in place.
pub(super) struct NewVintage {
    pub(super) name: String,
    pub(super) vintage: Vintage,
    pub(super) file: Box<dyn Staged>,
}

impl KeyWriter {
    /// The buckets of a partition that an answer has otherwise than they are kept, as a file that is yet to be put in
    /// place; `None` where there are none.
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
        // Of several partitions of one answer, each has a number of its own; a writer that was overtaken may have left one.
        let mut number = vintage::next_number(&self.ledger);
        let mut name = vintage::name(number, partition);
        while self.archive.store.length(&vintage::file(&self.key, &name))?.is_some() {
            number += 1;
            name = vintage::name(number, partition);
        }
        let file = self.archive.store.stage(&self.key.name, &vintage::file(&self.key, &name), bytes)?;
        Ok(Some(NewVintage { name, vintage, file }))
    }

    /// Takes a vintage for one that is there, if it is. Whatever became of the file that was to follow it: what a vintage
    /// says of the time before holds.
    pub(super) fn settle_vintage(&mut self, coming: Option<(String, Vintage)>) -> Result<(), ArchiveFault> {
        let Some((name, vintage)) = coming else { return Ok(()) };
        self.ledger.vintages.remove(&name);
        match self.archive.store.read(&vintage::file(&self.key, &name))? {
            Some(found) if sha256(&found.bytes) == vintage.part.sha256 => {
                self.ledger.vintages.insert(name, vintage);
                Ok(())
            }
            // Another writer's, which came before.
            Some(_) => self.adopt_vintages(),
            None => Ok(()),
        }
    }

    /// Takes in whole vintages of the key that its ledger does not name: it was lost, or is older than they are.
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

    /// Removes the files of vintages that are going, or puts files without rows in their place.
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
