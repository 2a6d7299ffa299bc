//! The stretches of time that one profile covers each.

use jiff::ToSpan;
use jiff::civil::Date;

use crate::market::window::Buckets;
use crate::protocol::suggest::hint;
use crate::protocol::{Interval, ParamError};

const DAY: i64 = 86_400;
/// Days after 1970-01-01 that a calendar knows: the years -9998 to 9998, with room for the months at both ends.
const DAYS: std::ops::RangeInclusive<i64> = -4_371_000..=2_932_000;
const SESSIONS: [&str; 4] =
    ["TPO_SESSION_DAILY", "TPO_SESSION_WEEKLY", "TPO_SESSION_MONTHLY", "TPO_SESSION_UNSPECIFIED"];

/// A way to cut time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grid {
    /// The buckets of an interval; days begin at 00:00 UTC, weeks on Monday.
    Every(&'static Interval),
    /// Calendar months in UTC.
    Month,
}

/// A stretch of time, `[start, end)` in Unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Session {
    pub start: i64,
    pub end: i64,
}

impl Grid {
    /// The grid of a `tpoSession`; without one, or with it unspecified, the buckets of the interval.
    pub(super) fn of(session: Option<&str>, interval: &'static Interval) -> Result<Self, ParamError> {
        let every = |name: &str| Self::Every(Interval::find(name).unwrap_or(interval));
        match session {
            Some("TPO_SESSION_DAILY") => Ok(every("DAY")),
            Some("TPO_SESSION_WEEKLY") => Ok(every("WEEK")),
            Some("TPO_SESSION_MONTHLY") => Ok(Self::Month),
            None | Some("TPO_SESSION_UNSPECIFIED") => Ok(Self::Every(interval)),
            Some(other) => {
                let problem = format!("{other:?} is not one of {}{}", SESSIONS.join(", "), hint(other, SESSIONS));
                Err(ParamError::new("tpoSession", problem))
            }
        }
    }

    /// The session that holds a Unix second.
    pub(super) fn session(self, at: i64) -> Session {
        match self {
            Self::Every(interval) => {
                let start = interval.floor(at);
                Session { start, end: start.saturating_add(interval.seconds) }
            }
            Self::Month => {
                let (epoch, day) = (Date::constant(1970, 1, 1), at.div_euclid(DAY).clamp(*DAYS.start(), *DAYS.end()));
                let date = epoch.checked_add(day.days()).unwrap_or(epoch);
                let since = |date: Date| i64::from((date - epoch).get_days()) * DAY;
                Session { start: since(date.first_of_month()), end: since(date.last_of_month()) + DAY }
            }
        }
    }

    /// The sessions that a window means, from the start of the first to the end of the last: as buckets do, a session
    /// counts when its start lies in the window and not after `now` (Unix nanoseconds).
    pub(super) fn window(
        self,
        interval: &'static Interval,
        from: Option<i64>,
        period: Option<i64>,
        now: i64,
    ) -> Buckets {
        use crate::clock::SECOND;
        match self {
            Self::Every(cut) => Buckets::new(cut, from, period, now),
            Self::Month => {
                let (second, period) = (now.div_euclid(SECOND), period.unwrap_or(0).max(0));
                let from = from.unwrap_or_else(|| second.saturating_sub(period));
                let ceil = |at: i64| {
                    let month = self.session(at);
                    if month.start == at { at } else { month.end }
                };
                let (first, to) = (ceil(from), ceil(from.saturating_add(period)));
                Buckets { interval, from: first, end: to.min(self.session(second).end).max(first), now }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    const MARCH: i64 = 1_772_323_200; // 2026-03-01T00:00Z
    const APRIL: i64 = 1_775_001_600;
    const MAY: i64 = 1_777_593_600;

    fn grid(session: &str) -> Grid {
        Grid::of(Some(session), Interval::find("MINUTE").unwrap()).unwrap()
    }

    #[test]
    fn sessions_begin_at_midnight_on_monday_and_on_the_first() {
        let wednesday = 1_776_880_800; // 2026-04-22T18:00Z
        let day = Session { start: 1_776_816_000, end: 1_776_902_400 };
        assert_eq!(grid("TPO_SESSION_DAILY").session(wednesday), day);
        let week = Session { start: 1_776_643_200, end: 1_777_248_000 }; // 2026-04-20 to 04-27
        assert_eq!(grid("TPO_SESSION_WEEKLY").session(wednesday), week);
        assert_eq!(grid("TPO_SESSION_MONTHLY").session(wednesday), Session { start: APRIL, end: MAY });
        assert_eq!(grid("TPO_SESSION_MONTHLY").session(APRIL), Session { start: APRIL, end: MAY });
        assert_eq!(grid("TPO_SESSION_MONTHLY").session(APRIL - 1), Session { start: MARCH, end: APRIL });
        // 2024-02 had 29 days; before the epoch months count as well.
        let leap = Session { start: 1_706_745_600, end: 1_709_251_200 };
        assert_eq!(grid("TPO_SESSION_MONTHLY").session(1_709_200_000), leap);
        assert_eq!(grid("TPO_SESSION_MONTHLY").session(-1), Session { start: -31 * DAY, end: 0 });
    }

    #[test]
    fn without_a_session_the_interval_cuts() {
        let hour = Interval::find("HOUR").unwrap();
        assert_eq!(Grid::of(None, hour), Ok(Grid::Every(hour)));
        assert_eq!(Grid::of(Some("TPO_SESSION_UNSPECIFIED"), hour), Ok(Grid::Every(hour)));
        let problem = Grid::of(Some("TPO_SESSION_DAILLY"), hour).unwrap_err().to_string();
        assert!(problem.contains("tpoSession") && problem.contains("did you mean TPO_SESSION_DAILY?"), "{problem}");
    }

    #[test]
    fn months_count_by_their_start() {
        let window = |from: Option<i64>, period: i64, now: i64| {
            let interval = Interval::find("DAY").unwrap();
            let window = Grid::Month.window(interval, from, Some(period), now * SECOND);
            (window.from, window.end)
        };
        assert_eq!(window(Some(MARCH), APRIL - MARCH, MAY), (MARCH, APRIL));
        assert_eq!(window(Some(MARCH), 1, MAY), (MARCH, APRIL));
        assert_eq!(window(Some(MARCH + 1), MAY - MARCH, MAY + 5), (APRIL, MAY + 31 * DAY));
        assert_eq!(window(Some(MARCH), 10 * (MAY - MARCH), APRIL + 5), (MARCH, MAY)); // up to the forming month
        assert_eq!(window(None, APRIL - MARCH, APRIL + 5), (APRIL, MAY));
        let (from, end) = window(Some(MAY), APRIL - MARCH, APRIL + 5);
        assert_eq!(from, end); // not begun yet
        let (from, end) = window(Some(i64::MAX), i64::MAX, MAY);
        assert_eq!(from, end);
        let (from, end) = window(Some(MARCH), 0, MAY);
        assert_eq!(from, end);
    }
}
