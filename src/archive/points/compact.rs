//! Dropping vintages that are no longer wanted.

use super::fault::ArchiveFault;
use super::key_writer::KeyWriter;
use super::ledger::Vintage;
use super::vintage;
use crate::clock::UnixMicros;

/// What a compaction removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Number of files.
    pub files: usize,
    /// Their size.
    pub bytes: u64,
    /// Their rows.
    pub rows: u64,
}

impl Compacted {
    fn of(vintage: &Vintage) -> Self {
        Self { files: 1, bytes: vintage.part.bytes, rows: vintage.part.rows }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { files: self.files + other.files, bytes: self.bytes + other.bytes, rows: self.rows + other.rows }
    }
}

impl KeyWriter {
    /// Drops vintages replaced at a moment or before. One file without rows stays, which records up to when vintages
    /// were dropped; in a store in which files cannot be removed safely, one for each.
    pub fn compact(&mut self, before: UnixMicros) -> Result<Compacted, ArchiveFault> {
        let old = |writer: &Self| {
            let kept =
                writer.ledger.vintages.iter().filter(|(_, vintage)| !vintage.dropped && vintage.replaced <= before);
            kept.map(|(name, vintage)| (name.clone(), Compacted::of(vintage))).collect::<Vec<_>>()
        };
        let done = old(self).into_iter().map(|(_, one)| one).fold(Compacted::default(), Compacted::and);
        self.again(|writer| {
            writer.settle()?;
            let mut going: Vec<String> = old(writer).into_iter().map(|(name, _)| name).collect();
            let Some(last) = going.last().cloned() else { return Ok(()) };
            if writer.archive.store.removes() {
                going.extend(writer.ledger.vintages.iter().filter(|one| one.1.dropped).map(|(name, _)| name.clone()));
            }
            let of = |writer: &Self, name: &String| writer.ledger.vintages.get(name).map(|vintage| vintage.replaced);
            let newest = going.iter().filter_map(|name| of(writer, name)).max().unwrap_or(before);
            for name in &going {
                let replaced = if *name == last { Some(newest) } else { of(writer, name) };
                match replaced.filter(|_| *name == last || !writer.archive.store.removes()) {
                    Some(replaced) => {
                        let (vintage, _) = vintage::make(&writer.key, replaced, &[], &[])?;
                        writer.ledger.vintages.insert(name.clone(), vintage);
                    }
                    None => {
                        writer.ledger.vintages.remove(name);
                    }
                }
            }
            writer.ledger.going = going;
            // From here on the ledger says that they are being removed; the next writer completes it.
            writer.save()?;
            writer.drop_vintages()?;
            writer.save()
        })?;
        Ok(done)
    }
}
