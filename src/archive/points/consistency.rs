//! Checks whether the archived intervals of a market agree: a bucket must equal the aggregate of its finer buckets.

use std::collections::BTreeMap;

use super::archive::Archive;
use super::coverage::within;
use super::fault::ArchiveFault;
use super::key::ArchiveKey;
use super::partition::partitions;
use super::revision::Cell;
use super::verify::Content;
use crate::clock::{UnixNanos, UnixSecond, Window};
use crate::columns::{Column, NO_TIME, Series};
use crate::protocol::{BucketGrid, Fold, PointsQuery, SeriesId};

/// Sums may differ by this fraction: they were added in another order.
const TOLERANCE: f64 = 1e-9;

/// A value that differs from the aggregate of its finer buckets.
#[derive(Debug, Clone)]
pub struct Inconsistency {
    /// The query.
    pub key: ArchiveKey,
    /// Wire name of the interval of the finer buckets.
    pub finer: &'static str,
    /// The series.
    pub id: SeriesId,
    /// Bucket start.
    pub time: UnixNanos,
    /// Name of the column.
    pub column: &'static str,
    /// The archived value.
    pub kept: Cell,
    /// The aggregate of the finer buckets.
    pub made: Cell,
}

/// The result of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Consistency {
    /// Buckets that were compared, once for each finer interval.
    pub compared: u64,
    /// Values that differ.
    pub found: Vec<Inconsistency>,
}

/// Which columns of a type can be compared, and how; none where they cannot.
fn folds(key: &ArchiveKey) -> Vec<(&'static str, Fold)> {
    let query = key.query();
    // Means over exchanges are weighted per bucket, and gap filling starts at untraded buckets.
    if query.group_by.is_some() || query.gapfill || query.session.is_some() {
        return Vec::new();
    }
    let fields = key.spec.into_iter().flat_map(|spec| spec.fields);
    fields.filter_map(|field| Some((field.column, field.fold?))).collect()
}

impl Archive {
    /// Compares each archived bucket with the aggregate of the archived finer buckets of the same query: candles, open
    /// interest, funding rates and liquidations. Damaged files are left to [`Archive::verify`].
    ///
    /// # Errors
    /// [`ArchiveFault::Access`] when the folder cannot be read.
    pub fn consistency(&self) -> Result<Consistency, ArchiveFault> {
        let mut consistency = Consistency::default();
        let kept = self.contents()?.0;
        let mut alike: BTreeMap<String, Vec<&Content>> = BTreeMap::new();
        for content in &kept {
            alike.entry(without_interval(&content.key)).or_default().push(content);
        }
        for coarse in kept.iter().filter(|content| !folds(&content.key).is_empty()) {
            let same = alike.get(&without_interval(&coarse.key)).into_iter().flatten();
            for fine in same.filter(|content| is_finer(&content.key, &coarse.key)) {
                for window in shared_buckets(coarse, fine) {
                    let read = |key| self.read(key, window);
                    match read(&coarse.key).and_then(|one| Ok((one, read(&fine.key)?))) {
                        Ok((one, other)) => consistency.compare(&coarse.key, &fine.key, (&one, &other), window),
                        Err(ArchiveFault::File { .. } | ArchiveFault::NotAsked { .. }) => {}
                        Err(fault) => return Err(fault),
                    }
                }
            }
        }
        Ok(consistency)
    }
}

/// The query without its interval.
fn without_interval(key: &ArchiveKey) -> String {
    PointsQuery { interval: None, ..key.query().clone() }.to_query_string()
}

/// Whether a query's interval can be compared with finer ones.
fn is_finer(fine: &ArchiveKey, coarse: &ArchiveKey) -> bool {
    let (one, other) = (coarse.interval().seconds, fine.interval().seconds);
    other < one && one % other == 0
}

/// The buckets of a query that also has finer ones in the archive, file by file.
fn shared_buckets(coarse: &Content, fine: &Content) -> Vec<Window> {
    let grid = coarse.key.grid();
    let mut found = Vec::new();
    for part in coarse.windows.iter().flat_map(|window| partitions(&coarse.key, *window)) {
        // The buckets that start in the file, to the end of the last.
        let span = Window::between(grid.ceil(part.window.start()), grid.ceil(part.window.end()));
        let whole = within(&fine.windows, span).into_iter();
        let whole = whole.map(|window| Window::between(grid.ceil(window.start()), grid.floor(window.end())));
        found.extend(whole.filter(|window| !window.is_empty()));
    }
    found
}

/// The series of one market at two intervals, of which one may have no rows.
type SeriesPair<'a> = (Option<&'a Series>, Option<&'a Series>);

impl Consistency {
    fn compare(
        &mut self,
        coarse_key: &ArchiveKey,
        fine_key: &ArchiveKey,
        (coarse, fine): (&[Series], &[Series]),
        window: Window,
    ) {
        let mut pairs: BTreeMap<Vec<(String, String)>, SeriesPair<'_>> = BTreeMap::new();
        for one in coarse {
            pairs.entry(bare(&one.id)).or_default().0 = Some(one);
        }
        for one in fine {
            pairs.entry(bare(&one.id)).or_default().1 = Some(one);
        }
        let folds = folds(coarse_key);
        self.compared += ((window.to - window.from) / coarse_key.interval().seconds) as u64;
        for (one, other) in pairs.into_values() {
            let Some(id) = one.or(other).map(|series| SeriesId::clone(&series.id)) else { continue };
            let id = SeriesId { interval: Some(coarse_key.interval().name.to_owned()), ..id };
            let (starts, rows) = (starts_of(coarse_key.grid(), one), starts_of(coarse_key.grid(), other));
            let mut every: Vec<i64> = starts.keys().chain(rows.keys()).copied().collect();
            every.sort_unstable();
            every.dedup();
            for start in every {
                let (kept, made) = (starts.get(&start), rows.get(&start));
                for &(column, fold) in &folds {
                    let of = |series: Option<&Series>, rows: Option<&(usize, usize)>| {
                        series.zip(rows).and_then(|(series, (from, to))| fold.of(series.column(column)?, *from, *to))
                    };
                    let (kept, made) = (of(one, kept), of(other, made));
                    if !fold.agree(kept, made) {
                        let cell = |value: Option<Value>| value.map_or(Cell::Absent, Value::cell);
                        self.found.push(Inconsistency {
                            key: coarse_key.clone(),
                            finer: fine_key.interval().name,
                            id: id.clone(),
                            time: UnixSecond(start).nanos(),
                            column,
                            kept: cell(kept),
                            made: cell(made),
                        });
                    }
                }
            }
        }
    }
}

/// The identity of a series without its interval.
fn bare(id: &SeriesId) -> Vec<(String, String)> {
    let known = id.fields().into_iter().filter(|(name, _)| *name != "interval");
    let known = known.filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    let mut all: Vec<_> = known.chain(id.extra.iter().cloned()).collect();
    all.sort_unstable();
    all
}

/// The rows of each bucket, by its start.
fn starts_of(grid: BucketGrid, series: Option<&Series>) -> BTreeMap<i64, (usize, usize)> {
    let mut found: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
    for (row, time) in series.into_iter().flat_map(|series| series.timestamps.iter().enumerate()) {
        let start = grid.floor(UnixNanos(*time).second()).0;
        found.entry(start).or_insert((row, row)).1 = row + 1;
    }
    found
}

#[derive(Debug, Clone, Copy)]
enum Value {
    Number(f64),
    Time(i64),
}

impl Value {
    fn cell(self) -> Cell {
        match self {
            Self::Number(value) => Cell::Float(value),
            Self::Time(value) => Cell::Time(value),
        }
    }
}

impl Fold {
    /// The aggregate of some rows of a column; `None` if none of them has a value.
    fn of(self, column: &Column, from: usize, to: usize) -> Option<Value> {
        match column {
            Column::Float(values) => {
                let mut known = values[from..to].iter().copied().filter(|value| !value.is_nan());
                let value = match self {
                    Self::First => known.next(),
                    Self::Last => known.next_back(),
                    Self::Least => known.reduce(f64::min),
                    Self::Most => known.reduce(f64::max),
                    Self::Sum => known.reduce(|sum, value| sum + value),
                };
                value.map(Value::Number)
            }
            Column::Time(values) => {
                let mut known = values[from..to].iter().copied().filter(|value| *value != NO_TIME);
                let value = if self == Self::First { known.next() } else { known.next_back() };
                value.map(Value::Time)
            }
            _ => None,
        }
    }

    fn agree(self, kept: Option<Value>, made: Option<Value>) -> bool {
        match (kept, made) {
            (Some(Value::Number(one)), Some(Value::Number(other))) if self == Self::Sum => {
                (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
            }
            (Some(Value::Number(one)), Some(Value::Number(other))) => one == other,
            (Some(Value::Time(one)), Some(Value::Time(other))) => one == other,
            // No trades, or a sum of nothing.
            (None, None) => true,
            (Some(Value::Number(one)), None) | (None, Some(Value::Number(one))) => self == Self::Sum && one == 0.0,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400;

    fn content(interval: &str, windows: &[Window]) -> Content {
        let query = PointsQuery::parse(&format!("type=TRADE_AGG&exchange=A&rawSymbol=B&interval={interval}")).unwrap();
        Content {
            key: ArchiveKey::new("here", &query).unwrap(),
            windows: windows.to_vec(),
            rows: 0,
            bytes: 0,
            files: 0,
        }
    }

    #[test]
    fn buckets_are_shared_where_all_finer_ones_are_kept_across_files_too() {
        let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_second();
        // Mondays; files end with the year.
        let (first, last) = (at("2025-12-15T00:00:00Z"), at("2026-01-12T00:00:00Z"));
        let weeks = content("WEEK", &[Window { from: first, to: last }]);
        let counted = |days: &[Window]| -> Vec<i64> {
            let found = shared_buckets(&weeks, &content("DAY", days));
            found.iter().flat_map(|window| (window.from..window.to).step_by(7 * 86_400)).collect()
        };
        let all: Vec<i64> = (0..4).map(|week| first + week * 7 * DAY).collect();
        assert_eq!(counted(&[Window { from: first, to: last }]), all);
        assert_eq!(counted(&[Window { from: first + DAY, to: last + DAY }]), all[1..]);
        assert_eq!(counted(&[Window { from: first, to: last - DAY }]), all[..3]);
        // The first week of the year lacks a day.
        let days = [
            Window { from: first, to: at("2026-01-01T00:00:00Z") },
            Window { from: at("2026-01-02T00:00:00Z"), to: last },
        ];
        assert_eq!(counted(&days), [all[0], all[1], all[3]]);
    }

    #[test]
    fn only_sums_may_differ_by_how_they_were_added() {
        let number = |value| Some(Value::Number(value));
        assert!(
            Fold::Sum.agree(number(1.0), number(1.0 + 1e-12)) && !Fold::Most.agree(number(1.0), number(1.0 + 1e-12))
        );
        assert!(!Fold::Sum.agree(number(1.0), number(1.0 + 1e-6)));
        assert!(Fold::Sum.agree(number(0.0), None) && !Fold::First.agree(number(0.0), None));
        assert!(Fold::Last.agree(None, None) && !Fold::Last.agree(None, Some(Value::Time(7))));
    }

    #[test]
    fn an_hour_is_no_finer_than_itself_and_another_query_is_another() {
        let key = |text: &str| {
            ArchiveKey::new("here", &PointsQuery::parse(&format!("type=TRADE_AGG&{text}")).unwrap()).unwrap()
        };
        let hour = key("rawSymbol=B&interval=HOUR");
        assert!(is_finer(&key("rawSymbol=B&interval=MINUTE"), &hour));
        assert!(!is_finer(&hour, &hour));
        let (same, other) = (key("rawSymbol=B&interval=MINUTE"), key("rawSymbol=C&interval=MINUTE"));
        assert_eq!(without_interval(&same), without_interval(&hour));
        assert_ne!(without_interval(&other), without_interval(&hour));
        assert!(folds(&key("rawSymbol=B&interval=HOUR&gapfill=true")).is_empty() && !folds(&hour).is_empty());
    }
}
