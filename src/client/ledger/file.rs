//! An account in a file, for all processes of one user on one machine. The operating system's file lock guards it, which
//! goes with its holder, however that ends.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::lock::lock;
use crate::archive::{is_foreign, is_same_file, open_own_to_write};
use crate::budget::Account;
use crate::clock::{SECOND, SECONDS_PER_DAY, UnixNanos, UnixSecond};

/// Folder to keep the files in, instead of the user's cache folder.
const FOLDER_VARIABLE: &str = "MARKETPOINTS_CACHE_DIR";
/// Folder of the files in the cache folder.
const BUDGETS: &str = "budget";
/// Most bytes that are read of a file that claims to be an account.
const LARGEST: u64 = 4 << 20;
/// Bytes that most accounts fit into, so that one read takes them.
const USUAL: usize = 4 << 10;
/// Files that nobody used for so long are removed: their buckets are full and their day is over.
const KEPT: Duration = Duration::from_secs(2 * SECONDS_PER_DAY.unsigned_abs());
/// Letters of the hash in a file's name.
const HASH: usize = 32;
/// Version of the format; it stands in the name, so that two versions of the package never read each other's files.
const VERSION: u32 = 2;
/// How far two clocks of one boot may be apart.
const MINUTE: u64 = SECOND.unsigned_abs() * 60;

/// An account's file.
pub(super) struct FileLedger {
    /// `None` is the user's cache folder.
    folder: Option<PathBuf>,
    name: String,
    open: Mutex<Option<OpenedLedger>>,
}

struct OpenedLedger {
    file: File,
    path: PathBuf,
}

/// What the file holds.
#[derive(Serialize, Deserialize)]
struct LedgerRecord {
    /// The boot of the machine in which the file was written: only within it two processes share a clock.
    boot: String,
    /// When the machine's clock stood at 0. Set once: a jump of the wall clock changes nothing.
    epoch: UnixNanos,
    account: Account,
}

/// The lock of a file, until it is dropped.
struct Locked<'a>(&'a File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // A lock that cannot be given up goes when the file is closed.
        let _ = self.0.unlock();
    }
}

impl FileLedger {
    pub(super) fn new(folder: Option<PathBuf>, name: &str) -> Self {
        Self { folder, name: format!("v{VERSION}-{name}.json"), open: Mutex::new(None) }
    }

    /// What is in the account's place and is not ours, and what mends it. The folder may be a link or lie behind one, as its
    /// owner likes; the file may not: what is written would go elsewhere.
    pub(super) fn obstacle(&self) -> Option<String> {
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None => named_cache()?.join(BUDGETS),
        };
        let path = folder.join(&self.name);
        is_foreign(&path).map(|problem| format!("{} is {problem}, or name another folder", path.display()))
    }

    /// Changes the account, unless another process holds the lock at this moment: then `None`. Gives what `change` gave, the
    /// account after it, and the time by the file's clock.
    pub(super) fn try_update<T>(
        &self,
        own_view: impl Fn(UnixNanos) -> Account,
        debt: impl Fn(UnixNanos) -> Option<Account>,
        change: &mut impl FnMut(&mut Account, UnixNanos) -> T,
    ) -> Result<Option<(T, Account, UnixNanos)>, String> {
        let mut open = lock(&self.open);
        // The second time the file that was open had been removed meanwhile.
        for _ in 0..2 {
            let OpenedLedger { file, path } = match &mut *open {
                Some(opened) => opened,
                none => none.insert(self.open().map_err(|problem| format!("its file cannot be opened: {problem}"))?),
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(problem)) => {
                    return Err(format!("its file {} cannot be locked: {problem}", path.display()));
                }
            }
            let locked = Locked(file);
            if is_same_file(file, path) {
                let updated = update(locked.0, own_view, debt, change);
                return updated.map(Some).map_err(|problem| format!("its file {}: {problem}", path.display()));
            }
            drop(locked);
            *open = None;
        }
        Err("its file is removed again and again".to_owned())
    }

    fn open(&self) -> io::Result<OpenedLedger> {
        let folder = match &self.folder {
            None => cache_folder()?,
            Some(folder) => {
                fs::create_dir_all(folder)?;
                folder.clone()
            }
        };
        let path = folder.join(&self.name);
        let file = open_own_to_write(&path, true).map_err(|problem| match problem.kind() {
            io::ErrorKind::InvalidInput => io::Error::new(problem.kind(), format!("{} is {problem}", path.display())),
            _ => problem,
        })?;
        remove_unused(&folder, &path);
        Ok(OpenedLedger { file, path })
    }
}

fn update<T>(
    mut file: &File,
    own_view: impl Fn(UnixNanos) -> Account,
    debt: impl Fn(UnixNanos) -> Option<Account>,
    change: &mut impl FnMut(&mut Account, UnixNanos) -> T,
) -> io::Result<(T, Account, UnixNanos)> {
    let mut text = Vec::with_capacity(USUAL);
    file.seek(SeekFrom::Start(0))?;
    file.take(LARGEST).read_to_end(&mut text)?;
    let (boot, since_boot, wall) = (boot(), since_boot(), wall());
    let kept = serde_json::from_slice::<LedgerRecord>(&text).ok();
    let known = kept.as_ref().filter(|kept| is_of_this_boot(kept, boot, since_boot, wall));
    let epoch = known.map_or_else(|| wall.plus(-since_boot), |kept| kept.epoch);
    let now = epoch.plus(since_boot);
    // What makes no sense is as good as nothing: then the account starts from what this process knows.
    let mut account = kept.and_then(|kept| kept.account.checked(now)).unwrap_or_else(|| own_view(now));
    if let Some(debt) = debt(now) {
        account.tighten(&debt);
    }
    let value = change(&mut account, now);
    account.shorten();
    let (before, boot) = (text.len(), boot.to_owned());
    let mut text = serde_json::to_vec(&LedgerRecord { boot, epoch, account: account.clone() })?;
    if (text.len()..=USUAL).contains(&before) {
        text.resize(before, b' '); // cheaper than a shorter file
    }
    // In place, because the lock is this file's. A write that is cut by a crash leaves no JSON, or the old one.
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&text)?;
    if text.len() < before {
        file.set_len(text.len() as u64)?;
    }
    Ok((value, account, now))
}

/// Whether a file's clock goes on. Where the system does not name its boots, only while it agrees with the wall clock: after
/// another boot it would stand still until the machine had run as long as before.
fn is_of_this_boot(kept: &LedgerRecord, boot: &str, since_boot: i64, wall: UnixNanos) -> bool {
    kept.boot == boot
        && (0..=wall.0.saturating_mul(2)).contains(&kept.epoch.0)
        && (!boot.is_empty() || kept.epoch.plus(since_boot).since(wall).unsigned_abs() <= MINUTE)
}

fn of_environment(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The package's cache folder by the environment.
fn named_cache() -> Option<PathBuf> {
    let home = || of_environment("HOME").or_else(|| of_environment("USERPROFILE")).map(|home| home.join(".cache"));
    let cache = || of_environment("XDG_CACHE_HOME").or_else(home).map(|cache| cache.join("marketpoints"));
    of_environment(FOLDER_VARIABLE).or_else(cache)
}

/// The user's folder for the files, made when it is missing, for its user only.
fn cache_folder() -> io::Result<PathBuf> {
    if let Some(cache) = named_cache() {
        match private(&cache.join(BUDGETS)) {
            Ok(folder) => return Ok(folder),
            // A named folder that cannot be used is told, not replaced.
            Err(problem) if of_environment(FOLDER_VARIABLE).is_some() => return Err(problem),
            Err(_) => {}
        }
    }
    let own = std::env::temp_dir().join(format!("marketpoints-{}", user()));
    // Everybody may put links there.
    if fs::symlink_metadata(&own).is_ok_and(|about| !about.is_dir()) {
        let problem = format!("{} is no folder; remove it", own.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    private(&own.join(BUDGETS))
}

/// Makes a folder that only this user reads, and refuses one that is somebody else's.
fn private(folder: &Path) -> io::Result<PathBuf> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    #[cfg(unix)]
    {
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(folder)?);
        if owner != rustix::process::geteuid().as_raw() {
            let problem = format!("{} belongs to another user", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
    }
    Ok(folder.to_owned())
}

#[cfg(unix)]
fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn user() -> &'static str {
    "user"
}

/// Removes the files of accounts that nobody used for days. Whoever has one open sees that it is gone. The folder may be
/// anybody's: only a file with the name and the content of an account is ours.
fn remove_unused(folder: &Path, own: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| is_account_name(&entry.file_name().to_string_lossy())) {
        let path = entry.path();
        // Of a link this is about the link itself, which is never ours.
        let unused = entry.metadata().is_ok_and(|about| {
            let age = about.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            about.is_file() && about.len() <= LARGEST && age.is_some_and(|age| age > KEPT)
        });
        if unused && path != own && File::open(&path).is_ok_and(|file| file.try_lock().is_ok() && is_account(&file)) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether a file of this version may be named so: `v1-`, a hash, `.json`.
fn is_account_name(name: &str) -> bool {
    let hash = name.strip_prefix(&format!("v{VERSION}-")).and_then(|rest| rest.strip_suffix(".json"));
    hash.is_some_and(|hash| hash.len() == HASH && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether a file holds an account, or nothing: one that was made and never written.
fn is_account(file: &File) -> bool {
    let mut text = Vec::new();
    let read = file.take(LARGEST).read_to_end(&mut text);
    read.is_ok() && (text.is_empty() || serde_json::from_slice::<LedgerRecord>(&text).is_ok())
}

fn wall() -> UnixNanos {
    UnixNanos(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64)
}

/// Nanoseconds on the machine's own clock, which all its processes share and nobody sets. On Linux it goes on while the machine
/// sleeps: the service's minutes and days do.
#[cfg(unix)]
fn since_boot() -> i64 {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(CLOCK);
    UnixSecond(time.tv_sec).nanos().plus(time.tv_nsec).0
}

#[cfg(not(unix))]
fn since_boot() -> i64 {
    wall().0
}

/// Which boot of the machine this is; empty where the system does not tell.
fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    let read = || fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned());
    BOOT.get_or_init(|| read().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file whose clock stood at 0 at this time.
    fn kept(boot: &str, epoch: UnixNanos) -> LedgerRecord {
        LedgerRecord { boot: boot.to_owned(), epoch, account: Account::default() }
    }

    #[test]
    fn a_clock_goes_on_within_a_boot_alone() {
        const HOUR: i64 = 3_600 * SECOND;
        let wall = UnixNanos(1_776_880_800 * SECOND);
        let same = kept("boot-1", wall.plus(-5 * HOUR));
        assert!(is_of_this_boot(&same, "boot-1", 5 * HOUR, wall));
        assert!(is_of_this_boot(&same, "boot-1", 5 * HOUR, wall.plus(30 * HOUR)), "the wall clock was set");
        assert!(!is_of_this_boot(&same, "boot-2", 5 * HOUR, wall));
        // Boots without a name: the machine started anew a minute ago, and had run for 5 hours when the file was written.
        let nameless = kept("", wall.plus(-5 * HOUR));
        assert!(is_of_this_boot(&nameless, "", 5 * HOUR + HOUR, wall.plus(HOUR)));
        assert!(!is_of_this_boot(&nameless, "", HOUR / 60, wall.plus(HOUR)));
    }
}
