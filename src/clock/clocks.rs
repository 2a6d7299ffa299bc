//! Clocks, passed as arguments wherever time matters, so that a test (or a twin of a past day) sets the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::units::{UnixNanos, UnixSecond};

/// A clock. It never runs backwards, even if the wall clock does.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> UnixNanos;

    /// The current second.
    fn second(&self) -> UnixSecond {
        self.now().second()
    }
}

/// A clock shared between threads.
pub type SharedClock = Arc<dyn Clock>;

/// A clock that is set once and continues with the machine's monotonic clock, at any speed or stopped.
#[derive(Debug)]
pub struct RunningClock {
    set_to: AtomicI64,
    since: Instant,
    speed: f64,
}

impl RunningClock {
    /// A clock that starts at `now`.
    pub fn starting_at(now: UnixNanos) -> Self {
        Self { set_to: AtomicI64::new(now.0), since: Instant::now(), speed: 1.0 }
    }

    /// A clock that starts at the wall clock's time.
    pub fn wall() -> Self {
        Self::starting_at(WallClock::default().now())
    }

    /// Sets the clock's speed, 1 being real time; at 0 it stands still until it is advanced.
    #[must_use]
    pub fn at_speed(mut self, speed: f64) -> Self {
        self.speed = speed.max(0.0);
        self
    }

    /// Advances the clock by `nanoseconds` at once.
    pub fn advance(&self, nanoseconds: i64) {
        self.set_to.fetch_add(nanoseconds.max(0), Ordering::SeqCst);
    }
}

impl Clock for RunningClock {
    fn now(&self) -> UnixNanos {
        let elapsed = self.since.elapsed().as_nanos();
        // Rounding is monotonic, so the clock never runs backwards.
        let passed = if self.speed == 1.0 { elapsed as i64 } else { (elapsed as f64 * self.speed) as i64 };
        UnixNanos(self.set_to.load(Ordering::SeqCst)).plus(passed)
    }
}

/// The machine's wall clock; when it is set back, this clock stands still until it has caught up.
#[derive(Debug, Default)]
pub struct WallClock(AtomicI64);

impl Clock for WallClock {
    fn now(&self) -> UnixNanos {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64;
        UnixNanos(self.0.fetch_max(since_epoch, Ordering::SeqCst).max(since_epoch))
    }
}

/// A clock that only moves when it is advanced: for tests.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `now`.
    pub fn at(now: UnixNanos) -> Self {
        Self(AtomicI64::new(now.0))
    }

    /// Advances the clock by `nanoseconds`.
    pub fn advance(&self, nanoseconds: i64) {
        self.0.fetch_add(nanoseconds, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixNanos {
        UnixNanos(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    #[test]
    fn the_wall_clock_is_this_machines_and_never_runs_back() {
        let machine = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
        let (before, now, after) = (machine(), WallClock::default().now(), machine());
        assert!((before..=after).contains(&now.0));
        let ahead = WallClock(AtomicI64::new(i64::MAX));
        assert_eq!((ahead.now(), ahead.now()), (UnixNanos(i64::MAX), UnixNanos(i64::MAX)));
    }

    #[test]
    fn a_clock_runs_at_its_speed_and_never_backwards() {
        let standing = RunningClock::starting_at(UnixNanos(5 * SECOND)).at_speed(0.0);
        let (fast, plain) =
            (RunningClock::starting_at(UnixNanos(0)).at_speed(1e6), RunningClock::starting_at(UnixNanos(0)));
        let mut last = UnixNanos(0);
        for _ in 0..10_000 {
            let now = fast.now();
            assert!(now >= last);
            last = now;
        }
        // The normal clock was started after the fast one and is read before it: at most a millionth of its time.
        let (passed, fast) = (plain.now().0, fast.now().0);
        assert!(fast > passed * 900_000 && passed > 0, "{fast} {passed}");
        assert_eq!(standing.now(), UnixNanos(5 * SECOND));
        standing.advance(7);
        assert_eq!(standing.now(), UnixNanos(5 * SECOND + 7));
    }
}
