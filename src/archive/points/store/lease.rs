//! Locks in a store that has none: an object that its holder renews again and again. Who finds that it was not renewed for
//! as long as it says takes it over. Whoever does so by mistake, because the holder was only slow, harms nothing: a change
//! of files goes through only while what it is based on still stands. What locks are for is that two who want the same
//! wait for one another and pay once.
//!
//! How long ago it was renewed is measured by whoever looks, on a clock that only runs forward, from the first look on:
//! clocks of different machines are never compared.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::lock_watch::LockWatch;
use super::objects::Objects;
use super::operations::{ArchiveStore, Found, Lock, Version, own};
use super::runtime;

use crate::archive::points::fault::ArchiveFault;

const FORMAT: &str = "marketpoints lock";
/// A lock is renewed so often within its time.
const BEATS: u32 = 4;
/// Longest that who gives a lock back waits for the store to know.
const GRACE: Duration = Duration::from_secs(10);

/// What a lock says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    format: String,
    /// Who has it; nobody, when it was given back.
    holder: Option<String>,
    /// Makes each renewal another object.
    beat: u64,
    /// Time without a renewal after which the holder counts as gone, in milliseconds.
    lease_ms: u64,
}

/// A lock that is held; renewed until dropped or until the process ends.
#[derive(Debug)]
pub(super) struct Lease {
    /// Ends the renewals; the sender that goes over it is dropped when the lock is given back.
    end: Option<oneshot::Sender<mpsc::Sender<()>>>,
}

impl Note {
    fn bytes(&self) -> Bytes {
        Bytes::from(serde_json::to_vec(self).unwrap_or_default()) // texts and numbers: nothing that JSON cannot spell
    }

    /// What an object says; what nobody can read counts as given back.
    fn parse(bytes: &[u8]) -> Self {
        let free = Self { format: FORMAT.to_owned(), holder: None, beat: 0, lease_ms: 0 };
        serde_json::from_slice::<Self>(bytes).ok().filter(|note| note.format == FORMAT).unwrap_or(free)
    }
}

impl Objects {
    /// Takes a lock; `None` while somebody else has it and renews it.
    pub(super) fn take(&self, lock: &str) -> Result<Option<Lease>, ArchiveFault> {
        let name = own(&format!("lock/{lock}.json"));
        // From the system: a generator of the process would tell its forked children the same.
        let name_of_holder = getrandom::u64().map_err(|error| ArchiveFault::access(&self.url(&name), &error))?;
        let mut ours = Note {
            format: FORMAT.to_owned(),
            holder: Some(format!("{name_of_holder:016x}")),
            beat: 0,
            lease_ms: u64::try_from(self.lease().as_millis()).unwrap_or(u64::MAX),
        };
        let seen = match self.read(&name)? {
            None => Version::Absent,
            Some(Found { bytes, version }) => {
                let note = Note::parse(&bytes);
                if note.holder.is_some() && !self.is_over(lock, &version, note.lease_ms) {
                    return Ok(None);
                }
                ours.beat = note.beat + 1;
                version
            }
        };
        match self.put(&name, &ours.bytes(), &seen) {
            Ok(Version::Tagged(version)) => self.keep(&name, ours, version).map(Some),
            Ok(_) | Err(ArchiveFault::Conflict { .. }) => Ok(None), // somebody was faster
            Err(fault) => Err(fault),
        }
    }

    /// Whether a lock has not been renewed for as long as it says, since it was first seen like this.
    fn is_over(&self, lock: &str, version: &Version, lease_ms: u64) -> bool {
        let Version::Tagged(version) = version else { return true };
        let (mut watches, now) = (self.watches(), self.now());
        match watches.get(lock) {
            Some(watch) if watch.version == *version => {
                let over = u128::try_from(now.since(watch.since)).unwrap_or(0) >= u128::from(lease_ms) * 1_000_000;
                if over {
                    watches.remove(lock);
                }
                over
            }
            _ => {
                watches.insert(lock.to_owned(), LockWatch { version: version.clone(), since: now });
                false
            }
        }
    }

    fn keep(&self, name: &str, note: Note, version: UpdateVersion) -> Result<Lease, ArchiveFault> {
        let (end, ended) = oneshot::channel();
        let (store, path, owner) = (self.opened()?, self.path(name)?, note.holder.clone());
        let renewal = Renewal { store, path, note, owner, version };
        let every = self.lease() / BEATS;
        runtime::spawn(renewal.run(every, ended)).map_err(|error| ArchiveFault::access(&self.url(name), &error))?;
        Ok(Lease { end: Some(end) })
    }
}

/// What keeps a lock alive.
struct Renewal {
    store: Arc<dyn ObjectStore>,
    path: Path,
    note: Note,
    /// Whose the lock is, also when the note says that it is given back.
    owner: Option<String>,
    version: UpdateVersion,
}

impl Renewal {
    async fn run(mut self, every: Duration, mut ended: oneshot::Receiver<mpsc::Sender<()>>) {
        loop {
            match tokio::time::timeout(every, &mut ended).await {
                Err(_) => {
                    self.note.beat += 1;
                    if !self.renew().await {
                        return; // somebody else has it
                    }
                }
                // Nobody gives it back: it ends as with a process.
                Ok(Err(_)) => return,
                Ok(Ok(sender)) => {
                    self.note.holder = None;
                    self.note.beat += 1;
                    self.renew().await;
                    // Whoever waits hears that the sender is gone too.
                    drop(sender);
                    return;
                }
            }
        }
    }

    /// Writes the note; `false` when the lock is somebody else's by now. A store that does not answer may do so next time.
    async fn renew(&mut self) -> bool {
        for _ in 0..2 {
            let mode = PutMode::Update(self.version.clone());
            match self.store.put_opts(&self.path, PutPayload::from(self.note.bytes()), PutOptions::from(mode)).await {
                Ok(put) => {
                    self.version = put.into();
                    return true;
                }
                Err(Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. }) => {
                    // An earlier renewal may have arrived though its answer did not.
                    let Ok(found) = self.store.get(&self.path).await else { return false };
                    let version =
                        UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
                    let Ok(bytes) = found.bytes().await else { return true };
                    let there = Note::parse(&bytes);
                    if there != self.note && (there.holder.is_none() || there.holder != self.owner) {
                        return false;
                    }
                    self.version = version;
                    if there == self.note {
                        return true;
                    }
                }
                Err(_) => return true,
            }
        }
        true
    }
}

impl Lock for Lease {
    fn release(&mut self) {
        let Some(end) = self.end.take() else { return };
        let (sender, receiver) = mpsc::channel();
        if end.send(sender).is_ok() {
            let _ = receiver.recv_timeout(GRACE);
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Not waited for: this may be a thread that runs futures.
        if let Some(end) = self.end.take() {
            let _ = end.send(mpsc::channel().0);
        }
    }
}
