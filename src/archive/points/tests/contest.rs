//! A change that others come before again and again is begun anew, in turns that chance decides, and given up at last.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use object_store::memory::InMemory;

use super::*;
use crate::archive::points::store::{Contest, Lock, Staged, Version};
use crate::clock::{Clock, ManualClock};

/// A store in which another writer touches the ledger between a look at it and its change, so many times.
#[derive(Debug)]
struct Rival {
    store: Objects,
    ahead: Arc<AtomicU32>,
}

impl Store for Rival {
    fn read(&self, name: &str) -> Result<Option<Found>, ArchiveFault> {
        self.store.read(name)
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
        let is_ahead = |left: u32| left.checked_sub(1);
        if name.contains("/ledger/") && self.ahead.fetch_update(Ordering::SeqCst, Ordering::SeqCst, is_ahead).is_ok() {
            let Found { bytes, version } = self.store.read(name)?.unwrap();
            self.store.stage("rival", name, bytes.to_vec())?.place(&version)?;
        }
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
    fn wait_for_turn(&self, contest: &mut Contest) -> bool {
        self.store.wait_for_turn(contest)
    }
    fn patience(&self) -> Duration {
        self.store.patience()
    }
}

/// An archive of two closes, how often the rival is still to come first, the pauses, and the clock, which they move.
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
    let store = Arc::new(Rival { store, ahead: Arc::clone(&ahead) });
    let archive = Archive { store, path: "s3://bucket/some/prefix".into(), plain_options: None };
    (archive, ahead, pauses, clock)
}

// faults.md row 46
#[test]
fn a_writer_whom_others_come_before_many_times_waits_and_is_not_lost() {
    let (archive, ahead, pauses, _) = raced();
    let mut writer = hold(&archive);
    writer.commit(&[window(0, 2)], &closes(&[0, 1], 0.5), AT).unwrap();
    ahead.store(50, Ordering::SeqCst);
    writer.commit(&[window(2, 4)], &closes(&[2, 3], 0.5), AT).unwrap();
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
    let mut writer = hold(&archive);
    writer.commit(&[window(0, 2)], &closes(&[0, 1], 0.5), AT).unwrap();
    ahead.store(u32::MAX, Ordering::SeqCst);
    let begun = clock.now();
    let told = writer.commit(&[window(2, 4)], &closes(&[2, 3], 0.5), AT).unwrap_err();
    assert!(matches!(told, ArchiveFault::Conflict { .. }), "{told}");
    assert!(told.to_string().contains("sync once more"), "{told}");
    let waited = clock.now() - begun;
    assert!((60 * SECOND..62 * SECOND).contains(&waited), "{waited}");
    assert!(pauses.lock().unwrap().len() > 20);
    ahead.store(0, Ordering::SeqCst);
    writer.commit(&[window(2, 4)], &closes(&[2, 3], 0.5), AT).unwrap();
    assert_eq!(archive.read(&key(), window(0, 4)).unwrap(), closes(&[0, 1, 2, 3], 0.5));
}
