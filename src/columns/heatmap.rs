//! Heatmaps in one normal form, from nested and flat bodies alike: pairs ascend by price within every snapshot,
//! and `split` says how many of them are bids (service.md 2.3).

use ndarray::ArrayView2;

use super::{Column, LEVELS, List, SPLIT, Series};
use crate::protocol::{SeriesId, Shape};

/// `split` of a snapshot whose boundary between bids and asks the wire does not tell.
const UNKNOWN_SPLIT: i64 = -1;

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
        /// What stands there.
        value: f64,
        /// Values after the snapshot's two header values.
        left: usize,
    },
    /// `timestamp_micros` of a flat snapshot is no time in microseconds.
    #[error("flat_points[{index}]: {value} is no timestamp in microseconds")]
    Time {
        /// Where in the array.
        index: usize,
        /// What stands there.
        value: f64,
    },
}

/// Builds a heatmap from the nested form: bids from the closest to the furthest (descending), asks ascending.
pub fn heatmap_from_sides(id: SeriesId, timestamps: Vec<i64>, bids: &List, asks: &List) -> Result<Series, LevelsError> {
    let mut levels = List::default();
    levels.values.reserve(bids.values.len() + asks.values.len());
    let mut split = Vec::with_capacity(timestamps.len());
    for snapshot in 0..timestamps.len() {
        let (down, up) = (bids.row(snapshot), asks.row(snapshot));
        for side in [down, up] {
            if !side.len().is_multiple_of(2) {
                return Err(LevelsError::Odd { snapshot, values: side.len() });
            }
        }
        levels.push(down.rchunks_exact(2).chain(up.chunks_exact(2)).flatten().copied());
        split.push((down.len() / 2) as i64);
    }
    Ok(finish(id, timestamps, levels, split))
}

/// Builds a heatmap from one list of pairs per snapshot (liquidation heatmap).
pub fn heatmap_from_levels(id: SeriesId, timestamps: Vec<i64>, levels: List) -> Result<Series, LevelsError> {
    let split = vec![UNKNOWN_SPLIT; timestamps.len()];
    heatmap_from_split(id, timestamps, levels, split)
}

/// Builds a heatmap from pairs that ascend, bids and then asks, and the number of bids in each snapshot.
pub fn heatmap_from_split(
    id: SeriesId,
    timestamps: Vec<i64>,
    levels: List,
    split: Vec<i64>,
) -> Result<Series, LevelsError> {
    for snapshot in 0..levels.len() {
        let values = levels.row(snapshot).len();
        if !values.is_multiple_of(2) {
            return Err(LevelsError::Odd { snapshot, values });
        }
    }
    Ok(finish(id, timestamps, levels, split))
}

/// Builds a heatmap from the flat form: `[num_levels, timestamp_micros, price, volume, …]` per snapshot.
pub fn heatmap_from_flat(id: SeriesId, flat: &[f64]) -> Result<Series, LevelsError> {
    // A microsecond time below this is in the first days of 1970: seconds or milliseconds taken for microseconds.
    const EARLIEST_MICROS: f64 = 1e13;
    const LATEST_MICROS: f64 = 9.2e15;
    let (mut timestamps, mut levels) = (Vec::new(), List::default());
    levels.values.reserve(flat.len());
    let mut index = 0;
    while index < flat.len() {
        let count = flat[index];
        let left = (flat.len() - index).saturating_sub(2);
        if !(count >= 0.0 && count.fract() == 0.0 && count <= (left / 2) as f64) || index + 2 > flat.len() {
            return Err(LevelsError::Count { index, value: count, left });
        }
        let micros = flat[index + 1];
        if !(micros.fract() == 0.0 && (EARLIEST_MICROS..LATEST_MICROS).contains(&micros)) {
            return Err(LevelsError::Time { index: index + 1, value: micros });
        }
        let end = index + 2 + 2 * count as usize;
        timestamps.push(micros as i64 * 1_000);
        levels.push(flat[index + 2..end].iter().copied());
        index = end;
    }
    let split = vec![UNKNOWN_SPLIT; timestamps.len()];
    Ok(finish(id, timestamps, levels, split))
}

/// Sorts what does not ascend. A snapshot whose sides overlap has no boundary after that.
fn finish(id: SeriesId, timestamps: Vec<i64>, mut levels: List, mut split: Vec<i64>) -> Series {
    for (span, bids) in levels.offsets.windows(2).zip(&mut split) {
        let pairs = &mut levels.values[span[0] as usize..span[1] as usize];
        if pairs.chunks_exact(2).zip(pairs.chunks_exact(2).skip(1)).all(|(low, high)| low[0] <= high[0]) {
            continue;
        }
        let mut sorted: Vec<[f64; 2]> = pairs.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        sorted.sort_by(|left, right| left[0].total_cmp(&right[0]));
        pairs.copy_from_slice(sorted.as_flattened());
        *bids = UNKNOWN_SPLIT;
    }
    Series {
        id,
        shape: Shape::Heatmap,
        timestamps,
        columns: vec![(LEVELS.to_owned(), Column::List(levels)), (SPLIT.to_owned(), Column::Int(split))],
    }
}

/// The pairs of a heatmap's snapshot as rows of (price, volume).
pub(super) fn pairs(values: &[f64]) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((values.len() / 2, 2), &values[..values.len() / 2 * 2])
        .unwrap_or_else(|_| ArrayView2::from_shape((0, 2), &[]).expect("an empty view has any shape"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROS: f64 = 1_776_880_800e6;

    fn list(rows: &[&[f64]]) -> List {
        let mut list = List::default();
        for row in rows {
            list.push(row.iter().copied());
        }
        list
    }

    #[test]
    fn nested_and_flat_give_the_same_levels() {
        let bids = list(&[&[99.0, 1.0, 98.0, 2.0], &[]]);
        let asks = list(&[&[100.0, 3.0], &[101.0, 4.0]]);
        let times = vec![MICROS as i64 * 1_000, (MICROS as i64 + 60_000_000) * 1_000];
        let nested = heatmap_from_sides(SeriesId::default(), times.clone(), &bids, &asks).unwrap();
        let flat = [3.0, MICROS, 98.0, 2.0, 99.0, 1.0, 100.0, 3.0, 1.0, MICROS + 6e7, 101.0, 4.0];
        let flat = heatmap_from_flat(SeriesId::default(), &flat).unwrap();
        assert_eq!(nested.levels().unwrap().0, flat.levels().unwrap().0);
        assert_eq!((&nested.timestamps, nested.levels().unwrap().1), (&times, &[2, 0][..]));
        assert_eq!(flat.levels().unwrap().1, [-1, -1]);
    }

    #[test]
    fn overlapping_sides_are_sorted_and_lose_their_boundary() {
        let series =
            heatmap_from_sides(SeriesId::default(), vec![0], &list(&[&[101.0, 1.0]]), &list(&[&[100.0, 2.0]])).unwrap();
        let (levels, split) = series.levels().unwrap();
        assert_eq!((levels.row(0), split), (&[100.0, 2.0, 101.0, 1.0][..], &[-1][..]));
    }

    #[test]
    fn no_allocation_or_read_follows_an_unchecked_count() {
        let broken = |flat: &[f64]| heatmap_from_flat(SeriesId::default(), flat).unwrap_err();
        for count in [-1.0, 0.5, f64::NAN, 1e18, 2.0, f64::INFINITY] {
            assert!(matches!(broken(&[count, MICROS, 1.0, 2.0]), LevelsError::Count { index: 0, .. }), "{count}");
        }
        assert!(matches!(broken(&[0.0]), LevelsError::Count { .. }));
        assert!(matches!(broken(&[1.0, MICROS, 1.0]), LevelsError::Count { .. }));
        assert!(matches!(broken(&[0.0, 1_776_880_800.0]), LevelsError::Time { index: 1, .. }));
        assert!(matches!(broken(&[0.0, MICROS + 0.5]), LevelsError::Time { .. }));
        assert!(heatmap_from_flat(SeriesId::default(), &[]).unwrap().is_empty());
    }

    #[test]
    fn odd_lists_are_refused() {
        let odd = list(&[&[1.0, 2.0, 3.0]]);
        let error = heatmap_from_levels(SeriesId::default(), vec![0], odd).unwrap_err();
        assert_eq!(error, LevelsError::Odd { snapshot: 0, values: 3 });
    }
}
