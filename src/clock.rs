//! Clocks, passed in wherever time matters, so that a test (or a twin of a past day) decides what time it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;

/// A Unix second as messages write it: `2026-01-31 12:00:00 UTC`.
pub fn utc(second: i64) -> String {
    jiff::Timestamp::from_second(second)
        .map_or_else(|_| format!("{second} s"), |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// Tells the time in nanoseconds since the Unix epoch. Never runs backwards, whatever the wall clock does.
pub trait Clock: Send + Sync {
    /// Now, in Unix nanoseconds.
    fn now(&self) -> i64;

    /// Now, in whole Unix seconds.
    fn seconds(&self) -> i64 {
        self.now().div_euclid(SECOND)
    }
}

/// A clock shared between threads.
pub type SharedClock = Arc<dyn Clock>;

/// A clock that was set once and runs on by the machine's monotonic clock.
#[derive(Debug)]
pub struct RunningClock {
    set_to: AtomicI64,
    since: Instant,
}

impl RunningClock {
    /// A clock that starts at `now` (Unix nanoseconds) and runs on.
    pub fn starting_at(now: i64) -> Self {
        Self { set_to: AtomicI64::new(now), since: Instant::now() }
    }

    /// A clock that starts at the wall clock's time.
    pub fn wall() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::starting_at(since_epoch.as_nanos() as i64)
    }

    /// Moves the clock forward by `nanoseconds` at once.
    pub fn advance(&self, nanoseconds: i64) {
        self.set_to.fetch_add(nanoseconds.max(0), Ordering::SeqCst);
    }
}

impl Clock for RunningClock {
    fn now(&self) -> i64 {
        self.set_to.load(Ordering::SeqCst).saturating_add(self.since.elapsed().as_nanos() as i64)
    }
}

/// A clock that stands still until it is moved: for tests.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `now` (Unix nanoseconds).
    pub fn at(now: i64) -> Self {
        Self(AtomicI64::new(now))
    }

    /// Moves the clock forward by `nanoseconds`.
    pub fn advance(&self, nanoseconds: i64) {
        self.0.fetch_add(nanoseconds, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}
