//! Gauges: quantities of a perpetual market that have a value at any moment, such as its open interest.

use super::feeds::{Feed, SourceError};
use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::protocol::RawData;

/// A quantity that the derivative ticker reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TickerField {
    /// Funding rate per the market's native interval, a fraction.
    FundingRate,
    /// The rate predicted for the next settlement, a fraction.
    PredictedRate,
    /// Open interest, in the unit of the market's trades.
    OpenInterest,
    /// Open interest × the price reported with it, in quote.
    OpenInterestValue,
}

impl TickerField {
    /// Every field; a field's place is `field as usize`.
    pub const ALL: [Self; 4] = [Self::FundingRate, Self::PredictedRate, Self::OpenInterest, Self::OpenInterestValue];

    /// The raw data that has the field.
    pub const fn kind(self) -> RawData {
        match self {
            Self::FundingRate | Self::PredictedRate => RawData::FundingRates,
            Self::OpenInterest | Self::OpenInterestValue => RawData::OpenInterest,
        }
    }

    /// Name of the field, as files spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FundingRate => "funding_rate",
            Self::PredictedRate => "predicted_funding_rate",
            Self::OpenInterest => "open_interest",
            Self::OpenInterestValue => "open_interest_value",
        }
    }
}

/// One reading of the fields of a market; NaN where the ticker has no value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ticker {
    /// When it was taken.
    pub time: UnixNanos,
    /// Funding rate per native interval, a fraction.
    pub funding_rate: f64,
    /// Predicted rate of the next settlement, a fraction.
    pub predicted_rate: f64,
    /// Open interest, in the unit of the market's trades.
    pub open_interest: f64,
    /// Price that values the open interest, in quote.
    pub price: f64,
}

impl Ticker {
    /// The value of a field; `None` if the reading lacks it.
    pub fn value(&self, field: TickerField) -> Option<f64> {
        let value = match field {
            TickerField::FundingRate => self.funding_rate,
            TickerField::PredictedRate => self.predicted_rate,
            TickerField::OpenInterest => self.open_interest,
            TickerField::OpenInterestValue => self.open_interest * self.price,
        };
        value.is_finite().then_some(value)
    }
}

/// The readings of one field in one minute, or in several.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OhlcBar {
    /// When it starts.
    pub start: UnixSecond,
    /// First value.
    pub open: f64,
    /// Highest value.
    pub high: f64,
    /// Lowest value.
    pub low: f64,
    /// Last value.
    pub close: f64,
    /// Time of the first reading.
    pub first: UnixNanos,
    /// Time of the last reading.
    pub last: UnixNanos,
}

impl OhlcBar {
    /// The minute bar of one reading.
    pub fn of(time: UnixNanos, value: f64) -> Self {
        Self {
            start: time.minute().second(),
            open: value,
            high: value,
            low: value,
            close: value,
            first: time,
            last: time,
        }
    }

    /// Joins another part of the same time. The earlier first reading opens, the later last one closes; with equal times
    /// `self` opens and `other` closes, so `other` is the part that comes later in file order.
    pub fn merge(&mut self, other: &Self) {
        if other.first < self.first {
            (self.first, self.open) = (other.first, other.open);
        }
        if other.last >= self.last {
            (self.last, self.close) = (other.last, other.close);
        }
        self.high = self.high.max(other.high);
        self.low = self.low.min(other.low);
    }

    /// A copy of the bar with its values multiplied by a factor of 0 or more.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        let Self { open, high, low, close, .. } = self;
        Self { open: open * factor, high: high * factor, low: low * factor, close: close * factor, ..self }
    }
}

/// The derivative ticker: funding rates and open interest.
pub trait TickerFeed: Send + Sync {
    /// Visits the minute bars of the readings of a field with a start in a window in time order, of readings up to `now`.
    fn ticker_bars(
        &self,
        market: usize,
        field: TickerField,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&OhlcBar),
    ) -> Result<(), SourceError>;

    /// The last minute bar of a field that starts before `before`.
    fn ticker_before(
        &self,
        market: usize,
        field: TickerField,
        before: UnixSecond,
        now: UnixNanos,
    ) -> Result<Option<OhlcBar>, SourceError>;

    /// Visits the readings of the market's fields with a time in a window, none after `now`, by time and then by file order.
    fn readings(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Ticker),
    ) -> Result<(), SourceError>;
}

impl Feed for dyn TickerFeed {
    const NAME: &'static str = "derivative ticker";
}

/// The minute bars of a field over readings in time order.
pub(in crate::market) fn minute_bars(readings: &[Ticker], field: TickerField) -> Vec<OhlcBar> {
    let mut bars: Vec<OhlcBar> = Vec::new();
    for reading in readings {
        let Some(value) = reading.value(field) else { continue };
        let part = OhlcBar::of(reading.time, value);
        match bars.last_mut() {
            Some(bar) if bar.start == part.start => bar.merge(&part),
            _ => bars.push(part),
        }
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(second: i64, rate: f64, interest: f64, price: f64) -> Ticker {
        Ticker {
            time: UnixSecond(second).nanos(),
            funding_rate: rate,
            predicted_rate: f64::NAN,
            open_interest: interest,
            price,
        }
    }

    #[test]
    fn unknown_values_are_no_readings() {
        const NAN: f64 = f64::NAN;
        let readings = [reading(1, 0.0001, NAN, 10.0), reading(2, -0.0002, 5.0, NAN), reading(61, NAN, 7.0, 2.0)];
        let bars_of =
            |field| -> Vec<_> { minute_bars(&readings, field).iter().map(|b| (b.start.0, b.open, b.close)).collect() };
        assert_eq!(bars_of(TickerField::FundingRate), [(0, 0.0001, -0.0002)]);
        assert_eq!(bars_of(TickerField::PredictedRate), []);
        assert_eq!(bars_of(TickerField::OpenInterest), [(0, 5.0, 5.0), (60, 7.0, 7.0)]);
        assert_eq!(bars_of(TickerField::OpenInterestValue), [(60, 14.0, 14.0)]);
    }

    #[test]
    fn a_bar_is_first_highest_lowest_last() {
        let readings = [3.0, 9.0, 1.0, 4.0].iter().enumerate();
        let readings: Vec<_> = readings.map(|(at, value)| reading(at as i64, *value, 0.0, 0.0)).collect();
        let bars = minute_bars(&readings, TickerField::FundingRate);
        let (start, last) = (UnixSecond(0), UnixSecond(3).nanos());
        let expected = OhlcBar { start, open: 3.0, high: 9.0, low: 1.0, close: 4.0, first: UnixNanos(0), last };
        assert_eq!(bars, [expected]);
        assert_eq!(bars[0].times(2.0), OhlcBar { open: 6.0, high: 18.0, low: 2.0, close: 8.0, ..expected });
        // The parts of a minute join to the minute, in either order of time.
        let [left, right] = [&readings[..2], &readings[2..]].map(|part| minute_bars(part, TickerField::FundingRate)[0]);
        for (mut one, other) in [(left, right), (right, left)] {
            one.merge(&other);
            assert_eq!(one, expected);
        }
    }
}
