//! Locks in a store without locks: an object that its holder renews periodically. A lock that was not renewed for its
//! lease is taken over. If that happens by mistake, because the holder was only slow, no data are lost: a file changes
//! only if it is still the version that the change is based on. The locks only make writers of the same data wait for
//! one another, so that it is paid for once.
//!
//! The time since the last renewal is measured by the observer, on a monotonic clock, from when it first saw that
//! version: clocks of different machines are never compared.

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
/// A lock is renewed so often within its lease.
const BEATS: u32 = 4;
/// Longest wait for the store when a lock is released.
const GRACE: Duration = Duration::from_secs(10);

/// The content of a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LeaseRecord {
    format: String,
    /// Its holder; `None` if it was released.
    holder: Option<String>,
    /// Makes the content of each renewal unique.
    beat: u64,
    /// The lease: time without a renewal after which the holder counts as gone, in milliseconds.
    lease_ms: u64,
}

/// A held lock, renewed until dropped or until the process ends.
#[derive(Debug)]
pub(super) struct Lease {
    /// Stops the renewals; the sender passed over it is dropped when the lock is released.
    end: Option<oneshot::Sender<mpsc::Sender<()>>>,
}

impl LeaseRecord {
    fn bytes(&self) -> Bytes {
        Bytes::from(serde_json::to_vec(self).unwrap_or_default()) // strings and numbers only, so this cannot fail
    }

    /// Parses an object; invalid content counts as released.
    fn parse(bytes: &[u8]) -> Self {
        let free = Self { format: FORMAT.to_owned(), holder: None, beat: 0, lease_ms: 0 };
        serde_json::from_slice::<Self>(bytes).ok().filter(|note| note.format == FORMAT).unwrap_or(free)
    }
}

impl Objects {
    /// Takes a lock; `None` while someone else holds and renews it.
    pub(super) fn take(&self, lock: &str) -> Result<Option<Lease>, ArchiveFault> {
        let name = own(&format!("lock/{lock}.json"));
        // From the operating system: a generator in the process would give forked children the same numbers.
        let name_of_holder = getrandom::u64().map_err(|error| ArchiveFault::access(&self.url(&name), &error))?;
        let mut ours = LeaseRecord {
            format: FORMAT.to_owned(),
            holder: Some(format!("{name_of_holder:016x}")),
            beat: 0,
            lease_ms: u64::try_from(self.lease().as_millis()).unwrap_or(u64::MAX),
        };
        let seen = match self.read(&name)? {
            None => Version::Absent,
            Some(Found { bytes, version }) => {
                let note = LeaseRecord::parse(&bytes);
                if note.holder.is_some() && !self.is_over(lock, &version, note.lease_ms) {
                    return Ok(None);
                }
                ours.beat = note.beat + 1;
                version
            }
        };
        match self.put(&name, &ours.bytes(), &seen) {
            Ok(Version::Tagged(version)) => self.keep(&name, ours, version).map(Some),
            Ok(_) | Err(ArchiveFault::Conflict { .. }) => Ok(None), // someone else was faster
            Err(fault) => Err(fault),
        }
    }

    /// Whether a lock was not renewed for its lease since this version was first seen.
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

    fn keep(&self, name: &str, note: LeaseRecord, version: UpdateVersion) -> Result<Lease, ArchiveFault> {
        let (end, ended) = oneshot::channel();
        let (store, path, owner) = (self.opened()?, self.path(name)?, note.holder.clone());
        let renewal = Renewal { store, path, note, owner, version };
        let every = self.lease() / BEATS;
        runtime::spawn(renewal.run(every, ended)).map_err(|error| ArchiveFault::access(&self.url(name), &error))?;
        Ok(Lease { end: Some(end) })
    }
}

/// Renews a lock.
struct Renewal {
    store: Arc<dyn ObjectStore>,
    path: Path,
    note: LeaseRecord,
    /// The holder's name, also when the lock is being released.
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
                        return; // someone else has it
                    }
                }
                // No one releases it: it expires as after a crash.
                Ok(Err(_)) => return,
                Ok(Ok(sender)) => {
                    self.note.holder = None;
                    self.note.beat += 1;
                    self.renew().await;
                    // A waiting thread notices that the sender is gone.
                    drop(sender);
                    return;
                }
            }
        }
    }

    /// Writes the note; `false` if the lock belongs to someone else now. If the store does not answer, the next renewal
    /// may succeed.
    async fn renew(&mut self) -> bool {
        for _ in 0..2 {
            let mode = PutMode::Update(self.version.clone());
            match self.store.put_opts(&self.path, PutPayload::from(self.note.bytes()), PutOptions::from(mode)).await {
                Ok(put) => {
                    self.version = put.into();
                    return true;
                }
                Err(Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. }) => {
                    // An earlier renewal may have arrived although its answer did not.
                    let Ok(found) = self.store.get(&self.path).await else { return false };
                    let version =
                        UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
                    let Ok(bytes) = found.bytes().await else { return true };
                    let there = LeaseRecord::parse(&bytes);
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
