//! An object store: objects are written atomically, and a change succeeds only if the object is still the version that
//! the change is based on (create if absent, replace if unchanged). That, and not a lock, keeps writers from undoing
//! each other's work.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::TryStreamExt;
use futures::future::join_all;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion,
    coalesce_ranges,
};

use super::address::Address;
use super::conflict_retry::{ConflictRetry, RetryPause};
use super::errors::{fault, is_bucket_missing};
use super::lock_watch::LockWatch;
use super::operations::{ArchiveStore, FileRanges, Found, Lock, Staged, Version, aside, own};
use super::runtime;
use super::secrets::Secrets;

use crate::archive::points::checksum::sha256;
use crate::archive::points::fault::ArchiveFault;
use crate::clock::{RunningClock, SharedClock, UnixNanos};

/// Pause between two attempts to lock.
const LOOK: Duration = Duration::from_millis(250);
/// Ranges of an object with fewer bytes between them are asked together.
const NEAR: u64 = 32 << 10;

/// A prefix of an object store.
#[derive(Clone)]
pub(in crate::archive::points) struct Objects {
    inner: Arc<ObjectsInner>,
}

struct ObjectsInner {
    address: Address,
    /// Read when the store was opened: the environment may change.
    secrets: Secrets,
    /// For one process: connections do not survive a fork.
    opened: Mutex<(u32, Arc<dyn ObjectStore>)>,
    /// The lease: time without a renewal after which a writer counts as gone.
    lease: Duration,
    clock: SharedClock,
    pause: RetryPause,
    /// Locks of others.
    watches: Mutex<HashMap<String, LockWatch>>,
    /// Whether the store was seen to enforce conditions.
    heeds: AtomicBool,
}

/// A file that is not yet in place.
struct UnplacedObject {
    store: Objects,
    name: String,
    bytes: Bytes,
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Objects").field(&self.inner.address.text).finish() // the rest may contain credentials
    }
}

impl Objects {
    /// The store at an address; nothing is sent yet.
    ///
    /// # Errors
    /// [`ArchiveFault::Address`] for settings that the store does not know.
    pub(in crate::archive::points) fn new(address: Address, lease: Duration) -> Result<Self, ArchiveFault> {
        let opened = address.open()?;
        Ok(Self::with(address, opened, lease, Arc::new(RunningClock::wall()), Arc::new(std::thread::sleep)))
    }

    pub(in crate::archive::points) fn with(
        address: Address,
        opened: Arc<dyn ObjectStore>,
        lease: Duration,
        clock: SharedClock,
        pause: RetryPause,
    ) -> Self {
        let opened = Mutex::new((std::process::id(), opened));
        let (secrets, watches, heeds) = (address.secrets(), Mutex::default(), AtomicBool::new(false));
        Self { inner: Arc::new(ObjectsInner { address, secrets, opened, lease, clock, pause, watches, heeds }) }
    }

    pub(super) fn lease(&self) -> Duration {
        self.inner.lease
    }

    pub(super) fn now(&self) -> UnixNanos {
        self.inner.clock.now()
    }

    pub(super) fn watches(&self) -> MutexGuard<'_, HashMap<String, LockWatch>> {
        self.inner.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The URL of an object.
    pub(super) fn url(&self, name: &str) -> String {
        let root = &self.inner.address.text;
        if name.is_empty() { root.clone() } else { format!("{root}/{name}") }
    }

    pub(super) fn path(&self, name: &str) -> Result<Path, ArchiveFault> {
        let root = self.inner.address.root.as_ref();
        let whole = if root.is_empty() || name.is_empty() { format!("{root}{name}") } else { format!("{root}/{name}") };
        Path::parse(whole).map_err(|error| ArchiveFault::access(&self.url(name), &error))
    }

    pub(super) fn opened(&self) -> Result<Arc<dyn ObjectStore>, ArchiveFault> {
        let mut opened = self.inner.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.0 != std::process::id() {
            let inherited = std::mem::replace(&mut *opened, (std::process::id(), self.inner.address.open()?));
            std::mem::forget(inherited); // its connections belong to the parent
        }
        Ok(Arc::clone(&opened.1))
    }

    fn fault(&self, name: &str, error: &Error) -> ArchiveFault {
        fault(self.inner.address.kind, &self.url(name), &self.inner.secrets, error)
    }

    /// Sends a request; the outer error means that nothing was sent.
    fn ask<T, F>(
        &self,
        name: &str,
        work: impl FnOnce(Arc<dyn ObjectStore>, Path) -> F,
    ) -> Result<Result<T, Error>, ArchiveFault>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let future = work(self.opened()?, self.path(name)?);
        runtime::wait(future).map_err(|error| ArchiveFault::access(&self.url(name), &error))
    }

    /// As [`Objects::ask`] for an object that may not exist.
    fn find<T, F>(
        &self,
        name: &str,
        work: impl FnOnce(Arc<dyn ObjectStore>, Path) -> F,
    ) -> Result<Option<T>, ArchiveFault>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let found = self.ask(name, work)?;
        self.there(name, found)
    }

    fn there<T>(&self, name: &str, found: Result<T, Error>) -> Result<Option<T>, ArchiveFault> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(error @ Error::NotFound { .. }) if !is_bucket_missing(&error) => Ok(None),
            Err(error) => Err(self.fault(name, &error)),
        }
    }

    /// Replaces the object that was seen there; returns its version.
    pub(super) fn put(&self, name: &str, bytes: &Bytes, seen: &Version) -> Result<Version, ArchiveFault> {
        let mode = match seen {
            Version::Absent => PutMode::Create,
            Version::Tagged(version) => PutMode::Update(version.clone()),
            Version::Locked => return Err(ArchiveFault::access(&self.url(name), &"an object without a version")),
        };
        let payload = PutPayload::from(bytes.clone());
        let put = self.ask(name, |store, path| async move {
            store.put_opts(&path, payload, PutOptions::from(mode)).await.map(UpdateVersion::from)
        });
        match put? {
            Ok(version) => Ok(Version::Tagged(version)),
            Err(error @ (Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotFound { .. })) => {
                if is_bucket_missing(&error) {
                    return Err(self.fault(name, &error));
                }
                match self.read(name)? {
                    // Ours: an earlier attempt arrived although its answer did not.
                    Some(found) if found.bytes == *bytes => Ok(found.version),
                    _ => Err(ArchiveFault::Conflict { path: self.url(name) }),
                }
            }
            Err(error) => Err(self.fault(name, &error)),
        }
    }

    /// Checks that the store enforces the conditions of writes: one that ignores them would lose what others wrote.
    fn must_heed_conditions(&self) -> Result<(), ArchiveFault> {
        if self.inner.heeds.load(Ordering::Relaxed) {
            return Ok(());
        }
        let name = own("lock/conditions");
        let put = |mode: PutMode| {
            let payload = PutPayload::from_static(b"whether the store heeds conditions");
            self.ask(&name, |store, path| async move { store.put_opts(&path, payload, PutOptions::from(mode)).await })
        };
        let unheeded = || Err(ArchiveFault::Unconditional { path: self.url("") });
        // The first writer finds nothing there, and asks twice.
        for first in [true, false] {
            match put(PutMode::Create)? {
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => break,
                Ok(_) if first => {}
                Ok(_) => return unheeded(),
                Err(error) => return Err(self.fault(&name, &error)),
            }
        }
        let stale = UpdateVersion {
            e_tag: Some("\"00000000000000000000000000000000\"".to_owned()),
            version: Some("1".to_owned()),
        };
        match put(PutMode::Update(stale))? {
            Err(Error::Precondition { .. } | Error::AlreadyExists { .. }) => {
                self.inner.heeds.store(true, Ordering::Relaxed);
                Ok(())
            }
            Ok(_) => unheeded(),
            Err(error) => Err(self.fault(&name, &error)),
        }
    }
}

impl ArchiveStore for Objects {
    fn read(&self, name: &str) -> Result<Option<Found>, ArchiveFault> {
        self.find(name, get)
    }

    fn read_all(&self, names: &[String]) -> Result<Vec<Option<Found>>, ArchiveFault> {
        let store = self.opened()?;
        let paths = names.iter().map(|name| self.path(name)).collect::<Result<Vec<_>, _>>()?;
        let all = join_all(paths.into_iter().map(|path| get(Arc::clone(&store), path)));
        let all = runtime::wait(all).map_err(|error| ArchiveFault::access(&self.url(""), &error))?;
        names.iter().zip(all).map(|(name, found)| self.there(name, found)).collect()
    }

    fn read_ranges(&self, files: &[FileRanges]) -> Result<Vec<Option<Vec<Bytes>>>, ArchiveFault> {
        let store = self.opened()?;
        let paths = files.iter().map(|file| self.path(&file.name)).collect::<Result<Vec<_>, _>>()?;
        let each = files.iter().cloned().zip(paths);
        let all = join_all(each.map(|(file, path)| get_ranges(Arc::clone(&store), path, file)));
        let all = runtime::wait(all).map_err(|error| ArchiveFault::access(&self.url(""), &error))?;
        let found = files.iter().zip(all).map(|(file, found)| self.there(&file.name, found));
        found.map(|found| Ok(found?.flatten())).collect()
    }

    fn is_local(&self) -> bool {
        false
    }

    fn length(&self, name: &str) -> Result<Option<u64>, ArchiveFault> {
        Ok(self.find(name, |store, path| async move { store.head(&path).await })?.map(|meta| meta.size))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, ArchiveFault> {
        let listed = self.ask(folder, |store, path| async move {
            let prefix = (!path.as_ref().is_empty()).then_some(path);
            store.list(prefix.as_ref()).try_collect::<Vec<ObjectMeta>>().await
        });
        let listed = listed?.map_err(|error| self.fault(folder, &error))?;
        let root = self.inner.address.root.as_ref();
        let name = |meta: ObjectMeta| {
            let name = meta.location.as_ref().strip_prefix(root)?;
            Some(name.strip_prefix('/').unwrap_or(name).to_owned())
        };
        let mut names: Vec<String> = listed.into_iter().filter_map(name).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn create(&self, _owner: &str, name: &str, bytes: Vec<u8>) -> Result<bool, ArchiveFault> {
        match self.put(name, &Bytes::from(bytes), &Version::Absent) {
            Ok(_) => Ok(true),
            Err(ArchiveFault::Conflict { .. }) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    fn stage(&self, _owner: &str, name: &str, bytes: Vec<u8>) -> Result<Box<dyn Staged>, ArchiveFault> {
        Ok(Box::new(UnplacedObject { store: self.clone(), name: name.to_owned(), bytes: Bytes::from(bytes) }))
    }

    fn removes(&self) -> bool {
        false // stores remove the object, whatever version it is
    }

    fn remove(&self, name: &str) -> Result<(), ArchiveFault> {
        Err(ArchiveFault::access(&self.url(name), &"objects are replaced, never removed"))
    }

    fn set_aside(&self, name: &str, found: &Found) -> Result<(String, Version), ArchiveFault> {
        // Named by its content, so quarantining it twice is harmless. The original stays until it is replaced, because
        // a conditional write removes exactly the version that was seen.
        let aside = aside(name, &sha256(&found.bytes)[..16]);
        match self.put(&aside, &found.bytes, &Version::Absent) {
            Ok(_) | Err(ArchiveFault::Conflict { .. }) => Ok((aside, found.version.clone())),
            Err(fault) => Err(fault),
        }
    }

    fn try_lock(&self, name: &str) -> Result<Option<Box<dyn Lock>>, ArchiveFault> {
        self.must_heed_conditions()?;
        Ok(self.take(name)?.map(|lease| Box::new(lease) as Box<dyn Lock>))
    }

    fn sweep(&self, _owner: &str) -> Result<(), ArchiveFault> {
        Ok(()) // there are no unfinished objects
    }

    fn wait_for_turn(&self, contest: &mut ConflictRetry) -> bool {
        contest.wait(&*self.inner.clock, &self.inner.pause)
    }

    fn patience(&self) -> Duration {
        LOOK
    }
}

impl Staged for UnplacedObject {
    fn place(self: Box<Self>, seen: &Version) -> Result<Version, ArchiveFault> {
        self.store.put(&self.name, &self.bytes, seen)
    }
}

/// Ranges of an object, neighbours by one request; `None` if the object has another length.
async fn get_ranges(store: Arc<dyn ObjectStore>, path: Path, file: FileRanges) -> Result<Option<Vec<Bytes>>, Error> {
    let (path, length) = (&path, file.length);
    // The error without a reason: another length.
    let get = |range: Range<u64>| {
        let store = Arc::clone(&store);
        async move {
            let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
            let found = match store.get_opts(path, options).await {
                Ok(found) if found.meta.size == length => found,
                Ok(_) => return Err(None),
                // A range beyond the end is an error too.
                Err(error) => {
                    let is_same = store.head(path).await.map_err(Some)?.size == length;
                    return Err(is_same.then_some(error));
                }
            };
            found.bytes().await.map_err(Some)
        }
    };
    match coalesce_ranges(&file.ranges, get, NEAR).await {
        Ok(found) => Ok(Some(found)),
        Err(None) => Ok(None),
        Err(Some(error)) => Err(error),
    }
}

async fn get(store: Arc<dyn ObjectStore>, path: Path) -> Result<Found, Error> {
    let found = store.get(&path).await?;
    let version = version(&found.meta);
    Ok(Found { bytes: found.bytes().await?, version })
}

fn version(meta: &ObjectMeta) -> Version {
    Version::Tagged(UpdateVersion { e_tag: meta.e_tag.clone(), version: meta.version.clone() })
}
