//! Heatmaps in one normal form, from nested and flat bodies alike: pairs ascend by price within every snapshot,
//! and `split` says how many of them are bids (service.md 2.3).

use std::sync::Arc;

use ndarray::ArrayView2;

use super::column::List;
use super::series::Series;
use super::snapshots::{FlatSnapshots, LevelsError, UNKNOWN_SPLIT, ascend, heatmap, sort};
use crate::protocol::SeriesId;

/// Builds a heatmap from the nested form: bids from the closest to the furthest (descending), asks ascending.
pub fn heatmap_from_sides(
    id: impl Into<Arc<SeriesId>>,
    timestamps: Vec<i64>,
    bids: &List,
    asks: &List,
) -> Result<Series, LevelsError> {
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
pub fn heatmap_from_levels(
    id: impl Into<Arc<SeriesId>>,
    timestamps: Vec<i64>,
    levels: List,
) -> Result<Series, LevelsError> {
    for snapshot in 0..levels.len() {
        let values = levels.row(snapshot).len();
        if !values.is_multiple_of(2) {
            return Err(LevelsError::Odd { snapshot, values });
        }
    }
    let split = vec![UNKNOWN_SPLIT; timestamps.len()];
    Ok(finish(id, timestamps, levels, split))
}

/// A heatmap to be sent: in each snapshot the bids, as many as `split` says, and then the asks, each ascending. Where books
/// are added up, or blocks are large, the sides overlap; they stay apart, so that both can be sent.
pub fn heatmap_of_sides(id: impl Into<Arc<SeriesId>>, timestamps: Vec<i64>, levels: List, split: Vec<i64>) -> Series {
    heatmap(id, timestamps, levels, split)
}

/// Builds a heatmap from the flat form: `[num_levels, timestamp_micros, price, volume, …]` per snapshot.
pub fn heatmap_from_flat(id: impl Into<Arc<SeriesId>>, flat: &[f64]) -> Result<Series, LevelsError> {
    let mut snapshots = FlatSnapshots::default();
    snapshots.values().reserve_exact(flat.len());
    snapshots.push(flat);
    snapshots.finish(id)
}

/// Sorts what does not ascend. A snapshot whose sides overlap has no boundary after that.
fn finish(id: impl Into<Arc<SeriesId>>, timestamps: Vec<i64>, mut levels: List, mut split: Vec<i64>) -> Series {
    for (span, bids) in levels.offsets.windows(2).zip(&mut split) {
        if sort(&mut levels.values[span[0] as usize..span[1] as usize], ascend) {
            *bids = UNKNOWN_SPLIT;
        }
    }
    heatmap(id, timestamps, levels, split)
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
