//! Units of time as types, constants, and conversions. Each number and each conversion is written here only.
//!
//! The types are moments, counted from the Unix epoch; a duration is a number whose name contains its unit.

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;
/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Seconds in a minute.
pub const SECONDS_PER_MINUTE: i64 = 60;
/// Seconds in an hour.
pub const SECONDS_PER_HOUR: i64 = 3_600;
/// Seconds in a day.
pub const SECONDS_PER_DAY: i64 = 86_400;
/// Minutes in a day.
pub const MINUTES_PER_DAY: i64 = 1_440;
/// Nanoseconds in a microsecond.
const MICRO: i64 = SECOND / MICROS_PER_SECOND;
/// Nanoseconds in a minute.
const MINUTE: i64 = SECONDS_PER_MINUTE * SECOND;
/// Nanoseconds in a day.
const DAY: i64 = SECONDS_PER_DAY * SECOND;

/// A moment: nanoseconds since the Unix epoch.
///
/// ```
/// use marketpoints::clock::{UnixDay, UnixNanos, UnixSecond};
///
/// let moment = UnixNanos(1_767_225_600_500_000_000); // 2026-01-01 00:00:00.5 UTC
/// assert_eq!(moment.second(), UnixSecond(1_767_225_600));
/// assert_eq!(moment.day(), UnixDay(20_454));
/// assert_eq!(moment.day().second(), moment.second());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct UnixNanos(pub i64);

/// A moment: microseconds since the Unix epoch, the precision that survives a double of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct UnixMicros(pub i64);

/// A second since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct UnixSecond(pub i64);

/// A minute since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct UnixMinute(pub i64);

/// A day since the Unix epoch, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
#[repr(transparent)]
pub struct UnixDay(pub i64);

impl UnixNanos {
    /// The microsecond that contains it.
    pub const fn micros(self) -> UnixMicros {
        UnixMicros(self.0.div_euclid(MICRO))
    }

    /// The second that contains it.
    pub const fn second(self) -> UnixSecond {
        UnixSecond(self.0.div_euclid(SECOND))
    }

    /// The first second that does not start before it.
    pub const fn ceil_second(self) -> UnixSecond {
        UnixSecond(self.0.div_euclid(SECOND) + (self.0.rem_euclid(SECOND) > 0) as i64)
    }

    /// The minute that contains it.
    pub const fn minute(self) -> UnixMinute {
        UnixMinute(self.0.div_euclid(MINUTE))
    }

    /// The day that contains it.
    pub const fn day(self) -> UnixDay {
        UnixDay(self.0.div_euclid(DAY))
    }

    /// The moment `nanoseconds` later, saturating.
    #[must_use]
    pub const fn plus(self, nanoseconds: i64) -> Self {
        Self(self.0.saturating_add(nanoseconds))
    }

    /// Nanoseconds since an earlier moment; negative if that is later.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl UnixMicros {
    /// The moment at which it starts, saturating.
    pub const fn nanos(self) -> UnixNanos {
        UnixNanos(self.0.saturating_mul(MICRO))
    }

    /// The second that contains it.
    pub const fn second(self) -> UnixSecond {
        UnixSecond(self.0.div_euclid(MICROS_PER_SECOND))
    }
}

impl UnixSecond {
    /// The microsecond at which it starts.
    pub const fn micros(self) -> UnixMicros {
        UnixMicros(self.0.saturating_mul(MICROS_PER_SECOND))
    }

    /// The moment at which it starts, saturating at the range of nanoseconds (years 1677 to 2262).
    pub const fn nanos(self) -> UnixNanos {
        UnixNanos(self.0.saturating_mul(SECOND))
    }

    /// The minute that contains it.
    pub const fn minute(self) -> UnixMinute {
        UnixMinute(self.0.div_euclid(SECONDS_PER_MINUTE))
    }

    /// The second `seconds` later, saturating.
    #[must_use]
    pub const fn plus(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds))
    }

    /// Seconds since an earlier one; negative if that is later.
    pub const fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The day that contains it.
    pub const fn day(self) -> UnixDay {
        UnixDay(self.0.div_euclid(SECONDS_PER_DAY))
    }
}

impl UnixMinute {
    /// Its first second.
    pub const fn second(self) -> UnixSecond {
        UnixSecond(self.0.saturating_mul(SECONDS_PER_MINUTE))
    }

    /// The moment at which it starts.
    pub const fn nanos(self) -> UnixNanos {
        UnixNanos(self.0.saturating_mul(MINUTE))
    }

    /// The day that contains it.
    pub const fn day(self) -> UnixDay {
        UnixDay(self.0.div_euclid(MINUTES_PER_DAY))
    }

    /// The minute after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl UnixDay {
    /// Its first second.
    pub const fn second(self) -> UnixSecond {
        UnixSecond(self.0.saturating_mul(SECONDS_PER_DAY))
    }

    /// Its first minute.
    pub const fn minute(self) -> UnixMinute {
        UnixMinute(self.0.saturating_mul(MINUTES_PER_DAY))
    }

    /// The moment at which it starts.
    pub const fn nanos(self) -> UnixNanos {
        UnixNanos(self.0.saturating_mul(DAY))
    }

    /// The day after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A Unix second in the format of messages: `2026-01-31 12:00:00 UTC`.
pub fn utc(second: UnixSecond) -> String {
    jiff::Timestamp::from_second(second.0)
        .map_or_else(|_| format!("{} s", second.0), |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_lies_in_its_second_minute_and_day_before_the_epoch_too() {
        let before = UnixNanos(-1);
        assert_eq!((before.second(), before.minute(), before.day()), (UnixSecond(-1), UnixMinute(-1), UnixDay(-1)));
        assert_eq!([before, UnixNanos(0), UnixNanos(1)].map(UnixNanos::ceil_second), [0, 0, 1].map(UnixSecond));
        let noon = UnixSecond(86_400 * 3 + 43_200);
        assert_eq!((noon.minute(), noon.day()), (UnixMinute(1_440 * 3 + 720), UnixDay(3)));
        assert_eq!((noon.day().second(), noon.day().next().minute()), (UnixSecond(259_200), UnixMinute(5_760)));
        assert_eq!((noon.minute().nanos(), noon.minute().day()), (noon.nanos(), noon.day()));
    }

    #[test]
    fn a_microsecond_holds_a_thousand_nanoseconds() {
        assert_eq!((UnixNanos(1_999).micros(), UnixNanos(-1).micros()), (UnixMicros(1), UnixMicros(-1)));
        assert_eq!((UnixSecond(2).micros(), UnixMicros(2_999_999).second()), (UnixMicros(2_000_000), UnixSecond(2)));
    }

    #[test]
    fn what_is_beyond_time_is_its_end() {
        assert_eq!(UnixSecond(i64::MAX).nanos(), UnixNanos(i64::MAX));
        assert_eq!(UnixDay(i64::MIN).nanos(), UnixNanos(i64::MIN));
        assert_eq!(UnixNanos(i64::MAX).plus(1), UnixNanos(i64::MAX));
        assert_eq!(UnixNanos(i64::MIN).since(UnixNanos(1)), i64::MIN);
    }
}
