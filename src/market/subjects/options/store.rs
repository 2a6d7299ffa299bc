//! Option summaries, a row for each minute, underlying and tenor.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::chain::TenorReading;
use crate::archive::{ArchiveError, read_metadata};
use crate::clock::{UnixDay, UnixMinute, UnixNanos, UnixSecond};
use crate::columns::Column;
use crate::market::cache::Cache;
use crate::market::raw::{OptionFeed, OptionSummary, SourceError, SummaryKind, SupplyFeed, coin_name};
use crate::market::store::changes::prepared;
use crate::market::store::columns::{FileColumns, unreadable};
use crate::market::store::layout::Dataset;
use crate::market::store::opened::OpenedStore;
use crate::market::store::origin::DumpOrigin;
use crate::market::store::{changes, layout};
use crate::protocol::discovery::TENORS;

/// The dataset of the summaries.
pub(in crate::market) const MINUTES: Dataset = Dataset::new("option_summaries_1m");

/// Metadata key: the summaries of a day's file, so that opening a store reads no rows.
const SUMMARIES: &str = "marketpoints.option_summaries";
/// Day files kept decoded: half a megabyte each for some ten underlyings.
const KEPT_DAYS: usize = 64;

/// A chain's reading of one tenor at a minute.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::market) struct OptionReading {
    /// Minute of the reading.
    pub minute: UnixMinute,
    /// The prefix of the options' symbols: `BTC`, `SOL_USDC`.
    pub root: String,
    /// Place in [`TENORS`].
    pub tenor: usize,
    /// Its volatility and skew.
    pub reading: TenorReading,
}

const KINDS: [(SummaryKind, &str, &str); 2] =
    [(SummaryKind::Skew, "25", "skew"), (SummaryKind::ImpliedVolatility, "ATM", "implied_volatility")];

fn value(reading: &TenorReading, kind: SummaryKind) -> f64 {
    match kind {
        SummaryKind::Skew => reading.skew,
        SummaryKind::ImpliedVolatility => reading.volatility,
    }
}

/// One summary of a day's file, as its metadata say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StoredSummary {
    root: String,
    tenor: String,
    /// Place in [`KINDS`].
    kind: usize,
    /// The first reading.
    first: UnixSecond,
}

/// Writes a day's readings, by minute.
pub(in crate::market) fn write(
    root: &Path,
    exchange: &str,
    symbol: &str,
    day: UnixDay,
    readings: &[OptionReading],
    origin: &DumpOrigin,
) -> Result<(), ArchiveError> {
    let mut first_minutes: BTreeMap<(&str, usize, usize), UnixSecond> = BTreeMap::new();
    for reading in readings {
        for (kind, row) in KINDS.iter().enumerate() {
            if !value(&reading.reading, row.0).is_nan() {
                first_minutes.entry((&reading.root, kind, reading.tenor)).or_insert(reading.minute.second());
            }
        }
    }
    let summaries: Vec<StoredSummary> = first_minutes
        .into_iter()
        .map(|((root, kind, tenor), first)| StoredSummary {
            root: root.to_owned(),
            tenor: TENORS[tenor].to_owned(),
            kind,
            first,
        })
        .collect();
    let path = layout::file(root, MINUTES, exchange, symbol, day);
    let summaries = serde_json::to_string(&summaries)
        .map_err(|error| ArchiveError { path: path.clone(), problem: error.to_string() })?;
    let metadata = [origin.metadata(), vec![(SUMMARIES.to_owned(), summaries)]].concat();
    let texts = |text: fn(&OptionReading) -> &str| {
        Column::Text(readings.iter().map(|reading| Some(text(reading).to_owned())).collect())
    };
    let mut table = vec![
        ("time".to_owned(), Column::Time(readings.iter().map(|reading| reading.minute.nanos().0).collect())),
        ("underlying".to_owned(), texts(|reading| &reading.root)),
        ("tenor".to_owned(), texts(|reading| TENORS[reading.tenor])),
    ];
    table.extend(KINDS.map(|(kind, _, name)| {
        (name.to_owned(), Column::Float(readings.iter().map(|reading| value(&reading.reading, kind)).collect()))
    }));
    changes::place(root, [prepared(&path, &table, &metadata)?])
}

/// The dump file that a day's readings were made of; `None` when there are none yet, or they are damaged.
pub(in crate::market) fn read_origin(root: &Path, exchange: &str, symbol: &str, day: UnixDay) -> Option<DumpOrigin> {
    DumpOrigin::read([layout::file(root, MINUTES, exchange, symbol, day)])
}

/// The first seconds of minutes, ascending, with their values.
type MinuteRun = Vec<(UnixSecond, f64)>;

/// The option summaries of a store.
pub(in crate::market) struct Options {
    root: PathBuf,
    summaries: Vec<OptionSummary>,
    /// Place of a summary by exchange, raw symbol and tenor.
    places: HashMap<(String, String, String), usize>,
    /// By exchange and symbol of the dump: days with a file, ascending.
    days: BTreeMap<(String, String), Vec<UnixDay>>,
    kept: Cache<(String, String, UnixDay), HashMap<usize, MinuteRun>>,
}

impl Options {
    /// Opens the summaries of a store. `coin_name` knows the full names of coins.
    pub(in crate::market) fn open(root: &Path, coin_name: impl Fn(&str) -> String) -> Result<Self, SourceError> {
        let mut days: BTreeMap<(String, String), Vec<UnixDay>> = BTreeMap::new();
        let mut since: BTreeMap<(String, String, usize, usize), UnixSecond> = BTreeMap::new();
        for (exchange, symbol, day) in layout::files(root, MINUTES)? {
            let path = layout::file(root, MINUTES, &exchange, &symbol, day);
            for one in stored_summaries(&path)? {
                let tenor = TENORS.iter().position(|tenor| *tenor == one.tenor);
                let (Some(tenor), true) = (tenor, one.kind < KINDS.len()) else { return Err(foreign(&path)) };
                let first = since.entry((exchange.clone(), one.root, one.kind, tenor)).or_insert(one.first);
                *first = one.first.min(*first);
            }
            days.entry((exchange, symbol)).or_default().push(day);
        }
        for days in days.values_mut() {
            days.sort_unstable();
        }
        let mut summaries = Vec::new();
        for ((exchange, root, kind, tenor), available_since) in since {
            // Options of one coin may settle in another (`SOL_USDC`): the coin is their underlying.
            let coin = root.split('_').next().unwrap_or(&root).to_owned();
            summaries.push(OptionSummary {
                exchange,
                raw_symbol: format!("{root}_{}", KINDS[kind].1),
                coin_name: coin_name(&coin),
                coin,
                tenor: TENORS[tenor].to_owned(),
                kind: KINDS[kind].0,
                available_since,
            });
        }
        let name = |row: &OptionSummary| (row.exchange.clone(), row.raw_symbol.clone(), row.tenor.clone());
        let places = summaries.iter().enumerate().map(|(place, row)| (name(row), place)).collect();
        Ok(Self { root: root.to_owned(), summaries, places, days, kept: Cache::new(KEPT_DAYS) })
    }

    /// The last day with a file.
    fn last_day(&self) -> Option<UnixDay> {
        self.days.values().flatten().max().copied()
    }

    fn read(&self, exchange: &str, symbol: &str, day: UnixDay) -> Result<HashMap<usize, MinuteRun>, SourceError> {
        let path = layout::file(&self.root, MINUTES, exchange, symbol, day);
        let mut columns = FileColumns::read(&path)?;
        let times = columns.whole("time")?;
        let (roots, tenors) = (columns.texts("underlying")?, columns.texts("tenor")?);
        let mut runs: HashMap<usize, MinuteRun> = HashMap::new();
        for (_, suffix, name) in KINDS {
            let values = columns.floats(name)?;
            let rows = times.iter().zip(roots.iter().zip(&tenors)).zip(values);
            for ((time, (root, tenor)), value) in rows.filter(|(_, value)| !value.is_nan()) {
                let key = (exchange.to_owned(), format!("{root}_{suffix}"), tenor.clone());
                if let Some(&place) = self.places.get(&key) {
                    runs.entry(place).or_default().push((UnixNanos(*time).second(), value));
                }
            }
        }
        Ok(runs)
    }
}

/// Adds the option summaries of a store that is being opened, after its token supply, which has the full names of coins.
pub(in crate::market) fn open(store: OpenedStore) -> Result<OpenedStore, SourceError> {
    let tokens = store.feeds.of::<dyn SupplyFeed>()?.tokens();
    let options = Options::open(&store.root, |coin| coin_name(tokens, coin))?;
    let last_day = options.last_day();
    Ok(store.reaching(last_day).with::<dyn OptionFeed>(Arc::new(options)))
}

impl OptionFeed for Options {
    fn option_summaries(&self) -> &[OptionSummary] {
        &self.summaries
    }

    fn option_summary(&self, summary: usize, from: UnixSecond, at: UnixSecond) -> Result<Option<f64>, SourceError> {
        let exchange = &self.summaries[summary].exchange;
        for ((_, symbol), days) in self.days.iter().filter(|((known, _), _)| known == exchange) {
            let near = days.iter().rev().filter(|day| (from.day()..=at.day()).contains(*day));
            for &day in near {
                let key = (exchange.clone(), symbol.clone(), day);
                let runs = self.kept.get(key, || self.read(exchange, symbol, day))?;
                let Some(run) = runs.get(&summary) else { continue };
                let last = run.partition_point(|(minute, _)| *minute <= at).checked_sub(1).map(|index| run[index]);
                if let Some((_, value)) = last.filter(|(minute, _)| *minute >= from) {
                    return Ok(Some(value));
                }
            }
        }
        Ok(None)
    }
}

fn stored_summaries(path: &Path) -> Result<Vec<StoredSummary>, SourceError> {
    let metadata = read_metadata(path).map_err(|error| unreadable(path, &error))?;
    let summaries = metadata.iter().find(|(name, _)| name == SUMMARIES).ok_or_else(|| foreign(path))?;
    serde_json::from_str(&summaries.1).map_err(|_| foreign(path))
}

fn foreign(path: &Path) -> SourceError {
    SourceError(format!("{}: no option summaries as this store has them; ingest the dump again", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECONDS_PER_DAY as DAY;

    const NAN: f64 = f64::NAN;

    fn reading(minute: i64, root: &str, tenor: usize, volatility: f64, skew: f64) -> OptionReading {
        OptionReading {
            minute: UnixSecond(minute).minute(),
            root: root.to_owned(),
            tenor,
            reading: TenorReading { volatility, skew },
        }
    }

    #[test]
    fn what_is_written_is_read_and_a_bucket_finds_its_last_reading() {
        let folder = tempfile::tempdir().unwrap();
        let first = [
            reading(60, "BTC", 0, 50.0, NAN),
            reading(60, "SOL_USDC", 3, 90.0, 2.0),
            reading(600, "BTC", 0, 51.0, -1.5),
            reading(86_340, "BTC", 0, 52.0, -2.5),
        ];
        write(folder.path(), "DERIBIT", "OPTIONS", UnixDay(0), &first, &DumpOrigin::new("hash", 9, 0)).unwrap();
        write(
            folder.path(),
            "DERIBIT",
            "OPTIONS",
            UnixDay(1),
            &[reading(86_460, "BTC", 0, 53.0, NAN)],
            &DumpOrigin::new("other", 9, 0),
        )
        .unwrap();
        assert_eq!(read_origin(folder.path(), "DERIBIT", "OPTIONS", UnixDay(0)), Some(DumpOrigin::new("hash", 9, 0)));
        assert_eq!(read_origin(folder.path(), "DERIBIT", "OPTIONS", UnixDay(2)), None);
        let options = Options::open(folder.path(), |coin| format!("the {coin}")).unwrap();
        let found: Vec<(&str, &str, &str, i64)> = options
            .option_summaries()
            .iter()
            .map(|row| (&*row.raw_symbol, &*row.coin_name, &*row.tenor, row.available_since.0))
            .collect();
        let expected = [
            ("BTC_25", "the BTC", "ONE_W", 600),
            ("BTC_ATM", "the BTC", "ONE_W", 60),
            ("SOL_USDC_25", "the SOL", "THREE_M", 60),
            ("SOL_USDC_ATM", "the SOL", "THREE_M", 60),
        ];
        assert_eq!((found, options.last_day()), (expected.to_vec(), Some(UnixDay(1))));
        let last = |summary, from, at| options.option_summary(summary, UnixSecond(from), UnixSecond(at)).unwrap();
        assert_eq!(last(1, 60, 60), Some(50.0));
        assert_eq!(last(1, 0, 59), None);
        assert_eq!(last(1, 60, 599), Some(50.0));
        assert_eq!(last(1, 120, 540), None);
        assert_eq!(last(1, 0, 2 * DAY), Some(53.0));
        assert_eq!(last(0, 0, 2 * DAY), Some(-2.5)); // the second day has no skew
        assert_eq!(last(0, DAY, UnixSecond(2 * DAY).0), None);
        assert_eq!(last(3, UnixSecond(0).0, DAY), Some(90.0));
    }

    #[test]
    fn a_damaged_file_is_reported_with_what_mends_it() {
        let folder = tempfile::tempdir().unwrap();
        write(
            folder.path(),
            "DERIBIT",
            "OPTIONS",
            UnixDay(0),
            &[reading(60, "BTC", 0, 50.0, 1.0)],
            &DumpOrigin::new("hash", 9, 0),
        )
        .unwrap();
        let file = layout::file(folder.path(), MINUTES, "DERIBIT", "OPTIONS", UnixDay(0));
        let whole = std::fs::read(&file).unwrap();
        std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
        let error = Options::open(folder.path(), str::to_owned).err().unwrap();
        assert!(error.0.contains("part.parquet") && error.0.contains("ingest the dump again"), "{error}");
        assert_eq!(read_origin(folder.path(), "DERIBIT", "OPTIONS", UnixDay(0)), None);
    }
}
