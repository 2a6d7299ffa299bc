//! The buckets that the rows of a series stand for: when each is over, and which have no row. Times are Unix nanoseconds.

use std::collections::TryReserveError;

use super::column::NO_TIME;
use crate::clock::{SECOND, UnixNanos, UnixSecond};
use crate::protocol::{BucketGrid, Interval};

/// A way in which a series' time is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowBuckets {
    /// Buckets of so many nanoseconds.
    Every(i64),
    /// Calendar months in UTC.
    Month,
}

impl From<BucketGrid> for RowBuckets {
    fn from(grid: BucketGrid) -> Self {
        match grid {
            BucketGrid::Every(interval) => Self::Every(interval.seconds * SECOND),
            BucketGrid::Month => Self::Month,
        }
    }
}

impl RowBuckets {
    /// The cut of buckets that have their own ends; `None` if none has one. Whole calendar months count as months.
    pub fn between<T: Copy + Into<i64>>(starts: &[T], ends: &[T]) -> Option<Self> {
        let known = || {
            let pairs = starts.iter().zip(ends).map(|(start, end)| ((*start).into(), (*end).into()));
            pairs.filter(|(start, end)| *start != NO_TIME && *end != NO_TIME)
        };
        let lengths = || known().map(|(start, end)| end.saturating_sub(start));
        let (shortest, longest) = (lengths().min().filter(|least| *least > 0)?, lengths().max()?);
        let (least, most) = BucketGrid::Month.lengths();
        let of_months = least * SECOND <= shortest && longest <= most * SECOND;
        let whole = of_months
            && known().all(|edges| <[i64; 2]>::from(edges).map(UnixNanos).iter().all(|edge| month_of(*edge) == *edge));
        Some(if whole { Self::Month } else { Self::Every(shortest) })
    }

    /// Nanoseconds of the longest bucket.
    pub fn length(self) -> i64 {
        match self {
            Self::Every(length) => length,
            Self::Month => BucketGrid::Month.lengths().1 * SECOND,
        }
    }

    /// End of the bucket that starts at `start`, saturating.
    fn end(self, start: UnixNanos) -> UnixNanos {
        match self {
            _ if start.0 == NO_TIME => start,
            Self::Every(length) => start.plus(length),
            Self::Month => {
                let second = start.second();
                BucketGrid::Month.end(second).nanos().plus(start.since(second.nanos()))
            }
        }
    }

    /// When each bucket is over.
    pub fn ends<T: Copy + Into<i64> + From<i64>>(self, starts: &[T]) -> Vec<T> {
        match self {
            // Without a branch, so that the compiler takes many at a time.
            Self::Every(length) => {
                let end = |begin: i64| {
                    let end = begin.wrapping_add(length);
                    let end = if end < begin { i64::MAX } else { end };
                    if begin == NO_TIME { NO_TIME } else { end }
                };
                starts.iter().map(|start| end((*start).into()).into()).collect()
            }
            Self::Month => starts.iter().map(|start| self.end(UnixNanos((*start).into())).0.into()).collect(),
        }
    }

    /// Starts of the buckets of a window, half-open, in which no row starts; without a window, of those from the first row
    /// to the last. Rows ascend; several may share a bucket.
    ///
    /// # Errors
    /// Where there are more of them than memory holds.
    pub fn missing<T: Copy + Into<i64>>(
        self,
        rows: &[T],
        window: Option<(i64, i64)>,
    ) -> Result<Vec<i64>, TryReserveError> {
        let edges = rows.first().zip(rows.last()).map(|(first, last)| ((*first).into(), (*last).into()));
        match (self, window.or(edges).map(|(first, last)| (UnixNanos(first), UnixNanos(last)))) {
            (_, None) => Ok(Vec::new()),
            (Self::Every(length), Some(edges)) => {
                let grid =
                    Grid { length, anchor: anchor(length, rows.first().map(|first| UnixNanos((*first).into()))) };
                let first = if window.is_some() { grid.ceil(edges.0) } else { grid.place(edges.0) };
                let end = if window.is_some() { grid.ceil(edges.1) } else { grid.place(edges.1) + 1 };
                grid.missing(rows, first, end)
            }
            (Self::Month, Some(edges)) => {
                let month_at = |at: UnixNanos| BucketGrid::Month.ceil(at.ceil_second()).nanos();
                let first = if window.is_some() { month_at(edges.0) } else { month_of(edges.0) };
                let end = if window.is_some() { month_at(edges.1) } else { self.end(month_of(edges.1)) };
                let mut there: Vec<UnixNanos> = rows.iter().map(|row| month_of(UnixNanos((*row).into()))).collect();
                there.dedup();
                let months =
                    std::iter::successors(Some(first), |month| Some(self.end(*month)).filter(|next| next > month));
                Ok(months
                    .take_while(|month| *month < end)
                    .filter(|month| !there.contains(month))
                    .map(|month| month.0)
                    .collect())
            }
        }
    }

    /// Start and end of each stretch of buckets that follow one another.
    pub fn stretches<T: Copy + Into<i64>>(self, starts: &[T]) -> Vec<[i64; 2]> {
        let mut stretches: Vec<[i64; 2]> = Vec::new();
        for start in starts.iter().map(|start| UnixNanos((*start).into())) {
            match stretches.last_mut() {
                Some([_, end]) if *end == start.0 => *end = self.end(start).0,
                _ => stretches.push([start.0, self.end(start).0]),
            }
        }
        stretches
    }
}

/// The start of the month that holds a moment.
fn month_of(at: UnixNanos) -> UnixNanos {
    BucketGrid::Month.floor(at.second()).nanos()
}

/// Start of one bucket. The first day of a week is not published: it is that of the first row, else the local service's.
fn anchor(length: i64, first: Option<UnixNanos>) -> UnixNanos {
    match Interval::find("WEEK") {
        Some(week) if length % (week.seconds * SECOND) == 0 => first.unwrap_or(week.floor(UnixSecond(0)).nanos()),
        _ => UnixNanos(0),
    }
}

/// Buckets of one length by index; bucket 0 starts at the anchor.
struct Grid {
    length: i64,
    anchor: UnixNanos,
}

impl Grid {
    /// Index of the bucket that contains `at`; an `i128`, because `i64::MAX - i64::MIN` overflows an `i64`.
    fn place(&self, at: UnixNanos) -> i128 {
        (i128::from(at.0) - i128::from(self.anchor.0)).div_euclid(self.length.into())
    }

    /// Index of the first bucket that starts at `at` or later.
    fn ceil(&self, at: UnixNanos) -> i128 {
        -(i128::from(self.anchor.0) - i128::from(at.0)).div_euclid(self.length.into())
    }

    fn start(&self, place: i128) -> i64 {
        let start = i128::from(self.anchor.0) + place * i128::from(self.length);
        i64::try_from(start).unwrap_or(if start < 0 { i64::MIN } else { i64::MAX })
    }

    /// Starts of the buckets from `first` up to `end` in which no row starts.
    fn missing<T: Copy + Into<i64>>(&self, rows: &[T], first: i128, end: i128) -> Result<Vec<i64>, TryReserveError> {
        let count = usize::try_from((end - first).max(0)).unwrap_or(usize::MAX);
        let mut there: Vec<bool> = Vec::new();
        there.try_reserve_exact(count)?;
        there.resize(count, false);
        // Most rows are in the bucket after the previous row's: this avoids a division for each row.
        let (mut place, mut start) = (first, self.start(first));
        for row in rows.iter().map(|row| (*row).into()) {
            let next = start.saturating_add(self.length);
            if !(start..next).contains(&row) {
                place = if (next..next.saturating_add(self.length)).contains(&row) {
                    place + 1
                } else {
                    self.place(UnixNanos(row))
                };
                start = self.start(place);
            }
            if let Some(one) = usize::try_from(place - first).ok().and_then(|place| there.get_mut(place)) {
                *one = true;
            }
        }
        let mut absent = Vec::new();
        absent.try_reserve_exact(there.iter().filter(|one| !**one).count())?;
        absent
            .extend(there.iter().enumerate().filter(|one| !one.1).map(|(place, _)| self.start(first + place as i128)));
        Ok(absent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY: i64 = 86_400 * SECOND;
    const DAYS: RowBuckets = RowBuckets::Every(DAY);

    fn at(text: &str) -> i64 {
        text.parse::<jiff::Timestamp>().unwrap().as_second() * SECOND
    }

    fn month(number: i64) -> i64 {
        at(&format!("2026-{number:02}-01T00:00:00Z"))
    }

    #[test]
    fn buckets_end_where_the_next_one_starts() {
        assert_eq!(DAYS.ends(&[0, 5, NO_TIME, i64::MAX - 1]), [DAY, DAY + 5, NO_TIME, i64::MAX]);
        assert_eq!(RowBuckets::Month.ends(&[month(1), month(2) + 7]), [month(2), month(3) + 7]);
        assert_eq!(RowBuckets::Month.ends(&[NO_TIME, i64::MAX - 1]), [NO_TIME, i64::MAX]);
        assert_eq!((DAYS.length(), RowBuckets::Month.length()), (DAY, 31 * DAY));
    }

    #[test]
    fn own_ends_tell_the_length() {
        assert_eq!(RowBuckets::between(&[0, 2 * DAY], &[DAY, 4 * DAY]), Some(DAYS));
        assert_eq!(RowBuckets::between(&[month(1), month(2)], &[month(2), month(3)]), Some(RowBuckets::Month));
        assert_eq!(RowBuckets::between(&[month(2)], &[month(2) + 30 * DAY]), Some(RowBuckets::Every(30 * DAY)));
        assert_eq!(RowBuckets::between(&[month(1), NO_TIME], &[NO_TIME, month(2)]), None);
        assert_eq!(RowBuckets::between(&[5, 0], &[5, DAY]), None);
    }

    #[test]
    fn months_without_a_row_are_missing() {
        let (first, last) = (month(1), month(5));
        assert_eq!(RowBuckets::Month.missing(&[first, first, last], None).unwrap(), [2, 3, 4].map(month));
        let window = Some((month(2) - 1, month(4) + 1));
        assert_eq!(RowBuckets::Month.missing(&[month(3) + DAY], window).unwrap(), [2, 4].map(month));
        assert_eq!(RowBuckets::Month.stretches(&[2, 3, 5].map(month)), [[2, 4], [5, 6]].map(|one| one.map(month)));
    }

    #[test]
    fn weeks_start_as_the_rows_do_or_on_monday() {
        let week = RowBuckets::Every(7 * DAY);
        let (monday, sunday) = (at("2026-01-05T00:00:00Z"), at("2026-01-04T00:00:00Z"));
        let window = Some((monday - 3 * DAY, monday + 8 * DAY));
        assert_eq!(week.missing::<i64>(&[], window).unwrap(), [monday, monday + 7 * DAY]);
        assert_eq!(week.missing(&[sunday], window).unwrap(), [sunday + 7 * DAY]);
    }

    #[test]
    fn what_no_memory_holds_is_an_error_and_ends_of_time_are_none() {
        assert!(RowBuckets::Every(1).missing(&[0, i64::MAX], None).is_err());
        assert_eq!(DAYS.missing(&[0], Some((DAY, 0))).unwrap(), [0_i64; 0]);
        assert_eq!(DAYS.missing::<i64>(&[], None).unwrap(), [0_i64; 0]);
        assert_eq!(DAYS.missing(&[NO_TIME, i64::MAX], Some((0, 2 * DAY))).unwrap(), [0, DAY]);
    }

    proptest! {
        #[test]
        fn every_bucket_is_judged_as_alone(
            mut rows in prop::collection::vec(-60i64..60, 0..12), length in 1i64..9, from in -40i64..40, count in 0i64..40,
        ) {
            rows.sort_unstable();
            let window = Some((from, from + count));
            let starts = (-100..100).map(|place| place * length).filter(|start| (from..from + count).contains(start));
            let bare: Vec<i64> =
                starts.filter(|start| !rows.iter().any(|row| (*start..start + length).contains(row))).collect();
            prop_assert_eq!(RowBuckets::Every(length).missing(&rows, window).unwrap(), bare.clone());
            let stretches = RowBuckets::Every(length).stretches(&bare);
            let again: Vec<i64> = stretches
                .iter()
                .flat_map(|[start, end]| (0..(end - start) / length).map(move |place| start + place * length))
                .collect();
            prop_assert_eq!(again, bare);
            prop_assert!(stretches.windows(2).all(|two| two[0][1] < two[1][0]));
        }
    }
}
