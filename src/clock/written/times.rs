//! Times as people write them, to Unix seconds.

use std::borrow::Cow;

use jiff::civil::{Date, date};

use super::parts::Parts;
use crate::clock::units::{SECONDS_PER_HOUR, SECONDS_PER_MINUTE, UnixSecond, utc};

/// Unix seconds reach this in the year 5138; a larger number is milliseconds, microseconds or nanoseconds.
pub(super) const MOST_SECONDS: f64 = 1e11;
/// Accepted forms of a time, for messages.
const WANTED: &str = "give an ISO 8601 text such as 2026-01-31T12:00:00Z, Unix seconds or, in Python, a datetime";

/// Reason why a value is no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoTime {
    /// It has another form, or a part of it is out of its range: which one, in words.
    Unreadable(Option<Cow<'static, str>>),
    /// A number of another unit.
    OtherUnit(&'static str),
    /// A number that was meant for a date, such as 20260131: the time that it would be, and the date.
    DateNumber(String, String),
    /// Later than the year 5138, the largest supported time.
    TooLate,
}

impl NoTime {
    /// The message, with the value as it is shown, and the argument that may be left out instead.
    pub fn message(&self, shown: &str, argument: &str) -> String {
        match self {
            Self::Unreadable(None) => format!("{shown} is not a time; {WANTED}"),
            Self::Unreadable(Some(problem)) => format!("{shown} is not a time: {problem}"),
            Self::OtherUnit(unit) => format!("{shown} looks like {unit}; times are Unix seconds"),
            Self::DateNumber(second, date) => {
                format!("{shown} looks like a date, and would be {second}; write '{date}'")
            }
            Self::TooLate => {
                format!("{shown} is later than the year 5138, the largest supported time; leave {argument} out")
            }
        }
    }
}

/// Unix seconds of an ISO 8601 text: a day, or a day and a time of day, in UTC where it names no offset.
///
/// ```
/// use marketpoints::clock::time_of_text;
///
/// assert_eq!(time_of_text("2026-01-01T14:00:00.5+02:00"), Ok(1_767_268_800.5));
/// assert!(time_of_text("yesterday").is_err());
/// ```
///
/// # Errors
/// For a text of another form, and for a day or a time of day that there is not.
pub fn time_of_text(text: &str) -> Result<f64, NoTime> {
    let mut parts = Parts(text.trim().as_bytes());
    let moment = parts.moment().filter(|_| parts.0.is_empty()).ok_or(NoTime::Unreadable(None))?;
    time_of_calendar(moment.seconds().map_err(|problem| NoTime::Unreadable(Some(problem)))?)
}

/// A number of Unix seconds, as long as it is one.
///
/// # Errors
/// For a number of another unit, for a date without its signs, and for what is no number.
pub fn time_of_number(seconds: f64) -> Result<f64, NoTime> {
    let size = seconds.abs();
    if !seconds.is_finite() {
        return Err(NoTime::Unreadable(None));
    }
    if size > MOST_SECONDS {
        let units = [(1e14, "milliseconds"), (1e17, "microseconds")];
        return Err(NoTime::OtherUnit(units.iter().find(|unit| size < unit.0).map_or("nanoseconds", |unit| unit.1)));
    }
    match date_of_number(seconds) {
        Some(date) => Err(NoTime::DateNumber(iso(UnixSecond(seconds as i64)), date)),
        None => Ok(seconds),
    }
}

/// Unix seconds of a calendar's own object, up to the largest supported time.
///
/// # Errors
/// For those later than the year 5138.
pub fn time_of_calendar(seconds: f64) -> Result<f64, NoTime> {
    if seconds.abs() > MOST_SECONDS { Err(NoTime::TooLate) } else { Ok(seconds) }
}

/// The date that was meant by a number of seconds in 1970.
fn date_of_number(seconds: f64) -> Option<String> {
    let whole = (seconds.fract() == 0.0 && (1.9e7..2.1e7).contains(&seconds)).then_some(seconds as i64)?;
    let (year, month, day) = (whole / 10_000, whole / 100 % 100, whole % 100);
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| format!("{year}-{month:02}-{day:02}"))
}

/// A second as people read it: `2026-01-31 12:00` in UTC, with seconds where there are some.
pub fn iso(second: UnixSecond) -> String {
    let text = utc(second);
    let text = text.strip_suffix(" UTC").unwrap_or(&text);
    text.strip_suffix(":00").unwrap_or(text).to_owned()
}

/// A moment by its parts, which need not be on the calendar.
#[derive(Default)]
struct CalendarParts {
    /// Year, month and day.
    date: [i64; 3],
    /// Hour, minute and second.
    time: [i64; 3],
    /// Fraction of a second.
    fraction: f64,
    /// Whether the offset is behind UTC, its hours and its minutes.
    offset: (bool, i64, i64),
}

impl CalendarParts {
    fn seconds(&self) -> Result<f64, Cow<'static, str>> {
        let (behind, hours, minutes) = self.offset;
        if self.date[0] == 0 {
            return Err("year 0 is out of range".into());
        }
        for (name, value, bounds) in [
            ("month", self.date[1], 1..=12),
            ("hour", self.time[0], 0..=23),
            ("minute", self.time[1], 0..=59),
            ("second", self.time[2], 0..=59),
            ("the hours of the offset", hours, 0..=23),
            ("the minutes of the offset", minutes, 0..=59),
        ] {
            if !bounds.contains(&value) {
                return Err(format!("{name} must be in {}..{}", bounds.start(), bounds.end()).into());
            }
        }
        // Four digits and two, which those types hold.
        let date_of = Date::new(self.date[0] as i16, self.date[1] as i8, self.date[2] as i8);
        let since_epoch =
            date_of.map_err(|_| Cow::from("day is out of range for month"))?.duration_since(date(1970, 1, 1));
        let whole =
            |[hours, minutes, seconds]: [i64; 3]| hours * SECONDS_PER_HOUR + minutes * SECONDS_PER_MINUTE + seconds;
        let ahead = whole([hours, minutes, 0]);
        Ok((since_epoch.as_secs() + whole(self.time) - if behind { -ahead } else { ahead }) as f64 + self.fraction)
    }
}

impl Parts<'_> {
    /// A day, and a time of day if one follows.
    fn moment(&mut self) -> Option<CalendarParts> {
        let (year, _) = self.digits(4, 4)?;
        self.sign(b"-")?;
        let month = self.two_digits()?;
        self.sign(b"-")?;
        let mut moment = CalendarParts { date: [year, month, self.two_digits()?], ..CalendarParts::default() };
        if self.sign(b"T ").is_none() {
            return Some(moment);
        }
        moment.time[0] = self.two_digits()?;
        self.sign(b":")?;
        moment.time[1] = self.two_digits()?;
        if self.sign(b":").is_some() {
            moment.time[2] = self.two_digits()?;
            if self.sign(b".,").is_some() {
                let (digits, count) = self.digits(1, 9)?;
                moment.fraction = digits as f64 / 10_f64.powi(count as i32);
            }
        }
        self.sign(b" ");
        if self.sign(b"Zz").is_none()
            && let Some(sign) = self.sign(b"+-")
        {
            let hours = self.two_digits()?;
            let written = self.sign(b":").is_some() || !self.0.is_empty();
            moment.offset = (sign == b'-', hours, if written { self.two_digits()? } else { 0 });
        }
        Some(moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_moment_is_read_in_every_form_and_no_other() {
        for text in [
            "2026-01-01T12:00:00Z",
            "2026-01-01 12:00",
            " 2026-01-01T12:00:00 z ",
            "2026-01-01T14:00:00+0200",
            "2026-01-01T07:30-04:30",
            "2026-01-01T02:00-10",
            "2026-01-01T12:00:00,000000000",
        ] {
            assert_eq!(time_of_text(text), Ok(1_767_268_800.0), "{text}");
        }
        assert_eq!(time_of_text("1969-12-31T23:59:59.25"), Ok(-0.75));
        assert_eq!(time_of_text("2024-02-29"), Ok(1_709_164_800.0));
        for text in [
            "",
            "2026",
            "2026-01",
            "2026-01-01T",
            "2026-01-01T12",
            "2026-01-01T12:00:",
            "2026-01-01T12:00:00.",
            "2026-01-01T12:00:00.0000000000",
            "2026-01-01T12:00+",
            "2026-01-01T12:00+1",
            "2026-01-01T12:00+01:",
            "2026-01-01T12:00+01:0",
            "2026-01-01T12:00 UTC",
            "2026-01-01Z",
            "2026-01-01T12:00  Z",
            "２０２６-01-01",
        ] {
            assert_eq!(time_of_text(text), Err(NoTime::Unreadable(None)), "{text}");
        }
    }

    #[test]
    fn the_part_that_is_not_on_the_calendar_is_named() {
        for (text, part) in [
            ("0000-01-01", "year 0 is out of range"),
            ("2026-13-01", "month must be in 1..12"),
            ("2026-02-29", "day is out of range for month"),
            ("2026-01-00", "day is out of range for month"),
            ("2026-01-01T24:00", "hour must be in 0..23"),
            ("2026-01-01T00:00:60", "second must be in 0..59"),
            ("2026-01-01T00:00+24:00", "the hours of the offset must be in 0..23"),
            ("2026-01-01T00:00-01:60", "the minutes of the offset must be in 0..59"),
        ] {
            assert_eq!(time_of_text(text), Err(NoTime::Unreadable(Some(part.into()))), "{text}");
        }
        assert_eq!(time_of_text("9999-12-31T23:59:59"), Err(NoTime::TooLate));
    }

    #[test]
    fn numbers_of_another_unit_and_dates_without_signs_are_refused() {
        assert_eq!(time_of_number(-5.5), Ok(-5.5));
        for (seconds, unit) in [(1.7e12, "milliseconds"), (-1.7e15, "microseconds"), (1.7e18, "nanoseconds")] {
            assert_eq!(time_of_number(seconds), Err(NoTime::OtherUnit(unit)));
        }
        let date = NoTime::DateNumber("1970-08-23 11:48:51".into(), "2026-01-31".into());
        assert_eq!(time_of_number(20_260_131.0), Err(date));
        for seconds in [20_261_301.0, 20_260_100.0, 18_991_231.0, 20_260_131.5] {
            assert_eq!(time_of_number(seconds), Ok(seconds));
        }
        assert!(time_of_number(f64::NAN).is_err() && time_of_number(f64::INFINITY).is_err());
    }

    proptest! {
        #[test]
        fn a_text_is_the_moment_that_it_was_written_of(second in -2_000_000_000_i64..50_000_000_000) {
            let at = jiff::Timestamp::from_second(second).unwrap();
            prop_assert_eq!(time_of_text(&at.to_string()), Ok(second as f64));
            prop_assert_eq!(time_of_text(&iso(UnixSecond(second))), Ok(second as f64));
        }

        #[test]
        fn nothing_that_is_written_breaks_it(text in "[-+:.,TZ 0-9dhm]{0,30}") {
            let _ = time_of_text(&text);
        }
    }
}
