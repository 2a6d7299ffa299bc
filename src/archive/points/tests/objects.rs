//! An archive in an object store: nothing is lost when a lock passes on while its holder still writes.

use std::sync::Barrier;

use object_store::memory::InMemory;

use super::*;
use crate::clock::{ManualClock, UnixMicros};

/// A lease that no test outlives.
const LEASE: Duration = Duration::from_secs(3_600);

/// One object store, and any number of programs that keep an archive in it.
pub(super) struct Shared {
    store: Arc<InMemory>,
    clock: Arc<ManualClock>,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self { store: Arc::default(), clock: Arc::default() }
    }

    fn objects(&self, lease: Duration) -> Objects {
        let options = [("skip_signature".to_owned(), "true".to_owned())];
        let address = Address::parse("s3://bucket/some/prefix", &options).unwrap();
        let pause = Arc::new(std::thread::sleep);
        Objects::with(address, Arc::clone(&self.store) as _, lease, Arc::clone(&self.clock) as _, pause)
    }

    /// The archive as another program sees it.
    pub(super) fn archive(&self) -> Archive {
        Archive { store: Arc::new(self.objects(LEASE)), path: "s3://bucket/some/prefix".into(), plain_options: None }
    }

    /// The lock, taken over from a holder that does not renew it.
    pub(super) fn take_over(&self) -> KeyWriter {
        let archive = self.archive();
        if let Some(writer) = archive.try_writer(&key()).unwrap() {
            return writer;
        }
        self.clock.advance(LEASE.as_nanos() as i64);
        key_writer(&archive)
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let store = self.objects(LEASE);
        let names = store.list("").unwrap().into_iter().filter(|name| !name.contains("/lock/"));
        names.map(|name| (name.clone(), store.read(&name).unwrap().unwrap().bytes.to_vec())).collect()
    }

    /// Puts an object there, whatever was there before.
    fn write(&self, name: &str, bytes: &[u8]) {
        let store = self.objects(LEASE);
        let seen = store.read(name).unwrap().map_or(Version::Absent, |found| found.version);
        store.stage("test", name, bytes.to_vec()).unwrap().place(&seen).unwrap();
    }
}

use super::super::store::Version;

fn closes_of(archive: &Archive, window: Window) -> Vec<f64> {
    let series = archive.read(&key(), window).unwrap();
    series.first().map_or_else(Vec::new, |one| one.floats("close").unwrap().to_vec())
}

#[test]
fn an_object_store_holds_the_same_files_as_a_folder() {
    let shared = Shared::new();
    let (_folder, near) = archive();
    let far = shared.archive();
    let hours: Vec<i64> = (0..4).chain(MONTH..MONTH + 3).collect();
    for archive in [&near, &far] {
        let mut writer = key_writer(archive);
        writer.commit(&[window(0, 4), window(MONTH, MONTH + 5)], &closes(&hours, 0.5), UnixMicros(AT)).unwrap();
        writer.commit(&[window(2, 6)], &closes(&[5], 0.25), UnixMicros(AT)).unwrap();
        drop(writer);
        assert_eq!(closes_of(archive, window(0, 6)), [0.5, 1.5, 5.25]);
    }
    let local: BTreeMap<_, _> = files(near.path()).into_iter().filter(|(name, _)| !name.contains("/lock/")).collect();
    assert_eq!(shared.files(), local);
    assert_eq!(far.verify().unwrap().bytes, near.verify().unwrap().bytes);
    assert_eq!(far.contents().unwrap().0[0].windows, near.contents().unwrap().0[0].windows);
}

#[test]
fn a_key_that_is_held_passes_on_when_it_is_released_or_not_renewed() {
    let shared = Shared::new();
    let (one, other) = (shared.archive(), shared.archive());
    let mut first = key_writer(&one);
    assert!(other.try_writer(&key()).unwrap().is_none());
    first.release();
    let second = key_writer(&other);
    // As long as the lease says, from the first look on.
    assert!(one.try_writer(&key()).unwrap().is_none());
    shared.clock.advance(LEASE.as_nanos() as i64 - 1);
    assert!(one.try_writer(&key()).unwrap().is_none());
    shared.clock.advance(1);
    let third = key_writer(&one);
    // Who lost it does not give back what is another's.
    drop(first);
    let mut second = second;
    second.release();
    assert!(shared.archive().try_writer(&key()).unwrap().is_none());
    drop(third);
}

#[test]
fn a_lock_that_is_renewed_does_not_pass_on() {
    let shared = Shared::new();
    let (one, other) = (shared.objects(Duration::from_millis(40)), shared.objects(Duration::from_millis(40)));
    let lock = one.try_lock("key").unwrap().unwrap();
    let read = || other.read(&own("lock/key.json")).unwrap().unwrap().version;
    for _ in 0..5 {
        assert!(other.try_lock("key").unwrap().is_none());
        // Not before that look: the next sign of life must be one that it did not see.
        let before = read();
        while read() == before {
            std::thread::yield_now();
        }
        // Much later by the looker's clock, but there was a sign of life.
        shared.clock.advance(SECOND);
        assert!(other.try_lock("key").unwrap().is_none());
    }
    drop(lock);
}

// faults.md row 46
#[test]
fn writers_that_all_think_they_hold_the_key_lose_nothing() {
    let shared = Shared::new();
    let mut writers: Vec<KeyWriter> = (0..3).map(|_| shared.take_over()).collect();
    let barrier = Barrier::new(writers.len());
    std::thread::scope(|scope| {
        for (number, writer) in writers.iter_mut().enumerate() {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                for hour in (0..8).map(|step| 3 * step + number as i64) {
                    // In the same two files, and some answers without rows.
                    let rows =
                        if hour % 5 == 0 { closes(&[MONTH + hour], 0.5) } else { closes(&[hour, MONTH + hour], 0.5) };
                    let windows = [window(hour, hour + 1), window(MONTH + hour, MONTH + hour + 1)];
                    writer.commit(&windows, &rows, UnixMicros(AT)).unwrap();
                }
            });
        }
    });
    drop(writers);
    let archive = shared.archive();
    let mut last = shared.take_over();
    last.mend(window(0, 2 * MONTH), true).unwrap();
    // A reader may find a bucket that was asked and empty forgotten; never a row, and never another row.
    let expected: Vec<f64> = (0..24).filter(|hour| hour % 5 != 0).map(|hour| 0.5 + f64::from(hour)).collect();
    let rows: Vec<f64> = last.read(window(0, 24)).unwrap()[0].floats("close").unwrap().to_vec();
    assert_eq!(rows, expected);
    assert_eq!(closes_of(&archive, window(MONTH, MONTH + 24)).len(), 24);
    assert!(archive.verify().unwrap().problems.is_empty());
}

#[test]
fn a_writer_that_wakes_after_another_took_over_starts_from_what_that_one_kept() {
    let shared = Shared::new();
    let mut sleeper = shared.take_over();
    sleeper.commit(&[window(0, 2)], &closes(&[0, 1], 0.5), UnixMicros(AT)).unwrap();
    let mut other = shared.take_over();
    other.commit(&[window(2, 4), window(0, 1)], &closes(&[0, 2, 3], 0.25), UnixMicros(AT)).unwrap();
    sleeper.commit(&[window(4, 6)], &closes(&[4, 5], 0.5), UnixMicros(AT)).unwrap();
    other.commit(&[window(6, 7)], &[], UnixMicros(AT)).unwrap();
    sleeper.mend(window(0, 8), true).unwrap();
    assert_eq!(closes_of(&shared.archive(), window(0, 7)), [0.25, 1.5, 2.25, 3.25, 4.5, 5.5]);
    assert_eq!(shared.archive().asked(&key()).unwrap(), [window(0, 7)]);
}

// faults.md row 45
#[test]
fn a_commit_that_stops_anywhere_is_brought_to_an_end_or_taken_back() {
    let (before, after) = (closes(&[1, MONTH + 1], 0.5), closes(&[2, MONTH + 2], 0.25));
    let ask = [window(2, 3), window(MONTH + 2, MONTH + 3)];
    let parts = ["1970-01-01", "1970-02-01"];
    let ledger = ledger::name(&key().name);
    for arrived in 0..4_usize {
        let placed = |place: usize| arrived & (1 << place) != 0;
        let shared = Shared::new();
        let mut writer = shared.take_over();
        writer.commit(&[window(0, 2), window(MONTH, MONTH + 2)], &before, UnixMicros(AT)).unwrap();
        let old = shared.files();
        writer.commit(&ask, &after, UnixMicros(AT)).unwrap();
        let new = shared.files();
        // Back to the ledger of the first step, with some of the files in place.
        let mut announced = KeyLedger::parse(&key().name, &old[&ledger]).unwrap();
        for (place, (partition, window)) in parts.iter().zip(ask).enumerate() {
            let name = part_name(&key(), partition);
            let part = LedgerPart::of(&new[&name].clone().into(), 2);
            announced
                .pending
                .insert((*partition).to_owned(), Pending::new(Some(part), &[window], Some(UnixMicros(AT)), None));
            shared.write(&name, if placed(place) { &new[&name] } else { &old[&name] });
        }
        shared.write(&ledger, &announced.seal());
        let archive = shared.archive();
        assert_eq!(closes_of(&archive, window(0, 2)), [1.5]);
        assert!(archive.verify().unwrap().problems.is_empty(), "{arrived}");
        let mut mended = shared.take_over();
        for (place, window) in ask.into_iter().enumerate() {
            assert_eq!(mended.gaps(window).is_empty(), placed(place), "{arrived}: {place}");
        }
        let lost: Vec<Window> = ask.into_iter().flat_map(|window| mended.gaps(window)).collect();
        mended.commit(&lost, &after, UnixMicros(AT)).unwrap();
        // The writer that seemed dead goes on, and finds it done.
        writer.commit(&ask, &after, UnixMicros(AT)).unwrap();
        assert_eq!(shared.files(), new, "{arrived}: as if nothing had happened");
    }
}

#[test]
fn what_the_service_no_longer_has_is_gone_and_what_was_set_aside_stays_away() {
    let shared = Shared::new();
    let mut writer = shared.take_over();
    let name = part_name(&key(), "1970-01-01");
    writer.commit(&[window(0, 2)], &closes(&[0, 1], 0.5), UnixMicros(AT)).unwrap();
    writer.commit(&[window(0, 2)], &[], UnixMicros(AT)).unwrap();
    assert_eq!(shared.archive().read(&key(), window(0, 2)).unwrap(), [], "asked and empty");
    assert!(shared.archive().verify().unwrap().problems.is_empty());
    writer.commit(&[window(1, 3)], &closes(&[2], 0.5), UnixMicros(AT)).unwrap();
    assert_eq!(closes_of(&shared.archive(), window(0, 3)), [2.5]);
    // Foreign, and its buckets turn out to be empty: it is not left for readers of the folder to find.
    shared.write(&name, b"time,close\n1,2\n");
    writer.mend(window(0, 3), true).unwrap();
    assert!(writer.take_aside()[0].contains("quarantine"));
    assert_eq!(writer.gaps(window(0, 3)), [window(0, 3)]);
    writer.commit(&[window(0, 3)], &[], UnixMicros(AT)).unwrap();
    assert_eq!(shared.archive().read(&key(), window(0, 3)).unwrap(), []);
    assert!(shared.archive().verify().unwrap().problems.is_empty());
    let kept: Vec<_> = shared.files().into_iter().filter(|(name, _)| name.contains("quarantine")).collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].1, b"time,close\n1,2\n");
}
