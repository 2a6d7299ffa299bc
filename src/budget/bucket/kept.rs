//! A bucket as it is stored for other processes: few entries, and checked when it is read back.

use super::Bucket;
use crate::clock::{SECOND, UnixDay, UnixNanos};
use crate::protocol::Weight;

/// Times beyond this (the year 2200) are damage.
const LATEST: UnixNanos = UnixDay(230 * 366).nanos();
/// Capacities and caps beyond this are damage; the rate has the same bound.
const MOST_WEIGHT: Weight = Weight(u32::MAX as u64);
/// Longest that nothing refills; more is damage.
const LONGEST_HOLD: i64 = 10 * SECOND;
/// Most spends of the last minute that a kept bucket lists: one a second, and what was spent meanwhile.
const MOST_SPENDS: usize = 1_000;

/// Whether a time that was read can be one.
pub(in crate::budget) fn plausible(time: UnixNanos) -> bool {
    (UnixNanos(0)..LATEST).contains(&time)
}

impl Bucket {
    /// Joins the spends of each second, at its latest one: what was spent in the last minute counts a little longer, and
    /// ten thousand small requests take no more room than sixty.
    pub(in crate::budget) fn shorten(&mut self) {
        self.spent.join(|one, other| one.second() == other.second());
    }

    /// The bucket as of `now`, when it was read from somewhere that may be damaged, foreign, or ahead of this clock; `None`
    /// when it makes no sense. What can be mended is mended towards less.
    pub(in crate::budget) fn checked(mut self, now: UnixNanos) -> Option<Self> {
        let times = self.spent.iter().map(|(at, _)| at).chain([self.now, self.held_until]);
        let weights = self.spent.iter().map(|(_, weight)| weight).chain([self.spent_today]);
        let sound = self.limits.per_minute > 0
            && self.limits.burst > Weight::ZERO
            && self.limits.burst.max(self.limits.per_day.unwrap_or_default()) <= MOST_WEIGHT
            && self.spent.len() <= MOST_SPENDS
            && times.into_iter().all(plausible)
            && weights.into_iter().all(|weight| weight.0 < 1 << 48)
            && (0..=self.capacity()).contains(&self.level);
        if !sound {
            return None;
        }
        if self.now > now {
            self.shift(now.since(self.now));
        }
        self.held_until = self.held_until.min(now.plus(LONGEST_HOLD));
        self.advance(now);
        Some(self)
    }

    /// Moves it to another clock, which runs `by` nanoseconds ahead of the one it was kept by.
    pub(in crate::budget) fn shift(&mut self, by: i64) {
        self.now = self.now.plus(by);
        self.held_until = self.held_until.plus(by).max(UnixNanos(0));
        self.spent.shift(by);
        self.day = self.now.day();
    }

    /// Lowers it to what another view of the same bucket says.
    pub(in crate::budget) fn tighten(&mut self, other: &Self) {
        self.level = self.level.min(other.level).min(self.capacity());
        if self.day == other.day {
            self.spent_today = self.spent_today.max(other.spent_today);
        }
    }
}
