//! What an archive held at a moment: the rows known then, even if they were replaced since.

use super::archive::{AT_ONCE, Archive};
use super::checksum::sha256;
use super::coverage::{add_all, gaps};
use super::fault::ArchiveFault;
use super::key::ArchiveKey;
use super::known_since::{KnownBuckets, shared, without};
use super::ledger::KeyLedger;
use super::partition::touches;
use super::rows::{joined, keep};
use super::scan::Scan;
use super::{ledger, vintage};
use crate::clock::{UnixMicros, UnixSecond, Window, utc};
use crate::columns::Series;

/// Buckets that the service changed later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// Their starts.
    pub window: Window,
    /// Since when all of them were known with these values; `None` if not recorded.
    pub known: Option<UnixMicros>,
    /// When the archive received the new values.
    pub replaced: UnixMicros,
    /// Rows that they had.
    pub rows: u64,
}

/// A vintage whose file was opened.
struct OpenedVintage {
    replaced: UnixMicros,
    known: Vec<KnownBuckets>,
    series: Vec<Series>,
}

impl Archive {
    /// The windows of bucket starts that were known at a moment.
    ///
    /// # Errors
    /// [`ArchiveFault::File`] where a vintage is not what was written.
    pub fn known(&self, key: &ArchiveKey, moment: UnixMicros) -> Result<Vec<Window>, ArchiveFault> {
        let found = self.in_peace(key, |ledger| {
            if lost(key, ledger, &[], moment).is_some() {
                return Ok(Vec::new());
            }
            let (mut set, mut rest) = (Vec::new(), ledger.asked());
            for vintage in self.open_vintages(key, ledger, Window::ALWAYS, moment)? {
                add_all(&mut set, &take(key, &vintage.known, &mut rest, moment));
            }
            let current = ledger.known(&rest);
            add_all(&mut set, &take(key, &current, &mut rest, moment));
            Ok(set)
        });
        Ok(found?.unwrap_or_default())
    }

    /// The series of a window as they were known at a moment.
    ///
    /// # Errors
    /// [`ArchiveFault::NotKnown`] where a part of the window was not known then, or what was known was dropped;
    /// [`ArchiveFault::File`] where a file is not what was written.
    pub fn read_as_of<'a>(
        &self,
        key: &ArchiveKey,
        scan: impl Into<Scan<'a>>,
        moment: UnixMicros,
    ) -> Result<Vec<Series>, ArchiveFault> {
        let scan @ Scan { window, .. } = scan.into();
        let read = self.in_peace(key, |ledger| match lost(key, ledger, &[window], moment) {
            Some(fault) => Ok(Err(fault)),
            None => self.read_then(key, ledger, scan, moment, moment),
        });
        read?.unwrap_or_else(|| Err(ArchiveFault::NotAsked { what: key.label(), missing: vec![window] }))
    }

    /// The series of a window without changes received after a moment: each bucket has the values known then or, if it
    /// was first downloaded later, its first values; as far as `compact` has not dropped them.
    /// # Errors
    /// As [`Archive::read`].
    pub fn read_uncorrected(
        &self,
        key: &ArchiveKey,
        window: Window,
        moment: UnixMicros,
    ) -> Result<Vec<Series>, ArchiveFault> {
        let read = self.in_peace(key, |ledger| {
            let is_later = |vintage: &ledger::Vintage| !vintage.dropped && vintage.replaced > moment;
            if ledger.vintages.values().any(is_later) {
                return self.read_then(key, ledger, window.into(), moment, UnixMicros(i64::MAX)).map(Some);
            }
            Ok(None)
        });
        match read?.flatten() {
            Some(Ok(series)) => Ok(series),
            // Nothing was changed since, or a part was never downloaded.
            _ => self.read(key, window),
        }
    }

    /// Why nothing of a window, or of the archive, was known at a moment.
    pub fn nothing_known(
        &self,
        key: &ArchiveKey,
        window: Option<Window>,
        moment: UnixMicros,
    ) -> Result<ArchiveFault, ArchiveFault> {
        let (missing, ledger) = (Vec::from_iter(window), self.ledger(&key.name)?);
        Ok(match ledger {
            Some((ledger, _)) if !ledger.asked().is_empty() => {
                lost(key, &ledger, &missing, moment).unwrap_or_else(|| not_yet(key, missing, moment))
            }
            _ => ArchiveFault::NotAsked { what: key.label(), missing },
        })
    }

    /// The vintages replaced after `moment`, and current rows for the rest; of both only what was known by another
    /// moment.
    fn read_then(
        &self,
        key: &ArchiveKey,
        ledger: &KeyLedger,
        scan: Scan<'_>,
        moment: UnixMicros,
        known_by: UnixMicros,
    ) -> Result<Result<Vec<Series>, ArchiveFault>, ArchiveFault> {
        let window = scan.window;
        let (mut parts, mut set, mut rest) = (Vec::new(), Vec::new(), vec![window]);
        let mut take_from = |known: &[KnownBuckets], mut series: Vec<Series>, rest: &mut Vec<Window>| {
            let taken = take(key, known, rest, known_by);
            for one in &mut series {
                keep(one, &taken, true);
            }
            add_all(&mut set, &taken);
            parts.push(series);
        };
        for vintage in self.open_vintages(key, ledger, window, moment)? {
            take_from(&vintage.known, vintage.series, &mut rest);
        }
        if !rest.is_empty() {
            let current = self.read_parts(key, ledger, scan)?;
            take_from(&ledger.known(&rest.clone()), current, &mut rest);
        }
        let missing = gaps(&set, window);
        Ok(if missing.is_empty() { joined(key, parts, &[window]) } else { Err(not_yet(key, missing, moment)) })
    }

    /// Whether there are vintages that were replaced at a moment or before.
    pub fn has_vintages(&self, key: &ArchiveKey, before: UnixMicros) -> Result<bool, ArchiveFault> {
        let Some((ledger, _)) = self.ledger(&key.name)? else { return Ok(false) };
        let ledger = self.settled(key, ledger)?;
        Ok(ledger.vintages.values().any(|vintage| !vintage.dropped && vintage.replaced <= before))
    }

    /// What was archived and has changed since, in the order in which it was replaced.
    ///
    /// # Errors
    /// [`ArchiveFault::File`] where a vintage is not what was written.
    pub fn vintages(&self, key: &ArchiveKey) -> Result<Vec<Replaced>, ArchiveFault> {
        let opened =
            self.in_peace(key, |ledger| self.open_vintages(key, ledger, Window::ALWAYS, UnixMicros(i64::MIN)))?;
        let mut found = Vec::new();
        // A vintage's values were known since the vintage before it was replaced.
        let mut since: Vec<(Window, UnixMicros)> = Vec::new();
        for OpenedVintage { replaced, known, series } in opened.unwrap_or_default() {
            for one in known {
                let later = since.iter().filter_map(|(window, at)| Some((one.cut(*window)?.window, Some(*at))));
                let later: Vec<_> = later.collect();
                let mut covered = Vec::new();
                add_all(&mut covered, &later.iter().map(|(window, _)| *window).collect::<Vec<_>>());
                let first = gaps(&covered, one.window).into_iter().filter_map(|gap| one.cut(gap));
                let mut pieces: Vec<_> = first.map(|first| (first.window, first.whole(key))).chain(later).collect();
                pieces.sort_unstable_by_key(|(window, _)| window.from);
                for (window, known) in pieces {
                    let rows = series.iter().map(|one| {
                        let mut one = one.clone();
                        keep(&mut one, &[window], true);
                        one.len() as u64
                    });
                    found.push(Replaced { window, known, replaced, rows: rows.sum() });
                }
                since = since
                    .into_iter()
                    .flat_map(|(window, at)| gaps(&[one.window], window).into_iter().map(move |left| (left, at)))
                    .chain([(one.window, replaced)])
                    .collect();
            }
        }
        Ok(found)
    }

    /// Runs `work` on a consistent ledger and files while writers may be active: it is repeated when the ledger has
    /// changed meanwhile. `None` if there is no ledger.
    pub(super) fn in_peace<T>(
        &self,
        key: &ArchiveKey,
        work: impl Fn(&KeyLedger) -> Result<T, ArchiveFault>,
    ) -> Result<Option<T>, ArchiveFault> {
        let mut before = None;
        loop {
            let Some((ledger, _)) = self.ledger(&key.name)? else { return Ok(None) };
            let settled = self.settled(key, ledger)?;
            match work(&settled) {
                Err(fault) if before.as_ref() == Some(&settled) => return Err(fault),
                Err(_) => before = Some(settled),
                Ok(done) => return Ok(Some(done)),
            }
        }
    }

    /// The vintages that overlap a window and were replaced after a moment, in that order.
    fn open_vintages(
        &self,
        key: &ArchiveKey,
        ledger: &KeyLedger,
        window: Window,
        moment: UnixMicros,
    ) -> Result<Vec<OpenedVintage>, ArchiveFault> {
        let wanted = |(name, vintage): &(&String, &ledger::Vintage)| {
            !vintage.dropped && vintage.replaced > moment && touches(key, vintage::partition(name), window)
        };
        let wanted: Vec<_> = ledger.vintages.iter().filter(wanted).collect();
        let mut opened = Vec::new();
        for some in wanted.chunks(AT_ONCE) {
            let files: Vec<String> = some.iter().map(|(name, _)| vintage::file(key, name)).collect();
            for (((_, vintage), file), found) in some.iter().zip(&files).zip(self.store.read_all(&files)?) {
                let bytes = found.map(|found| found.bytes);
                match bytes {
                    Some(bytes) if sha256(&bytes) == vintage.part.sha256 => {
                        let (known, series) = vintage::open(file, bytes)?;
                        opened.push(OpenedVintage { replaced: vintage.replaced, known, series });
                    }
                    bytes => return Err(vintage::strange(key, file, bytes.as_ref())),
                }
            }
        }
        Ok(opened)
    }
}

/// Removes the buckets covered from those looked for, and returns those of them that were known at a moment.
fn take(key: &ArchiveKey, known: &[KnownBuckets], rest: &mut Vec<Window>, moment: UnixMicros) -> Vec<Window> {
    let cut = |known: &KnownBuckets| {
        shared(rest, &[known.window]).into_iter().filter_map(|window| known.cut(window)).collect()
    };
    let covered: Vec<KnownBuckets> = known.iter().flat_map(|known| -> Vec<KnownBuckets> { cut(known) }).collect();
    let windows: Vec<Window> = covered.iter().map(|known| known.window).collect();
    *rest = without(rest, &windows);
    covered.into_iter().filter_map(|known| known.by(key, moment)).collect()
}

/// The reason if what was known at a moment was dropped.
fn lost(key: &ArchiveKey, ledger: &KeyLedger, missing: &[Window], moment: UnixMicros) -> Option<ArchiveFault> {
    let dropped = ledger.dropped().filter(|dropped| moment < *dropped)?;
    let problem = format!(
        "what was known at {} is lost: values replaced up to {} were dropped by compact()",
        spelt(moment),
        spelt(dropped)
    );
    Some(ArchiveFault::NotKnown { what: key.label(), missing: missing.to_vec(), problem })
}

fn not_yet(key: &ArchiveKey, missing: Vec<Window>, moment: UnixMicros) -> ArchiveFault {
    let problem = match missing.as_slice() {
        [] => format!("nothing of it was known yet at {}", spelt(moment)),
        [only] => format!("{} to {} was not known yet at {}", utc(only.start()), utc(only.end()), spelt(moment)),
        several => format!(
            "{} windows were not known yet at {}, the first {} to {}",
            several.len(),
            spelt(moment),
            utc(several.first().map_or(UnixSecond(0), |first| first.start())),
            utc(several.first().map_or(UnixSecond(0), |first| first.end()))
        ),
    };
    ArchiveFault::NotKnown { what: key.label(), missing, problem }
}

fn spelt(moment: UnixMicros) -> String {
    utc(moment.second())
}
