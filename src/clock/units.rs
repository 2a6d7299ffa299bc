//! How long things are, and one unit of time as another. Each number and each conversion is written here and nowhere else.

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;
/// Microseconds in a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Seconds in a day.
pub const SECONDS_PER_DAY: i64 = 86_400;
/// Minutes in a day.
pub const MINUTES_PER_DAY: i64 = 1_440;

/// A Unix second, in signatures that take nanoseconds too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Second(pub i64);

/// Unix seconds in nanoseconds; beyond what they can say (years 1677 to 2262) the end of that.
pub const fn nanos_of(seconds: i64) -> i64 {
    seconds.saturating_mul(SECOND)
}

/// The Unix second in which a time (Unix nanoseconds) lies.
pub const fn second_of(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(SECOND)
}

/// The Unix second with which the minute of a time (Unix nanoseconds) begins.
pub const fn minute_of(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(60 * SECOND) * 60
}

/// A Unix second as messages write it: `2026-01-31 12:00:00 UTC`.
pub fn utc(second: i64) -> String {
    jiff::Timestamp::from_second(second)
        .map_or_else(|_| format!("{second} s"), |time| time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}
