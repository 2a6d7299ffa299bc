//! Windows of time.

use std::ops::Range;

use super::units::{UnixNanos, UnixSecond};

/// A half-open window in Unix seconds; for buckets, of their starts.
///
/// ```
/// use marketpoints::clock::Window;
///
/// let (day, noon) = (Window { from: 0, to: 86_400 }, Window { from: 43_200, to: 129_600 });
/// assert_eq!(day.and(noon), Window { from: 43_200, to: 86_400 });
/// assert!(day.contains(0) && !day.contains(86_400));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// First second.
    pub from: i64,
    /// End, exclusive.
    pub to: i64,
}

impl Window {
    /// All time.
    pub const ALWAYS: Self = Self { from: i64::MIN, to: i64::MAX };

    /// Whether it is empty.
    pub const fn is_empty(self) -> bool {
        self.from >= self.to
    }

    /// Its length in seconds; 0 if empty.
    pub const fn seconds(self) -> i64 {
        if self.is_empty() { 0 } else { self.to.saturating_sub(self.from) }
    }

    /// Whether it contains a second.
    pub const fn contains(self, second: i64) -> bool {
        self.from <= second && second < self.to
    }

    /// Whether two non-empty windows overlap.
    pub const fn touches(self, other: Self) -> bool {
        self.from < other.to && self.to > other.from
    }

    /// The intersection; empty if they do not overlap.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }

    /// The same window as moments.
    pub const fn nanos(self) -> Range<UnixNanos> {
        UnixSecond(self.from).nanos()..UnixSecond(self.to).nanos()
    }
}
