//! Market over an archive: it gives the archived answers of a service, and lists their markets. A window that was never
//! downloaded is refused, because nobody knows whether it has data.

mod listing;

use std::fmt::Write;

use self::listing::AskedInstruments;
use crate::archive::points::{Archive, ArchiveFault, ArchiveKey, NOTHING_ASKED, within};
use crate::clock::{UnixNanos, UnixSecond, Window, utc};
use crate::columns::Series;
use crate::market::query::error::MarketError;
use crate::market::raw::Source;
use crate::protocol::PointsQuery;

/// Windows that a refusal names.
const SHOWN: usize = 3;

/// The answers in an archive.
pub(in crate::market) struct Archived {
    archive: Archive,
}

/// An archive, opened.
pub(in crate::market) struct OpenedArchive {
    pub(in crate::market) answers: Archived,
    /// The markets in the archive, for discovery.
    pub(in crate::market) source: Box<dyn Source>,
    /// The end of the newest bucket that was asked.
    pub(in crate::market) last_event: Option<UnixNanos>,
}

impl Archived {
    pub(in crate::market) fn open(archive: Archive) -> Result<OpenedArchive, MarketError> {
        let (contents, _) = archive.contents().map_err(|fault| broken(&fault))?;
        if contents.is_empty() {
            let problem = format!("{} is no archive, or an empty one: sync something first", archive.path().display());
            return Err(MarketError::Internal(problem));
        }
        let ends = contents.iter().filter_map(|content| content.windows.last()).map(|window| window.to);
        let last_event = ends.max().map(|end| UnixSecond(end).nanos());
        let source = Box::new(AskedInstruments::of(&contents));
        Ok(OpenedArchive { answers: Self { archive }, source, last_event })
    }

    /// The closed buckets of a query as of `now`, ascending, without the corrections that the archive
    /// learned later. The forming bucket is in no archive.
    ///
    /// # Errors
    /// [`MarketError::NotArchived`] if a part of the window was never downloaded, [`MarketError::Internal`] for a damaged
    /// file.
    pub(in crate::market) fn points(&self, query: &PointsQuery, now: UnixNanos) -> Result<Vec<Series>, MarketError> {
        let Some(key) = self.archive.key(query).map_err(|fault| broken(&fault))? else {
            return Err(MarketError::NotArchived(format!("no archive keeps {}", query.data_type)));
        };
        let Some(window) = closed(&key, query, now.second()) else { return Ok(Vec::new()) };
        match self.archive.read_uncorrected(&key, window, now.micros()) {
            Ok(series) => Ok(series),
            Err(ArchiveFault::NotAsked { what, missing }) => {
                let asked = self.archive.asked(&key).map_err(|fault| broken(&fault))?;
                Err(MarketError::NotArchived(refusal(&what, &missing, &asked, window)))
            }
            Err(fault) => Err(broken(&fault)),
        }
    }
}

/// The bucket starts that a query means and that have ended; `None` where there are none (supplement 4).
fn closed(key: &ArchiveKey, query: &PointsQuery, now: UnixSecond) -> Option<Window> {
    let period = query.period.unwrap_or(0).max(0);
    let from = query.from.map_or_else(|| now.plus(-period), UnixSecond);
    let grid = key.grid();
    let window = Window::between(grid.ceil(from), grid.ceil(from.plus(period)).min(key.closed(now)));
    (!window.is_empty()).then_some(window)
}

fn broken(fault: &ArchiveFault) -> MarketError {
    MarketError::Internal(fault.to_string())
}

/// The message for missing windows; it names those that the archive has.
fn refusal(what: &str, missing: &[Window], asked: &[Window], window: Window) -> String {
    let spelt = |windows: &[Window]| {
        let mut text = String::new();
        for (place, one) in windows.iter().take(SHOWN).enumerate() {
            // Writing to a text cannot fail.
            let _ = write!(text, "{}{} to {}", if place > 0 { ", " } else { "" }, utc(one.start()), utc(one.end()));
        }
        if windows.len() > SHOWN {
            let _ = write!(text, " and {} more", windows.len() - SHOWN);
        }
        text
    };
    let there = within(asked, window);
    let hint = match (there.is_empty(), asked.is_empty()) {
        (_, true) => NOTHING_ASKED.to_owned(),
        (true, false) => format!("it holds {}", spelt(asked)),
        (false, false) => format!("of the window it holds {}", spelt(&there)),
    };
    format!("the archive does not hold {what}: {}; {hint}; sync it first", spelt(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_mean_the_buckets_that_begin_in_them_and_have_ended() {
        let query = |text: &str| PointsQuery::parse(&format!("type=TRADE_AGG&exchange=A&rawSymbol=B&{text}")).unwrap();
        let window = |text: &str, now: i64| {
            let query = query(text);
            closed(&ArchiveKey::new("here", &query).unwrap(), &query, UnixSecond(now))
                .map(|window| (window.from, window.to))
        };
        assert_eq!(window("interval=MINUTE&from=60&period=120", 1_000), Some((60, 180)));
        assert_eq!(window("interval=MINUTE&from=61&period=120", 1_000), Some((120, 240)));
        // The minute that holds now is forming.
        assert_eq!(window("interval=MINUTE&from=60&period=600", 130), Some((60, 120)));
        assert_eq!(window("interval=MINUTE&period=120", 130), Some((60, 120)));
        assert_eq!(window("interval=MINUTE&from=120&period=60", 130), None);
        assert_eq!(window("interval=MINUTE&from=60", 1_000), None);
        // Weeks begin on Mondays: 1970-01-05.
        assert_eq!(window("interval=WEEK&from=0&period=1209600", 2_000_000), Some((345_600, 1_555_200)));
        assert_eq!(
            window("interval=HOUR&tpoSession=TPO_SESSION_DAILY&from=0&period=172800", 172_799),
            Some((0, 86_400))
        );
    }

    #[test]
    fn a_refusal_names_what_is_missing_and_what_there_is() {
        let window = |from: i64, to: i64| Window { from: 3_600 * from, to: 3_600 * to };
        let asked = [window(0, 2), window(4, 6)];
        let message =
            |missing: &[Window], asked: &[Window], of: Window| refusal("TRADE_AGG A B HOUR", missing, asked, of);
        assert_eq!(
            message(&[window(2, 4)], &asked, window(1, 5)),
            "the archive does not hold TRADE_AGG A B HOUR: 1970-01-01 02:00:00 UTC to 1970-01-01 04:00:00 UTC; of the window \
             it holds 1970-01-01 01:00:00 UTC to 1970-01-01 02:00:00 UTC, 1970-01-01 04:00:00 UTC to 1970-01-01 05:00:00 \
             UTC; sync it first"
        );
        let beyond = message(&[window(7, 8)], &asked, window(7, 8));
        assert!(beyond.contains("; it holds 1970-01-01 00:00:00 UTC to 1970-01-01 02:00:00 UTC, 1970-"), "{beyond}");
        assert!(message(&[window(7, 8)], &[], window(7, 8)).contains("nothing of this query was ever asked"));
        let many: Vec<Window> = (0..5).map(|hour| window(2 * hour, 2 * hour + 1)).collect();
        assert!(message(&many, &[], window(0, 10)).contains("05:00:00 UTC and 2 more; nothing"));
    }
}
