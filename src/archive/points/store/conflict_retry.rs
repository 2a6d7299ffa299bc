//! Several who change the same at once: who came too late waits for a while that chance decides, and for longer the more often.
//! Without it they would undo each other's beginnings in step, until one gave up.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, SECOND, UnixNanos};

/// Longest first wait, and longest of all.
const FIRST: Duration = Duration::from_millis(10);
const LONGEST: Duration = Duration::from_secs(1);
/// Who came too late so often, and for so long, gives up: on a slow store a few tries take long, on a fast one many are soon
/// over.
const OFTEN: u32 = 20;
const LONG: i64 = 60 * SECOND;

/// Waits; a test passes one that moves its clock.
pub(in crate::archive::points) type RetryPause = Arc<dyn Fn(Duration) + Send + Sync>;

/// A change that is begun anew when another writer came before.
#[derive(Debug, Default)]
pub(in crate::archive::points) struct ConflictRetry {
    late: u32,
    since: Option<UnixNanos>,
}

impl ConflictRetry {
    /// Another one came before: waits; `false` when it is time to give up.
    pub(super) fn wait(&mut self, clock: &dyn Clock, pause: &RetryPause) -> bool {
        let now = clock.now();
        let since = *self.since.get_or_insert(now);
        if self.late >= OFTEN && now.since(since) >= LONG {
            return false;
        }
        let longest = FIRST.saturating_mul(2u32.saturating_pow(self.late)).min(LONGEST);
        self.late += 1;
        // From the system: a generator of the process would tell its forked children the same.
        let chance = getrandom::u64().unwrap_or(u64::MAX) as f64 / u64::MAX as f64;
        pause(longest.mul_f64(chance));
        true
    }
}
