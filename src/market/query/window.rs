//! The buckets that a query means (supplement 4).

use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::protocol::{BucketGrid, Interval, PointsQuery};

/// A window of buckets as of a moment.
#[derive(Debug, Clone, Copy)]
pub(in crate::market) struct Buckets {
    pub interval: &'static Interval,
    /// From the start of the first bucket to the end of the last.
    pub window: Window,
    pub now: UnixNanos,
}

impl Buckets {
    /// A bucket counts when its start lies in `[from, from + period)` and not after `now`. Without `from` the window is
    /// the last `period` seconds up to now; without a period there is none.
    pub(in crate::market) fn new(interval: &'static Interval, query: &PointsQuery, now: UnixNanos) -> Self {
        Self::on(BucketGrid::Every(interval), interval, query, now)
    }

    /// As [`Self::new`], on a grid other than the interval's, such as the sessions of market profiles.
    pub(in crate::market) fn on(
        grid: BucketGrid,
        interval: &'static Interval,
        query: &PointsQuery,
        now: UnixNanos,
    ) -> Self {
        let (second, period) = (now.second(), query.period.unwrap_or(0).max(0));
        let from = query.from.map_or_else(|| second.plus(-period), UnixSecond);
        let first = grid.ceil(from);
        let to = grid.ceil(from.plus(period)).min(grid.window(second).end()).max(first);
        Self { interval, window: Window::between(first, to), now }
    }

    /// Starts of the buckets.
    pub(in crate::market) fn starts(&self) -> impl Iterator<Item = UnixSecond> + use<> {
        (self.window.from..self.window.to).step_by(usize::try_from(self.interval.seconds).unwrap_or(1)).map(UnixSecond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    fn starts(from: Option<i64>, period: Option<i64>, now: i64) -> Vec<i64> {
        let query = PointsQuery { from, period, ..PointsQuery::default() };
        Buckets::new(Interval::find("1m").unwrap(), &query, UnixNanos(now * SECOND))
            .starts()
            .map(|start| start.0)
            .collect()
    }

    #[test]
    fn buckets_count_by_their_start() {
        assert_eq!(starts(Some(60), Some(120), 1_000), [60, 120]);
        assert_eq!(starts(Some(61), Some(120), 1_000), [120, 180]);
        assert_eq!(starts(Some(60), Some(1), 1_000), [60]);
        assert!(starts(Some(61), Some(59), 1_000).is_empty());
    }

    #[test]
    fn the_forming_bucket_is_the_last() {
        assert_eq!(starts(Some(60), Some(600), 130), [60, 120]);
        assert!(starts(Some(600), Some(600), 130).is_empty());
        assert_eq!(starts(None, Some(120), 130), [60, 120]);
    }

    #[test]
    fn no_period_is_no_bucket() {
        assert!(starts(Some(60), None, 1_000).is_empty());
        assert!(starts(Some(60), Some(0), 1_000).is_empty());
        assert!(starts(Some(i64::MAX), Some(i64::MAX), 1_000).is_empty());
    }
}
