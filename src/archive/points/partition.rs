//! Which file a bucket belongs to: one a day, a month or a year, so that files are neither many nor large.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::key::ArchiveKey;
use crate::clock::{SECONDS_PER_DAY, UnixSecond, Window};

/// The partition of times outside of the calendar.
const NONE: &str = "none";

/// The period that a file covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSpan {
    /// A day.
    Day,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl FileSpan {
    /// Every period with its name and its most seconds, the longest first.
    pub const ALL: [(&'static str, Self, i64); 3] = [
        ("year", Self::Year, 366 * SECONDS_PER_DAY),
        ("month", Self::Month, 31 * SECONDS_PER_DAY),
        ("day", Self::Day, SECONDS_PER_DAY),
    ];

    /// A window, cut where such files begin.
    pub fn cut(self, window: Window) -> Vec<Window> {
        cut(self, window).into_iter().map(|part| part.window).collect()
    }
}

/// One file's part of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Partition {
    /// The first day of the file: `2026-01-01`.
    pub(super) name: String,
    /// Everything that the file may contain.
    pub(super) whole: Window,
    /// The part of the window in it.
    pub(super) window: Window,
}

/// The files that a window overlaps, in order of time.
pub(super) fn partitions(key: &ArchiveKey, window: Window) -> Vec<Partition> {
    cut(span(key), window)
}

fn cut(span: FileSpan, window: Window) -> Vec<Partition> {
    let mut parts = Vec::new();
    let mut from = window.from;
    while from < window.to {
        let (name, start, end) = around(span, UnixSecond(from));
        let to = window.to.min(end);
        parts.push(Partition { name, whole: Window { from: start, to: end }, window: Window { from, to } });
        from = to;
    }
    parts
}

/// Everything that the file of that name may contain; `None` for an invalid name.
pub(super) fn named(key: &ArchiveKey, name: &str) -> Option<Window> {
    if name == NONE {
        return Some(Window::ALWAYS);
    }
    let start: Date = name.parse().ok()?;
    let (found, from, to) = around(span(key), UnixSecond(start.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second()));
    (found == name).then_some(Window { from, to })
}

/// A month of minutes is 44,640 rows; a day of order books by the minute may be a hundred megabytes.
fn span(key: &ArchiveKey) -> FileSpan {
    match key.interval.seconds {
        SECONDS_PER_DAY.. => FileSpan::Year,
        3_601.. => FileSpan::Month,
        _ if key.is_bulky() => FileSpan::Day,
        _ => FileSpan::Month,
    }
}

/// Name, start and end of the file that contains a second. Times outside of the calendar share a file.
fn around(span: FileSpan, at: UnixSecond) -> (String, i64, i64) {
    let ends = |date: Date| {
        let start = match span {
            FileSpan::Day => date,
            FileSpan::Month => date.first_of_month(),
            FileSpan::Year => date.first_of_year(),
        };
        let next = match span {
            FileSpan::Day => start.checked_add(1.day()),
            FileSpan::Month => start.checked_add(1.month()),
            FileSpan::Year => start.checked_add(1.year()),
        };
        let second = |date: Date| date.to_zoned(TimeZone::UTC).ok().map(|at| at.timestamp().as_second());
        Some((start.to_string(), second(start)?, second(next.ok()?)?))
    };
    let date = Timestamp::from_second(at.0).ok().map(|at| at.to_zoned(TimeZone::UTC).date());
    date.and_then(ends).unwrap_or_else(|| (NONE.to_owned(), i64::MIN, i64::MAX))
}

/// Whether a partition may hold rows of a window.
pub(super) fn touches(key: &ArchiveKey, name: &str, window: Window) -> bool {
    named(key, name).is_none_or(|whole| whole.touches(window))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::PointsQuery;

    fn names(data_type: &str, interval: &str, from: &str, to: &str) -> Vec<String> {
        let query =
            PointsQuery { data_type: data_type.into(), interval: Some(interval.into()), ..PointsQuery::default() };
        let at = |text: &str| text.parse::<Timestamp>().unwrap().as_second();
        let window = Window { from: at(from), to: at(to) };
        let key = ArchiveKey::new("s", &query).unwrap();
        let parts = partitions(&key, window);
        assert!(parts.windows(2).all(|two| two[0].window.to == two[1].window.from));
        assert!(parts.iter().all(|part| named(&key, &part.name) == Some(part.whole)));
        assert!(parts.iter().all(|part| part.whole.from <= part.window.from && part.window.to <= part.whole.to));
        assert_eq!((parts[0].window.from, parts.last().unwrap().window.to), (window.from, window.to));
        parts.into_iter().map(|part| part.name).collect()
    }

    #[test]
    fn files_are_months_of_values_days_of_books_and_years_of_days() {
        let (from, to) = ("2025-12-31T23:00:00Z", "2026-02-01T00:01:00Z");
        let months = names("TRADE_AGG", "MINUTE", from, to);
        assert_eq!(months, ["2025-12-01", "2026-01-01", "2026-02-01"]);
        assert_eq!(names("BLOCK_BOOK_SNAPSHOT_AGG", "MINUTE", from, to).len(), 33);
        assert_eq!(names("BLOCK_BOOK_SNAPSHOT_AGG", "FOUR_HOURS", from, to).len(), 3);
        assert_eq!(names("TRADE_AGG", "DAY", from, to), ["2025-01-01", "2026-01-01"]);
        assert_eq!(names("TRADE_AGG", "MINUTE", "2026-01-05T00:00:00Z", "2026-02-01T00:00:00Z"), ["2026-01-01"]);
    }
}
