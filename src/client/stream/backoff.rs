//! Pauses between attempts to connect again (supplement 7: 2 s doubling to 60 s).

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::archive::chance;

/// Waits; tests pass a function that only records the duration.
pub type Pause = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// Pauses before each attempt. Half of a pause is fixed, half is random, so that clients that were disconnected at the
/// same moment do not all reconnect at once.
#[derive(Clone)]
pub struct Backoff {
    /// First pause, without jitter.
    pub first: Duration,
    /// Longest pause, without jitter.
    pub longest: Duration,
    /// Returns a number from 0 to 1: the part of the random half to wait.
    pub chance: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// Waits.
    pub pause: Pause,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(2),
            longest: Duration::from_secs(60),
            chance: Arc::new(chance),
            pause: Arc::new(|pause| Box::pin(tokio::time::sleep(pause))),
        }
    }
}

impl Backoff {
    /// The pause before the attempt after so many failures.
    pub fn before(&self, failed: u32) -> Duration {
        let doubled = self.first.saturating_mul(2u32.saturating_pow(failed));
        let whole = doubled.min(self.longest);
        whole.mul_f64(0.5 + 0.5 * (self.chance)().clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_from_two_seconds_to_sixty() {
        let seconds = |chance: f64| {
            let backoff = Backoff { chance: Arc::new(move || chance), ..Backoff::default() };
            [0, 1, 2, 3, 4, 5, 6, 40].map(|failed| backoff.before(failed).as_secs_f64())
        };
        assert_eq!(seconds(1.0), [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]);
        assert_eq!(seconds(0.0), [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]);
        assert_eq!(seconds(7.0), seconds(1.0));
    }
}
