//! An account in a file, for all processes of one user on one machine. It is guarded by a file lock of the operating
//! system, which is released when its holder ends in any way.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::lock::lock;
use crate::archive::{FileIdentity, is_foreign, open_own_to_write, xxh3};
use crate::budget::Account;
use crate::clock::{SECOND, SECONDS_PER_DAY, UnixNanos, UnixSecond};

/// Environment variable: folder for the files, instead of the user's cache folder.
const FOLDER_VARIABLE: &str = "MARKETPOINTS_CACHE_DIR";
/// Folder of the files in the cache folder.
const BUDGETS: &str = "budget";
/// Most bytes that are read of an account's file.
const LARGEST: u64 = 4 << 20;
/// Bytes that most accounts fit into, so that one read takes them.
const USUAL: usize = 4 << 10;
/// Files unused for so long are removed: their buckets are full and their day is over.
const KEPT: Duration = Duration::from_secs(2 * SECONDS_PER_DAY.unsigned_abs());
/// Characters of the hash in a file's name.
const HASH: usize = 32;
/// Version of the format. It is part of the name, so that two versions of the package never read each other's files.
const VERSION: u32 = 3;
/// Largest difference between two clocks of the same boot.
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
    identity: FileIdentity,
    path: PathBuf,
    last: Option<LastWritten>,
}

/// What this process wrote last. Most often nobody else did since then, and what the file holds need not be parsed.
struct LastWritten {
    text: Vec<u8>,
    record: LedgerRecord,
}

/// The file's content: a line of JSON, behind which stands a line with its XXH3 checksum. JSON alone would not tell a flipped bit
/// of a number, which may say that there is more than there is.
#[derive(Serialize, Deserialize)]
struct LedgerRecord {
    /// The boot of the machine in which the file was written: only processes of one boot share a clock.
    boot: String,
    /// The wall-clock time at which the machine's clock was 0. Set once, so a jump of the wall clock has no effect.
    epoch: UnixNanos,
    account: Account,
}

impl LedgerRecord {
    /// What a file holds; `None` if it is damaged or another program's.
    fn parse(text: &[u8]) -> Option<Self> {
        let (json, rest) = text.split_at_checked(text.iter().position(|byte| *byte == b'\n')?)?;
        let known = rest.strip_prefix(b"\n")?.trim_ascii_end();
        if known != xxh3(json).as_bytes() {
            return None;
        }
        serde_json::from_slice(json).ok()
    }

    fn text(&self) -> io::Result<Vec<u8>> {
        let mut text = Vec::with_capacity(USUAL);
        serde_json::to_writer(&mut text, self)?;
        let checksum = xxh3(&text);
        text.push(b'\n');
        text.extend_from_slice(checksum.as_bytes());
        Ok(text)
    }
}

/// Holds the lock of a file until dropped.
struct Locked<'a>(&'a File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // A lock that cannot be released is released when the file is closed.
        let _ = self.0.unlock();
    }
}

impl FileLedger {
    pub(super) fn new(folder: Option<PathBuf>, name: &str) -> Self {
        Self { folder, name: format!("v{VERSION}-{name}.json"), open: Mutex::new(None) }
    }

    /// Why something at the account's path is not usable, and the remedy. The folder may be a link or behind one; the
    /// file may not, because a write would then go elsewhere.
    pub(super) fn obstacle(&self) -> Option<String> {
        let folder = match &self.folder {
            Some(folder) => folder.clone(),
            None => named_cache()?.join(BUDGETS),
        };
        let path = folder.join(&self.name);
        is_foreign(&path).map(|problem| format!("{} is {problem}, or name another folder", path.display()))
    }

    /// Changes the account, or returns `None` if another process holds the lock. Returns the result of `change`, the
    /// account after it, and the time by the file's clock.
    pub(super) fn try_update<T>(
        &self,
        own_view: impl Fn(UnixNanos) -> Account,
        debt: impl Fn(UnixNanos) -> Option<Account>,
        change: &mut impl FnMut(&mut Account, UnixNanos) -> T,
    ) -> Result<Option<(T, Account, UnixNanos)>, String> {
        let mut open = lock(&self.open);
        // Tried twice: the open file may have been removed meanwhile.
        for _ in 0..2 {
            let OpenedLedger { file, identity, path, last } = match &mut *open {
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
            if identity.is_at(path) {
                let updated = update(locked.0, last, own_view, debt, change);
                return updated.map(Some).map_err(|problem| format!("its file {}: {problem}", path.display()));
            }
            drop(locked);
            *open = None;
        }
        Err("its file is removed again and again".to_owned())
    }

    /// Closes the file until it is used again.
    pub(super) fn close(&self) {
        *lock(&self.open) = None;
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
        Ok(OpenedLedger { identity: FileIdentity::of(&file)?, file, path, last: None })
    }
}

fn update<T>(
    file: &File,
    last: &mut Option<LastWritten>,
    own_view: impl Fn(UnixNanos) -> Account,
    debt: impl Fn(UnixNanos) -> Option<Account>,
    change: &mut impl FnMut(&mut Account, UnixNanos) -> T,
) -> io::Result<(T, Account, UnixNanos)> {
    let text = read(file)?;
    let (boot, since_boot, wall) = (boot(), since_boot(), wall());
    let kept = match last.take() {
        Some(last) if last.text == text => Some(last.record),
        _ => LedgerRecord::parse(&text),
    };
    let known = kept.as_ref().filter(|kept| is_of_this_boot(kept, boot, since_boot, wall));
    let epoch = known.map_or_else(|| wall.plus(-since_boot), |kept| kept.epoch);
    let now = epoch.plus(since_boot);
    // Invalid content counts as none: the account starts from what this process knows.
    let mut account = kept.and_then(|kept| kept.account.checked(now)).unwrap_or_else(|| own_view(now));
    if let Some(debt) = debt(now) {
        account.tighten(&debt);
    }
    let value = change(&mut account, now);
    account.shorten();
    let (before, boot) = (text.len(), boot.to_owned());
    let record = LedgerRecord { boot, epoch, account: account.clone() };
    let mut text = record.text()?;
    if (text.len()..=USUAL).contains(&before) {
        text.resize(before, b' '); // cheaper than a shorter file
    }
    // Written in place, because the lock belongs to this file. A write cut short by a crash leaves damaged or
    // the old content.
    write(file, &text)?;
    if text.len() < before {
        file.set_len(text.len() as u64)?;
    }
    *last = Some(LastWritten { text, record });
    Ok((value, account, now))
}

/// All of a file, in one call of the system for most: a file's read is short at its end only.
fn read(file: &File) -> io::Result<Vec<u8>> {
    let mut text = vec![0; USUAL];
    let length = read_at_start(file, &mut text)?;
    text.truncate(length);
    if length == USUAL {
        let mut file = file;
        file.seek(SeekFrom::Start(length as u64))?;
        file.take(LARGEST - length as u64).read_to_end(&mut text)?;
    }
    Ok(text)
}

#[cfg(unix)]
fn read_at_start(file: &File, text: &mut [u8]) -> io::Result<usize> {
    loop {
        match std::os::unix::fs::FileExt::read_at(file, text, 0) {
            Err(problem) if problem.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

#[cfg(unix)]
fn write(file: &File, text: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, text, 0)
}

#[cfg(not(unix))]
fn read_at_start(mut file: &File, text: &mut [u8]) -> io::Result<usize> {
    file.seek(SeekFrom::Start(0))?;
    file.read(text)
}

#[cfg(not(unix))]
fn write(mut file: &File, text: &[u8]) -> io::Result<()> {
    use std::io::Write;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text)
}

/// Whether a file's clock is still valid. If the system does not identify its boots, it is valid only while it agrees
/// with the wall clock: after a reboot it would otherwise stand still until the machine had run as long as before.
fn is_of_this_boot(kept: &LedgerRecord, boot: &str, since_boot: i64, wall: UnixNanos) -> bool {
    kept.boot == boot
        && (0..=wall.0.saturating_mul(2)).contains(&kept.epoch.0)
        && (!boot.is_empty() || kept.epoch.plus(since_boot).since(wall).unsigned_abs() <= MINUTE)
}

fn of_environment(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The package's cache folder from the environment variables.
fn named_cache() -> Option<PathBuf> {
    let home = || of_environment("HOME").or_else(|| of_environment("USERPROFILE")).map(|home| home.join(".cache"));
    // A relative one is to be ignored, says its specification: it would be another folder for each working directory.
    let shared = || of_environment("XDG_CACHE_HOME").filter(|cache| cache.is_absolute());
    let cache = || shared().or_else(home).map(|cache| cache.join("marketpoints"));
    of_environment(FOLDER_VARIABLE).or_else(cache)
}

/// The folder for the files, created if missing with access for this user only.
fn cache_folder() -> io::Result<PathBuf> {
    if let Some(cache) = named_cache() {
        match private(&cache.join(BUDGETS)) {
            Ok(folder) => return Ok(folder),
            // A folder named by the user that cannot be used is an error; there is no fallback.
            Err(problem) if of_environment(FOLDER_VARIABLE).is_some() => return Err(problem),
            Err(_) => {}
        }
    }
    let own = std::env::temp_dir().join(format!("marketpoints-{}", user()));
    // Other users may put links there.
    if fs::symlink_metadata(&own).is_ok_and(|about| !about.is_dir()) {
        let problem = format!("{} is no folder; remove it", own.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
    }
    private(&own.join(BUDGETS))
}

/// Makes a folder that only this user can read, and refuses one of another user.
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

/// Removes the files of accounts unused for days. A process that has one open notices that it was removed. The folder
/// may hold other files: only files with an account's name and content are removed.
fn remove_unused(folder: &Path, own: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| is_account_name(&entry.file_name().to_string_lossy())) {
        let path = entry.path();
        // For a link this is the link's own metadata, and a link is never ours.
        let unused = entry.metadata().is_ok_and(|about| {
            let age = about.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            about.is_file() && about.len() <= LARGEST && age.is_some_and(|age| age > KEPT)
        });
        if unused && path != own && File::open(&path).is_ok_and(|file| file.try_lock().is_ok() && is_account(&file)) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Whether this is a file name of this version: `v3-`, a hash, `.json`.
fn is_account_name(name: &str) -> bool {
    let hash = name.strip_prefix(&format!("v{VERSION}-")).and_then(|rest| rest.strip_suffix(".json"));
    hash.is_some_and(|hash| hash.len() == HASH && hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether a file holds an account, or is empty: created and never written.
fn is_account(file: &File) -> bool {
    let mut text = Vec::new();
    let read = file.take(LARGEST).read_to_end(&mut text);
    read.is_ok() && (text.is_empty() || LedgerRecord::parse(&text).is_some())
}

fn wall() -> UnixNanos {
    UnixNanos(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64)
}

/// Nanoseconds on the machine's own clock, which all its processes share and which is never set. On Linux it continues
/// during sleep, as the service's minutes and days do.
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

/// The id of the machine's current boot; empty where the system has none.
fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    let read = || fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned());
    BOOT.get_or_init(|| read().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file whose clock was 0 at this time.
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
        // No boot ids: the machine rebooted a minute ago, and had run for 5 hours when the file was written.
        let nameless = kept("", wall.plus(-5 * HOUR));
        assert!(is_of_this_boot(&nameless, "", 5 * HOUR + HOUR, wall.plus(HOUR)));
        assert!(!is_of_this_boot(&nameless, "", HOUR / 60, wall.plus(HOUR)));
    }
}
