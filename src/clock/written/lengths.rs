//! Lengths of time as people write them, to seconds.

use super::parts::Parts;
use super::times::MOST_SECONDS;
use crate::clock::units::{SECOND, SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE};

/// Accepted forms of a length, for messages.
const WANTED_LENGTH: &str = "give seconds, a number with a unit such as 90d or, in Python, a timedelta";
/// Seconds of the units that a text may have. A capital M is a month elsewhere, and refused here.
const UNITS: [(i64, &[&str]); 5] = [
    (1, &["s", "sec", "second", "seconds"]),
    (SECONDS_PER_MINUTE, &["m", "min", "minute", "minutes"]),
    (SECONDS_PER_HOUR, &["h", "H", "hour", "hours"]),
    (SECONDS_PER_DAY, &["d", "D", "day", "days"]),
    (7 * SECONDS_PER_DAY, &["w", "W", "week", "weeks"]),
];
/// The same in words.
const UNIT_NAMES: &str = "s, min or m, h, d and w";
/// Digits behind the point that a number is read with; the rest is only known to be there.
const MOST_DIGITS: usize = 15;

/// A length of time as it is given.
#[derive(Debug, Clone, Copy)]
pub enum GivenLength<'a> {
    /// A text with units.
    Text(&'a str),
    /// A number of seconds.
    Seconds(f64),
    /// An object that counts nanoseconds; `None` if they do not fit.
    Nanoseconds(Option<i128>),
}

/// Reason why a value is no length of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoLength {
    /// It has another form.
    Unreadable,
    /// It is negative.
    Negative,
    /// It counts months or years.
    Calendar,
    /// There is no such unit.
    Unit(String),
    /// It has parts of a second, or is no number.
    NotWhole,
    /// It is no number.
    NotFinite,
    /// Longer than the largest supported time.
    TooLong,
}

impl NoLength {
    /// The message, with the value as it is shown.
    pub fn message(&self, shown: &str) -> String {
        match self {
            Self::Unreadable => format!(
                "{shown} is no length of time; write a number with a unit, such as 90d or 1h30m (units are {UNIT_NAMES})"
            ),
            Self::Negative => format!("{shown} is negative; a length is 0 or more"),
            Self::Calendar => format!(
                "{shown}: months and years differ in length; give days, or start and end (units are {UNIT_NAMES})"
            ),
            Self::Unit(unit) => format!("{shown}: there is no unit '{unit}'; units are {UNIT_NAMES}"),
            Self::NotWhole => format!("{shown} is not a whole number of seconds; {WANTED_LENGTH}"),
            Self::NotFinite => format!("{shown} is no duration; {WANTED_LENGTH}"),
            Self::TooLong => format!("{shown} is longer than the largest supported time"),
        }
    }
}

impl GivenLength<'_> {
    /// Whole seconds.
    ///
    /// # Errors
    /// For what is not a length, not a whole number of seconds, or longer than the largest supported time.
    pub fn whole_seconds(self) -> Result<i64, NoLength> {
        if let Self::Seconds(seconds) = self {
            let whole = seconds.is_finite() && seconds.fract() == 0.0;
            return if whole { Ok(bounded(seconds)? as i64) } else { Err(NoLength::NotWhole) };
        }
        let (nanoseconds, rest) = self.nanoseconds()?;
        if rest || nanoseconds % i128::from(SECOND) != 0 {
            return Err(NoLength::NotWhole);
        }
        Ok(bounded(nanoseconds as f64 / SECOND as f64)? as i64)
    }

    /// Seconds and parts of them.
    ///
    /// # Errors
    /// For what is not a length, or longer than the largest supported time.
    pub fn seconds(self) -> Result<f64, NoLength> {
        match self {
            Self::Seconds(seconds) if !seconds.is_finite() => Err(NoLength::NotFinite),
            Self::Seconds(seconds) => bounded(seconds),
            _ => bounded(self.nanoseconds()?.0 as f64 / SECOND as f64),
        }
    }

    /// Whole nanoseconds, and whether there is more.
    fn nanoseconds(self) -> Result<(i128, bool), NoLength> {
        match self {
            Self::Text(text) => length_of_text(text.trim()),
            Self::Nanoseconds(count) => count.map(|count| (count, false)).ok_or(NoLength::TooLong),
            Self::Seconds(seconds) => Ok(((seconds * SECOND as f64) as i128, false)),
        }
    }
}

fn bounded(seconds: f64) -> Result<f64, NoLength> {
    if seconds.abs() > MOST_SECONDS { Err(NoLength::TooLong) } else { Ok(seconds) }
}

fn length_of_text(text: &str) -> Result<(i128, bool), NoLength> {
    let mut left = Parts(text.as_bytes());
    let mut unknown = None;
    let mut sum = Ok((0_i128, false));
    while !left.0.is_empty() {
        let Some((digits, behind, unit)) = left.part() else {
            let positive = text.strip_prefix('-').is_some_and(is_length);
            return Err(if positive { NoLength::Negative } else { NoLength::Unreadable });
        };
        match UNITS.iter().find(|row| row.1.contains(&&*unit)) {
            None => unknown = unknown.or(Some(unit)),
            Some((seconds, _)) => {
                sum = sum.and_then(|(all, more)| {
                    let (own, rest) = nanoseconds_of(&digits, behind, *seconds).ok_or(NoLength::TooLong)?;
                    Ok((all.checked_add(own).ok_or(NoLength::TooLong)?, more || rest))
                });
            }
        }
    }
    match unknown {
        _ if text.is_empty() => Err(NoLength::Unreadable),
        None => sum,
        Some(unit) if unit == "M" || is_of_calendar(&unit.to_lowercase()) => Err(NoLength::Calendar),
        Some(unit) => Err(NoLength::Unit(unit)),
    }
}

/// Whether a text that begins with a digit is a length; one of signs alone would ask for each of them.
fn is_length(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && length_of_text(text).is_ok()
}

/// Whether a unit is one of years, quarters or months.
fn is_of_calendar(unit: &str) -> bool {
    unit.starts_with(['y', 'a', 'q']) || unit.starts_with("mo")
}

/// Nanoseconds of a number of units, and whether there is more; `None` where they are too many.
fn nanoseconds_of(digits: &str, behind: usize, seconds: i64) -> Option<(i128, bool)> {
    let beyond = behind.saturating_sub(MOST_DIGITS);
    let (read, rest) = digits.split_at(digits.len() - beyond);
    let number: i128 = read.parse().ok()?;
    let whole = number.checked_mul(i128::from(seconds * SECOND))?;
    let divisor = 10_i128.pow((behind - beyond) as u32);
    Some((whole / divisor, whole % divisor != 0 || rest.bytes().any(|digit| digit != b'0')))
}

impl Parts<'_> {
    /// A number with a unit, such as `1.5h`, and spaces behind it: the digits of the number, how many of them stand behind
    /// the point, and the unit.
    fn part(&mut self) -> Option<(String, usize, String)> {
        let mut digits = self.while_it(u8::is_ascii_digit);
        let mut behind = 0;
        if !digits.is_empty() && self.sign(b".").is_some() {
            let fraction = self.while_it(u8::is_ascii_digit);
            behind = fraction.len();
            if behind == 0 {
                return None;
            }
            digits.push_str(&fraction);
        }
        self.spaces();
        let unit = self.while_it(u8::is_ascii_alphabetic);
        self.spaces();
        (!digits.is_empty() && !unit.is_empty()).then_some((digits, behind, unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_are_sums_of_numbers_with_units() {
        for (text, seconds) in [
            ("90d", 7_776_000),
            ("1h30m", 5_400),
            ("1.5h", 5_400),
            (" 90 min ", 5_400),
            ("2w", 1_209_600),
            ("0.1m", 6),
            ("0.5s 0.50000000000000000000s", 1),
        ] {
            assert_eq!(GivenLength::Text(text).whole_seconds(), Ok(seconds), "{text}");
        }
        for (text, problem) in [
            ("", NoLength::Unreadable),
            ("90", NoLength::Unreadable),
            ("h1", NoLength::Unreadable),
            ("1.h", NoLength::Unreadable),
            ("1d-2h", NoLength::Unreadable),
            ("-1d", NoLength::Negative),
            ("1M", NoLength::Calendar),
            ("1 month", NoLength::Calendar),
            ("1d 2fortnights", NoLength::Unit("fortnights".into())),
            ("0.3s", NoLength::NotWhole),
            ("0.00000000000000000001s", NoLength::NotWhole),
            ("99999999999999w", NoLength::TooLong),
            (&format!("{}d", "9".repeat(500)), NoLength::TooLong),
        ] {
            assert_eq!(GivenLength::Text(text).whole_seconds(), Err(problem), "{text}");
        }
        assert_eq!(GivenLength::Text("0.1s").seconds(), Ok(0.1));
        assert_eq!(GivenLength::Seconds(0.1).seconds(), Ok(0.1));
        assert_eq!(GivenLength::Seconds(f64::NAN).seconds(), Err(NoLength::NotFinite));
        assert_eq!(GivenLength::Nanoseconds(Some(2_000_000_001)).whole_seconds(), Err(NoLength::NotWhole));
        assert_eq!(GivenLength::Nanoseconds(None).seconds(), Err(NoLength::TooLong));
    }

    proptest! {
        #[test]
        fn nothing_that_is_written_breaks_it(text in "[-+. 0-9dhmMsy]{0,30}") {
            let _ = (GivenLength::Text(&text).whole_seconds(), GivenLength::Text(&text).seconds());
        }
    }
}
