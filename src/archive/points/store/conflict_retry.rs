//! Retries of conflicting writers: after a conflict, a writer waits for a random time, which grows with the number of
//! conflicts. Without it writers could keep undoing each other's work in step.

use std::sync::Arc;
use std::time::Duration;

use crate::archive::chance;
use crate::clock::{Clock, SECOND, UnixNanos};

/// Longest first wait, and longest of all.
const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);
/// After so many conflicts and so much time, a writer gives up: on a slow store a few attempts take long, on a fast one
/// many are soon over.
const OFTEN: u32 = 20;
const LONG: i64 = 60 * SECOND;

/// Waits; tests pass a function that moves their clock.
pub(in crate::archive::points) type RetryPause = Arc<dyn Fn(Duration) + Send + Sync>;

/// A change that is retried when another writer was faster.
#[derive(Debug, Default)]
pub(in crate::archive::points) struct ConflictRetry {
    late: u32,
    since: Option<UnixNanos>,
}

impl ConflictRetry {
    /// Called after a conflict: waits; `false` when it is time to give up.
    pub(super) fn wait(&mut self, clock: &dyn Clock, pause: &RetryPause) -> bool {
        let now = clock.now();
        let since = *self.since.get_or_insert(now);
        if self.late >= OFTEN && now.since(since) >= LONG {
            return false;
        }
        let longest = FIRST.saturating_mul(2u32.saturating_pow(self.late)).min(LONGEST);
        self.late += 1;
        pause(longest.mul_f64(chance()));
        true
    }
}
