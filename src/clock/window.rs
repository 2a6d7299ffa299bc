//! Windows of time.

use std::ops::Range;

use super::units::{UnixNanos, UnixSecond};

/// A half-open window, in Unix seconds; of buckets, where their starts lie.
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
    /// All of time.
    pub const ALWAYS: Self = Self { from: i64::MIN, to: i64::MAX };

    /// Whether nothing lies in it.
    pub const fn is_empty(self) -> bool {
        self.from >= self.to
    }

    /// Its length in seconds; 0 for an empty one.
    pub const fn seconds(self) -> i64 {
        if self.is_empty() { 0 } else { self.to.saturating_sub(self.from) }
    }

    /// Whether a second lies in it.
    pub const fn contains(self, second: i64) -> bool {
        self.from <= second && second < self.to
    }

    /// Whether both have a second in common, where neither is empty.
    pub const fn touches(self, other: Self) -> bool {
        self.from < other.to && self.to > other.from
    }

    /// What both have in common; empty where that is nothing.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), to: self.to.min(other.to) }
    }

    /// The same window by its moments.
    pub const fn nanos(self) -> Range<UnixNanos> {
        UnixSecond(self.from).nanos()..UnixSecond(self.to).nanos()
    }
}
