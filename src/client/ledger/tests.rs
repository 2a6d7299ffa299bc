use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::budget::{Limits, Refusal, RequestOutcome};
use crate::client::log::{Listener, listening};
use crate::clock::{ManualClock, RunningClock, SECOND, UnixSecond};
use crate::protocol::Weight;

/// One in ten seconds, so that a slow machine sees the same numbers, and 120 at once.
const LIMITS: Limits = Limits { per_minute: 6, burst: Weight(120), per_day: None };
const NAME: &str = "0123456789abcdef0123456789abcdef";

/// A ledger as another process would make it.
fn ledger(scope: &BudgetScope) -> Arc<BudgetLedger> {
    Arc::new(BudgetLedger::new(scope, NAME, Arc::new(RunningClock::wall())).unwrap())
}

fn folder(path: &Path) -> BudgetScope {
    BudgetScope::Folder(path.to_owned())
}

async fn take(ledger: &BudgetLedger, id: u64, weight: u64) -> Result<(), Refusal> {
    ledger
        .update(|account, now| {
            account.assume(LIMITS, now);
            account.take(id, Weight(weight), now)
        })
        .await
}

async fn left(ledger: &BudgetLedger) -> u64 {
    ledger.update(|account, now| account.bucket(now).map_or(0, |bucket| bucket.remaining(now).0)).await
}

fn file_in(folder: &Path) -> std::path::PathBuf {
    folder.join(format!("v3-{NAME}.json"))
}

#[tokio::test]
async fn two_processes_spend_from_one_file() {
    let place = tempfile::tempdir().unwrap();
    let (one, other) = (ledger(&folder(place.path())), ledger(&folder(place.path())));
    take(&one, 1, 100).await.unwrap();
    assert!((20..=22).contains(&left(&other).await));
    let Err(Refusal::Wait(wait)) = take(&other, 2, 60).await else { panic!("more than there is") };
    assert!((370.0..=400.0).contains(&wait.as_secs_f64()), "{wait:?}");
    // The other stands in line: a smaller one of the first process does not overtake it.
    let Err(Refusal::Wait(wait)) = take(&one, 3, 1).await else { panic!("overtaken") };
    assert!((380.0..=410.0).contains(&wait.as_secs_f64()), "{wait:?}");
    other.update(|account, _| account.leave(2)).await;
    take(&one, 3, 1).await.unwrap();
    // A process that comes later knows it all, without a tier.
    let late = ledger(&folder(place.path()));
    assert_eq!(late.update(|account, _| account.limits()).await, Some(LIMITS));
    assert!(left(&late).await <= 22);
}

#[tokio::test]
async fn an_account_longer_than_one_read_is_read_whole() {
    let place = tempfile::tempdir().unwrap();
    let (one, other) = (ledger(&folder(place.path())), ledger(&folder(place.path())));
    for id in 1..=100 {
        take(&one, id, 1).await.unwrap();
    }
    let length = || fs::metadata(file_in(place.path())).unwrap().len();
    assert!(length() > 8_192, "{} bytes", length());
    assert!((20..=22).contains(&left(&other).await));
    for id in 1..=100 {
        other.update(|account, now| account.settle(id, Weight(1), RequestOutcome::NotSent, now)).await;
    }
    assert!(length() < 4_096, "{} bytes", length());
    assert_eq!(left(&one).await, 120);
}

// faults.md row 47
#[tokio::test]
async fn damaged_foreign_and_missing_files_are_rebuilt_from_what_is_known_and_never_with_more() {
    let place = tempfile::tempdir().unwrap();
    let own = ledger(&folder(place.path()));
    take(&own, 1, 100).await.unwrap();
    let whole = fs::read_to_string(file_in(place.path())).unwrap();
    let level = whole.find("\"level\":").unwrap() + 8;
    let digits = whole[level..].find(',').unwrap();
    let with_level = |text: &str| format!("{}{text}{}", &whole[..level], &whole[level + digits..]);
    for damaged in [
        String::new(),
        whole[..whole.len() / 2].to_owned(),
        "{\"format\":\"of another program\"}".to_owned(),
        "\u{0}\u{1}\u{2}".to_owned(),
        format!("{whole}{whole}"),
        with_level("-5"),
        with_level("99999999999999999999999999999"),
        with_level("\"full\""),
    ] {
        fs::write(file_in(place.path()), &damaged).unwrap();
        assert!((20..=30).contains(&left(&own).await), "{damaged}");
        assert!((20..=30).contains(&left(&ledger(&folder(place.path()))).await), "whole again");
    }
    // A flipped bit anywhere, in what may be read as another account.
    let whole = fs::read(file_in(place.path())).unwrap();
    for byte in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[byte] ^= 1 << (byte % 8);
        fs::write(file_in(place.path()), &damaged).unwrap();
        assert!((20..=30).contains(&left(&own).await), "byte {byte}");
    }
    fs::remove_file(file_in(place.path())).unwrap();
    assert!((20..=30).contains(&left(&own).await));
    assert!((20..=30).contains(&left(&ledger(&folder(place.path()))).await));
}

// faults.md row 47
#[cfg(unix)]
#[tokio::test]
async fn a_link_in_the_files_place_is_refused_and_what_it_points_to_stays() {
    let (place, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let foreign = outside.path().join("notes.txt");
    fs::write(&foreign, "notes of mine").unwrap();
    let scope = folder(place.path());
    let make = |scope: &BudgetScope| BudgetLedger::new(scope, NAME, Arc::new(RunningClock::wall()));
    // Before the client is made: it says what to do.
    std::os::unix::fs::symlink(&foreign, file_in(place.path())).unwrap();
    let error = make(&scope).err().unwrap();
    assert_eq!(error.kind, crate::client::ErrorKind::InvalidRequest);
    assert!(error.message.contains("is a link") && error.message.contains("in its place"), "{error}");
    fs::remove_file(file_in(place.path())).unwrap();
    // Afterwards, before and after the file was opened: the process goes on by itself, and says so.
    for (link, opened) in [(true, false), (true, true), (false, false), (false, true)] {
        let own = make(&scope).unwrap();
        if opened {
            take(&own, 1, 100).await.unwrap();
            fs::remove_file(file_in(place.path())).unwrap();
        }
        if link {
            std::os::unix::fs::symlink(&foreign, file_in(place.path())).unwrap();
        } else {
            fs::hard_link(&foreign, file_in(place.path())).unwrap();
        }
        take(&own, 2, 10).await.unwrap();
        let notice = lock(&own.own).notice.clone().unwrap();
        assert!(notice.contains(if link { "is a link" } else { "hard link" }), "{notice}");
        assert_eq!(fs::read_to_string(&foreign).unwrap(), "notes of mine");
        fs::remove_file(file_in(place.path())).unwrap();
    }
    // A folder may be a link, as its owner likes.
    std::os::unix::fs::symlink(outside.path(), place.path().join("linked")).unwrap();
    take(&ledger(&folder(&place.path().join("linked"))), 1, 1).await.unwrap();
    assert!(file_in(outside.path()).is_file());
}

#[tokio::test]
async fn d3_09_no_jump_of_the_wall_clock_changes_the_level() {
    let place = tempfile::tempdir().unwrap();
    let hours = 5 * 3_600 * SECOND;
    for jump in [hours, -hours] {
        let clock = Arc::new(ManualClock::at(UnixSecond(1_790_000_000).nanos()));
        let own = BudgetLedger::new(&folder(place.path()), NAME, clock.clone()).unwrap();
        own.update(|account, now| account.assume(LIMITS, now)).await;
        let all = left(&own).await;
        take(&own, 1, all).await.unwrap();
        clock.advance(jump);
        assert!(left(&own).await <= 1);
        // Even where the file was written by a clock of another boot that was ahead.
        let text = fs::read_to_string(file_in(place.path())).unwrap();
        fs::write(file_in(place.path()), text.replacen("\"boot\":\"", "\"boot\":\"another-", 1)).unwrap();
        assert!(left(&own).await <= 1);
    }
}

// faults.md row 46
#[tokio::test]
async fn a_holder_of_the_lock_that_is_gone_blocks_nobody() {
    let place = tempfile::tempdir().unwrap();
    let own = ledger(&folder(place.path()));
    take(&own, 1, 20).await.unwrap();
    let file = fs::File::open(file_in(place.path())).unwrap();
    file.lock().unwrap();
    let waiting = tokio::spawn({
        let own = Arc::clone(&own);
        async move { take(&own, 2, 50).await }
    });
    for _ in 0..3 {
        tokio::task::yield_now().await; // it tries, and finds the lock taken
    }
    assert!(!waiting.is_finished());
    drop(file); // as the system does when a process is killed
    waiting.await.unwrap().unwrap();
    assert!((50..=52).contains(&left(&ledger(&folder(place.path()))).await));
}

#[tokio::test]
async fn a_place_that_cannot_be_used_stops_nobody_and_is_reported_once() {
    let place = tempfile::tempdir().unwrap();
    let blocked = place.path().join("a file and no folder");
    fs::write(&blocked, "").unwrap();
    let own = ledger(&folder(&blocked));
    let records = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&records);
    let listener = Listener {
        least: LogLevel::Warning,
        on_record: Arc::new(move |record| heard.lock().unwrap().push(record.to_string())),
    };
    let spend = async {
        take(&own, 1, 100).await.unwrap();
        assert!(take(&own, 2, 100).await.is_err());
        left(&own).await
    };
    assert!((20..=22).contains(&listening(Some(listener), spend).await));
    let records = records.lock().unwrap();
    assert_eq!(records.len(), 1, "{records:?}");
    assert!(
        records[0].contains("not shared for now") && records[0].contains("goes on with its own view"),
        "{records:?}"
    );
}

#[tokio::test]
async fn files_that_nobody_used_for_days_are_removed_and_no_others() {
    let place = tempfile::tempdir().unwrap();
    // An account as a process writes it.
    let elsewhere = tempfile::tempdir().unwrap();
    take(&ledger(&folder(elsewhere.path())), 1, 1).await.unwrap();
    let account = fs::read(file_in(elsewhere.path())).unwrap();
    let hash = |letter: &str| format!("v3-{}.json", letter.repeat(32));
    let old = std::time::SystemTime::now() - Duration::from_secs(3 * 86_400);
    let files: [(String, &[u8], bool, bool); 9] = [
        (hash("a"), &account, true, true),
        (hash("b"), b"", true, true),
        (hash("c"), &account, false, false),
        (hash("d"), b"{\"my\":\"notes\"}", true, false),
        (hash("e"), b"not JSON", true, false),
        ("v3-old.json".to_owned(), &account, true, false),
        ("results.json".to_owned(), &account, true, false),
        (hash("f").replace("v3", "v1"), &account, true, false),
        ("notes.txt".to_owned(), b"", true, false),
    ];
    for (name, content, aged, _) in &files {
        fs::write(place.path().join(name), content).unwrap();
        if *aged {
            fs::File::options().append(true).open(place.path().join(name)).unwrap().set_modified(old).unwrap();
        }
    }
    let own = ledger(&folder(place.path()));
    take(&own, 1, 1).await.unwrap();
    for (name, _, _, goes) in &files {
        assert_eq!(!place.path().join(name).exists(), *goes, "{name}");
    }
    // One that somebody removes while it is open is not written to any more: the next finds the new one.
    fs::remove_file(file_in(place.path())).unwrap();
    take(&own, 2, 1).await.unwrap();
    assert!(file_in(place.path()).exists());
}

// faults.md row 46
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_never_spend_more_than_there_is() {
    let place = tempfile::tempdir().unwrap();
    let taken = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for process in 0..6u64 {
        let (scope, taken) = (folder(place.path()), Arc::clone(&taken));
        tasks.push(tokio::spawn(async move {
            let own = ledger(&scope);
            for id in 0..40 {
                if take(&own, process * 1_000 + id, 1).await.is_ok() {
                    taken.fetch_add(1, Ordering::SeqCst);
                } else {
                    own.update(|account, _| account.leave(process * 1_000 + id)).await;
                }
            }
        }));
    }
    let begun = Instant::now();
    for task in tasks {
        task.await.unwrap();
    }
    let (taken, refilled) = (taken.load(Ordering::SeqCst), begun.elapsed().as_secs() as usize + 1);
    assert!((120..=120 + refilled).contains(&taken), "{taken}");
}

/// A Redis of the test's own.
struct RedisServer {
    process: Child,
    address: String,
    _place: tempfile::TempDir,
}

impl RedisServer {
    /// Starts one on a socket in a folder of its own; `None` where there is none, which is only allowed outside CI.
    fn start() -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let socket = place.path().join("redis.sock");
        let started = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--dir"])
            .arg(place.path())
            .arg("--unixsocket")
            .arg(&socket)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = match started {
            Ok(process) => process,
            Err(problem) => {
                let advice = "install Debian's redis-server (apt-get install redis-server)";
                assert!(std::env::var_os("CI").is_none(), "no redis-server ({problem}): {advice}");
                eprintln!("not tested, there is no redis-server ({problem}): {advice}");
                return None;
            }
        };
        let address = format!("unix://{}", socket.display());
        let server = Self { process, address, _place: place };
        let client = redis_client(&server.address);
        let deadline = Instant::now() + Duration::from_secs(30);
        while client.get_connection().is_err() {
            assert!(Instant::now() < deadline, "redis-server does not start");
            std::thread::yield_now();
        }
        Some(server)
    }

    fn scope(&self) -> BudgetScope {
        BudgetScope::parse(&self.address).unwrap()
    }
}

fn redis_client(address: &str) -> ::redis::Client {
    ::redis::Client::open(address).unwrap()
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn machines_share_a_budget_by_redis() {
    let Some(server) = RedisServer::start() else { return };
    let (one, other) = (ledger(&server.scope()), ledger(&server.scope()));
    take(&one, 1, 100).await.unwrap();
    assert!((20..=22).contains(&left(&other).await));
    let Err(Refusal::Wait(wait)) = take(&other, 2, 60).await else { panic!("more than there is") };
    assert!((370.0..=400.0).contains(&wait.as_secs_f64()), "{wait:?}");
    assert!(take(&one, 3, 1).await.is_err()); // does not overtake
    other.update_later(|account, _| account.leave(2)); // a cancelled call
    let patience = Instant::now() + Duration::from_secs(10);
    while take(&one, 3, 1).await.is_err() {
        assert!(Instant::now() < patience);
    }
    one.update(|account, now| account.settle(3, Weight(1), RequestOutcome::NotSent, now)).await;

    // All at once, from many machines.
    let taken = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for machine in 0..4u64 {
        let (scope, taken) = (server.scope(), Arc::clone(&taken));
        tasks.push(tokio::spawn(async move {
            let own = ledger(&scope);
            for id in 0..10 {
                if take(&own, (machine + 1) * 1_000 + id, 1).await.is_ok() {
                    taken.fetch_add(1, Ordering::SeqCst);
                } else {
                    own.update(|account, _| account.leave((machine + 1) * 1_000 + id)).await;
                }
            }
        }));
    }
    let begun = Instant::now();
    for task in tasks {
        task.await.unwrap();
    }
    let (taken, refilled) = (taken.load(Ordering::SeqCst), begun.elapsed().as_secs() as usize + 3);
    assert!((18..=22 + refilled).contains(&taken), "{taken}");

    // Damage is rebuilt from what is known; what is kept goes by itself some day.
    let mut connection = redis_client(&server.address).get_connection().unwrap();
    let key = format!("marketpoints:budget:v1:{NAME}");
    let days: i64 = ::redis::cmd("PTTL").arg(&key).query(&mut connection).unwrap();
    assert!((1..=2 * 86_400_000).contains(&days));
    let before = left(&one).await;
    let () = ::redis::cmd("SET").arg(&key).arg("nonsense").query(&mut connection).unwrap();
    assert!((before..=before + 5).contains(&left(&one).await));
    let () = ::redis::cmd("FLUSHALL").query(&mut connection).unwrap();
    assert!((before..=before + 5).contains(&left(&one).await));
}

#[tokio::test]
async fn a_redis_that_goes_away_stops_nobody() {
    let Some(server) = RedisServer::start() else { return };
    let own = ledger(&server.scope());
    take(&own, 1, 100).await.unwrap();
    drop(server);
    assert!((20..=25).contains(&left(&own).await));
    assert!(take(&own, 2, 100).await.is_err());
    assert!(lock(&own.own).notice.as_ref().unwrap().contains("Redis does not answer"));
}

#[test]
fn an_address_with_a_password_is_not_shown() {
    for wrong in ["redis://user:secret-word@", "secret-word", "postgres://user:secret-word@host"] {
        let problem = match BudgetScope::parse(wrong) {
            Err(problem) => problem,
            Ok(scope) => BudgetLedger::new(&scope, NAME, Arc::new(RunningClock::wall())).err().unwrap(),
        };
        assert!(problem.message.contains("redis://host") && !problem.message.contains("secret-word"), "{problem}");
    }
    let scope = BudgetScope::parse("redis://user:secret-word@host").unwrap();
    assert!(!format!("{scope:?}").contains("secret-word"));
}
