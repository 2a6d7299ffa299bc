//! The stretches of time that one profile covers each.

use crate::clock::second_of;
use crate::market::query::window::Buckets;
use crate::protocol::grid::SESSIONS;
use crate::protocol::suggest::hint;
use crate::protocol::{Grid, Interval, ParamError};

/// A stretch of time, `[start, end)` in Unix seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::market) struct Session {
    pub start: i64,
    pub end: i64,
}

impl Session {
    /// The session that holds a Unix second.
    pub(in crate::market) fn at(grid: Grid, second: i64) -> Self {
        let start = grid.floor(second);
        Self { start, end: grid.end(start) }
    }
}

/// The grid of a `tpoSession`; without one, or with it unspecified, the buckets of the interval.
pub(in crate::market) fn grid_of(session: Option<&str>, interval: &'static Interval) -> Result<Grid, ParamError> {
    Grid::of(session, interval).ok_or_else(|| {
        let name = session.unwrap_or_default();
        let problem = format!("{name:?} is not one of {}{}", SESSIONS.join(", "), hint(name, SESSIONS));
        ParamError::new("tpoSession", problem)
    })
}

/// The sessions that a window means, from the start of the first to the end of the last: as buckets do, a session counts when
/// its start lies in the window and not after `now` (Unix nanoseconds).
pub(in crate::market) fn sessions(
    grid: Grid,
    interval: &'static Interval,
    from: Option<i64>,
    period: Option<i64>,
    now: i64,
) -> Buckets {
    let (second, period) = (second_of(now), period.unwrap_or(0).max(0));
    let from = from.unwrap_or_else(|| second.saturating_sub(period));
    let first = grid.ceil(from);
    let forming = grid.end(grid.floor(second));
    let end = grid.ceil(from.saturating_add(period)).min(forming).max(first);
    Buckets { interval, from: first, end, now }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    const DAY: i64 = 86_400;
    const MARCH: i64 = 1_772_323_200; // 2026-03-01T00:00Z
    const APRIL: i64 = 1_775_001_600;
    const MAY: i64 = 1_777_593_600;

    fn session(name: &str, second: i64) -> Session {
        Session::at(grid_of(Some(name), Interval::find("MINUTE").unwrap()).unwrap(), second)
    }

    #[test]
    fn sessions_begin_at_midnight_on_monday_and_on_the_first() {
        let wednesday = 1_776_880_800; // 2026-04-22T18:00Z
        let day = Session { start: 1_776_816_000, end: 1_776_902_400 };
        assert_eq!(session("TPO_SESSION_DAILY", wednesday), day);
        let week = Session { start: 1_776_643_200, end: 1_777_248_000 }; // 2026-04-20 to 04-27
        assert_eq!(session("TPO_SESSION_WEEKLY", wednesday), week);
        assert_eq!(session("TPO_SESSION_MONTHLY", wednesday), Session { start: APRIL, end: MAY });
        assert_eq!(session("TPO_SESSION_MONTHLY", APRIL), Session { start: APRIL, end: MAY });
        assert_eq!(session("TPO_SESSION_MONTHLY", APRIL - 1), Session { start: MARCH, end: APRIL });
        // 2024-02 had 29 days; before the epoch months count as well.
        let leap = Session { start: 1_706_745_600, end: 1_709_251_200 };
        assert_eq!(session("TPO_SESSION_MONTHLY", 1_709_200_000), leap);
        assert_eq!(session("TPO_SESSION_MONTHLY", -1), Session { start: -31 * DAY, end: 0 });
    }

    #[test]
    fn without_a_session_the_interval_cuts() {
        let hour = Interval::find("HOUR").unwrap();
        assert_eq!(grid_of(None, hour), Ok(Grid::Every(hour)));
        assert_eq!(grid_of(Some("TPO_SESSION_UNSPECIFIED"), hour), Ok(Grid::Every(hour)));
        let problem = grid_of(Some("TPO_SESSION_DAILLY"), hour).unwrap_err().to_string();
        assert!(problem.contains("tpoSession") && problem.contains("did you mean TPO_SESSION_DAILY?"), "{problem}");
    }

    #[test]
    fn months_count_by_their_start() {
        let window = |from: Option<i64>, period: i64, now: i64| {
            let interval = Interval::find("DAY").unwrap();
            let window = sessions(Grid::Month, interval, from, Some(period), now * SECOND);
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
