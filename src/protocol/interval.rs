//! Intervals: wire name, short name, seconds, and the grid of bucket starts (service.md 2.6, supplement 1 and 4).

use super::suggest::closest;
use crate::clock::{GivenLength, NoLength, SECONDS_PER_DAY, UnixSecond, Window};

/// One row of the interval table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Wire name, such as `HOUR`.
    pub name: &'static str,
    /// Short name that users type, such as `1h`.
    pub short: &'static str,
    /// Length of a bucket in seconds.
    pub seconds: i64,
    /// One bucket start; the grid repeats from there.
    anchor: UnixSecond,
}

/// First Monday after the epoch: the week's anchor is not published, the local service uses Monday 00:00 UTC.
const MONDAY: UnixSecond = UnixSecond(4 * SECONDS_PER_DAY);
/// The epoch: where all other intervals begin.
const EPOCH: UnixSecond = UnixSecond(0);

/// Every interval the service is known to take. Others may stand in answers; a request for one is refused, because its
/// weight is not known.
pub const INTERVALS: [Interval; 8] = [
    Interval { name: "MINUTE", short: "1m", seconds: 60, anchor: EPOCH },
    Interval { name: "FIVE_MINUTES", short: "5m", seconds: 300, anchor: EPOCH },
    Interval { name: "FIFTEEN_MINUTES", short: "15m", seconds: 900, anchor: EPOCH },
    Interval { name: "THIRTY_MINUTES", short: "30m", seconds: 1_800, anchor: EPOCH },
    Interval { name: "HOUR", short: "1h", seconds: 3_600, anchor: EPOCH },
    Interval { name: "FOUR_HOURS", short: "4h", seconds: 14_400, anchor: EPOCH },
    Interval { name: "DAY", short: "1d", seconds: SECONDS_PER_DAY, anchor: EPOCH },
    Interval { name: "WEEK", short: "1w", seconds: 604_800, anchor: MONDAY },
];

impl Interval {
    /// Looks an interval up by wire name or short name; `None` for one this table does not know.
    pub fn find(text: &str) -> Option<&'static Self> {
        INTERVALS.iter().find(|row| row.name == text || row.short == text)
    }

    /// The known interval that `text` likely means, for error messages: of that length, or else nearest in spelling.
    pub fn suggest(text: &str) -> Option<&'static str> {
        // A number alone could be of seconds or minutes.
        let length = match GivenLength::Text(text).whole_seconds() {
            Err(NoLength::Unit(_)) => GivenLength::Text(&text.to_lowercase()).whole_seconds(),
            length => length,
        };
        match length {
            Ok(length) => INTERVALS.iter().find(|row| row.seconds == length).map(|row| row.short),
            Err(NoLength::Calendar) => None, // a month, which is near to a minute in spelling alone
            Err(_) => closest(text, INTERVALS.iter().flat_map(|row| [row.name, row.short])),
        }
    }

    /// Start of the bucket that holds a second.
    pub fn floor(&self, at: UnixSecond) -> UnixSecond {
        UnixSecond(at.0.saturating_sub(at.since(self.anchor).rem_euclid(self.seconds)))
    }

    /// The bucket that starts at a second.
    pub const fn window(&self, start: UnixSecond) -> Window {
        Window::between(start, start.plus(self.seconds))
    }

    /// The first bucket start at a second or after it.
    pub fn ceil(&self, at: UnixSecond) -> UnixSecond {
        let start = self.floor(at);
        if start == at { at } else { start.plus(self.seconds) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_name_the_same_row() {
        assert_eq!(Interval::find("HOUR"), Interval::find("1h"));
        assert_eq!(Interval::find("1h").map(|row| row.seconds), Some(3_600));
        assert_eq!(Interval::find("MONTH"), None);
    }

    #[test]
    fn what_is_no_interval_likely_means_the_one_of_its_length_or_its_spelling() {
        for (text, meant) in [
            ("HOURS", Some("HOUR")),
            ("60m", Some("1h")),
            (" 1h", Some("1h")),
            ("1 H", Some("1h")),
            ("24h", Some("1d")),
            ("7d", Some("1w")),
            ("4 Hours", Some("4h")),
            ("5MINUTE", Some("5m")),
            ("2 HOURS", None),
            ("60", None),
            ("90m", None),
            ("1M", None),
            ("1 month", None),
            ("soon", None),
        ] {
            assert_eq!(Interval::suggest(text), meant, "{text:?}");
        }
    }

    #[test]
    fn weeks_start_on_monday_and_days_at_midnight() {
        let week = Interval::find("WEEK").unwrap();
        // 2026-04-22 was a Wednesday; its week began on 2026-04-20 00:00 UTC.
        assert_eq!(week.floor(UnixSecond(1_776_880_800)), UnixSecond(1_776_643_200));
        assert_eq!(Interval::find("DAY").unwrap().floor(UnixSecond(-1)), UnixSecond(-86_400));
    }

    #[test]
    fn ceil_keeps_a_start_and_moves_anything_else_up() {
        let minute = Interval::find("MINUTE").unwrap();
        assert_eq!(minute.ceil(UnixSecond(120)), UnixSecond(120));
        assert_eq!(minute.ceil(UnixSecond(121)), UnixSecond(180));
    }

    #[test]
    fn no_time_is_too_far_away() {
        let (first, last) = (UnixSecond(i64::MIN), UnixSecond(i64::MAX));
        for row in &INTERVALS {
            assert!(row.floor(first) == first && row.ceil(last) == last, "{}", row.name);
        }
    }
}
