//! Readings of the derivative ticker and their minute bars as tables.

use std::path::Path;
use std::sync::Arc;

use crate::archive::{ArchiveError, Table, read_metadata};
use crate::clock::{UnixDay, UnixNanos, UnixSecond, Window};
use crate::columns::{Column, NO_TIME};
use crate::market::cache::Cache;
use crate::market::raw::{OhlcBar, RawData, SourceError, Ticker, TickerFeed, TickerField, minute_bars};
use crate::market::store::changes::prepared;
use crate::market::store::columns::FileColumns;
use crate::market::store::layout::Dataset;
use crate::market::store::minutes::Minutes;
use crate::market::store::opened::{FirstEvents, OpenedStore, StoredKind};
use crate::market::store::origin::DumpOrigin;
use crate::market::store::partitions::{Partitions, in_order, is_in};
use crate::market::store::{changes, layout};

/// Where the readings lie.
pub(in crate::market) const READINGS: Dataset = Dataset::new("derivative_ticker");
/// Where their minute bars lie.
const MINUTES: Dataset = Dataset::new("derivative_ticker_1m");

/// Files of the minutes have funding rates, open interest, or both.
pub(in crate::market) const FUNDING_RATES: StoredKind =
    StoredKind { minutes: MINUTES, has_kind: |file| holds(file, RawData::FundingRates) };
pub(in crate::market) const OPEN_INTEREST: StoredKind =
    StoredKind { minutes: MINUTES, has_kind: |file| holds(file, RawData::OpenInterest) };

/// Metadata key: names of the fields that the readings have.
const FIELDS: &str = "marketpoints.gauges";

/// The bars of a day, by field.
type TickerDay = [Arc<Vec<OhlcBar>>; TickerField::ALL.len()];

/// Writes a day's readings, in time order, and their minute bars. The bars come last: where they are, both are.
pub(in crate::market) fn write(
    root: &Path,
    exchange: &str,
    symbol: &str,
    day: UnixDay,
    readings: &[Ticker],
    origin: &DumpOrigin,
) -> Result<(), ArchiveError> {
    let metadata = origin.metadata();
    let path = |dataset| layout::file(root, dataset, exchange, symbol, day);
    let of_readings = prepared(&path(READINGS), &reading_table(readings), &metadata)?;
    let fields: Vec<&str> =
        TickerField::ALL.into_iter().filter(|field| has_values(readings, *field)).map(TickerField::name).collect();
    let of_bars = [metadata, vec![(FIELDS.to_owned(), fields.join(","))]].concat();
    let bars = prepared(&path(MINUTES), &bar_table(readings), &of_bars)?;
    changes::place(root, [of_readings, bars])
}

fn has_values(readings: &[Ticker], field: TickerField) -> bool {
    readings.iter().any(|reading| reading.value(field).is_some())
}

/// Whether a file of minute bars has data of a kind. True for a file without the metadata: reading it reports the fault.
fn holds(path: &Path, kind: RawData) -> bool {
    let metadata = read_metadata(path).unwrap_or_default();
    let fields = metadata.iter().find(|(name, _)| name == FIELDS);
    let of_feed = |name: &str| TickerField::ALL.into_iter().any(|field| field.kind() == kind && field.name() == name);
    fields.is_none_or(|(_, names)| names.split(',').any(of_feed))
}

/// The dump file that a day's readings and bars were made of; `None` when there are none yet, or they are damaged.
pub(in crate::market) fn read_origin(root: &Path, exchange: &str, symbol: &str, day: UnixDay) -> Option<DumpOrigin> {
    let files = [READINGS, MINUTES];
    DumpOrigin::read(files.map(|dataset| layout::file(root, dataset, exchange, symbol, day)))
}

fn reading_table(readings: &[Ticker]) -> Table {
    let floats =
        |name: &str, value: fn(&Ticker) -> f64| (name.to_owned(), Column::Float(readings.iter().map(value).collect()));
    vec![
        ("time".to_owned(), Column::Time(readings.iter().map(|reading| reading.time.0).collect())),
        floats(TickerField::FundingRate.name(), |reading| reading.funding_rate),
        floats(TickerField::PredictedRate.name(), |reading| reading.predicted_rate),
        floats(TickerField::OpenInterest.name(), |reading| reading.open_interest),
        floats("price", |reading| reading.price),
    ]
}

/// A row per minute and five columns per field, so that the file reads as one table; the values of a field that was not
/// read in a minute are NaN, its times are absent.
fn bar_table(readings: &[Ticker]) -> Table {
    let bars = TickerField::ALL.map(|field| minute_bars(readings, field));
    let mut starts: Vec<UnixSecond> = bars.iter().flatten().map(|bar| bar.start).collect();
    starts.sort_unstable();
    starts.dedup();
    let mut table = vec![("time".to_owned(), Column::Time(starts.iter().map(|start| start.nanos().0).collect()))];
    for (field, bars) in TickerField::ALL.into_iter().zip(&bars) {
        let mut remaining = bars.iter().peekable();
        let rows: Vec<Option<&OhlcBar>> =
            starts.iter().map(|start| remaining.next_if(|bar| bar.start == *start)).collect();
        let floats =
            |value: fn(&OhlcBar) -> f64| Column::Float(rows.iter().map(|row| row.map_or(f64::NAN, value)).collect());
        let times = |value: fn(&OhlcBar) -> UnixNanos| {
            Column::Time(rows.iter().map(|row| row.map_or(NO_TIME, |bar| value(bar).0)).collect())
        };
        let columns = [
            floats(|bar| bar.open),
            floats(|bar| bar.high),
            floats(|bar| bar.low),
            floats(|bar| bar.close),
            times(|bar| bar.first),
            times(|bar| bar.last),
        ];
        table.extend(PARTS.into_iter().zip(columns).map(|(part, column)| (name(field, part), column)));
    }
    table
}

const PARTS: [&str; 6] = ["open", "high", "low", "close", "first_timestamp", "last_timestamp"];

fn name(field: TickerField, part: &str) -> String {
    format!("{}_{part}", field.name())
}

fn read_readings(path: &Path) -> Result<Vec<Ticker>, SourceError> {
    let mut columns = FileColumns::read(path)?;
    let times = columns.whole("time")?;
    let [rates, predicted, interest] =
        [TickerField::FundingRate, TickerField::PredictedRate, TickerField::OpenInterest]
            .map(|field| columns.floats(field.name()));
    let (rates, predicted, interest, prices) = (rates?, predicted?, interest?, columns.floats("price")?);
    let reading = |row: usize| Ticker {
        time: UnixNanos(times[row]),
        funding_rate: rates[row],
        predicted_rate: predicted[row],
        open_interest: interest[row],
        price: prices[row],
    };
    Ok((0..times.len()).map(reading).collect())
}

fn read_bars(path: &Path) -> Result<TickerDay, SourceError> {
    let mut columns = FileColumns::read(path)?;
    let starts = columns.whole("time")?;
    let mut day = TickerDay::default();
    for (field, bars) in TickerField::ALL.into_iter().zip(&mut day) {
        let [open, high, low, close] = ["open", "high", "low", "close"].map(|part| columns.floats(&name(field, part)));
        let (open, high, low, close) = (open?, high?, low?, close?);
        let first = columns.whole(&name(field, "first_timestamp"))?;
        let last = columns.whole(&name(field, "last_timestamp"))?;
        let present = (0..starts.len()).filter(|&row| first[row] != NO_TIME);
        let bar = |row: usize| OhlcBar {
            start: UnixNanos(starts[row]).second(),
            open: open[row],
            high: high[row],
            low: low[row],
            close: close[row],
            first: UnixNanos(first[row]),
            last: UnixNanos(last[row]),
        };
        *bars = Arc::new(present.map(bar).collect());
    }
    Ok(day)
}

/// Day files of bars kept decoded: about 60 MB.
const KEPT_BAR_DAYS: usize = 150;
/// Day files of readings kept decoded; they are larger.
const KEPT_READING_DAYS: usize = 8;

/// The derivative ticker of a store's markets.
pub(in crate::market) struct StoredTickers {
    partitions: Arc<Partitions>,
    bars: Cache<(usize, UnixDay), TickerDay>,
    readings: Cache<(usize, UnixDay), Vec<Ticker>>,
}

impl StoredTickers {
    /// The ticker of some markets.
    pub(in crate::market) fn new(partitions: Arc<Partitions>) -> Self {
        Self { partitions, bars: Cache::new(KEPT_BAR_DAYS), readings: Cache::new(KEPT_READING_DAYS) }
    }

    fn day_bars(&self, market: usize, day: UnixDay) -> Result<Arc<TickerDay>, SourceError> {
        self.bars.get((market, day), || read_bars(&self.partitions.file(MINUTES, market, day)))
    }

    fn day_readings(&self, market: usize, day: UnixDay) -> Result<Arc<Vec<Ticker>>, SourceError> {
        self.readings.get((market, day), || read_readings(&self.partitions.file(READINGS, market, day)))
    }

    /// Hands over the minute bars of a field of a market.
    fn minutes<T>(
        &self,
        market: usize,
        field: TickerField,
        now: UnixNanos,
        use_them: impl FnOnce(&Minutes<'_, OhlcBar>) -> T,
    ) -> T {
        let read = |day: UnixDay| Ok(Arc::clone(&self.day_bars(market, day)?[field as usize]));
        let partial = |day: UnixDay, start: UnixSecond| {
            let readings = self.day_readings(market, day)?;
            let known: Vec<Ticker> = readings.iter().filter(|one| is_in(one.time, start, now)).copied().collect();
            Ok(minute_bars(&known, field).pop())
        };
        use_them(&Minutes { days: self.partitions.days(market, field.kind()), read: &read, partial: &partial })
    }
}

/// Adds the derivative ticker of a store that is being opened.
pub(in crate::market) fn open(store: OpenedStore) -> OpenedStore {
    let tickers = Arc::new(StoredTickers::new(Arc::clone(&store.partitions)));
    store
        .with_first_events(RawData::FundingRates, Arc::<StoredTickers>::clone(&tickers))
        .with_first_events(RawData::OpenInterest, Arc::<StoredTickers>::clone(&tickers))
        .with::<dyn TickerFeed>(tickers)
}

impl TickerFeed for StoredTickers {
    fn ticker_bars(
        &self,
        market: usize,
        field: TickerField,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&OhlcBar),
    ) -> Result<(), SourceError> {
        self.minutes(market, field, now, |minutes| minutes.visit(window, now, visit))
    }

    fn ticker_before(
        &self,
        market: usize,
        field: TickerField,
        before: UnixSecond,
        now: UnixNanos,
    ) -> Result<Option<OhlcBar>, SourceError> {
        self.minutes(market, field, now, |minutes| minutes.before(before, now))
    }

    fn readings(
        &self,
        market: usize,
        window: Window,
        now: UnixNanos,
        visit: &mut dyn FnMut(&Ticker),
    ) -> Result<(), SourceError> {
        let read = |day: UnixDay| self.day_readings(market, day);
        // A file has both or one of them.
        let [rates, interest] =
            [RawData::FundingRates, RawData::OpenInterest].map(|kind| self.partitions.days(market, kind));
        let days = if rates.is_empty() { interest } else { rates };
        in_order(days, window, now, &read, |reading| reading.time, visit)
    }
}

impl FirstEvents for StoredTickers {
    fn first_of(&self, market: usize, kind: RawData, day: UnixDay) -> Result<Option<UnixNanos>, SourceError> {
        let day = self.day_bars(market, day)?;
        let of_kind = TickerField::ALL.into_iter().filter(|field| field.kind() == kind);
        Ok(of_kind.filter_map(|field| day[field as usize].first()).map(|bar| bar.first).min())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;

    #[test]
    fn what_is_written_is_read() {
        const NAN: f64 = f64::NAN;
        let reading = |second: i64, values: [f64; 4]| Ticker {
            time: UnixNanos(second * SECOND),
            funding_rate: values[0],
            predicted_rate: values[1],
            open_interest: values[2],
            price: values[3],
        };
        let readings = [
            reading(5, [0.0001, NAN, 10.0, 3.0]),
            reading(6, [NAN, -0.0002, NAN, 4.0]),
            reading(59, [0.0003, NAN, 12.0, 2.0]),
            reading(120, [NAN, 0.0005, NAN, NAN]),
        ];
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "X", "A", UnixDay(0), &readings, &DumpOrigin::new("hash", 3, 0)).unwrap();
        assert_eq!(read_origin(folder.path(), "X", "A", UnixDay(0)), Some(DumpOrigin::new("hash", 3, 0)));
        let file = |dataset| layout::file(folder.path(), dataset, "X", "A", UnixDay(0));
        let shown = |readings: &[Ticker]| format!("{readings:?}"); // NaN is not equal to itself
        assert_eq!(shown(&read_readings(&file(READINGS)).unwrap()), shown(&readings));
        let day = read_bars(&file(MINUTES)).unwrap();
        let bar = |start: i64, [open, high, low, close]: [f64; 4], first: i64, last: i64| OhlcBar {
            start: UnixSecond(start),
            open,
            high,
            low,
            close,
            first: UnixNanos(first * SECOND),
            last: UnixNanos(last * SECOND),
        };
        assert_eq!(*day[TickerField::FundingRate as usize], [bar(0, [0.0001, 0.0003, 0.0001, 0.0003], 5, 59)]);
        assert_eq!(
            *day[TickerField::PredictedRate as usize],
            [bar(0, [-0.0002; 4], 6, 6), bar(120, [0.0005; 4], 120, 120)]
        );
        assert_eq!(*day[TickerField::OpenInterest as usize], [bar(0, [10.0, 12.0, 10.0, 12.0], 5, 59)]);
        assert_eq!(*day[TickerField::OpenInterestValue as usize], [bar(0, [30.0, 30.0, 24.0, 24.0], 5, 59)]);
    }
}
