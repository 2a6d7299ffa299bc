//! The time ranges of profiles.

use crate::protocol::grid::SESSIONS;
use crate::protocol::suggest::hint;
use crate::protocol::{BucketGrid, Interval, ParamError};

/// The grid of a `tpoSession`; without one, or with it unspecified, the buckets of the interval.
pub(in crate::market) fn grid_of(session: Option<&str>, interval: &'static Interval) -> Result<BucketGrid, ParamError> {
    BucketGrid::of(session, interval).ok_or_else(|| {
        let name = session.unwrap_or_default();
        let problem = format!("{name:?} is not one of {}{}", SESSIONS.join(", "), hint(name, SESSIONS));
        ParamError::new("tpoSession", problem)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{SECOND, UnixNanos, UnixSecond, Window};
    use crate::market::query::window::Buckets;
    use crate::protocol::PointsQuery;

    const DAY: i64 = 86_400;
    const MARCH: i64 = 1_772_323_200; // 2026-03-01T00:00Z
    const APRIL: i64 = 1_775_001_600;
    const MAY: i64 = 1_777_593_600;

    fn session(name: &str, second: i64) -> Window {
        grid_of(Some(name), Interval::find("MINUTE").unwrap()).unwrap().window(UnixSecond(second))
    }

    #[test]
    fn sessions_begin_at_midnight_on_monday_and_on_the_first() {
        let wednesday = 1_776_880_800; // 2026-04-22T18:00Z
        let day = Window { from: 1_776_816_000, to: 1_776_902_400 };
        assert_eq!(session("TPO_SESSION_DAILY", wednesday), day);
        let week = Window { from: 1_776_643_200, to: 1_777_248_000 }; // 2026-04-20 to 04-27
        assert_eq!(session("TPO_SESSION_WEEKLY", wednesday), week);
        assert_eq!(session("TPO_SESSION_MONTHLY", wednesday), Window { from: APRIL, to: MAY });
        assert_eq!(session("TPO_SESSION_MONTHLY", APRIL), Window { from: APRIL, to: MAY });
        assert_eq!(session("TPO_SESSION_MONTHLY", APRIL - 1), Window { from: MARCH, to: APRIL });
        // 2024-02 had 29 days; before the epoch months count as well.
        let leap = Window { from: 1_706_745_600, to: 1_709_251_200 };
        assert_eq!(session("TPO_SESSION_MONTHLY", 1_709_200_000), leap);
        assert_eq!(session("TPO_SESSION_MONTHLY", -1), Window { from: -31 * DAY, to: 0 });
    }

    #[test]
    fn without_a_session_the_interval_cuts() {
        let hour = Interval::find("HOUR").unwrap();
        assert_eq!(grid_of(None, hour), Ok(BucketGrid::Every(hour)));
        assert_eq!(grid_of(Some("TPO_SESSION_UNSPECIFIED"), hour), Ok(BucketGrid::Every(hour)));
        let problem = grid_of(Some("TPO_SESSION_DAILLY"), hour).unwrap_err().to_string();
        assert!(problem.contains("tpoSession") && problem.contains("did you mean TPO_SESSION_DAILY?"), "{problem}");
    }

    #[test]
    fn months_count_by_their_start() {
        let window = |from: Option<i64>, period: i64, now: i64| {
            let interval = Interval::find("DAY").unwrap();
            let query = PointsQuery { from, period: Some(period), ..PointsQuery::default() };
            let window = Buckets::on(BucketGrid::Month, interval, &query, UnixNanos(now * SECOND));
            (window.window.from, window.window.to)
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
