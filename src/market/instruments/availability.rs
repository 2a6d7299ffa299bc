//! Data types that a market serves as of a moment, and since when: by its events, not by its files.

use crate::clock::{SECOND, SECONDS_PER_DAY, UnixNanos, UnixSecond};
use crate::market::raw::Source;
use crate::protocol::data_type::DATA_TYPES;
use crate::protocol::{DataType, Timestamp};

/// Seconds by which raw data may begin before the day of its file: dumps are cut by the time of arrival.
pub(in crate::market) const EARLY: i64 = SECONDS_PER_DAY;

/// The data types of a market that have had an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::market) struct Availability {
    /// The first event of any of them.
    pub(in crate::market) since: UnixNanos,
    types: Vec<DataType>,
}

impl Availability {
    /// The availability of a market as of `now`; `None` before its first event. If the first file of a type cannot be read,
    /// the type counts from the market's first day: a query for its data then gets the error of the file.
    pub(in crate::market) fn of(source: &dyn Source, market: usize, now: UnixNanos) -> Option<Self> {
        let instrument = &source.instruments()[market];
        if UnixSecond(instrument.available_since.0.saturating_sub(EARLY)).nanos() > now {
            return None;
        }
        let (mut since, mut types) = (UnixNanos(i64::MAX), Vec::new());
        for spec in DATA_TYPES.iter().filter(|spec| instrument.raw_data.serve(spec.data_type)) {
            let first = source.first_event(market, spec.data_type);
            let first = first.unwrap_or_else(|_| Some(instrument.available_since.nanos()));
            if let Some(first) = first.filter(|first| *first <= now) {
                since = since.min(first);
                types.push(spec.data_type);
            }
        }
        (!types.is_empty()).then_some(Self { since, types })
    }

    /// Whether there is data of a type.
    pub(in crate::market) fn serves(&self, data_type: DataType) -> bool {
        self.types.contains(&data_type)
    }

    /// [`Availability::since`] as it is on the wire.
    pub(in crate::market) fn timestamp(&self) -> Timestamp {
        Timestamp { s: self.since.second().0, ns: self.since.0.rem_euclid(SECOND) }
    }
}
