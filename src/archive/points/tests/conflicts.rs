//! A commit that conflicts with other writers' is retried after random waits, and given up in the end.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use object_store::memory::InMemory;

use super::*;
use crate::archive::points::store::{ConflictRetry, FileRanges, Lock, Staged, Version};
use crate::clock::{Clock, ManualClock, UnixMicros};

/// What others do at a name before it is read, or before it is put in place.
type Meddle = Box<dyn Fn(&dyn ArchiveStore, &str) + Send + Sync>;

/// A store in which others do something at every look or change.
struct Meddled {
    store: Box<dyn ArchiveStore>,
    before_read: Meddle,
    before_place: Meddle,
}

impl std::fmt::Debug for Meddled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.store.fmt(f)
    }
}

impl ArchiveStore for Meddled {
    fn read(&self, name: &str) -> Result<Option<Found>, ArchiveFault> {
        (self.before_read)(&*self.store, name);
        self.store.read(name)
    }
    fn read_ranges(&self, files: &[FileRanges]) -> Result<Vec<Option<Vec<Bytes>>>, ArchiveFault> {
        self.store.read_ranges(files)
    }
    fn is_local(&self) -> bool {
        self.store.is_local()
    }
    fn length(&self, name: &str) -> Result<Option<u64>, ArchiveFault> {
        self.store.length(name)
    }
    fn list(&self, folder: &str) -> Result<Vec<String>, ArchiveFault> {
        self.store.list(folder)
    }
    fn create(&self, owner: &str, name: &str, bytes: Vec<u8>) -> Result<bool, ArchiveFault> {
        self.store.create(owner, name, bytes)
    }
    fn stage(&self, owner: &str, name: &str, bytes: Vec<u8>) -> Result<Box<dyn Staged>, ArchiveFault> {
        (self.before_place)(&*self.store, name);
        self.store.stage(owner, name, bytes)
    }
    fn removes(&self) -> bool {
        self.store.removes()
    }
    fn remove(&self, name: &str) -> Result<(), ArchiveFault> {
        self.store.remove(name)
    }
    fn set_aside(&self, name: &str, found: &Found) -> Result<(String, Version), ArchiveFault> {
        self.store.set_aside(name, found)
    }
    fn try_lock(&self, name: &str) -> Result<Option<Box<dyn Lock>>, ArchiveFault> {
        self.store.try_lock(name)
    }
    fn sweep(&self, owner: &str) -> Result<(), ArchiveFault> {
        self.store.sweep(owner)
    }
    fn wait_for_turn(&self, contest: &mut ConflictRetry) -> bool {
        self.store.wait_for_turn(contest)
    }
    fn patience(&self) -> Duration {
        self.store.patience()
    }
}

/// An archive, how often another writer is still to touch the ledger between a look at it and its change, the pauses, and the
/// clock, which they move.
#[expect(clippy::type_complexity)]
fn raced() -> (Archive, Arc<AtomicU32>, Arc<Mutex<Vec<Duration>>>, Arc<ManualClock>) {
    let (ahead, clock) = (Arc::new(AtomicU32::new(0)), Arc::new(ManualClock::default()));
    let pauses: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let pause = {
        let (pauses, clock) = (Arc::clone(&pauses), Arc::clone(&clock));
        move |pause: Duration| {
            clock.advance(pause.as_nanos() as i64);
            pauses.lock().unwrap().push(pause);
        }
    };
    let options = [("skip_signature".to_owned(), "true".to_owned())];
    let address = Address::parse("s3://bucket/some/prefix", &options).unwrap();
    let lease = Duration::from_secs(3_600);
    let store = Objects::with(address, Arc::new(InMemory::new()), lease, Arc::clone(&clock) as _, Arc::new(pause));
    let left = Arc::clone(&ahead);
    let touch = move |store: &dyn ArchiveStore, name: &str| {
        let is_ahead = |left: u32| left.checked_sub(1);
        if name.contains("/ledger/") && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_ahead).is_ok() {
            let Found { bytes, version } = store.read(name).unwrap().unwrap();
            store.stage("rival", name, bytes.to_vec()).unwrap().place(&version).unwrap();
        }
    };
    let (before_read, before_place): (Meddle, Meddle) = (Box::new(|_, _| ()), Box::new(touch));
    let store = Arc::new(Meddled { store: Box::new(store), before_read, before_place });
    let archive = Archive { store, path: "s3://bucket/some/prefix".into(), plain_options: None };
    (archive, ahead, pauses, clock)
}

// faults.md row 46
#[test]
fn a_writer_whom_others_come_before_many_times_waits_and_is_not_lost() {
    let (archive, ahead, pauses, _) = raced();
    let mut writer = key_writer(&archive);
    writer.commit(&[window(0, 2)], &closes(&[0, 1], 0.5), UnixMicros(AT)).unwrap();
    ahead.store(50, Ordering::SeqCst);
    writer.commit(&[window(2, 4)], &closes(&[2, 3], 0.5), UnixMicros(AT)).unwrap();
    assert_eq!(archive.read(&key(), window(0, 4)).unwrap(), closes(&[0, 1, 2, 3], 0.5));
    let pauses = pauses.lock().unwrap();
    assert_eq!(pauses.len(), 50);
    for (tried, pause) in pauses.iter().enumerate() {
        let longest = Duration::from_millis(10 << tried.min(7)).min(Duration::from_secs(1));
        assert!(*pause <= longest, "{tried}: {pause:?}");
    }
    // Who comes too late together does not come again together.
    let distinct: std::collections::HashSet<&Duration> = pauses.iter().collect();
    assert!(distinct.len() > 40, "{pauses:?}");
}

#[test]
fn a_writer_whom_others_always_come_before_gives_up_and_says_so() {
    let (archive, ahead, pauses, clock) = raced();
    let mut writer = key_writer(&archive);
    writer.commit(&[window(0, 2)], &closes(&[0, 1], 0.5), UnixMicros(AT)).unwrap();
    ahead.store(u32::MAX, Ordering::SeqCst);
    let begun = clock.now().0;
    let fault = writer.commit(&[window(2, 4)], &closes(&[2, 3], 0.5), UnixMicros(AT)).unwrap_err();
    assert!(matches!(fault, ArchiveFault::Conflict { .. }), "{fault}");
    assert!(fault.to_string().contains("sync once more"), "{fault}");
    let waited = clock.now().0 - begun;
    assert!((60 * SECOND..62 * SECOND).contains(&waited), "{waited}");
    assert!(pauses.lock().unwrap().len() > 20);
    ahead.store(0, Ordering::SeqCst);
    writer.commit(&[window(2, 4)], &closes(&[2, 3], 0.5), UnixMicros(AT)).unwrap();
    assert_eq!(archive.read(&key(), window(0, 4)).unwrap(), closes(&[0, 1, 2, 3], 0.5));
}

// faults.md row 47
#[test]
fn a_file_that_goes_between_two_looks_is_no_time_without_rows() {
    let (_folder, archive) = archive();
    let mut writer = key_writer(&archive);
    writer.commit(&[window(0, 2)], &closes(&[0, 1], 0.5), UnixMicros(AT)).unwrap();
    drop(writer);
    // As a writer leaves it that is killed when the file is in its place and the ledger does not say so yet.
    let name = part_name(&key(), "1970-01-01");
    let bytes = std::fs::read(archive.path().join(&name)).unwrap();
    let mut announced = KeyLedger::new(&key());
    let part = LedgerPart::of(&bytes.clone().into(), 2);
    announced
        .pending
        .insert("1970-01-01".to_owned(), Pending::new(Some(part), &[window(0, 2)], Some(UnixMicros(AT)), None));
    std::fs::write(archive.path().join(ledger::name(&key().name)), announced.seal()).unwrap();
    assert_eq!(archive.read(&key(), window(0, 2)).unwrap(), closes(&[0, 1], 0.5));
    // Somebody deletes the archive, and the file goes after the first look at it.
    let looks = AtomicU32::new(0);
    let vanish = move |store: &dyn ArchiveStore, read: &str| {
        if read.ends_with(".parquet") && looks.fetch_add(1, Ordering::SeqCst) == 1 {
            store.remove(read).unwrap();
        }
    };
    let store = Box::new(Folder::new(archive.path()));
    let meddled = Meddled { store, before_read: Box::new(vanish), before_place: Box::new(|_, _| ()) };
    let seen = Archive { store: Arc::new(meddled), ..archive.clone() };
    let fault = seen.read(&key(), window(0, 2)).unwrap_err();
    assert!(
        matches!(fault, ArchiveFault::NotAsked { .. } | ArchiveFault::File { state: FileState::Missing, .. }),
        "{fault}"
    );
}
