//! Time range of a row: a bucket of the interval, or the session of a market profile (service.md 4.1, supplement 4).

use super::interval::{INTERVALS, Interval};
use crate::clock::{SECONDS_PER_DAY, UnixSecond, Window};

/// A session of a market profile.
#[derive(Debug, Clone, Copy)]
pub struct TpoSession {
    /// Name on the wire.
    pub name: &'static str,
    /// Name that users give.
    pub short: &'static str,
    /// Its length, in a word.
    lasts: &'static str,
}

/// Prefix of a session's name on the wire.
pub const SESSION_PREFIX: &str = "TPO_SESSION_";
/// The sessions (section 4.1).
pub const TPO_SESSIONS: [TpoSession; 3] = [
    TpoSession { name: "TPO_SESSION_DAILY", short: "daily", lasts: "day" },
    TpoSession { name: "TPO_SESSION_WEEKLY", short: "weekly", lasts: "week" },
    TpoSession { name: "TPO_SESSION_MONTHLY", short: "monthly", lasts: "month" },
];
/// "As the interval".
const UNSPECIFIED: &str = "TPO_SESSION_UNSPECIFIED";
/// Wire names of the sessions; the last is "as the interval".
pub const SESSIONS: [&str; 4] = [TPO_SESSIONS[0].name, TPO_SESSIONS[1].name, TPO_SESSIONS[2].name, UNSPECIFIED];

impl TpoSession {
    /// Whether a word is likely to mean it: `Week`, `1w`, `w`.
    pub fn is_meant_by(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        word == self.lasts || word.strip_prefix('1').unwrap_or(&word) == &self.lasts[..1]
    }

    fn grid(&self) -> BucketGrid {
        let of_length = |row: &&Interval| row.name.eq_ignore_ascii_case(self.lasts);
        INTERVALS.iter().find(of_length).map_or(BucketGrid::Month, BucketGrid::Every) // no interval lasts a month
    }
}

/// Lengths of a market profile's blocks in minutes (sections 4.1 and 8.5).
pub const BLOCK_MINUTES: [u32; 4] = [5, 30, 60, 240];
/// The length where a query has none.
pub const USUAL_BLOCK_MINUTES: u32 = 30;

/// A way to cut time into buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketGrid {
    /// Buckets of one length; days begin at 00:00 UTC, weeks on Monday.
    Every(&'static Interval),
    /// Calendar months in UTC.
    Month,
}

impl BucketGrid {
    /// The grid of a session's wire name; without one, or with it unspecified, that of the interval. `None` for a session
    /// that this version does not know.
    pub fn of(session: Option<&str>, interval: &'static Interval) -> Option<Self> {
        match session {
            None | Some(UNSPECIFIED) => Some(Self::Every(interval)),
            Some(name) => Self::of_session(name),
        }
    }

    /// The grid of a session that has a length of its own, by its wire name; `None` for any other.
    pub fn of_session(name: &str) -> Option<Self> {
        TPO_SESSIONS.iter().find(|row| row.name == name).map(TpoSession::grid)
    }

    /// Start of the bucket that holds a second.
    pub fn floor(self, at: UnixSecond) -> UnixSecond {
        match self {
            Self::Every(interval) => interval.floor(at),
            Self::Month => month(at),
        }
    }

    /// The bucket that holds a second.
    pub fn window(self, at: UnixSecond) -> Window {
        let start = self.floor(at);
        Window::between(start, self.end(start))
    }

    /// The first bucket start at a second or after it.
    pub fn ceil(self, at: UnixSecond) -> UnixSecond {
        let start = self.floor(at);
        if start == at { at } else { self.end(start) }
    }

    /// End of the bucket that starts at `start`. A start beside the grid (a week of another anchor) keeps its length; beside
    /// a month's, it ends as long after the next month's.
    pub fn end(self, start: UnixSecond) -> UnixSecond {
        match self {
            Self::Every(interval) => start.plus(interval.seconds),
            Self::Month => {
                let first = month(start);
                month(first.plus(32 * SECONDS_PER_DAY)).plus(start.since(first))
            }
        }
    }

    /// Seconds of its shortest bucket and of its longest.
    pub fn lengths(self) -> (i64, i64) {
        match self {
            Self::Every(interval) => (interval.seconds, interval.seconds),
            Self::Month => (28 * SECONDS_PER_DAY, 31 * SECONDS_PER_DAY),
        }
    }
}

/// Start of the month that holds a second; beyond the calendar, that second.
fn month(second: UnixSecond) -> UnixSecond {
    let start = jiff::Timestamp::from_second(second.0).ok().and_then(|at| {
        let date = at.to_zoned(jiff::tz::TimeZone::UTC).date().first_of_month();
        date.to_zoned(jiff::tz::TimeZone::UTC).ok()
    });
    start.map_or(second, |start| UnixSecond(start.timestamp().as_second()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> UnixSecond {
        UnixSecond(text.parse::<jiff::Timestamp>().unwrap().as_second())
    }

    #[test]
    fn sessions_are_days_weeks_from_monday_and_calendar_months() {
        let hour = Interval::find("1h").unwrap();
        let now = at("2026-11-18T13:30:00Z"); // a Wednesday
        for (session, floor, ceil) in [
            (None, "2026-11-18T13:00:00Z", "2026-11-18T14:00:00Z"),
            (Some("TPO_SESSION_UNSPECIFIED"), "2026-11-18T13:00:00Z", "2026-11-18T14:00:00Z"),
            (Some("TPO_SESSION_DAILY"), "2026-11-18T00:00:00Z", "2026-11-19T00:00:00Z"),
            (Some("TPO_SESSION_WEEKLY"), "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"),
            (Some("TPO_SESSION_MONTHLY"), "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"),
        ] {
            let grid = BucketGrid::of(session, hour).unwrap();
            assert_eq!((grid.floor(now), grid.ceil(now)), (at(floor), at(ceil)), "{session:?}");
            assert_eq!((grid.ceil(at(ceil)), grid.end(at(floor))), (at(ceil), at(ceil)), "{session:?}");
        }
        assert_eq!(BucketGrid::Month.end(at("2026-02-01T00:00:00Z")), at("2026-03-01T00:00:00Z"));
        assert_eq!(BucketGrid::Month.end(at("2026-01-05T06:00:00Z")), at("2026-02-05T06:00:00Z"), "beside the grid");
        assert!(BucketGrid::of(Some("TPO_SESSION_LUNAR"), hour).is_none());
        let last = UnixSecond(i64::MAX);
        assert_eq!(BucketGrid::Month.ceil(last), last, "beyond the calendar");
    }
}
