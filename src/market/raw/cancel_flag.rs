//! Cancellation of a query: long visits of a source are cut into days, and the flag is checked before each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::feeds::SourceError;
use crate::clock::{SECONDS_PER_DAY, Window};

/// Seconds of a piece: a day, as stores keep their files.
const PIECE: i64 = SECONDS_PER_DAY;

/// Cancellation flag of a running query; clones share it.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Cancels the query.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the query is cancelled.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Fails once the query is cancelled.
    pub(in crate::market) fn check(&self) -> Result<(), SourceError> {
        if self.is_set() { Err(SourceError("nobody waits for the answer any more".to_owned())) } else { Ok(()) }
    }
}

/// A window in pieces of at most a day, in order.
pub(in crate::market) fn pieces(window: Window) -> impl Iterator<Item = Window> {
    let from =
        move |from: i64| Window { from, to: (from.div_euclid(PIECE) * PIECE).saturating_add(PIECE).min(window.to) };
    let first = (!window.is_empty()).then(|| from(window.from));
    std::iter::successors(first, move |piece| (piece.to < window.to).then(|| from(piece.to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_with_the_days_and_make_up_the_whole() {
        let parts = |from, to| pieces(Window { from, to }).map(|piece| (piece.from, piece.to)).collect::<Vec<_>>();
        assert_eq!(parts(5, 10), [(5, 10)]);
        assert_eq!(parts(86_390, 172_801), [(86_390, 86_400), (86_400, 172_800), (172_800, 172_801)]);
        assert_eq!(parts(-1, 1), [(-1, 0), (0, 1)]);
        assert!(parts(7, 7).is_empty() && parts(8, 7).is_empty());
        assert_eq!(parts(i64::MAX - 1, i64::MAX), [(i64::MAX - 1, i64::MAX)]);
    }
}
