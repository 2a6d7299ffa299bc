//! The day on which a future ends, as its symbol spells it.

use jiff::Span;
use jiff::civil::{Date, Weekday};

use super::words::{QUOTES, ROLLING_WORDS};
use crate::clock::UnixSecond;
use crate::protocol::contract::undated;
use crate::protocol::exchange::{self, VenueKind, venue};

/// Three letters of each month.
const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
/// Letters of the months in the symbols of futures, January to December.
const LETTERS: &str = "FGHJKMNQUVXZ";

/// The end of a future.
pub(super) struct Expiry {
    /// `241227`, or a word such as `CQ`.
    pub text: String,
    /// The part of the symbol that spells it, where it is one by itself.
    pub part: Option<usize>,
}

impl Expiry {
    /// The end that the parts of a symbol spell, and the first part without it.
    pub(super) fn find<'a>(exchange: &str, parts: &[&'a str], since: UnixSecond) -> (Option<Self>, &'a str) {
        let base = parts[0];
        let end_of = |part: &&str| date(part).or_else(|| ROLLING_WORDS.contains(part).then(|| (*part).to_owned()));
        let found = parts.iter().enumerate().skip(1).find_map(|(place, part)| Some((place, end_of(part)?)));
        if let Some((part, text)) = found {
            return (Some(Self { text, part: Some(part) }), base);
        }
        let derivatives = venue(exchange) == Some(VenueKind::Derivatives);
        // BTC241227
        let digits = base.len() - base.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        if let (6, true) = (digits, derivatives && base.len() > 6) {
            let (name, day) = base.split_at(base.len() - 6);
            if let Some(text) = date(day) {
                return (Some(Self { text, part: None }), name);
            }
        }
        match month_code(exchange, base, since) {
            Some((name, text)) => (Some(Self { text, part: None }), name),
            None => (None, base),
        }
    }
}

/// `BTCUSDH25` and `BTCH5`: name and end of a contract that is named by its month. It ends on the month's last Friday, as
/// on all venues that name contracts so.
fn month_code<'a>(exchange: &str, base: &'a str, since: UnixSecond) -> Option<(&'a str, String)> {
    let short = exchange::is(exchange, |row| row.one_digit_years) && undated(base) == base;
    let name = if short { base.strip_suffix(|letter: char| letter.is_ascii_digit())? } else { undated(base) };
    let name = if short { name.strip_suffix(|letter| LETTERS.contains(letter))? } else { name };
    let quoted = QUOTES.iter().any(|quote| name.len() > quote.len() && name.ends_with(quote));
    if name.is_empty() || name == base || !(quoted || exchange::is(exchange, |row| row.bare_months)) {
        return None;
    }
    let code = &base[name.len()..];
    let month = i8::try_from(LETTERS.find(&code[..1])? + 1).ok()?;
    let year: i16 = code[1..].parse().ok()?;
    let year = if short {
        // The first such year that is not over before the market traded.
        let days = Span::new().try_days(since.day().0).ok()?;
        let first = Date::constant(1970, 1, 1).checked_add(days).ok()?.year();
        first + (year - first).rem_euclid(10)
    } else {
        2_000 + year
    };
    let friday = Date::new(year, month, 1).ok()?.nth_weekday_of_month(-1, Weekday::Friday).ok()?;
    Some((name, spell(friday)))
}

/// The day that a part of a symbol is, as `241227`: `241227`, `20241227` or `27DEC24`.
pub(super) fn date(part: &str) -> Option<String> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<i16>().ok())?;
    if !part.is_ascii() {
        return None;
    }
    let (year, month, day) = match part.len() {
        6 if part.bytes().all(|byte| byte.is_ascii_digit()) => {
            (2_000 + number(&part[..2])?, number(&part[2..4])?, number(&part[4..])?)
        }
        8 => (number(&part[..4])?, number(&part[4..6])?, number(&part[6..])?),
        6 | 7 => {
            let (day, rest) = part.split_at(part.len() - 5);
            let month = MONTHS.iter().position(|month| *month == &rest[..3])? + 1;
            (2_000 + number(&rest[3..])?, i16::try_from(month).ok()?, number(day)?)
        }
        _ => return None,
    };
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok().map(spell)
}

fn spell(date: Date) -> String {
    format!("{:02}{:02}{:02}", date.year().rem_euclid(100), date.month(), date.day())
}
