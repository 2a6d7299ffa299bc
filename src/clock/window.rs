//! Windows of time.

use std::ops::Range;

use super::units::{UnixNanos, UnixSecond};

/// A half-open window in Unix seconds; for buckets, of their starts.
///
/// ```
/// use marketpoints::clock::{UnixSecond, Window};
///
/// let (day, noon) = (Window { from: 0, to: 86_400 }, Window { from: 43_200, to: 129_600 });
/// assert_eq!(day.and(noon), Window { from: 43_200, to: 86_400 });
/// assert!(day.contains(UnixSecond(0)) && !day.contains(day.end()));
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

    /// The window of the seconds from `from` up to `to`, exclusive.
    pub const fn between(from: UnixSecond, to: UnixSecond) -> Self {
        Self { from: from.0, to: to.0 }
    }

    /// Its first second.
    pub const fn start(self) -> UnixSecond {
        UnixSecond(self.from)
    }

    /// Its end, exclusive.
    pub const fn end(self) -> UnixSecond {
        UnixSecond(self.to)
    }

    /// Whether it is empty.
    pub const fn is_empty(self) -> bool {
        self.from >= self.to
    }

    /// Its length in seconds; 0 if empty.
    pub const fn seconds(self) -> i64 {
        if self.is_empty() { 0 } else { self.to.saturating_sub(self.from) }
    }

    /// Whether it contains a second.
    pub const fn contains(self, second: UnixSecond) -> bool {
        self.from <= second.0 && second.0 < self.to
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

    /// The window in nanoseconds.
    pub const fn nanos(self) -> Range<UnixNanos> {
        self.start().nanos()..self.end().nanos()
    }
}
