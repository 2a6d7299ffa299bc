//! A heatmap that grows snapshot by snapshot, while its values arrive.

use std::sync::Arc;

use super::column::{Column, List};
use super::series::{LEVELS, SPLIT, Series};
use crate::protocol::{SeriesId, Shape};

/// `split` of a snapshot whose boundary between bids and asks is not on the wire.
pub(super) const UNKNOWN_SPLIT: i64 = -1;

/// Levels that cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LevelsError {
    /// A list of pairs has an odd length.
    #[error("snapshot {snapshot}: {values} values are no pairs of price and volume")]
    Odd {
        /// Row of the snapshot.
        snapshot: usize,
        /// Length of the list.
        values: usize,
    },
    /// `num_levels` of a flat snapshot is no count, or reaches past the end.
    #[error("flat_points[{index}]: {value} is no number of levels that {left} further values can hold")]
    Count {
        /// Where in the array.
        index: usize,
        /// The value.
        value: f64,
        /// Values after the snapshot's two header values.
        left: usize,
    },
    /// `timestamp_micros` of a flat snapshot is no time in microseconds.
    #[error("flat_points[{index}]: {value} is no timestamp in microseconds")]
    Time {
        /// Where in the array.
        index: usize,
        /// The value.
        value: f64,
    },
}

/// Snapshots of price levels under construction. Values are added to the open one, which [`Self::close`] ends.
#[derive(Debug, Default)]
pub struct Snapshots {
    levels: List,
    split: Vec<i64>,
}

impl Snapshots {
    /// Number of closed snapshots.
    pub fn len(&self) -> usize {
        self.split.len()
    }

    /// Whether no snapshot is closed.
    pub fn is_empty(&self) -> bool {
        self.split.is_empty()
    }

    /// All values so far, back to back: those of closed snapshots, then those of the open one.
    pub fn values(&mut self) -> &mut Vec<f64> {
        &mut self.levels.values
    }

    /// Where the open snapshot starts in [`Self::values`].
    pub fn start(&self) -> usize {
        self.levels.offsets.last().map_or(0, |offset| *offset as usize)
    }

    /// Ends the open snapshot, whose first `bids` pairs are bids. Pairs that do not ascend, by `ascend`, are sorted, and then
    /// the boundary between the sides is lost.
    pub fn close(&mut self, bids: Option<usize>, ascend: impl Fn(&[f64]) -> bool) {
        self.close_at(self.levels.values.len(), bids, ascend);
    }

    /// As [`Self::close`], with the values up to `end`; the others belong to the next snapshot.
    fn close_at(&mut self, end: usize, bids: Option<usize>, ascend: impl Fn(&[f64]) -> bool) {
        let start = self.start();
        let sorted = sort(&mut self.levels.values[start..end], ascend);
        self.levels.offsets.push(end as i64);
        self.split.push(bids.filter(|_| !sorted).map_or(UNKNOWN_SPLIT, |bids| bids as i64));
    }

    /// Forgets the values of the open snapshot.
    pub fn reopen(&mut self) {
        let start = self.start();
        self.levels.values.truncate(start);
    }

    /// The heatmap of the closed snapshots, one for each timestamp.
    pub fn finish(self, id: impl Into<Arc<SeriesId>>, timestamps: Vec<i64>) -> Series {
        heatmap(id, timestamps, self.levels, self.split)
    }
}

/// Whether pairs ascend by price. Whoever has a faster way may hand it to [`Snapshots::close`].
#[allow(clippy::needless_bitwise_bool)] // without a branch for each pair
pub fn ascend(pairs: &[f64]) -> bool {
    let levels = pairs.as_chunks::<2>().0;
    let next = levels.get(1..).unwrap_or_default();
    levels.iter().zip(next).fold(true, |ascending, (low, high)| ascending & (low[0] <= high[0]))
}

/// Sorts pairs by price; whether there was anything to sort, which is rare.
pub(super) fn sort(pairs: &mut [f64], ascend: impl Fn(&[f64]) -> bool) -> bool {
    if ascend(pairs) {
        return false;
    }
    let mut sorted: Vec<[f64; 2]> = pairs.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    sorted.sort_by(|left, right| left[0].total_cmp(&right[0]));
    pairs.copy_from_slice(sorted.as_flattened());
    true
}

pub(super) fn heatmap(id: impl Into<Arc<SeriesId>>, timestamps: Vec<i64>, levels: List, split: Vec<i64>) -> Series {
    Series {
        id: id.into(),
        shape: Shape::Heatmap,
        timestamps,
        columns: vec![(LEVELS.into(), Column::List(levels)), (SPLIT.into(), Column::Int(split))],
    }
}

/// A reader of `flat_points`: `[num_levels, timestamp_micros, price, volume, …]` for each snapshot, in any portions.
#[derive(Debug, Default)]
pub struct FlatSnapshots {
    snapshots: Snapshots,
    timestamps: Vec<i64>,
    /// Values so far.
    seen: usize,
    /// Where the open snapshot's header stands, and what it says so far.
    header: usize,
    count: f64,
    micros: f64,
    /// Values of the open snapshot still to come; the header's two are counted apart.
    awaited: usize,
    state: FlatState,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FlatState {
    /// Before `num_levels`, which is also a good end.
    #[default]
    Count,
    /// Before `timestamp_micros`.
    Time,
    /// Among the levels.
    Levels,
    /// After a header that is wrong: the message needs the number of values, so they are counted to the end.
    Broken,
}

impl FlatSnapshots {
    /// Number of values so far.
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// The levels so far, back to back. Values added to them are the next ones of the array, once [`Self::absorb`] gets
    /// the place where they start.
    pub fn values(&mut self) -> &mut Vec<f64> {
        self.snapshots.values()
    }

    /// Takes the next values.
    pub fn push(&mut self, values: &[f64]) {
        let start = self.values().len();
        self.values().extend_from_slice(values);
        self.absorb(start, ascend);
    }

    /// Takes the values from there on: levels stay where they are, or move to where headers were. `ascend` as for
    /// [`Snapshots::close`].
    pub fn absorb(&mut self, start: usize, ascend: impl Fn(&[f64]) -> bool) {
        let end = self.values().len();
        let (mut from, mut to) = (start, start);
        while from < end {
            let value = self.values()[from];
            match self.state {
                FlatState::Count => {
                    (self.header, self.count) = (self.seen, value);
                    let whole = value >= 0.0 && value.fract() == 0.0;
                    self.state = if whole { FlatState::Time } else { FlatState::Broken };
                }
                FlatState::Time => {
                    self.micros = value;
                    self.state = if is_micros(value) { FlatState::Levels } else { FlatState::Broken };
                    self.awaited = (self.count as usize).saturating_mul(2);
                    self.close_when_whole(to, &ascend);
                }
                FlatState::Levels => {
                    let count = self.awaited.min(end - from);
                    if from != to {
                        self.values().copy_within(from..from + count, to);
                    }
                    self.seen += count;
                    self.awaited -= count;
                    (from, to) = (from + count, to + count);
                    self.close_when_whole(to, &ascend);
                    continue;
                }
                FlatState::Broken => {
                    self.seen += end - from;
                    break;
                }
            }
            self.seen += 1;
            from += 1;
        }
        self.values().truncate(to);
    }

    fn close_when_whole(&mut self, end: usize, ascend: impl Fn(&[f64]) -> bool) {
        if self.state == FlatState::Levels && self.awaited == 0 {
            self.snapshots.close_at(end, None, ascend);
            self.timestamps.push(self.micros as i64 * 1_000);
            self.state = FlatState::Count;
        }
    }

    /// The heatmap, when every snapshot is complete.
    pub fn finish(self, id: impl Into<Arc<SeriesId>>) -> Result<Series, LevelsError> {
        if self.state == FlatState::Count {
            return Ok(self.snapshots.finish(id, self.timestamps));
        }
        let left = (self.seen - self.header).saturating_sub(2);
        let whole = self.count >= 0.0 && self.count.fract() == 0.0 && self.count <= (left / 2) as f64;
        if self.state == FlatState::Broken && whole && self.seen >= self.header + 2 {
            return Err(LevelsError::Time { index: self.header + 1, value: self.micros });
        }
        Err(LevelsError::Count { index: self.header, value: self.count, left })
    }
}

fn is_micros(value: f64) -> bool {
    // A microsecond time below this is in the first days of 1970: seconds or milliseconds taken for microseconds.
    const EARLIEST_MICROS: f64 = 1e13;
    const LATEST_MICROS: f64 = 9.2e15;
    value.fract() == 0.0 && (EARLIEST_MICROS..LATEST_MICROS).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROS: f64 = 1_776_880_800e6;

    fn flat(portions: &[&[f64]]) -> Result<Series, LevelsError> {
        let mut flat = FlatSnapshots::default();
        for portion in portions {
            flat.push(portion);
        }
        flat.finish(SeriesId::default())
    }

    #[test]
    fn the_portions_do_not_matter() {
        let values = [2.0, MICROS, 1.0, 10.0, 2.0, 20.0, 0.0, MICROS + 1e6, 1.0, MICROS + 2e6, 3.0, 30.0];
        let whole = flat(&[&values]).unwrap();
        assert_eq!(whole.levels().unwrap().0.offsets, [0, 4, 4, 6]);
        for size in 1..values.len() {
            assert_eq!(flat(&values.chunks(size).collect::<Vec<_>>()).unwrap(), whole, "{size}");
        }
        for end in [1, 2, 3, 5, 7, 9, 11] {
            let cut = flat(&[&values[..end]]);
            assert!(matches!(cut, Err(LevelsError::Count { .. })), "{end}");
        }
    }

    #[test]
    fn a_closed_snapshot_is_sorted_and_an_open_one_can_be_dropped() {
        let mut snapshots = Snapshots::default();
        snapshots.values().extend([2.0, 20.0, 1.0, 10.0]);
        snapshots.close(Some(1), ascend);
        snapshots.values().extend([3.0, 30.0]);
        snapshots.reopen();
        snapshots.values().extend([4.0, 40.0]);
        snapshots.close(Some(1), ascend);
        let series = snapshots.finish(SeriesId::default(), vec![1, 2]);
        let (levels, split) = series.levels().unwrap();
        assert_eq!((&levels.values[..], split), (&[1.0, 10.0, 2.0, 20.0, 4.0, 40.0][..], &[-1, 1][..]));
    }
}
